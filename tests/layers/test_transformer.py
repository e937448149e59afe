"""Blocks against those of torch.nn with the same weights, and against finite differences."""

from collections.abc import Callable
from typing import Any

import pytest
import torch
import torch.nn.functional as F
from torch import Tensor, nn
from torch.testing import assert_close

from regard.layers.attention import MultiHeadAttention, SelfAttention, SharedKeysValues
from regard.layers.first import attend_first
from regard.layers.masks import causal_mask, key_mask
from regard.layers.positions import Rotary
from regard.layers.transformer import (
    Activation,
    BlockSizes,
    DecoderBlock,
    EncoderBlock,
    FeedForward,
    Norm,
    Normalisation,
    Residual,
)

Randomise = Callable[[nn.Module], Any]
SIZES = {"d_model": 12, "d_ff": 20, "num_heads": 3, "dropout": 0.0}
SOURCE = torch.tensor([[True] * 6, [True] * 4 + [False] * 2])


def draw(*shape: int) -> Tensor:
    return torch.randn(*shape, dtype=torch.float64)


def tensors(prefix: str, module: nn.Module) -> dict[str, Tensor]:
    """A sub-layer's weights under torch.nn's names."""
    if isinstance(module, MultiHeadAttention):
        names = {
            "in_proj_weight": module.in_projection.weight,
            "in_proj_bias": module.in_projection.bias,
            "out_proj.weight": module.out_projection.weight,
            "out_proj.bias": module.out_projection.bias,
        }
    else:
        names = dict(module.named_parameters())
    return {f"{prefix}.{name}": value for name, value in names.items()}


def encoder_tensors(block: EncoderBlock) -> dict[str, Tensor]:
    return {
        **tensors("self_attn", block.self_attention),
        **tensors("norm1", block.self_attention_residual.normalise),
        **tensors("linear1", block.feed_forward.inner),
        **tensors("linear2", block.feed_forward.outer),
        **tensors("norm2", block.feed_forward_residual.normalise),
    }


def decoder_tensors(block: DecoderBlock) -> dict[str, Tensor]:
    return {
        **tensors("self_attn", block.self_attention),
        **tensors("norm1", block.self_attention_residual.normalise),
        **tensors("multihead_attn", block.cross_attention),
        **tensors("norm2", block.cross_attention_residual.normalise),
        **tensors("linear1", block.feed_forward.inner),
        **tensors("linear2", block.feed_forward.outer),
        **tensors("norm3", block.feed_forward_residual.normalise),
    }


def assert_same_gradients(ours: dict[str, Tensor], theirs: nn.Module) -> None:
    named = dict(theirs.named_parameters())
    assert named.keys() == ours.keys()
    for name, weight in ours.items():
        assert weight.grad is not None
        assert weight.grad.any(), name
        assert_close(weight.grad, named[name].grad)


@pytest.mark.parametrize("activation", ["relu", "gelu"])
@pytest.mark.parametrize("norm", ["post", "pre"])
@pytest.mark.parametrize("causal", [False, True])
def test_an_encoder_block_is_the_one_of_torch(
    random_weights: Randomise, norm: Norm, activation: Activation, causal: bool
) -> None:
    block = random_weights(
        EncoderBlock(BlockSizes(**SIZES, norm=norm, activation=activation)).double()
    )
    theirs = nn.TransformerEncoderLayer(
        12, 3, 20, 0.0, activation, norm_first=norm == "pre", batch_first=True, dtype=torch.float64
    )
    theirs.load_state_dict(encoder_tensors(block))
    x = draw(2, 6, 12)
    if causal:
        ours, expected = block(x, causal=True), theirs(x, src_mask=~causal_mask(6))
    else:
        ours, expected = block(x, key_mask(SOURCE)), theirs(x, src_key_padding_mask=~SOURCE)
    assert_close(ours, expected)
    upstream = draw(*ours.shape)
    ours.backward(upstream)
    expected.backward(upstream)
    assert_same_gradients(encoder_tensors(block), theirs)


