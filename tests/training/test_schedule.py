"""Learning rates against their closed forms."""

import math
from itertools import pairwise
from typing import Any

import pytest

from regard.recipe import TrainSection
from regard.training.schedule import learning_rate


def rates(at: list[int], **settings: Any) -> list[float]:
    train = TrainSection(**settings)
    return [learning_rate(step, train) for step in at]


def test_the_formula_of_the_paper() -> None:
    d_model, warmup = 512, 4000
    steps = [1, 2, 100, 3999, 4000, 4001, 16_000, 100_000]
    paper = [d_model**-0.5 * min(step**-0.5, step * warmup**-1.5) for step in steps]
    peak = (d_model * warmup) ** -0.5
    assert rates(steps, learning_rate=peak, warmup_steps=warmup) == pytest.approx(paper, rel=1e-12)
    # The default is the paper's base model, rounded.
    assert rates(steps) == pytest.approx(paper, rel=2e-3)


@pytest.mark.parametrize("schedule", ["inverse_sqrt", "cosine", "linear", "constant"])
def test_the_warm_up_is_a_straight_line_to_the_peak(schedule: str) -> None:
    settings = {"schedule": schedule, "learning_rate": 0.5, "warmup_steps": 10, "steps": 100}
    assert rates(list(range(1, 11)), **settings) == pytest.approx([0.05 * n for n in range(1, 11)])


@pytest.mark.parametrize("final", [0.0, 0.1])
def test_cosine_and_linear_end_where_they_should(final: float) -> None:
    settings: dict[str, Any] = {
        "learning_rate": 0.5,
        "final_learning_rate": final,
        "warmup_steps": 10,
        "steps": 110,
    }
    middle, quarter = (0.5 + final) / 2, final + (0.5 - final) * 0.75
    cosine = final + (0.5 - final) * (1 + math.cos(math.pi / 4)) / 2
    found = rates([10, 35, 60, 110, 500], schedule="cosine", **settings)
    assert found == pytest.approx([0.5, cosine, middle, final, final])
    found = rates([10, 35, 60, 110, 500], schedule="linear", **settings)
    assert found == pytest.approx([0.5, quarter, middle, final, final])


def test_the_inverse_root_stops_at_the_final_rate() -> None:
    found = rates([4, 16, 64], learning_rate=0.8, warmup_steps=4, final_learning_rate=0.3)
    assert found == pytest.approx([0.8, 0.4, 0.3])


@pytest.mark.parametrize(
    ("schedule", "expected"),
    [
        ("inverse_sqrt", [0.5, 0.25, 0.125]),
        ("linear", [0.46875, 0.375, 0.0]),
        ("constant", [0.5, 0.5, 0.5]),
    ],
)
def test_no_warm_up(schedule: str, expected: list[float]) -> None:
    settings = {"schedule": schedule, "learning_rate": 0.5, "warmup_steps": 0, "steps": 16}
    assert rates([1, 4, 16], **settings) == pytest.approx(expected)


@pytest.mark.parametrize("schedule", ["inverse_sqrt", "cosine", "linear", "constant"])
def test_no_schedule_jumps_or_leaves_its_bounds(schedule: str) -> None:
    settings = {"schedule": schedule, "learning_rate": 1.0, "warmup_steps": 20, "steps": 400}
    found = rates(list(range(1, 500)), **settings)
    assert all(0 <= rate <= 1 for rate in found)
    steps = [abs(after - before) for before, after in pairwise(found)]
    assert max(steps) <= 0.05 + 1e-12
    down = found[19:]
    assert down == sorted(down, reverse=True)


def test_a_warm_up_longer_than_the_run() -> None:
    settings = {"learning_rate": 1.0, "warmup_steps": 100, "steps": 10}
    for schedule in ("inverse_sqrt", "cosine", "linear", "constant"):
        assert rates([10, 100], schedule=schedule, **settings) == pytest.approx([0.1, 1.0])
