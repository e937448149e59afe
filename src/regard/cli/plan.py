"""regard plan: what training a recipe takes, on this machine or on one to be hired."""

import json
import shlex
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

from cyclopts import Parameter

if TYPE_CHECKING:
    from regard.devices import Fleet
    from regard.plan import Plan
    from regard.recipe import Recipe
    from regard.training.prepare import Survey

# A word is about so many pieces.
PIECES = 1.3


def plan(
    recipe: Path,
    /,
    *,
    device: str = "",
    settings: Annotated[tuple[str, ...], Parameter(name="--set")] = (),
    as_json: Annotated[bool, Parameter(name="--json")] = False,
) -> None:
    """Parameters, memory, speed and time of training, by formula, and the command to run.

    Parameters
    ----------
    recipe
        A recipe file (TOML).
    device
        8xA100, or 2x8xH100 for two machines of eight; this machine, measured, if not given.
    settings
        A setting of the recipe, like train.batch_tokens=8192; may be given several times.
    as_json
        One object with everything.
    """
    from regard.cli.display import results, say
    from regard.devices import find_fleet
    from regard.machine import busy_cores
    from regard.plan import SENTENCE, make_plan
    from regard.recipe import read
    from regard.training.team import worthwhile

    chosen = read(recipe, settings)
    fleet = find_fleet(device, worthwhile(chosen.train))
    if not fleet.device.is_card and (taken := busy_cores()) > 0.3:
        say(f"Other programs take {taken:.1f} cores; on a quiet machine the figures are better.")
    found = survey_if_there(chosen)
    sentence = 1 + PIECES * found.words / (2 * found.pairs) if found else SENTENCE
    best = make_plan(chosen, fleet, chosen.train.parallel, sentence)
    if not best.fits and fleet.size > 1:
        best = make_plan(chosen, fleet, "fsdp", sentence)
    tokens = 2 * sentence * found.pairs if found else None
    passes = chosen.train.steps * best.tokens_per_update / tokens if tokens else None
    command = command_line(recipe, best, chosen, settings)
    if as_json:
        results(json.dumps(facts(best, passes, command), indent=2))
        return
    results(f"{recipe} on {fleet}")
    for name, text in lines(best, chosen, passes, command):
        results(f"  {name:<12}{text}")


def survey_if_there(recipe: "Recipe") -> "Survey | None":
    """How much data there is, if it is on this machine."""
    from regard.cli.display import say
    from regard.training.prepare import corpus, survey

    files = recipe.data.paths("train")
    if recipe.task != "translation" or not all(file.exists() for file in files):
        return None
    if sum(file.stat().st_size for file in files) > 1e8:
        say("Reading the pairs …")
    found = survey(corpus(recipe.data))
    return found if found.pairs else None


def lines(
    plan: "Plan", recipe: "Recipe", passes: float | None, command: str
) -> list[tuple[str, str]]:
    from regard.cli.display import duration

    fleet, memory, train = plan.fleet, plan.memory, recipe.train
    each = " a device" if fleet.device.is_card else " a process"
    each = each if fleet.size > 1 else ""
    room = "fits into" if plan.fits else "does not fit into"
    update = (
        f"{plan.tokens_per_update:,.0f} tokens, {amount(plan.flops_per_update, 'FLOP')}; "
        f"{plan.share.batches} × {plan.share.batch_tokens:,.0f} tokens a side{each}"
    )
    held = (
        f"{in_bytes(memory.total)}{each}, {room} {in_bytes(fleet.device.memory)}: weights "
        f"{in_bytes(memory.weights)}, gradients {in_bytes(memory.gradients)}, moments "
        f"{in_bytes(memory.moments)}, activations {in_bytes(memory.activations)}"
    )
    speed = (
        f"about {plan.tokens_per_second:,.0f} tokens/s in {plan.precision}, "
        f"{100 * plan.share_of_peak:.0f} % of the peak of {amount(plan.peak_flops, 'FLOP')}/s"
    )
    days = plan.seconds / 86400
    length = duration(plan.seconds) if days < 3 else f"{days:,.0f} days"
    time = f"about {length} for {train.steps:,} updates, validation not counted"
    shown = [
        ("model", f"{plan.parameters:,} parameters"),
        *(("update", update), ("memory", held), ("speed", speed), ("time", time)),
    ]
    if plan.waiting_seconds > 0.01 * plan.update_seconds:
        share = 100 * plan.waiting_seconds / plan.update_seconds
        shown.append(("waiting", f"{share:.0f} % of the time, for what other devices send"))
    if passes:
        shown.append(("data", f"{passes:.1f} passes over the pairs"))
    shown += [("advice", text) for text in advice(plan, recipe)]
    return [*shown, ("run", command)]


def advice(plan: "Plan", recipe: "Recipe") -> list[str]:
    """What would make an update fit, or faster and still of as many tokens."""
    memory, device = plan.memory, plan.fleet.device
    if not plan.fits:
        if memory.total - memory.activations < device.memory:
            return [f"{dealt(recipe, 2 * recipe.train.accumulate)} halves the activations"]
        return ["more devices, which share weights and moments, or a smaller model"]
    if not device.is_card:
        return []
    if not plan.share.whole:
        return [f"{dealt(recipe, plan.fleet.size)} gives each device whole batches"]
    room = 0.8 * device.memory - memory.total + memory.activations
    for batches in range(1, plan.share.batches):
        larger = plan.share.batches / batches
        if larger.is_integer() and larger * memory.activations < room:
            return [f"{dealt(recipe, batches * plan.fleet.size)} has fewer, larger products"]
    return []


def dealt(recipe: "Recipe", accumulate: int) -> str:
    """Settings for an update of as many tokens, in so many batches."""
    tokens = recipe.train.batch_tokens * recipe.train.accumulate // accumulate
    return f"--set train.accumulate={accumulate} --set train.batch_tokens={tokens}"


def in_bytes(number: float) -> str:
    return amount(number, "B")


def amount(number: float, unit: str) -> str:
    """18 MB, 2.4 GB, 29.7 TFLOP"""
    for power, letter in ((12, "T"), (9, "G")):
        if number >= 10**power:
            return f"{number / 10**power:,.1f} {letter}{unit}"
    return f"{number / 1e6:,.0f} M{unit}"


def command_line(recipe: Path, plan: "Plan", chosen: "Recipe", settings: tuple[str, ...]) -> str:
    """What to type; with several machines, on each of them."""
    words = ["train", str(recipe), "--out", str(Path("runs", recipe.stem))]
    extra = [] if plan.parallel == chosen.train.parallel else [f"train.parallel={plan.parallel}"]
    if plan.fleet.device.is_card and plan.precision == "float32":
        extra += [] if chosen.train.precision == "float32" else ["train.precision=float32"]
    for setting in (*settings, *extra):
        words += ["--set", setting]
    return f"{launcher(plan.fleet)} {shlex.join(words)}"


def launcher(fleet: "Fleet") -> str:
    if fleet.size == 1 or not fleet.device.is_card:
        return "regard"
    nodes = (
        f"--nnodes {fleet.nodes} --rdzv-backend c10d --rdzv-id regard --rdzv-endpoint FIRST:29500 "
        if fleet.nodes > 1
        else ""
    )
    return f"torchrun {nodes}--nproc-per-node {fleet.per_node} -m regard"


def facts(plan: "Plan", passes: float | None, command: str) -> dict[str, Any]:
    return {
        **asdict(plan),
        "fits": plan.fits,
        "tokens_per_second": plan.tokens_per_second,
        "share_of_peak": plan.share_of_peak,
        "passes": passes,
        "command": command,
    }
