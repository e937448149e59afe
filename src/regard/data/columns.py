"""Which columns of a table are read: what pairs, labels and running text have in common.

A first line with known names decides; without one, what the columns hold does. A person can always
decide: names, or numbers from 1.
"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from regard.data.samples import ENOUGH_ROWS, Sample, sampled
from regard.data.tables import TableLayout
from regard.errors import DataError

TEXT_NAMES = (
    *("text", "sentence", "review", "content", "body", "message", "comment", "utterance", "tweet"),
    *("question", "query", "document", "description", "headline", "title"),
)
TEXT = ("text",)
LABEL_NAMES = (
    *("label", "labels", "category", "class", "sentiment", "intent", "topic", "polarity"),
    *("emotion", "tag", "target", "stars", "rating"),
)


def text_layout(path: Path, text: str | int = "") -> TableLayout:
    """The column of the text."""
    sample = sampled(path)
    refuse_tagged(sample)
    header = has_header(sample, TEXT_NAMES, (text,))
    if text != "":
        at = chosen(sample, text, "text", header)
        return layout_of(sample, header, [at], TEXT, "as data.text says")
    named = by_name(sample, TEXT_NAMES, None) if header else None
    if named is not None:
        return layout_of(sample, header, [named], TEXT, "by its name in the first line")
    columns = sample.columns(header)
    longest, last = max(columns, key=lambda each: each.length), columns[-1]
    if longest.length > 2 * last.length or last.is_numeric:
        return layout_of(sample, header, [longest.number], TEXT, "the one with the longest text")
    return layout_of(sample, header, [last.number], TEXT, "the last" if len(columns) > 1 else "")


def has_header(sample: Sample, known: Sequence[str], asked: Sequence[str | int]) -> bool:
    """Whether the first row names columns, with a known name or one that a person asks for."""
    if any(isinstance(each, str) and each.lower() in sample.names for each in asked if each):
        return True
    return sample.shows_header or any(map(sample.names_column, known))


def layout_of(
    sample: Sample, header: bool, columns: Sequence[int], roles: tuple[str, ...], why: str
) -> TableLayout:
    return TableLayout(
        sample.delimiter,
        sample.quoted,
        tuple(sample.first_row) if header else (),
        tuple(columns),
        roles,
        why,
        sample.width,
        sample.skipped,
    )


def place_of(sample: Sample) -> str:
    return f"{sample.path}:{sample.skipped + 1}"


def one_column(sample: Sample, wanted: str) -> DataError:
    if sample.delimiter == "\t":
        return DataError(
            f"{place_of(sample)}: no tab, so only one column; write {wanted} on each line"
        )
    if not sample.delimiter:
        return DataError(f"{place_of(sample)}: the sheet has only one column; write two")
    return DataError(
        f"{place_of(sample)}: only one column; write two, with a comma, semicolon or tab between"
    )


def chosen(sample: Sample, wanted: str | int, setting: str, header: bool) -> int:
    """The column that a person has named or numbered."""
    place, names = place_of(sample), sample.names
    if isinstance(wanted, int):
        if not 1 <= wanted <= sample.width:
            raise DataError(f"{place}: there is no column {wanted}, only {sample.width}")
        return wanted - 1
    if wanted.strip().lower() in names:
        return names.index(wanted.strip().lower())
    of = "text" if setting == "text" else "label" if setting == "label" else "column"
    if header:
        raise DataError(
            f"{place}: no column {wanted!r} among {', '.join(names)}; give the {of}s' column that "
            f"name, or train with data.{setting} set to the name it has"
        )
    raise DataError(
        f"{place}: the columns have no names, and {wanted!r} is asked for; name them in the "
        f"first line, or train with data.{setting} set to a number"
    )


def by_name(sample: Sample, known: Sequence[str], taken: int | None) -> int | None:
    found = (sample.names.index(name) for name in known if name in sample.names)
    return next((each for each in found if each != taken), None)


def refuse_tagged(sample: Sample) -> None:
    """Refuse words with labels: one word on each line, and empty lines between sentences."""
    rows = [row for row in sample.rows if any(row)]
    empty = len(sample.rows) - len(rows)
    if len(rows) < ENOUGH_ROWS or empty < 0.01 * len(rows) or sample.width < 2:
        return
    *_, last = sample.columns(header=False)
    words = sum(" " not in cell for row in rows for cell in row)
    if words >= 0.99 * sum(map(len, rows)) and len(last.counts) <= max(20, len(rows) / 10):
        raise DataError(
            f"{sample.path}: each line holds one word, and empty lines are between sentences; "
            "words with labels are for --tagged"
        )
