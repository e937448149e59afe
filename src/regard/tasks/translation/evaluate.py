"""Scores a translator on a test set."""

import time
from collections.abc import Callable
from contextlib import AbstractContextManager, nullcontext
from dataclasses import asdict, replace
from functools import partial
from pathlib import Path
from typing import Any, TypeVar, cast

from regard.data import phrasebook
from regard.data.corpus import read_pairs
from regard.data.lines import kind_of
from regard.data.pair_files import SINGLE
from regard.engines import EngineName
from regard.errors import DataError
from regard.evaluate.reliability import Reliability, worst_found
from regard.evaluate.scores import corpus_scores, sentence_chrf
from regard.reporter import SILENT, Reporter
from regard.run import Run
from regard.tasks.task import Evaluation, ScoreLine, SearchOptions, Test
from regard.tasks.translation.check import check_test
from regard.tasks.translation.confidence import GOOD
from regard.tasks.translation.translator import Translator, languages_of

Answer = TypeVar("Answer")

SENTENCES_AT_ONCE = 1000


def evaluate(run: Run, test: Test) -> Evaluation:
    """Score a run on files. Without any, one of a built-in corpus is scored on its test set."""
    sources, references, name = test_pairs(run, test)
    options = test.search or SearchOptions()
    engine = cast("EngineName", options.engine)
    translator = Translator.load(run.folder, test.device, engine, options.int8)
    asked = {"beam_size": options.beam_size, "length_penalty": options.length_penalty}
    given = {key: value for key, value in asked.items() if value is not None}
    translator.search = replace(translator.search, **given)  # type: ignore[arg-type]
    with heads_of_options(translator, options):
        return scored(translator, sources, references, test, name)


def scored(
    translator: Translator, sources: list[str], references: list[str], test: Test, name: str = ""
) -> Evaluation:
    """BLEU, chrF, TER and exact matches, with signatures and 95 % intervals; and how reliable the
    confidence is, if that is asked for.
    """
    chances: list[float] = []
    if test.confidence:
        translator.require_calibration()
        found, seconds = timed(
            lambda texts: [
                ranked[0]
                for ranked in translator.translations_in_format(texts, "text", translator.search)
            ],
            sources,
            test.reporter,
        )
        hypotheses = [each.text for each in found]
        chances = [each.confidence.probability if each.confidence else 0.0 for each in found]
    else:
        hypotheses, seconds = timed_translations(translator, sources, test.reporter)
    test.reporter.say("Scoring …")
    codes = translator.languages()
    scores = [
        ScoreLine(**asdict(score))
        for score in corpus_scores(
            hypotheses, references, bootstrap=test.bootstrap, language=codes[1] if codes else None
        )
    ]
    draw = None
    if test.confidence:
        quality = sentence_chrf(hypotheses, references)
        scores += confidence_scores(chances, quality)
        draw = partial(draw_confidence, chances, quality)
    beam_size = translator.search.beam_size
    count = f"{len(sources):,} sentence{'s' * (len(sources) > 1)}"
    return Evaluation(
        headline=f"{name}{': ' * bool(name)}{count} in {seconds:.1f} s, beam {beam_size}",
        scores=scores,
        answers=hypotheses,
        facts={
            "test": name,
            "sentences": len(sources),
            "beam_size": beam_size,
            "seconds": round(seconds, 2),
            "scores": [shown(score) for score in scores],
        },
        draw=draw,
    )


def shown(score: ScoreLine) -> dict[str, Any]:
    """A score as JSON holds it."""
    return {name: value for name, value in asdict(score).items() if name != "decimals"}


def confidence_scores(chances: list[float], quality: list[float]) -> list[ScoreLine]:
    good = [each >= GOOD for each in quality]
    return [
        ScoreLine("reliability error", Reliability.of(chances, good).error, decimals=3),
        ScoreLine("worst tenth found", 100 * worst_found(chances, quality)),
    ]


def draw_confidence(chances: list[float], quality: list[float], path: Path) -> None:
    from regard.inspect.reliability import save_reliability

    found = Reliability.of(chances, [each >= GOOD for each in quality])
    save_reliability(found, "confidence", f"share with a chrF of at least {GOOD:.0f}", path)


def test_pairs(run: Run, test: Test) -> tuple[list[str], list[str], str]:
    recipe = run.recipe_for("translation")
    if test.files:
        single = any(kind_of(path) in SINGLE for path in test.files)
        pairs = list(read_pairs(test.files, languages_of(run) if single else None))
        check_test(run, pairs, test.files, test.reporter)
        return [p.source for p in pairs], [p.target for p in pairs], str(test.files[0])
    builtin = recipe.data.builtin
    if not test.files and builtin:
        pairs = list(phrasebook.pairs("test", builtin))
        return [p.source for p in pairs], [p.target for p in pairs], f"{builtin} test"
    raise DataError(
        "give --source and --reference, a file of sentences and one of translations, or --data and "
        "files of pairs"
    )


def timed_translations(
    translator: Translator,
    sources: list[str],
    reporter: Reporter = SILENT,
    description: str = "translating",
    at_once: int = SENTENCES_AT_ONCE,
) -> tuple[list[str], float]:
    """Translations in order, and the seconds they took."""
    return timed(translator.translate, sources, reporter, description, at_once)


def timed(
    answer: Callable[[list[str]], list[Answer]],
    sources: list[str],
    reporter: Reporter,
    description: str = "translating",
    at_once: int = SENTENCES_AT_ONCE,
) -> tuple[list[Answer], float]:
    """An answer for each source in order, and the seconds they took."""
    started = time.perf_counter()
    # Sentences of similar length are translated together, wherever in the file they are.
    order = sorted(range(len(sources)), key=lambda i: len(sources[i]))
    answers: dict[int, Answer] = {}
    with reporter.progress(description, len(sources)) as advance:
        for start in range(0, len(order), at_once):
            rows = order[start : start + at_once]
            answers |= zip(rows, answer([sources[row] for row in rows]), strict=True)
            advance(len(rows))
    return [answers[row] for row in range(len(sources))], time.perf_counter() - started


def heads_of_options(
    translator: Translator, options: SearchOptions
) -> AbstractContextManager[None]:
    """The translator without the heads that the options switch off."""
    if options.heads_off is None and options.heads_only is None:
        return nullcontext()
    from regard.tasks.translation.switching import switched

    how: Any = options.heads_how
    return switched(translator, options.heads_off, options.heads_only, how)
