"""How much one request, one caller and all of them together may ask for."""

import time
from collections import OrderedDict
from collections.abc import Callable
from dataclasses import dataclass
from ipaddress import IPv6Address, ip_address

from regard.serve.http.refusal import Refusal


@dataclass(frozen=True)
class Limits:
    """Everything is limited unless told otherwise, and checked before memory is taken for it."""

    characters: int = 20_000  # of all texts of a request
    texts: int = 256  # of a request
    alternatives: int = 10
    body_bytes: int = 4 << 20
    header_bytes: int = 32 << 10
    header_count: int = 100
    header_seconds: float = 10.0  # to send the head of a request
    body_seconds: float = 30.0  # to send the rest of it
    request_seconds: float = 60.0  # to be answered
    texts_per_minute: int = 6000  # of one key or address
    queued_sentences: int = 4096  # waiting, of all requests
    connections: int = 1000
    drain_seconds: int = 30  # to finish what was begun when the server stops
    completion_tokens: int = 2048  # of each of them
    completions: int = 8  # of a request
    suggestion_bytes: int = 64 << 20
    file_bytes: int = 64 << 20  # translated files kept for download, of everyone


class Rates:
    """Texts a minute for each caller: an allowance that fills up evenly, used up text by text."""

    MOST_CALLERS = 10_000

    def __init__(self, per_minute: int, clock: Callable[[], float] = time.monotonic) -> None:
        self._per_minute = per_minute
        self._clock = clock
        self._left: OrderedDict[str, tuple[float, float]] = OrderedDict()  # allowance, when

    def spend(self, caller: str, count: int) -> None:
        """Take `count` from the caller's allowance, or refuse and say when to come again."""
        now = self._clock()
        full = float(self._per_minute)
        left, then = self._left.pop(caller, (full, now))
        left = min(full, left + (now - then) * full / 60)
        # A batch as large as a whole minute's allowance passes when the allowance is full.
        enough = min(float(count), full)
        allowed = left >= enough
        self._left[caller] = (left - enough if allowed else left, now)
        if len(self._left) > self.MOST_CALLERS:
            self._left.popitem(last=False)
        if not allowed:
            wait = (enough - left) * 60 / full
            raise Refusal(429, f"Slowdown: {self._per_minute} per 1 minute", wait)


def network(address: str) -> str:
    """The address a caller is counted under: with IPv6 one customer has a whole /64."""
    try:
        parsed = ip_address(address)
    except ValueError:
        return address
    if isinstance(parsed, IPv6Address):
        mapped = parsed.ipv4_mapped
        return str(mapped) if mapped else f"{IPv6Address(int(parsed) >> 64 << 64)}/64"
    return address
