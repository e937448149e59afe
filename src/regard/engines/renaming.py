"""Weights under Hugging Face's names: Marian, Pegasus, GPT-2 and BERT.

A table for each model says where each of our tensors goes. It is used in both directions, so an
exported model comes back the same, bit for bit. Models of images have tables in files of their own.
"""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

import torch
from torch import Tensor

from regard.errors import RequestError, RunError

if TYPE_CHECKING:
    from regard.models import BertConfig, GPTConfig, ModelConfig, TransformerConfig

KINDS = ("transformer", "gpt", "bert")


@dataclass(frozen=True)
class Entry:
    """Where one of our tensors is in their file."""

    ours: str
    theirs: tuple[str, ...]  # if several, they are parts of ours, one below the other
    stream: int | None = None  # which axis of ours is as wide as the model
    transposed: bool = False  # theirs is the transpose of ours
    upside_down: bool = False  # theirs has the last row first
    axes: int = 0  # how many axes of one row theirs begins with; -1 if ours has one more


def affine(ours: str, theirs: str, stream: int | None = 0) -> Iterator[Entry]:
    """A norm, or a linear map whose weight reads (1) or writes (0) the residual stream."""
    yield Entry(f"{ours}.weight", (f"{theirs}.weight",), stream)
    yield Entry(f"{ours}.bias", (f"{theirs}.bias",), 0 if stream == 0 else None)


def attention(ours: str, theirs: str, parts: str, out: str) -> Iterator[Entry]:
    """Our one projection of queries, keys and values, and their three, named by `parts`."""
    names = [f"{theirs}.{part}" for part in parts.split()]
    for kind, stream in (("weight", 1), ("bias", None)):
        joined = tuple(f"{name}.{kind}" for name in names)
        yield Entry(f"{ours}.in_projection.{kind}", joined, stream)
    yield from affine(f"{ours}.out_projection", f"{theirs}.{out}")


def marian_entries(config: "TransformerConfig") -> Iterator[Entry]:
    """The entries of Marian, and of Pegasus, which is Marian with the norms before the layers."""
    if config.tied_embeddings == "all":
        yield Entry("target_embedding.weight", ("model.shared.weight",), 1)
    else:
        yield Entry("target_embedding.weight", ("model.decoder.embed_tokens.weight",), 1)
        yield Entry("source_embedding.weight", ("model.encoder.embed_tokens.weight",), 1)
    if config.tied_embeddings == "none":
        yield Entry("output.weight", ("lm_head.weight",), 1)
    if config.output_bias:
        yield Entry("output.bias", ("final_logits_bias",), axes=1)
    for side, layers in (("encoder", config.encoder_layers), ("decoder", config.decoder_layers)):
        if config.norm == "pre":
            yield from affine(f"{side}_norm", f"model.{side}.layer_norm")
        for number in range(layers):
            ours, theirs = f"{side}.{number}", f"model.{side}.layers.{number}"
            kinds = {"self": "self_attn"} | ({"cross": "encoder_attn"} if side == "decoder" else {})
            for kind, name in kinds.items():
                mine = f"{ours}.{kind}_attention"
                parts = "q_proj k_proj v_proj"
                yield from attention(mine, f"{theirs}.{name}", parts, "out_proj")
                yield from affine(f"{mine}_residual.normalise", f"{theirs}.{name}_layer_norm")
            yield from affine(f"{ours}.feed_forward.inner", f"{theirs}.fc1", stream=1)
            yield from affine(f"{ours}.feed_forward.outer", f"{theirs}.fc2")
            norm = f"{theirs}.final_layer_norm"
            yield from affine(f"{ours}.feed_forward_residual.normalise", norm)


def gpt2_entries(config: "GPTConfig") -> Iterator[Entry]:
    yield Entry("embedding.weight", ("transformer.wte.weight",))
    yield Entry("positions.table", ("transformer.wpe.weight",))
    yield from affine("norm", "transformer.ln_f")
    if not config.tied_embeddings:
        yield Entry("output.weight", ("lm_head.weight",))
    for number in range(config.num_layers):
        ours, theirs = f"decoder.{number}", f"transformer.h.{number}"
        yield from affine(f"{ours}.self_attention_residual.normalise", f"{theirs}.ln_1")
        yield from affine(f"{ours}.feed_forward_residual.normalise", f"{theirs}.ln_2")
        for mine, name in {
            "self_attention.in_projection": "attn.c_attn",
            "self_attention.out_projection": "attn.c_proj",
            "feed_forward.inner": "mlp.c_fc",
            "feed_forward.outer": "mlp.c_proj",
        }.items():
            yield Entry(f"{ours}.{mine}.weight", (f"{theirs}.{name}.weight",), transposed=True)
            yield Entry(f"{ours}.{mine}.bias", (f"{theirs}.{name}.bias",))


