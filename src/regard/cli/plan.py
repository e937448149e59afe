"""regard plan: what training a recipe takes, on this machine or on one to be hired."""

import json
import shlex
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

from cyclopts import Parameter

from regard.cli.options import AsJson, Settings
from regard.cli.train import GivenData, choose

if TYPE_CHECKING:
    from regard.planning.fleet import Fleet
    from regard.planning.plan import Plan
    from regard.planning.task_planning import DataFacts
    from regard.recipe import Recipe
    from regard.run import Run


def plan(
    recipe: Path | None = None,
    /,
    *,
    data: Annotated[GivenData | None, Parameter(name="*")] = None,
    task: str | None = None,
    device: Annotated[str, Parameter(show_default="this machine")] = "",
    settings: Settings = (),
    as_json: AsJson = False,
) -> None:
    """Estimate the memory, speed and time of a training.

    The figures come from formulas, for this machine or for cards that you name. The last line is
    the command to run.

    Parameters
    ----------
    recipe
        A recipe file (TOML), the name of one that comes with regard, or a run folder. Without it,
        --pairs, --images and the like name data, as for `regard train`.
    task
        With --text or --captions: another task that learns from such data.
    device
        The device to train on: A100, 8xA100, or 2x8xH100 for two machines of eight. This machine
        is measured.
    settings
        A setting of the recipe, like train.batch_tokens=8192. Repeat it for more settings.
    as_json
        Print one JSON object with everything.
    """
    from regard.cli.display import SCREEN, results, say
    from regard.machine.cores import busy_cores
    from regard.planning.fleet import cards_by_name, fleet_here
    from regard.planning.plan import make_plan, planning_of
    from regard.training.team import worthwhile

    given: Any = data
    planned = wanted(recipe, vars(given) if given else {}, task, settings)
    for reason in planned.reasons:
        say(f"  {reason}")
    chosen = planned.recipe
    cards = cards_by_name(device)
    found = planning_of(chosen).facts(chosen, planned.home, SCREEN)
    fleet = cards or fleet_here(device, worthwhile(chosen.train))
    if not fleet.device.is_card and (taken := busy_cores()) > 0.3:
        say(f"Other programs take {taken:.1f} cores; on a quiet machine the figures are better.")
    best = make_plan(chosen, fleet, found.sizes, chosen.train.parallel)
    if not best.fits and fleet.size > 1:
        best = make_plan(chosen, fleet, found.sizes, "fsdp")
    learned = chosen.train.steps * best.tokens_per_update
    passes = learned / found.tokens if found.tokens else None
    command = command_line(planned, best, settings)
    if as_json:
        results(json.dumps(facts(best, found, passes, command), indent=2))
        return
    results(f"{planned.name} on {fleet}")
    for name, text in lines(best, chosen, found, passes, command):
        results(f"  {name:<12}{text}")


@dataclass(frozen=True)
class Wanted:
    """The training that is planned."""

    recipe: "Recipe"
    home: "Run | None"  # that the recipe was found in
    name: str
    words: list[str]  # that `regard train` takes, but for settings
    reasons: tuple[str, ...] = ()


def wanted(
    path: Path | None, given: dict[str, Any], task: str | None, settings: tuple[str, ...]
) -> Wanted:
    """The training that the command line names by a recipe, a run folder, or data."""
    from regard import tasks
    from regard.recipe import read
    from regard.run import Run
    from regard.start import DataOptions
    from regard.training.checks import with_model_of

    if path is None or task or any(given.values()):
        start = choose(path, given, DataOptions(task, settings=settings), "plan")
        flags = {
            flag: (values,) if isinstance(values, str) else values
            for flag, values in {**given, "task": task}.items()
            if values
        }
        words = [
            word for flag, values in flags.items() for word in (f"--{flag}", *map(str, values))
        ]
        shown = " ".join(str(each) for flag in tasks.flags() for each in flags.get(flag, ()))
        home = Run(start.out) if Run(start.out).is_started() else None
        words += ["--out", str(start.out)]
        return Wanted(
            with_model_of(start.recipe, Run(start.out)), home, shown, words, start.reasons
        )
    file, home = located(path)
    out = Path("runs", f"{home.folder.resolve().name}-again" if home else file.stem)
    chosen = with_model_of(read(file, settings), home or Run(out))
    return Wanted(chosen, home, str(path), [str(file), "--out", str(out)])


def located(given: Path) -> "tuple[Path, Run | None]":
    """The recipe's file, and the run that it lies in."""
    from regard.recipe_names import is_shipped
    from regard.run import Run

    if given.is_dir() and not (is_shipped(given) and not Run(given).recipe_path.is_file()):
        home = Run.open(given)
        return home.recipe_path, home
    home = Run(given.parent)
    started = given.name == home.recipe_path.name and home.is_started()
    return given, home if started else None


