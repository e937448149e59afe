"""regard evaluate: score a run on a test set."""

import json
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

from cyclopts import Parameter
from cyclopts.validators import Number

from regard.cli.heads import HeadFlags
from regard.cli.options import (
    AT_LEAST_1,
    AsJson,
    BeamSize,
    Device,
    Engine,
    Int8,
    LengthPenalty,
    Reference,
    Source,
)
from regard.errors import UsageError
from regard.machine import memory

if TYPE_CHECKING:
    from regard.run import Run
    from regard.tasks.task import Evaluation, SearchOptions, Task


def evaluate(
    run: Path,
    /,
    *,
    source: Source = None,
    reference: Reference = None,
    data: Annotated[tuple[Path, ...], Parameter(consume_multiple=True)] = (),
    series: Annotated[tuple[Path, ...], Parameter(consume_multiple=True)] = (),
    backtest: Annotated[int | None, AT_LEAST_1, Parameter(show_default="1")] = None,
    stride: Annotated[int | None, AT_LEAST_1, Parameter(show_default="the horizon")] = None,
    confidence: bool = False,
    picture: Path | None = None,
    beam_size: BeamSize = None,
    length_penalty: LengthPenalty = None,
    bootstrap: Annotated[int, Parameter(validator=Number(gte=0))] = 1000,
    output: Path | None = None,
    heads: Annotated[HeadFlags | None, Parameter(name="*")] = None,
    as_json: AsJson = False,
    device: Device = "auto",
    engine: Engine = "auto",
    int8: Int8 = False,
) -> None:
    """Score a run on data that it has not seen.

    A translator gets BLEU, chrF, TER and exact matches, with signatures and 95 % intervals; a
    classifier or tagger accuracy and F1; a captioner BLEU and CIDEr-D, also with the images
    shuffled; a language model perplexity; word vectors Spearman's ρ or the accuracy of analogies; a
    forecaster MAE, MASE, WQL and what its intervals hold, beside the seasonal naive forecast.
    Without files, a translator of the built-in corpus is scored on its test sentences.

    Parameters
    ----------
    run
        A run folder.
    data
        For a translator: files of pairs, as `regard train --pairs` reads them. For other runs:
        labelled texts, tagged sentences, running text, images and their captions, rated pairs of
        words or analogies, or series.
    series
        For a forecaster, the same as --data: series whose last part is forecast.
    backtest
        With --series: how many windows of each series to forecast, the last ones.
    stride
        With --series: steps from one window to the next.
    confidence
        Of a translator: also measure how reliable its confidence is.
    picture
        With --data: draw which labels are confused, which images and texts, or the errors and
        intervals of forecasts, to this file: .png, .svg or .pdf. With --confidence: draw how often
        translations are good that are that sure.
    bootstrap
        Resamples for the intervals; 0 leaves them out.
    output
        Write the translations or captions to this file; with labels, those that were found.
    as_json
        Print one JSON object with all figures.
    """
    from regard import tasks
    from regard.cli.checks import check_inputs, check_outputs, check_picture, open_run
    from regard.cli.display import SCREEN
    from regard.tasks.task import Test

    check_picture(picture)
    check_outputs(output)
    opened = open_run(run)
    task = tasks.get(opened.task_name())
    given = {
        "--source": source,
        "--reference": reference,
        "--beam-size": beam_size,
        "--length-penalty": length_penalty,
        "--heads-off and --heads-only": heads,
        "--engine": engine if engine != "auto" else None,
        "--int8": int8 or None,
        "--confidence": confidence or None,
    }
    pairs = task.test_files == "pairs"
    is_series = tasks.entry(task.name).flag == "series"
    if (series or backtest or stride) and not is_series:
        raise UsageError(f"{run}: --series, --backtest and --stride are for forecasters")
    data = (*data, *series)
    if data:
        if pairs:
            check_no_sides(source, reference)
        elif task.test_files != "data":
            raise UsageError(f"{run}: runs of task {task.name} take no files; leave --data out")
        searched = {"--beam-size", "--length-penalty"} if task.searches else set()
        unused = {} if pairs else given
        check_unused({name: value for name, value in unused.items() if name not in searched})
        check_files(task, picture, output)
    elif picture is not None and not (pairs and confidence):
        raise UsageError("--picture shows scores on files; it goes with --data or --confidence")
    elif task.test_files == "data" and not has_own_test(opened):
        raise UsageError(f"{run}: a run of task {task.name}; give its test files with --data")
    elif not pairs:
        check_unused(given)
    check_inputs(source, reference)
    for path in () if pairs else data:
        task.check_test(path)
    test = Test(
        files=data or tuple(file for file in (source, reference) if file is not None),
        bootstrap=bootstrap,
        search=options(beam_size, length_penalty, engine, int8, heads) if task.searches else None,
        backtest=backtest or 1,
        stride=stride or 0,
        confidence=confidence,
        device=device,
        reporter=SCREEN,
    )
    memory.keep_big_buffers()
    found = task.evaluate(opened, test)
    write_files(found, picture, output)
    report(found, as_json)


def check_files(task: "Task", picture: Path | None, output: Path | None) -> None:
    """Refuse files that an evaluation of this task does not write."""
    if picture is not None and not (task.gives_labels or task.draws_scores):
        raise UsageError("--picture: there is nothing to draw of this run; leave it out")
    if output is not None and not (task.gives_labels or task.searches):
        raise UsageError("--output is for labels; this run has none, leave it out")


def check_no_sides(source: Path | None, reference: Path | None) -> None:
    if source is not None or reference is not None:
        raise UsageError("--data holds both sides; leave --source and --reference out")


def has_own_test(run: "Run") -> bool:
    """Whether a run learned from data that comes with regard, which has a test part."""
    data = getattr(run.recipe(), "data", None)
    return bool(getattr(data, "builtin", None))


def check_unused(given: Mapping[str, object]) -> None:
    if named := [name for name, value in given.items() if value is not None]:
        raise UsageError(f"{named[0]}: for translators only; leave it out")


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
        with replacing(picture) as temporary:
            if found.draw is not None:
                found.draw(temporary)
            else:
                from regard.inspect.confusion import save_confusion

                save_confusion(found.labels, found.confusion, temporary, found.images)
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
