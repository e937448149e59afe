"""Archives of aligned text files, as OPUS gives them: a zip with corpus.en and corpus.de in it.

Nothing is written to the disk; the files are read where they are.
"""

from __future__ import annotations

import re
import zipfile
import zlib
from collections import defaultdict
from collections.abc import Generator, Iterator
from contextlib import closing, contextmanager
from pathlib import Path, PurePosixPath

from regard.data.lines import (
    LARGEST_GZIP_RATIO,
    SMALLEST_SUSPECT_BYTES,
    lines_in,
    without_end,
)
from regard.errors import DataError
from regard.text.languages import NAMES, base_code

# Books.de-en.en, and what else an archive of OPUS holds.
_MEMBER = re.compile(r"(?P<stem>.+)\.(?P<code>[a-z]{2,3}(?:[-_][A-Za-z]{2,4})?)")
_NO_CODES = frozenset({"ids", "xml", "txt", "tmx", "md", "info", "tsv", "csv", "src", "trg", "tgt"})

Members = tuple[zipfile.ZipInfo, zipfile.ZipInfo]


@contextmanager
def opened(path: Path) -> Iterator[zipfile.ZipFile]:
    """A zip file; what is wrong with it is said in a sentence."""
    try:
        with zipfile.ZipFile(path) as archive:
            for each in archive.infolist():
                check_member(path, each)
            yield archive
    except (zipfile.BadZipFile, zlib.error, EOFError) as error:
        raise DataError(f"{path}: damaged zip ({error}); make or fetch the file again") from None
    except NotImplementedError as error:
        raise DataError(
            f"{path}: packed in a way that cannot be read ({error}); unpack it, and give the files"
        ) from None
    except OSError as error:
        raise DataError(
            f"{path}: cannot be read ({error.strerror or error}); check the file"
        ) from None


def check_member(path: Path, each: zipfile.ZipInfo) -> None:
    name = plain_name(each)
    if each.flag_bits & 1:
        raise DataError(f"{path}: {name} is locked with a password; give the files without one")
    large = each.file_size > SMALLEST_SUSPECT_BYTES
    if large and each.file_size > LARGEST_GZIP_RATIO * max(1, each.compress_size):
        raise DataError(
            f"{path}: {name} unpacks to more than {LARGEST_GZIP_RATIO} times its size, which text"
            " does not; unpack it yourself if you trust it"
        )


def plain_name(member: zipfile.ZipInfo) -> str:
    """The name without folders, and without what a terminal would obey."""
    name = PurePosixPath(member.filename.replace("\\", "/")).name
    return "".join(each if each.isprintable() else "?" for each in name)


def by_stem(archive: zipfile.ZipFile) -> dict[str, dict[str, zipfile.ZipInfo]]:
    """The files that are named after a language, by what is before its code."""
    found: dict[str, dict[str, zipfile.ZipInfo]] = defaultdict(dict)
    for each in archive.infolist():
        named = _MEMBER.fullmatch(plain_name(each))
        if named and not each.is_dir() and named["code"] not in _NO_CODES:
            found[named["stem"]].setdefault(named["code"], each)
    return {stem: files for stem, files in found.items() if len(files) > 1}


def languages_in_archive(path: Path) -> tuple[str, str]:
    """The only two languages that files in the archive are named after."""
    with opened(path) as archive:
        groups = by_stem(archive)
    codes = {code for files in groups.values() for code in files}
    known = {code for code in codes if base_code(code) in NAMES}
    if len(codes) > 2 and len(known) == 2:
        codes = known
    if len(codes) == 2:
        named = re.search(r"([a-z]{2,3})-([a-z]{2,3})$", next(iter(groups)))
        first, second = sorted(codes)
        return (second, first) if named and named.groups() == (second, first) else (first, second)
    if not codes:
        raise DataError(
            f"{path}: no two files in it are named after languages, like name.en and name.de;"
            " unpack it, and give the files"
        )
    raise DataError(
        f"{path}: its languages are {', '.join(sorted(codes))}; name two of them with --languages"
    )


def two_sides(
    path: Path, languages: tuple[str, str] | None = None
) -> Iterator[tuple[str, str, str]]:
    """Source, target and place of each line, of one pair of files after the other."""
    wanted = languages or languages_in_archive(path)
    with opened(path) as archive:
        found = [
            (source, target)
            for files in by_stem(archive).values()
            if (source := _in_language(files, wanted[0]))
            and (target := _in_language(files, wanted[1]))
        ]
        if not found:
            raise DataError(
                f"{path}: no two files in it are named after {wanted[0]} and {wanted[1]}, like"
                f" name.{wanted[0]} and name.{wanted[1]}; name its languages with --languages"
            )
        for members in found:
            yield from _aligned(path, archive, members)


def _in_language(files: dict[str, zipfile.ZipInfo], code: str) -> zipfile.ZipInfo | None:
    near = (each for name, each in files.items() if base_code(name) == base_code(code))
    return files.get(code) or next(near, None)


def _aligned(
    path: Path, archive: zipfile.ZipFile, members: Members
) -> Iterator[tuple[str, str, str]]:
    names = [f"{path}/{plain_name(each)}" for each in members]
    with (
        closing(_lines(archive, members[0], names[0])) as sources,
        closing(_lines(archive, members[1], names[1])) as targets,
    ):
        number = 0
        for number, source in enumerate(sources, start=1):
            if (target := next(targets, None)) is None:
                raise _uneven(names, number + sum(1 for _ in sources), number - 1)
            yield source, target, f"{names[0]}:{number}"
        if further := sum(1 for _ in targets):
            raise _uneven(names, number, number + further)


def _uneven(names: list[str], sources: int, targets: int) -> DataError:
    return DataError(
        f"{names[1]}: {targets} lines, but {names[0]} has {sources};"
        " each line of one file must translate the same line of the other"
    )


def _lines(archive: zipfile.ZipFile, member: zipfile.ZipInfo, where: str) -> Generator[str]:
    with archive.open(member) as file:
        for number, line in enumerate(lines_in(file, where), start=1):  # type: ignore[arg-type]
            try:
                yield without_end(line).decode()
            except UnicodeDecodeError as error:
                column = len(line[: error.start].decode()) + 1
                raise DataError(
                    f"{where}:{number}: not valid UTF-8 (byte 0x{line[error.start]:02x} at column"
                    f" {column}); unpack it, and save the file as UTF-8"
                ) from None
