"""Our [model] section as a config.json of Marian, Pegasus, GPT-2 or BERT, and back."""

import json
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

from regard.errors import RequestError, RunError
from regard.text.tokenizer import Specials

if TYPE_CHECKING:
    from regard.configs.stack import OneStack
    from regard.models import BertConfig, GPTConfig, TransformerConfig

ACTIVATIONS = {
    "relu": "relu",
    "gelu": "gelu",
    "gelu_tanh": "gelu_new",
    "quick_gelu": "quick_gelu",
    "swish": "swish",
}
OUR_ACTIVATIONS = {theirs: ours for ours, theirs in ACTIVATIONS.items()} | {
    "gelu_pytorch_tanh": "gelu_tanh",
    "silu": "swish",
}
# Sinusoidal positions have no limit, but a configuration must contain one.
MARIAN_POSITIONS = 1024


def require(
    family: str, config: Any, wanted: Mapping[str, tuple[object, ...]], section: str = "model"
) -> None:
    """Refuse settings that a family cannot express, rather than leave them out."""
    for key, values in wanted.items():
        if getattr(config, key) not in values:
            known = " or ".join(json.dumps(each).strip('"') for each in values)
            raise RequestError(
                f"Hugging Face: {family} has no {section}.{key} = "
                f"{json.dumps(getattr(config, key))}, "
                f"only {known}; such a run cannot be exported there"
            )


def stack(config: "OneStack") -> dict[str, Any]:
    """The sizes of a stack of blocks, under the names that most families give them."""
    return {
        "hidden_size": config.d_model,
        "num_hidden_layers": config.num_layers,
        "intermediate_size": config.d_ff,
        "num_attention_heads": config.num_heads,
        "hidden_act": ACTIVATIONS[config.activation],
        "layer_norm_eps": config.norm_epsilon,
    }


def marian(
    config: "TransformerConfig", source_vocabulary: int, target_vocabulary: int, specials: Specials
) -> dict[str, Any]:
    """The config.json of Marian or Pegasus; Pegasus is Marian with the norms before the layers, and
    has one vocabulary only.
    """
    family = "Pegasus" if config.norm == "pre" else "Marian"
    wanted: dict[str, tuple[object, ...]] = {
        "normalisation": ("layer",),
        "positions": ("sinusoidal",),
        "activation": tuple(ACTIVATIONS),
    }
    if family == "Pegasus":
        wanted["tied_embeddings"] = ("all",)
    require(family, config, wanted)
    if config.pruned:
        raise RequestError(
            f"Hugging Face: {family} has as many heads in each layer, here some were removed; "
            "such a run cannot be exported there"
        )
    kind: dict[str, Any] = {
        "model_type": "marian",
        "architectures": ["MarianMTModel"],
        "decoder_vocab_size": target_vocabulary,
        "share_encoder_decoder_embeddings": config.tied_embeddings == "all",
    }
    if family == "Pegasus":
        kind = {"model_type": "pegasus", "architectures": ["PegasusForConditionalGeneration"]}
    return {
        **kind,
        "vocab_size": source_vocabulary,
        "tie_word_embeddings": config.tied_embeddings != "none",
        "d_model": config.d_model,
        "encoder_layers": config.encoder_layers,
        "decoder_layers": config.decoder_layers,
        "encoder_ffn_dim": config.d_ff,
        "decoder_ffn_dim": config.d_ff,
        "encoder_attention_heads": config.num_heads,
        "decoder_attention_heads": config.num_heads,
        "activation_function": ACTIVATIONS[config.activation],
        "dropout": config.dropout,
        "attention_dropout": config.attention_dropout,
        "activation_dropout": config.feed_forward_dropout,
        "scale_embedding": True,
        "max_position_embeddings": MARIAN_POSITIONS,
        "is_encoder_decoder": True,
        "pad_token_id": specials.pad,
        "bos_token_id": specials.start,
        "eos_token_id": specials.end,
        "decoder_start_token_id": specials.start,
        "forced_eos_token_id": None,
    }


