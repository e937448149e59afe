"""Metrics of the server, in the format of Prometheus."""

from collections.abc import Callable

from prometheus_client import CollectorRegistry, Counter, Gauge, Histogram, ProcessCollector
from prometheus_client.exposition import CONTENT_TYPE_PLAIN_0_0_4, generate_latest

SECOND_BUCKETS = (0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30, 60)
SENTENCE_BUCKETS = (1, 2, 4, 8, 16, 32, 64, 128)


class Metrics:
    content_type = CONTENT_TYPE_PLAIN_0_0_4

    def __init__(self) -> None:
        registry = self._registry = CollectorRegistry()
        ProcessCollector(registry=registry)
        self.requests = Counter(
            "regard_requests", "Requests answered", ["route", "status"], registry=registry
        )
        self.seconds = Histogram(
            "regard_request_seconds",
            "From the head of a request to the end of its answer",
            ["route"],
            buckets=SECOND_BUCKETS,
            registry=registry,
        )
        self.characters = Counter(
            "regard_characters", "Characters received for translation", registry=registry
        )
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
        self.in_flight = Gauge(
            "regard_requests_in_flight", "Requests being answered", registry=registry
        )

    def watch_queue(self, waiting: Callable[[], int]) -> None:
        self._waiting.set_function(waiting)

    def record_batch(self, sentences: int, seconds: float) -> None:
        self.batch_sentences.observe(sentences)
        self.batch_seconds.observe(seconds)

    def total_characters(self) -> int:
        return int(next(iter(self.characters.collect())).samples[0].value)

    def text(self) -> bytes:
        return generate_latest(self._registry)
