"""What must hold of any GPT: causality, caching, search over its steps, recorded attention."""

from typing import Any

import pytest
import torch
from pydantic import ValidationError
from torch import Tensor
from torch.testing import assert_close

from regard.decode.beam import beam
from regard.decode.sample import collect
from regard.inspect.maps import recording
from regard.models.gpt import GPT, GPTConfig

VOCABULARY = 23
SIZES = {"num_layers": 3, "d_model": 16, "d_ff": 24, "num_heads": 4, "max_positions": 128}
TOLERANCE = {torch.float64: 1e-12, torch.float32: 1e-5}
both_precisions = pytest.mark.parametrize("dtype", list(TOLERANCE))
each_variant = pytest.mark.parametrize(
    "choices",
    [
        {"positions": "learned", "activation": "gelu"},
        {"positions": "sinusoidal", "activation": "gelu_tanh", "tied_embeddings": False},
        {"positions": "rotary", "activation": "swiglu"},
        {"positions": "rotary", "activation": "relu", "tied_embeddings": False},
    ],
    ids=lambda choices: "-".join(map(str, choices.values())),
)


def gpt(dtype: torch.dtype = torch.float64, **choices: Any) -> GPT:
    torch.manual_seed(17)
    model = GPT(GPTConfig(**{**SIZES, **choices}), VOCABULARY)
    with torch.no_grad():
        for name, parameter in model.named_parameters():
            gain = parameter.dim() == 1 and "norm" in name and name.endswith("weight")
            parameter.normal_(mean=float(gain), std=0.3)
    return model.to(dtype).eval()


def ids(*shape: int, seed: int = 0) -> Tensor:
    return torch.randint(4, VOCABULARY, shape, generator=torch.Generator().manual_seed(seed))


def assert_same(ours: Tensor, expected: Tensor) -> None:
    assert_close(ours, expected, rtol=0, atol=TOLERANCE[expected.dtype])


@both_precisions
@each_variant
@torch.no_grad()
def test_a_later_token_changes_no_bit_of_an_earlier_logit(
    choices: dict[str, Any], dtype: torch.dtype
) -> None:
    model = gpt(dtype, **choices)
    tokens = ids(3, 40)
    before = model(tokens)
    for place in (1, 17, 39):
        changed = tokens.clone()
        changed[:, place:] = (tokens[:, place:] + 5) % VOCABULARY
        after = model(changed)
        assert torch.equal(after[:, :place], before[:, :place])
        assert not torch.isclose(after[:, place:], before[:, place:]).all(-1).any()


@each_variant
def test_the_gradient_to_a_later_token_is_exactly_zero(choices: dict[str, Any]) -> None:
    model = gpt(**choices)
    embedded: list[Tensor] = []
    model.embedding.register_forward_hook(lambda *call: embedded.append(call[-1]))
    logits = model(ids(3, 40))
    for place in (0, 17, 38):
        chosen = logits[:, place].square().sum()
        (gradient,) = torch.autograd.grad(chosen, embedded[-1], retain_graph=True)
        assert not gradient[:, place + 1 :].any()
        assert gradient[:, : place + 1].any(-1).all()


@each_variant
def test_every_parameter_learns(choices: dict[str, Any]) -> None:
    model = gpt(**choices)
    model(ids(3, 40)).square().sum().backward()
    for name, parameter in model.named_parameters():
        assert parameter.grad is not None, name
        assert parameter.grad.any(), name


@both_precisions
@each_variant
@torch.no_grad()
def test_neither_what_follows_nor_its_neighbours_change_a_text(
    choices: dict[str, Any], dtype: torch.dtype
) -> None:
    model = gpt(dtype, **choices)
    tokens = ids(3, 9)
    together = model(tokens)
    for more in (1, 7, 64):
        longer = torch.cat((tokens, ids(3, more, seed=more)), dim=1)
        assert_same(model(longer)[:, :9], together)
    for row in range(3):
        assert_same(model(tokens[row : row + 1]), together[row : row + 1])
    order = torch.tensor([2, 0, 1])
    assert_same(model(tokens[order]), together[order])


@both_precisions
@each_variant
@torch.no_grad()
def test_steps_are_the_whole_pass(choices: dict[str, Any], dtype: torch.dtype) -> None:
    model = gpt(dtype, **choices)
    tokens = ids(3, 40)
    whole = model(tokens)
    state = model.start(3)
    for place in range(40):
        logits, state = model.step(tokens[:, place], state)
        assert_same(logits, whole[:, place])
        assert state.position == place + 1


