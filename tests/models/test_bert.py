"""What must hold of any BERT: padding, batches, segments, its heads, recorded attention."""

from typing import Any

import pytest
import torch
from pydantic import ValidationError
from torch import Tensor
from torch.testing import assert_close

from regard.inspect.maps import recording
from regard.models.bert import Bert, BertConfig

VOCABULARY = 23
SIZES = {"num_layers": 3, "d_model": 16, "d_ff": 24, "num_heads": 4, "max_positions": 96}
TOLERANCE = {torch.float64: 1e-12, torch.float32: 1e-5}
both_precisions = pytest.mark.parametrize("dtype", list(TOLERANCE))
each_activation = pytest.mark.parametrize("activation", ["gelu", "gelu_tanh", "relu"])


def bert(dtype: torch.dtype = torch.float64, **choices: Any) -> Bert:
    torch.manual_seed(17)
    model = Bert(BertConfig(**{**SIZES, **choices}), VOCABULARY)
    with torch.no_grad():
        for name, parameter in model.named_parameters():
            gain = parameter.dim() == 1 and "norm" in name and name.endswith("weight")
            parameter.normal_(mean=float(gain), std=0.3)
    return model.to(dtype).eval()


def ids(*shape: int, seed: int = 0) -> Tensor:
    return torch.randint(4, VOCABULARY, shape, generator=torch.Generator().manual_seed(seed))


def problem(lengths: tuple[int, ...] = (9, 3, 6)) -> tuple[Tensor, Tensor, Tensor]:
    """Texts of these lengths, their mask, and segments that change halfway."""
    mask = torch.arange(max(lengths)) < torch.tensor(lengths)[:, None]
    tokens = ids(len(lengths), max(lengths)).masked_fill(~mask, 0)
    return tokens, mask, (torch.arange(max(lengths)) >= 2).long().expand_as(tokens)


def assert_same(ours: Tensor, expected: Tensor) -> None:
    assert_close(ours, expected, rtol=0, atol=TOLERANCE[expected.dtype])


@both_precisions
@each_activation
@torch.no_grad()
def test_padding_changes_nothing(activation: str, dtype: torch.dtype) -> None:
    model = bert(dtype, activation=activation)
    tokens, mask, segments = problem()
    before = model(tokens, mask, segments)
    for more in (1, 7, 64):
        # Tokens in the padding are never read, so they may be anything.
        padded = torch.cat((tokens, ids(3, more, seed=more)), dim=1)
        wider = torch.cat((mask, torch.zeros(3, more, dtype=torch.bool)), dim=1)
        kinds = torch.cat((segments, torch.ones(3, more, dtype=torch.long)), dim=1)
        assert_same(model(padded, wider, kinds)[:, :9][mask], before[mask])


@each_activation
@torch.no_grad()
def test_a_row_alone_is_the_row_in_a_batch(activation: str) -> None:
    model = bert(activation=activation)
    tokens, mask, segments = problem()
    together = model(tokens, mask, segments)
    for row, length in enumerate((9, 3, 6)):
        part = slice(row, row + 1), slice(length)
        assert_same(model(tokens[part], mask[part], segments[part]), together[part])
    order = torch.tensor([2, 0, 1])
    moved = model(tokens[order], mask[order], segments[order])
    assert_same(moved, together[order])


def test_every_token_reaches_every_position_and_padding_none() -> None:
    model = bert()
    embedded: list[Tensor] = []
    model.embedding.register_forward_hook(lambda *call: embedded.append(call[-1]))
    tokens, mask, segments = problem()
    logits = model(tokens, mask, segments)
    for place in (0, 2):
        chosen = logits[:, place].square().sum()
        (gradient,) = torch.autograd.grad(chosen, embedded[-1], retain_graph=True)
        assert torch.equal(gradient.any(-1), mask)


@torch.no_grad()
def test_position_and_segment_count() -> None:
    model = bert()
    tokens, mask, segments = problem((9, 9))
    before = model.features(tokens, mask, segments)
    assert not torch.isclose(model.features(tokens, mask), before).all(-1).any()
    assert_same(
        model.features(tokens, mask), model.features(tokens, mask, torch.zeros_like(tokens))
    )
    order = torch.randperm(9, generator=torch.Generator().manual_seed(0))
    moved = model.features(tokens[:, order], mask)
    assert not torch.isclose(moved, model.features(tokens, mask)[:, order]).all()
    model.positions.table.zero_()
    moved = model.features(tokens[:, order], mask)
    assert_same(moved, model.features(tokens, mask)[:, order])


def test_every_parameter_learns() -> None:
    model = bert(pooler=True)
    tokens, mask, segments = problem()
    features = model.features(tokens, mask, segments)
    logits = model.output(model.predictions(features))
    (logits.square().sum() + model.pooled(features).square().sum()).backward()
    for name, parameter in model.named_parameters():
        assert parameter.grad is not None, name
        assert parameter.grad.any(), name


@torch.no_grad()
def test_the_pooler_reads_the_first_token() -> None:
    model = bert(pooler=True)
    features = model.features(*problem())
    pooled = model.pooled(features)
    features[:, 1:] = 0
    assert torch.equal(model.pooled(features), pooled)
    assert pooled.shape == (3, 16)


@torch.no_grad()
def test_recording_sees_every_layer_and_changes_nothing() -> None:
    model = bert()
    tokens, mask, segments = problem()
    before = model(tokens, mask, segments)
    with recording(model) as weights:
        assert torch.equal(model(tokens, mask, segments), before)
    assert list(weights) == [f"encoder.{layer}.self_attention" for layer in range(3)]
    for (recorded,) in weights.values():
        assert recorded.shape == (3, 4, 9, 9)
        assert not recorded.masked_fill(mask[:, None, None], 0).any()


@torch.no_grad()
def test_dropout_is_drawn_in_training_only() -> None:
    model, inputs = bert(dropout=0.3), problem()
    assert torch.equal(model(*inputs), model(*inputs))
    model.train()
    assert not torch.equal(model(*inputs), model(*inputs))


@pytest.mark.parametrize(
    ("sizes", "vocabulary", "published"),
    [
        ({"pooler": True, "masked_head": False}, 30_522, 109_482_240),  # bert-base-uncased
        (
            {"num_layers": 6, "d_model": 384, "d_ff": 1536, "pooler": True, "masked_head": False},
            30_522,
            22_713_216,  # all-MiniLM-L6-v2
        ),
    ],
)
def test_published_models_have_their_sizes(
    sizes: dict[str, Any], vocabulary: int, published: int
) -> None:
    with torch.device("meta"):
        model = Bert(BertConfig(**sizes), vocabulary)
    assert sum(parameter.numel() for parameter in model.parameters()) == published


def test_what_is_too_long_is_refused() -> None:
    model = bert()
    assert model.longest == 96
    with pytest.raises(ValueError, match="position 97 asked for"):
        model.features(ids(1, 97), torch.ones(1, 97, dtype=torch.bool))


def test_sizes_that_do_not_fit_are_refused() -> None:
    with pytest.raises(ValidationError, match="not a multiple"):
        BertConfig(d_model=18, num_heads=4)
