"""Silver alignments by IBM Model 1, and heads compared with them."""

import random
from typing import Any

import pytest
import torch
from torch import Tensor

from regard.inspect import alignments
from regard.inspect.alignments import (
    Aligners,
    Example,
    HeadScore,
    WordPair,
    alignment_error_rate,
    score_heads,
    silver_links,
)

WORDS = {"le": "the", "chat": "cat", "noir": "black", "dort": "sleeps", "chien": "dog"}


def corpus(count: int, seed: int) -> list[WordPair]:
    """Pairs translated word for word, in reverse order."""
    draw = random.Random(seed)
    lines = [draw.sample(list(WORDS), draw.randint(2, 4)) for _ in range(count)]
    return [WordPair(line, [WORDS[word] for word in reversed(line)]) for line in lines]


def test_model_1_finds_a_reversed_word_order() -> None:
    for sure, possible in silver_links(corpus(200, seed=1), compared=20):
        assert sure == possible
    pairs = corpus(200, seed=1)
    for pair, (sure, _) in zip(pairs, silver_links(pairs, 20), strict=False):
        last = len(pair.source) - 1
        assert sure == {(last - target, target) for target in range(len(pair.target))}


def test_case_and_punctuation_do_not_hide_a_word() -> None:
    pairs = [WordPair(["Le", "chat."], ["“The", "CAT!”"]), *corpus(100, seed=2)]
    # The last word of the corpus is the first of its translation; here it is not.
    assert silver_links(pairs, 1)[0][0] == {(0, 0), (1, 1)}


def test_a_word_without_a_partner_is_linked_to_none() -> None:
    pairs = corpus(200, seed=3)
    extra = [WordPair(pair.source, [*pair.target, "indeed"]) for pair in pairs]
    sure, _ = silver_links(extra, 1)[0]
    assert all(target < len(extra[0].target) - 1 for _, target in sure)


def test_empty_sentences_have_no_links() -> None:
    pairs = [WordPair([], []), WordPair(["a"], []), WordPair([], ["b"]), WordPair(["a"], ["b"])]
    assert silver_links(pairs, 3) == [(set(), set())] * 3
    assert silver_links([], 0) == []


def test_the_error_rate_of_och_and_ney() -> None:
    silver = [({(0, 0), (1, 1)}, {(0, 0), (1, 1), (2, 1)})]
    assert alignment_error_rate([{(0, 0), (1, 1)}], silver) == 0
    assert alignment_error_rate([{(0, 0), (1, 1), (2, 1)}], silver) == 0
    assert alignment_error_rate([{(2, 0)}], silver) == 1
    assert alignment_error_rate([{(0, 0), (2, 0)}], silver) == pytest.approx(1 - 2 / 4)
    assert alignment_error_rate([set()], [(set(), set())]) == 1


def test_the_head_and_the_reading_that_align_are_found(monkeypatch: pytest.MonkeyPatch) -> None:
    """Head 0 looks at the right word when it predicts, head 1 of layer 1 when it has read."""
    example = Example([5, 6, 7, 3], [8, 9, 10, 3], [0, 1, 2, -1], [0, 1, 2, -1])
    silver = [({(2, 0), (1, 1), (0, 2)}, {(2, 0), (1, 1), (0, 2)})]
    right = torch.tensor([[0, 0, 0.9, 0.1], [0, 0.9, 0, 0.1], [0.9, 0, 0, 0.1], [0, 0, 0, 1]])
    later = right.roll(1, 0)
    blurred = torch.full((4, 4), 0.25)
    layers = [torch.stack((right, blurred)), torch.stack((blurred, later))]

    class Attention:
        num_heads = 2

    def cross(model: Any, examples: Any) -> list[Tensor]:
        return [layer[None] for layer in layers]

    found = {"encoder": [], "decoder": [], "cross": [Attention(), Attention()]}
    monkeypatch.setattr(alignments, "attentions", lambda model: found)
    monkeypatch.setattr(alignments, "cross_weights", cross)
    scores = score_heads(None, [example], silver)  # type: ignore[arg-type]
    assert len(scores) == 2 * (4 + 2 + 1)
    exact = [score for score in scores if score.aer == 0 and score.head is not None]
    assert {(each.layer, each.head, each.reading) for each in exact} == {
        (0, 0, "predicts"),
        (1, 1, "read"),
    }
    assert exact[0].sharpness == pytest.approx(0.9)


def test_the_best_head_is_one_head() -> None:
    mean = HeadScore(None, None, "predicts", 0.1, 0.5)
    head = HeadScore(1, 3, "predicts", 0.2, 0.9)
    found = Aligners([mean, head], 10, 2)
    assert (found.best, found.best_head) == (mean, head)
    assert "cross.1.3" in found.summary()
    assert "the mean of all aligns better still" in found.summary()
    assert "still" not in Aligners([head, mean], 10, 2).summary()
