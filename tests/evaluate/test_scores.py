"""Scores equal sacreBLEU's own, and what cannot be scored is refused with a sentence."""

import os
import random

import pytest
import sacrebleu

from regard.errors import DataError
from regard.evaluate.scores import METRICS, bleu, chrf, corpus_scores

WORDS = ["Der", "Hund", "die", "Katze", "läuft", "schnell", "über", "das", "grüne", "Feld", "."]


def corpus(seed: int, lines: int = 40) -> tuple[list[str], list[str]]:
    """Random sentences and a noisy copy of them."""
    chance = random.Random(seed)
    references, hypotheses = [], []
    for _ in range(lines):
        words = chance.choices(WORDS, k=chance.randrange(1, 14))
        references.append(" ".join(words))
        noisy = [chance.choice(WORDS) if chance.random() < 0.2 else word for word in words]
        hypotheses.append(" ".join(noisy if chance.random() < 0.9 else noisy[::-1]))
    return hypotheses, references


@pytest.mark.parametrize("seed", range(5))
def test_values_are_sacrebleus_to_the_last_digit(seed: int) -> None:
    hypotheses, references = corpus(seed)
    values = {each.name: each.value for each in corpus_scores(hypotheses, references)}
    assert tuple(values) == METRICS
    assert values["BLEU"] == sacrebleu.corpus_bleu(hypotheses, [references]).score
    lower_cased = sacrebleu.corpus_bleu(hypotheses, [references], lowercase=True)
    assert values["BLEU lower-cased"] == lower_cased.score
    assert values["chrF"] == sacrebleu.corpus_chrf(hypotheses, [references]).score
    assert values["TER"] == sacrebleu.corpus_ter(hypotheses, [references]).score
    equal = sum(one == other for one, other in zip(hypotheses, references, strict=True))
    assert values["exact"] == pytest.approx(100 * equal / len(references))
    assert bleu(hypotheses, references) == values["BLEU"]
    assert chrf(hypotheses, references) == values["chrF"]


def test_signatures_say_how_it_was_done() -> None:
    signatures = {each.name: each.signature for each in corpus_scores(*corpus(1))}
    version = sacrebleu.__version__
    assert signatures == {
        "BLEU": f"nrefs:1|case:mixed|eff:no|tok:13a|smooth:exp|version:{version}",
        "BLEU lower-cased": f"nrefs:1|case:lc|eff:no|tok:13a|smooth:exp|version:{version}",
        "chrF": f"nrefs:1|case:mixed|eff:yes|nc:6|nw:0|space:no|version:{version}",
        "TER": f"nrefs:1|case:lc|tok:tercom|norm:no|punct:yes|asian:no|version:{version}",
        "exact": "nrefs:1|case:mixed|tok:none",
    }


def test_case_matters_only_where_it_should() -> None:
    scores = corpus_scores(["der hund läuft schnell"], ["Der Hund läuft schnell"])
    values = {each.name: each.value for each in scores}
    assert values["BLEU lower-cased"] == pytest.approx(100)
    assert values["BLEU"] < 60
    assert values["exact"] == 0


def test_intervals_surround_the_value_repeat_and_are_sacrebleus() -> None:
    hypotheses, references = corpus(2, lines=200)
    scores = corpus_scores(hypotheses, references, bootstrap=200)
    for each in scores:
        assert each.low is not None
        assert each.high is not None
        assert each.low < each.value < each.high
        assert "|bs:200|seed:12345|" in each.signature
    assert corpus_scores(hypotheses, references, bootstrap=200) == scores

    own = sacrebleu.BLEU().corpus_score(hypotheses, [references], n_bootstrap=200)
    assert scores[0].low is not None
    assert scores[0].high is not None
    # sacreBLEU prints the centre and half the width.
    assert f"(μ = {(scores[0].low + scores[0].high) / 2:.2f} ± " in str(own)
    assert f"± {(scores[0].high - scores[0].low) / 2:.2f})" in str(own)


def test_intervals_where_few_resamples_match_anything() -> None:
    references = [f"{number} b c d" for number in range(8)]
    for matching in (1, 2):
        hypotheses = [*references[:matching], *["x y"] * (8 - matching)]
        for score in corpus_scores(hypotheses, references, bootstrap=50):
            assert score.low is not None
            assert score.high is not None
            assert score.low < score.high


def test_the_seed_is_ours_and_the_environment_stays(monkeypatch: pytest.MonkeyPatch) -> None:
    hypotheses, references = corpus(3)
    monkeypatch.setenv("SACREBLEU_SEED", "77")
    usual = corpus_scores(hypotheses, references, bootstrap=50)
    other = corpus_scores(hypotheses, references, bootstrap=50, seed=1)
    assert os.environ["SACREBLEU_SEED"] == "77"
    assert "|seed:12345|" in usual[0].signature
    assert "|seed:1|" in other[0].signature
    assert usual[0].low != other[0].low
    monkeypatch.delenv("SACREBLEU_SEED")
    assert corpus_scores(hypotheses, references, bootstrap=50) == usual
    assert "SACREBLEU_SEED" not in os.environ


def test_an_exact_match_interval_has_the_width_of_a_proportion() -> None:
    references = [str(number) for number in range(400)]
    hypotheses = [line if int(line) < 100 else "" for line in references]
    [score] = corpus_scores(hypotheses, references, metrics=["exact"], bootstrap=2000)
    assert score.low is not None
    assert score.high is not None
    assert score.value == 25
    # 1.96 × sqrt(0.25 × 0.75 / 400) = 4.24 points either side
    assert score.high - score.low == pytest.approx(2 * 4.24, rel=0.1)


@pytest.mark.parametrize(
    ("language", "token"),
    [
        ("zh", "tok:zh"),
        ("zh-CN", "tok:zh"),
        ("zho_Hans", "tok:zh"),
        ("ja", "tok:char"),
        ("ko_KR", "tok:char"),
        ("th", "tok:char"),
        ("de", "tok:13a"),
        (None, "tok:13a"),
    ],
)
def test_words_are_found_as_the_language_needs(language: str | None, token: str) -> None:
    hypotheses, references = ["我爱北京天安门。"], ["我很爱北京天安门。"]
    scores = corpus_scores(hypotheses, references, language=language)
    assert token in scores[0].signature
    assert token in scores[1].signature
    spaced = token == "tok:13a"
    assert (scores[0].value == 0) == spaced
    assert ("asian:no" in scores[3].signature) == spaced
    assert scores[3].value == pytest.approx(100 if spaced else 100 / 9)


def test_only_what_is_asked_for_in_that_order() -> None:
    scores = corpus_scores(*corpus(4), metrics=["exact", "BLEU"])
    assert [each.name for each in scores] == ["exact", "BLEU"]


def test_empty_lines_count_and_break_nothing() -> None:
    for hypotheses, references in ((["", ""], ["a b", "c"]), (["a b", "c"], ["", ""])):
        for each in corpus_scores(hypotheses, references, bootstrap=10):
            assert each.value in {0.0, 100.0}
    worst = {each.name: each.value for each in corpus_scores([""], ["a b"])}
    assert worst == {"BLEU": 0, "BLEU lower-cased": 0, "chrF": 0, "TER": 100, "exact": 0}


def test_what_cannot_be_scored_is_said_in_a_sentence() -> None:
    with pytest.raises(DataError, match=r"^scores: 2 translations for 1 references; give one line"):
        corpus_scores(["a", "b"], ["a"])
    with pytest.raises(DataError, match=r"^scores: got no sentences to score; give at least one"):
        corpus_scores([], [])
