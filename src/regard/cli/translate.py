"""regard translate: texts in, translations out, in the same order."""

import json
import os
import sys
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Literal

from cyclopts import Parameter

from regard.cli.aids import AidFlags, HelpFlags, Used
from regard.cli.heads import HeadFlags, switched
from regard.cli.lines import FileFlags, Files, batches, is_typed
from regard.cli.options import (
    OF_RUN,
    AsJson,
    BeamSize,
    Device,
    Engine,
    Int8,
    LengthPenalty,
)
from regard.cli.sharded import check_sharded, translate_sharded
from regard.cli.tmx import check_tmx, in_tmx, tmx_units
from regard.errors import RequestError, UsageError

if TYPE_CHECKING:
    from regard.decode.search import Search
    from regard.reporter import Advance
    from regard.run import Run
    from regard.tasks.translation.memories import Aids
    from regard.tasks.translation.translation import Translation
    from regard.tasks.translation.translator import Translator

LINES_AT_ONCE = 1000
# As regard.text.formatted has it, which is loaded later.
Format = Literal["text", "html", "xml"]


@dataclass
class SearchFlags:
    """How to search for a translation. The run's recipe has the defaults.

    Parameters
    ----------
    n_best
        Translations shown for each text.
    max_length_ratio
        An output may be this many times as long as its source.
    min_length
        The fewest pieces of an output.
    no_repeat_ngram
        Do not repeat any sequence of this many pieces; 0 allows it.
    temperature
        Draw at random instead of searching: below 1 is more cautious, above 1 more varied.
    top_k
        With a temperature: draw from the k likeliest pieces; 0 draws from all.
    top_p
        With a temperature: draw from the likeliest pieces of this total probability.
    seed
        With a temperature: the same seed draws the same text.
    """

    beam_size: BeamSize = None
    n_best: Annotated[int | None, Parameter(show_default="1")] = None
    length_penalty: LengthPenalty = None
    max_length_ratio: Annotated[float | None, OF_RUN] = None
    min_length: Annotated[int | None, Parameter(show_default="0")] = None
    no_repeat_ngram: Annotated[int | None, OF_RUN] = None
    temperature: float | None = None
    top_k: Annotated[int | None, Parameter(show_default="0")] = None
    top_p: Annotated[float | None, Parameter(show_default="1")] = None
    seed: Annotated[int | None, Parameter(show_default="1")] = None

    def over(self, defaults: "Search") -> "Search":
        from dataclasses import replace

        given = self.given()
        n_best = given.get("n_best", 1)
        if "beam_size" not in given and n_best > defaults.beam_size:
            given["beam_size"] = n_best
        try:
            return replace(defaults, **given)
        except RequestError as error:
            raise UsageError(str(error)) from None

    def given(self) -> dict[str, Any]:
        return {name: value for name, value in vars(self).items() if value is not None}

    def check(self, run: "Run") -> None:
        """Before a model is loaded: what was given goes with what the run's recipe has."""
        if self.given():
            from regard.decode.search import Search

            recipe: Any = run.recipe()
            self.over(Search(**recipe.decode.model_dump()))


def translate(
    run: Path,
    /,
    *texts: str,
    search: Annotated[SearchFlags | None, Parameter(name="*")] = None,
    format: Format = "text",
    aids: HelpFlags = None,
    prefix: str | None = None,
    align: bool = False,
    confidence: bool = False,
    heads: Annotated[HeadFlags | None, Parameter(name="*")] = None,
    files: Files = None,
    as_json: AsJson = False,
    device: Device = "auto",
    engine: Engine = "auto",
    int8: Int8 = False,
    on: Literal["ray"] | None = None,
    shortlist: bool = False,
) -> None:
    """Translate texts, or every line of standard input.

    Parameters
    ----------
    run
        A run folder.
    texts
        Texts to translate; without any, the lines of --input or of standard input, as they come.
    format
        How texts are written. Placeholders such as %s and {name}, addresses and tags are kept; of
        html and xml, sentences are translated one by one, and entities are read.
    prefix
        Begin every output with these words; then texts are translated as they are.
    align
        Print word alignments instead of texts, like 0-0 1-2: source word, target word, from 0.
    confidence
        Print before each translation how likely it is to be good, and "likely fine" or "check";
        after it, the words that are doubtful.
    as_json
        Print one JSON object per line: text, score, tokens, log-probabilities, alignment, the
        words of the source that were never seen in training, how tags and placeholders found their
        places (kept by the model, aligned by its attention, or guessed), and the confidence. Of
        terms: whether the model wrote them, they were put in place of other words, or are missing.
        With --memory: its most similar text, and how many percent are the same.
    on
        Translate a large file with Ray, on all cores of this machine or of a cluster. --input and
        --output name the files. The same command resumes after a stop.
    shortlist
        Only with ctranslate2: consider only the words that the run's shortlist has for a text, or
        for those translated with it. This is faster and changes some words; `regard inspect
        shortlist` learns one.
    """
    # Nothing is forked here, which the tokenizer's own threads would be in the way of.
    os.environ.setdefault("TOKENIZERS_PARALLELISM", "true")
    from regard.cli.checks import open_run

    if confidence and align:
        raise UsageError("--confidence: cannot go with --align; leave one of them out")
    if prefix or align:
        if format != "text":
            raise UsageError(
                f"--format {format}: cannot go with --prefix or --align; leave these out"
            )
        if aids and aids.given():
            raise UsageError(f"{aids.given()}: cannot go with --prefix or --align; leave these out")
    opened = open_run(run, "translate")
    flags = search or SearchFlags()
    flags.check(opened)
    files = files or FileFlags()
    files.check(texts)
    if on:
        more = (
            align
            or confidence
            or as_json
            or prefix
            or heads
            or shortlist
            or flags.n_best not in (None, 1)
        )
        more = more or (aids is not None and bool(aids.given()))
        check_sharded(files, device, other=bool(more))
        translate_sharded(opened, flags, format, engine, int8, files)
        return
    from regard.cli.unseen import UnseenRemarks
    from regard.tasks.translation.translator import Translator, languages_of

    languages = languages_of(opened)
    is_tmx = files.output is not None and files.output.suffix.lower() == ".tmx"
    if is_tmx:
        check_tmx(languages, align or confidence or as_json or flags.n_best not in (None, 1))
    helped = (aids or AidFlags()).read(opened)
    translator = Translator.load(run, device, engine, int8, shortlist)
    chosen = flags.over(translator.search)
    if confidence:
        translator.require_calibration()
    given = batches(texts, files, LINES_AT_ONCE, source_language(opened))
    remarks = UnseenRemarks(translator, typed=bool(texts) or is_typed(texts, files))
    used = Used(helped)
    with (
        files.answers(),
        in_tmx(languages if is_tmx else None),
        switched(translator, heads),
        progress(texts, files) as advance,
    ):
        for batch in given:
            shown = Shown(
                prefix, align, confidence, as_json, format, helped, languages if is_tmx else None
            )
            answer(translator, batch, chosen, shown, used)
            sys.stdout.flush()
            if not as_json:
                remarks.add(batch if format == "text" else words_of(batch, format))
            advance(len(batch))
    remarks.at_end()
    if not as_json:
        used.report()