def bert_entries(config: "BertConfig") -> Iterator[Entry]:
    yield Entry("embedding.weight", ("bert.embeddings.word_embeddings.weight",))
    yield Entry("positions.table", ("bert.embeddings.position_embeddings.weight",))
    yield Entry("segments.weight", ("bert.embeddings.token_type_embeddings.weight",))
    yield from affine("embedding_norm", "bert.embeddings.LayerNorm")
    for number in range(config.num_layers):
        ours, theirs = f"encoder.{number}", f"bert.encoder.layer.{number}"
        parts = "self.query self.key self.value"
        mine = f"{ours}.self_attention"
        yield from attention(mine, f"{theirs}.attention", parts, "output.dense")
        yield from affine(f"{mine}_residual.normalise", f"{theirs}.attention.output.LayerNorm")
        yield from affine(f"{ours}.feed_forward.inner", f"{theirs}.intermediate.dense")
        yield from affine(f"{ours}.feed_forward.outer", f"{theirs}.output.dense")
        yield from affine(f"{ours}.feed_forward_residual.normalise", f"{theirs}.output.LayerNorm")
    if config.pooler:
        yield from affine("pooler", "bert.pooler.dense")
    if config.next_sentence:
        # A sentence that follows is 1 for us and 0 for them.
        for kind in ("weight", "bias"):
            name = f"cls.seq_relationship.{kind}"
            yield Entry(f"relation.{kind}", (name,), upside_down=True)
    if config.masked_head:
        yield from affine("head", "cls.predictions.transform.dense")
        yield from affine("head_norm", "cls.predictions.transform.LayerNorm")
        yield Entry("output.bias", ("cls.predictions.bias",))


def entries(config: "ModelConfig") -> list[Entry]:
    match config.kind:
        case "transformer":
            return list(marian_entries(config))
        case "gpt":
            return list(gpt2_entries(config))
        case "bert":
            return list(bert_entries(config))
    raise RequestError(
        f'Hugging Face: has no model of kind "{config.kind}"; it takes {" and ".join(KINDS)}'
    )


def stream_order(config: "ModelConfig") -> Tensor | None:
    """Marian has all sines before all cosines, while in the paper they alternate. Its tables come
    from a formula and are never saved, so the dimensions of the model are put in their order.
    """
    if config.kind != "transformer":
        return None
    return torch.cat((torch.arange(0, config.d_model, 2), torch.arange(1, config.d_model, 2)))


def to_theirs(config: "ModelConfig", tensors: Mapping[str, Tensor]) -> dict[str, Tensor]:
    """Our tensors by name → theirs."""
    return renamed(entries(config), tensors, stream_order(config))


def to_ours(
    config: "ModelConfig", tensors: Mapping[str, Tensor], where: object
) -> dict[str, Tensor]:
    """Their tensors by name → ours."""
    return restored(entries(config), tensors, where, stream_order(config))


def renamed(
    table: Iterable[Entry], tensors: Mapping[str, Tensor], order: Tensor | None = None
) -> dict[str, Tensor]:
    """Our tensors by name → theirs. `order` is that of the dimensions of their model in ours."""
    result = {}
    for entry in table:
        tensor = tensors[entry.ours]
        if order is not None and entry.stream is not None:
            tensor = tensor.index_select(entry.stream, order)
        if entry.upside_down:
            tensor = tensor.flip(0)
        parts = tensor.chunk(len(entry.theirs))
        for name, part in zip(entry.theirs, parts, strict=True):
            part = part.T if entry.transposed else part
            result[name] = part[(None,) * entry.axes] if entry.axes >= 0 else part[0]
    return result


def restored(
    table: Sequence[Entry],
    tensors: Mapping[str, Tensor],
    where: object,
    order: Tensor | None = None,
) -> dict[str, Tensor]:
    """Their tensors by name → ours. Every tensor must have a place, and every place a tensor."""
    wanted = {name for entry in table for name in entry.theirs}
    if missing := sorted(wanted - tensors.keys()):
        raise RunError(f"{where}: {missing[0]} is missing; the file is not whole")
    if unknown := sorted(tensors.keys() - wanted):
        raise RunError(f"{where}: {unknown[0]} has no place in regard's model; it is another model")
    result = {}
    for entry in table:
        parts = [without_axes(tensors[name], entry.axes) for name in entry.theirs]
        try:
            whole = [part.transpose(0, 1) if entry.transposed else part for part in parts]
            tensor = torch.cat(whole)
        except (RuntimeError, IndexError):
            raise RunError(f"{where}: {entry.theirs[0]} does not fit what belongs to it") from None
        if order is not None and entry.stream is not None:
            if tensor.size(entry.stream) != len(order):
                raise RunError(f"{where}: {entry.theirs[0]} is not as wide as the model")
            tensor = tensor.index_select(entry.stream, order.argsort())
        if entry.upside_down:
            tensor = tensor.flip(0)
        result[entry.ours] = tensor.float().contiguous()
    return result


def without_axes(tensor: Tensor, axes: int) -> Tensor:
    """A tensor without these axes of one row, or with one more for each below 0; a tensor that has
    none is left as it is, for whoever checks its shape.
    """
    for _ in range(axes):
        tensor = tensor[0] if tensor.dim() and len(tensor) == 1 else tensor
    return tensor[None] if axes < 0 else tensor