@pytest.mark.parametrize("activation", ["relu", "gelu"])
@pytest.mark.parametrize("norm", ["post", "pre"])
def test_a_decoder_block_is_the_one_of_torch(
    random_weights: Randomise, norm: Norm, activation: Activation
) -> None:
    block = random_weights(
        DecoderBlock(BlockSizes(**SIZES, norm=norm, activation=activation)).double()
    )
    theirs = nn.TransformerDecoderLayer(
        12, 3, 20, 0.0, activation, norm_first=norm == "pre", batch_first=True, dtype=torch.float64
    )
    theirs.load_state_dict(decoder_tensors(block))
    x, memory = draw(2, 5, 12), draw(2, 6, 12)
    ours = block(x, memory, key_mask(SOURCE))
    expected = theirs(x, memory, tgt_mask=~causal_mask(5), memory_key_padding_mask=~SOURCE)
    assert_close(ours, expected)
    upstream = draw(*ours.shape)
    ours.backward(upstream)
    expected.backward(upstream)
    assert_same_gradients(decoder_tensors(block), theirs)


@pytest.mark.parametrize("normalisation", ["layer", "rms"])
@pytest.mark.parametrize("norm", ["post", "pre"])
def test_the_first_position_alone_is_that_of_the_whole_block(
    random_weights: Randomise, norm: Norm, normalisation: Normalisation
) -> None:
    sizes = BlockSizes(**SIZES, norm=norm, normalisation=normalisation, activation="gelu")
    block = random_weights(EncoderBlock(sizes).double()).train()
    x, upstream = draw(2, 6, 12).requires_grad_(), draw(2, 12)
    values = [x, *block.parameters()]
    alone, full = block.first(x), block(x)[:, 0]
    assert_close(alone, full, atol=1e-12, rtol=0)
    found = torch.autograd.grad(alone, values, upstream)
    expected = torch.autograd.grad(full, values, upstream)
    for one, other in zip(found, expected, strict=True):
        assert one.any()
        assert_close(one, other, atol=1e-12, rtol=1e-9)


def test_the_first_position_alone_drops_weights_as_the_whole_block_does(
    random_weights: Randomise,
) -> None:
    """Dropout is on average what is computed without it, before anything that is not linear."""
    attention = random_weights(SelfAttention(12, 3, dropout=0.4).double()).train()
    x = draw(1, 6, 12)
    many = attend_first(attention, x.expand(40_000, -1, -1))
    assert many.std(0).min() > 0.01
    assert_close(many.mean(0), attention.eval()(x)[0, 0], atol=0.05, rtol=0)
    assert_close(attend_first(attention, x), attention(x)[:, 0], atol=1e-12, rtol=0)


CHOICES: list[tuple[Norm, Normalisation, Activation, bool]] = [
    ("post", "layer", "relu", False),
    ("pre", "rms", "relu", True),
    ("post", "rms", "gelu", True),
    ("pre", "layer", "gelu", False),
    ("post", "layer", "swiglu", True),
    ("pre", "rms", "swiglu", False),
]


class WholeDecoderBlock(DecoderBlock):
    """Takes the source itself, so that all its gradients can be computed at once."""

    def forward(
        self,
        x: Tensor,
        memory: Any,
        memory_mask: Tensor | None = None,
        rotation: Tensor | None = None,
    ) -> Tensor:
        return super().forward(x, memory, memory_mask, rotation)


@pytest.mark.parametrize(("norm", "normalisation", "activation", "rotary"), CHOICES)
def test_the_gradients_of_blocks(
    random_weights: Randomise,
    check_gradients: Any,
    norm: Norm,
    normalisation: Normalisation,
    activation: Activation,
    rotary: bool,
) -> None:
    sizes = BlockSizes(
        4, 3, 2, dropout=0.0, norm=norm, normalisation=normalisation, activation=activation
    )
    x, memory = draw(2, 2, 4), draw(2, 3, 4)
    rotation = Rotary(2).double()(0, 2, x) if rotary else None
    encoder = random_weights(EncoderBlock(sizes).double())
    mask = key_mask(torch.tensor([[True, True], [True, False]]))
    check_gradients(encoder, x, mask=mask, rotation=rotation)
    decoder = random_weights(WholeDecoderBlock(sizes).double())
    mask = key_mask(torch.tensor([[True, True, False], [True] * 3]))
    check_gradients(decoder, x, memory, memory_mask=mask, rotation=rotation)


