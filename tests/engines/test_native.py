"""The engine compared with the simplest search, which reads the whole prefix for every token."""

from collections.abc import Iterator
from dataclasses import replace
from itertools import count

import pytest
import torch
from torch import Tensor

from regard.decode.hypothesis import Hypothesis
from regard.decode.search import Search
from regard.engines import Abandoned
from regard.engines.native import Native, side_by_side
from regard.models.transformer import Transformer, TransformerConfig
from regard.text.tokenizer import END, PAD, START, UNKNOWN

VOCABULARY = 300


@pytest.fixture(scope="module")
def model() -> Transformer:
    torch.manual_seed(3)
    config = TransformerConfig(
        encoder_layers=1,
        decoder_layers=2,
        d_model=16,
        d_ff=24,
        num_heads=2,
        norm="pre",
        tied_embeddings="none",
    )
    made = Transformer(config, VOCABULARY, VOCABULARY)
    with torch.no_grad():
        # A new model repeats itself and never ends; larger weights make its outputs vary.
        for name, parameter in made.named_parameters():
            if parameter.dim() == 2:
                parameter.mul_(2.0 if "embedding" in name else 1.5)
    return made.double().eval()


@pytest.fixture
def threads() -> Iterator[None]:
    before = torch.get_num_threads()
    yield
    torch.set_num_threads(before)


def sources(count: int, longest: int = 9) -> list[list[int]]:
    draw = torch.Generator().manual_seed(count)
    lengths = torch.randint(1, longest + 1, (count,), generator=draw).tolist()
    return [torch.randint(4, VOCABULARY, (n,), generator=draw).tolist() for n in lengths]


@torch.no_grad()
def next_scores(model: Transformer, asked: list[list[int]], prefixes: list[list[int]]) -> Tensor:
    """Log-probabilities after each prefix, [prefixes, V], from a whole pass. All sources have one
    length, and all prefixes too.
    """
    ids = torch.tensor([[*source, END] for source in asked])
    target = torch.tensor([[START, *prefix] for prefix in prefixes])
    scores = model(ids, torch.ones_like(ids, dtype=torch.bool), target)[:, -1].log_softmax(-1)
    scores[:, [PAD, UNKNOWN, START]] = float("-inf")
    return scores


def limit_of(source: list[int], search: Search) -> int:
    return int(search.max_length_ratio * (len(source) + 1)) + 20


def plain_greedy(model: Transformer, asked: list[list[int]], search: Search) -> list[list[int]]:
    """The likeliest token at each step, for sources of one length."""
    said: list[list[int]] = [[] for _ in asked]
    for _ in range(limit_of(asked[0], search)):
        tokens = next_scores(model, asked, said).argmax(-1).tolist()
        said = [[*before, token] for before, token in zip(said, tokens, strict=True)]
    return [each[: each.index(END)] if END in each else each for each in said]


