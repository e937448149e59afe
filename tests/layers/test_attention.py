"""attention() as in the paper, the fused kernel that runs in its place, and multiple heads."""

import math
from collections.abc import Callable
from typing import Any

import pytest
import torch
import torch.nn.functional as F
from torch import Tensor, nn
from torch.autograd import gradcheck
from torch.testing import assert_close

from regard.layers.attention import (
    CrossAttention,
    KeysValues,
    MultiHeadAttention,
    SelfAttention,
    attention,
)
from regard.layers.masks import causal_mask, key_mask, padding_mask

BATCH, HEADS, QUERIES, KEYS, SIZE = 3, 2, 5, 7, 4


def draw(*shape: int, dtype: torch.dtype = torch.float64) -> Tensor:
    return torch.randn(*shape, dtype=dtype)


def masks() -> dict[str, Tensor | None]:
    generator = torch.Generator().manual_seed(3)
    some = torch.rand(BATCH, 1, QUERIES, KEYS, generator=generator) < 0.6
    some[0, 0, 2] = False
    return {
        "everything": None,
        "not the padding": key_mask(torch.arange(KEYS) < torch.tensor([[7], [1], [4]])),
        "something, or nothing": some,
        "only earlier": torch.ones(QUERIES, KEYS, dtype=torch.bool).tril(),
    }


def test_the_worked_example() -> None:
    x = torch.eye(4)[[0, 1, 0]]
    y = torch.tensor([[1.0, -1.0, 0.0]])
    to_value = torch.tensor([[1.0, 0, 0, 0], [0, 1, 1, 0]])
    to_query = torch.tensor([[0.0, 1, 0], [1, 0, 0], [0, 0, 1], [1, 0, -1]])
    query, key, value = y @ to_query.T, x, x @ to_value.T
    assert value.tolist() == [[1, 0], [0, 1], [1, 0]]
    assert query.tolist() == [[-1, 1, 0, 1]]
    assert (query @ key.T).tolist() == [[-1, 1, -1]]
    z, weights = attention(query, key, value)
    low, high = math.exp(-0.5), math.exp(0.5)
    assert_close(weights, torch.tensor([[low, high, low]]) / (2 * low + high))
    assert_close(z, torch.tensor([[2 * low, high]]) / (2 * low + high))


def test_the_worked_shapes() -> None:
    two_words, to_query = draw(2, 4), draw(4, 3)
    assert (two_words @ to_query).shape == (2, 3)
    four_words = draw(4, 4)
    z, weights = attention(four_words, four_words, draw(4, 6))
    assert weights.numel() == 16
    assert z.shape == (4, 6)


@pytest.mark.parametrize("size", [4, 64, 1024])
def test_the_spread_of_scores_does_not_grow_with_the_size(size: int) -> None:
    torch.manual_seed(0)
    _, weights = attention(draw(100, size), draw(100, size), draw(100, 1))
    # log softmax is the scores up to a constant of the row
    assert float(weights.log().std(dim=-1).mean()) == pytest.approx(1.0, abs=0.1)


@pytest.mark.parametrize("dtype", [torch.float32, torch.float64])
@pytest.mark.parametrize("visible", masks())
def test_the_reference_is_what_the_kernel_computes(visible: str, dtype: torch.dtype) -> None:
    torch.manual_seed(1)
    mask = masks()[visible]
    inputs = [
        draw(BATCH, HEADS, length, SIZE, dtype=dtype).requires_grad_()
        for length in (QUERIES, KEYS, KEYS)
    ]
    ours, weights = attention(*inputs, mask)
    kernel = F.scaled_dot_product_attention(*inputs, attn_mask=mask)
    assert_close(ours, kernel)
    upstream = draw(*ours.shape, dtype=dtype)
    for mine, theirs in zip(
        torch.autograd.grad(ours, inputs, upstream),
        torch.autograd.grad(kernel, inputs, upstream),
        strict=True,
    ):
        assert_close(mine, theirs)
    seen = torch.ones_like(weights, dtype=torch.bool) if mask is None else mask.expand_as(weights)
    assert not weights[~seen].any()
    assert_close(weights.sum(-1), seen.any(-1).to(dtype))


def test_the_reference_is_what_the_causal_kernel_computes() -> None:
    torch.manual_seed(1)
    query, key, value = draw(3, BATCH, HEADS, KEYS, SIZE)
    kernel = F.scaled_dot_product_attention(query, key, value, is_causal=True)
    assert_close(attention(query, key, value, causal_mask(KEYS))[0], kernel)


@pytest.mark.parametrize("visible", ["everything", "something, or nothing"])
def test_the_gradients_of_the_reference(visible: str) -> None:
    torch.manual_seed(2)
    inputs = [draw(BATCH, 1, length, 2).requires_grad_() for length in (QUERIES, KEYS, KEYS)]
    assert gradcheck(lambda q, k, v: attention(q, k, v, masks()[visible]), inputs)


def reference(query: Tensor, key: Tensor, value: Tensor, mask: Tensor) -> Tensor:
    return attention(query, key, value, mask)[0]


def heads_only(query: Tensor, key: Tensor, value: Tensor, mask: Tensor) -> Tensor:
    module = MultiHeadAttention(HEADS * SIZE, HEADS).to(query.dtype)
    with torch.no_grad():
        module.out_projection.weight.copy_(torch.eye(HEADS * SIZE))
        module.out_projection.bias.zero_()
    return module.attend(query, KeysValues(key, value), mask).unflatten(2, (HEADS, SIZE))


