"""regard evaluate: score a run on a test set."""

import json
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Literal

from cyclopts import Parameter

from regard.cli.heads import HeadFlags

if TYPE_CHECKING:
    from regard.tasks.task import Evaluation, SearchOptions


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
    """Score a run on data that it has not seen.

    A translator gets BLEU, chrF, TER and exact matches, with signatures and 95 % intervals; a
    classifier or tagger accuracy and F1; a language model perplexity. Without files, a translator
    of the built-in corpus is scored on its test sentences.

    Parameters
    ----------
    run
        A run folder.
    source
        Sentences to translate, one per line; .gz works, too.
    reference
        Their translations, line by line.
    data
        For other runs than translators: labelled texts, tagged sentences or running text.
    picture
        With --data and labels: draw which labels are confused to this file.
    beam_size
        Hypotheses kept at each step; by default, as the recipe says.
    length_penalty
        0 prefers short outputs; 1 compares the mean over tokens. By default, as the recipe says.
    bootstrap
        Resamples for the intervals; 0 leaves them out.
    output
        Write the translations to this file; with --data and labels, the labels that were found.
    as_json
        Print one JSON object with all figures.
    engine
        The engine that searches: torch, ctranslate2, or auto, which prefers ctranslate2.
    int8
        With ctranslate2: calculate with 8-bit numbers, which is faster and changes some words.
    """
    from regard import tasks
    from regard.cli.checks import check_picture
    from regard.cli.display import SCREEN
    from regard.errors import RequestError
    from regard.run import Run
    from regard.tasks.task import Test

    if bootstrap < 0:
        raise RequestError(f"--bootstrap {bootstrap}: a number of resamples, or 0 for none")
    check_picture(picture)
    opened = Run.open(run)
    task = tasks.get(opened.task_name())
    given = {
        "--source": source,
        "--reference": reference,
        "--beam-size": beam_size,
        "--length-penalty": length_penalty,
        "--heads-off and --heads-only": heads,
        "--engine": engine if engine != "auto" else None,
        "--int8": int8 or None,
    }
    searches = task.test_files == "pairs"
    if data:
        if searches:
            raise RequestError(f"{run}: a translator is tested with --source and --reference")
        if task.test_files != "data":
            raise RequestError(f"{run}: runs of task {task.name} take no files; leave --data out")
        check_unused(given)
        if (picture or output) is not None and not task.gives_labels:
            raise RequestError(
                "--picture and --output are for labels; this run has none, leave them out"
            )
    elif picture is not None:
        raise RequestError("--picture shows which labels are confused; it goes with --data")
    elif task.test_files == "data":
        raise RequestError(f"{run}: a run of task {task.name}; give its test files with --data")
    elif not searches:
        check_unused(given)
    test = Test(
        files=data or tuple(file for file in (source, reference) if file is not None),
        bootstrap=bootstrap,
        search=options(beam_size, length_penalty, engine, int8, heads) if searches else None,
        reporter=SCREEN,
    )
    found = task.evaluate(opened, test)
    write_files(found, picture, output)
    report(found, as_json)


def check_unused(given: Mapping[str, object]) -> None:
    from regard.errors import RequestError

    if named := [name for name, value in given.items() if value is not None]:
        raise RequestError(f"{named[0]}: for translators only; leave it out")


def options(
    beam_size: int | None,
    length_penalty: float | None,
    engine: str,
    int8: bool,
    heads: HeadFlags | None,
) -> "SearchOptions":
    from regard.tasks.task import SearchOptions

    flags = heads or HeadFlags()
    return SearchOptions(
        beam_size=beam_size,
        length_penalty=length_penalty,
        engine=engine,
        int8=int8,
        heads_off=flags.heads_off,
        heads_only=flags.heads_only,
        heads_how=flags.heads_how,
    )


def write_files(found: "Evaluation", picture: Path | None, output: Path | None) -> None:
    from regard.cli.display import say
    from regard.files import replacing, write_file

    if picture is not None:
        from regard.inspect.confusion import save_confusion

        with replacing(picture) as temporary:
            save_confusion(list(found.labels), [list(row) for row in found.confusion], temporary)
        say(f"Wrote {picture}")
    if output is not None:
        write_file(output, "".join(line + "\n" for line in found.answers).encode())
        say(f"Wrote {output}")


def report(found: "Evaluation", as_json: bool) -> None:
    from regard.cli.display import results

    if as_json:
        results(json.dumps(found.facts, indent=2, ensure_ascii=False))
        return
    results(str(found))
