"""regard prune: a run with fewer heads."""

from pathlib import Path


def prune(run: Path, /, *, keep: str, out: Path, sentences: int = 100) -> None:
    """Write a smaller run without the heads that matter least.

    `regard heads RUN --curve` shows which heads these are, measured on validation sentences. Every
    layer keeps at least one head.

    Parameters
    ----------
    run
        A run folder.
    keep
        The heads to keep: 50% or a number.
    out
        The folder of the new run.
    sentences
        Measure on this many validation sentences.
    """
    from regard.cli.checks import check_sentences
    from regard.cli.display import SCREEN, say
    from regard.run import commands_for
    from regard.tasks.translation.heads import prune as pruned

    check_sentences(sentences)
    new = pruned(run, out, keep, sentences, SCREEN)
    say(f"Compare: {commands_for(new.recipe(), out)[1]}")
