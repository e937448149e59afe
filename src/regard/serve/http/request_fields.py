"""A request's fields, however they were sent: in the query, as a form or as JSON."""

import json
from collections.abc import AsyncGenerator
from dataclasses import dataclass, field
from typing import Any
from urllib.parse import parse_qsl

from starlette.formparsers import MultiPartException, MultiPartParser
from starlette.requests import Request

from regard.serve.http.refusal import Refusal

FORM = "application/x-www-form-urlencoded"
MOST_FIELDS = 1000
REPEATED = frozenset({"q", "text", "ignore_tags", "prompt", "input", "stop"})


@dataclass
class Sent:
    """What came with a request, all sources merged: JSON over form over query."""

    fields: dict[str, Any] = field(default_factory=dict)
    file: tuple[str, bytes] | None = None


async def read(request: Request, most_bytes: int) -> Sent:
    """Read and parse; a body that is too long is refused before it is read."""
    sent = Sent()
    merge(sent.fields, pairs_of(request.scope["query_string"]))
    body = await read_body(request, most_bytes)
    if not body:
        return sent
    kind = request.headers.get("content-type", "").partition(";")[0].strip().lower()
    if request.method in ("GET", "HEAD"):
        if kind == FORM:  # as some clients send the parameters of a GET
            merge(sent.fields, pairs_of(body), is_form=True)
        return sent
    if kind == "multipart/form-data":
        await read_multipart(request, body, most_bytes, sent)
    elif kind == "application/json" or (not kind and body[:1] == b"{"):
        sent.fields.update(parse_json(body))
    elif kind in (FORM, ""):
        merge(sent.fields, pairs_of(body), is_form=True)
    else:
        raise Refusal(415, "send the request as JSON or as a form")
    return sent


async def read_body(request: Request, most_bytes: int) -> bytes:
    too_long = Refusal(413, f"the request is longer than {most_bytes} bytes")
    declared = request.headers.get("content-length", "0")
    if declared.isdecimal() and int(declared) > most_bytes:
        raise too_long
    body = bytearray()
    async for chunk in request.stream():
        body += chunk
        if len(body) > most_bytes:
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


def pairs_of(text: bytes) -> list[tuple[str, str]]:
    try:
        return parse_qsl(
            text.decode("ascii", "strict"), keep_blank_values=True, max_num_fields=MOST_FIELDS
        )
    except ValueError:
        raise Refusal(400, "Invalid request: the form cannot be read") from None


def merge(fields: dict[str, Any], pairs: list[tuple[str, str]], is_form: bool = False) -> None:
    """Values of one name; several of them make a list where a list has a meaning."""
    several: dict[str, list[str]] = {}
    for name, value in pairs:
        several.setdefault(name, []).append(value.replace("\r\n", "\n") if is_form else value)
    for name, values in several.items():
        fields[name] = values if len(values) > 1 and name in REPEATED else values[-1]


async def read_multipart(request: Request, body: bytes, most_bytes: int, sent: Sent) -> None:
    parser = MultiPartParser(
        request.headers,
        whole(body),
        max_files=1,
        max_fields=MOST_FIELDS,
        max_part_size=most_bytes,
    )
    try:
        form = await parser.parse()
    except (MultiPartException, ValueError, LookupError):
        raise Refusal(400, "Invalid request: the form cannot be read") from None
    try:
        texts = [(name, value) for name, value in form.multi_items() if isinstance(value, str)]
        merge(sent.fields, texts, is_form=True)
        for name, value in form.multi_items():
            if name == "file" and not isinstance(value, str):
                sent.file = (value.filename or "", await value.read())
    finally:
        await form.close()


async def whole(body: bytes) -> AsyncGenerator[bytes, None]:
    yield body
