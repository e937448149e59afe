"""The sentences that wait: those of each caller, and whose turn it is.

The sentences of a request are a job. The caller who has had the least work comes first, and its
oldest job. Beside that come a sentence of each other caller, of jobs about as long, then another,
so that neither a caller with many requests nor a long text keeps others waiting. What is done for
a request does not depend on how many others wait, but on how many callers.
"""

import asyncio
from collections import deque
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from itertools import islice
from typing import Any, TypeAlias

from regard.decode.search import Search
from regard.text.marks import MarkedText

# A long request takes turns with the others, so it counts for this part of the queue at most.
JOB_SHARE = 1 / 8
# The requests of one caller fill this part of the queue at most; the rest is for others.
CALLER_SHARE = 1 / 2

# A sentence is never less work than one of so many characters.
LEAST_CHARACTERS = 20

# So many jobs of each caller are looked at for some about as long as the first.
NEAREST_OF = 8

Sentence: TypeAlias = str | MarkedText
Translate: TypeAlias = Callable[..., Sequence[Any]]  # what a translator does with sentences
Fits: TypeAlias = Callable[[int, float], bool]  # sentences and their work
Batch: TypeAlias = "list[tuple[Job, int]]"  # a job and the number of its sentence


@dataclass(eq=False)
class Job:
    """The sentences of one request, and what a translator does with them. The first `taken` are in
    a batch. One that is `alone` shares no batch with other jobs.
    """

    translate: Translate
    search: Search
    sentences: Sequence[Sentence]
    alone: bool
    done: asyncio.Future[list[Any]]
    caller: str = ""
    lengths: list[int] = field(default_factory=list)
    results: list[Any] = field(default_factory=list)
    taken: int = 0
    missing: int = 0
    abandoned: bool = False

    def __post_init__(self) -> None:
        self.lengths = [len(str(sentence)) for sentence in self.sentences]
        self.results = [None] * len(self.sentences)
        self.missing = len(self.sentences)

    @property
    def left(self) -> int:
        return len(self.sentences) - self.taken

    @property
    def next_length(self) -> int:
        return self.lengths[self.taken]

    @property
    def next_work(self) -> float:
        return self.work_of(self.taken)

    def work_of(self, row: int) -> float:
        """About how much work a sentence is."""
        return (LEAST_CHARACTERS + self.lengths[row]) * self.search.beam_size

    def can_share_batch(self, other: "Job") -> bool:
        return self is other or (
            not self.alone
            and not other.alone
            and self.translate == other.translate
            and (self.search is other.search or self.search == other.search)
        )


class Waiting:
    """The jobs of all callers. Who uses it holds a lock."""

    def __init__(self, most: int) -> None:
        self._most = most
        self._longest = max(1, int(JOB_SHARE * most))
        self._jobs_of: dict[str, dict[Job, None]] = {}
        self._counted: dict[str, int] = {}  # sentences of each caller, as they count for the queue
        self._all_counted = 0
        self._work_had: dict[str, float] = {}  # by each caller who waits or had more than others
        self._least_work = 0.0  # had by the caller whose turn it was last
        self.sentences = 0

    def __bool__(self) -> bool:
        return bool(self._jobs_of)

    def add(self, job: Job) -> bool:
        """Queue a job if the queue and its caller's share of it have room. An empty queue admits a
        job of any length. Equal parts add up to one more queue at most.
        """
        count = self._counts(job.left)
        of_caller = self._counted.get(job.caller, 0) + count
        callers = len(self._jobs_of) + (job.caller not in self._jobs_of)
        # A full queue still has room for who has less than an equal part of it.
        is_full = self._all_counted + count > self._most and of_caller > self._most / callers
        if self.sentences and (is_full or of_caller > CALLER_SHARE * self._most):
            return False
        # Who comes back has no advantage from the time without requests.
        had = self._work_had.get(job.caller, 0.0)
        self._work_had[job.caller] = max(had, self._least_work)
        self._jobs_of.setdefault(job.caller, {})[job] = None
        self._count(job, job.left, count)
        return True

    def remove(self, job: Job) -> None:
        """Drop a job that nobody waits for any more, if it is still here."""
        job.abandoned = True
        if job in self._jobs_of.get(job.caller, ()):
            self._count(job, -job.left, -self._counts(job.left))
            self._drop(job)

    def _counts(self, sentences: int) -> int:
        return min(sentences, self._longest)

    def _count(self, job: Job, sentences: int, counted: int) -> None:
        self.sentences += sentences
        self._all_counted += counted
        self._counted[job.caller] = self._counted.get(job.caller, 0) + counted

    def _drop(self, job: Job) -> None:
        """Drop a job, or put it after the others of its caller if it has sentences left."""
        jobs = self._jobs_of[job.caller]
        del jobs[job]
        if job.left and not job.abandoned:
            jobs[job] = None
        if not jobs:
            del self._jobs_of[job.caller], self._counted[job.caller]

    def first(self) -> Job:
        """The oldest job of the caller who has had the least work."""
        caller = min(self._jobs_of, key=self._work_had.__getitem__)
        self._least_work = self._work_had[caller]
        return next(iter(self._jobs_of[caller]))

    def take(self, first: Job, room: int, fits: Fits) -> Batch:
        """A batch with the first job: as many sentences as there is room for, and as `fits`. The
        first is always in it, however long it is.
        """
        batch: Batch = []
        served: dict[Job, int] = {}
        work = 0.0
        for job in self._beside(first, room):
            work += job.next_work
            is_over = len(batch) == room or not (job.alone or fits(len(batch) + 1, work))
            if batch and is_over:
                break
            served.setdefault(job, job.left)
            self._work_had[job.caller] += job.next_work
            batch.append((job, job.taken))
            job.taken += 1
        for job, before in served.items():
            self._count(job, job.left - before, self._counts(job.left) - self._counts(before))
            self._drop(job)
        self._work_had = {
            name: had
            for name, had in self._work_had.items()
            if name in self._jobs_of or had > self._least_work
        }
        return batch

    def _beside(self, first: Job, room: int) -> Iterator[Job]:
        """The first job and others that can share a batch with it, one of each caller in turn: the
        next sentence of each is for the batch.
        """

        def distance(job: Job) -> int:
            return -1 if job is first else abs(job.next_length - first.next_length)

        seen = NEAREST_OF + room // len(self._jobs_of)
        turns = []
        for jobs in self._jobs_of.values():
            some = islice((job for job in jobs if job.can_share_batch(first)), seen)
            if near := sorted(some, key=distance):
                turns.append(deque(near))
        turns.sort(key=lambda near: distance(near[0]))
        while turns:
            for turn in turns:
                job = turn.popleft()
                yield job
                if job.left:
                    turn.append(job)
            turns = [turn for turn in turns if turn]
