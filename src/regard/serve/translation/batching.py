"""Dynamic batching: sentences of requests that arrive together are translated together.

The sentences of a request are a job. Whenever a thread is free it takes a batch of the sentences
that wait, from each caller and each job in turn, so that neither a caller with many requests nor a
long text keeps others waiting. The caller who has had the least work comes first. The best
translation of a sentence does not depend on its batch. Scores do in their last bits, by rounding:
a job that returns them is `alone`, which means that it shares no batch with other jobs.
"""

import asyncio
import math
import threading
import time
from collections import Counter, deque
from collections.abc import Callable, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from functools import partial
from typing import Any, TypeAlias

from regard.decode.search import Search
from regard.engines import Abandoned
from regard.serve.http.limits import CALLER
from regard.serve.http.refusal import Refusal, take_time
from regard.serve.translation.pace import Pace
from regard.tasks.translation.marked import MarkedTranslation
from regard.tasks.translation.translator import Translator
from regard.text.marks import MarkedText

# The largest batch of a thread: a larger one gains little and makes everyone wait longer.
MAX_BATCH_SENTENCES = 64
MAX_BATCH_HYPOTHESES = 320

# A long request takes turns with the others, so it counts for this part of the queue at most.
JOB_SHARE = 1 / 8
# The requests of one caller fill this part of the queue at most; the rest is for others.
CALLER_SHARE = 1 / 2

# The batches of a job that shares none must not depend on how fast they are.
MAX_ALONE_SENTENCES = 8

# A sentence is never less work than one of so many characters.
LEAST_CHARACTERS = 20

Sentence: TypeAlias = str | MarkedText
Translate: TypeAlias = Callable[..., Sequence[Any]]  # what a translator does with sentences
Batch: TypeAlias = "list[tuple[Job, int]]"  # a job and the number of its sentence
Outcomes: TypeAlias = "dict[Job, Exception | None]"  # of finished jobs; None is success
Observe: TypeAlias = Callable[[int, float], None]  # sentences of a batch, seconds


