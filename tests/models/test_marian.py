"""Ours against Hugging Face's Marian, written from the same paper, with weights copied."""

from collections.abc import Callable
from typing import Any

import pytest
import torch
from torch import Tensor, nn
from torch.testing import assert_close
from transformers import MarianConfig, MarianMTModel

from regard.data.batch import batch_pairs, batch_sources
from regard.decode import collect
from regard.layers.attention import MultiHeadAttention
from regard.layers.cross_entropy import smoothed_cross_entropy
from regard.models.transformer import Transformer
from regard.objectives import translation

Build = Callable[..., Transformer]
PAD, START, END = 0, 2, 3
SOURCES = [[5, 9, 12, 7, 7, 21, 3], [8, 3], [11, 4, 6, 3]]
TARGETS = [[6, 6, 13, 3], [20, 9, 4, 17, 8, 3], [3]]


def linear(name: str, weight: Tensor, bias: Tensor) -> dict[str, Tensor]:
    return {f"{name}.weight": weight, f"{name}.bias": bias}


def attention(name: str, module: MultiHeadAttention) -> dict[str, Tensor]:
    weights, biases = module.in_projection.weight.chunk(3), module.in_projection.bias.chunk(3)
    out = module.out_projection
    tensors = linear(f"{name}.out_proj", out.weight, out.bias)
    for part, weight, bias in zip("qkv", weights, biases, strict=True):
        tensors |= linear(f"{name}.{part}_proj", weight, bias)
    return tensors


def marian_tensors(model: Transformer) -> dict[str, Tensor]:
    """Our weights under Marian's names, or our gradients once they stand in their place."""
    tensors = {"model.shared.weight": model.target_embedding.weight}
    for side, blocks in (("encoder", model.encoder), ("decoder", model.decoder)):
        for number, block in enumerate(blocks):
            name = f"model.{side}.layers.{number}"
            inner, outer = block.feed_forward.inner, block.feed_forward.outer
            tensors |= attention(f"{name}.self_attn", block.self_attention)
            tensors |= linear(f"{name}.fc1", inner.weight, inner.bias)
            tensors |= linear(f"{name}.fc2", outer.weight, outer.bias)
            norms = {
                "self_attn_layer_norm": block.self_attention_residual,
                "final_layer_norm": block.feed_forward_residual,
            }
            if side == "decoder":
                tensors |= attention(f"{name}.encoder_attn", block.cross_attention)
                norms["encoder_attn_layer_norm"] = block.cross_attention_residual
            for norm, residual in norms.items():
                normalise = residual.normalise
                tensors |= linear(f"{name}.{norm}", normalise.weight, normalise.bias)
    return tensors


def copied(model: Transformer) -> MarianMTModel:
    config = model.config
    theirs = MarianMTModel(
        MarianConfig(
            vocab_size=model.output.out_features,
            d_model=config.d_model,
            encoder_layers=config.encoder_layers,
            decoder_layers=config.decoder_layers,
            encoder_ffn_dim=config.d_ff,
            decoder_ffn_dim=config.d_ff,
            encoder_attention_heads=config.num_heads,
            decoder_attention_heads=config.num_heads,
            activation_function=config.activation,
            scale_embedding=True,
            max_position_embeddings=64,
            pad_token_id=PAD,
            eos_token_id=END,
            decoder_start_token_id=START,
            forced_eos_token_id=None,
            dropout=0.0,
        )
    ).to(model.output.weight.dtype)
    named = dict(theirs.named_parameters())
    positions = {name for name in named if "embed_positions" in name}
    assert isinstance(model.positions, nn.Module)
    with torch.no_grad():
        for name in positions:
            # Marian puts all sines first and all cosines after them; the order is a convention.
            named[name].copy_(model.positions(0, 64, named[name]))
        ours = marian_tensors(model)
        assert ours.keys() == named.keys() - positions
        for name, tensor in ours.items():
            named[name].copy_(tensor)
    return theirs.eval()


@pytest.mark.parametrize("activation", ["relu", "gelu"])
@pytest.mark.parametrize(
    ("dtype", "tolerance"), [(torch.float32, 1e-5), (torch.float64, 1e-10)], ids=str
)
def test_logits_loss_and_gradients_are_those_of_marian(
    build: Build, dtype: torch.dtype, tolerance: float, activation: str
) -> None:
    ours = build(dtype, activation=activation)
    theirs = copied(ours)
    batch = batch_pairs(SOURCES, TARGETS)
    logits = theirs(
        input_ids=batch.source, attention_mask=batch.source_mask, decoder_input_ids=batch.target
    ).logits
    mine = ours(batch.source, batch.source_mask, batch.target)
    assert_close(mine, logits, rtol=0, atol=tolerance)

    real = batch.label_mask
    expected = smoothed_cross_entropy(logits[real], batch.labels[real], 0.1)
    loss = translation(ours, batch, 0.1)
    assert_close(loss.total, expected, rtol=tolerance, atol=0)
    named = {name: p for name, p in theirs.named_parameters() if p.requires_grad}
    gradients = torch.autograd.grad(expected / loss.count, list(named.values()))
    (loss.total / loss.count).backward()
    for parameter in ours.parameters():
        parameter.data = parameter.grad
    renamed = marian_tensors(ours)
    for name, gradient in zip(named, gradients, strict=True):
        assert_close(renamed[name], gradient, rtol=0, atol=tolerance, msg=name)


def test_greedy_translations_are_those_of_marian(build: Build) -> None:
    torch.manual_seed(0)
    # A fresh model repeats itself; one that half learned a few sentences says many things.
    rows: list[list[int]] = [[4 + n, 22 - n, 4 + n // 3, END] for n in range(18)]
    outputs = [[*ids, END] for ids in (torch.randint(4, 23, (n,)).tolist() for n in range(1, 19))]
    ours = build(torch.float32, encoder_layers=1, decoder_layers=2, d_model=32)
    optimizer = torch.optim.Adam(ours.parameters(), lr=0.01)
    for _ in range(100):
        optimizer.zero_grad()
        translation(ours, batch_pairs(rows, outputs)).total.backward()
        optimizer.step()
    theirs = copied(ours)
    source, mask = batch_sources(rows)
    settings: dict[str, Any] = {"max_new_tokens": 12, "num_beams": 1, "do_sample": False}
    generated = theirs.generate(input_ids=source, attention_mask=mask, **settings)
    found = collect(
        ours.step,
        ours.start(source, mask),
        torch.full((len(rows),), START),
        max_lengths=torch.full((len(rows),), 12),
        end=END,
    )
    assert {each.finished for each in found} == {True, False}
    assert len({tuple(each.tokens) for each in found}) > 10
    for each, row in zip(found, generated.tolist(), strict=True):
        tokens = [*each.tokens, END] if each.finished else each.tokens
        assert row == [START, *tokens, *[PAD] * (len(row) - 1 - len(tokens))]
