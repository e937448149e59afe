"""The id of a request: the client's own if it is harmless, else a new one."""

import re
import secrets
from collections.abc import Iterable

HEADER = b"x-request-id"
_HARMLESS = re.compile(rb"[A-Za-z0-9._:/+=@-]{1,128}")


def request_id(headers: Iterable[tuple[bytes, bytes]]) -> str:
    given = [value for name, value in headers if name == HEADER]
    if len(given) == 1 and _HARMLESS.fullmatch(given[0]):
        return given[0].decode("ascii")
    return secrets.token_hex(8)
