"""Batches are as long as a slice of time, on any machine."""

import pytest

from regard.serve.translation.pace import LEAST_TOGETHER, SLICE_SECONDS, Pace


@pytest.mark.parametrize("seconds_of_work", [1e-7, 1e-5, 1e-3])
def test_a_batch_takes_about_a_slice(seconds_of_work: float) -> None:
    pace, work = Pace(), 300.0

    def fitting() -> int:
        count = 1
        while pace.fits(count + 1, (count + 1) * work) and count < 10_000:
            count += 1
        return count

    for _ in range(60):
        count = fitting()
        pace.learn(count * work, count * work * seconds_of_work)
    least = LEAST_TOGETHER * work * seconds_of_work
    assert fitting() * work * seconds_of_work == pytest.approx(max(least, SLICE_SECONDS), rel=0.1)


def test_one_batch_that_was_held_up_changes_little() -> None:
    pace = Pace()
    for _ in range(60):
        pace.learn(1000, 0.01)
    pace.learn(1000, 60)
    assert pace.fits(50, 1400)
    assert not pace.fits(50, 2100)


def test_a_long_sentence_has_no_company() -> None:
    """Who is in a batch with it would wait for it, and who waits for the batch for all of them."""
    pace = Pace()
    for _ in range(60):
        pace.learn(1000, 0.01)
    assert pace.fits(2, 2000)
    assert not pace.fits(2, 20_000)
