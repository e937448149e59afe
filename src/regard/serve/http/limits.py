"""How much one request, one caller and all callers together may ask for."""

import math
import time
from collections import OrderedDict
from collections.abc import Callable
from contextvars import ContextVar
from dataclasses import dataclass
from ipaddress import IPv6Address, ip_address
from typing import NoReturn

from regard.serve.http.refusal import Refusal

# Who sent the request that is being answered: the name of a key or an address.
CALLER: ContextVar[str] = ContextVar("caller", default="")


@dataclass(frozen=True)
class Limits:
    """The limits and their defaults. Each is checked before memory is allocated."""

    characters: int = 20_000  # of all texts of a request together
    texts: int = 256  # in a request
    alternatives: int = 10  # of a text, or of the caption of an image
    images: int = 16  # in a request
    pixels: int = 25_000_000  # to decode for a request
    values: int = 200_000  # of the series of a request, and of their forecasts
    beam_size: int = 20  # of the search for a caption
    body_bytes: int = 4 << 20
    held_bytes: int = 64 << 20  # of all bodies that are being read and answered
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
    glossary_bytes: int = 64 << 20  # of all glossaries
    file_bytes: int = 64 << 20  # of all translated files that wait for download


class RateLimiter:
    """Limits the texts a minute of each caller: a token bucket that refills evenly."""

    MAX_CALLERS = 10_000

    def __init__(self, per_minute: int, clock: Callable[[], float] = time.monotonic) -> None:
        self._per_minute = per_minute
        self._clock = clock
        self._left: OrderedDict[str, tuple[float, float]] = OrderedDict()  # tokens, at this time

    def spend(self, caller: str, count: int) -> dict[str, str]:
        """Take `count` tokens from the caller's bucket, or refuse and say when to retry. Returns
        headers that say what is left.
        """
        full = float(self._per_minute)
        left = self._of(caller)
        # A request for more than a full bucket passes when the bucket is full.
        enough = min(float(count), full)
        allowed = left >= enough
        self._left.pop(caller, None)
        self._left[caller] = (left - enough if allowed else left, self._clock())
        if len(self._left) > self.MAX_CALLERS:
            self._left.popitem(last=False)
        if not allowed:
            self._refuse(caller, enough - left)
        return self._headers(caller)

    def check(self, caller: str) -> None:
        """Refuse a caller who has nothing left, before more of the request is read."""
        missing = min(1.0, self._per_minute) - self._of(caller)
        if missing > 0:
            self._refuse(caller, missing)

    def _of(self, caller: str) -> float:
        """The tokens in the caller's bucket."""
        full = float(self._per_minute)
        left, then = self._left.get(caller, (full, 0.0))
        return min(full, left + max(0.0, self._clock() - then) * full / 60)

    def _refuse(self, caller: str, missing: float) -> NoReturn:
        wait = missing * 60 / self._per_minute
        headers = self._headers(caller)
        raise Refusal(429, f"Slowdown: {self._per_minute} per 1 minute", wait, headers)

    def _headers(self, caller: str) -> dict[str, str]:
        """What is left, and in how many seconds all of it is there again."""
        left = self._of(caller)
        seconds = math.ceil((self._per_minute - left) * 60 / self._per_minute)
        return {
            "ratelimit-limit": str(self._per_minute),
            "ratelimit-remaining": str(int(left)),
            "ratelimit-reset": str(seconds),
            "ratelimit-policy": f"{self._per_minute};w=60",
        }


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
