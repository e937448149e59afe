"""API keys: read from a file, kept and compared only as digests."""

import hashlib
import hmac
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from regard.errors import RequestError

MIN_CHARACTERS = 8


@dataclass(frozen=True)
class Key:
    digest: bytes
    name: str


class Keys:
    """All keys of the server. Without keys everyone is answered."""

    def __init__(self, keys: Sequence[Key] = ()) -> None:
        self._keys = tuple(keys)

    def __bool__(self) -> bool:
        return bool(self._keys)

    @classmethod
    def read(cls, path: Path) -> "Keys":
        """Read a file with one key a line, each followed by a name for the log. Lines that start
        with # are comments.
        """
        try:
            lines = path.read_text("utf-8").splitlines()
        except OSError as error:
            raise RequestError(f"{path}: cannot be read ({error.strerror}); check it") from None
        except UnicodeDecodeError:
            raise RequestError(f"{path}: not valid UTF-8; write one key a line") from None
        keys: list[Key] = []
        for number, line in enumerate(lines, start=1):
            secret, _, name = line.strip().partition(" ")
            if not secret or secret.startswith("#"):
                continue
            if len(secret) < MIN_CHARACTERS:
                raise RequestError(
                    f"{path}:{number}: a key of {len(secret)} characters can be guessed; "
                    f"use at least {MIN_CHARACTERS}, better the output of `openssl rand -hex 16`"
                )
            keys.append(Key(digest(secret), name.strip() or f"key {len(keys) + 1}"))
        if not keys:
            raise RequestError(f"{path}: holds no key; write one a line")
        return cls(keys)

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
