"""What must hold of any translator, whatever its parts: causality, padding, steps, gradients."""

from typing import Any

import pytest
import torch
from torch import Tensor

from regard.data.batch import batch_pairs, batch_sources
from regard.models import Model, RecurrentConfig, TransformerConfig, build
from regard.objectives import translation
from tests.models.problems import (
    START,
    TOLERANCE,
    VOCABULARY,
    assert_same,
    ids,
    problem,
    recurrent,
    transformer,
)

END = 3

# Each value of a column occurs with each value of every other column at least once, where allowed.
TRANSFORMERS = (
    ("positions", "activation", "tied_embeddings", "norm", "normalisation"),
    [
        ("sinusoidal", "relu", "all", "post", "layer"),
        ("sinusoidal", "gelu", "output", "pre", "rms"),
        ("sinusoidal", "swiglu", "none", "post", "rms"),
        ("learned", "relu", "output", "post", "rms"),
        ("learned", "gelu", "none", "pre", "layer"),
        ("learned", "swiglu", "all", "pre", "rms"),
        ("rotary", "relu", "none", "pre", "rms"),
        ("rotary", "gelu", "all", "post", "rms"),
        ("rotary", "swiglu", "output", "pre", "layer"),
    ],
)
RECURRENT = (
    ("attention", "cell", "tied_embeddings", "bidirectional", "input_feeding"),
    [
        ("none", "rnn", "all", True, False),
        ("none", "gru", "output", False, False),
        ("none", "lstm", "none", True, False),
        ("additive", "rnn", "output", False, False),
        ("additive", "gru", "none", True, False),
        ("additive", "lstm", "all", True, False),
        ("dot", "rnn", "none", False, False),
        ("dot", "lstm", "output", True, False),
        ("dot", "gru", "all", True, True),
        ("dot", "lstm", "none", False, True),
    ],
)
VARIANTS = {
    f"{make.__name__}-{'-'.join(map(str, values))}": (make, dict(zip(columns, values, strict=True)))
    for make, (columns, rows) in ((transformer, TRANSFORMERS), (recurrent, RECURRENT))
    for values in rows
}
each_variant = pytest.mark.parametrize("variant", VARIANTS)
both_precisions = pytest.mark.parametrize("dtype", list(TOLERANCE))


def made(variant: str, dtype: torch.dtype = torch.float64, **more: Any) -> Model:
    make, choices = VARIANTS[variant]
    return make(dtype, **choices, **more)


@both_precisions
@each_variant
@torch.no_grad()
def test_a_later_token_changes_no_bit_of_an_earlier_logit(variant: str, dtype: torch.dtype) -> None:
    model = made(variant, dtype)
    source, mask, target = problem(target=40)
    before = model(source, mask, target)
    for place in (1, 17, 39):
        changed = target.clone()
        changed[:, place:] = (target[:, place:] + 5) % VOCABULARY
        after = model(source, mask, changed)
        assert torch.equal(after[:, :place], before[:, :place])
        assert not torch.isclose(after[:, place:], before[:, place:]).all(-1).any()


@each_variant
def test_the_gradient_to_a_later_token_is_exactly_zero(variant: str) -> None:
    model = made(variant)
    embedded: list[Tensor] = []
    model.target_embedding.register_forward_hook(lambda *call: embedded.append(call[-1]))
    logits = model(*problem(target=20))
    for place in (0, 7, 18):
        chosen = logits[:, place].square().sum()
        (gradient,) = torch.autograd.grad(chosen, embedded[-1], retain_graph=True)
        assert not gradient[:, place + 1 :].any()
        assert gradient[:, : place + 1].any(-1).all()


@both_precisions
@each_variant
@torch.no_grad()
def test_padding_changes_nothing(variant: str, dtype: torch.dtype) -> None:
    model = made(variant, dtype)
    source, mask, target = problem()
    before = model(source, mask, target)
    for more in (1, 7, 64):
        # Tokens in the padding are never read, so they may be anything.
        padded = torch.cat((source, ids(3, more, seed=more)), dim=1)
        wider = torch.cat((mask, torch.zeros(3, more, dtype=torch.bool)), dim=1)
        longer = torch.cat((target, target.new_zeros(3, more)), dim=1)
        assert_same(model(padded, wider, longer)[:, : target.size(1)], before)


