"""Quotas: how many characters a key may send in a day or a month, in UTC.

What was used is kept in a small file, so that a restart does not forget it. The file is replaced as
a whole, now and then and when the server stops: a crash forgets a few seconds at most.
"""

import json
import os
import re
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

from regard.errors import RequestError
from regard.serve.http.refusal import Refusal

_QUOTA = re.compile(r"(\d{1,15})/(day|month)")


@dataclass(frozen=True)
class Quota:
    characters: int
    period: str  # day or month

    @classmethod
    def parse(cls, word: str) -> "Quota | None":
        """The quota that a word like 500000/month means; None if it is no quota."""
        found = _QUOTA.fullmatch(word)
        return cls(int(found[1]), found[2]) if found else None

    def current(self, now: datetime) -> str:
        """The period that a moment is in: 2026-11-19 or 2026-11."""
        return now.strftime("%Y-%m-%d" if self.period == "day" else "%Y-%m")

    def next_start(self, now: datetime) -> datetime:
        midnight = now.replace(hour=0, minute=0, second=0, microsecond=0)
        if self.period == "day":
            return midnight + timedelta(days=1)
        return (midnight.replace(day=1) + timedelta(days=32)).replace(day=1)


class Usage:
    """The characters that each key has used in its current period, by the digest of the key."""

    def __init__(
        self, path: Path | None = None, clock: Callable[[], datetime] = lambda: datetime.now(UTC)
    ) -> None:
        self._path = path
        self._clock = clock
        self._used: dict[str, tuple[str, int]] = read(path) if path and path.exists() else {}
        self._changed = False
        self._saving = threading.Lock()
        if path is not None:
            self._changed = True
            self.save()  # what cannot be written is known at the start

    @property
    def is_kept(self) -> bool:
        return self._path is not None

    def used(self, key: str, quota: Quota) -> int:
        period, characters = self._used.get(key, ("", 0))
        return characters if period == quota.current(self._clock()) else 0

    def spend(self, key: str, quota: Quota, characters: int, status: int = 429) -> None:
        """Count characters, or refuse and say when there are new ones."""
        used = self.used(key, quota)
        now = self._clock()
        if used + characters > quota.characters:
            start = quota.next_start(now)
            raise Refusal(
                status,
                f"Quota exceeded: {quota.characters:,} characters a {quota.period}, of which "
                f"{max(0, quota.characters - used):,} are left; the next {quota.period} begins on "
                f"{start:%Y-%m-%d} at 00:00 UTC",
                (start - now).total_seconds(),
            )
        self._used[key] = (quota.current(now), used + characters)
        self._changed = True

    @contextmanager
    def charged(self, key: str, quota: Quota, characters: int, status: int) -> Iterator[None]:
        """Count characters for as long as the block does not fail."""
        self.spend(key, quota, characters, status)
        try:
            yield
        except BaseException:
            self.give_back(key, quota, characters)
            raise

    def give_back(self, key: str, quota: Quota, characters: int) -> None:
        """Take back what was counted for a request that was not answered."""
        left = max(0, self.used(key, quota) - characters)
        self._used[key] = (quota.current(self._clock()), left)
        self._changed = True

    def save(self) -> None:
        """Write the file if something changed."""
        if self._path is None or not self._changed:
            return
        with self._saving:
            self._changed = False
            values = {
                key: {"period": period, "characters": characters}
                for key, (period, characters) in self._used.copy().items()
            }
            try:
                replace(self._path, json.dumps(values, indent=1).encode())
            except OSError as error:
                self._changed = True
                raise RequestError(
                    f"{self._path}: what keys have used cannot be written here "
                    f"({error.strerror}); choose another file"
                ) from None


def replace(path: Path, content: bytes) -> None:
    """Write a file that only its owner reads, all of it or nothing."""
    scratch = path.with_name(f".{path.name}.writing")
    handle = os.open(scratch, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600)
    try:
        os.write(handle, content)
        os.fsync(handle)
    finally:
        os.close(handle)
    os.replace(scratch, path)


def read(path: Path) -> dict[str, tuple[str, int]]:
    try:
        values: Any = json.loads(path.read_bytes())
        return {key: (str(each["period"]), int(each["characters"])) for key, each in values.items()}
    except OSError as error:
        raise RequestError(f"{path}: cannot be read ({error.strerror}); check it") from None
    except (ValueError, LookupError, TypeError, AttributeError):
        raise RequestError(
            f"{path}: not a file of used characters; mend it, or remove it to count from zero"
        ) from None
