"""What is particular to recurrent translators."""

from typing import Any

import pytest
import torch

from regard.models import build as build_any
from regard.models.recurrent import Recurrent, RecurrentConfig
from tests.models.problems import VOCABULARY, assert_same, problem, recurrent


@torch.no_grad()
def test_the_source_stands_once_for_each_sentence() -> None:
    model = recurrent()
    source, mask, _ = problem()
    state = model.start(source, mask)
    wide = state.select(torch.arange(3).repeat_interleave(5))
    assert wide.layers[0][0].size(0) == 15
    assert wide.memory.keys.data_ptr() == state.memory.keys.data_ptr()
    assert wide.select(torch.arange(5, 15)).memory.keys.size(0) == 2


@torch.no_grad()
def test_two_selections_of_a_state_do_not_disturb_each_other() -> None:
    model = recurrent()
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


def test_additive_attention_is_the_formula_of_the_paper() -> None:
    """e_ij = v·tanh(W s_{i-1} + U h_j + b), α = softmax_j(e), c_i = Σ_j α_ij h_j."""
    attention = recurrent(attention="additive").attention
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
    """A source of one token with the same last state gets the same translation."""
    model = recurrent(attention="none")
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
    model = recurrent(attention=attention)
    source, mask, target = problem((6,))
    before = model(source, mask, target)
    for place in range(6):
        changed = source.clone()
        changed[0, place] = (source[0, place] + 3) % VOCABULARY
        assert not torch.isclose(model(changed, mask, target), before).all(-1).any()


@torch.no_grad()
def test_a_recurrent_model_computes_in_its_own_precision() -> None:
    model = recurrent(torch.float32)
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


def test_build_makes_it() -> None:
    model = build_any(RecurrentConfig(d_model=8), 11, 11)
    assert isinstance(model, Recurrent)
    assert model.longest > 10**9
