"""regard's weights in other libraries' models, which then give the same outputs.

Nothing is imported that a contender does not need, since its starting time and memory are measured.
"""

from collections.abc import Iterator
from typing import TYPE_CHECKING

import torch
from torch import Tensor, nn

from regard.engines import settings
from regard.engines.renaming import to_theirs
from regard.errors import RequestError
from regard.layers.transformer import DecoderBlock, EncoderBlock
from regard.text.tokenizer import Specials

if TYPE_CHECKING:
    from transformers import MarianMTModel, PegasusForConditionalGeneration

    from regard.data.batch import Batch
    from regard.models.transformer import Transformer

    HuggingFace = MarianMTModel | PegasusForConditionalGeneration

LARGEST_DIFFERENCE = 1e-4
POSITIONS = 1024


def hugging_face(ours: "Transformer") -> "HuggingFace":
    """Marian, or for a pre-norm model Pegasus, which is Marian with the norms before the layers."""
    from transformers import (
        MarianConfig,
        MarianMTModel,
        PegasusConfig,
        PegasusForConditionalGeneration,
    )

    config, vocabulary = ours.config, ours.output.out_features
    pre = config.norm == "pre"
    try:
        values = settings.marian(config, vocabulary, vocabulary, Specials())
    except RequestError as error:
        raise SystemExit(str(error)) from None
    theirs: HuggingFace = (PegasusForConditionalGeneration if pre else MarianMTModel)(
        (PegasusConfig if pre else MarianConfig)(**values)
    )
    copy(to_theirs(config, dict(ours.named_parameters())), theirs)
    return theirs


def sinusoids(length: int, width: int) -> Tensor:
    """Alternating sines and cosines (§3.5): [length, width]"""
    waves = 10_000.0 ** (-torch.arange(0, width, 2, dtype=torch.float64) / width)
    angles = torch.arange(length, dtype=torch.float64)[:, None] * waves
    return torch.stack((angles.sin(), angles.cos()), dim=-1).flatten(1).float()


@torch.no_grad()
def copy(tensors: dict[str, Tensor], theirs: nn.Module) -> None:
    """Copy every trained parameter once; none may be left over."""
    named = {name: each for name, each in theirs.named_parameters() if each.requires_grad}
    assert tensors.keys() == named.keys(), sorted(tensors.keys() ^ named.keys())
    for name, tensor in tensors.items():
        named[name].copy_(tensor)


def affine(name: str, module: nn.Module) -> Iterator[tuple[str, Tensor]]:
    """The weight and bias of a linear map or a norm."""
    for part, tensor in module.named_parameters():
        yield f"{name}.{part}", tensor


class TorchTransformer(nn.Module):
    """torch.nn.Transformer with the embeddings around it that a user has to write."""

    positions: Tensor

    def __init__(self, ours: "Transformer") -> None:
        super().__init__()
        config = ours.config
        vocabulary, self.scale = ours.output.out_features, config.d_model**0.5
        self.embedding = nn.Embedding(vocabulary, config.d_model)
        self.register_buffer("positions", sinusoids(POSITIONS, config.d_model), persistent=False)
        self.dropout = nn.Dropout(config.dropout)
        self.transformer = nn.Transformer(
            d_model=config.d_model,
            nhead=config.num_heads,
            num_encoder_layers=config.encoder_layers,
            num_decoder_layers=config.decoder_layers,
            dim_feedforward=config.d_ff,
            dropout=config.dropout,
            batch_first=True,
        )
        # The paper has no norm after the last layer, and the others have no dropout inside a
        # sub-layer. Without these lines this contender would do more work than the others.
        self.transformer.encoder.norm = self.transformer.decoder.norm = None
        for module in self.transformer.modules():
            if isinstance(module, nn.MultiheadAttention):
                module.dropout = 0.0
            if isinstance(module, nn.TransformerEncoderLayer | nn.TransformerDecoderLayer):
                module.dropout.p = 0.0
        self.output = nn.Linear(config.d_model, vocabulary, bias=False)
        self.output.weight = self.embedding.weight
        copy(dict(torch_tensors(ours)), self)

    def embed(self, ids: Tensor) -> Tensor:
        return self.dropout(self.embedding(ids) * self.scale + self.positions[: ids.size(1)])

    def forward(self, source: Tensor, source_mask: Tensor, target: Tensor) -> Tensor:
        length = target.size(1)
        features = self.transformer(
            self.embed(source),
            self.embed(target),
            tgt_mask=torch.ones(length, length, dtype=torch.bool).triu(1),
            tgt_is_causal=True,
            src_key_padding_mask=~source_mask,
            memory_key_padding_mask=~source_mask,
        )
        return self.output(features)


def torch_tensors(ours: "Transformer") -> Iterator[tuple[str, Tensor]]:
    yield "embedding.weight", ours.target_embedding.weight
    for side in ("encoder", "decoder"):
        for number, block in enumerate(getattr(ours, side)):
            yield from torch_block(f"transformer.{side}.layers.{number}", block)


def torch_block(name: str, block: EncoderBlock | DecoderBlock) -> Iterator[tuple[str, Tensor]]:
    attentions = {"self_attn": block.self_attention}
    residuals = [block.self_attention_residual, block.feed_forward_residual]
    if isinstance(block, DecoderBlock):
        attentions["multihead_attn"] = block.cross_attention
        residuals.insert(1, block.cross_attention_residual)
    for kind, attention in attentions.items():
        for part, tensor in attention.in_projection.named_parameters():
            yield f"{name}.{kind}.in_proj_{part}", tensor
        yield from affine(f"{name}.{kind}.out_proj", attention.out_projection)
    yield from affine(f"{name}.linear1", block.feed_forward.inner)
    yield from affine(f"{name}.linear2", block.feed_forward.outer)
    for number, residual in enumerate(residuals, start=1):
        yield from affine(f"{name}.norm{number}", residual.normalise)


def logits_of(model: nn.Module, batch: "Batch") -> Tensor:
    """The logits [B, T, V] of a model of any library."""
    if type(model).__module__.startswith("transformers."):
        return model(
            input_ids=batch.source,
            attention_mask=batch.source_mask,
            decoder_input_ids=batch.target,
            use_cache=False,
        ).logits
    logits: Tensor = model(batch.source, batch.source_mask, batch.target)
    return logits


def logit_difference(ours: nn.Module, theirs: nn.Module, batch: "Batch") -> float:
    """The largest difference at a real position; an error if it is more than rounding."""
    modes = ours.training, theirs.training
    # With gradients on, since without them torch.nn uses another path through its layers.
    ours_say, theirs_say = (logits_of(each.eval(), batch).detach() for each in (ours, theirs))
    ours.train(modes[0])
    theirs.train(modes[1])
    difference = float((ours_say - theirs_say)[batch.label_mask].abs().max())
    if not difference < LARGEST_DIFFERENCE:
        raise SystemExit(
            f"{type(theirs).__name__}: logits differ by {difference:.2g}; "
            "the models are not the same, so their speeds are no comparison"
        )
    return difference
