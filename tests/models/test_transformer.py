"""What is particular to Transformers: the cache of a search, sizes, initial weights."""

from collections.abc import Callable
from importlib import resources

import pytest
import torch
from torch import Tensor
from torch.testing import assert_close

from regard.models.transformer import Transformer, TransformerConfig
from regard.recipe import read
from tests.models.problems import START, assert_same, ids, problem

Build = Callable[..., Transformer]

# Rows of successive search steps for four sentences; each names the earlier row that it continues.
FRONTS = {
    "one row becomes three": [0, 0, 0, 1, 1, 1, 2, 2, 2, 3, 3, 3],
    "rows of a sentence change places": [2, 0, 0, 3, 5, 4, 8, 8, 6, 11, 9, 10],
    "a sentence leaves": [0, 1, 2, 6, 7, 8, 9, 10, 11],
    "sentences keep different numbers of rows": [0, 1, 3, 6, 7, 8],
    "rows leave and change places": [5, 2, 0],
    "one row becomes two": [0, 0, 1, 1, 2, 2],
    "sentences change places": [4, 5, 0, 1],
    "only one stays": [3],
    "it grows to many": [0] * 7,
    "all stay": [0, 1, 2, 3, 4, 5, 6],
}


@pytest.mark.parametrize("positions", ["sinusoidal", "rotary"])
@torch.no_grad()
def test_selected_rows_continue_as_if_computed_from_scratch(build: Build, positions: str) -> None:
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
def test_keys_and_values_stand_once_for_each_sentence(build: Build) -> None:
    model = build()
    source, mask, _ = problem()
    _, state = model.step(torch.full((3,), START), model.start(source, mask))
    memory, cache = state.memory.data_ptr(), state.cache.entries.data_ptr()
    wide = state.select(torch.arange(3).repeat_interleave(5))
    turned = wide.select(torch.arange(14, -1, -1).view(3, 5).flip(0).flatten())
    assert (turned.memory.data_ptr(), turned.cache.entries.data_ptr()) == (memory, cache)
    assert turned.memory.size(2) == turned.cache.entries.size(2) == 3
    fewer = turned.select(torch.tensor([10, 11, 12, 13, 14, 5, 6, 7, 8, 9]))
    assert (fewer.memory.data_ptr(), fewer.cache.entries.data_ptr()) == (memory, cache)
    assert fewer.memory.size(2) == fewer.cache.entries.size(2) == 2


@torch.no_grad()
def test_entries_that_no_row_descends_from_are_dropped(build: Build) -> None:
    model = build()
    source, mask, _ = problem()
    state, width = model.start(source, mask), 8
    prefixes = torch.full((3, 1), START)
    _, state = model.step(prefixes[:, 0], state)
    rows = torch.arange(3).repeat_interleave(width)
    # All rows continue the first of their sentence, so that one in eight entries is still needed.
    for number in range(60):
        state = state.select(rows)
        tokens = ids(3 * width, seed=number)
        prefixes = torch.cat((prefixes[rows], tokens[:, None]), dim=1)
        logits, state = model.step(tokens, state)
        rows = torch.arange(0, 3 * width, width).repeat_interleave(width)
    assert state.cache.position == 61
    assert state.cache.entries.size(-2) < 61 * width / 2
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


def test_a_new_model_begins_with_signals_of_size_one() -> None:
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


def test_only_learned_positions_run_out() -> None:
    assert Transformer(TransformerConfig(d_model=8, num_heads=2), 9, 9).longest > 10**9
    config = TransformerConfig(d_model=8, num_heads=2, positions="learned", max_positions=12)
    assert Transformer(config, 9, 9).longest == 12
