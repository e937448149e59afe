"""Files of JSON: a .jsonl has an object on each line, a .json has a list of objects."""

from __future__ import annotations

import json
import re
import textwrap
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

from regard.data.lines import kind_of, lines
from regard.errors import DataError

OBJECTS = (".jsonl", ".json")

_BETWEEN = re.compile(r"[\s,]*")
_LIST = re.compile(r'\s*\[|\s*\{.*?"data"\s*:\s*\[', re.DOTALL)


def objects(path: Path) -> Iterator[tuple[Any, str]]:
    """Each object with its place; None for an empty line."""
    if kind_of(path) == ".json":
        yield from _listed(path)
        return
    for line, place in lines(path):
        if not line.strip():
            yield None, place
            continue
        try:
            yield json.loads(line), place
        except (ValueError, RecursionError):
            raise DataError(f"{place}: not valid JSON; write one object on each line") from None


def _listed(path: Path) -> Iterator[tuple[Any, str]]:
    """The objects of a list, or of {"data": […]}. The text is in memory, its objects are not."""
    text = "\n".join(line for line, _ in lines(path))
    begin = _LIST.match(text)
    if begin is None:
        raise DataError(
            f'{path}:1: neither a list of objects nor {{"data": […]}}; write such a list, or a'
            " .jsonl with one object on each line"
        )
    decoder, number, counted, at = json.JSONDecoder(), 1, 0, begin.end()
    while True:
        at = _BETWEEN.match(text, at).end()  # type: ignore[union-attr]
        number, counted = number + text.count("\n", counted, at), at
        if text[at : at + 1] == "]":
            return
        try:
            entry, at = decoder.raw_decode(text, at)
        except (ValueError, RecursionError):
            raise DataError(f"{path}:{number}: not valid JSON; write a list of objects") from None
        yield entry, f"{path}:{number}"


def found_key(entry: Any, asked: str | int, known: Sequence[str]) -> str:
    """The key of an object: the one that is asked for, or the first known one that it has."""
    if asked:
        return str(asked)
    keys = entry if isinstance(entry, dict) else ()
    return next((each for each in known if each in keys), known[0])


def shown(value: Any) -> str:
    return textwrap.shorten(json.dumps(value, ensure_ascii=False), 40, placeholder=" …")
