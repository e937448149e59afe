"""Texts as people give them: one, or several in a list, an iterator or a column of a table."""

from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

from regard.errors import RequestError, shown


def texts_of(given: str | Iterable[str], verb: str) -> list[str]:
    """The texts as a list. A RequestError says what else was found."""
    if isinstance(given, str):
        return [given]
    found = items_of(given, verb, "text")
    for number, each in enumerate(found, start=1):
        if not isinstance(each, str):
            raise RequestError(f"{verb}: text {number} is {shown(each)}, not a text; give a string")
    return found


def items_of(given: Any, verb: str, unit: str) -> list[Any]:
    # Going through a table or a dict would give the names of its columns.
    table = isinstance(given, Mapping) or hasattr(given, "columns")
    if table or isinstance(given, str | bytes | Path) or not isinstance(given, Iterable):
        way = f"; take the column that holds the {unit}s" if table else ""
        raise RequestError(f"{verb} takes a {unit} or several, not {shown(given)}{way}")
    return list(given)


def same_length(verb: str, **given: list[Any]) -> None:
    """Check that there are as many of the one as of the other, and not none."""
    (first, ones), (second, others) = given.items()
    if len(ones) != len(others):
        raise RequestError(
            f"{verb}: {len(ones):,} {first} and {len(others):,} {second}; give one for each"
        )
    if not ones:
        raise RequestError(f"{verb}: there is nothing to score; give at least one of the {first}")


def summary(name: str, folder: Path | None, model: Any, *facts: str) -> str:
    """Classifier('runs/reviews': 2 labels, 0.9 M parameters)"""
    count = sum(parameter.numel() for parameter in model.parameters())
    where = repr(str(folder)) if folder else "not saved"
    return f"{name}({where}: {', '.join([*facts, parameters(count)])})"


def parameters(count: int) -> str:
    return f"{count / 1e6:.1f} M parameters" if count >= 50_000 else f"{count:,} parameters"
