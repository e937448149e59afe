"""YAML of translations, such as Rails' locales: ruamel.yaml says where each value stands."""

import re
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
from regard.text.languages import NAMES, base_code

_LOCALE = re.compile(r"[a-z]{2,3}([-_]\w{2,8})?")

_PROPERTIES = re.compile(r"(?:[&!]\S*[ \t]+)+")


def read(name: str, data: bytes, wish: Wish) -> Document:
    from ruamel.yaml import YAML
    from ruamel.yaml.error import YAMLError

    content = Content.of(name, data)
    try:
        documents = list(YAML(typ="safe", pure=True).compose_all(content.text))
    except (YAMLError, RecursionError, ValueError) as error:
        mark = getattr(error, "problem_mark", None)
        line = f":{mark.line + 1}" if mark else ""
        reason = getattr(error, "problem", None) or "nested too deep"
        raise DataError(f"{name}{line}: not valid YAML ({reason}); mend the file") from None
    segments = Segments()
    places: list[Any] = []
    locale = _locale(documents[0]) if documents else None
    if locale is not None:
        check_language(name, locale.value, wish.source, "from")
    skipped = (locale.value,) if locale is not None else ()
    seen: set[int] = set()
    for number, document in enumerate(documents):
        waiting: list[tuple[Any, tuple[str, ...]]] = [(document, (str(number),) if number else ())]
        while waiting:
            node, path = waiting.pop()
            if node is None or id(node) in seen:  # an alias is translated where it is defined
                continue
            seen.add(id(node))
            if node.id == "mapping":
                waiting += [(value, (*path, key.value)) for key, value in _pairs(node)][::-1]
            elif node.id == "sequence":
                waiting += [(each, (*path, str(i))) for i, each in enumerate(node.value)][::-1]
            elif str(node.tag) == "tag:yaml.org,2002:str" and has_words(node.value):
                key = "\5".join(path[len(skipped) :] if path[:1] == skipped else path)
                segments.add([node.value], node.start_mark.line + 1, key)
                places.append(node)

    def write(translations: Translations) -> bytes:
        edits = []
        for number, pieces in translations.items():
            node = places[number]
            text = _written(content, node, words_of(pieces))
            edits.append(Edit(_start(content, node), node.end_mark.index, text))
        if edits and locale is not None and wish.target:
            edits.append(Edit(locale.start_mark.index, locale.end_mark.index, wish.target))
        return content.spliced(edits)

    return Document(segments.found, write)


def _start(content: Content, node: Any) -> int:
    """Where a value begins, after its anchor and its tag."""
    start: int = node.start_mark.index
    found = _PROPERTIES.match(content.text, start)
    return found.end() if found else start


def _pairs(node: Any) -> list[tuple[Any, Any]]:
    return [(key, value) for key, value in node.value if key.id == "scalar"]


def _locale(document: Any) -> Any:
    """The only key at the top, if it is the code of a language, as in Rails."""
    if document is None or document.id != "mapping" or len(document.value) != 1:
        return None
    key, value = document.value[0]
    is_code = key.id == "scalar" and key.style is None and _LOCALE.fullmatch(key.value)
    return key if is_code and value.id == "mapping" and base_code(key.value) in NAMES else None


def _written(content: Content, node: Any, text: str) -> str:
    """A value in the style of the one that it replaces, where that can hold it."""
    if node.style in ("|", ">"):
        return _block(content, node, text)
    if node.style == "'" and "\n" not in text and text.isprintable():
        return "'" + text.replace("'", "''") + "'"
    if node.style is None and _is_plain(text):
        return text
    return _in_quotes(text)


def _block(content: Content, node: Any, text: str) -> str:
    raw = content.text[_start(content, node) : node.end_mark.index]
    head, _, body = raw.partition("\n")
    first = next((line for line in body.split("\n") if line.strip()), "")
    indent = first[: len(first) - len(first.lstrip(" "))]
    # Folding keeps the breaks beside lines that are indented further, which we do not count.
    is_further = node.style == ">" and re.search(r"\n[ \t]", text)
    odd = re.search(r"[^\n\x20-\uffff]", text)
    if text[:1] in (" ", "\n") or not indent or odd or is_further:
        return _in_quotes(text) + raw[len(raw.rstrip()) :]
    rest = body[len(body.rstrip("\r\n ")) :]
    text = text.rstrip("\n")
    lines = text.split("\n") if node.style == "|" else text.replace("\n", "\n\n").split("\n")
    filled = [f"{indent}{line}" if line else "" for line in lines]
    newline = content.newline
    return newline.join([head.rstrip("\r"), *filled]) + rest


def _is_plain(text: str) -> bool:
    """Whether a text without quotation marks is this text again, in any kind of collection."""
    from ruamel.yaml import YAML
    from ruamel.yaml.error import YAMLError

    if re.search(r"[\n{}\[\],]|: |:$| #", text) or not text.isprintable():
        return False
    try:
        node = YAML(typ="safe", pure=True).compose(f"a: {text}\n").value[0][1]
    except (YAMLError, ValueError):
        return False
    return bool(node.value == text and str(node.tag) == "tag:yaml.org,2002:str")


def _in_quotes(text: str) -> str:
    """As double quotation marks hold it, which JSON's are nearly."""
    import json

    return json.dumps(text, ensure_ascii=False).replace("\x7f", "\\x7f")