@dataclass(frozen=True)
class Shown:
    """What an answer begins with, how it is shown, how texts are written, and what helps."""

    prefix: str | None
    align: bool
    confidence: bool
    as_json: bool
    form: Format
    aids: "Aids"
    in_tmx: tuple[str, str] | None = None  # with these languages


def answer(
    translator: "Translator", batch: list[str], search: "Search", shown: Shown, used: Used
) -> None:
    """Show the translations of a batch."""
    from regard.cli.display import results

    prefixes = [shown.prefix] * len(batch) if shown.prefix else []
    if not (shown.as_json or shown.align or shown.confidence or search.n_best > 1):
        if prefixes:
            lines = translator.texts(batch, search, prefixes)
        else:
            written = translator.helped(batch, shown.form, search, shown.aids)
            used.add(written)
            lines = [each.text for each in written]
        if shown.in_tmx:
            lines = tmx_units(batch, lines, shown.in_tmx)
        results("\n".join(lines))
        return
    if prefixes or shown.align:
        found = translator.translations(batch, search, prefixes)
    else:
        found = translator.translations_helped(batch, shown.form, search, shown.aids)
    used.add([best for best, *_ in found])
    for text, each in zip(batch, found, strict=True):
        if shown.as_json or shown.confidence or search.n_best > 1:
            show(text, each, translator, shown, ranked=search.n_best > 1)
        else:
            results(pharaoh(text, each[0], translator))


def words_of(texts: list[str], form: Format) -> list[str]:
    """Texts of a format without their tags."""
    from regard.text.protect import protect

    return [protect(text, form).without_tags for text in texts]


def source_language(run: "Run") -> str:
    """The language that is translated from, for the prompt of a terminal."""
    return next(iter(run.info().get("languages") or ()), "text")


@contextmanager
def progress(texts: Sequence[str], files: FileFlags) -> "Iterator[Advance]":
    """A bar, but only where it stands alone: not between texts on the same screen."""
    from regard.cli.display import shown_progress
    from regard.reporter import no_progress

    on_screen = bool(texts) or is_typed(texts, files) or sys.stdout.isatty()
    with (no_progress if on_screen else shown_progress)("translated", 0) as advance:
        yield advance


def show(
    text: str,
    found: "Sequence[Translation]",
    translator: "Translator",
    shown: Shown,
    ranked: bool,
) -> None:
    from regard.cli.display import results

    if not shown.as_json:
        for rank, each in enumerate(found):
            place = [f"{rank + 1}", f"{each.score:.4f}"] if ranked else []
            results("\t".join([*place, *(judged(each) if shown.confidence else [each.text])]))
        return
    best = facts(text, found[0], translator)
    if len(found) > 1:
        best["alternatives"] = [facts(text, each, translator) for each in found[1:]]
    results(json.dumps({"source": text, **best}, ensure_ascii=False))


def judged(translation: "Translation") -> list[str]:
    """A translation between what its confidence says."""
    confidence = translation.confidence
    if confidence is None:  # an empty text
        return ["", "", translation.text, ""]
    chance = f"{confidence.probability:.0%}"
    return [chance, confidence.verdict, translation.text, " ".join(confidence.doubtful)]


def pharaoh(text: str, translation: "Translation", translator: "Translator") -> str:
    """0-0 1-2: the format of the Pharaoh decoder, which other tools read."""
    links = translator.align(text, translation.ids).pairs() if translation.ids else []
    return " ".join(f"{source}-{target}" for source, target in sorted(links))


def facts(text: str, translation: "Translation", translator: "Translator") -> dict[str, object]:
    """What a program may want to know; words are aligned as (source, target)."""
    alignment = translation.alignment
    if alignment is None:
        alignment = translator.align(text, translation.ids).pairs() if translation.ids else []
    return {
        "text": translation.text,
        "score": translation.score,
        "finished": translation.finished,
        "tokens": translation.tokens,
        "log_probabilities": translation.log_probabilities,
        "alignment": alignment,
        "unseen_words": translation.unseen_words,
        "marks": translation.marks,
        "terms": [asdict(each) for each in translation.terms],
        "memory": asdict(translation.match) if translation.match else None,
        "confidence": translation.confidence.facts() if translation.confidence else None,
    }
