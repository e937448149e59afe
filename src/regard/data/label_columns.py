"""Which columns of a table hold the labels and the texts."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from regard.data.columns import (
    LABEL_NAMES,
    TEXT_NAMES,
    by_name,
    chosen,
    has_header,
    layout_of,
    one_column,
    place_of,
    refuse_tagged,
)
from regard.data.samples import ENOUGH_ROWS, Column, Sample, sampled
from regard.data.tables import TableLayout
from regard.errors import DataError

ROLES = ("label", "text")


def label_layout(path: Path, label: str | int = "", text: str | int = "") -> TableLayout:
    """The columns of label and text."""
    sample = sampled(path)
    refuse_tagged(sample)
    if sample.width < 2:
        raise one_column(sample, "label, tab, text")
    header = has_header(sample, (*TEXT_NAMES, *LABEL_NAMES), (label, text))
    label_at = chosen(sample, label, "label", header) if label != "" else None
    text_at = chosen(sample, text, "text", header) if text != "" else None
    if label_at is not None and text_at is not None:
        return layout_of(
            sample, header, [label_at, text_at], ROLES, "as data.label and data.text say"
        )
    if header:
        text_at = by_name(sample, TEXT_NAMES, label_at) if text_at is None else text_at
        label_at = by_name(sample, LABEL_NAMES, text_at) if label_at is None else label_at
    if label_at is None or text_at is None:
        at, why = _label_and_text(sample, header, label_at, text_at)
        return layout_of(sample, header, at, ROLES, why)
    return layout_of(sample, header, [label_at, text_at], ROLES, "by the names in the first line")


def _label_and_text(
    sample: Sample, header: bool, label_at: int | None, text_at: int | None
) -> tuple[list[int], str]:
    """Label and text by what the columns hold: a label has few values, a text has many."""
    columns = sample.columns(header)
    free = [each for each in columns if each.number not in (label_at, text_at)]
    if label_at is not None:
        return [label_at, _longest(free).number], "the label as it is named, the rest is text"
    if text_at is not None:
        return [_label_of(sample, header, free).number, text_at], "the text by its name"
    first, last = columns[0], columns[-1]
    rows = max(len(each.values) for each in columns)
    if len(columns) > 2 and (first.has_few_values or rows < ENOUGH_ROWS):
        return [0, last.number], "the label first, the text last"
    labels = [each for each in columns if each.has_few_values and not each.is_constant]
    if len(columns) > 2:
        label = _label_of(sample, header, labels)
        text = _longest([each for each in columns if each is not label])
        return [label.number, text.number], f"column {label.number + 1} has few values"
    if len(labels) != 1 or rows < 4:
        found = _shorter(first, last) or (first if rows < ENOUGH_ROWS else None)
        if found is None or (not labels and rows >= ENOUGH_ROWS):
            raise _cannot_tell(sample, columns)
        label = found
    else:
        label = labels[0]
    if label is first:
        return [0, 1], ""
    return [1, 0], f"column 2 has only {len(label.counts)} different values"


def _longest(columns: Sequence[Column]) -> Column:
    return max(columns, key=lambda each: (not each.is_numeric, each.length))


def _shorter(first: Column, last: Column) -> Column | None:
    """Which of two columns is the label where both have few values, or too few rows to see."""
    for label, text in ((first, last), (last, first)):
        if text.spaced >= 0.5 > label.spaced or text.length > 3 * label.length:
            return label
    return None


def _label_of(sample: Sample, header: bool, columns: Sequence[Column]) -> Column:
    """The only column that can be the label."""
    few = [each for each in columns if each.has_few_values]
    found = few if len(few) == 1 else list(columns)
    if len(found) == 1:
        return found[0]
    if header:
        names = ", ".join(sample.names)
        raise DataError(
            f"{place_of(sample)}: no column 'label' among {names}; give the labels' column that "
            "name, or train with data.label set to the name it has"
        )
    raise _cannot_tell(sample, sample.columns(header))


def _cannot_tell(sample: Sample, columns: Sequence[Column]) -> DataError:
    held = "; ".join(
        f"column {each.number + 1} has {len(each.counts):,} different values in "
        f"{len(each.values):,} rows ({each.examples(2)})"
        for each in columns
    )
    pairs = all(each.spaced >= 0.5 and not each.has_few_values for each in columns)
    other = "; sentences and their translations are for --pairs" if pairs else ""
    return DataError(
        f"{sample.path}: it cannot be told which column is the label: {held}; set data.label and "
        f"data.text to the numbers of the columns{other}"
    )
