"""regard heads: what a model loses without each of its heads."""

import json
from contextlib import AbstractContextManager, nullcontext
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from regard.cli.options import AsJson, Device, Heads, HeadsHow, Sentences

if TYPE_CHECKING:
    from regard.tasks.translation.translator import Translator


@dataclass
class HeadFlags:
    """Work without some attention heads. A head is called part.layer.head, counted from 0.

    Parameters
    ----------
    heads_off
        Switch off these heads: cross.1.3; encoder.0 for a layer; decoder.*.2 for a head of every
        layer. Put commas between several.
    heads_only
        Switch off all other heads in the layers of these heads.
    """

    heads_off: Heads = None
    heads_only: Heads = None
    heads_how: HeadsHow = "zero"


def switched(translator: "Translator", flags: HeadFlags | None) -> AbstractContextManager[None]:
    """The translator as the flags want it."""
    if flags is None or (flags.heads_off is None and flags.heads_only is None):
        return nullcontext()
    from regard.tasks.translation import switching

    return switching.switched(translator, flags.heads_off, flags.heads_only, flags.heads_how)


def heads(
    run: Path,
    /,
    *,
    sentences: Sentences = 100,
    heads_how: HeadsHow = "zero",
    curve: bool = False,
    picture: Path | None = None,
    as_json: AsJson = False,
    device: Device = "auto",
) -> None:
    """Show what a translator loses without each of its attention heads.

    The loss is measured on validation sentences. The run keeps the figures in heads.json, and the
    next time they are shown at once.

    Parameters
    ----------
    run
        A run folder.
    curve
        Also remove heads one after the other, the least important first.
    picture
        Draw the figures to this file: .png, .svg or .pdf.
    as_json
        Print one JSON object with all figures.
    """
    from regard.cli.checks import check_picture, open_run
    from regard.cli.display import SCREEN, results

    check_picture(picture)
    open_run(run, "heads")
    from regard.cli.terminal import Terminal
    from regard.inspect.heads.importance import save_importance, terminal_importance
    from regard.tasks.translation.heads import head_importance

    found = head_importance(
        run, sentences=sentences, how=heads_how, curve=curve, device=device, reporter=SCREEN
    )
    if as_json:
        results(json.dumps(asdict(found), indent=2))
    else:
        shown = terminal_importance(found)
        Terminal().print(shown, no_wrap=True, overflow="ignore", crop=False)
    if picture is not None:
        save_importance(found, picture)
