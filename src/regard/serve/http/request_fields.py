"""The fields of a request, whether they came in the query, as a form or as JSON."""

import asyncio
import json
from collections.abc import AsyncGenerator, Callable
from dataclasses import dataclass, field
from functools import partial
from typing import Any
from urllib.parse import unquote_to_bytes

from starlette.datastructures import Headers
from starlette.formparsers import MultiPartException, MultiPartParser
from starlette.requests import Request

from regard.serve.http.bodies import Account
from regard.serve.http.limits import Limits
from regard.serve.http.refusal import Refusal

FORM = "application/x-www-form-urlencoded"
MAX_FIELDS = 1000
# Longer bodies are parsed in a thread.
LONG_BYTES = 64 << 10
# A list or an object of JSON takes as much memory as so many numbers, a number so many bytes.
VALUE_WEIGHT = 4
WEIGHT_BYTES = 16
# A form is read in slices of so many bytes: the standard library makes an object of every escape.
SLICE_BYTES = 64 << 10
# Fields that may be repeated in a query or a form to send a list.
REPEATABLE = frozenset(
    {
        *("q", "text", "ignore_tags", "splitting_tags", "non_splitting_tags", "prompt", "input"),
        *("stop", "texts", "templates", "image", "only"),
    }
)
# Names under which a form may send files.
FILE_FIELDS = ("file", "image")


@dataclass
class RequestFields:
    """The fields by name, and the files. JSON overrides a form, a form the query."""

    values: dict[str, Any] = field(default_factory=dict)
    files: list[tuple[str, bytes]] = field(default_factory=list)  # name, content


def is_image(text: str) -> bool:
    """Whether a text is the data URL of an image."""
    return text[:11].lower() == "data:image/"


@dataclass(frozen=True)
class Reader:
    """Reads requests within the limits. Long bodies are parsed one at a time in a thread, so that
    the event loop answers others meanwhile.
    """

    limits: Limits
    turn: asyncio.Semaphore = field(default_factory=lambda: asyncio.Semaphore(1))

    def query(self, request: Request) -> RequestFields:
        """The fields that come before the body."""
        fields = RequestFields()
        merge(fields.values, parse_form(request.scope["query_string"]))
        return fields

    async def body(self, request: Request, account: Account) -> bytes | bytearray:
        """The body. One that is declared too long is refused unread."""
        max_bytes = self.limits.body_bytes
        too_long = Refusal(413, f"the request is longer than {max_bytes} bytes")
        declared = request.headers.get("content-length", "0")
        if declared.isdecimal() and int(declared) > max_bytes:
            raise too_long
        body = bytearray()
        async for chunk in request.stream():
            if len(body) + len(chunk) > max_bytes:
                raise too_long
            account.take(len(chunk))
            body += chunk
        return body

    async def parse(
        self, request: Request, body: bytes | bytearray, fields: RequestFields, account: Account
    ) -> None:
        """Add the fields of a body."""
        kind = request.headers.get("content-type", "").partition(";")[0].strip().lower()
        is_json = kind == "application/json" or (not kind and body[:1] == b"{")
        if is_json:
            weight = json_weight(body)
            if weight > VALUE_WEIGHT * (self.limits.values + self.limits.characters):
                raise Refusal(400, "Invalid request: too many values")
            account.take(WEIGHT_BYTES * weight)
        if request.method in ("GET", "HEAD"):
            if kind == FORM:  # as some clients send the parameters of a GET
                merge(fields.values, parse_form(body), is_form=True)
            return
        work: Callable[[], None]
        if kind == "multipart/form-data":
            work = partial(read_multipart, request.headers, body, self.limits.images, fields)
        elif is_json:
            work = partial(add_json, body, fields)
        elif kind in (FORM, ""):
            work = partial(add_form, body, fields)
        else:
            raise Refusal(415, "send the request as JSON or as a form")
        if len(body) <= LONG_BYTES:
            work()
        else:
            async with self.turn:
                await asyncio.to_thread(work)


def json_weight(body: bytes | bytearray) -> int:
    """How much the values of some JSON weigh at most, without reading it."""
    return body.count(b",") + VALUE_WEIGHT * (body.count(b"[") + body.count(b"{"))


def add_json(body: bytes | bytearray, fields: RequestFields) -> None:
    fields.values.update(parse_json(body))


def add_form(body: bytes | bytearray, fields: RequestFields) -> None:
    merge(fields.values, parse_form(body), is_form=True)


def parse_json(body: bytes | bytearray) -> dict[str, Any]:
    try:
        values = json.loads(body)
    except (ValueError, RecursionError):
        raise Refusal(400, "Invalid JSON format") from None
    if not isinstance(values, dict):
        raise Refusal(400, "Invalid JSON format")
    return values


def parse_form(text: bytes | bytearray) -> list[tuple[str, str]]:
    """The names and values of a form or a query, in order."""
    pairs = text.split(b"&", MAX_FIELDS)
    try:
        text.decode()
        if len(pairs) > MAX_FIELDS:
            raise ValueError("too many fields")
    except ValueError:
        raise Refusal(400, "Invalid request: the form cannot be read") from None
    halves = [pair.partition(b"=") for pair in pairs if pair]
    return [(unescaped(name), unescaped(value)) for name, _, value in halves]


def unescaped(text: bytes | bytearray) -> str:
    """A name or a value of a form without escapes such as + and %C3."""
    text = text.replace(b"+", b" ")
    found = bytearray()
    start = 0
    while start < len(text):
        end = start + SLICE_BYTES
        cut = text.rfind(b"%", end - 2, end)  # an escape stays in one slice
        end = cut if cut > start else end
        found += unquote_to_bytes(bytes(text[start:end]))
        start = end
    return found.decode("utf-8", "replace")


def merge(values: dict[str, Any], pairs: list[tuple[str, str]], is_form: bool = False) -> None:
    """Add names and values. A repeatable name that occurs again makes a list; of any other name
    the last value counts.
    """
    collected: dict[str, list[str]] = {}
    for name, value in pairs:
        collected.setdefault(name, []).append(value.replace("\r\n", "\n") if is_form else value)
    for name, found in collected.items():
        values[name] = found if len(found) > 1 and name in REPEATABLE else found[-1]


def read_multipart(
    headers: Headers, body: bytes | bytearray, max_files: int, fields: RequestFields
) -> None:
    adding = add_multipart(headers, bytes(body), max_files, fields)
    try:
        adding.send(None)  # all is in memory, so it never waits
    except StopIteration:
        return
    except (MultiPartException, ValueError, LookupError) as error:
        if "Too many files" in str(error):
            raise Refusal(400, f"Invalid request: at most {max_files} files at once") from None
        raise Refusal(400, "Invalid request: the form cannot be read") from None
    adding.close()
    raise RuntimeError("a form in memory was waited for")


async def add_multipart(
    headers: Headers, body: bytes, max_files: int, fields: RequestFields
) -> None:
    parser = MultiPartParser(
        headers,
        one_chunk(body),
        max_files=max_files,
        max_fields=MAX_FIELDS,
        max_part_size=len(body),
    )
    parser.spool_max_size = len(body) + 1  # never on the disk
    form = await parser.parse()
    try:
        texts = [(name, value) for name, value in form.multi_items() if isinstance(value, str)]
        merge(fields.values, texts, is_form=True)
        for name, value in form.multi_items():
            if name in FILE_FIELDS and not isinstance(value, str):
                fields.files.append((value.filename or "", await value.read()))
    finally:
        await form.close()


async def one_chunk(body: bytes) -> AsyncGenerator[bytes, None]:
    yield body
