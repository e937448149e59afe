"""Metrics of the process that has the models, in the format of Prometheus."""

from collections.abc import Callable

from prometheus_client import CollectorRegistry, Gauge, Histogram, ProcessCollector
from prometheus_client.exposition import generate_latest

from regard.serve.http.metrics import SECOND_BUCKETS

SENTENCE_BUCKETS = (1, 2, 4, 8, 16, 32, 64, 128)


class BatchMetrics:
    def __init__(self) -> None:
        registry = self._registry = CollectorRegistry()
        # regard_worker_process_resident_memory_bytes and its like
        ProcessCollector(namespace="regard_worker", registry=registry)
        self.batch_sentences = Histogram(
            "regard_batch_sentences",
            "Sentences translated together",
            buckets=SENTENCE_BUCKETS,
            registry=registry,
        )
        self.batch_seconds = Histogram(
            "regard_batch_seconds", "Time for a batch", buckets=SECOND_BUCKETS, registry=registry
        )
        self._waiting = Gauge(
            "regard_waiting_sentences", "Sentences that wait for a batch", registry=registry
        )

    def watch_queue(self, waiting: Callable[[], int]) -> None:
        self._waiting.set_function(waiting)

    def record_batch(self, sentences: int, seconds: float) -> None:
        self.batch_sentences.observe(sentences)
        self.batch_seconds.observe(seconds)

    def text(self) -> bytes:
        return generate_latest(self._registry)
