"""ICU messages with plurals and selections: what is said in each case is translated.

The text around a choice goes into its arms, so that each arm is a whole sentence. A `#` is shown to
the model as a number for which the arm is meant, and stays `#`.
"""

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass

from regard.text.documents.document import Code, Piece, Pieces, as_text
from regard.text.documents.plurals import quantities
from regard.text.protect import braces

_CHOICE = re.compile(
    r"\{\s*[\w.-]+\s*,\s*(plural|select|selectordinal)\s*,\s*(?:offset\s*:\s*\d+\s*)?"
)
_ARM = re.compile(r"\s*(=\d+|[\w-]+)\s*\{")
# An apostrophe before a brace begins a quotation, in which braces mean nothing.
_QUOTED = re.compile(r"'(?=[{}#|])")
EXAMPLES = {"zero": "0", "one": "1", "two": "2", "few": "3", "many": "7", "other": "5"}
MOST_ARMS = 30


@dataclass(frozen=True)
class Arm:
    """What is said in a case: another choice, or a text."""

    name: str
    message: "Choice | str"
    number: str  # what `#` is shown as; "" where it is only a sign


@dataclass(frozen=True)
class Choice:
    head: str  # all before the arms, from its brace on
    arms: tuple[Arm, ...]


def choice_of(text: str, target: str) -> Choice | None:
    """The choice that a message is, with the plural forms of a language; None for a message without
    one, or with one that cannot be read.
    """
    if _QUOTED.search(text):
        return None
    try:
        found = _choice(text, target, "")
    except _Unclear:
        return None
    if isinstance(found, str) or sum(1 for _ in leaves(found)) > MOST_ARMS:
        return None
    return found


class _Unclear(Exception):
    pass


def _choice(text: str, target: str, number: str) -> Choice | str:
    head = _CHOICE.search(text)
    if head is None:
        return text
    ends = braces(text)
    end = ends.get(head.start(), 0)
    around = text[: head.start()], text[end:]
    if not end or "#" in "".join(around):
        raise _Unclear  # a `#` would get another meaning
    arms: dict[str, str] = {}
    at = head.end()
    while found := _ARM.match(text, at, end):
        opening = found.end() - 1
        if opening not in ends:
            raise _Unclear
        arms[found[1]] = text[found.end() : ends[opening] - 1]
        at = ends[opening]
    if "other" not in arms or text[at : end - 1].strip():
        raise _Unclear
    is_number = head[1] != "select"
    if head[1] == "plural":
        missing = [name for name in quantities(target) if name not in arms]
        other = arms.pop("other")
        arms |= dict.fromkeys(missing, other) | {"other": other}
    made = []
    for name, inner in arms.items():
        shown = EXAMPLES.get(name, name.removeprefix("=")) if is_number else number
        message = _choice(f"{around[0]}{inner}{around[1]}", target, shown)
        made.append(Arm(name, message, shown))
    return Choice(head[0], tuple(made))


def leaves(choice: Choice, path: str = "") -> Iterator[tuple[str, Pieces]]:
    """Every text, named by the arms that lead to it."""
    for arm in choice.arms:
        name = f"{path}/{arm.name}"
        if isinstance(arm.message, str):
            yield name, _pieces(arm)
        else:
            yield from leaves(arm.message, name)


def _pieces(arm: Arm) -> Pieces:
    assert isinstance(arm.message, str)
    if not arm.number:
        return (arm.message,)
    found: list[Piece] = []
    for number, text in enumerate(arm.message.split("#")):
        found += [Code("alone", "#", number, arm.number), text] if number else [text]
    return tuple(piece for piece in found if piece != "")


def written(choice: Choice, translations: Mapping[str, Pieces], path: str = "") -> str:
    """The message with these translations; a text without one stays."""
    arms = []
    for arm in choice.arms:
        name = f"{path}/{arm.name}"
        if not isinstance(arm.message, str):
            inner = written(arm.message, translations, name)
        elif name in translations:
            # A typographic apostrophe does not quote the brace after it.
            inner = _QUOTED.sub("’", as_text(translations[name]))
        else:
            inner = arm.message
        arms.append(f"{arm.name}{{{inner}}}")
    return f"{choice.head}{' '.join(arms)}}}"
