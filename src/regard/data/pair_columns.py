"""Which columns of a table hold the source and the target."""

from __future__ import annotations

import re
from collections.abc import Collection, Mapping, Sequence
from pathlib import Path
from typing import Any

from regard.data.columns import (
    LABEL_NAMES,
    TEXT_NAMES,
    chosen,
    has_header,
    layout_of,
    one_column,
    place_of,
    refuse_tagged,
)
from regard.data.samples import ENOUGH_ROWS, ID, Column, Sample, sampled
from regard.data.tables import TableLayout
from regard.errors import DataError
from regard.text.languages import NAMES, OWN_NAMES, base_code

SIDES = ("source", "target")
SOURCE_NAMES = (
    *("source", "src", "original", "source_text", "source text", "source segment", "quelle"),
    *("quelltext", "ausgangstext", "texte source", "origen", "texto original", "originale"),
    *("origem", "bron", "brontekst"),
)
TARGET_NAMES = (
    *("target", "tgt", "trg", "translation", "target_text", "target text", "target segment"),
    *("ziel", "zieltext", "übersetzung", "cible", "texte cible", "traduction", "destino"),
    *("traducción", "traduzione", "tradução", "doel", "doeltekst", "vertaling"),
)
# A column with fewer values than this, each of them often, holds no sentences.
MOST_LABELS = 20

_IN_BRACKETS = re.compile(r"\s*[(\[][^)\]]*[)\]]$")
_CODES = {name.lower(): code for code, name in NAMES.items()} | OWN_NAMES


def language_of(name: str) -> str:
    """The code of a language from the name of a column: en of "English (UK)", en-GB of "en-GB"; ""
    if it is none.
    """
    name = _IN_BRACKETS.sub("", name).strip()
    if name.lower() in _CODES:
        return _CODES[name.lower()]
    return name if len(name) <= 7 and base_code(name) in NAMES else ""


def named_sides(names: Collection[str]) -> tuple[str, str] | None:
    """Which of these names are the usual ones of a source and a target."""
    source, target = (
        next((name for name in known if name in names), None)
        for known in (SOURCE_NAMES, TARGET_NAMES)
    )
    return (source, target) if source and target else None


def languages_of_keys(entries: Sequence[Mapping[str, Any]]) -> tuple[str, str] | None:
    """The two codes among the keys of some objects under which there is text."""
    keys = entries[0] if entries else ()
    if named_sides(keys):
        return None
    codes = [
        key
        for key in keys
        if language_of(key) == key and any(_is_text(entry.get(key)) for entry in entries)
    ]
    return (codes[0], codes[1]) if len(codes) >= 2 else None


def _is_text(value: Any) -> bool:
    return isinstance(value, str) and ID.fullmatch(value) is None


def pair_layout(
    path: Path,
    languages: tuple[str, str] | None = None,
    columns: Sequence[str | int] = (),
    turned: bool = False,
) -> TableLayout:
    """The columns of source and target. `languages` are the names to look for, `columns` those that
    a person has chosen; `turned` if the file's name says that the target comes first.
    """
    sample = sampled(path)
    refuse_tagged(sample)
    named = _named_pair(sample, None if columns else languages)
    if columns:
        header = named is not None or has_header(sample, (*TEXT_NAMES, *LABEL_NAMES), columns)
        at = [chosen(sample, each, "columns", header) for each in columns]
        return layout_of(sample, header, at, SIDES, "as data.columns says")
    if named is not None:
        at, why = named
        if turned and "languages" not in why:
            at, why = at[::-1], f"{why}, in the order that the file's name shows"
        return layout_of(sample, True, at, SIDES, why)
    _refuse_labels_by_name(sample)
    header = sample.shows_header
    at, why = _text_pair(sample, header)
    if turned:
        at, why = at[::-1], "turned round, as the file's name shows"
    return layout_of(sample, header, at, SIDES, why)


def _named_pair(sample: Sample, languages: tuple[str, str] | None) -> tuple[list[int], str] | None:
    """The two columns, if the first line names them."""
    if not sample.may_be_header:
        return None
    names = [_IN_BRACKETS.sub("", name) for name in sample.names]
    if sides := named_sides(names):
        return [names.index(side) for side in sides], "by the names in the first line"
    texts = [not (each.is_numeric or each.is_ids) for each in sample.columns(header=True)]
    found = {
        at: base_code(code)
        for at, name in enumerate(names)
        if (code := language_of(name)) and texts[at]  # "id" is Indonesian or a column of ids
    }
    if languages is None:
        pair = list(found)[:2]
        if len(pair) < 2 or found[pair[0]] == found[pair[1]]:
            return None
        return pair, "by the languages in the first line"
    exact = [[at for at, name in enumerate(names) if name == each.lower()] for each in languages]
    near = [[at for at, code in found.items() if code == base_code(each)] for each in languages]
    pair = [(same or alike)[0] for same, alike in zip(exact, near, strict=True) if same or alike]
    if len(pair) == 2 and pair[0] != pair[1]:
        return pair, "by the languages in the first line"
    if len(found) == sample.width >= 2:
        raise DataError(
            f"{place_of(sample)}: the columns are {', '.join(sample.first_row)}, and "
            f"{languages[0]} and {languages[1]} are asked for; give a table of these languages, or "
            "name its own"
        )
    return None


def _text_pair(sample: Sample, header: bool) -> tuple[list[int], str]:
    """The first two columns that hold text."""
    columns = sample.columns(header)
    if len(columns) < 2:
        raise one_column(sample, "source, tab, target")
    texts = [each for each in columns if not (each.is_numeric or each.is_constant)]
    sentences = [each for each in texts if not (_like_labels(each) or each.is_ids)]
    for found in (sentences, texts):
        if len(found) >= 2:
            at = [found[0].number, found[1].number]
            break
    else:
        at = [0, 1]
    pair = [columns[each] for each in at]
    for each, other in (pair, pair[::-1]):
        if _like_labels(each) and not _like_labels(other):
            raise DataError(
                f"{sample.path}: column {each.number + 1} has only {len(each.counts)} different "
                f"values in {len(each.values):,} rows ({each.examples()}), as labels have; texts "
                "and their labels are for --labelled; if these are pairs, set data.columns to the "
                "two columns"
            )
    if at != [0, 1]:
        skipped = [_skipped(each) for each in columns[: at[1]] if each.number not in at]
        return at, f"the first two with text: {', '.join(skipped)}"
    if odd := [_skipped(each) for each in pair if each.is_numeric or each.is_ids]:
        return at, f"though {', '.join(odd)}"
    return at, "the first two" if len(columns) > 2 else "below a line of names" * header


def _skipped(column: Column) -> str:
    only = "ids" if column.is_ids else f"only {column.examples()}"
    what = "numbers" if column.is_numeric else only
    return f"column {column.number + 1} holds {what}"


def _like_labels(column: Column) -> bool:
    few = len(column.counts) <= min(MOST_LABELS, len(column.values) / 10)
    return len(column.values) >= 2 * ENOUGH_ROWS and few


def _refuse_labels_by_name(sample: Sample) -> None:
    text, label = (
        next((name for name in known if sample.names_column(name)), None)
        for known in (TEXT_NAMES, LABEL_NAMES)
    )
    if text and label:
        raise DataError(
            f"{place_of(sample)}: the columns are {', '.join(sample.first_row)}, so these are "
            "texts and their labels, which are for --labelled; if they are pairs, set data.columns "
            "to the two columns"
        )
