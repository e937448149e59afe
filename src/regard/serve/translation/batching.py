"""Sentences of requests that arrive together are translated together.

A request is a job of sentences. Whenever one of the translating threads is free it takes the
sentences that wait, from each job in turn, so that a long text does not keep a short one waiting.
What came together in a batch shows in no answer: searches follow the same rules in any company.
Where an answer has numbers in it, which rounding would change in other company, a job is `alone`.
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
from regard.tasks.translation.translator import Translation, Translator

# What one thread translates together: more gains little and makes everyone wait longer.
MOST_SENTENCES = 64
MOST_HYPOTHESES = 320
# Seconds until someone is told that the server is busy, unlike ones, so that not all ask again at
# once: hundreds who are refused as fast as they ask would leave no time for others or for /health.
BEFORE_REFUSING = (0.5, 1.5)

Result: TypeAlias = list[Translation]
Ended: TypeAlias = "dict[Job, Exception | None]"  # what went wrong, if anything did
Observe: TypeAlias = Callable[[int, float], None]  # sentences of a batch, seconds


@dataclass(eq=False)
class Job:
    """The sentences of one request for one translator, the next of them not yet taken."""

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

    def fits(self, other: "Job") -> bool:
        """Whether both can be in a batch."""
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
        most_waiting: int,
        most_together: int = MOST_SENTENCES,
        observe: Observe = lambda sentences, seconds: None,
    ) -> None:
        self._most_waiting = most_waiting
        self._most_together = most_together
        self._observe = observe
        self._jobs: deque[Job] = deque()
        self._changed = threading.Condition()
        self._stopped = False
        self.waiting = 0
        self._seconds_each = 0.01  # of late, for a sentence
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
    ) -> list[Result]:
        """The n_best translations of each sentence with all that is known of them."""
        return await self._submit(translator, sentences, search, alone=True)

    async def _submit(
        self, translator: Translator, sentences: Sequence[str], search: Search, alone: bool
    ) -> list[Any]:
        if not sentences:
            return []
        done: asyncio.Future[list[Any]] = asyncio.get_running_loop().create_future()
        job = Job(translator, search, sentences, alone, done)
        if not self._admit(job):
            await asyncio.sleep(random.uniform(*BEFORE_REFUSING))
            raise Refusal(503, "the server is busy; try again", self._time_to_empty())
        try:
            return await done
        finally:
            if job.missing:
                self._abandon(job)

    def _admit(self, job: Job) -> bool:
        """Into the queue, if there is room. One that is longer than it passes when nobody waits."""
        with self._changed:
            if self.waiting and self.waiting + job.left > self._most_waiting:
                return False
            self._jobs.append(job)
            self.waiting += job.left
            self._changed.notify()
            return True

    def _abandon(self, job: Job) -> None:
        """Nobody waits for the job any more: what is not yet begun is never begun, and a batch of
        which nobody waits for any part is given up, if its engine can.
        """
        job.abandoned = True
        with self._changed:
            if job in self._jobs:
                self._jobs.remove(job)
                self.waiting -= job.left

    def stop(self) -> None:
        """End the threads when they have finished what they are at."""
        with self._changed:
            self._stopped = True
            self._changed.notify_all()
        for thread in self._threads:
            thread.join()

    def _time_to_empty(self) -> float:
        return max(1.0, self.waiting * self._seconds_each / len(self._threads))

    def _work(self) -> None:
        while batch := self._take():
            start = time.perf_counter()
            finished = self._translate(batch)
            seconds = time.perf_counter() - start
            self._seconds_each += 0.1 * (seconds / len(batch) - self._seconds_each)
            self._observe(len(batch), seconds)
            if finished:
                loop = next(iter(finished)).done.get_loop()
                with suppress(RuntimeError):  # the loop has ended, and with it all who waited
                    loop.call_soon_threadsafe(_deliver, finished)

    def _translate(self, batch: list[tuple[Job, int]]) -> "Ended":
        """The jobs that end with this batch."""
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
            return self._file(batch, found)
        except Abandoned:
            return {}
        except Exception as error:
            jobs = {job: None for job, _ in batch}
            if len(jobs) == 1:
                return {first: error}
            ended: Ended = {}
            for job in jobs:  # each for itself, so that only those fail that fail alone
                ended |= self._translate([each for each in batch if each[0] is job])
            return ended

    def _take(self) -> list[tuple[Job, int]]:
        """The sentences of the next batch, one of each fitting job in turn; none at the end."""
        with self._changed:
            while not self._jobs:
                if self._stopped:
                    return []
                self._changed.wait()
            first = self._jobs[0]
            room = min(self._most_together, max(1, MOST_HYPOTHESES // first.search.beam_size))
            if not first.alone:  # which is cut the same way whoever else waits
                room = min(room, math.ceil(self.waiting / len(self._threads)))
            # Sentences of a length with the one that has waited longest: they end together.
            asking = sorted(
                (job for job in self._jobs if job.fits(first)),
                key=lambda job: abs(job.next_length - first.next_length),
            )
            batch: list[tuple[Job, int]] = []
            while asking and len(batch) < room:
                asking = asking[: room - len(batch)]
                for job in asking:
                    batch.append((job, job.taken))
                    job.taken += 1
                asking = [job for job in asking if job.left]
            served = {job for job, _ in batch}
            others = [job for job in self._jobs if job not in served]
            again = [job for job in self._jobs if job in served and job.left]
            self._jobs = deque([*others, *again])
            self.waiting -= len(batch)
            return batch

    def _file(self, batch: list[tuple[Job, int]], found: Sequence[Any]) -> "Ended":
        """Put results in their places; the jobs that are complete."""
        finished: Ended = {}
        with self._changed:
            for (job, row), result in zip(batch, found, strict=True):
                job.results[row] = result
                job.missing -= 1
                if not job.missing:
                    finished[job] = None
        return finished


def _deliver(finished: "Ended") -> None:
    for job, error in finished.items():
        if job.done.done():
            continue
        if error is None:
            job.done.set_result(job.results)
        else:
            job.done.set_exception(error)
