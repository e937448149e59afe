"""The bodies that are held in memory: how many bytes in all, and how many of one caller.

A body is held from its first byte until its request is answered. A caller who is not known yet,
since the key may be in the body, shares a small part with all others who are not known.
"""

from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass

from regard.serve.http.refusal import Refusal

# What every request may hold: short requests are always read. The number of connections bounds it.
FREE_BYTES = 16 << 10
CALLER_SHARE = 1 / 4  # of one caller
UNKNOWN_SHARE = 1 / 8  # of one address whose key has not been read
ALL_UNKNOWN_SHARE = 1 / 4  # of all of these


@dataclass(frozen=True)
class Caller:
    """Who sends a request. Where keys are required, nobody is known until a key is found."""

    name: str
    is_known: bool = True


class BodyBudget:
    def __init__(self, max_bytes: int) -> None:
        self._max_bytes = max_bytes
        self._of_caller: Counter[str] = Counter()
        self._of_unknown = 0
        self.held = 0

    @contextmanager
    def account(self, caller: Caller) -> Iterator["Account"]:
        """An account for one request, which is settled at its end."""
        account = Account(self, caller)
        try:
            yield account
        finally:
            self._change(caller, -account.charged)

    def charge(self, caller: Caller, count: int) -> None:
        """Add bytes, or refuse where there is no room for them."""
        share = CALLER_SHARE if caller.is_known else UNKNOWN_SHARE
        if (
            self.held + count > self._max_bytes
            or self._of_caller[caller.name] + count > share * self._max_bytes
            or (
                not caller.is_known
                and self._of_unknown + count > ALL_UNKNOWN_SHARE * self._max_bytes
            )
        ):
            self._change(caller, 0)  # forgets a caller without bytes
            raise Refusal(503, "the server has too many long requests; try again", 2)
        self._change(caller, count)

    def _change(self, caller: Caller, count: int) -> None:
        self.held += count
        self._of_caller[caller.name] += count
        if not caller.is_known:
            self._of_unknown += count
        if not self._of_caller[caller.name]:
            del self._of_caller[caller.name]


class Account:
    """The bytes of one request."""

    def __init__(self, budget: BodyBudget, caller: Caller) -> None:
        self._budget = budget
        self._caller = caller
        self._bytes = 0
        self.charged = 0

    def take(self, count: int) -> None:
        self._bytes += count
        more = max(0, self._bytes - FREE_BYTES) - self.charged
        if more > 0:
            self._budget.charge(self._caller, more)
            self.charged += more
