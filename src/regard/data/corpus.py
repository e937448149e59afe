"""Sentence pairs from files: every pair knows the file and line that it came from.

A corpus is two files of plain text, or one table or file of JSON. Several corpora may follow each
other; those whose names show the other direction are turned round.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Iterator, Sequence
from contextlib import closing
from dataclasses import dataclass, replace
from itertools import chain, islice, starmap
from pathlib import Path
from typing import Any

from regard.data import moses, tmx, translation_files
from regard.data.columns import LABEL_NAMES, TEXT_NAMES
from regard.data.lines import check_file, decoded, kind_of, raw_lines
from regard.data.objects import OBJECTS, objects
from regard.data.pair_columns import language_of, languages_of_keys, named_sides, pair_layout
from regard.data.pair_files import (
    ARCHIVES,
    MEMORIES,
    PAIR_KINDS,
    TRANSLATIONS,
    Languages,
    check_groups,
    codes_of,
    grouped,
)
from regard.data.spreadsheets import SPREADSHEETS, sheet_names
from regard.data.tables import TABLES, TableLayout, rows_of
from regard.data.translation_files import TranslationFile
from regard.errors import DataError
from regard.text.languages import NAMES, base_code

# So many objects are looked at to see which keys hold text.
FIRST_OBJECTS = 20

Columns = Sequence[str | int]


@dataclass(frozen=True, slots=True)
class Pair:
    """A source sentence, its translation, and the place it was read from ("train.en:17")."""

    source: str
    target: str
    place: str


@dataclass(frozen=True)
class Corpus:
    """Two files of plain text, source and target, or one file that holds both sides."""

    paths: tuple[Path, ...]
    languages: Languages | None = None
    columns: Columns = ()
    turned: bool = False  # its names show that the target comes first
    with_tags: bool = False  # tags of other programs are in the texts, as <1> and </1>

    def read(self) -> Iterator[Pair]:
        """Line i gives pair i, empty or not."""
        if len(self.paths) == 2:
            source, target = reversed(self.paths) if self.turned else self.paths
            return _aligned(source, target)
        path, kind = self.paths[0], kind_of(self.paths[0])
        if kind in OBJECTS:
            return _from_objects(path, self)
        if kind in MEMORIES:
            return starmap(Pair, tmx.two_texts(path, self.languages, self.with_tags))
        if kind in ARCHIVES:
            return starmap(Pair, moses.two_sides(path, self.languages))
        if kind in TRANSLATIONS:
            found = translation_files.two_texts(path, self.languages, self.with_tags)
            return starmap(Pair, found)
        return _from_columns(path, self.layout())

    def layout(self) -> TableLayout:
        """How its table is read."""
        return pair_layout(self.paths[0], self.languages, self.columns, self.turned)

    def remark(self) -> str:
        """A sentence on how it is read, where that had to be found out; else ""."""
        path, kind = self.paths[0], kind_of(self.paths[0])
        if kind in SPREADSHEETS and len(names := sheet_names(path)) > 1:
            said = self.layout().remark(path) or f"{path}:"
            return f'{said}; sheet "{names[0]}", the first of {len(names)}'.replace(":;", ":")
        if kind in TABLES:
            return self.layout().remark(path)
        if kind in TRANSLATIONS:
            return TranslationFile.read(path).remark()
        if not self.turned or kind in (*MEMORIES, *ARCHIVES):
            return ""
        files, direction = " and ".join(map(str, self.paths)), " → ".join(self.languages or ())
        return f"{files}: turned round, as their names show, so that they are {direction}"


def read_pairs(
    paths: Sequence[Path], languages: Languages | None = None, columns: Columns = ()
) -> Iterator[Pair]:
    """Pairs from corpora one after another: each is two files of plain text, or one .tsv, .csv,
    .xlsx, .tmx, .po, .xliff, .jsonl, .json or .zip; text may be packed as .gz or .bz2. `languages`
    are the columns or keys to look for, `columns` those that a person has chosen.
    """
    found = corpora(paths, languages, columns)
    return chain.from_iterable(each.read() for each in found)


def read_tagged_pairs(paths: Sequence[Path], languages: Languages | None = None) -> Iterator[Pair]:
    """The same for a memory: with the tags of other programs, as in `Click <1>here</1>`."""
    found = corpora(paths, languages)
    return chain.from_iterable(replace(each, with_tags=True).read() for each in found)


def corpora(
    paths: Sequence[Path],
    languages: Languages | None = None,
    columns: Columns = (),
    beside: Sequence[Path] = (),
) -> list[Corpus]:
    """The corpora of these files, in one direction: that of `languages`, or of the first corpus
    whose names show one. `beside` are other files that must be of the same languages.
    """
    groups = grouped(paths)
    check_groups(groups)
    shown = [codes for group in (*grouped(beside), *groups) if (codes := codes_of(group))]
    wanted = languages or next(iter(shown), None)
    # If no name shows the languages that are asked for, the names mean something else.
    meant = wanted is not None and any(_same(codes, wanted) is not None for codes in shown)
    found = []
    for group in groups:
        codes = codes_of(group)
        turned = _same(codes, wanted) if codes and wanted else False
        if turned is None and meant and codes and wanted and set(_bases(codes)) <= NAMES.keys():
            raise DataError(
                f"{group[0]}: its name shows {codes[0]} and {codes[1]}, but other files are "
                f"{wanted[0]} and {wanted[1]}; give files of the same two languages"
            )
        found.append(Corpus(group, wanted, tuple(columns), bool(turned)))
    return found


def _same(codes: Languages, wanted: Languages) -> bool | None:
    """False for the same two languages, True if they are turned round, None for others."""
    if codes == wanted[::-1]:
        return True
    if _bases(codes) == _bases(wanted):
        return False
    return True if _bases(codes) == _bases(wanted)[::-1] else None


def _bases(codes: Languages) -> Languages:
    return base_code(codes[0]), base_code(codes[1])


def languages_in_header(paths: Sequence[Path], columns: Columns = ()) -> Languages | None:
    """The languages that the first table names in its first line, or the keys of objects, or those
    of a translation memory or file or of the files in an archive.
    """
    for path in paths:
        if kind_of(path) in TRANSLATIONS:
            check_file(path, PAIR_KINDS)
            if codes := translation_files.languages_of_file(path):
                return codes
        if kind_of(path) in (*MEMORIES, *ARCHIVES):
            check_file(path, PAIR_KINDS)
            memory = kind_of(path) in MEMORIES
            return tmx.languages_of_units(path) if memory else moses.languages_in_archive(path)
        if kind_of(path) in OBJECTS and not columns:
            check_file(path)
            first = [_unwrapped(entry) for entry, _ in islice(objects(path), FIRST_OBJECTS)]
            if codes := languages_of_keys([entry for entry in first if isinstance(entry, dict)]):
                return codes
        if kind_of(path) in TABLES:
            check_file(path, PAIR_KINDS)
            layout = pair_layout(path, None, columns)
            named = [language_of(layout.header[at]) for at in layout.columns if layout.header]
            if len(named) == 2 and all(named):
                return named[0], named[1]
    return None


def held_out(source: str, seed: int, share: float) -> bool:
    """Whether a sentence belongs to the held-out share; the answer is always the same for it."""
    text = f"{seed}:{source}".encode("utf-8", "surrogatepass")
    digest = hashlib.blake2b(text, digest_size=8).digest()
    return int.from_bytes(digest, "big") < share * 2**64


def _aligned(source_path: Path, target_path: Path) -> Iterator[Pair]:
    with (
        closing(raw_lines(source_path)) as sources,
        closing(raw_lines(target_path)) as targets,
    ):
        number = 0
        for source in sources:
            target = next(targets, None)
            if target is None:
                raise _uneven(source_path, number + 1 + _count(sources), target_path, number)
            number += 1
            yield Pair(
                decoded(source, source_path, number),
                decoded(target, target_path, number),
                f"{source_path}:{number}",
            )
        if further := _count(targets):
            raise _uneven(source_path, number, target_path, number + further)


def _count(lines: Iterable[bytes]) -> int:
    return sum(1 for _ in lines)


def _uneven(source_path: Path, sources: int, target_path: Path, targets: int) -> DataError:
    return DataError(
        f"{target_path}: {targets} lines, but {source_path} has {sources};"
        " each line of one file must translate the same line of the other"
    )


def _from_columns(path: Path, layout: TableLayout) -> Iterator[Pair]:
    source, target = layout.columns
    needed = max(source, target) + 1
    for cells, place in rows_of(path, layout):
        if len(cells) < needed:
            if any(cells):
                raise _narrow(cells, needed, layout, place)
            yield Pair("", "", place)
        else:
            yield Pair(cells[source], cells[target], place)


def _narrow(cells: list[str], needed: int, layout: TableLayout, place: str) -> DataError:
    if len(cells) == 1 and layout.delimiter == "\t":
        return DataError(
            f"{place}: no tab, so only one column; write source, tab, target on each line"
        )
    many = "s" if len(cells) > 1 else ""
    return DataError(
        f"{place}: {len(cells)} column{many}, but column {needed} is read; write source and target"
        " on each line"
    )


def _from_objects(path: Path, corpus: Corpus) -> Iterator[Pair]:
    for entry, place in objects(path):
        if entry is None:
            yield Pair("", "", place)
            continue
        yield Pair(*_two_texts(_unwrapped(entry), corpus, place), place)


def _unwrapped(entry: Any) -> Any:
    """The two texts of {"translation": {"en": …, "de": …}}."""
    inner = entry.get("translation") if isinstance(entry, dict) else None
    return inner if isinstance(inner, dict) else entry


def _two_texts(entry: Any, corpus: Corpus, place: str) -> tuple[str, str]:
    languages = corpus.languages
    asked = tuple(map(str, corpus.columns))
    usual = named_sides(entry) if isinstance(entry, dict) else None
    for keys in (asked,) if asked else (usual, languages):
        if keys and isinstance(entry, dict) and all(key in entry for key in keys):
            source, target = entry[keys[0]], entry[keys[1]]
            if isinstance(source, str) and isinstance(target, str):
                turned = corpus.turned and keys == usual
                return (target, source) if turned else (source, target)
            raise DataError(f'{place}: "{keys[0]}" and "{keys[1]}" must both be text in quotes')
    has = entry.keys() if isinstance(entry, dict) else set()
    if not asked and has & set(TEXT_NAMES) and has & set(LABEL_NAMES):
        raise DataError(f"{place}: texts and their labels are for --labelled; give pairs")
    wanted = '"source" and "target"' if not asked else f'"{asked[0]}" and "{asked[-1]}"'
    if languages and not asked:
        wanted += f' or "{languages[0]}" and "{languages[1]}"'
    advice = "rename the keys" if languages else "rename the keys, or name the languages"
    raise DataError(f"{place}: no {wanted} in the object; {advice}")
