"""regard inspect: measurements of what goes on inside trained models."""

import json
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

from cyclopts import Parameter

if TYPE_CHECKING:
    from regard.inspect.gradients import GradientFlow


def gradients(
    runs: Annotated[tuple[Path, ...], Parameter(consume_multiple=True)],
    /,
    *,
    sentences: int = 64,
    picture: Path | None = None,
    as_json: Annotated[bool, Parameter(name="--json")] = False,
) -> None:
    """Show how far back a recurrent decoder feels its losses, measured on validation sentences.

    For the loss at step T and the state s of step t, the norm of ∂loss/∂s against T − t, relative
    to T − t = 0. Where it vanishes, nothing is learned about what lies so far back.

    Parameters
    ----------
    runs
        Run folders of recurrent models, a curve each.
    sentences
        How many validation sentences to measure on.
    picture
        A file to draw the curves to, by its ending: .png, .svg or .pdf.
    as_json
        One object with all figures.
    """
    from rich.console import Console

    from regard.cli.display import results
    from regard.errors import RequestError
    from regard.inspect.curves import save_curves, terminal_curves

    if sentences < 1:
        raise RequestError(f"--sentences {sentences}: give at least one sentence to measure on")
    if picture is not None and picture.suffix not in (".png", ".svg", ".pdf"):
        raise RequestError(f"{picture}: not a kind of picture; end the name in .png, .svg or .pdf")
    flows = {str(run): measure(run, sentences) for run in runs}
    curves = {name: flow.shares() for name, flow in flows.items()}
    labels = ("steps back, T − t", "‖∂loss_T/∂s_t‖, relative to T − t = 0")
    if as_json:
        results(json.dumps({name: figures(flow) for name, flow in flows.items()}, indent=2))
    else:
        shown = terminal_curves(curves, *labels)
        Console(highlight=False).print(shown, no_wrap=True, overflow="ignore", crop=False)
    if picture is not None:
        save_curves(curves, *labels, picture)


def figures(flow: "GradientFlow") -> dict[str, list[float]]:
    """By distance T − t, from 0 on."""
    return {
        "mean_norm": flow.means(),
        "relative": flow.shares(),
        "count": [float(count) for count in flow.counts],
    }


def measure(folder: Path, sentences: int) -> "GradientFlow":
    from regard.checkpoint import Run
    from regard.cli.display import progress_bar
    from regard.errors import RequestError
    from regard.inspect.gradients import GradientFlow, state_gradients
    from regard.training.held_out import held_out_batches

    run = Run.open(folder)
    if (kind := run.recipe_for("translation").model.kind) != "recurrent":
        raise RequestError(f"{folder}: a {kind} has no recurrent states; name recurrent runs")
    model = run.model(run.tokenizers())
    batches = list(held_out_batches(run, sentences))
    flow = GradientFlow()
    with progress_bar(f"measuring {folder}", len(batches)) as bar:
        for batch in batches:
            for norms in state_gradients(model, batch):
                flow.add(norms)
            bar.advance(bar.task_ids[0])
    return flow
