"""Translator: sentences in one language to sentences in another.

What it does is written down in parts: loading, searching, marking (tags and placeholders),
translating_files, looking (inside the model), confidence and corrections. PyTorch is loaded where
it is needed, so that another engine starts at once.
"""

from collections.abc import Callable, Iterable
from contextlib import suppress
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Self, get_args, overload

from regard.decode.search import Search
from regard.engines import Engine, EngineName
from regard.errors import RequestError, RunError
from regard.tasks.inputs import parameters, same_length, texts_of
from regard.tasks.task import Evaluation, Test
from regard.tasks.translation.confidence import calibration_of
from regard.tasks.translation.corrections import corrections_of
from regard.tasks.translation.glossaries import GivenGlossary
from regard.tasks.translation.loading import loaded
from regard.tasks.translation.memories import GivenMemory, aids_from
from regard.tasks.translation.searching import Searches
from regard.tasks.translation.translating_files import TranslatesFiles
from regard.text.formatted import Format
from regard.text.tokenizer import Tokenizers

if TYPE_CHECKING:
    from regard.models import Model
    from regard.run import Run


def languages_of(run: "Run") -> tuple[str, str] | None:
    """The languages of a run: as it says, its recipe, or the names of its training files."""
    with suppress(RunError):  # a damaged run.json leaves it to the recipe
        match run.info().get("languages"):
            case [str(source), str(target)]:
                return source, target
    codes: tuple[str, str] | None = run.recipe_for("translation").data.codes()
    return codes


