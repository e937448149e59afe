"""regard inspect: measurements of what happens inside trained models."""

import json
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

from cyclopts import Parameter
from cyclopts.validators import Number

from regard.cli.options import AT_LEAST_1, AsJson, Device, Sentences

if TYPE_CHECKING:
    from regard.inspect.gradients import GradientFlow


def gradients(
    runs: Annotated[tuple[Path, ...], Parameter(consume_multiple=True)],
    /,
    *,
    sentences: Sentences = 64,
    picture: Path | None = None,
    as_json: AsJson = False,
    device: Device = "auto",
) -> None:
    """Show how far back the losses of a recurrent decoder reach.

    For the loss at step T and the state s of step t, the curve is the norm of ∂loss/∂s against
    T − t, relative to T − t = 0. Where it vanishes, the model learns nothing about what lies that
    far back. It is measured on validation sentences.

    Parameters
    ----------
    runs
        Run folders of recurrent models; each has a curve.
    picture
        Draw the curves to this file: .png, .svg or .pdf.
    as_json
        Print one JSON object with all figures.
    """
    from regard.cli.checks import check_picture, open_run
    from regard.cli.display import results
    from regard.cli.terminal import Terminal
    from regard.errors import RequestError
    from regard.inspect.curves import save_curves, terminal_curves
    from regard.run import Run

    check_picture(picture)
    for run in runs:
        recipe: Any = Run.open(run).recipe()
        if (kind := recipe.model.kind) != "recurrent":
            raise RequestError(f"{run}: a {kind} has no recurrent states; name recurrent runs")
        open_run(run, "inspect gradients")
    flows = {str(run): measure(run, sentences, device) for run in runs}
    curves = {name: flow.shares() for name, flow in flows.items()}
    labels = ("steps back, T − t", "‖∂loss_T/∂s_t‖, relative to T − t = 0")
    if as_json:
        results(json.dumps({name: figures(flow) for name, flow in flows.items()}, indent=2))
    else:
        shown = terminal_curves(curves, *labels)
        Terminal().print(shown, no_wrap=True, overflow="ignore", crop=False)
    if picture is not None:
        save_curves(curves, *labels, picture)


def figures(flow: "GradientFlow") -> dict[str, list[float]]:
    """By distance T − t, from 0 on."""
    return {
        "mean_norm": flow.means(),
        "relative": flow.shares(),
        "count": [float(count) for count in flow.counts],
    }


def measure(folder: Path, sentences: int, device: str) -> "GradientFlow":
    from regard.cli.display import progress_bar
    from regard.inspect.gradients import GradientFlow, state_gradients
    from regard.machine.devices import choose_device
    from regard.run import Run
    from regard.tasks.translation.held_out import held_out_batches
    from regard.weights import load_model

    run, chosen = Run.open(folder), choose_device(device)
    model: Any = load_model(run).to(chosen)
    batches = list(held_out_batches(run, sentences))
    flow = GradientFlow()
    with progress_bar(f"measuring {folder}", len(batches)) as bar:
        for batch in batches:
            for norms in state_gradients(model, batch.to(chosen)):
                flow.add(norms)
            bar.advance(bar.task_ids[0])
    return flow


def alignment(
    run: Path,
    /,
    *,
    sentences: Annotated[
        int, AT_LEAST_1, Parameter(help="Compare on this many validation sentences.")
    ] = 100,
    as_json: AsJson = False,
    device: Device = "auto",
) -> None:
    """Find the attention head that aligns words best.

    The heads that look at the source are compared with the links that IBM Model 1 finds in the
    training pairs: AER is 0 if a head finds the same links. The run keeps the ranking in
    alignment.json, and `regard translate --align` and `regard attend` use the best head. Training
    does the same at its end.

    Parameters
    ----------
    run
        A run folder.
    as_json
        Print one JSON object with all figures.
    """
    from dataclasses import asdict

    from regard.cli.checks import open_run
    from regard.cli.display import SCREEN, results, say

    open_run(run, "inspect alignment")
    from regard.tasks.translation.alignment import rank_aligners

    found = rank_aligners(run, sentences, device, SCREEN)
    if as_json:
        results(json.dumps(asdict(found), indent=2))
        return
    results(f"{'head':<22}{'row is of the word it':<24}{'AER':>6}{'sharpness':>12}")
    for each in found.scores:
        reading = "predicts" if each.reading == "predicts" else "has read"
        results(f"{each.name():<22}{reading:<24}{each.aer:>6.3f}{each.sharpness:>12.3f}")
    say(f"{found.summary()}.")


