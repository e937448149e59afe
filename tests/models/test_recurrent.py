"""What must hold of any recurrent translator: causality, padding, steps, selection."""

from typing import Any

import pytest
import torch
from torch import Tensor
from torch.testing import assert_close

from regard.data.batch import batch_pairs, batch_sources
from regard.models import build as build_any
from regard.models.recurrent import Recurrent, RecurrentConfig
from regard.objectives import translation
from tests.models.problems import START, VOCABULARY, ids, problem

END = 3

# Each value of a column meets each value of every other column at least once, where it may.
COLUMNS = ("attention", "cell", "tied_embeddings", "bidirectional", "input_feeding")
VARIANTS: list[tuple[str, str, str, bool, bool]] = [
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
]
each_variant = pytest.mark.parametrize(
    "choices",
    [
        pytest.param(dict(zip(COLUMNS, values, strict=True)), id="-".join(map(str, values)))
        for values in VARIANTS
    ],
)
TOLERANCE = {torch.float64: 1e-12, torch.float32: 1e-5}
both_precisions = pytest.mark.parametrize("dtype", list(TOLERANCE))


def build(dtype: torch.dtype = torch.float64, **choices: Any) -> Recurrent:
    sizes = {"encoder_layers": 2, "decoder_layers": 3, "d_model": 16, **choices}
    torch.manual_seed(17)
    model = Recurrent(RecurrentConfig(**sizes), VOCABULARY, VOCABULARY)
    with torch.no_grad():
        for parameter in model.parameters():
            if parameter.dim() == 1:
                parameter.normal_(std=0.2)
    return model.to(dtype).eval()


def assert_same(ours: Tensor, expected: Tensor, name: str | None = None) -> None:
    assert_close(ours, expected, rtol=0, atol=TOLERANCE[expected.dtype], msg=name)


@both_precisions
@each_variant
@torch.no_grad()
def test_a_later_token_changes_no_bit_of_an_earlier_logit(
    choices: dict[str, Any], dtype: torch.dtype
) -> None:
    model = build(dtype, **choices)
    source, mask, target = problem(target=40)
    before = model(source, mask, target)
    for place in (1, 17, 39):
        changed = target.clone()
        changed[:, place:] = (target[:, place:] + 5) % VOCABULARY
        after = model(source, mask, changed)
        assert torch.equal(after[:, :place], before[:, :place])
        assert not torch.isclose(after[:, place:], before[:, place:]).all(-1).any()


@each_variant
def test_the_gradient_to_a_later_token_is_exactly_zero(choices: dict[str, Any]) -> None:
    model = build(**choices)
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
def test_padding_changes_nothing(choices: dict[str, Any], dtype: torch.dtype) -> None:
    model = build(dtype, **choices)
    source, mask, target = problem()
    before = model(source, mask, target)
    for more in (1, 7, 64):
        # What stands under the padding is never read, so it may be anything.
        padded = torch.cat((source, ids(3, more, seed=more)), dim=1)
        wider = torch.cat((mask, torch.zeros(3, more, dtype=torch.bool)), dim=1)
        longer = torch.cat((target, target.new_zeros(3, more)), dim=1)
        assert_same(model(padded, wider, longer)[:, : target.size(1)], before)


@each_variant
@torch.no_grad()
def test_a_row_alone_is_the_row_in_a_batch(choices: dict[str, Any]) -> None:
    model = build(**choices)
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
def test_steps_are_the_whole_pass(choices: dict[str, Any], dtype: torch.dtype) -> None:
    model = build(dtype, **choices)
    source, mask, target = problem(target=40)
    whole = model(source, mask, target)
    state = model.start(source, mask)
    for place in range(40):
        logits, state = model.step(target[:, place], state)
        assert_same(logits, whole[:, place])


@pytest.mark.parametrize("attention", ["none", "additive", "dot", "fed"])
@torch.no_grad()
def test_selecting_at_random_for_long_goes_on_as_if_computed_anew(attention: str) -> None:
    fed = attention == "fed"
    model = build(attention="dot" if fed else attention, input_feeding=fed)
    draw = torch.Generator().manual_seed(5)
    source, mask, _ = problem((9, 3, 6, 5))
    state, sentences = model.start(source, mask), torch.arange(4)
    prefixes = torch.full((4, 1), START)
    logits, state = model.step(prefixes[:, 0], state)
    for number in range(24):
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


@torch.no_grad()
def test_the_source_stands_once_for_each_sentence() -> None:
    model = build()
    source, mask, _ = problem()
    state = model.start(source, mask)
    wide = state.select(torch.arange(3).repeat_interleave(5))
    assert wide.layers[0][0].size(0) == 15
    assert wide.memory.keys.data_ptr() == state.memory.keys.data_ptr()
    assert wide.select(torch.arange(5, 15)).memory.keys.size(0) == 2


@torch.no_grad()
def test_two_selections_of_a_state_do_not_disturb_each_other() -> None:
    model = build()
    source, mask, target = problem()
    whole = model(source, mask, target)
    _, state = model.step(target[:, 0], model.start(source, mask))
    turned = torch.tensor([2, 1, 0])
    first, second = state.select(torch.arange(3)), state.select(turned)
    for place in range(1, 7):
        logits, first = model.step(target[:, place], first)
        assert_same(logits, whole[:, place])
        logits, second = model.step(target[turned, place], second)
        assert_same(logits, whole[turned, place])


