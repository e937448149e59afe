"""A watched search finds what an unwatched one finds, and its tree accounts for everything."""

from typing import Any

import pytest
import torch

from regard.decode.search import Search
from regard.engines.native import Native
from regard.inspect.alternatives import alternatives
from regard.inspect.tree import Rules, Tree, Watch, grow
from regard.models.transformer import Transformer, TransformerConfig

END = 3
SOURCE = [5, 9, 12, 7]


def engine(seed: int, vocabulary: int = 15) -> Native:
    torch.manual_seed(seed)
    sizes: dict[str, Any] = {"encoder_layers": 1, "decoder_layers": 1, "d_model": 16, "d_ff": 16}
    model = Transformer(TransformerConfig(num_heads=2, **sizes), vocabulary, vocabulary).eval()
    with torch.no_grad():
        model.output.weight[END] *= 1.5  # so that some outputs end
    return Native(model)


def watched(native: Native, search: Search, prefix: list[int]) -> tuple[Any, Tree]:
    watch = Watch()
    found = native.watched(SOURCE, prefix, search, watch)
    limit = native.max_length(SOURCE, prefix, search)
    return found, grow(watch, Rules(search.beam_size, search.length_penalty, limit, END))


@pytest.mark.parametrize("seed", range(4))
@pytest.mark.parametrize(
    ("search", "prefix"),
    [
        (Search(beam_size=3, n_best=3), []),
        (Search(beam_size=5, n_best=5, length_penalty=0.0, max_length_ratio=0.5), []),
        (Search(beam_size=1, no_repeat_ngram=2), []),
        (Search(beam_size=4, n_best=4, min_length=6, length_penalty=2.0), [8, 6]),
    ],
)
def test_a_tree_holds_what_an_unwatched_search_finds(
    seed: int, search: Search, prefix: list[int]
) -> None:
    native = engine(seed)
    found, tree = watched(native, search, prefix)
    (expected,) = native.search([SOURCE], [prefix], search)
    if search.beam_size > 1:
        assert found == expected
    ranked = tree.ranked()
    assert ranked[0].id == tree.best
    for hypothesis, node in zip(expected, ranked, strict=False):
        path = tree.path(node.id)
        tokens = [each.token for each in path]
        assert tokens == [*hypothesis.tokens, *([END] if hypothesis.finished else [])]
        assert node.score == pytest.approx(hypothesis.score, abs=1e-6)
        values = [each.log_probability for each in path]
        assert values == pytest.approx(hypothesis.log_probabilities, abs=1e-6)
    if len(expected) == search.beam_size:
        assert len(ranked) >= len(expected)


def test_every_node_has_its_place() -> None:
    _, tree = watched(engine(1), Search(beam_size=3), [])
    fates = {node.fate for node in tree.nodes}
    assert {"kept", "pruned"} <= fates
    for node in tree.nodes:
        parent = tree.nodes[node.parent] if node.parent >= 0 else None
        assert node.step == (parent.step if parent else 0) + 1
        total = parent.total if parent else 0.0
        assert node.total == pytest.approx(total + node.log_probability, abs=1e-5)
        assert parent is None or parent.fate == "kept"
        assert node.why
    for step in range(1, max(node.step for node in tree.nodes) + 1):
        front = [node for node in tree.nodes if node.step == step]
        assert [node.rank for node in front] == list(range(len(front)))
        assert [node.total for node in front] == sorted((n.total for n in front), reverse=True)
        assert sum(node.fate in ("kept", "left") for node in front) <= 3


def test_another_length_penalty_ranks_the_same_outputs() -> None:
    _, tree = watched(engine(2), Search(beam_size=5, length_penalty=1.0), [])
    short, long = tree.ranked(0.0), tree.ranked(3.0)
    assert {node.id for node in short} == {node.id for node in long}
    for node in long:
        assert node.score == pytest.approx(node.total / node.step**3)


def test_alternatives_are_the_likeliest_pieces() -> None:
    logits = torch.tensor([[0.0, 2.0, 1.0], [5.0, 0.0, 5.0]]).log_softmax(-1)
    first, second = alternatives(logits, [2, 0], ["a", "b", "c"], k=2)
    assert [choice.piece for choice in first.choices] == ["b", "c"]
    assert (first.piece, first.rank) == ("c", 1)
    assert first.choices[1].probability == pytest.approx(float(logits[0, 2].exp()))
    assert first.log_probability == pytest.approx(float(logits[0, 2]))
    assert (second.rank, len(second.choices)) == (0, 2)
    assert second.entropy == pytest.approx(1.0, abs=0.1)  # two pieces, nearly equally likely
