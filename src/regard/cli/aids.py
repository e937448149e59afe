"""What helps a translator: a glossary and a translation memory, as commands take them, and what was
used of them.
"""

from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

from cyclopts import Parameter
from cyclopts.validators import Number

if TYPE_CHECKING:
    from regard.run import Run
    from regard.tasks.translation.marking import TranslatedText
    from regard.tasks.translation.memories import Aids
    from regard.tasks.translation.translation import Translation
    from regard.text.terms import TermUse


@dataclass
class AidFlags:
    """Terms and texts that are translated already.

    Parameters
    ----------
    glossary
        Terms and their translations: a .tsv, .csv or .xlsx of two columns. A term that is its own
        translation, or has none, stays as it is.
    memory
        A translation memory, whose texts are not translated again: a .tmx, or another file of
        pairs. Repeat it for more.
    min_match
        The least percentage of the same words of a similar text that the memory suggests.
    """

    glossary: Path | None = None
    memory: Annotated[tuple[Path, ...], Parameter(negative=())] = ()
    min_match: Annotated[int, Parameter(validator=Number(gte=1, lte=100))] = 75

    def given(self) -> str:
        """An option that was given; "" if none was."""
        return "--glossary" if self.glossary else "--memory" if self.memory else ""

    def read(self, run: "Run") -> "Aids":
        """What is in the files, for the languages of a run."""
        from regard.tasks.translation.glossaries import glossary_from
        from regard.tasks.translation.memories import Aids
        from regard.tasks.translation.translator import languages_of

        languages, memory = languages_of(run), None
        if self.memory:
            from regard.data.memories import read_memory

            memory = read_memory(self.memory, languages)
        return Aids(glossary_from(self.glossary, languages), memory, self.min_match)


@dataclass
class Used:
    """What was used of the glossary and of the memory."""

    aids: "Aids"
    texts: int = 0
    taken: int = 0
    terms: "list[TermUse]" = field(default_factory=list)

    def add(self, found: "Sequence[TranslatedText | Translation]") -> None:
        self.texts += len(found)
        self.taken += sum(each.match is not None and each.match.percent == 100 for each in found)
        self.terms += [term for each in found for term in each.terms]

    def report(self) -> None:
        from regard.cli.display import say
        from regard.tasks.translation.glossaries import remark

        if self.aids.glossary:
            say(f"{remark(self.terms) or 'No terms in the texts'}.")
        if self.aids.memory is not None:
            say(f"{self.taken:,} of {self.texts:,} texts taken from the memory.")


HelpFlags = Annotated[AidFlags | None, Parameter(name="*")]