def lines(
    plan: "Plan", recipe: "Recipe", found: "DataFacts", passes: float | None, command: str
) -> list[tuple[str, str]]:
    from regard import tasks
    from regard.cli.display import duration
    from regard.planning.plan import planning_of

    fleet, memory, train = plan.fleet, plan.memory, recipe.train
    planning, unit = planning_of(recipe), tasks.get(recipe.task).unit
    member = "device" if fleet.device.is_card else "process"
    each, on_each = (f" a {member}", f" for each {member}") if fleet.size > 1 else ("", "")
    room = "fits into" if plan.fits else "does not fit into"
    update = (
        f"{plan.tokens_per_update:,.0f} {unit}, {amount(plan.flops_per_update, 'FLOP')}; "
        f"{plan.share.batches} × {planning.batch(recipe, plan.share.batch_tokens)}{on_each}"
        f"{planning.remark(recipe)}"
    )
    held = (
        f"{in_bytes(memory.total)}{each}, {room} {in_bytes(fleet.device.memory)}: weights "
        f"{in_bytes(memory.weights)}, gradients {in_bytes(memory.gradients)}, moments "
        f"{in_bytes(memory.moments)}, activations {in_bytes(memory.activations)}"
    )
    speed = (
        f"about {float(f'{plan.tokens_per_second:.2g}'):,.0f} {unit}/s in {plan.precision}, "
        f"{100 * plan.share_of_peak:.0f} % of the peak of {amount(plan.peak_flops, 'FLOP')}/s"
    )
    days = plan.seconds / 86400
    length = duration(plan.seconds) if days < 3 else f"{days:,.0f} days"
    time = f"about {length} for {train.steps:,} updates, validation not counted"
    if recipe.model.kind == "recurrent" and fleet.device.is_card:
        time += "; rather more, since each step waits for the one before it"
    shown = [
        *(("model", model(plan, recipe, found)), ("update", update), ("memory", held)),
        *(("speed", speed), ("time", time)),
    ]
    if plan.waiting_seconds > 0.01 * plan.update_seconds:
        share = 100 * plan.waiting_seconds / plan.update_seconds
        shown.append(("waiting", f"{share:.0f} % of the time, for what other devices send"))
    shown.append(("data", data(recipe, found, passes)))
    files = tasks.get(recipe.task).describe(recipe, None).data
    if files:
        shown.append(("files", files if isinstance(files, str) else ", ".join(files)))
    shown += [("advice", text) for text in advice(plan, recipe)]
    return [*shown, ("run", command)]


def model(plan: "Plan", recipe: "Recipe", found: "DataFacts") -> str:
    """How large it is: at the most, where the vocabulary is yet to be learned."""
    from regard.planning.plan import planning_of

    up_to = "" if found.vocabulary_known else "up to "
    text = f"{up_to}{plan.parameters:,} parameters"
    if plan.sizes.inputs:
        text += f", {up_to}{plan.sizes.inputs:,} {planning_of(recipe).inputs}"
    if planning_of(recipe).has_labels:
        text += f", {plan.sizes.outputs:,} labels" + " (a guess)" * (not found.labels_known)
    return text


def data(recipe: "Recipe", found: "DataFacts", passes: float | None) -> str:
    from regard.planning.plan import planning_of

    planning = planning_of(recipe)
    if passes:
        return f"about {passes:.1f} passes over the {planning.examples}"
    if not planning.has_lengths:
        return "not on this machine"
    kind = planning.examples if planning.has_labels else "sentences"
    return f"not on this machine; {kind} are taken as {found.sizes.sentence:.0f} pieces long"


def advice(plan: "Plan", recipe: "Recipe") -> list[str]:
    """What would make an update fit, or faster and still of as many tokens."""
    from regard.planning.plan import planning_of

    memory, device = plan.memory, plan.fleet.device
    if not plan.fits:
        if memory.total - memory.activations >= device.memory:
            return ["more devices, which share weights and moments, or a smaller model"]
        if planning_of(recipe).compares_rows:
            return [
                "a smaller train.batch_size needs less memory, but compares with fewer captions"
            ]
        return [f"{dealt(recipe, 2 * recipe.train.accumulate)} halves the activations"]
    if not device.is_card or planning_of(recipe).compares_rows:
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
    """Settings for an update of as many tokens, in this many batches."""
    from regard.planning.task_planning import batch_setting, batch_size

    train = recipe.train
    size = batch_size(train) * train.accumulate // accumulate
    return f"--set train.accumulate={accumulate} --set train.{batch_setting(train)}={size}"


def in_bytes(number: float) -> str:
    return amount(number, "B")


def amount(number: float, unit: str) -> str:
    """18 MB, 2.4 GB, 312 TFLOP"""
    for power, letter in ((12, "T"), (9, "G")):
        if number >= 10**power:
            digits = 1 if number < 10 ** (power + 2) else 0
            return f"{number / 10**power:,.{digits}f} {letter}{unit}"
    return f"{number / 1e6:,.0f} M{unit}" if number >= 1e6 else f"{number / 1e3:,.0f} k{unit}"


def command_line(planned: Wanted, plan: "Plan", settings: tuple[str, ...]) -> str:
    """What to type; with several machines, on each of them."""
    words, train = ["train", *planned.words], planned.recipe.train
    extra = [] if plan.parallel == train.parallel else [f"train.parallel={plan.parallel}"]
    if plan.precision == "float32" and train.precision == "bfloat16":
        extra.append("train.precision=float32")
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


def facts(plan: "Plan", found: "DataFacts", passes: float | None, command: str) -> dict[str, Any]:
    return {
        **asdict(plan),
        "vocabulary_known": found.vocabulary_known,
        "labels_known": found.labels_known,
        "fits": plan.fits,
        "tokens_per_second": plan.tokens_per_second,
        "share_of_peak": plan.share_of_peak,
        "passes": passes,
        "command": command,
    }
