"""Describes a Transformer to CTranslate2, with the arrays in a run's model.safetensors.

The arrays are taken by the names that `models.transformer` gives them. PyTorch is not loaded, so
that a run can be converted where it is not installed.
"""

import math
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any, cast

import numpy as np
import numpy.typing as npt
from ctranslate2.specs import (
    Activation,
    TransformerDecoderSpec,
    TransformerEncoderSpec,
    TransformerSpec,
)

from regard.engines.aligner import Aligner
from regard.errors import RunError
from regard.text.tokenizer import Tokenizers

if TYPE_CHECKING:
    from regard.configs.transformer import TransformerConfig

Arrays = Mapping[str, npt.NDArray[Any]]

ACTIVATIONS = {
    "relu": Activation.RELU,
    "gelu": Activation.GELU,
    "gelu_tanh": Activation.GELUTanh,
    "quick_gelu": Activation.GELUSigmoid,
    "swish": Activation.SWISH,
    "swiglu": Activation.SWISH,
}
FIRST = Aligner(0)
# The sub-layers of a block that attend, by the side that the block is on.
ATTENTIONS = {"encoder": ("self_attention",), "decoder": ("self_attention", "cross_attention")}


def specification(
    tensors: Arrays,
    config: "TransformerConfig",
    tokenizers: Tokenizers,
    positions: int,
    aligner: Aligner = FIRST,
) -> Any:
    """The model with its weights as CTranslate2 names them. `shapes` lists the `tensors`.

    CTranslate2 aligns with the mean of the first heads of a layer, so the head of the `aligner` is
    put first in its layer.
    """
    tensors = with_first_head(tensors, aligner, config.num_heads)
    choices = {
        "pre_norm": config.norm == "pre",
        "activation": ACTIVATIONS[config.activation],
        "ffn_glu": config.activation == "swiglu",
        "rms_norm": config.normalisation == "rms",
        # 0 rotates all of a head, None rotates nothing.
        "rotary_dim": 0 if config.positions == "rotary" else None,
    }
    spec = TransformerSpec(
        TransformerEncoderSpec(config.encoder_layers, config.num_heads, **choices),
        TransformerDecoderSpec(config.decoder_layers, config.num_heads, **choices),
    )
    # A tied weight is in the file once, under the first of its names.
    target = tensors["target_embedding.weight"]
    spec.decoder.embeddings.weight = target
    spec.encoder.embeddings[0].weight = tensors.get("source_embedding.weight", target)
    fill_linear(spec.decoder.projection, {"output.weight": target, **tensors}, "output")
    if config.positions != "rotary":
        table = (
            tensors["positions.table"][:positions]
            if config.positions == "learned"
            else sinusoids(positions, config.d_model)
        )
        # Scoring an output of full length reads one more position, whose value has no effect.
        table = np.concatenate((table, np.zeros_like(table[:1])))
        for side in (spec.encoder, spec.decoder):
            side.position_encodings.encodings = table
    for name in ("encoder", "decoder"):
        side = getattr(spec, name)
        if config.norm == "pre":
            fill_norm(side.layer_norm, tensors, f"{name}_norm")
        for number, layer in enumerate(side.layer):
            fill_block(layer, tensors, f"{name}.{number}")
    heads = config.num_heads if aligner.head is None else 1
    spec.decoder.alignment_layer = np.dtype("int16").type(aligner.layer)
    spec.decoder.alignment_heads = np.dtype("int16").type(heads)
    spec.config.layer_norm_epsilon = 1e-6 if config.normalisation == "rms" else 1e-5
    spec.config.add_source_eos = True
    names, specials = tokenizers.target.vocabulary, tokenizers.target.specials
    spec.config.eos_token = names[specials.end]
    spec.config.unk_token = names[cast("int", specials.unknown)]
    spec.config.bos_token = spec.config.decoder_start_token = names[specials.start]
    spec.register_source_vocabulary(list(tokenizers.source.vocabulary))
    spec.register_target_vocabulary(list(tokenizers.target.vocabulary))
    return spec


def with_first_head(tensors: Arrays, aligner: Aligner, num_heads: int) -> Arrays:
    """The same model with one head of a layer of cross-attention before all others."""
    if not aligner.head:
        return tensors
    order = [aligner.head, *(head for head in range(num_heads) if head != aligner.head)]
    name = f"decoder.{aligner.layer}.cross_attention"
    changed = dict(tensors)
    for part in ("weight", "bias"):
        if (key := f"{name}.in_projection.{part}") in tensors:
            # Queries, keys and values, each with rows for each head.
            heads = tensors[key].reshape(3, num_heads, -1, *tensors[key].shape[1:])
            changed[key] = np.ascontiguousarray(heads[:, order].reshape(tensors[key].shape))
    key = f"{name}.out_projection.weight"
    columns = tensors[key].reshape(len(tensors[key]), num_heads, -1)
    changed[key] = np.ascontiguousarray(columns[:, order].reshape(tensors[key].shape))
    return changed


