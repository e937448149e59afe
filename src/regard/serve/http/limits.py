"""How much one request, one caller and all callers together may ask for."""

import time
from collections import OrderedDict
from collections.abc import Callable
from dataclasses import dataclass
from ipaddress import IPv6Address, ip_address

from regard.serve.http.refusal import Refusal


@dataclass(frozen=True)
class Limits:
    """The limits and their defaults. Each is checked before memory is allocated."""

    characters: int = 20_000  # of all texts of a request together
    texts: int = 256  # in a request
    alternatives: int = 10  # of a text
    body_bytes: int = 4 << 20
    header_bytes: int = 32 << 10
    header_count: int = 100
    header_seconds: float = 10.0  # for a client to send the head of a request
    body_seconds: float = 30.0  # for a client to send the body
    request_seconds: float = 60.0  # for the server to answer
    texts_per_minute: int = 6000  # from one key or address
    queued_sentences: int = 4096  # in all requests that wait
    connections: int = 1000
    drain_seconds: int = 30  # to finish running requests when the server stops
    completion_tokens: int = 2048  # in each completion
    completions: int = 8  # in a request
    suggestion_bytes: int = 64 << 20  # for each language pair
    file_bytes: int = 64 << 20  # of all translated files that wait for download


class RateLimiter:
    """Limits the texts a minute of each caller: a token bucket that refills evenly."""

    MAX_CALLERS = 10_000

    def __init__(self, per_minute: int, clock: Callable[[], float] = time.monotonic) -> None:
        self._per_minute = per_minute
        self._clock = clock
        self._left: OrderedDict[str, tuple[float, float]] = OrderedDict()  # tokens, at this time

    def spend(self, caller: str, count: int) -> None:
        """Take `count` tokens from the caller's bucket, or refuse and say when to retry."""
        now = self._clock()
        full = float(self._per_minute)
        left, then = self._left.pop(caller, (full, now))
        left = min(full, left + (now - then) * full / 60)
        # A request for more than a full bucket passes when the bucket is full.
        enough = min(float(count), full)
        allowed = left >= enough
        self._left[caller] = (left - enough if allowed else left, now)
        if len(self._left) > self.MAX_CALLERS:
            self._left.popitem(last=False)
        if not allowed:
            wait = (enough - left) * 60 / full
            raise Refusal(429, f"Slowdown: {self._per_minute} per 1 minute", wait)


def caller_address(address: str) -> str:
    """The address to count a caller under. With IPv6 it is a /64, which one customer has whole."""
    try:
        parsed = ip_address(address)
    except ValueError:
        return address
    if isinstance(parsed, IPv6Address):
        mapped = parsed.ipv4_mapped
        return str(mapped) if mapped else f"{IPv6Address(int(parsed) >> 64 << 64)}/64"
    return address