def gpt2(config: "GPTConfig", vocabulary: int, specials: Specials) -> dict[str, Any]:
    wanted = {"positions": ("learned",), "activation": tuple(ACTIVATIONS)}
    require("GPT-2", config, wanted)
    return {
        "model_type": "gpt2",
        "architectures": ["GPT2LMHeadModel"],
        "vocab_size": vocabulary,
        "tie_word_embeddings": config.tied_embeddings,
        "n_embd": config.d_model,
        "n_layer": config.num_layers,
        "n_inner": config.d_ff,
        "n_head": config.num_heads,
        "n_positions": config.max_positions,
        "activation_function": ACTIVATIONS[config.activation],
        "layer_norm_epsilon": config.norm_epsilon,
        "resid_pdrop": config.dropout,
        "embd_pdrop": config.dropout,
        "attn_pdrop": config.attention_dropout,
        "pad_token_id": specials.pad,
        "bos_token_id": specials.end,
        "eos_token_id": specials.end,
    }


def bert(config: "BertConfig", vocabulary: int, specials: Specials) -> dict[str, Any]:
    heads = "BertForMaskedLM" if config.masked_head else "BertModel"
    return {
        "model_type": "bert",
        "architectures": ["BertForPreTraining" if config.next_sentence else heads],
        "vocab_size": vocabulary,
        "tie_word_embeddings": True,
        **stack(config),
        "max_position_embeddings": config.max_positions,
        "type_vocab_size": config.num_segments,
        "hidden_dropout_prob": config.dropout,
        "attention_probs_dropout_prob": config.attention_dropout,
        "pad_token_id": specials.pad,
    }


class Settings:
    """A config.json; each value is checked when it is read."""

    def __init__(self, values: Mapping[str, Any], where: Path) -> None:
        self.values = values
        self.where = where

    def refused(self, key: str, why: str) -> RunError:
        shown = repr(self.values.get(key))
        return RunError(f"{self.where}: {key} is {shown[:80]}; {why}")

    def whole(self, key: str, otherwise: int | None = None) -> int:
        value = self.values.get(key)
        value = otherwise if value is None else value
        if type(value) is not int or value < 0:
            raise self.refused(key, "a whole number is needed")
        return value

    def identity(self, key: str) -> int | None:
        """The id of a token; the first one if there are several."""
        value = self.values.get(key)
        value = value[0] if isinstance(value, list) and value else value
        if value is not None and (type(value) is not int or value < 0):
            raise self.refused(key, "the id of a token is needed")
        return value

    def number(self, key: str, otherwise: float) -> float:
        value = self.values.get(key, otherwise)
        if isinstance(value, bool) or not isinstance(value, int | float):
            raise self.refused(key, "a number is needed")
        try:
            return float(value)
        except OverflowError:
            raise self.refused(key, "a smaller number is needed") from None

    def activation(self, key: str, otherwise: str) -> str:
        value = self.values.get(key, otherwise)
        if not isinstance(value, str) or value not in OUR_ACTIVATIONS:
            raise self.refused(key, f"regard knows {', '.join(OUR_ACTIVATIONS)}")
        return OUR_ACTIVATIONS[value]

    def expect(self, otherwise: Mapping[str, object], expected: Mapping[str, object]) -> None:
        """Refuse other values of settings for which regard's models have only one."""
        for key, value in expected.items():
            if self.values.get(key, otherwise.get(key, value)) != value:
                raise self.refused(key, f"regard's model has only {value!r}")


