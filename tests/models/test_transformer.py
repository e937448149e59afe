"""What must hold of any Transformer, whatever its parts: causality, padding, caching."""

from collections.abc import Callable
from importlib import resources
from typing import Any

import pytest
import torch
from torch import Tensor
from torch.testing import assert_close

from regard.data.batch import batch_sources
from regard.models.transformer import Transformer, TransformerConfig
from regard.recipe import read

Build = Callable[..., Transformer]
VOCABULARY = 23
START = 2

# Each value of a column meets each value of every other column at least once.
COLUMNS = ("positions", "activation", "tied_embeddings", "norm", "normalisation")
VARIANTS = [
    ("sinusoidal", "relu", "all", "post", "layer"),
    ("sinusoidal", "gelu", "output", "pre", "rms"),
    ("sinusoidal", "swiglu", "none", "post", "rms"),
    ("learned", "relu", "output", "post", "rms"),
    ("learned", "gelu", "none", "pre", "layer"),
    ("learned", "swiglu", "all", "pre", "rms"),
    ("rotary", "relu", "none", "pre", "rms"),
    ("rotary", "gelu", "all", "post", "rms"),
    ("rotary", "swiglu", "output", "pre", "layer"),
]
each_variant = pytest.mark.parametrize(
    "choices",
    [
        pytest.param(dict(zip(COLUMNS, values, strict=True)), id="-".join(values))
        for values in VARIANTS
    ],
)
TOLERANCE = {torch.float64: 1e-12, torch.float32: 1e-5}
both_precisions = pytest.mark.parametrize("dtype", list(TOLERANCE))


def assert_same(ours: Tensor, expected: Tensor) -> None:
    assert_close(ours, expected, rtol=0, atol=TOLERANCE[expected.dtype])


def ids(*shape: int, seed: int = 0) -> Tensor:
    return torch.randint(4, VOCABULARY, shape, generator=torch.Generator().manual_seed(seed))


def problem(lengths: tuple[int, ...] = (9, 3, 6), target: int = 7) -> tuple[Tensor, Tensor, Tensor]:
    """Sources of these lengths with their mask, and as many targets."""
    source = ids(len(lengths), max(lengths))
    mask = torch.arange(max(lengths)) < torch.tensor(lengths)[:, None]
    inputs = ids(len(lengths), target, seed=1)
    inputs[:, 0] = START
    return source.masked_fill(~mask, 0), mask, inputs


