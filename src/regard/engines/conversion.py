"""A run's model in the form that CTranslate2 reads.

The folder is complete: weights, vocabularies, our tokenizer files, and `regard.json`, which says
where it came from and how to search.
"""

import json
import shutil
from importlib.metadata import version
from pathlib import Path
from typing import TYPE_CHECKING, Any, cast

import torch
from ctranslate2.specs import (
    Activation,
    TransformerDecoderSpec,
    TransformerEncoderSpec,
    TransformerSpec,
)
from torch import nn

from regard.checkpoint import Run
from regard.engines.ctranslate2 import FACTS, LAYOUT, fingerprint
from regard.engines.folders import new_folder
from regard.errors import RequestError
from regard.text.tokenizer import Tokenizers

if TYPE_CHECKING:
    from regard.models.transformer import Transformer

ACTIVATIONS = {
    "relu": Activation.RELU,
    "gelu": Activation.GELU,
    "gelu_tanh": Activation.GELUTanh,
    "swish": Activation.SWISH,
    "swiglu": Activation.SWISH,
}
# CTranslate2 looks sinusoidal positions up in a table, which has to end somewhere.
POSITIONS = 4096


def convert(folder: Path, path: Path, int8: bool = False) -> None:
    """Write the run in `folder` to `path`, which must not exist or be empty: all of it or nothing.

    Raises OSError where it cannot be written.
    """
    run = Run.open(folder)
    recipe, tokenizers = run.recipe_for("translation"), run.tokenizers()
    if recipe.model.kind != "transformer":
        raise RequestError(
            f'{folder}: CTranslate2 runs no model of kind "{recipe.model.kind}", '
            "only a Transformer; use --engine torch"
        )
    if recipe.model.pruned:
        raise RequestError(
            f"{folder}: some layers have lost heads, and CTranslate2 wants as many in each; "
            "use --engine torch"
        )
    if any(tokenizer.specials.unknown is None for tokenizer in tokenizers):
        raise RequestError(
            f"{folder}: CTranslate2 wants a piece for what is unknown, and the imported tokenizer "
            "has none; use --engine torch"
        )
    model = cast("Transformer", run.model(tokenizers))
    positions = max(POSITIONS, recipe.data.max_length)
    if recipe.model.positions == "learned":
        positions = recipe.model.max_positions
    spec = specification(model, tokenizers, positions)
    spec.validate()
    spec.optimize(quantization="int8" if int8 else None)
    facts = {
        "layout": LAYOUT,
        "run": str(folder),
        "fingerprint": fingerprint(folder),
        "made_by": f"regard {version('regard')}, ctranslate2 {version('ctranslate2')}",
        "longest_source": recipe.data.max_length - 1,
        "positions": None if recipe.model.positions == "rotary" else positions,
        "positions_end": recipe.model.positions == "learned",
        "search": recipe.decode.model_dump(),
    }
    with new_folder(path) as scratch:
        spec.save(str(scratch))
        for tokenizer in folder.glob("*tokenizer.json"):
            shutil.copyfile(tokenizer, scratch / tokenizer.name)
        (scratch / FACTS).write_text(json.dumps(facts, indent=2) + "\n", encoding="utf-8")


def specification(model: "Transformer", tokenizers: Tokenizers, positions: int) -> Any:
    """The model with its weights as CTranslate2 names them."""
    config = model.config
    choices = {
        "pre_norm": config.norm == "pre",
        "activation": ACTIVATIONS[config.activation],
        "ffn_glu": config.activation == "swiglu",
        "rms_norm": config.normalisation == "rms",
        # 0 turns all of a head, None nothing.
        "rotary_dim": 0 if config.positions == "rotary" else None,
    }
    spec = TransformerSpec(
        TransformerEncoderSpec(config.encoder_layers, config.num_heads, **choices),
        TransformerDecoderSpec(config.decoder_layers, config.num_heads, **choices),
    )
    spec.encoder.embeddings[0].weight = numbers(model.source_embedding.weight)
    spec.decoder.embeddings.weight = numbers(model.target_embedding.weight)
    fill_linear(spec.decoder.projection, model.output)
    if model.positions is not None:
        table = model.positions(0, positions, model.output.weight)
        # Scoring an output of full length looks one position further, at nothing that counts.
        table = numbers(torch.cat((table, torch.zeros_like(table[:1]))))
        for side in (spec.encoder, spec.decoder):
            side.position_encodings.encodings = table
    if config.norm == "pre":
        fill_norm(spec.encoder.layer_norm, model.encoder_norm)
        fill_norm(spec.decoder.layer_norm, model.decoder_norm)
    for layer, block in zip(
        [*spec.encoder.layer, *spec.decoder.layer], [*model.encoder, *model.decoder], strict=True
    ):
        fill_block(layer, block)
    spec.config.layer_norm_epsilon = 1e-6 if config.normalisation == "rms" else 1e-5
    spec.config.add_source_eos = True
    names, specials = tokenizers.target.vocabulary, tokenizers.target.specials
    spec.config.eos_token = names[specials.end]
    spec.config.unk_token = names[cast("int", specials.unknown)]
    spec.config.bos_token = spec.config.decoder_start_token = names[specials.start]
    spec.register_source_vocabulary(list(tokenizers.source.vocabulary))
    spec.register_target_vocabulary(list(tokenizers.target.vocabulary))
    return spec


def numbers(tensor: torch.Tensor) -> Any:
    return tensor.detach().numpy()


def fill_linear(spec: Any, linear: nn.Linear, first: int = 0, last: int | None = None) -> None:
    """The rows `first` to `last` of a product, by default all of them."""
    spec.weight = numbers(linear.weight[first:last])
    if linear.bias is not None:
        spec.bias = numbers(linear.bias[first:last])


def fill_norm(spec: Any, norm: Any) -> None:
    spec.gamma = numbers(norm.weight)
    if isinstance(norm, nn.LayerNorm):
        spec.beta = numbers(norm.bias)


def fill_block(spec: Any, block: Any) -> None:
    """A block of the encoder or of the decoder, which has cross-attention too."""
    attention = block.self_attention
    fill_linear(spec.self_attention.linear[0], attention.in_projection)
    fill_linear(spec.self_attention.linear[1], attention.out_projection)
    fill_norm(spec.self_attention.layer_norm, block.self_attention_residual.normalise)
    if hasattr(spec, "attention"):
        attention, d_model = block.cross_attention, block.cross_attention.out_projection.in_features
        fill_linear(spec.attention.linear[0], attention.in_projection, last=d_model)
        fill_linear(spec.attention.linear[1], attention.in_projection, first=d_model)
        fill_linear(spec.attention.linear[2], attention.out_projection)
        fill_norm(spec.attention.layer_norm, block.cross_attention_residual.normalise)
    feed_forward = block.feed_forward
    gate_ends = feed_forward.outer.in_features
    fill_linear(spec.ffn.linear_0, feed_forward.inner, last=gate_ends)
    if hasattr(spec.ffn, "linear_0_noact"):
        fill_linear(spec.ffn.linear_0_noact, feed_forward.inner, first=gate_ends)
    fill_linear(spec.ffn.linear_1, feed_forward.outer)
    fill_norm(spec.ffn.layer_norm, block.feed_forward_residual.normalise)