def sinusoids(length: int, d_model: int) -> npt.NDArray[np.float32]:
    """[length, d_model]: the table of `layers.positions`."""
    position = np.arange(length, dtype=np.float64)[:, None]
    rate = np.exp(np.arange(0, d_model, 2, dtype=np.float64) * (-math.log(10000.0) / d_model))
    table = np.zeros((length, d_model), dtype=np.float32)
    table[:, 0::2] = np.sin(position * rate)
    table[:, 1::2] = np.cos(position * rate)[:, : d_model // 2]
    return table


def fill_linear(
    spec: Any, tensors: Arrays, name: str, first: int = 0, last: int | None = None
) -> None:
    """Set a linear map to the rows `first` to `last` of another, by default to all of them."""
    spec.weight = tensors[f"{name}.weight"][first:last]
    if f"{name}.bias" in tensors:
        spec.bias = tensors[f"{name}.bias"][first:last]


def fill_norm(spec: Any, tensors: Arrays, name: str) -> None:
    spec.gamma = tensors[f"{name}.weight"]
    if f"{name}.bias" in tensors:
        spec.beta = tensors[f"{name}.bias"]


def fill_block(spec: Any, tensors: Arrays, name: str) -> None:
    """Set a block of the encoder or of the decoder, which has cross-attention too."""
    attention = f"{name}.self_attention"
    fill_linear(spec.self_attention.linear[0], tensors, f"{attention}.in_projection")
    fill_linear(spec.self_attention.linear[1], tensors, f"{attention}.out_projection")
    fill_norm(spec.self_attention.layer_norm, tensors, f"{attention}_residual.normalise")
    if hasattr(spec, "attention"):
        attention = f"{name}.cross_attention"
        queries_end = tensors[f"{attention}.out_projection.weight"].shape[1]
        projection = f"{attention}.in_projection"
        fill_linear(spec.attention.linear[0], tensors, projection, last=queries_end)
        fill_linear(spec.attention.linear[1], tensors, projection, first=queries_end)
        fill_linear(spec.attention.linear[2], tensors, f"{attention}.out_projection")
        fill_norm(spec.attention.layer_norm, tensors, f"{attention}_residual.normalise")
    feed_forward = f"{name}.feed_forward"
    gate_ends = tensors[f"{feed_forward}.outer.weight"].shape[1]
    fill_linear(spec.ffn.linear_0, tensors, f"{feed_forward}.inner", last=gate_ends)
    if hasattr(spec.ffn, "linear_0_noact"):
        fill_linear(spec.ffn.linear_0_noact, tensors, f"{feed_forward}.inner", first=gate_ends)
    fill_linear(spec.ffn.linear_1, tensors, f"{feed_forward}.outer")
    fill_norm(spec.ffn.layer_norm, tensors, f"{feed_forward}_residual.normalise")


def shapes(
    config: "TransformerConfig", source_vocabulary: int, target_vocabulary: int
) -> dict[str, tuple[int, ...]]:
    """The parameters of a Transformer that has all its heads; tied ones once."""
    d_model = config.d_model
    found: dict[str, tuple[int, ...]] = {"target_embedding.weight": (target_vocabulary, d_model)}
    if config.tied_embeddings != "all":
        found["source_embedding.weight"] = (source_vocabulary, d_model)
    if config.tied_embeddings == "none":
        found["output.weight"] = (target_vocabulary, d_model)
    if config.output_bias:
        found["output.bias"] = (target_vocabulary,)
    if config.positions == "learned":
        found["positions.table"] = (config.max_positions, d_model)
    for name, rows, columns in products(config):
        found |= {f"{name}.weight": (rows, columns), f"{name}.bias": (rows,)}
    for name in norms(config):
        found[f"{name}.weight"] = (d_model,)
        if config.normalisation == "layer":
            found[f"{name}.bias"] = (d_model,)
    return found


def blocks(config: "TransformerConfig") -> Iterator[tuple[str, tuple[str, ...]]]:
    """The name of each block, and the names of its attentions."""
    for side, layers in (("encoder", config.encoder_layers), ("decoder", config.decoder_layers)):
        for number in range(layers):
            yield f"{side}.{number}", ATTENTIONS[side]


def products(config: "TransformerConfig") -> Iterator[tuple[str, int, int]]:
    """The linear maps of the blocks: names, outputs, inputs."""
    d_model, gates = config.d_model, 2 if config.activation == "swiglu" else 1
    for block, attentions in blocks(config):
        for attention in attentions:
            yield f"{block}.{attention}.in_projection", 3 * d_model, d_model
            yield f"{block}.{attention}.out_projection", d_model, d_model
        yield f"{block}.feed_forward.inner", gates * config.d_ff, d_model
        yield f"{block}.feed_forward.outer", d_model, config.d_ff


def norms(config: "TransformerConfig") -> Iterator[str]:
    if config.norm == "pre":
        yield from ("encoder_norm", "decoder_norm")
    for block, attentions in blocks(config):
        for part in (*attentions, "feed_forward"):
            yield f"{block}.{part}_residual.normalise"


def check(
    tensors: Arrays, config: "TransformerConfig", tokenizers: Tokenizers, where: Path
) -> None:
    """Accept exactly the parameters of the recipe's model, and refuse anything else."""
    source, target = len(tokenizers.source), len(tokenizers.target)
    if config.tied_embeddings == "all" and source != target:
        raise RunError(
            f'{where.parent}: tied_embeddings = "all" needs one vocabulary for both sides, '
            f"these have {source} and {target} entries"
        )
    expected = shapes(config, source, target)
    if missing := sorted(expected.keys() ^ tensors.keys()):
        raise RunError(
            f"{where}: not the weights of the recipe's model (differs in {missing[0]}); "
            "one of the two files is from another run"
        )
    for name, shape in expected.items():
        array = tensors[name]
        if array.shape != shape or array.dtype != np.float32:
            raise RunError(
                f"{where}: {name} is {array.shape} of {array.dtype}, "
                f"the recipe's model has {shape} of float32"
            )
        if not np.isfinite(array).all():
            raise RunError(f"{where}: {name} holds numbers that are not finite")