@dataclass(eq=False)
class Job:
    """The sentences of one request, and what a translator does with them. The first `taken` are in
    a batch.
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
            and self.search == other.search
        )


class Batcher:
    """A bounded queue of sentences and the threads that empty it."""

    def __init__(
        self,
        threads: int,
        max_waiting: int,
        max_together: int = MAX_BATCH_SENTENCES,
        observe: Observe = lambda sentences, seconds: None,
    ) -> None:
        self._max_waiting = max_waiting
        self._max_together = max_together
        self._observe = observe
        self._jobs: deque[Job] = deque()
        self._changed = threading.Condition()
        self._stopped = False
        self.waiting = 0
        self._work_had: dict[str, float] = {}  # by each caller who waits or had more than others
        self._least_work = 0.0  # had by the caller whose turn it was last
        self._seconds_each = 0.01  # moving average of the time for a sentence
        self._pace = Pace()
        self._threads = [
            threading.Thread(target=self._work, name=f"translating-{i}", daemon=True)
            for i in range(threads)
        ]
        for thread in self._threads:
            thread.start()

    async def best(
        self, translator: Translator, sentences: Sequence[str], search: Search
    ) -> list[str]:
        """The best translation of each sentence."""
        return await self._submit(translator.texts, sentences, search)

    async def marked(
        self, translator: Translator, sentences: Sequence[MarkedText], search: Search
    ) -> list[MarkedTranslation]:
        """The best translation of each sentence with its marks."""
        return await self._submit(translator.marked, sentences, search)

    async def scored(
        self,
        translator: Translator,
        sentences: Sequence[MarkedText],
        search: Search,
        aligned: bool = False,
    ) -> list[list[MarkedTranslation]]:
        """The n_best translations of each sentence, with their marks and scores, and `aligned` with
        the attention behind them.
        """
        work = partial(translator.marked_translations, aligned=aligned)
        return await self._submit(work, sentences, search, alone=True)

    async def _submit(
        self,
        translate: Translate,
        sentences: Sequence[Sentence],
        search: Search,
        alone: bool = False,
    ) -> list[Any]:
        if not sentences:
            return []
        done: asyncio.Future[list[Any]] = asyncio.get_running_loop().create_future()
        job = Job(translate, search, sentences, alone, done, CALLER.get())
        if not self._admit(job):
            await take_time()
            raise Refusal(503, "the server is busy; try again", self._time_to_empty())
        try:
            return await done
        finally:
            if job.missing:
                self._abandon(job)

    def _admit(self, job: Job) -> bool:
        """Queue a job if the queue and its caller's share of it have room. An empty queue admits a
        job of any length. Equal parts add up to one more queue at most.
        """
        with self._changed:
            longest = max(1, int(JOB_SHARE * self._max_waiting))
            counts = [(each.caller, min(each.left, longest)) for each in (*self._jobs, job)]
            all_jobs = sum(count for _, count in counts)
            of_caller = sum(count for caller, count in counts if caller == job.caller)
            callers = {caller for caller, _ in counts}
            # A full queue still has room for who has less than an equal part of it.
            is_full = all_jobs > self._max_waiting and of_caller > self._max_waiting / len(callers)
            if self.waiting and (is_full or of_caller > CALLER_SHARE * self._max_waiting):
                return False
            # Who comes back has no advantage from the time without requests.
            had = self._work_had.get(job.caller, 0.0)
            self._work_had[job.caller] = max(had, self._least_work)
            self._jobs.append(job)
            self.waiting += job.left
            self._changed.notify()
            return True

    def _abandon(self, job: Job) -> None:
        """Drop a job that nobody waits for any more. Its queued sentences are never translated, and
        a running batch stops, if its engine can, when all its jobs are abandoned.
        """
        job.abandoned = True
        with self._changed:
            if job in self._jobs:
                self._jobs.remove(job)
                self.waiting -= job.left

    def stop(self) -> None:
        """End the threads when they have emptied the queue."""
        with self._changed:
            self._stopped = True
            self._changed.notify_all()
        for thread in self._threads:
            thread.join()

    def _time_to_empty(self) -> float:
        return max(1.0, self.waiting * self._seconds_each / len(self._threads))

    def _work(self) -> None:
        while batch := self._next_batch():
            start = time.perf_counter()
            finished = self._translate(batch)
            seconds = time.perf_counter() - start
            self._seconds_each += 0.1 * (seconds / len(batch) - self._seconds_each)
            self._pace.learn(sum(job.work_of(row) for job, row in batch), seconds)
            self._observe(len(batch), seconds)
            if finished:
                loop = next(iter(finished)).done.get_loop()
                with suppress(RuntimeError):  # the event loop has ended, and nobody waits any more
                    loop.call_soon_threadsafe(_deliver, finished)

    def _translate(self, batch: Batch) -> Outcomes:
        """Translate a batch and return the outcomes of the jobs that it finishes."""
        first = batch[0][0]
        sentences = [job.sentences[row] for job, row in batch]

        def abandoned() -> bool:
            return all(job.abandoned for job, _ in batch)

        try:
            found = first.translate(sentences, first.search, stopped=abandoned)
            return self._store(batch, found)
        except Abandoned:
            return {}
        except Exception as error:
            jobs = {job: None for job, _ in batch}
            if len(jobs) == 1:
                return {first: error}
            ended: Outcomes = {}
            for job in jobs:  # each job again by itself, so that only the faulty one fails
                ended |= self._translate([each for each in batch if each[0] is job])
            return ended

    def _next_batch(self) -> Batch:
        """Wait for sentences and take the next batch, one sentence of each job in turn. An empty
        batch means that the batcher was stopped.
        """
        with self._changed:
            while not self._jobs:
                if self._stopped:
                    return []
                self._changed.wait()
            first = min(self._jobs, key=lambda job: self._work_had[job.caller])
            self._least_work = least = self._work_had[first.caller]
            room = min(self._max_together, max(1, MAX_BATCH_HYPOTHESES // first.search.beam_size))
            if first.alone:
                room = min(room, MAX_ALONE_SENTENCES)
            else:
                room = min(room, math.ceil(self.waiting / len(self._threads)))
            # Sentences about as long as the one that has waited longest finish at the same time.
            candidates = in_turn(
                sorted(
                    (job for job in self._jobs if job.can_share_batch(first)),
                    key=lambda job: (job is not first, abs(job.next_length - first.next_length)),
                )
            )
            batch = self._filled(candidates, room)
            served = {job for job, _ in batch}
            others = [job for job in self._jobs if job not in served]
            continued = [job for job in self._jobs if job in served and job.left]
            self._jobs = deque([*others, *continued])
            self.waiting -= len(batch)
            waiting = {job.caller for job in self._jobs}
            self._work_had = {
                name: had for name, had in self._work_had.items() if name in waiting or had > least
            }
            return batch

    def _filled(self, candidates: Sequence[Job], room: int) -> Batch:
        """A batch of these jobs, one sentence of each in turn, until it is full or its slice of
        time is.
        """
        batch: Batch = []
        work = 0.0
        while candidates:
            for job in candidates:
                work += job.next_work
                fits = job.alone or self._pace.fits(len(batch) + 1, work)
                if len(batch) == room or not fits:
                    return batch
                self._work_had[job.caller] += job.next_work
                batch.append((job, job.taken))
                job.taken += 1
            candidates = [job for job in candidates if job.left]
        return batch

    def _store(self, batch: Batch, found: Sequence[Any]) -> Outcomes:
        """Store the results of a batch and return the jobs that are now complete."""
        finished: Outcomes = {}
        with self._changed:
            for (job, row), result in zip(batch, found, strict=True):
                job.results[row] = result
                job.missing -= 1
                if not job.missing:
                    finished[job] = None
        return finished


def in_turn(jobs: Sequence[Job]) -> list[Job]:
    """The first job of each caller, then the second of each, and so on."""
    seen: Counter[str] = Counter()
    turns = []
    for place, job in enumerate(jobs):
        turns.append((seen[job.caller], place, job))
        seen[job.caller] += 1
    return [job for _, _, job in sorted(turns, key=lambda turn: turn[:2])]


def _deliver(finished: Outcomes) -> None:
    for job, error in finished.items():
        if job.done.done():
            continue
        if error is None:
            job.done.set_result(job.results)
        else:
            job.done.set_exception(error)
