"""Which column of a table is translated, and into which."""

from collections.abc import Sequence
from dataclasses import dataclass

from regard.errors import DataError
from regard.text.documents.document import Wish
from regard.text.languages import NAMES, OWN_NAMES, base_code

SOURCES, TARGETS = ("source", "text"), ("target", "translation")
_CODES = {name.lower(): code for code, name in NAMES.items()} | OWN_NAMES


@dataclass(frozen=True)
class Columns:
    """The numbers of the columns, from 0. The same number twice: texts are replaced."""

    source: int
    target: int


def choose(name: str, header: Sequence[str], wish: Wish) -> Columns | None:
    """The columns as asked for, or as the header names languages, or source and target. None if
    the table has no such columns.
    """
    if wish.column:
        source = _asked(name, header, wish.column, "--column")
        return Columns(source, _asked(name, header, wish.into, "--into") if wish.into else source)
    if wish.into:
        raise DataError(f"{name}: --into needs --column, the column that is translated")
    named = _named(header, wish.source, SOURCES), _named(header, wish.target, TARGETS)
    match named:
        case int(first), int(second) if first != second:
            return Columns(first, second)
    return None


def unknown(name: str, header: Sequence[str]) -> DataError:
    shown = ", ".join(each.strip()[:30] or f"({number})" for number, each in enumerate(header, 1))
    return DataError(
        f"{name}: none of its columns is named like the languages, or source and target; it has "
        f"{shown[:200] or 'none'}: choose with --column NAME, and with --into NAME where the "
        "translation goes"
    )


def _asked(name: str, header: Sequence[str], wanted: str, option: str) -> int:
    names = [each.strip().lower() for each in header]
    if wanted.strip().lower() in names:
        return names.index(wanted.strip().lower())
    if wanted.isascii() and wanted.isdigit() and 0 < int(wanted[:6]) <= len(header):
        return int(wanted) - 1
    raise DataError(
        f"{name}: has no column {wanted!r} ({option}); it has {', '.join(header)[:200]}"
    )


def _named(header: Sequence[str], language: str, others: Sequence[str]) -> int | None:
    names = [each.strip().lower() for each in header]
    for number, each in enumerate(names):
        if language and base_code(_CODES.get(each, each)) == base_code(language):
            return number
    return next((names.index(each) for each in others if each in names), None)
