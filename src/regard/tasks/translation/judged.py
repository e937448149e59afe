"""How sure the translations of a document are: in the document, or in a table beside it."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from regard.files import write_file
from regard.tasks.translation.confidence import Confidence
from regard.tasks.translation.kept import Made
from regard.text.documents.document import Document, HowSure, Pieces, words_of

COLUMNS = ("number", "line", "verdict", "sure", "doubtful", "source", "translation")


@dataclass(frozen=True)
class JudgedText:
    """A text of a document that the model translated.

    Attributes
    ----------
    number : int
        Its number among the texts of the document, from 1.
    line : int
        Where it is in the file.
    source : str
    text : str
        Its translation.
    confidence : Confidence
        How sure that is.
    """

    number: int
    line: int
    source: str
    text: str
    confidence: Confidence

    @property
    def verdict(self) -> str:
        """`"likely fine"` or `"check"`."""
        return self.confidence.verdict

    def row(self) -> str:
        sure = f"{self.confidence.probability:.0%}"
        doubtful = " ".join(self.confidence.doubtful)
        cells = [
            f"{self.number}",
            f"{self.line}",
            self.verdict,
            sure,
            doubtful,
            self.source,
            self.text,
        ]
        return "\t".join(" ".join(each.split()) for each in cells) + "\n"


def judged_texts(document: Document, made: Mapping[int, Made]) -> list[JudgedText]:
    """The texts that the model translated; the document is told how sure each is."""
    found = []
    for number, each in sorted(made.items()):
        if each.confidence is not None:
            document.sure[number] = how_sure(each.confidence)
            segment = document.segments[number]
            source, text = plain(segment.pieces), plain(each.pieces)
            found.append(JudgedText(number + 1, segment.line, source, text, each.confidence))
    return found


def how_sure(confidence: Confidence) -> HowSure:
    """What a document says of a translation."""
    return HowSure(confidence.probability, confidence.verdict)


def plain(pieces: Pieces) -> str:
    return words_of(pieces).strip()


def write_table(out: Path, judged: Sequence[JudgedText]) -> Path:
    """Write a table beside a document that has no place for it."""
    table = out.with_name(f"{out.name}.confidence.tsv")
    rows = ["\t".join(COLUMNS) + "\n", *(each.row() for each in judged)]
    write_file(table, "".join(rows).encode())
    return table
