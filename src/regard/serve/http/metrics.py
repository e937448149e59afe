"""Metrics of the server, in the format of Prometheus."""

from prometheus_client import CollectorRegistry, Counter, Gauge, Histogram, ProcessCollector
from prometheus_client.exposition import CONTENT_TYPE_PLAIN_0_0_4, generate_latest

SECOND_BUCKETS = (0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30, 60)


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
        self.worker_ends = Counter(
            "regard_worker_ends", "Times that the worker ended by itself", registry=registry
        )
        self.in_flight = Gauge(
            "regard_requests_in_flight", "Requests being answered", registry=registry
        )

    def total_characters(self) -> int:
        return int(next(iter(self.characters.collect())).samples[0].value)

    def text(self) -> bytes:
        return generate_latest(self._registry)
