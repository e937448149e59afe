"""Dynamic batching: sentences of requests that arrive together are translated together.

The sentences of a request are a job. Whenever a thread is free it takes a batch of the sentences
that wait, from each job in turn, so that a long text does not keep a short one waiting. The best
translation of a sentence does not depend on its batch. Scores do in their last bits, by rounding:
a job that returns them is `alone`, which means that it shares no batch with other jobs.
"""

import asyncio
import math
import random
import threading
import time
from collections import deque
from collections.abc import Callable, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from typing import Any, TypeAlias

from regard.decode.search import Search
from regard.engines import Abandoned
from regard.serve.http.refusal import Refusal
from regard.tasks.translation.translation import Translation
from regard.tasks.translation.translator import Translator

# The largest batch of a thread: a larger one gains little and makes everyone wait longer.
MAX_BATCH_SENTENCES = 64
MAX_BATCH_HYPOTHESES = 320
# A request that finds the queue full is refused after a random time between these: hundreds of
# clients that are refused at once, and at once ask again, would leave no time for other requests.
REFUSAL_DELAY_SECONDS = (0.5, 1.5)

Batch: TypeAlias = "list[tuple[Job, int]]"  # a job and the number of its sentence
Outcomes: TypeAlias = "dict[Job, Exception | None]"  # of finished jobs; None is success
Observe: TypeAlias = Callable[[int, float], None]  # sentences of a batch, seconds


@dataclass(eq=False)
class Job:
    """The sentences of one request for one translator. The first `taken` are in a batch."""

    translator: Translator
    search: Search
    sentences: Sequence[str]
    alone: bool
    done: asyncio.Future[list[Any]]
    results: list[Any] = field(default_factory=list)
    taken: int = 0
    missing: int = 0
    abandoned: bool = False

    def __post_init__(self) -> None:
        self.results = [None] * len(self.sentences)
        self.missing = len(self.sentences)

    @property
    def left(self) -> int:
        return len(self.sentences) - self.taken

    @property
    def next_length(self) -> int:
        return len(self.sentences[self.taken])

    def can_share_batch(self, other: "Job") -> bool:
        return self is other or (
            not self.alone
            and not other.alone
            and self.translator is other.translator
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
        self._seconds_each = 0.01  # moving average of the time for a sentence
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
        return await self._submit(translator, sentences, search, alone=False)

    async def scored(
        self, translator: Translator, sentences: Sequence[str], search: Search
    ) -> list[list[Translation]]:
        """The n_best translations of each sentence, with their scores."""
        return await self._submit(translator, sentences, search, alone=True)

    async def _submit(
        self, translator: Translator, sentences: Sequence[str], search: Search, alone: bool
    ) -> list[Any]:
        if not sentences:
            return []
        done: asyncio.Future[list[Any]] = asyncio.get_running_loop().create_future()
        job = Job(translator, search, sentences, alone, done)
        if not self._admit(job):
            await asyncio.sleep(random.uniform(*REFUSAL_DELAY_SECONDS))
            raise Refusal(503, "the server is busy; try again", self._time_to_empty())
        try:
            return await done
        finally:
            if job.missing:
                self._abandon(job)

    def _admit(self, job: Job) -> bool:
        """Queue a job if there is room. An empty queue admits a job of any length."""
        with self._changed:
            if self.waiting and self.waiting + job.left > self._max_waiting:
                return False
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
            self._observe(len(batch), seconds)
            if finished:
                loop = next(iter(finished)).done.get_loop()
                with suppress(RuntimeError):  # the event loop has ended, and nobody waits any more
                    loop.call_soon_threadsafe(_deliver, finished)

    def _translate(self, batch: Batch) -> Outcomes:
        """Translate a batch and return the outcomes of the jobs that it finishes."""
        first = batch[0][0]
        texts = [job.sentences[row] for job, row in batch]
        translator, search = first.translator, first.search

        def abandoned() -> bool:
            return all(job.abandoned for job, _ in batch)

        try:
            if first.alone:
                found: Sequence[Any] = translator.translations(texts, search, stopped=abandoned)
            else:
                found = translator.texts(texts, search, stopped=abandoned)
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
            first = self._jobs[0]
            room = min(self._max_together, max(1, MAX_BATCH_HYPOTHESES // first.search.beam_size))
            if not first.alone:  # batches of a job that is alone do not depend on others
                room = min(room, math.ceil(self.waiting / len(self._threads)))
            # Sentences about as long as the one that has waited longest finish at the same time.
            candidates = sorted(
                (job for job in self._jobs if job.can_share_batch(first)),
                key=lambda job: abs(job.next_length - first.next_length),
            )
            batch: Batch = []
            while candidates and len(batch) < room:
                candidates = candidates[: room - len(batch)]
                for job in candidates:
                    batch.append((job, job.taken))
                    job.taken += 1
                candidates = [job for job in candidates if job.left]
            served = {job for job, _ in batch}
            others = [job for job in self._jobs if job not in served]
            continued = [job for job in self._jobs if job in served and job.left]
            self._jobs = deque([*others, *continued])
            self.waiting -= len(batch)
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


def _deliver(finished: Outcomes) -> None:
    for job, error in finished.items():
        if job.done.done():
            continue
        if error is None:
            job.done.set_result(job.results)
        else:
            job.done.set_exception(error)