def from_marian(settings: Settings, tensors: Mapping[str, object]) -> dict[str, Any]:
    """Our [model] section. Missing settings have the defaults of their configuration. Only the
    weights show whether there is an output bias.
    """
    pre = settings.values.get("model_type") == "pegasus"
    layers, heads = (
        settings.whole("encoder_layers", 12),
        settings.whole("encoder_attention_heads", 16),
    )
    d_ff = settings.whole("encoder_ffn_dim", 4096)
    settings.expect(
        {"scale_embedding": False, "decoder_ffn_dim": 4096, "decoder_attention_heads": 16},
        {
            "scale_embedding": True,
            "decoder_ffn_dim": d_ff,
            "decoder_attention_heads": heads,
            "normalize_before": pre,
            "normalize_embedding": False,
            "add_final_layer_norm": pre,
            "static_position_embeddings": True,
        },
    )
    shared = settings.values.get("share_encoder_decoder_embeddings", True)
    tied = settings.values.get("tie_word_embeddings", True)
    if shared and not tied:
        raise settings.refused("tie_word_embeddings", "shared embeddings are the output's as well")
    return {
        "kind": "transformer",
        "encoder_layers": layers,
        "decoder_layers": settings.whole("decoder_layers", 12),
        "d_model": settings.whole("d_model", 1024),
        "d_ff": d_ff,
        "num_heads": heads,
        "dropout": settings.number("dropout", 0.1),
        "attention_dropout": settings.number("attention_dropout", 0.0),
        "feed_forward_dropout": settings.number("activation_dropout", 0.0),
        "activation": settings.activation("activation_function", "gelu"),
        "norm": "pre" if pre else "post",
        "tied_embeddings": "all" if shared else "output" if tied else "none",
        "output_bias": "final_logits_bias" in tensors,
    }


def from_gpt2(settings: Settings) -> dict[str, Any]:
    settings.expect(
        {},
        {
            "scale_attn_weights": True,
            "scale_attn_by_inverse_layer_idx": False,
            "add_cross_attention": False,
        },
    )
    d_model = settings.whole("n_embd", 768)
    return {
        "kind": "gpt",
        "num_layers": settings.whole("n_layer", 12),
        "d_model": d_model,
        "d_ff": settings.whole("n_inner", 4 * d_model),
        "num_heads": settings.whole("n_head", 12),
        "dropout": settings.number("resid_pdrop", 0.1),
        "attention_dropout": settings.number("attn_pdrop", 0.1),
        "activation": settings.activation("activation_function", "gelu_new"),
        "norm_epsilon": settings.number("layer_norm_epsilon", 1e-5),
        "max_positions": settings.whole("n_positions", 1024),
        "tied_embeddings": settings.values.get("tie_word_embeddings", True) is not False,
    }


def from_stack(
    settings: Settings,
    d_model: int = 768,
    num_heads: int = 12,
    activation: str = "gelu",
    norm_epsilon: float = 1e-12,
) -> dict[str, Any]:
    """The sizes of a stack of blocks; the defaults are those of BERT and ViT."""
    return {
        "num_layers": settings.whole("num_hidden_layers", 12),
        "d_model": settings.whole("hidden_size", d_model),
        "d_ff": settings.whole("intermediate_size", 4 * d_model),
        "num_heads": settings.whole("num_attention_heads", num_heads),
        "activation": settings.activation("hidden_act", activation),
        "norm_epsilon": settings.number("layer_norm_eps", norm_epsilon),
    }


def from_bert(settings: Settings, tensors: Mapping[str, object]) -> dict[str, Any]:
    """Our [model] section. Only the weights show which heads there are."""
    settings.expect(
        {},
        {
            "position_embedding_type": "absolute",
            "is_decoder": False,
            "add_cross_attention": False,
            "tie_word_embeddings": True,
        },
    )
    return {
        "kind": "bert",
        **from_stack(settings),
        "dropout": settings.number("hidden_dropout_prob", 0.1),
        "attention_dropout": settings.number("attention_probs_dropout_prob", 0.1),
        "max_positions": settings.whole("max_position_embeddings", 512),
        "num_segments": settings.whole("type_vocab_size", 2),
        "masked_head": "cls.predictions.bias" in tensors,
        "pooler": "bert.pooler.dense.weight" in tensors,
        "next_sentence": "cls.seq_relationship.weight" in tensors,
    }
