"""Whose turn it is, and what that costs however many wait."""

import asyncio
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from regard.decode.search import Search
from regard.serve.translation.waiting import CALLER_SHARE, JOB_SHARE, NEAREST_OF, Job, Waiting

SEARCH = Search(beam_size=2)
MOST = 16


def job(caller: str, *lengths: int, alone: bool = False) -> Job:
    done: Any = asyncio.Future(loop=asyncio.new_event_loop())
    done.get_loop().close()
    return Job(len, SEARCH, ["x" * length for length in lengths], alone, done, caller)  # type: ignore[arg-type]


def any_number(count: int, work: float) -> bool:
    return True


Acts = st.lists(
    st.one_of(
        st.tuples(st.sampled_from("abc"), st.integers(1, 5)),  # who asks, and for how many
        st.tuples(st.just("take"), st.integers(1, 6)),
        st.tuples(st.just("remove"), st.integers(0, 9)),
    ),
    max_size=40,
)


@given(Acts)
def test_what_waits_is_counted_as_if_it_were_counted_anew(acts: list[tuple[str, int]]) -> None:
    waiting, jobs = Waiting(MOST), list[Job]()
    longest = int(JOB_SHARE * MOST)
    for what, count in acts:
        if what == "take":
            if waiting:
                batch = waiting.take(waiting.first(), count, any_number)
                assert 1 <= len(batch) <= count
        elif what == "remove":
            if jobs:
                gone = jobs.pop(count % len(jobs))
                waiting.remove(gone)
        else:
            new = job(what, *[3] * count)
            counts = [(each.caller, min(each.left, longest)) for each in (*jobs, new)]
            of_caller = sum(each for caller, each in counts if caller == what)
            callers = {caller for caller, _ in counts}
            fits = sum(each for _, each in counts) <= MOST or of_caller <= MOST / len(callers)
            expected = not jobs or (fits and of_caller <= CALLER_SHARE * MOST)
            assert waiting.add(new) == expected
            if expected:
                jobs.append(new)
        jobs = [each for each in jobs if each.left]
        assert waiting.sentences == sum(each.left for each in jobs)
        assert bool(waiting) == bool(jobs)


def test_a_batch_looks_at_few_of_many(monkeypatch: pytest.MonkeyPatch) -> None:
    """However many requests somebody sends, choosing a batch is no more work."""
    looked, can_share = [], Job.can_share_batch

    def counted(one: Job, other: Job) -> bool:
        looked.append(one)
        return can_share(one, other)

    monkeypatch.setattr(Job, "can_share_batch", counted)
    waiting = Waiting(8000)
    for number in range(3000):
        assert waiting.add(job("many", 1 + number % 30))
    assert waiting.add(job("one", 5))
    batch = waiting.take(waiting.first(), 20, any_number)
    assert len(batch) > 15
    assert {each.caller for each, _ in batch} == {"many", "one"}
    assert len(looked) <= 2 * (NEAREST_OF + 20)


def test_who_comes_with_little_is_next() -> None:
    waiting = Waiting(1000)
    for _ in range(30):
        waiting.add(job("many", 30))
    for _ in range(3):
        waiting.take(waiting.first(), 4, any_number)
    waiting.add(job("few", 50))
    assert waiting.first().caller == "few"


def test_a_job_alone_shares_nothing() -> None:
    waiting = Waiting(1000)
    waiting.add(job("a", 1, 2, 3, alone=True))
    waiting.add(job("b", 1))
    batch = waiting.take(waiting.first(), 2, lambda count, work: False)
    assert [(each.caller, row) for each, row in batch] == [("a", 0), ("a", 1)]
    assert waiting.sentences == 2


def test_a_sentence_that_fits_nowhere_is_a_batch() -> None:
    waiting = Waiting(1000)
    waiting.add(job("a", 4000, 4000))
    waiting.add(job("b", 1))
    batch = waiting.take(waiting.first(), 8, lambda count, work: False)
    assert [(each.caller, row) for each, row in batch] == [("a", 0)]
