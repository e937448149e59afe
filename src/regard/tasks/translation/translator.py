"""Translator: sentences in one language to sentences in another.

PyTorch is loaded where it is needed, so that another engine starts at once.
"""

from collections.abc import Callable, Iterable, Sequence
from contextlib import suppress
from dataclasses import replace
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, Any, Self, get_args, overload

from regard.decode.hypothesis import Hypothesis
from regard.decode.search import Search
from regard.engines import Engine, EngineName, Stopped, never
from regard.engines.ctranslate2 import CTranslate2, fingerprint, graphics_cards
from regard.errors import RequestError, RunError
from regard.tasks.inputs import parameters, same_length, texts_of
from regard.tasks.task import Evaluation, Test
from regard.tasks.translation.confidence import SaysHowSure, calibration_of
from regard.tasks.translation.corrections import corrections_of, known_or
from regard.tasks.translation.glossaries import GivenGlossary
from regard.tasks.translation.looking import LooksInside
from regard.tasks.translation.marking import KeepsMarks
from regard.tasks.translation.memories import GivenMemory, aids_from
from regard.tasks.translation.parts import Parts, parts_of
from regard.tasks.translation.translation import Translation, joined, of_source
from regard.text.formatted import Format
from regard.text.memory import USUAL
from regard.text.tokenizer import Tokenizers

if TYPE_CHECKING:
    from regard.models import Model
    from regard.run import Run
    from regard.tasks.translation.documents import TranslatedFile


def languages_of(run: "Run") -> tuple[str, str] | None:
    """The languages of a run: as it says, its recipe, or the names of its training files."""
    with suppress(RunError):  # a damaged run.json leaves it to the recipe
        match run.info().get("languages"):
            case [str(source), str(target)]:
                return source, target
    codes: tuple[str, str] | None = run.recipe_for("translation").data.codes()
    return codes


