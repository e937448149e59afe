"""JSON of translations: nested keys, ARB of Flutter, messages.json of browser extensions."""

import json
import re
from collections.abc import Iterator
from typing import Any

from regard.errors import DataError
from regard.text.documents.content import Content, Edit
from regard.text.documents.document import (
    Document,
    Segments,
    Translations,
    Wish,
    check_language,
    has_words,
    words_of,
)
from regard.text.documents.icu import Choice, choice_of, leaves, written
from regard.text.normalise import scalar_values

_TOKEN = re.compile(r'"(?:[^"\\]|\\.)*"|[{}\[\]:,]|[^\s{}\[\]:,"]+')
_ESCAPED = re.compile(r"\\u[0-9a-fA-F]{4}")
# Of an object with one of these keys, the others describe it.
MESSAGES = ("message", "defaultMessage")
LOCALE = "@@locale"


def read(name: str, data: bytes, wish: Wish) -> Document:
    content = Content.of(name, data)
    try:
        everything = json.loads(content.text)
    except (ValueError, RecursionError) as error:
        line = f":{error.lineno}" if isinstance(error, json.JSONDecodeError) else ""
        raise DataError(f"{name}{line}: not valid JSON ({error}); mend the file") from None
    segments = Segments()
    locale: tuple[int, int] | None = None
    places: dict[int, tuple[int, int]] = {}
    choices: list[tuple[Choice, dict[str, int], tuple[int, int]]] = []
    is_arb = name.lower().endswith(".arb")
    for path, start, end in _strings(content):
        value = scalar_values(json.loads(content.text[start:end]))
        if path == (LOCALE,):
            check_language(name, value, wish.source, "from")
            locale = (start, end)
        elif has_words(value) and not _describes(everything, path, is_arb):
            key, at = "\5".join(map(str, path)), content.line(start)
            if choice := choice_of(value, wish.target):
                arms = {
                    name: segments.add(pieces, at, f"{key}\6{name}", syntaxes=["icu"])
                    for name, pieces in leaves(choice)
                }
                choices.append((choice, arms, (start, end)))
                continue
            number = segments.add([value], at, key, syntaxes=["icu"] if is_arb else ["brace"])
            places[number] = start, end
    # A file that has escapes alone is written with escapes.
    escapes = content.text.isascii() and _ESCAPED.search(content.text) is not None

    def write(translations: Translations) -> bytes:
        new = {
            place: words_of(translations[number])
            for number, place in places.items()
            if number in translations
        }
        for choice, arms, place in choices:
            given = {name: translations[at] for name, at in arms.items() if at in translations}
            if given:
                new[place] = written(choice, given)
        edits = [
            Edit(*place, json.dumps(text, ensure_ascii=escapes)) for place, text in new.items()
        ]
        if edits and locale and wish.target:
            edits.append(Edit(*locale, json.dumps(wish.target)))
        return content.spliced(edits)

    return Document(segments.found, write)


def _describes(everything: Any, path: tuple[str | int, ...], is_arb: bool) -> bool:
    """Whether a text is a note on another one and not shown to users."""
    if is_arb and any(isinstance(key, str) and key.startswith("@") for key in path):
        return True
    found = everything
    for key in path:
        if isinstance(found, dict):
            message = next((each for each in MESSAGES if isinstance(found.get(each), str)), None)
            if message is not None and key != message:
                return True
        found = found[key]
    return False


def _strings(content: Content) -> Iterator[tuple[tuple[str | int, ...], int, int]]:
    """The path and the place of each string that is a value. The text is known to be JSON."""
    path: list[str | int] = []
    in_object: list[bool] = []
    is_key = False
    for found in _TOKEN.finditer(content.text):
        token = found[0]
        if token in "{[":
            in_object.append(token == "{")
            path.append("" if token == "{" else 0)
            is_key = token == "{"
        elif token in "}]":
            in_object.pop()
            path.pop()
        elif token == ",":
            is_key = in_object[-1]
            if not is_key:
                path[-1] = int(path[-1]) + 1
        elif token == ":":
            is_key = False
        elif token[0] == '"':
            if is_key:
                path[-1] = json.loads(token)
            else:
                yield tuple(path), found.start(), found.end()
