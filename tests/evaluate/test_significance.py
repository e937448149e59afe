"""Differences are judged as sacreBLEU judges them, and cautiously."""

import random

import pytest
import sacrebleu
from sacrebleu.metrics.bleu import BLEU
from sacrebleu.significance import PairedTest

from regard.errors import DataError
from regard.evaluate.significance import Difference, paired_differences

WORDS = ["Der", "Hund", "die", "Katze", "läuft", "schnell", "über", "das", "grüne", "Feld", "."]


def lines(count: int = 60) -> list[str]:
    chance = random.Random(1)
    return [" ".join(chance.choices(WORDS, k=chance.randrange(4, 14))) for _ in range(count)]


def noisy(references: list[str], share: float, seed: int) -> list[str]:
    chance = random.Random(seed)
    return [
        " ".join(chance.choice(WORDS) if chance.random() < share else word for word in line.split())
        for line in references
    ]


def test_better_worse_and_equal_systems_are_told_apart() -> None:
    references = lines()
    base = noisy(references, 0.3, seed=2)
    systems = {
        "better": noisy(references, 0.02, seed=3),
        "worse": noisy(references, 0.9, seed=4),
        "equal": list(base),
    }
    found = paired_differences(base, systems, references, resamples=100)
    assert list(found) == list(systems)
    for name, differences in found.items():
        assert [each.metric for each in differences] == ["BLEU", "chrF"]
        assert all(each.real == (name != "equal") for each in differences)
    assert all(each.value > 0 for each in found["better"])
    assert all(each.value < 0 for each in found["worse"])
    assert {each.verdict() for each in found["equal"]} == {"no difference"}


def test_values_and_p_are_sacrebleus(monkeypatch: pytest.MonkeyPatch) -> None:
    references = lines()
    base, other = noisy(references, 0.3, seed=2), noisy(references, 0.27, seed=3)
    [bleu, chrf] = paired_differences(base, {"other": other}, references, resamples=100)["other"]
    scores = [sacrebleu.corpus_bleu(each, [references]).score for each in (base, other)]
    assert bleu.value == pytest.approx(scores[1] - scores[0])
    scores = [sacrebleu.corpus_chrf(each, [references]).score for each in (base, other)]
    assert chrf.value == pytest.approx(scores[1] - scores[0])
    monkeypatch.setenv("SACREBLEU_SEED", "12345")
    for kind, trials, p in (("bs", 100, bleu.p_bootstrap), ("ar", 1000, bleu.p_randomisation)):
        named = [("", base), ("other", other)]
        test = PairedTest(named, {"BLEU": BLEU()}, [references], kind, n_samples=trials)
        assert test()[1]["BLEU"][1].p_value == p


@pytest.mark.parametrize(
    ("difference", "verdict"),
    [
        (Difference("BLEU", 1.5, 0.003, 0.002), "real (p = 0.003)"),
        (Difference("BLEU", -1.5, 0.0001, 0.0002), "real (p < 0.001)"),
        (Difference("BLEU", 0.4, 0.01, 0.21), "may be chance (p = 0.210)"),
        (Difference("BLEU", 0.4, 0.05, 0.01), "may be chance (p = 0.050)"),
        (Difference("BLEU", 0.0, 0.0001, 0.0001), "no difference"),
    ],
)
def test_a_verdict_is_that_of_the_more_cautious_test(difference: Difference, verdict: str) -> None:
    assert difference.verdict() == verdict
    assert difference.real == verdict.startswith("real")


def test_what_cannot_be_compared() -> None:
    assert paired_differences(["a"], {}, ["a"]) == {}
    with pytest.raises(DataError, match="1 translations for 2 references"):
        paired_differences(["a", "b"], {"other": ["a"]}, ["a", "b"])
