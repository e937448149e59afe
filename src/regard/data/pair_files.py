"""Which files make a corpus of pairs, and in which languages: what their names show."""

from __future__ import annotations

import os
import re
from collections.abc import Sequence
from itertools import chain
from pathlib import Path

from regard.data.lines import CONLL, check_file, head, kind_of
from regard.data.objects import OBJECTS
from regard.data.spreadsheets import SPREADSHEETS
from regard.data.tables import TABLES
from regard.errors import DataError

Languages = tuple[str, str]

MEMORIES = (".tmx",)
ARCHIVES = (".zip",)
TRANSLATIONS = (".po", ".xlf", ".xliff")
# One file holds both sides.
SINGLE = (*TABLES, *OBJECTS, *MEMORIES, *ARCHIVES, *TRANSLATIONS)
# Those that are no files of text.
PAIR_KINDS = (*SPREADSHEETS, *MEMORIES, *ARCHIVES, *TRANSLATIONS)

_ENDINGS = re.compile(
    r"(\.(txt|tsv|csv|jsonl|json|tmx|xlsx|zip|po|xlf|xliff))?(\.(gz|bz2))?$", re.IGNORECASE
)
_CODE = r"[a-z]{2,3}(?:[-_](?:[A-Z]{2}|[A-Z][a-z]{3}))?"
_ONE_CODE = re.compile(rf"(?:^|[._-])({_CODE})$")
_TWO_CODES = re.compile(rf"(?:^|[._-])({_CODE})-({_CODE})$")
_NO_CODES = frozenset({"src", "tgt", "trg", "ref", "hyp", "in", "out", "raw", "tok", "bpe", "dev"})


def grouped(paths: Sequence[Path]) -> list[tuple[Path, ...]]:
    """The files of each corpus, by their names alone; the last may lack its translations."""
    groups: list[tuple[Path, ...]] = []
    rest = list(paths)
    while rest:
        first = rest.pop(0)
        if kind_of(first) in SINGLE or not rest or kind_of(rest[0]) in SINGLE:
            groups.append((first,))
        else:
            groups.append((first, rest.pop(0)))
    return groups


def check_files(paths: Sequence[Path]) -> None:
    """Find the errors that show without reading: missing, unreadable, empty or unsuitable files."""
    check_groups(grouped(paths))


def check_groups(groups: Sequence[tuple[Path, ...]]) -> None:
    if not groups:
        raise DataError(
            "0 data files are given; give two files of plain text, or one .tsv, .csv, .xlsx, .tmx, "
            ".po, .xliff or .jsonl"
        )
    for path in chain.from_iterable(groups):
        check_file(path, PAIR_KINDS)
    seen: dict[tuple[int, int], Path] = {}
    for group in groups:
        if len(group) == 1 and kind_of(group[0]) in CONLL:
            raise DataError(f"{group[0]}: words with labels are for --tagged; give pairs")
        if len(group) == 1 and kind_of(group[0]) not in SINGLE:
            way = "give the file of translations after it, or a .tsv, .csv or .jsonl"
            if b"\t" in head(group[0]).partition(b"\n")[0]:
                way = "if it is a table, as its tabs suggest, give it a name that ends in .tsv"
            raise DataError(f"{group[0]}: one file of plain text holds no pairs; {way}")
        if len(group) == 2 and os.path.samefile(*group):
            raise DataError(
                f"{group[1]}: the same file is given for source and target; give the translations"
            )
        if len(groups) > 1 and len(group) == 2:
            _check_order(group)
        for path in group:
            status = path.stat()
            key = (status.st_dev, status.st_ino)
            if path.is_file() and key in seen:
                raise DataError(
                    f"{path}: the same file is given twice; set data.weights to repeat a corpus"
                )
            seen[key] = path


def _check_order(group: tuple[Path, ...]) -> None:
    codes = [match[1] for path in group if (match := _ONE_CODE.search(_stem(path)))]
    if len(codes) == 2 and codes[0] == codes[1] and not _NO_CODES.intersection(codes):
        raise DataError(
            f"{group[0]} and {group[1]}: both names show {codes[0]}; give each file with its "
            "translations after it, like a.en a.de b.en b.de"
        )


def _stem(path: Path) -> str:
    return _ENDINGS.sub("", path.name)


def language_codes(paths: Sequence[Path]) -> Languages | None:
    """The languages in the names of files: train.en and train.de, or corpus.en-de.tsv. With several
    corpora, those of the first whose names show them.
    """
    return next((codes for group in grouped(paths) if (codes := codes_of(group))), None)


def codes_of(group: tuple[Path, ...]) -> Languages | None:
    if len(group) == 2:
        found = [match[1] for path in group if (match := _ONE_CODE.search(_stem(path)))]
    else:
        match = _TWO_CODES.search(_stem(group[0]))
        found = list(match.groups()) if match else []
    if len(found) != 2 or found[0] == found[1] or _NO_CODES.intersection(found):
        return None
    return found[0], found[1]