@each_variant
@torch.no_grad()
def test_selected_rows_continue_as_if_computed_from_scratch(choices: dict[str, Any]) -> None:
    model = gpt(**choices)
    draw = torch.Generator().manual_seed(5)
    prefixes = ids(4, 1, seed=3)
    _, state = model.step(prefixes[:, 0], model.start(4))
    for number in range(36):
        count = int(torch.randint(1, 9, (), generator=draw))
        rows = torch.randint(len(prefixes), (count,), generator=draw)
        rows = rows.sort().values if number % 2 else rows
        tokens = ids(count, seed=number)
        prefixes = torch.cat((prefixes[rows], tokens[:, None]), dim=1)
        logits, state = model.step(tokens, state.select(rows))
        assert_same(logits, model(prefixes)[:, -1])


@torch.no_grad()
def test_greedy_and_beam_search_find_what_whole_passes_find() -> None:
    model = gpt()
    first, limits = ids(5, seed=9), torch.full((5,), 12)
    found = collect(model.step, model.start(5), first, max_lengths=limits)
    for begin, hypothesis in zip(first.tolist(), found, strict=True):
        tokens = [begin]
        while len(tokens) <= 12 and tokens[-1] != 3:
            tokens.append(int(model(torch.tensor([tokens]))[0, -1].argmax()))
        expected = tokens[1:-1] if tokens[-1] == 3 else tokens[1:]
        assert hypothesis.tokens == expected
    narrow = beam(model.step, model.start(5), first, max_lengths=limits, beam_size=1)
    assert [each[0].tokens for each in narrow] == [each.tokens for each in found]
    wide = beam(model.step, model.start(5), first, max_lengths=limits, beam_size=6)
    for begin, (hypothesis,) in zip(first.tolist(), wide, strict=True):
        whole = [begin, *hypothesis.tokens, *([3] if hypothesis.finished else [])]
        steps = model(torch.tensor([whole[:-1]]))[0].log_softmax(-1)
        expected = steps.gather(1, torch.tensor(whole[1:])[:, None])[:, 0]
        assert hypothesis.log_probabilities == pytest.approx(expected.tolist())


@torch.no_grad()
def test_recording_sees_every_layer_and_changes_nothing() -> None:
    model, tokens = gpt(), ids(2, 7)
    before = model(tokens)
    with recording(model) as weights:
        assert torch.equal(model(tokens), before)
    assert list(weights) == [f"decoder.{layer}.self_attention" for layer in range(3)]
    for (recorded,) in weights.values():
        assert recorded.shape == (2, 4, 7, 7)
        assert_close(recorded.sum(-1), torch.ones(2, 4, 7, dtype=torch.float64))
        assert not recorded.triu(1).any()


def test_dropout_is_drawn_in_training_only() -> None:
    model, tokens = gpt(dropout=0.3), ids(2, 7)
    assert torch.equal(model(tokens), model(tokens))
    model.train()
    assert not torch.equal(model(tokens), model(tokens))


def test_the_smallest_gpt_2_has_its_published_size() -> None:
    with torch.device("meta"):
        model = GPT(GPTConfig(), 50_257)
    assert sum(parameter.numel() for parameter in model.parameters()) == 124_439_808


def test_only_learned_positions_run_out() -> None:
    assert gpt(positions="learned").longest == 128
    assert gpt(positions="rotary").longest > 10**9
    with pytest.raises(ValueError, match="position 129 asked for"):
        gpt()(ids(1, 129))


def test_a_new_model_gives_each_token_about_the_same_chance() -> None:
    torch.manual_seed(0)
    model = GPT(GPTConfig(num_layers=6, d_model=64, d_ff=256, num_heads=4), 50)
    loss = torch.nn.functional.cross_entropy(
        model(torch.randint(50, (8, 64))).flatten(0, 1), torch.randint(50, (512,))
    )
    assert float(loss.detach()) == pytest.approx(torch.tensor(50.0).log().item(), abs=0.1)


@pytest.mark.parametrize(
    ("choices", "complaint"),
    [({"d_model": 18}, "not a multiple"), ({"d_model": 20, "positions": "rotary"}, "5 is odd")],
)
def test_sizes_that_do_not_fit_are_refused(choices: dict[str, Any], complaint: str) -> None:
    with pytest.raises(ValidationError, match=complaint):
        GPTConfig(**{**SIZES, **choices})
