"""Scores of captions, beside those of the authors' programs."""

import numpy as np
import pytest
import sacrebleu

from regard.evaluate.caption_scores import CaptionReferences
from regard.evaluate.cider import Cider, words_of

WORDS = ["a", "the", "dog", "cat", "man", "runs", "jumps", "over", "on", "grass", "red", "two"]


def sentences(count: int, seed: int) -> list[list[str]]:
    random = np.random.default_rng(seed)
    lengths = random.integers(1, 12, count)
    return [[WORDS[i] for i in random.integers(0, len(WORDS), length)] for length in lengths]


@pytest.mark.parametrize("seed", range(5))
def test_cider_is_that_of_its_authors(seed: int) -> None:
    scorer = pytest.importorskip("pycocoevalcap.cider.cider_scorer", reason="needs the dev extra")
    images, each = 30, 4
    references = [sentences(each, 100 * seed + number) for number in range(images)]
    # Captions that have much in common with references, and nothing, and no word at all.
    captions = [one[0][: 2 + number % 9] for number, one in enumerate(references)]
    captions[3], captions[4] = ["unknown", "words"], references[5][1]
    theirs = scorer.CiderScorer(n=4, sigma=6.0)
    for caption, one in zip(captions, references, strict=True):
        theirs += (" ".join(caption), [" ".join(words) for words in one])
    expected, every = theirs.compute_score()
    found = Cider(references).scores(captions)
    np.testing.assert_allclose(found, 100 * every, rtol=1e-9, atol=1e-9)
    assert found.mean() == pytest.approx(100 * expected)


def test_words_are_small_and_without_punctuation() -> None:
    assert words_of("A man's dog, two-legged; RUNS .") == [
        "a",
        "man's",
        "dog",
        "two-legged",
        "runs",
    ]
    assert words_of("...") == []


REFERENCES = [
    ["A dog runs on the grass .", "The dog is running over green grass ."],
    ["Two men play football .", "Men with a ball", "Two players in red"],
    ["A small boat on the water ."],
]
CAPTIONS = ["a dog runs on grass .", "two men with a ball .", "a dog on the water ."]


def test_bleu_is_sacrebleus_with_all_references() -> None:
    found = CaptionReferences(REFERENCES)
    streams = [[one[n] if n < len(one) else None for one in REFERENCES] for n in range(3)]
    for order, value in enumerate(found.bleu(CAPTIONS), 1):
        metric = sacrebleu.BLEU(lowercase=True, max_ngram_order=order)
        expected = metric.corpus_score(CAPTIONS, streams)
        assert value == pytest.approx(expected.score)
    assert "case:lc" in found.signature
    assert "nrefs:var" in found.signature


def test_shuffled_images_keep_the_captions_but_never_their_place() -> None:
    captions = [str(number) for number in range(50)]
    found = CaptionReferences([[each] for each in captions])
    moved = found.shuffled(captions)
    assert sorted(moved) == sorted(captions)
    assert all(before != after for before, after in zip(captions, moved, strict=True))


def test_the_best_sentence_is_the_best_of_all() -> None:
    references = [[" ".join(words) for words in sentences(3, seed)] for seed in range(12)]
    found = CaptionReferences(references)
    captions = ["the dog runs on the grass"]
    best = found.best_sentence(captions)
    every = [*captions, *(text for each in references for text in each)]
    values = {text: found.bleu([text] * 12)[3] for text in every if len(text.split()) > 3}
    assert values[best] >= 0.9 * max(values.values())


def test_intervals_enclose_the_score() -> None:
    found = CaptionReferences(REFERENCES)
    low, high = found.cider_interval(CAPTIONS, 200)
    assert low is not None
    assert high is not None
    assert low <= found.scores(CAPTIONS).cider <= high
    assert found.bleu_interval(CAPTIONS, 0) == (None, None)
