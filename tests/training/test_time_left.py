"""The time left counts updates, validations and the phase after them."""

import pytest

from regard.recipe import TrainSection
from regard.training.time_left import TimeLeft, validations_between


@pytest.mark.parametrize(("steps", "every"), [(100, 10), (100, 30), (100, 100), (10, 99), (7, 1)])
def test_the_validations_that_remain_are_counted(steps: int, every: int) -> None:
    train = TrainSection(steps=steps, eval_every=every)
    for step in range(steps + 1):
        after = [s for s in range(step + 1, steps + 1) if s % every == 0 or s == steps]
        assert validations_between(step, train) == len(after)


def test_the_time_left_is_of_updates_validations_and_what_follows() -> None:
    clock = TimeLeft(TrainSection(steps=100, eval_every=50), 2.0, 10.0, closing=2)
    assert clock.seconds(0) == 100 * 2 + (2 + 2) * 10
    assert clock.seconds(60) == 40 * 2 + (1 + 2) * 10
    assert clock.seconds(100) == 2 * 10
    clock.note_validation(4.0)
    assert clock.seconds(100) == 2 * 4
    clock.note_update(4.0)
    assert clock.seconds(99) == pytest.approx(2.1 + 3 * 4)


def test_what_was_not_measured_is_learned_from_the_first_update() -> None:
    clock = TimeLeft(TrainSection(steps=10, eval_every=10), 0.0, 0.0, closing=1)
    clock.note_update(3.0)
    assert clock.seconds(4) == pytest.approx(6 * 3)
