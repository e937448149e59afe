"""regard show: what a run or a recipe is."""

import json
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

from cyclopts import Parameter

if TYPE_CHECKING:
    from regard.recipe import Recipe
    from regard.run import Run


def show(
    what: Path | None = None,
    /,
    *,
    settings: str | None = None,
    changes: Annotated[tuple[str, ...], Parameter(name="--set")] = (),
    as_json: Annotated[bool, Parameter(name="--json")] = False,
) -> None:
    """Show a run, a recipe, or every setting of a task.

    Of a run or a recipe it shows sizes, parameters, scores and origin, and the settings that are
    not the defaults.

    Parameters
    ----------
    what
        A run folder, a recipe file, or a recipe that comes with regard, by its name.
    settings
        Show every setting of this task, such as classification, instead.
    changes
        With a recipe: a setting to change first, like train.steps=2000. Repeat it for more.
    as_json
        Print one JSON object with everything.
    """
    from regard.errors import RequestError
    from regard.recipe import read
    from regard.recipe_names import is_shipped
    from regard.run import Run

    if (what is None) == (settings is None):
        raise RequestError("name a run folder or a recipe file, or a task with --settings TASK")
    if settings is not None:
        show_settings(settings, as_json)
        return
    assert what is not None  # checked above
    by_name = is_shipped(what) and not Run(what).recipe_path.is_file()
    run = None if by_name or (what.suffix == ".toml" and not what.is_dir()) else Run.open(what)
    if run and changes:
        raise RequestError(f"--set {changes[0]}: {what} is a run, whose settings are fixed")
    recipe = run.recipe() if run else read(what, changes)
    show_facts(str(what), gather(recipe, run), settings_lines(recipe), as_json)


def settings_lines(recipe: "Recipe") -> list[str]:
    """The settings that are not the defaults, as --set takes them."""
    changed = recipe.model_dump(mode="json", exclude_defaults=True, exclude_none=True)
    lines = []
    for name, value in changed.items():
        inner = value.items() if isinstance(value, dict) else [("", value)]
        for key, each in inner:
            shown = json.dumps(each, ensure_ascii=False)
            lines.append(f"{name}{'.' * bool(key)}{key}={shown}")
    return lines


def show_facts(title: str, facts: dict[str, Any], settings: list[str], as_json: bool) -> None:
    from regard.cli.display import results

    if as_json:
        results(json.dumps(facts, indent=2, ensure_ascii=False))
        return
    results(title)
    for name, value in facts.items():
        if name != "recipe" and value not in (None, [], {}):
            results(f"  {name:<14}{line(value)}")
    results("  settings      all others have their defaults, which --json shows")
    for each in settings:
        results(f"    {each}")


def gather(recipe: "Recipe", run: "Run | None") -> dict[str, Any]:
    from regard import tasks
    from regard.configs.parameters import num_parameters
    from regard.files import read_metadata
    from regard.made_with import check
    from regard.training.card import summary
    from regard.training.log import remarks

    if run and run.model_path.exists():
        check(run, read_metadata(run.model_path))
    described = tasks.get(recipe.task).describe(recipe, run)
    sizes = described.sizes
    info = run.info() if run else {}
    checkpoints = run.checkpoints() if run else []
    return {
        "damaged": (run and remarks(run.folder / "log.jsonl")) or None,
        "task": recipe.task,
        **described.facts,
        "model": summary(recipe),
        "parameters": (sizes and num_parameters(recipe, sizes)) or info.get("parameters"),
        "updates": (run and run.unfinished())
        or (f"{info['step']:,}" if "step" in info else f"up to {recipe.train.steps:,}"),
        "checkpoints": [int(path.stem.partition("-")[2]) for path in checkpoints],
        "training": f"{info['seconds'] / 60:.1f} min on {info['machine']}"
        if {"seconds", "machine"} <= info.keys()
        else None,
        "validation": info.get("validation"),
        "shortlist": (run and shortlist(run)) or None,
        "verdict": tasks.get(recipe.task).verdict(info.get("validation") or {}) or None,
        "made by": f"regard {info['regard']}, torch {info['torch']}"
        if {"regard", "torch"} <= info.keys()
        else None,
        "recipe": recipe.model_dump(mode="json", exclude_none=True),
    }


def shortlist(run: "Run") -> str:
    """What `regard translate --shortlist` would use."""
    from regard.engines.shortlist import Shortlist

    found = Shortlist.of_run(run)
    return found.summary() if found else ""


def show_settings(name: str, as_json: bool) -> None:
    from dataclasses import asdict

    from rich.table import Table

    from regard import tasks
    from regard.cli.display import results
    from regard.cli.terminal import Terminal
    from regard.recipe_settings import settings_of

    found = settings_of(tasks.get(name).recipe)
    if as_json:
        results(json.dumps([asdict(each) for each in found], indent=2, ensure_ascii=False))
        return
    table = Table("setting", "default", "what it does", box=None, pad_edge=False)
    for each in found:
        table.add_row(each.shown_name, each.shown_default, each.shown_description)
    Terminal().print(table)


def line(value: Any) -> str:
    if isinstance(value, dict):
        numbers = {name: each for name, each in value.items() if isinstance(each, int | float)}
        return ", ".join(f"{name} {each:.2f}" for name, each in numbers.items())
    if isinstance(value, (list, tuple)):
        return ", ".join(f"{each:,}" if isinstance(each, int) else str(each) for each in value)
    return f"{value:,}" if isinstance(value, int) else str(value)