@each_variant
def test_gradients_are_those_of_finite_differences(choices: dict[str, Any]) -> None:
    """In a random direction through all parameters at once."""
    model = build(**choices)
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


def test_additive_attention_is_the_formula_of_the_paper() -> None:
    """e_ij = v·tanh(W s_{i-1} + U h_j + b), α = softmax_j(e), c_i = Σ_j α_ij h_j."""
    attention = build(attention="additive").attention
    states, mask = torch.randn(1, 4, 16, dtype=torch.float64), torch.tensor([[True] * 3 + [False]])
    memory = attention.remember(states, mask, states[:, 2])
    question = torch.randn(1, 1, 16, dtype=torch.float64)
    weights = {name: value.detach() for name, value in attention.named_parameters()}
    scores = torch.stack(
        [
            weights["score.weight"][0]
            @ torch.tanh(
                weights["query_projection.weight"] @ question[0, 0]
                + weights["key_projection.weight"] @ states[0, j]
                + weights["key_projection.bias"]
            )
            for j in range(3)
        ]
    )
    expected = scores.softmax(0) @ states[0, :3]
    assert_same(attention(question, memory)[0, 0].detach(), expected)


@torch.no_grad()
def test_without_attention_only_the_last_state_is_known_of_the_source() -> None:
    """A source of one token that makes the same last state makes the same translation."""
    model = build(attention="none")
    source, mask, target = problem()
    state = model.start(source, mask)
    assert state.memory.values.size(1) == 1
    features = model.features(source, mask, target)
    states, last = model.encoder(model.embed(model.source_embedding, source), mask)
    model.encoder.forward = lambda x, mask: (torch.zeros_like(states), last)  # type: ignore[method-assign]
    assert_same(model.features(source, mask, target), features)


@pytest.mark.parametrize("attention", ["additive", "dot"])
@torch.no_grad()
def test_with_attention_every_source_position_counts(attention: str) -> None:
    model = build(attention=attention)
    source, mask, target = problem((6,))
    before = model(source, mask, target)
    for place in range(6):
        changed = source.clone()
        changed[0, place] = (source[0, place] + 3) % VOCABULARY
        assert not torch.isclose(model(changed, mask, target), before).all(-1).any()


@torch.no_grad()
def test_a_recurrent_model_computes_in_its_own_precision() -> None:
    model = build(torch.float32)
    inputs = problem()
    before = model.features(*inputs)
    with torch.autocast("cpu", dtype=torch.bfloat16):
        assert torch.equal(model.features(*inputs), before)


def test_tied_embeddings_are_one_matrix_and_the_seed_decides_the_weights() -> None:
    def model(tied: Any, seed: int = 1) -> Recurrent:
        torch.manual_seed(seed)
        return Recurrent(RecurrentConfig(d_model=8, tied_embeddings=tied), 11, 11)

    def matrices(tied: str) -> int:
        made = model(tied)
        layers = (made.source_embedding, made.target_embedding, made.output)
        return len({id(layer.weight) for layer in layers})

    assert [matrices(tied) for tied in ("all", "output", "none")] == [1, 2, 3]
    first, again, other = (model("none", seed).state_dict() for seed in (1, 1, 2))
    assert all(torch.equal(first[name], again[name]) for name in first)
    assert not any(torch.equal(first[name], other[name]) for name in first if "weight" in name)


def test_two_vocabularies_may_differ_unless_tied() -> None:
    model = Recurrent(RecurrentConfig(d_model=8, tied_embeddings="output"), 11, 7)
    source, mask = batch_sources([[10, 3], [4, 5, 3]])
    assert model(source, mask, torch.tensor([[2], [2]])).shape == (2, 1, 7)
    with pytest.raises(ValueError, match=r"one vocabulary for both sides.* 11 and 7"):
        Recurrent(RecurrentConfig(d_model=8), 11, 7)


@pytest.mark.parametrize(
    ("choices", "said"),
    [
        ({"d_model": 9}, "d_model = 9 is odd"),
        ({"input_feeding": True}, 'input_feeding goes with attention = "dot", it is "additive"'),
        ({"nonlinearity": "relu"}, 'nonlinearity = "relu" is for cell = "rnn"'),
    ],
)
def test_choices_that_do_not_go_together(choices: dict[str, Any], said: str) -> None:
    with pytest.raises(ValueError, match=said):
        RecurrentConfig(**choices)


@torch.no_grad()
def test_dropout_is_drawn_in_training_only() -> None:
    model = build(dropout=0.3)
    inputs = problem()
    assert torch.equal(model(*inputs), model(*inputs))
    model.train()
    torch.manual_seed(1)
    first = model(*inputs)
    assert not torch.equal(model(*inputs), first)
    torch.manual_seed(1)
    assert torch.equal(model(*inputs), first)


def test_build_makes_it() -> None:
    model = build_any(RecurrentConfig(d_model=8), 11, 11)
    assert isinstance(model, Recurrent)
    assert model.longest > 10**9
