"""API keys: read from a file, kept and compared only as digests."""

import hashlib
import hmac
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from regard.errors import RequestError
from regard.serve.http.quotas import Quota
from regard.small_files import read_small

MIN_CHARACTERS = 8


@dataclass(frozen=True)
class Key:
    digest: bytes
    name: str
    quota: Quota | None = None


class Keys:
    """All keys of the server. Without keys everyone is answered."""

    def __init__(self, keys: Sequence[Key] = (), path: Path | None = None) -> None:
        self._keys = tuple(keys)
        self._path = path

    def __bool__(self) -> bool:
        return bool(self._keys)

    @classmethod
    def read(cls, path: Path) -> "Keys":
        """Read a file with one key a line, each followed by a name for the log and, if it has one,
        by its quota: 500000/month. Lines that start with # are comments.
        """
        try:
            lines = read_small(path, links=True).decode("utf-8-sig").split("\n")
        except OSError as error:
            raise RequestError(f"{path}: cannot be read ({error.strerror}); check it") from None
        except UnicodeDecodeError:
            raise RequestError(f"{path}: not valid UTF-8; write one key a line") from None
        keys: list[Key] = []
        for number, line in enumerate(lines, start=1):
            words = line.split(maxsplit=1)
            if not words or words[0].startswith("#"):
                continue
            secret, name = words[0], words[1] if len(words) > 1 else ""
            if not secret.isprintable():
                raise RequestError(
                    f"{path}:{number}: a key with invisible characters; type it again"
                )
            if len(secret) < MIN_CHARACTERS:
                raise RequestError(
                    f"{path}:{number}: a key of {len(secret)} characters can be guessed; "
                    f"use at least {MIN_CHARACTERS}, better the output of `openssl rand -hex 16`"
                )
            name, quota = with_quota(name.strip(), f"{path}:{number}")
            keys.append(Key(digest(secret), name or f"key {len(keys) + 1}", quota))
        if not keys:
            raise RequestError(f"{path}: holds no key; write one a line")
        return cls(keys, path)

    def reload(self, counts: bool = True) -> None:
        """Read the file again. If it is wrong, the keys stay as they are."""
        if self._path is not None:
            new = self.read(self._path)
            new.check_quotas(counts)
            self._keys = new._keys

    def check_quotas(self, counts: bool) -> None:
        """Quotas need a server that counts and keeps what was used."""
        limited = [key.name for key in self._keys if key.quota]
        if limited and not counts:
            raise RequestError(
                f"{self._path}: {limited[0]} has a quota, but what is used would be forgotten at "
                "a restart; name a file for it with --usage"
            )

    def find(self, secret: str) -> Key | None:
        """Find a key. Every key is compared, so that the time does not depend on which it is."""
        given = digest(secret)
        found = None
        for key in self._keys:
            if hmac.compare_digest(key.digest, given):
                found = key
        return found


def digest(secret: str) -> bytes:
    return hashlib.sha256(secret.encode("utf-8", "surrogatepass")).digest()


def with_quota(name: str, place: str) -> tuple[str, Quota | None]:
    """A name without the quota that may follow it, and the quota."""
    before, _, last = name.rpartition(" ")
    if quota := Quota.parse(last):
        return before.strip(), quota
    if last[:1].isdigit() and "/" in last:
        raise RequestError(
            f"{place}: a quota is written like 500000/month or 20000/day, got {last}; correct it"
        )
    return name, None
