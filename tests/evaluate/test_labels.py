"""Scores of labels: spans as seqeval finds them, F1, temperature and calibration."""

import numpy as np
import pytest
import torch

from regard.evaluate.labels import (
    accuracy,
    calibration_error,
    confusion,
    f1_scores,
    macro_f1,
    span_f1,
    spans,
)
from regard.evaluate.temperature import fitted_temperature


@pytest.mark.parametrize(
    ("labels", "found"),
    [
        # The example of seqeval's documentation.
        ("B-PER I-PER O B-LOC", {(0, 1, "PER"), (3, 3, "LOC")}),
        # What begins without B still begins.
        ("O I-MISC I-MISC O", {(1, 2, "MISC")}),
        ("I-PER I-LOC", {(0, 0, "PER"), (1, 1, "LOC")}),
        ("B-NP B-NP I-NP", {(0, 0, "NP"), (1, 2, "NP")}),
        ("B-NP I-VP I-VP", {(0, 0, "NP"), (1, 2, "VP")}),
        ("S-PER B-PER E-PER I-PER", {(0, 0, "PER"), (1, 2, "PER"), (3, 3, "PER")}),
        ("B I O B", {(0, 1, "_"), (3, 3, "_")}),
        ("B-per-son I-per-son", {(0, 1, "per-son")}),
        ("O O", set()),
    ],
)
def test_spans(labels: str, found: set[tuple[int, int, str]]) -> None:
    assert spans(labels.split()) == found


def test_span_f1_of_the_documented_example() -> None:
    """seqeval's README: one of two spans has its ends right, so F1 is a half."""
    true = ["O O O B-MISC I-MISC I-MISC O", "B-PER I-PER O"]
    found = ["O O B-MISC I-MISC I-MISC I-MISC O", "B-PER I-PER O"]
    assert span_f1([row.split() for row in found], [row.split() for row in true]) == 50.0
    assert span_f1([["O"]], [["O"]]) == 0.0


def test_f1_of_each_label_and_of_all() -> None:
    true, found = np.array([0, 0, 0, 1, 1, 2]), np.array([0, 0, 1, 1, 1, 0])
    table = confusion(found, true, 4)
    assert table.sum() == 6
    assert table[2].tolist() == [1, 0, 0, 0]  # label 2 was taken for label 0
    assert f1_scores(table) == pytest.approx([200 / 3, 80.0, 0.0, 0.0])
    # The fourth label never occurs, so it does not count.
    assert macro_f1(table) == pytest.approx((200 / 3 + 80) / 3)
    assert accuracy(found, true) == pytest.approx(100 * 4 / 6)


def test_the_temperature_that_is_fitted_lowers_the_loss_most() -> None:
    torch.manual_seed(1)
    honest = torch.randn(4000, 3, dtype=torch.float64)
    labels = torch.multinomial(honest.softmax(-1), 1)[:, 0]
    temperature = fitted_temperature(3 * honest, labels)
    assert temperature == pytest.approx(3.0, rel=0.1)

    def loss(value: float) -> float:
        return float(torch.nn.functional.cross_entropy(3 * honest / value, labels))

    assert loss(temperature) <= min(loss(temperature * 1.02), loss(temperature / 1.02))
    bold, fitted = (3 * honest).softmax(-1), (3 * honest / temperature).softmax(-1)
    assert calibration_error(fitted, labels) < 3 < 15 < calibration_error(bold, labels)


def test_a_few_right_answers_do_not_make_a_model_certain() -> None:
    logits = torch.tensor([[1.0, 0.0], [0.0, 1.0]], dtype=torch.float64).repeat(5, 1)
    labels = torch.tensor([0, 1] * 5)
    few = fitted_temperature(logits, labels)
    many = fitted_temperature(logits.repeat(1000, 1), labels.repeat(1000))
    assert 0.2 < few < 1
    assert many < few / 2


def test_certainty_that_is_always_right_is_calibrated() -> None:
    probabilities = torch.eye(2, dtype=torch.float64)
    assert calibration_error(probabilities, torch.tensor([0, 1])) == 0.0
    assert calibration_error(probabilities, torch.tensor([1, 0])) == 100.0
