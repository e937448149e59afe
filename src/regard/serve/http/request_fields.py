"""The fields of a request, whether they came in the query, as a form or as JSON."""

import json
from collections.abc import AsyncGenerator
from dataclasses import dataclass, field
from typing import Any
from urllib.parse import parse_qsl

from starlette.formparsers import MultiPartException, MultiPartParser
from starlette.requests import Request

from regard.serve.http.refusal import Refusal

FORM = "application/x-www-form-urlencoded"
MAX_FIELDS = 1000
# Fields that may be repeated in a query or a form to send a list.
REPEATABLE = frozenset({"q", "text", "ignore_tags", "prompt", "input", "stop"})


@dataclass
class RequestFields:
    """The fields by name, and the file if one was sent. JSON overrides a form, a form the query."""

    values: dict[str, Any] = field(default_factory=dict)
    file: tuple[str, bytes] | None = None  # name, content


async def read(request: Request, max_bytes: int) -> RequestFields:
    """Read and parse a request. A body that is declared too long is refused unread."""
    fields = RequestFields()
    merge(fields.values, parse_form(request.scope["query_string"]))
    body = await read_body(request, max_bytes)
    if not body:
        return fields
    kind = request.headers.get("content-type", "").partition(";")[0].strip().lower()
    if request.method in ("GET", "HEAD"):
        if kind == FORM:  # as some clients send the parameters of a GET
            merge(fields.values, parse_form(body), is_form=True)
        return fields
    if kind == "multipart/form-data":
        await read_multipart(request, body, max_bytes, fields)
    elif kind == "application/json" or (not kind and body[:1] == b"{"):
        fields.values.update(parse_json(body))
    elif kind in (FORM, ""):
        merge(fields.values, parse_form(body), is_form=True)
    else:
        raise Refusal(415, "send the request as JSON or as a form")
    return fields


async def read_body(request: Request, max_bytes: int) -> bytes:
    too_long = Refusal(413, f"the request is longer than {max_bytes} bytes")
    declared = request.headers.get("content-length", "0")
    if declared.isdecimal() and int(declared) > max_bytes:
        raise too_long
    body = bytearray()
    async for chunk in request.stream():
        body += chunk
        if len(body) > max_bytes:
            raise too_long
    return bytes(body)


def parse_json(body: bytes) -> dict[str, Any]:
    try:
        values = json.loads(body)
    except (ValueError, RecursionError):
        raise Refusal(400, "Invalid JSON format") from None
    if not isinstance(values, dict):
        raise Refusal(400, "Invalid JSON format")
    return values


def parse_form(text: bytes) -> list[tuple[str, str]]:
    """The names and values of a form or a query, in order."""
    try:
        return parse_qsl(
            text.decode("ascii", "strict"), keep_blank_values=True, max_num_fields=MAX_FIELDS
        )
    except ValueError:
        raise Refusal(400, "Invalid request: the form cannot be read") from None


def merge(values: dict[str, Any], pairs: list[tuple[str, str]], is_form: bool = False) -> None:
    """Add names and values. A repeatable name that occurs again makes a list; of any other name
    the last value counts.
    """
    collected: dict[str, list[str]] = {}
    for name, value in pairs:
        collected.setdefault(name, []).append(value.replace("\r\n", "\n") if is_form else value)
    for name, found in collected.items():
        values[name] = found if len(found) > 1 and name in REPEATABLE else found[-1]


async def read_multipart(
    request: Request, body: bytes, max_bytes: int, fields: RequestFields
) -> None:
    parser = MultiPartParser(
        request.headers,
        one_chunk(body),
        max_files=1,
        max_fields=MAX_FIELDS,
        max_part_size=max_bytes,
    )
    try:
        form = await parser.parse()
    except (MultiPartException, ValueError, LookupError):
        raise Refusal(400, "Invalid request: the form cannot be read") from None
    try:
        texts = [(name, value) for name, value in form.multi_items() if isinstance(value, str)]
        merge(fields.values, texts, is_form=True)
        for name, value in form.multi_items():
            if name == "file" and not isinstance(value, str):
                fields.file = (value.filename or "", await value.read())
    finally:
        await form.close()


async def one_chunk(body: bytes) -> AsyncGenerator[bytes, None]:
    yield body