def positions(
    run: Path,
    /,
    *,
    length: Annotated[int, Parameter(validator=Number(gte=1, lte=2000))] = 60,
    picture: Path | None = None,
    as_json: AsJson = False,
    device: Device = "auto",
) -> None:
    """Show how a Transformer encodes positions, and how alike they are.

    For texts it shows the encodings and their dot products; for the patches of images, how alike
    the position of each patch is to that of every other.

    Parameters
    ----------
    run
        A run folder of a Transformer.
    length
        Show this many positions of a text.
    picture
        Draw it to this file: .png, .svg or .pdf.
    as_json
        Print one JSON object with all figures.
    """
    from dataclasses import asdict

    from regard import tasks
    from regard.cli.checks import check_picture, open_run
    from regard.cli.display import results

    check_picture(picture)
    opened = open_run(run)
    from regard.inspect import figures
    from regard.inspect.positions import position_table
    from regard.machine.devices import choose_device
    from regard.weights import load_model

    model: Any = load_model(opened).to(choose_device(device))
    if tasks.get(opened.task_name()).attend_image is not None:
        grid_positions(model, picture, as_json)
        return
    found = position_table(model, length)
    if as_json:
        results(json.dumps(asdict(found)))
    else:
        title = f"{found.kind} positions 0 to {length - 1}, down; dimensions, across"
        show_heat(title, found.table)
        show_heat("dot products of positions", found.dots)
    if picture is not None:
        figures.save_positions(found, picture)


def grid_positions(model: Any, picture: Path | None, as_json: bool) -> None:
    """Show the positions of the patches of an image."""
    from regard.cli.display import results
    from regard.inspect.figures import HEIGHT
    from regard.inspect.images.positions import mosaic, patch_positions, save_positions

    alike = patch_positions(model)
    rows, columns = alike.shape[:2]
    if as_json:
        results(json.dumps({"grid": [rows, columns], "alike": alike.tolist()}))
    else:
        title = f"{rows} × {columns} patches; for each, how alike its position is to all others"
        show_heat(title, mosaic(alike, 2 * HEIGHT))
    if picture is not None:
        save_positions(alike, picture)


def show_heat(title: str, values: list[list[float]]) -> None:
    from regard.cli.terminal import Terminal
    from regard.inspect.figures import plain_heat, terminal_heat

    console = Terminal()
    coloured = console.color_system is not None
    console.print(title + ("" if coloured else "; darker is larger"), soft_wrap=True)
    heat = terminal_heat(values) if coloured else plain_heat(values)
    console.print(heat, no_wrap=True, overflow="ignore", crop=False)


def confidence(run: Path, /, *, as_json: AsJson = False, device: Device = "auto") -> None:
    """Measure how sure a translator's outputs are, on held-out pairs.

    The run translates its validation pairs, and learns from their chrF how likely a translation is
    to be good. It keeps this in confidence.json, for `regard translate --confidence`. Training does
    the same at its end; runs of earlier versions need this command once.

    Parameters
    ----------
    run
        A run folder.
    as_json
        Print one JSON object with all figures.
    """
    from dataclasses import asdict

    from regard.cli.checks import open_run
    from regard.cli.display import SCREEN, results

    open_run(run, "inspect confidence")
    from regard.tasks.translation.calibrating import calibrate

    found = calibrate(run, device, SCREEN)
    results(json.dumps(asdict(found), indent=2) if as_json else f"{found.summary()}.")


def shortlist(run: Path, /, *, as_json: AsJson = False) -> None:
    """Learn which pieces translate which, from the pairs that a translator was trained on.

    It is kept in shortlist.json, for `regard translate --shortlist`, which then leaves out all
    other pieces: faster where the vocabulary is large beside the model.

    Parameters
    ----------
    run
        A run folder with its training data.
    as_json
        Print one JSON object with how many there are.
    """
    from regard.cli.checks import open_run
    from regard.cli.display import SCREEN, results

    open_run(run, "inspect shortlist")
    from regard.tasks.translation.shortlisting import learn_shortlist

    found = learn_shortlist(run, SCREEN)
    facts = {"pairs": found.pairs, "always": len(found.always), "pieces": len(found.candidates)}
    results(json.dumps(facts, indent=2) if as_json else f"{found.summary()}.")
