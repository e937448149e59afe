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
from collections.abc import Callable, Sequence
from contextlib import suppress
from functools import partial
from typing import Any, TypeAlias

from regard.decode.search import Search
from regard.engines import Abandoned
from regard.serve.http.limits import CALLER
from regard.serve.http.refusal import Refusal, take_time
from regard.serve.translation.pace import Pace
from regard.serve.translation.waiting import Batch, Job, Sentence, Translate, Waiting
from regard.tasks.translation.marked import MarkedTranslation
from regard.tasks.translation.translator import Translator
from regard.text.marks import MarkedText

# The batches of a job that shares none must not depend on how fast they are.
MAX_ALONE_SENTENCES = 8

# The largest batch of a thread: a larger one gains little and makes everyone wait longer.
MAX_BATCH_SENTENCES = 64
MAX_BATCH_HYPOTHESES = 320

Outcomes: TypeAlias = "dict[Job, Exception | None]"  # of finished jobs; None is success
Observe: TypeAlias = Callable[[int, float], None]  # sentences of a batch, seconds


class Batcher:
    """A bounded queue of sentences and the threads that empty it."""

    def __init__(
        self,
        threads: int,
        max_waiting: int,
        max_together: int = MAX_BATCH_SENTENCES,
        observe: Observe = lambda sentences, seconds: None,
    ) -> None:
        self._max_together = max_together
        self._observe = observe
        self._jobs = Waiting(max_waiting)
        self._changed = threading.Condition()
        self._stopped = False
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
        with self._changed:
            is_admitted = self._jobs.add(job)
            self._changed.notify()
        if not is_admitted:
            await take_time()
            raise Refusal(503, "the server is busy; try again", self._time_to_empty())
        try:
            return await done
        finally:
            if job.missing:
                self._abandon(job)

    def _abandon(self, job: Job) -> None:
        """Drop a job that nobody waits for any more. Its queued sentences are never translated, and
        a running batch stops, if its engine can, when all its jobs are abandoned.
        """
        with self._changed:
            self._jobs.remove(job)

    @property
    def waiting(self) -> int:
        """The sentences that wait."""
        return self._jobs.sentences

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
            first = self._jobs.first()
            room = min(self._max_together, max(1, MAX_BATCH_HYPOTHESES // first.search.beam_size))
            if first.alone:
                room = min(room, MAX_ALONE_SENTENCES)
            else:
                room = min(room, math.ceil(self.waiting / len(self._threads)))
            return self._jobs.take(first, room, self._pace.fits)

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
