"""Teaches a trained translator corrections. They are remembered at once, and then learned from
together with old pairs, so that nothing is forgotten. The weights of the run change at the very
end, in one step, and only if the new ones are better.
"""

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

from regard.data.corpus import Pair, read_tagged_pairs
from regard.run import Run
from regard.tasks.translation.corrections import Corrections
from regard.tasks.translation.recipe import recipe_of
from regard.tasks.translation.teaching import Teaching
from regard.tasks.translation.translator import languages_of
from regard.tasks.translation.verdict import MAY_LOSE, Verdict
from regard.training.events import Event, Interrupted, Note, Phase

# With fewer corrections, the weights stay as they are.
LEAST = 50


@dataclass(frozen=True)
class Remembered:
    """The corrections that are in the run now: those that are new, and all."""

    new: int
    all: int

    def __str__(self) -> str:
        return f"{self.new:,} of the corrections are new; the run remembers {self.all:,}."


def teach(
    run: Run, given: Sequence[Pair], old: Sequence[Path] = (), may_lose: float = MAY_LOSE
) -> Iterator[Remembered | Event | Verdict]:
    """Remember corrections, learn from all that the run has, and keep the better weights.

    It yields `Remembered`, then the events of a training, then a `Verdict`; only a `Note` where
    there are too few corrections to learn from, or where these were learned from before.
    """
    recipe = recipe_of(run)
    run.require_weights()
    teaching = Teaching(run)
    with run.lock():
        corrections = Corrections(run)
        if new := corrections.new(given):
            teaching.keep_files()
            corrections.add(new)
        found = Remembered(len(new), len(corrections.pairs()))
        yield found
        if found.all < LEAST:
            yield Note(f"From {LEAST} on, it also learns from them.")
            return
        if teaching.is_done():
            yield Note("It was taught these before; new ones are learned together with them.")
            return
        yield Phase("Translating old sources, to keep what is known")
        plan = teaching.prepare(recipe, old)
        from regard.training.run import training_run

        for event in training_run(plan, teaching.trained.folder):
            yield event
            if isinstance(event, Interrupted):
                return
        yield Phase("Comparing the weights before and after")
        verdict = teaching.verdict(may_lose)
        if verdict.kept:
            teaching.accept(recipe, verdict)
        teaching.finish(verdict)
        yield verdict


def read_corrections(run: Run, files: Sequence[Path]) -> list[Pair]:
    """The pairs of files, with the tags in their texts, in the direction of the run."""
    codes = languages_of(run)
    return list(read_tagged_pairs(files, codes))


def learn(
    run: Run | Path | str,
    corrections: Iterable[tuple[str, str]] | Path | str,
    old: Sequence[Path | str] = (),
    may_lose: float = MAY_LOSE,
) -> Verdict | None:
    """Teach a translator corrections, as `regard learn` does.

    Parameters
    ----------
    run
        A run of a translator, or its folder.
    corrections
        (source, translation) for each, or a file of pairs.
    old
        Files of pairs like those that the run was trained on, if these are no longer there.
    may_lose
        What the validation text may lose, in BLEU.

    Returns
    -------
    Verdict or None
        The scores before and after, and whether the new weights are kept; None where the
        corrections are only remembered.

    Raises
    ------
    KeyboardInterrupt
        The training was stopped and is saved; the same call resumes there.

    Examples
    --------
    >>> import regard
    >>> regard.learn("runs/demo", [("Bonjour !", "Hi there!")])
    """
    opened = run if isinstance(run, Run) else Run.open(run)
    if isinstance(corrections, str | Path):
        given = read_corrections(opened, [Path(corrections)])
    else:
        given = [Pair(source, target, "") for source, target in corrections]
    found = None
    for event in teach(opened, given, [Path(each) for each in old], may_lose):
        if isinstance(event, Interrupted):
            raise KeyboardInterrupt
        if isinstance(event, Verdict):
            found = event
    return found


def undo(run: Run) -> None:
    """Give a run the files that it had before the last teaching, byte for byte."""
    with run.lock():
        Teaching(run).undo()