@pytest.mark.parametrize("dtype", [torch.float32, torch.float64])
@pytest.mark.parametrize("attend", [reference, heads_only])
def test_a_query_that_sees_nothing_gets_zeros(
    attend: Callable[..., Tensor], dtype: torch.dtype
) -> None:
    torch.manual_seed(4)
    inputs = [draw(2, HEADS, 6, SIZE, dtype=dtype).requires_grad_() for _ in range(3)]
    mask = torch.ones(2, 1, 6, 6, dtype=torch.bool)
    mask[0] = False
    out = attend(*inputs, mask)
    assert not out[0].any()
    assert out[1].all()
    out.backward(draw(*out.shape, dtype=dtype))
    for given in inputs:
        assert given.grad is not None
        assert not given.grad[0].any()
        assert given.grad[1].isfinite().all()
        assert given.grad[1].any()


def test_an_empty_source_leaves_only_the_bias(
    random_weights: Callable[[nn.Module], Any],
) -> None:
    module = random_weights(CrossAttention(8, 2, dropout=0.2))
    x, memory = draw(2, 3, 8, dtype=torch.float32), draw(2, 5, 8, dtype=torch.float32)
    mask = key_mask(torch.tensor([[False] * 5, [True] * 5]))
    out = module(x, module.project_memory(memory), mask)
    assert_close(out[0], module.out_projection.bias.expand(3, 8))
    out.sum().backward()
    assert all(parameter.grad.isfinite().all() for parameter in module.parameters())


def copied(ours: MultiHeadAttention) -> nn.MultiheadAttention:
    size = ours.out_projection.in_features
    theirs = nn.MultiheadAttention(size, ours.num_heads, batch_first=True, dtype=torch.float64)
    theirs.load_state_dict(
        {
            "in_proj_weight": ours.in_projection.weight,
            "in_proj_bias": ours.in_projection.bias,
            "out_proj.weight": ours.out_projection.weight,
            "out_proj.bias": ours.out_projection.bias,
        }
    )
    return theirs


@pytest.mark.parametrize("causal", [False, True])
def test_self_attention_is_the_one_of_torch(
    random_weights: Callable[[nn.Module], Any], causal: bool
) -> None:
    ours = random_weights(SelfAttention(12, 3).double())
    theirs = copied(ours)
    x = draw(BATCH, KEYS, 12)
    real = torch.arange(KEYS) < torch.tensor([[7], [1], [4]])
    ours.record = []
    if causal:
        out = ours(x, causal=True)
        expected, weights = theirs(
            x, x, x, attn_mask=~causal_mask(KEYS), average_attn_weights=False
        )
    else:
        out = ours(x, key_mask(real))
        expected, weights = theirs(x, x, x, key_padding_mask=~real, average_attn_weights=False)
    assert_close(out, expected)
    assert_close(ours.record[0], weights)


def test_cross_attention_is_the_one_of_torch(random_weights: Callable[[nn.Module], Any]) -> None:
    ours = random_weights(CrossAttention(12, 3).double())
    theirs = copied(ours)
    x, memory = draw(BATCH, QUERIES, 12), draw(BATCH, KEYS, 12)
    real = torch.arange(KEYS) < torch.tensor([[7], [1], [4]])
    expected, _ = theirs(x, memory, memory, key_padding_mask=~real)
    assert_close(ours(x, ours.project_memory(memory), key_mask(real)), expected)


def test_recording_changes_no_bit(random_weights: Callable[[nn.Module], Any]) -> None:
    module = random_weights(SelfAttention(12, 3))
    x = draw(BATCH, KEYS, 12, dtype=torch.float32)
    before = module(x, causal=True)
    module.record = []
    assert torch.equal(module(x, causal=True), before)
    assert [weights.shape for weights in module.record] == [(BATCH, 3, KEYS, KEYS)]


@pytest.mark.parametrize("causal", [False, True])
def test_the_gradients_of_self_attention(
    random_weights: Callable[[nn.Module], Any], check_gradients: Any, causal: bool
) -> None:
    module = random_weights(SelfAttention(4, 2).double())
    mask = None if causal else key_mask(torch.tensor([[True] * 3, [True, True, False]]))
    check_gradients(module, draw(2, 3, 4), mask=mask, causal=causal)


def test_the_gradients_of_cross_attention(
    random_weights: Callable[[nn.Module], Any], check_gradients: Any
) -> None:
    class Whole(CrossAttention):
        def forward(self, x: Tensor, memory: Any, mask: Tensor | None = None) -> Tensor:
            return super().forward(x, self.project_memory(memory), mask)

    module = random_weights(Whole(4, 2).double())
    mask = key_mask(torch.tensor([[True] * 3, [True, True, False], [False] * 3]))
    check_gradients(module, draw(3, 2, 4), draw(3, 3, 4), mask=mask)


def test_dropout_falls_on_the_weights_only_in_training() -> None:
    torch.manual_seed(5)
    module = SelfAttention(8, 2, dropout=0.5)
    x = draw(1, 6, 8, dtype=torch.float32)
    assert not torch.equal(module(x), module(x))
    module.eval()
    assert torch.equal(module(x), module(x))


def test_a_width_that_heads_cannot_share_is_refused() -> None:
    with pytest.raises(ValueError, match="10 is not a multiple of num_heads 4"):
        MultiHeadAttention(10, 4)


def test_masks_are_true_where_a_query_may_look() -> None:
    assert causal_mask(3).tolist() == [[True, False, False], [True, True, False], [True] * 3]
    ids = torch.tensor([[5, 6, 0], [5, 0, 0]])
    assert padding_mask(ids, 0).tolist() == [[True, True, False], [True, False, False]]
    assert key_mask(padding_mask(ids, 0)).shape == (2, 1, 1, 3)