class Translator(Searches, TranslatesFiles):
    """Translates sentences of one language into another.

    `regard.load` or `Translator.load` gives one of a run folder.

    Examples
    --------
    >>> import regard
    >>> translator = regard.load("runs/demo")
    >>> translator.translate("Jane visite l'Afrique.")
    'Jane visits Africa.'
    >>> translator.translate(["Marie habite à Paris.", ""])
    ['Marie lives in Paris.', '']
    >>> translator.align("Jane visite l'Afrique.")
    Alignment(Jane–Jane visite–visits l'Afrique.–Africa.)
    """

    def __init__(
        self,
        model: "Callable[[], Model]",
        engine: Engine,
        tokenizers: Tokenizers,
        search: Search,
        limit: int,
        folder: Path | None = None,
    ) -> None:
        self._model = model
        self.engine = engine
        self.tokenizers = tokenizers
        self.search = search
        self.limit = limit
        self.folder = folder
        # What says how sure a translation is; None in a run that is not calibrated.
        self.calibration = calibration_of(folder) if folder else None
        self.corrections = corrections_of(folder) if folder else None

    def __repr__(self) -> str:
        codes = self.languages()
        facts = [f"{codes[0]} → {codes[1]}"] if codes else []
        facts += [parameters(self._count()), f"beam {self.search.beam_size}"]
        where = repr(str(self.folder)) if self.folder else "not saved"
        return f"Translator({where}: {', '.join(facts)})"

    def _count(self) -> int:
        """The number of parameters, without PyTorch where a finished run says it."""
        from regard.run import Run

        with suppress(RunError):
            if self.folder and (count := Run(self.folder).info().get("parameters")):
                return int(count)
        return sum(each.numel() for each in self.model.parameters())

    @classmethod
    def load(
        cls,
        folder: Path | str,
        device: str = "cpu",
        engine: EngineName = "torch",
        int8: bool = False,
        shortlist: bool = False,
    ) -> Self:
        """Load the translator of a run folder.

        Parameters
        ----------
        folder
            The run folder.
        device
            cpu, cuda, mps, or auto for the best that there is.
        engine
            What searches: `"torch"`, `"ctranslate2"`, or `"auto"`, which prefers ctranslate2.
        int8
            With ctranslate2: calculate with 8-bit numbers, which is faster and changes some words.
        shortlist
            With ctranslate2: only words that the run's shortlist has for a source, or for others
            that are searched with it.

        Returns
        -------
        Translator

        Raises
        ------
        RunError
            There is no run in the folder, or one of another task.
        RequestError
            The engine cannot do what is asked for.
        """
        return cls(*loaded(Path(folder), device, engine, int8, shortlist=shortlist))

    def languages(self) -> tuple[str, str] | None:
        """The languages, such as `("fr", "en")`: as the run says, its recipe, or the names of its
        training files; None if nothing says them.
        """
        from regard.run import Run

        return None if self.folder is None else languages_of(Run(self.folder))

    @property
    def model(self) -> "Model":
        return self._model()

    @overload
    def translate(  # type: ignore[overload-overlap]
        self,
        texts: str,
        beam_size: int | None = None,
        format: Format = "text",
        glossary: GivenGlossary = None,
        memory: GivenMemory = None,
    ) -> str: ...
    @overload
    def translate(
        self,
        texts: Iterable[str],
        beam_size: int | None = None,
        format: Format = "text",
        glossary: GivenGlossary = None,
        memory: GivenMemory = None,
    ) -> list[str]: ...
    def translate(
        self,
        texts: str | Iterable[str],
        beam_size: int | None = None,
        format: Format = "text",
        glossary: GivenGlossary = None,
        memory: GivenMemory = None,
    ) -> str | list[str]:
        """Translate texts. Placeholders such as `%s` and `{name}`, addresses and tags are in the
        translations exactly as in the texts, and terms as in the glossary.

        Parameters
        ----------
        texts
            A text, or several in a list, an iterator or a column of a table. An empty text stays
            empty; a long one is translated in parts.
        beam_size
            Hypotheses kept at each step; by default, as the run's recipe says.
        format
            How texts are written: `"text"`, or `"html"` or `"xml"`, of which sentences are
            translated one by one, and entities are read.
        glossary
            Terms and their translations, such as `{"dog": "Hund"}`, or a .tsv, .csv or .xlsx of
            them. A term that is its own translation stays as it is.
        memory
            A translation memory: a .tmx, or another file of pairs. Texts that it has are not
            translated again.

        Returns
        -------
        str or list of str
            The best translation: one for a text, a list in the same order for several.

        Raises
        ------
        RequestError
            What was given is not a text.
        """
        search = self.search if beam_size is None else replace(self.search, beam_size=beam_size)
        if format not in get_args(Format):
            raise RequestError(f"format {format!r}: is unknown; use text, html or xml")
        aids = aids_from(glossary, memory, self.languages())
        found = self.helped(texts_of(texts, "translate"), format, search, aids)
        return found[0].text if isinstance(texts, str) else [each.text for each in found]

    def evaluate(
        self,
        sources: Iterable[str],
        references: Iterable[str],
        bootstrap: int = 1000,
        confidence: bool = False,
    ) -> Evaluation:
        """Score the translator on sentences whose translations are known.

        Parameters
        ----------
        sources
            Sentences that it has not learned from.
        references
            Their translations, one for each.
        bootstrap
            Resamples for the 95 % intervals; 0 leaves them out.
        confidence
            Whether to measure how reliable the confidence of its translations is.

        Returns
        -------
        Evaluation
            BLEU, chrF, TER and exact matches, with sacreBLEU's signatures and with intervals.

        Raises
        ------
        RequestError
            There are not as many references as sources, or none.

        Examples
        --------
        >>> import regard
        >>> translator = regard.load("runs/demo")
        >>> found = translator.evaluate(["Jane visite l'Afrique."], ["Jane visits Africa."])
        >>> found.score("exact")
        100.0
        """
        from regard.tasks.translation.evaluate import scored

        given, true = texts_of(sources, "evaluate"), texts_of(references, "evaluate")
        same_length("evaluate", sources=given, references=true)
        return scored(self, given, true, Test(bootstrap=bootstrap, confidence=confidence))
