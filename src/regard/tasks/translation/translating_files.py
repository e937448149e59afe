"""Whole documents, translated by a translator."""

from abc import ABC
from dataclasses import replace
from pathlib import Path

from regard.tasks.translation.confidence import SaysHowSure
from regard.tasks.translation.documents import How, TranslatedFile, translate_file
from regard.tasks.translation.glossaries import GivenGlossary
from regard.tasks.translation.marking import KeepsMarks
from regard.tasks.translation.memories import GivenMemory, aids_from
from regard.text.documents.document import Wish
from regard.text.documents.names import default_output
from regard.text.memory import USUAL


class TranslatesFiles(KeepsMarks, SaysHowSure, ABC):
    """Translates documents with all that it knows of texts."""

    def translate_file(
        self,
        path: Path | str,
        out: Path | str | None = None,
        *,
        overwrite: bool = False,
        column: str = "",
        into: str = "",
        beam_size: int | None = None,
        glossary: GivenGlossary = None,
        memory: GivenMemory = None,
        min_match: int = USUAL,
        confidence: bool = False,
    ) -> TranslatedFile:
        """Translate a document: PO, XLIFF, Word, subtitles, Markdown, spreadsheets and more. The
        output differs from it by the translations and nothing else.

        Parameters
        ----------
        path
            The document.
        out
            The file to write; by default, its name gets the language, as in manual.de.md. A file
            that holds both languages may be its own output.
        overwrite
            Translate finished entries again, and replace an output that is there.
        column
            Of a table: the column to translate, by its name or number.
        into
            Of a table: the column for the translations, instead of the same one.
        beam_size
            Hypotheses kept at each step; by default, as the run's recipe says.
        glossary
            Terms and their translations, or a file of them.
        memory
            A translation memory: a .tmx, or another file of pairs.
        min_match
            The least percentage of the same words of a text that the memory suggests; XLIFF and PO
            hold such suggestions.
        confidence
            Whether to say how sure each translation is: in XLIFF and PO, or else in a table beside
            the output.

        Returns
        -------
        TranslatedFile
            The file written, and how many of its texts were translated now, before, and finished
            already; and what became of the terms.

        Raises
        ------
        DataError
            The document cannot be read, or the output is there already.
        """
        source, target = self.languages() or ("", "")
        wish = Wish(source, target, column, into, overwrite)
        given = Path(path)
        written = default_output(given, source, target) if out is None else Path(out)
        search = self.search if beam_size is None else replace(self.search, beam_size=beam_size)
        aids = aids_from(glossary, memory, self.languages(), min_match)
        if confidence:
            self.require_calibration()
        return translate_file(self, given, written, wish, How(search, aids, confidence))