def plain_beam(model: Transformer, source: list[int], search: Search) -> list[list[int]]:
    """The n best outputs of one sentence, by the rules in `decode.beam`."""
    size, limit = search.beam_size, limit_of(source, search)
    alive: list[tuple[float, list[int]]] = [(0.0, [])]
    found: list[tuple[bool, float, list[int]]] = []
    for length in range(1, limit + 1):
        scores = next_scores(model, [source] * len(alive), [tokens for _, tokens in alive])
        totals = (torch.tensor([total for total, _ in alive])[:, None] + scores).flatten()
        values, order = totals.topk(2 * size)
        candidates = [
            (value, [*alive[place // VOCABULARY][1], place % VOCABULARY])
            for value, place in zip(values.tolist(), order.tolist(), strict=True)
        ]
        for total, tokens in candidates[:size]:
            if tokens[-1] == END or length == limit:
                norm = length**search.length_penalty
                found.append((tokens[-1] == END, total / norm, tokens))
        alive = [each for each in candidates if each[1][-1] != END][:size]
        if len(found) >= size:
            break
    ranked = sorted(found, key=lambda each: (each[0], each[1]), reverse=True)
    return [[token for token in tokens if token != END] for _, _, tokens in ranked[: search.n_best]]


def tokens_of(found: list[list[Hypothesis]]) -> list[list[list[int]]]:
    return [[each.tokens for each in hypotheses] for hypotheses in found]


@pytest.mark.parametrize(
    ("search", "count"),
    [
        (Search(beam_size=4, n_best=3, max_length_ratio=0.1), 70),
        (Search(beam_size=7, length_penalty=0.4, max_length_ratio=3.0), 30),
    ],
    ids=["4", "7"],
)
def test_a_beam_finds_what_the_plain_search_finds(
    model: Transformer, search: Search, count: int
) -> None:
    asked = sources(count)
    found = tokens_of(Native(model).search(asked, [[]] * count, search))
    for source, outputs in zip(asked, found, strict=True):
        assert outputs == plain_beam(model, source, search)
    assert_varied([outputs[0] for outputs in found])


def test_greedy_search_finds_what_the_plain_search_finds(model: Transformer) -> None:
    search, engine = Search(beam_size=1, max_length_ratio=0.1), Native(model)
    asked = sources(900)
    found = engine.best(asked, [[]] * 900, search)
    for length in range(1, 10):
        rows = [row for row, source in enumerate(asked) if len(source) == length]
        plain = plain_greedy(model, [asked[row] for row in rows], search)
        assert [found[row] for row in rows] == plain
    assert_varied(found)


def assert_varied(outputs: list[list[int]]) -> None:
    """Check for many different outputs, short and long: a model that repeats itself proves
    little.
    """
    lengths = [len(each) for each in outputs]
    assert min(lengths) < 12 < max(lengths)
    assert len({tuple(each) for each in outputs}) > 0.9 * len(outputs)


@pytest.mark.parametrize(
    "search", [Search(beam_size=1), Search(beam_size=3), Search(temperature=1.0, n_best=2)], ids=str
)
def test_the_number_of_workers_changes_nothing(
    model: Transformer, search: Search, threads: None
) -> None:
    asked = sources(200)
    prefixes = [source[:1] if row % 3 == 0 else [] for row, source in enumerate(asked)]
    found = []
    for workers in (1, 2, 3):
        torch.set_num_threads(workers)
        found.append(Native(model).search(asked, prefixes, search))
        assert torch.get_num_threads() == workers
    assert tokens_of(found[0]) == tokens_of(found[1]) == tokens_of(found[2])
    for row, hypotheses in enumerate(found[1]):
        assert hypotheses[0].tokens[: len(prefixes[row])] == prefixes[row]


def test_the_best_alone_are_the_best_of_a_search(model: Transformer) -> None:
    asked, engine = sources(40), Native(model)
    for search in (
        Search(beam_size=1),
        Search(beam_size=3, n_best=2),
        Search(temperature=1.2),
        Search(temperature=1.2, n_best=3),
    ):
        found = engine.search(asked, [[]] * 40, search)
        best = engine.best(asked, [[]] * 40, search)
        assert best == [hypotheses[0].tokens for hypotheses in found]


def test_scores_are_the_models_own(model: Transformer) -> None:
    for size in (1, 3):
        search = Search(beam_size=size, length_penalty=0.7, min_length=2, no_repeat_ngram=3)
        asked = sources(10)
        for source, [found] in zip(
            asked, Native(model).search(asked, [[]] * 10, search), strict=True
        ):
            said = [*found.tokens, END] if found.finished else found.tokens
            expected = [
                float(next_scores(model, [source], [said[:place]])[0, token])
                for place, token in enumerate(said)
            ]
            assert found.log_probabilities == pytest.approx(expected)
            assert found.score == pytest.approx(sum(expected) / len(said) ** 0.7)


def test_no_sources_and_a_single_one(model: Transformer) -> None:
    engine = Native(model)
    assert engine.search([], [], Search()) == []
    [source] = sources(1)
    alone = engine.search([source], [[]], Search(n_best=5))
    assert len(alone[0]) == 5
    first = replace(Search(), beam_size=5, n_best=1)
    assert engine.search([source], [[]], first)[0][0].tokens == alone[0][0].tokens


def test_work_side_by_side_keeps_its_order_and_its_errors(threads: None) -> None:
    torch.set_num_threads(3)
    assert side_by_side(lambda number: number * number, range(20)) == [n * n for n in range(20)]
    assert side_by_side(lambda number: torch.get_num_threads(), range(9)) == [1] * 9

    def fails(number: int) -> int:
        if number == 4:
            raise ValueError("four")
        return number

    with pytest.raises(ValueError, match="four"):
        side_by_side(fails, range(9))
    assert torch.get_num_threads() == 3


@pytest.mark.parametrize(
    "search", [Search(beam_size=3), Search(beam_size=1), Search(temperature=1.0)]
)
def test_a_search_that_nobody_waits_for_ends_at_the_next_step(
    model: Transformer, search: Search
) -> None:
    asked = count()
    with pytest.raises(Abandoned):
        Native(model).search([[5, 6, 7]] * 40, [[]] * 40, search, lambda: next(asked) >= 2)
    # Two steps, and one more check for each core that was working.
    assert next(asked) <= 2 + torch.get_num_threads()