class Translator(LooksInside, KeepsMarks, SaysHowSure):
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
        # The longest source in pieces; longer texts are translated in parts.
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
        if engine == "torch":
            if int8:
                raise RequestError("engine torch: has no int8; use ctranslate2 or leave int8 out")
            return cls._with_torch(folder, device)
        from regard.run import Run

        Run(Path(folder)).check_links()
        slow = cache(lambda: cls._with_torch(folder, device))
        otherwise = (lambda: slow().engine) if engine == "auto" else None
        try:
            if device not in ("auto", "cpu") or (engine == device == "auto" and graphics_cards()):
                raise RequestError(
                    f"engine ctranslate2: runs on the CPU, not on {device}; "
                    "use --engine torch or --device cpu"
                )
            loaded = fingerprint(Run(Path(folder)))
            fast = CTranslate2.of_run(Path(folder), int8=int8, otherwise=otherwise)
        except RequestError as error:
            if int8:
                raise RequestError(f"{error}; int8 is CTranslate2's alone, leave it out") from None
            if engine == "ctranslate2":
                raise
            return slow()
        except OSError:
            return slow()  # which says what the folder lacks
        return cls(
            lambda: unchanged(slow, Path(folder), loaded),
            fast,
            fast.tokenizers,
            fast.defaults,
            fast.longest_source,
            Path(folder),
        )

    @classmethod
    def _with_torch(cls, folder: Path | str, device: str) -> Self:
        from regard.engines.aligner import Aligner
        from regard.engines.native import Native
        from regard.machine.devices import choose_device
        from regard.run import Run
        from regard.weights import load_model

        run = Run.open(folder)
        recipe = run.recipe_for("translation")
        tokenizers = run.tokenizers()
        model: Any = load_model(run).to(choose_device(device))
        search = Search(**recipe.decode.model_dump())
        aligner = Aligner.of_run(run, getattr(recipe.model, "decoder_layers", 1))
        engine = Native(model, tokenizers.target.specials, aligner)
        limit = recipe.data.max_length - 1
        return cls(lambda: model, engine, tokenizers, search, limit, run.folder)

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
    ) -> "TranslatedFile":
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
        from regard.tasks.translation.documents import How, translate_file
        from regard.text.documents.document import Wish
        from regard.text.documents.names import default_output

        source, target = self.languages() or ("", "")
        wish = Wish(source, target, column, into, overwrite)
        given = Path(path)
        written = default_output(given, source, target) if out is None else Path(out)
        search = self.search if beam_size is None else replace(self.search, beam_size=beam_size)
        aids = aids_from(glossary, memory, self.languages(), min_match)
        if confidence:
            self.require_calibration()
        return translate_file(self, given, written, wish, How(search, aids, confidence))

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

    def texts(
        self,
        texts: Sequence[str],
        search: Search,
        prefixes: Sequence[str] = (),
        stopped: Stopped = never,
    ) -> list[str]:
        """The best translation of each text, and nothing else about it: the quickest way."""
        if self.corrections and not prefixes:
            return known_or(
                texts, self._corrected_text, lambda rest: self._texts(rest, search, (), stopped)
            )
        return self._texts(texts, search, prefixes, stopped)

    def _texts(
        self, texts: Sequence[str], search: Search, prefixes: Sequence[str], stopped: Stopped
    ) -> list[str]:
        parts = parts_of(texts, prefixes, self.tokenizers, self.limit)
        outputs = self.engine.best(parts.sources, parts.prefixes, search, stopped)
        found: list[list[str]] = [[] for _ in texts]
        decoded = self.tokenizers.target.decode_batch(outputs)
        for owner, text in zip(parts.owners, decoded, strict=True):
            if text:
                found[owner].append(text)
        return [" ".join(each) for each in found]

    def _scored(
        self, texts: Sequence[str], parts: Parts, hypotheses: Sequence[Sequence[Hypothesis]]
    ) -> list[list[Translation]]:
        """The translations of each text, given the hypotheses of its parts."""
        found: list[list[list[Translation]]] = [[] for _ in texts]
        unseen = [*map(self.unseen_words, texts)]
        target = self.tokenizers.target
        for source, owner, ranked in zip(parts.sources, parts.owners, hypotheses, strict=True):
            results = of_source(unseen[owner], [Translation.of(each, target) for each in ranked])
            found[owner].append([self._with_confidence(each, len(source)) for each in results])
        empty = Translation("", 0.0, [], [], finished=True)
        return [
            joined(results) if results else of_source(words, [empty])
            for words, results in zip(unseen, found, strict=True)
        ]

    def translations(
        self,
        texts: Iterable[str],
        search: Search | None = None,
        prefixes: Sequence[str] = (),
        stopped: Stopped = never,
    ) -> list[list[Translation]]:
        """Translate texts, and tell all that is known of the translations.

        Parameters
        ----------
        texts
            Several texts.
        search
            How to search, such as Search(beam_size=5, n_best=3); by default, as the recipe says.
        prefixes
            A beginning for the translation of each text.
        stopped
            A function that ends the search when it returns True.

        Returns
        -------
        list of list of Translation
            Up to n_best translations of each text, the best first.

        Raises
        ------
        RequestError
            What was given is not a text, or there are not as many prefixes as texts.
        """
        given = texts_of(texts, "translations")
        if self.corrections and not prefixes:
            return known_or(
                given,
                self.corrected,
                lambda rest: self._translations(rest, search or self.search, (), stopped),
            )
        return self._translations(given, search or self.search, prefixes, stopped)

    def _translations(
        self, given: Sequence[str], search: Search, prefixes: Sequence[str], stopped: Stopped
    ) -> list[list[Translation]]:
        parts = parts_of(given, prefixes, self.tokenizers, self.limit)
        found = self.engine.search(parts.sources, parts.prefixes, search, stopped)
        return self._scored(given, parts, found)


def unchanged(load: "Callable[[], Translator]", folder: Path, loaded: str) -> "Model":
    """The model in PyTorch, if the folder still holds the one that was loaded for translating."""
    from regard.run import Run

    model = load().model
    try:
        same = fingerprint(Run(folder)) == loaded
    except OSError:
        same = False
    if not same:
        raise RunError(f"{folder}: holds another model than was loaded from it; load it again")
    return model