@both_precisions
@each_variant
@torch.no_grad()
def test_a_later_token_changes_no_bit_of_an_earlier_logit(
    build: Build, choices: dict[str, Any], dtype: torch.dtype
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
def test_the_gradient_to_a_later_token_is_exactly_zero(
    build: Build, choices: dict[str, Any]
) -> None:
    model = build(**choices)
    embedded: list[Tensor] = []
    model.target_embedding.register_forward_hook(lambda *call: embedded.append(call[-1]))
    logits = model(*problem(target=40))
    for place in (0, 17, 38):
        chosen = logits[:, place].square().sum()
        (gradient,) = torch.autograd.grad(chosen, embedded[-1], retain_graph=True)
        assert not gradient[:, place + 1 :].any()
        assert gradient[:, : place + 1].any(-1).all()


@both_precisions
@each_variant
@torch.no_grad()
def test_padding_changes_nothing(build: Build, choices: dict[str, Any], dtype: torch.dtype) -> None:
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
def test_a_row_alone_is_the_row_in_a_batch(build: Build, choices: dict[str, Any]) -> None:
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
def test_steps_are_the_whole_pass(
    build: Build, choices: dict[str, Any], dtype: torch.dtype
) -> None:
    model = build(dtype, **choices)
    # 40 steps double the room for keys and values twice.
    source, mask, target = problem(target=40)
    whole = model(source, mask, target)
    state = model.start(source, mask)
    for place in range(40):
        logits, state = model.step(target[:, place], state)
        assert_same(logits, whole[:, place])
        assert state.past.position == place + 1


# Rows of a search front, each naming the row of the last front that it continues. Four sentences.
FRONTS = {
    "one row becomes three": [0, 0, 0, 1, 1, 1, 2, 2, 2, 3, 3, 3],
    "rows of a sentence change places": [2, 0, 0, 3, 5, 4, 8, 8, 6, 11, 9, 10],
    "a sentence leaves": [0, 1, 2, 6, 7, 8, 9, 10, 11],
    "sentences keep unlike numbers of rows": [0, 1, 3, 6, 7, 8],
    "rows leave and change places": [5, 2, 0],
    "one row becomes two": [0, 0, 1, 1, 2, 2],
    "sentences change places": [4, 5, 0, 1],
    "only one stays": [3],
    "it grows to many": [0] * 7,
    "all stay": [0, 1, 2, 3, 4, 5, 6],
}


@pytest.mark.parametrize("positions", ["sinusoidal", "rotary"])
@torch.no_grad()
def test_selected_rows_go_on_as_if_computed_anew(build: Build, positions: str) -> None:
    model = build(positions=positions)
    source, mask, _ = problem((9, 3, 6, 5))
    state, sentences = model.start(source, mask), torch.arange(4)
    prefixes = torch.full((4, 1), START)
    logits, state = model.step(prefixes[:, 0], state)
    for number, (name, front) in enumerate(FRONTS.items()):
        rows = torch.tensor(front)
        state, sentences = state.select(rows), sentences[rows]
        tokens = ids(len(front), seed=number)
        prefixes = torch.cat((prefixes[rows], tokens[:, None]), dim=1)
        logits, state = model.step(tokens, state)
        whole = model(source[sentences], mask[sentences], prefixes)
        assert_close(logits, whole[:, -1], rtol=0, atol=1e-12, msg=name)


@torch.no_grad()
def test_selecting_at_random_for_long_goes_on_as_if_computed_anew(build: Build) -> None:
    model = build()
    draw = torch.Generator().manual_seed(5)
    source, mask, _ = problem((9, 3, 6, 5))
    state, sentences = model.start(source, mask), torch.arange(4)
    prefixes = torch.full((4, 1), START)
    logits, state = model.step(prefixes[:, 0], state)
    for number in range(36):
        count = int(torch.randint(1, 9, (), generator=draw))
        rows = torch.randint(len(sentences), (count,), generator=draw)
        rows = rows.sort().values if number % 2 else rows
        state, sentences = state.select(rows), sentences[rows]
        tokens = ids(count, seed=number)
        prefixes = torch.cat((prefixes[rows], tokens[:, None]), dim=1)
        logits, state = model.step(tokens, state)
        assert_same(logits, model(source[sentences], mask[sentences], prefixes)[:, -1])


@torch.no_grad()
def test_keys_and_values_stand_once_for_each_sentence(build: Build) -> None:
    model = build()
    source, mask, _ = problem()
    _, state = model.step(torch.full((3,), START), model.start(source, mask))
    memory, past = state.memory.data_ptr(), state.past.entries.data_ptr()
    wide = state.select(torch.arange(3).repeat_interleave(5))
    turned = wide.select(torch.arange(14, -1, -1).view(3, 5).flip(0).flatten())
    assert (turned.memory.data_ptr(), turned.past.entries.data_ptr()) == (memory, past)
    assert turned.memory.size(2) == turned.past.entries.size(2) == 3
    fewer = turned.select(torch.tensor([10, 11, 12, 13, 14, 5, 6, 7, 8, 9]))
    assert (fewer.memory.data_ptr(), fewer.past.entries.data_ptr()) == (memory, past)
    assert fewer.memory.size(2) == fewer.past.entries.size(2) == 2


@torch.no_grad()
def test_entries_that_no_row_descends_from_are_dropped(build: Build) -> None:
    model = build()
    source, mask, _ = problem()
    state, width = model.start(source, mask), 8
    prefixes = torch.full((3, 1), START)
    _, state = model.step(prefixes[:, 0], state)
    rows = torch.arange(3).repeat_interleave(width)
    # All rows go on from the first of their sentence, so that one in eight entries is of use.
    for number in range(60):
        state = state.select(rows)
        tokens = ids(3 * width, seed=number)
        prefixes = torch.cat((prefixes[rows], tokens[:, None]), dim=1)
        logits, state = model.step(tokens, state)
        rows = torch.arange(0, 3 * width, width).repeat_interleave(width)
    assert state.past.position == 61
    assert state.past.entries.size(-2) < 61 * width / 2
    sentences = torch.arange(3).repeat_interleave(width)
    assert_same(logits, model(source[sentences], mask[sentences], prefixes)[:, -1])


@torch.no_grad()
def test_a_step_without_a_source_is_the_whole_pass_without_one(build: Build) -> None:
    model = build()
    source, mask, target = problem()
    mask[1] = False
    logits, _ = model.step(target[:, 0], model.start(source, mask))
    assert_same(logits, model(source, mask, target)[:, 0])


@pytest.mark.parametrize("positions", ["sinusoidal", "learned"])
@torch.no_grad()
def test_without_positions_the_encoder_does_not_know_the_order(
    build: Build, positions: str
) -> None:
    model = build(positions=positions)
    source, mask, _ = problem((9, 9))
    order = torch.randperm(9, generator=torch.Generator().manual_seed(0))
    moved = model.encode(source[:, order], mask)
    assert not torch.isclose(moved, model.encode(source, mask)[:, order]).all()
    assert model.positions is not None
    model.positions.table.zero_()
    assert_same(model.encode(source[:, order], mask), model.encode(source, mask)[:, order])


@torch.no_grad()
def test_an_empty_source_is_no_source(build: Build) -> None:
    model = build()
    source, mask, target = problem()
    mask[1] = False
    logits = model(source, mask, target)
    assert logits.isfinite().all()
    source[1] = ids(9, seed=9)
    assert torch.equal(model(source, mask, target), logits)


def parameter_count(d: int, ff: int, layers: int, vocabulary: int) -> int:
    attention, norm = 4 * (d * d + d), 2 * d
    feed_forward = d * ff + ff + ff * d + d
    encoder = attention + feed_forward + 2 * norm
    decoder = 2 * attention + feed_forward + 3 * norm
    return vocabulary * d + layers * (encoder + decoder)


@pytest.mark.parametrize(
    ("name", "sizes", "published"),
    [("base", (512, 2048, 6), 65e6), ("big", (1024, 4096, 6), 213e6)],
)
def test_the_models_of_the_paper_have_its_parameter_counts(
    name: str, sizes: tuple[int, int, int], published: float
) -> None:
    with resources.as_file(resources.files("regard") / f"recipes/wmt14-en-de-{name}.toml") as path:
        recipe = read(path)
    vocabulary = recipe.tokenizer.vocabulary_size
    assert vocabulary == 37_000
    with torch.device("meta"):
        model = Transformer(recipe.model, vocabulary, vocabulary)
    count = sum(parameter.numel() for parameter in model.parameters())
    assert count == parameter_count(*sizes, vocabulary)
    assert count == pytest.approx(published, rel=0.04)


def test_the_base_model_of_the_paper_is_the_default() -> None:
    with torch.device("meta"):
        model = Transformer(TransformerConfig(), 37_000, 37_000)
    count = sum(parameter.numel() for parameter in model.parameters())
    assert count == parameter_count(512, 2048, 6, 37_000)


def test_tied_embeddings_are_one_matrix() -> None:
    def weights(tied: str) -> set[int]:
        sizes = {"d_model": 8, "d_ff": 8, "num_heads": 2, "tied_embeddings": tied}
        model = Transformer(TransformerConfig.model_validate(sizes), 11, 11)
        layers = (model.source_embedding, model.target_embedding, model.output)
        return {id(layer.weight) for layer in layers}

    assert [len(weights(tied)) for tied in ("all", "output", "none")] == [1, 2, 3]


def test_two_vocabularies_may_differ_unless_tied() -> None:
    config = TransformerConfig(d_model=8, d_ff=8, num_heads=2, tied_embeddings="output")
    model = Transformer(config, 11, 7)
    source, mask = batch_sources([[10, 3], [4, 5, 3]])
    assert model(source, mask, torch.tensor([[2], [2]])).shape == (2, 1, 7)
    with pytest.raises(ValueError, match=r"one vocabulary for both sides.* 11 and 7"):
        Transformer(TransformerConfig(d_model=8, d_ff=8, num_heads=2), 11, 7)


def test_a_fresh_model_begins_with_signals_of_size_one() -> None:
    torch.manual_seed(0)
    model = Transformer(TransformerConfig(encoder_layers=1, decoder_layers=1), 1000, 1000)
    embedded = model.target_embedding.weight.detach() * 512**0.5
    assert float(embedded.std()) == pytest.approx(1, abs=0.01)
    # Queries, keys and values are drawn as three square matrices, not as one wide one.
    bound = (6 / (512 + 512)) ** 0.5
    for block in model.encoder:
        drawn = block.self_attention.in_projection.weight.detach().abs().max()
        assert float(drawn) == pytest.approx(bound, rel=0.01)


@pytest.mark.parametrize("tied", ["all", "output", "none"])
def test_the_seed_decides_the_first_weights(tied: str) -> None:
    config = TransformerConfig.model_validate(
        {"d_model": 8, "d_ff": 8, "num_heads": 2, "tied_embeddings": tied}
    )

    def drawn(seed: int) -> dict[str, Tensor]:
        torch.manual_seed(seed)
        return Transformer(config, 11, 11).state_dict()

    first, again, other = drawn(1), drawn(1), drawn(2)
    assert all(torch.equal(first[name], again[name]) for name in first)
    assert not torch.equal(first["output.weight"], other["output.weight"])
    untied = (first["source_embedding.weight"], first["target_embedding.weight"])
    assert torch.equal(*untied) == (tied == "all")


@torch.no_grad()
def test_dropout_is_drawn_in_training_only(build: Build) -> None:
    model = build(dropout=0.3)
    inputs = problem()
    assert torch.equal(model(*inputs), model(*inputs))
    model.train()
    torch.manual_seed(1)
    first = model(*inputs)
    assert not torch.equal(model(*inputs), first)
    torch.manual_seed(1)
    assert torch.equal(model(*inputs), first)


def test_only_learned_positions_run_out() -> None:
    assert Transformer(TransformerConfig(d_model=8, num_heads=2), 9, 9).longest > 10**9
    config = TransformerConfig(d_model=8, num_heads=2, positions="learned", max_positions=12)
    assert Transformer(config, 9, 9).longest == 12
