"""regard heads: what a model loses without each of its heads."""

import json
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Literal

from cyclopts import Parameter

if TYPE_CHECKING:
    from regard.evaluate.ablation import Bench, Importance
    from regard.inspect.heads import How
    from regard.run import Run
    from regard.tasks.translation.translator import Translator


@dataclass
class HeadFlags:
    """Work without some attention heads, which are called part.layer.head, counted from 0.

    Parameters
    ----------
    heads_off
        Switch off heads: cross.1.3, encoder.0 for a layer, decoder.*.2 for a head of every layer;
        several with commas between.
    heads_only
        Keep only these heads of their layers.
    heads_how
        What a head that is off gives: zero; mean, what it gives on average over validation
        sentences; uniform, the mean of all it may attend to.
    """

    heads_off: str | None = None
    heads_only: str | None = None
    heads_how: Literal["zero", "mean", "uniform"] = "zero"


@contextmanager
def switched(translator: "Translator", run: Path, flags: HeadFlags | None) -> Iterator[None]:
    """The translator as the flags want it."""
    if flags is None or (flags.heads_off is None and flags.heads_only is None):
        yield
        return
    from regard.inspect.heads import all_but, choose_heads, head_means
    from regard.run import Run
    from regard.tasks.translation.held_out import held_out_batches

    model, means = translator.model, None
    chosen = choose_heads(model, flags.heads_off.split(",")) if flags.heads_off else []
    if flags.heads_only:
        chosen += all_but(model, flags.heads_only.split(","))
    if flags.heads_how == "mean":
        means = head_means(model, held_out_batches(Run.open(run), 64))
    with translator.heads_off(chosen, flags.heads_how, means):
        yield


def heads(
    run: Path,
    /,
    *,
    sentences: int = 100,
    how: Literal["zero", "mean", "uniform"] = "zero",
    curve: bool = False,
    picture: Path | None = None,
    as_json: Annotated[bool, Parameter(name="--json")] = False,
) -> None:
    """Show what a model loses without each of its heads, on validation sentences.

    What was measured is kept in the run, as heads.json, and shown at once the next time.

    Parameters
    ----------
    run
        A run folder.
    sentences
        How many validation sentences to measure on.
    how
        What a head that is off gives: zero, its mean, or uniform attention.
    curve
        Also remove heads one after the other, those first that are missed least.
    picture
        A file to draw the figures to, by its ending: .png, .svg or .pdf.
    as_json
        One object with all figures.
    """
    from rich.console import Console

    from regard.cli.checks import check_picture, check_sentences
    from regard.cli.display import results
    from regard.inspect.importance import save_importance, terminal_importance
    from regard.run import Run

    check_sentences(sentences)
    check_picture(picture)
    found = measured(Run.open(run), sentences, how, curve)
    if as_json:
        results(json.dumps(asdict(found), indent=2))
    else:
        shown = terminal_importance(found)
        Console(highlight=False).print(shown, no_wrap=True, overflow="ignore", crop=False)
    if picture is not None:
        save_importance(found, picture)


def measured(run: "Run", sentences: int, how: "How", curve: bool) -> "Importance":
    """From heads.json if it is there, else measured and kept."""
    from regard.evaluate.ablation import Importance

    kept = run.finding("heads")
    found = Importance.from_json(kept) if kept else None
    if found is None or (found.sentences, found.how) != (sentences, how):
        bench = bench_of(run, sentences, how)
        found = each_head(bench, sentences)
        keep(run, "heads", asdict(found))
    else:
        bench = None
    if curve and not found.curve:
        found = with_curve(bench or bench_of(run, sentences, how), found)
        keep(run, "heads", asdict(found))
    return found


def keep(run: "Run", name: str, found: dict[str, Any]) -> None:
    """In the run's folder, where that can be written to; what was measured is shown in any case."""
    from regard.cli.display import say
    from regard.errors import RunError

    try:
        run.save_finding(name, found)
    except RunError:
        say(f"{run.folder}: what was measured cannot be kept there")


def bench_of(run: "Run", sentences: int, how: "How") -> "Bench":
    from itertools import islice

    from regard.errors import RequestError
    from regard.evaluate.ablation import Bench
    from regard.inspect.heads import heads_of
    from regard.tasks.translation.held_out import held_out_pairs
    from regard.tasks.translation.pairs import bounds, fitting

    recipe, tokenizers = run.recipe_for("translation"), run.tokenizers()
    model = run.model(tokenizers)
    if not heads_of(model):
        raise RequestError(f"{run.folder}: this model has no attention, so no heads to switch off")
    pairs = fitting(held_out_pairs(recipe), tokenizers, bounds(recipe))
    return Bench(model, tokenizers, list(islice(pairs, sentences)), how)


def each_head(bench: "Bench", sentences: int) -> "Importance":
    from regard.cli.display import progress_bar
    from regard.evaluate.ablation import Importance
    from regard.inspect.heads import heads_of

    everything = heads_of(bench.model)
    found = []
    with progress_bar("heads switched off", len(everything)) as bar:
        whole, likely = bench.bleu(), bench.log_probability()
        for head in everything:
            found.append(bench.without(head))
            bar.advance(bar.task_ids[0])
    return Importance(sentences, bench.how, whole, likely, found)


def with_curve(bench: "Bench", found: "Importance") -> "Importance":
    from regard.cli.display import progress_bar
    from regard.evaluate.ablation import greedy_curve

    points = []
    with progress_bar("heads removed", len(found.heads)) as bar:
        for point in greedy_curve(bench):
            points.append(point)
            bar.update(bar.task_ids[0], completed=len(found.heads) - point.kept)
    return replace(found, curve=points)
