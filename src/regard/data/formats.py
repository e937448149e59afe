"""Files that are not text in UTF-8: what they are, and what to do with them."""

from __future__ import annotations

import re
import shlex
from pathlib import Path

from regard.errors import DataError

HEAD_BYTES = 65_536
# A stray NUL is only odd; a file with more of them than this is not text in UTF-8.
MOST_NULS = 0.01

_TABLE = "export it as .csv or .tsv with two columns, source and target"
_PAIRS = "give it to --pairs, or export it as .csv with the columns that are asked for"
_SHEET = "save the sheet as .csv (in UTF-8), which is read with its columns"
_DOCUMENT = "save its text as .txt, one sentence on each line"
_ARCHIVE = "unpack it, and give the files in it"
_COLUMNS = "write it as .csv or .jsonl (in pandas: to_csv(…, index=False))"

# What a file with this ending is, and what to do with it.
_ENDINGS = {
    ".tmx": ("a translation memory", _PAIRS),
    **dict.fromkeys((".tbx", ".sdltm"), ("a database of translations", _TABLE)),
    **dict.fromkeys((".po", ".xlf", ".xliff"), ("a translation file", _PAIRS)),
    ".pot": ("a template without translations", "give the .po files that were made from it"),
    ".sdlxliff": ("a translation file of Trados", "export it as .tmx"),
    **dict.fromkeys((".xlsx", ".xls", ".xlsm", ".ods", ".numbers"), ("a spreadsheet", _SHEET)),
    **dict.fromkeys((".docx", ".doc", ".odt", ".rtf", ".pdf", ".epub"), ("a document", _DOCUMENT)),
    **dict.fromkeys((".html", ".htm", ".xhtml", ".xml"), ("a page of markup", _DOCUMENT)),
    **dict.fromkeys((".srt", ".vtt", ".ass"), ("a file of subtitles", _DOCUMENT)),
    **dict.fromkeys((".zip", ".tar", ".tgz", ".7z", ".rar"), ("an archive", _ARCHIVE)),
    **dict.fromkeys((".xz", ".zst", ".lz4"), ("compressed in another way than .gz", _ARCHIVE)),
    **dict.fromkeys((".parquet", ".arrow", ".feather", ".npz"), ("a binary table", _COLUMNS)),
}
_BEGINNINGS = {
    b"PK\x03\x04": ("a zip file, as .xlsx, .docx and .ods are", f"{_SHEET}, or its text as .txt"),
    b"%PDF-": ("a PDF", _DOCUMENT),
    b"\xd0\xcf\x11\xe0": ("an old Office file", f"{_SHEET}, or its text as .txt"),
    b"\x1f\x8b": ("compressed with gzip", "give it a name that ends in .gz"),
    b"BZh": ("compressed with bzip2", "give it a name that ends in .bz2"),
    b"\xfd7zXZ": ("compressed with xz", _ARCHIVE),
    b"\x28\xb5\x2f\xfd": ("compressed with zstd", _ARCHIVE),
    b"<?xml": ("XML", f"{_TABLE}, or its text as .txt"),
    b"<!DOCTYPE": ("a page of markup", _DOCUMENT),
}
_MARKS = {
    b"\xff\xfe\0\0": "UTF-32",
    b"\0\0\xfe\xff": "UTF-32",
    b"\xff\xfe": "UTF-16",
    b"\xfe\xff": "UTF-16",
}
_LINE_FEEDS = r"tr '\r' '\n'"
_SEVERAL_BYTES = re.compile(rb"[\xc2-\xdf][\x80-\xbf]|[\xe0-\xef][\x80-\xbf]{2}")
_HIGH = re.compile(rb"[\x80-\xff]")
_LETTER = re.compile(rb"[A-Za-z\x80-\xff]")


def refuse_ending(path: Path, ending: str) -> None:
    if ending in _ENDINGS:
        what, advice = _ENDINGS[ending]
        raise DataError(f"{path}: this is {what} ({ending}), which cannot be read yet; {advice}")


def refuse_content(path: Path, head: bytes) -> None:
    """Refuse a file whose first bytes are no text in UTF-8."""
    for beginning, (what, advice) in _BEGINNINGS.items():
        if head.removeprefix(b"\xef\xbb\xbf").startswith(beginning):
            raise DataError(f"{path}: this is {what}, not plain text; {advice}")
    for mark, name in _MARKS.items():
        if head.startswith(mark):
            raise DataError(f"{path}: the text is in {name}; {conversion(path, name)}")
    if b"\n" not in head and head.count(b"\r") > 1:
        raise DataError(
            f"{path}: no line feed ends a line, only carriage returns, as on old Macs; "
            f"{_command(path, _LINE_FEEDS, 'lines')}"
        )
    nuls = head.count(0)
    if nuls > 1 and nuls > MOST_NULS * len(head):
        if name := wide_encoding(head):
            raise DataError(f"{path}: the text is in {name}; {conversion(path, name)}")
        raise DataError(
            f"{path}: {nuls:,} of the first {len(head):,} bytes are NUL, so this is a binary file;"
            " give a file of plain text"
        )


def wide_encoding(head: bytes) -> str:
    """UTF-16 or UTF-32 without a mark, by where its NUL bytes are; "" if it is neither."""
    shares = [head[i::4].count(0) / max(1, len(head[i::4])) for i in range(4)]
    if min(shares[2:]) > 0.9 and shares[0] < 0.1:
        return "UTF-32LE"
    if min(shares[:2]) > 0.9 and shares[3] < 0.1:
        return "UTF-32BE"
    even, odd = head[0::2].count(0), head[1::2].count(0)
    if odd > 1 and odd > 20 * even:
        return "UTF-16LE"
    if even > 1 and even > 20 * odd:
        return "UTF-16BE"
    return ""


def other_encoding(path: Path, line: bytes, head: bytes) -> str:
    """What to do with a file of which this line is not UTF-8."""
    if name := wide_encoding(head):
        return f"the text seems to be in {name}; {conversion(path, name)}"
    high, letters = len(_HIGH.findall(line)), len(_LETTER.findall(line))
    if _SEVERAL_BYTES.search(line) or _SEVERAL_BYTES.search(head) or 2 * high > letters:
        return "save the file as UTF-8"  # of a mixture, or of a script that bytes alone do not tell
    text = line.decode("cp1252", "replace")
    shown = " ".join(next(word for word in text.split() if not word.isascii())[:30].split())
    return (
        f'the text seems to be in Windows-1252 (Latin-1), where this is "{shown}"; '
        f"{conversion(path, 'WINDOWS-1252')}"
    )


def conversion(path: Path, encoding: str) -> str:
    """The command that makes UTF-8 of a file: train.fr.gz becomes train.utf8.fr."""
    return _command(path, f"iconv -f {encoding} -t UTF-8", "utf8")


def _command(path: Path, command: str, mark: str) -> str:
    packed = path.suffix.lower() in (".gz", ".bz2")
    plain = path.with_suffix("") if packed else path
    given, made = (
        shlex.quote(str(each)) for each in (path, plain.with_suffix(f".{mark}{plain.suffix}"))
    )
    if packed:
        unpack = "gzip" if path.suffix.lower() == ".gz" else "bzip2"
        return f"convert it with: {unpack} -dc {given} | {command} > {made}"
    return f"convert it with: {command} < {given} > {made}"
