"""Signs in the text itself that a file was saved or exported wrongly."""

import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field

from regard.checks.report import EXAMPLES, Example, Finding, share
from regard.data.pair_columns import SOURCE_NAMES, TARGET_NAMES
from regard.text.languages import NAMES, OWN_NAMES

Line = tuple[str, str]  # a text and its place

# From this share of the lines with letters beyond ASCII on, all of the file was read wrongly; below
# the other, it is the text of somebody who wrote "PÅ”".
WHOLE_FILE, STRAY = 0.5, 0.01
LEAST_BROKEN = 3
# UTF-8 that was taken for Windows-1252 or Latin-1: a letter for the first byte, then one or two for
# the others. "é" becomes "Ã©", "’" becomes "â€™".
OTHERS = "".join(
    sorted({bytes([i]).decode("cp1252", "ignore") for i in range(128, 192)})
) + "".join(map(chr, range(128, 160)))
TWICE = re.compile(f"[ÂÃÄÅÎÏÐÑ×ØÙÚÛ][{OTHERS}]|[à-ï][{OTHERS}]{{2}}")
# An id or a number: one word with a digit in it.
DIGITS = re.compile(r"[#\w.:/-]*\d[\w.:/-]*")
HEADERS = (
    *("source", "target", "src", "tgt", "trg", "input", "output", "original", "reference"),
    *("text", "texts", "sentence", "sentences", "segment", "string", "review", "translation"),
    *("label", "labels", "class", "category", "sentiment", "topic", "tag", "tags", "pos", "ner"),
    *("title", "description", "body", "content", "comment", "message", "question", "answer"),
    *("word", "words", "token", "tokens", "id", "index", "lang", "language"),
)
WORDS_OF_HEADERS = (
    frozenset((*HEADERS, *SOURCE_NAMES, *TARGET_NAMES))
    | {name.lower() for name in NAMES.values()}
    | OWN_NAMES.keys()
)


def repaired(text: str) -> str:
    """The text as it was before it was read in a wrong encoding."""
    return text if text.isascii() else TWICE.sub(_letter, text)


def _letter(found: re.Match[str]) -> str:
    raw = b"".join(
        letter.encode("latin-1") if letter < "\xa0" else letter.encode("cp1252")
        for letter in found[0]
    )
    try:
        return raw.decode()
    except UnicodeError:
        return found[0]


def broken_characters(lines: Iterable[Line], name: str) -> Iterator[Finding]:
    """Letters that were read in a wrong encoding, or lost on the way."""
    total = beyond = lost = wrong = 0
    wrong_lines: list[Example] = []
    lost_lines: list[Example] = []
    for text, place in lines:
        total += 1
        if text.isascii():
            continue
        beyond += 1
        if (better := repaired(text)) != text:
            wrong += 1
            if len(wrong_lines) < EXAMPLES:
                wrong_lines.append(Example(place, (text, better)))
        if "\ufffd" in text:
            lost += 1
            if len(lost_lines) < EXAMPLES:
                lost_lines.append(Example(place, (text,)))
    if wrong >= max(LEAST_BROKEN, STRAY * beyond):
        yield Finding(
            "mojibake",
            "error" if wrong >= WHOLE_FILE * beyond else "warning",
            f"{name}: {share(wrong, total)} lines look like UTF-8 that was read as another "
            "encoding (“Ã©” for “é”)",
            "convert the original again, as UTF-8 from start to end",
            tuple(wrong_lines),
        )
    if lost:
        yield Finding(
            "lost-characters",
            "warning",
            f"{name}: {share(lost, total)} lines have a letter that was lost in a conversion (�)",
            "convert the original again, as UTF-8",
            tuple(lost_lines),
        )


@dataclass
class Cells:
    """What the quotes of a spreadsheet leave behind, and numbers where text should be."""

    total: int = 0
    with_quotes: int = 0
    quoted: int = 0
    doubled: int = 0
    numbers: int = 0
    examples: list[Example] = field(default_factory=list)
    first_numbers: list[Example] = field(default_factory=list)

    def add(self, text: str, place: str) -> None:
        self.total += 1
        if '"' in text:
            self.with_quotes += 1
            inner = text[1:-1].replace('""', "")
            if len(text) > 1 and text[0] == text[-1] == '"' and '"' not in inner:
                self.quoted += 1
                self.doubled += '""' in text[1:-1]
                if len(self.examples) < EXAMPLES:
                    self.examples.append(Example(place, (text,)))
        if DIGITS.fullmatch(text.strip()):
            self.numbers += 1
            if len(self.first_numbers) < EXAMPLES:
                self.first_numbers.append(Example(place, (text,)))

    @property
    def in_quotes(self) -> bool:
        """Whether a spreadsheet has put cells in quotes, and doubled the quotes in them."""
        if self.quoted < 0.8 * self.with_quotes or not self.quoted:
            return False
        return self.doubled > 0 or (self.total >= 10 and self.quoted >= 0.9 * self.total)

    @property
    def are_numbers(self) -> bool:
        return self.total >= 10 and self.numbers >= 0.9 * self.total


def quotes(cells: Cells, name: str) -> Iterator[Finding]:
    if cells.in_quotes:
        yield Finding(
            "quotes",
            "error" if cells.quoted >= 0.9 * cells.total else "warning",
            f"{name}: {share(cells.quoted, cells.total)} texts are in the quotes of a spreadsheet, "
            "which would be learned",
            "export it without quotes, or name the file .csv",
            tuple(cells.examples),
        )


def is_header(cells: Sequence[str]) -> bool:
    """Whether cells name their columns: "English" and "German", "id" and "source_text"."""
    names = [cell.strip().strip('"').lower() for cell in cells]
    return len(set(names)) == len(names) > 1 and all(map(names_column, names))


def names_column(cell: str) -> bool:
    parts = [part for part in re.split(r"[\W_]+", cell) if part]
    return (
        0 < len(parts) <= 3
        and all(part in WORDS_OF_HEADERS or part in NAMES or part.isdigit() for part in parts)
        and not cell.isdigit()
    )
