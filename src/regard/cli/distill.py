"""regard distill: a small, quick student that learns from what a trained teacher says."""

from collections.abc import Iterator
from pathlib import Path
from typing import Annotated, Any, Literal

from cyclopts import Parameter

from regard.cli.options import AT_LEAST_1, EXPLAINED, Settings


def distill(
    run: Path,
    /,
    *,
    out: Path,
    recipe: Path | None = None,
    preset: Annotated[
        Literal["standard", "fast"] | None, EXPLAINED, Parameter(show_default="fast")
    ] = None,
    beam_size: Annotated[
        int | None,
        AT_LEAST_1,
        Parameter(show_default="the teacher's setting"),
    ] = None,
    settings: Settings = (),
) -> None:
    """Train a smaller or faster student on a run's translations.

    The run translates the sources that it was trained on, and the student learns from these pairs.
    The same command resumes.

    Parameters
    ----------
    run
        The run folder of the teacher.
    out
        The run folder of the student. Its folder `pairs` holds the translations.
    recipe
        The student's recipe. The teacher's data and tokenizer replace those in it.
    preset
        Without a recipe: fast is the teacher's size with one decoder layer, standard its shape.
    beam_size
        Hypotheses that the teacher keeps at each step.
    settings
        A setting of the student's recipe, like train.steps=2000. Repeat it for more settings.
    """
    from regard.cli.checks import check_room_for
    from regard.cli.display import say
    from regard.cli.training_screen import show_training
    from regard.errors import UsageError
    from regard.recipe import read
    from regard.run import Run
    from regard.tasks.translation.distill import Pairs, distillation, student_recipe

    if recipe is not None and preset is not None:
        raise UsageError("--preset: give it, or a --recipe, which says the student's shape")
    check_room_for(out)
    teacher = Run.open(run)
    own: Any = read(recipe) if recipe is not None else None
    student = student_recipe(teacher, out, own, preset or "fast", settings)
    teacher.require_weights()
    if not Pairs(Run(out)).train.exists():
        say("Reading the teacher's pairs …")
    show_training(after_teaching(distillation(teacher, student, out, beam_size)), out)


def after_teaching(events: Iterator[Any]) -> Iterator[Any]:
    """Show how far the teacher is; pass on what happens after that."""
    from regard.cli.display import progress_bar, say
    from regard.tasks.translation.distill import Translated

    found = next(events)
    if not found.done:
        say(f"The teacher translates {found.total - found.read:,} of {found.total:,} sources.")
    event: Any = found
    try:
        with progress_bar("translated", found.total) as bar:
            while isinstance(event, Translated):
                found = event
                bar.update(bar.task_ids[0], completed=found.read)
                event = next(events, None)
    except KeyboardInterrupt:
        say(f"Stopped at {found.read:,} of {found.total:,}; the same command resumes there.")
        raise
    if found.done:
        dropped = found.left_out()
        say(f"{found.kept:,} pairs to learn from" + (f"; left out: {dropped}." if dropped else "."))
    if event is not None:
        yield event
    yield from events
