"""Which direction of a score is better, and how scores are shown."""

import pytest

from regard import tasks
from regard.evaluate.metrics import (
    BITS_PER_CHARACTER,
    BLEU,
    CALIBRATION_ERROR,
    LOSS,
    PERPLEXITY,
    Metric,
    format_scores,
)


@pytest.mark.parametrize("metric", [LOSS, PERPLEXITY, BITS_PER_CHARACTER, CALIBRATION_ERROR])
def test_less_may_be_better(metric: Metric) -> None:
    assert metric.better(1.0, 2.0)
    assert not metric.better(2.0, 1.0)


def test_more_is_better_unless_a_metric_says_otherwise() -> None:
    assert BLEU.better(2.0, 1.0)
    assert not BLEU.better(1.0, 2.0)
    assert Metric("gain", "gain").better(2.0, 1.0)


@pytest.mark.parametrize("metric", [LOSS, BLEU])
def test_an_equal_score_is_not_better_and_any_is_better_than_none(metric: Metric) -> None:
    assert not metric.better(1.0, 1.0)
    assert metric.better(1.0, None)


def test_scores_are_shown_under_their_titles() -> None:
    scores = {"bleu": 31.25, "chrf": None, "bits_per_character": 1.2, "span_length": 3}
    assert format_scores(scores, [BLEU, BITS_PER_CHARACTER]) == [
        *("BLEU 31.2", "bits/character 1.200", "span length 3.00")
    ]


@pytest.mark.parametrize("task", tasks.TASKS)
def test_what_decides_is_among_the_metrics_of_its_task(task: str) -> None:
    found = tasks.get(task)
    assert set(found.recipe.metrics) <= {"loss", *(metric.name for metric in found.metrics)}
