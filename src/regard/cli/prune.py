"""regard prune: a run with fewer heads."""

from pathlib import Path


def prune(run: Path, /, *, keep: str, out: Path, sentences: int = 100) -> None:
    """Write a smaller run without the heads that are missed least.

    Which these are is measured on validation sentences, as `regard heads RUN --curve` does, or
    taken from what it measured. Every layer keeps at least one head.

    Parameters
    ----------
    run
        A run folder.
    keep
        How many heads are left: 50% or a number.
    out
        The folder of the new run.
    sentences
        How many validation sentences to measure on.
    """
    from regard.cli.checks import check_sentences
    from regard.cli.display import SCREEN, say
    from regard.run import commands_for
    from regard.tasks.translation.heads import prune as pruned

    check_sentences(sentences)
    new = pruned(run, out, keep, sentences, SCREEN)
    say(f"Compare: {commands_for(new.recipe(), out)[1]}")
