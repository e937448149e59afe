"""regard evaluate: translate a test set and score it."""

import json
from collections.abc import Mapping
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Literal

from cyclopts import Parameter

from regard.cli.heads import HeadFlags, switched

if TYPE_CHECKING:
    from regard.evaluate.scores import Score
    from regard.tasks.translation.translator import Translator

SENTENCES_AT_ONCE = 1000


def evaluate(
    run: Path,
    /,
    *,
    source: Path | None = None,
    reference: Path | None = None,
    data: Annotated[tuple[Path, ...], Parameter(consume_multiple=True)] = (),
    picture: Path | None = None,
    beam_size: int | None = None,
    length_penalty: float | None = None,
    bootstrap: int = 1000,
    output: Path | None = None,
    heads: Annotated[HeadFlags | None, Parameter(name="*")] = None,
    as_json: Annotated[bool, Parameter(name="--json")] = False,
    engine: Literal["auto", "torch", "ctranslate2"] = "auto",
    int8: bool = False,
) -> None:
    """Score a run: BLEU, chrF, TER and exact matches, with signatures and 95 % intervals.

    A run trained on the built-in corpus is scored on its test sentences when no files are given.

    Parameters
    ----------
    run
        A run folder.
    source
        Sentences to translate, one a line; may be .gz.
    reference
        Their translations, line by line.
    data
        For a run that is no translator: labelled texts, tagged sentences or running text.
    picture
        With --data and labels: a file for the picture of which labels are confused.
    beam_size
        Hypotheses kept alive; by default the recipe's.
    length_penalty
        By default the recipe's.
    bootstrap
        Resamples for the intervals; 0 for none.
    output
        A file to write the translations to; with --data and labels, the labels that were found.
    as_json
        One object with all figures.
    engine
        What searches: torch, ctranslate2, or auto, which is ctranslate2 where it can answer.
    int8
        Products of whole numbers with ctranslate2: quicker, and now and then another word.
    """
    from dataclasses import replace

    from regard.cli.display import say
    from regard.errors import RequestError
    from regard.evaluate.scores import corpus_scores
    from regard.tasks.translation.translator import Translator

    if bootstrap < 0:
        raise RequestError(f"--bootstrap {bootstrap}: a number of resamples, or 0 for none")
    if data:
        from regard.cli.evaluate_data import evaluate_data

        given = {
            "--source": source,
            "--reference": reference,
            "--beam-size": beam_size,
            "--length-penalty": length_penalty,
            "--heads-off and --heads-only": heads,
            "--engine": engine if engine != "auto" else None,
            "--int8": int8 or None,
        }
        check_unused(given)
        evaluate_data(run, data, picture, output, bootstrap, as_json)
        return
    if picture is not None:
        raise RequestError("--picture shows which labels are confused; it goes with --data")
    check_translator(run)
    sources, references, name = test_pairs(run, source, reference)
    translator = Translator.load(run, engine=engine, int8=int8)
    search = translator.search
    if beam_size is not None:
        search = replace(search, beam_size=beam_size)
    if length_penalty is not None:
        search = replace(search, length_penalty=length_penalty)
    translator.search = search
    with switched(translator, run, heads):
        hypotheses, seconds = timed_translations(translator, sources)
    if output is not None:
        output.write_text("".join(line + "\n" for line in hypotheses), encoding="utf-8")
    say("Scoring …")
    scores = corpus_scores(
        hypotheses, references, bootstrap=bootstrap, language=target_language(run)
    )
    report(name, scores, len(sources), seconds, search.beam_size, as_json)


def check_unused(given: Mapping[str, object]) -> None:
    from regard.errors import RequestError

    if named := [name for name, value in given.items() if value is not None]:
        raise RequestError(f"{named[0]}: for translators only; leave it out with --data")


def check_translator(run: Path) -> None:
    from regard.errors import RequestError
    from regard.run import Run

    if (task := Run.open(run).recipe().task) != "translation":
        raise RequestError(f"{run}: a run of task {task}; give its test files with --data")


def test_pairs(
    run: Path, source: Path | None, reference: Path | None
) -> tuple[list[str], list[str], str]:
    from regard.data import phrasebook
    from regard.data.corpus import read_pairs
    from regard.errors import DataError
    from regard.run import Run

    if source is not None and reference is not None:
        pairs = list(read_pairs([source, reference]))
        return [p.source for p in pairs], [p.target for p in pairs], str(source)
    builtin = Run.open(run).recipe().data.builtin
    if source is None and reference is None and builtin:
        pairs = list(phrasebook.pairs("test", builtin))
        return [p.source for p in pairs], [p.target for p in pairs], f"{builtin} test"
    raise DataError("give --source and --reference, a file of sentences and one of translations")


def timed_translations(
    translator: "Translator",
    sources: list[str],
    description: str = "translating",
    at_once: int = SENTENCES_AT_ONCE,
) -> tuple[list[str], float]:
    import time

    from regard.cli.display import progress_bar

    started = time.perf_counter()
    # Sentences of like length go together, whatever part of the file they are from.
    order = sorted(range(len(sources)), key=lambda i: len(sources[i]))
    hypotheses = [""] * len(sources)
    with progress_bar(description, len(sources)) as bar:
        for start in range(0, len(order), at_once):
            rows = order[start : start + at_once]
            for row, text in zip(
                rows, translator.translate([sources[row] for row in rows]), strict=True
            ):
                hypotheses[row] = text
            bar.advance(bar.task_ids[0], len(rows))
    return hypotheses, time.perf_counter() - started


def target_language(run: Path) -> str | None:
    from regard.run import Run

    codes = Run.open(run).info().get("languages")
    return codes[1] if codes else None


def report(
    name: str, scores: "list[Score]", sentences: int, seconds: float, beam_size: int, as_json: bool
) -> None:
    from regard.cli.display import results

    if as_json:
        facts = {
            "test": name,
            "sentences": sentences,
            "beam_size": beam_size,
            "seconds": round(seconds, 2),
            "scores": [asdict(score) for score in scores],
        }
        results(json.dumps(facts, indent=2, ensure_ascii=False))
        return
    results(f"{name}: {sentences:,} sentences in {seconds:.1f} s, beam {beam_size}")
    for score in scores:
        interval = "" if score.low is None else f"  [{score.low:.2f}, {score.high:.2f}]"
        results(f"{score.name:<17}{score.value:7.2f}{interval}")
        results(f"{'':17}{score.signature}")