@each_variant
@torch.no_grad()
def test_a_row_alone_is_the_row_in_a_batch(variant: str) -> None:
    model = made(variant)
    source, mask, target = problem()
    together = model(source, mask, target)
    for row, length in enumerate((9, 3, 6)):
        only = slice(row, row + 1)
        alone = model(source[only, :length], mask[only, :length], target[only])
        assert_same(alone, together[only])
    order = torch.tensor([2, 0, 1])
    assert_same(model(source[order], mask[order], target[order]), together[order])


@both_precisions
@each_variant
@torch.no_grad()
def test_steps_are_the_whole_pass(variant: str, dtype: torch.dtype) -> None:
    model = made(variant, dtype)
    # 40 steps double the room for keys and values twice.
    source, mask, target = problem(target=40)
    whole = model(source, mask, target)
    state = model.start(source, mask)
    for place in range(40):
        logits, state = model.step(target[:, place], state)
        assert_same(logits, whole[:, place])


@each_variant
@torch.no_grad()
def test_selecting_at_random_for_long_continues_as_if_computed_from_scratch(variant: str) -> None:
    model = made(variant)
    draw = torch.Generator().manual_seed(5)
    source, mask, _ = problem((9, 3, 6, 5))
    state, sentences = model.start(source, mask), torch.arange(4)
    prefixes = torch.full((4, 1), START)
    logits, state = model.step(prefixes[:, 0], state)
    for number in range(36):
        if number % 3:
            count = int(torch.randint(1, 9, (), generator=draw))
            rows = torch.randint(len(sentences), (count,), generator=draw)
            rows = rows.sort().values if number % 2 else rows
        else:
            rows = torch.arange(len(sentences)).repeat_interleave(1 + number % 2)
        state, sentences = state.select(rows), sentences[rows]
        tokens = ids(len(rows), seed=number)
        prefixes = torch.cat((prefixes[rows], tokens[:, None]), dim=1)
        logits, state = model.step(tokens, state)
        assert_same(logits, model(source[sentences], mask[sentences], prefixes)[:, -1])


@each_variant
def test_gradients_are_those_of_finite_differences(variant: str) -> None:
    """The derivative in one random direction through all parameters is compared."""
    model = made(variant)
    batch = batch_pairs([[5, 9, 12, END], [8, END]], [[6, 8, END], [7, 9, 10, 11, END]])
    parameters = list(model.parameters())
    loss = translation(model, batch, label_smoothing=0.1)
    gradients = torch.autograd.grad(loss.total, parameters)
    torch.manual_seed(3)
    direction = [torch.randn_like(parameter) for parameter in parameters]
    slope = sum(float((g * d).sum()) for g, d in zip(gradients, direction, strict=True))
    size, totals = 1e-6, []
    for sign in (1, -1):
        with torch.no_grad():
            torch._foreach_add_(parameters, direction, alpha=sign * size)
            totals.append(float(translation(model, batch, label_smoothing=0.1).total))
            torch._foreach_add_(parameters, direction, alpha=-sign * size)
    assert slope == pytest.approx((totals[0] - totals[1]) / (2 * size), rel=1e-5)
    assert all(bool(gradient.any()) for gradient in gradients)


@pytest.mark.parametrize("make", [transformer, recurrent])
@torch.no_grad()
def test_dropout_is_drawn_in_training_only(make: Any) -> None:
    model = make(dropout=0.3)
    inputs = problem()
    assert torch.equal(model(*inputs), model(*inputs))
    model.train()
    torch.manual_seed(1)
    first = model(*inputs)
    assert not torch.equal(model(*inputs), first)
    torch.manual_seed(1)
    assert torch.equal(model(*inputs), first)


@pytest.mark.parametrize("config", [TransformerConfig, RecurrentConfig])
def test_two_vocabularies_may_differ_unless_tied(config: Any) -> None:
    model = build(config(d_model=8, tied_embeddings="output"), 11, 7)
    source, mask = batch_sources([[10, 3], [4, 5, 3]])
    assert model(source, mask, torch.tensor([[2], [2]])).shape == (2, 1, 7)
    with pytest.raises(ValueError, match=r"one vocabulary for both sides.* 11 and 7"):
        build(config(d_model=8), 11, 7)
