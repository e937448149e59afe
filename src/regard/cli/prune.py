"""regard prune: a run with fewer heads."""

import re
from pathlib import Path
from typing import Annotated, Any

from cyclopts import Parameter

from regard.cli.options import Device, Sentences


def check_keep(type_: Any, text: str) -> None:
    if not re.fullmatch(r"\s*(\d+|\d+(\.\d+)?\s*%)\s*", text):
        raise ValueError("Write a number of heads, like 50% or 12.")


def prune(
    run: Path,
    /,
    *,
    keep: Annotated[str, Parameter(validator=check_keep)],
    out: Path,
    sentences: Sentences = 100,
    device: Device = "auto",
) -> None:
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
    """
    from regard.cli.checks import check_new_folder, open_run
    from regard.cli.display import SCREEN, say

    open_run(run, "prune")
    check_new_folder(out)
    from regard.run import commands_for
    from regard.tasks.translation.heads import prune as pruned

    new = pruned(run, out, keep, sentences, device, SCREEN)
    say(f"Compare: {commands_for(new.recipe(), out)[1]}")