@pytest.mark.parametrize("activation", ["relu", "gelu", "gelu_tanh", "quick_gelu", "swiglu"])
def test_the_feed_forward_layer_is_its_formula(
    random_weights: Randomise, activation: Activation
) -> None:
    layer = random_weights(FeedForward(BlockSizes(**SIZES, activation=activation)).double())
    x = draw(2, 3, 12)
    inner = x @ layer.inner.weight.T + layer.inner.bias
    if activation == "relu":
        hidden = inner.clamp(min=0)
    elif activation == "gelu":
        hidden = inner * (1 + torch.erf(inner / 2**0.5)) / 2
    elif activation == "gelu_tanh":
        bent = (2 / torch.pi) ** 0.5 * (inner + 0.044715 * inner**3)
        hidden = inner * (1 + bent.tanh()) / 2
    elif activation == "quick_gelu":
        hidden = inner / (1 + torch.exp(-1.702 * inner))
    else:
        hidden = inner[..., :20] * inner[..., :20].sigmoid() * inner[..., 20:]
    assert_close(layer(x), hidden @ layer.outer.weight.T + layer.outer.bias)


def test_the_normalisations_are_their_formulas(random_weights: Randomise) -> None:
    x = draw(5, 12)
    layer = random_weights(BlockSizes(**SIZES).normaliser().double())
    centred = x - x.mean(-1, keepdim=True)
    spread = (centred.square().mean(-1, keepdim=True) + 1e-5).sqrt()
    assert_close(layer(x), centred / spread * layer.weight + layer.bias)
    rms = random_weights(BlockSizes(**SIZES, normalisation="rms").normaliser().double())
    size = (x.square().mean(-1, keepdim=True) + 1e-6).sqrt()
    assert_close(rms(x), x / size * rms.weight)


def test_add_and_norm_stands_where_it_is_asked_for(random_weights: Randomise) -> None:
    x, update = draw(2, 3, 12), draw(2, 3, 12)
    post = random_weights(Residual(BlockSizes(**SIZES, norm="post")).double())
    assert post.before(x) is x
    weight, bias = post.normalise.weight, post.normalise.bias
    assert_close(post.after(x, update), F.layer_norm(x + update, (12,), weight, bias))
    pre = random_weights(Residual(BlockSizes(**SIZES, norm="pre")).double())
    weight, bias = pre.normalise.weight, pre.normalise.bias
    assert_close(pre.before(x), F.layer_norm(x, (12,), weight, bias))
    assert_close(pre.after(x, update), x + update)


def test_each_dropout_is_at_work_in_training_and_not_in_use() -> None:
    torch.manual_seed(0)
    x = torch.randn(2, 6, 12)
    for name in ("dropout", "attention_dropout", "feed_forward_dropout"):
        block = EncoderBlock(BlockSizes(**{**SIZES, name: 0.5}))
        assert not torch.equal(block(x), block(x)), name
        block.eval()
        assert torch.equal(block(x), block(x)), name


@torch.no_grad()
@pytest.mark.parametrize("rotary", [False, True])
def test_steps_of_a_decoder_block_are_its_whole_pass(
    random_weights: Randomise, rotary: bool
) -> None:
    block = random_weights(DecoderBlock(BlockSizes(**SIZES)).double())
    positions = Rotary(4).double()
    x, memory = draw(2, 5, 12), draw(2, 6, 12)
    whole = block(x, memory, key_mask(SOURCE), positions(0, 5, x) if rotary else None)
    source = torch.stack(block.cross_attention.project_memory(memory))  # [2, B, h, S, d_k]
    past = torch.zeros(2, 2, 3, 5, 4, dtype=torch.float64)
    lowest = torch.finfo(torch.float64).min
    padding = torch.zeros(SOURCE.shape, dtype=torch.float64).masked_fill(~SOURCE, lowest)
    future = torch.zeros(6, 1, 5, dtype=torch.float64)
    for place in range(5):
        rotation = positions(place, 1, x) if rotary else None
        future[:, :, place + 1 :] = lowest
        out = block.step(
            x[:, place],
            SharedKeysValues(*past.flatten(1, 2), future.clone()),
            past[..., place : place + 1, :],
            SharedKeysValues(*source.flatten(1, 2), padding.repeat_interleave(3, 0)[:, None]),
            rotation,
        )
        future.zero_()
        assert_close(out, whole[:, place])
