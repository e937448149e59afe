"""Chooses the recipe and the folder of a training: from a recipe file, or from data."""

import json
from collections.abc import Collection, Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

from regard import tasks
from regard.errors import RunError, UsageError
from regard.recipe import (
    Recipe,
    check_settings,
    override,
    parse,
    parse_section,
    read,
)
from regard.recipe_format import with_pretrained
from regard.reporter import SILENT, Reporter
from regard.run import Run
from regard.tasks.sections import FilesSection
from regard.tasks.suggestions import still_true, suggest_from
from regard.tasks.task import DataFlags
from regard.text.vectors import vector_width
from regard.training.checks import DATA

PRESETS = ("standard", "fast")


@dataclass(frozen=True)
class Start:
    """A recipe, the folder to train it in, and the reasons for sizes that were chosen for it."""

    recipe: Recipe
    out: Path
    reasons: tuple[str, ...] = ()


@dataclass(frozen=True)
class DataOptions:
    """What goes with data where there is no recipe; `settings` are like train.steps=2000."""

    task: str | None = None
    out: Path | None = None
    preset: str | None = None
    settings: tuple[str, ...] = ()
    data_flags: Mapping[str, Any] = field(default_factory=dict)  # settings of [data] by their flags


def starting_from(vectors: Path) -> tuple[str, ...]:
    """The settings for a model whose embeddings start from vectors of words: those of a run, or of
    a file.
    """
    width = Run.open(vectors).recipe().model.d_model if vectors.is_dir() else vector_width(vectors)
    place = json.dumps(str(vectors.resolve()), ensure_ascii=False)
    return (f"data.embeddings={place}", "tokenizer.kind=word", f"model.d_model={width}")


def from_recipe(path: Path, out: Path | None = None, settings: tuple[str, ...] = ()) -> Start:
    return Start(read(path, settings), out or Path("runs", path.stem))


def from_data(
    flag: str, data: DataFlags, options: DataOptions, reporter: Reporter = SILENT
) -> Start:
    """The recipe for data that is given as `--flag`: the started run's own, or one with sizes that
    fit the data.
    """
    settings = options.settings
    entry = task_for(flag, options.task or override({}, settings).get("task"), data.companions)
    asked = {"preset": options.preset, "languages": " ".join(data.languages or ())}
    refuse_unused(entry, asked)
    refuse_other_flags(entry, options.data_flags)
    settings = (*as_settings(options.data_flags), *settings)
    if options.preset not in (None, *PRESETS):
        raise UsageError(
            f"--preset {options.preset}: there is no such preset; write {' or '.join(PRESETS)}"
        )
    columns = dict(override({"data": {}}, settings)["data"]).get("columns")
    if isinstance(columns, list):
        data = replace(data, columns=tuple(columns))
    section, name = section_of(entry, data)
    out = options.out or Path("runs", name)
    if (out / "recipe.toml").exists():
        return Start(started(entry.name, section, out, settings), out)
    check(entry.name, section, out, replace(options, settings=settings))
    with reporter.progress("Reading the data, to choose sizes for it", 0):
        recipe, reasons = suggested(entry.name, section, settings, options.preset)
    return Start(recipe, out, tuple(reasons))


def split_flags(given: Collection[str]) -> tuple[str, list[str]]:
    """The flag of the data that a task is found by, and its companions."""
    for flag in given:
        others = [each for each in given if each != flag]
        if fitting(flag, others):
            return flag, others
    alone = [each for each in given if not any(e.flag == each for e in tasks.TASKS.values())]
    for entry in tasks.TASKS.values():
        if {each.flag for each in entry.companions} & {*alone}:
            raise UsageError(f"--{alone[0]}: goes with --{entry.flag}; give both")
    raise UsageError(f"--{' and --'.join(given)}: do not go together; give one of them")


def fitting(flag: str, companions: Collection[str]) -> list[tasks.Entry]:
    """The tasks that learn from such data."""
    return [
        entry
        for entry in tasks.TASKS.values()
        if entry.flag == flag
        and {*companions} <= {each.flag for each in entry.companions}
        and {each.flag for each in entry.companions if each.needed} <= {*companions}
    ]


def task_for(flag: str, asked: str | None, companions: Collection[str] = ()) -> tasks.Entry:
    """The task that learns from such data: the first in the list, or the one that is asked for."""
    fitting_here = fitting(flag, companions)
    if not fitting_here:
        raise UsageError(f"--{flag}: no task learns from such data; give other data")
    if asked is None:
        return fitting_here[0]
    found = next((entry for entry in fitting_here if entry.name == asked), None)
    if found is None:
        known = " or ".join(entry.name for entry in fitting_here)
        raise UsageError(f"--task {asked}: does not fit the data, which is for {known}")
    return found


def refuse_unused(entry: tasks.Entry, options: Mapping[str, str | None]) -> None:
    for name, value in options.items():
        if value and name not in entry.options:
            flag = next(each.flag for each in tasks.TASKS.values() if name in each.options)
            raise UsageError(
                f"--{name} {value}: belongs to --{flag}; leave it out for {entry.name}"
            )


def refuse_other_flags(entry: tasks.Entry, given: Mapping[str, Any]) -> None:
    for name, value in given.items():
        if name not in entry.data_flags:
            owner = next(each for each in tasks.TASKS.values() if name in each.data_flags)
            raise UsageError(
                f"--{name} {value}: belongs to --{owner.flag}; leave it out for {entry.name}"
            )


def as_settings(given: Mapping[str, Any]) -> tuple[str, ...]:
    """Flags of [data] as --set takes them: --horizon 48 is data.horizon=48."""
    return tuple(
        f"data.{name}={value if str(value).isdecimal() else json.dumps(value, ensure_ascii=False)}"
        for name, value in given.items()
    )


def section_of(entry: tasks.Entry, flags: DataFlags) -> tuple[dict[str, Any], str]:
    """The [data] section, and a name for the run."""
    make = tasks.get(entry.name).data_section
    return (flags.files(), entry.name) if make is None else make(flags)


def check(task: str, data: dict[str, Any], out: Path, options: DataOptions) -> None:
    """Refuse what is wrong before the data is read, which may take long."""
    schema = tasks.get(task).recipe
    asked = override({"task": task, "data": data}, options.settings)
    check_settings(asked, "command line")
    asked = with_pretrained(asked, schema.pretrained)
    section = parse_section(schema, "data", asked["data"], "command line")
    if isinstance(section, FilesSection):  # data of a task of one's own may be something else
        section.check_files()
    if from_run := asked.get("train", {}).get("from_run"):
        if options.preset:
            raise UsageError(
                f"--preset {options.preset}: --from takes the run's own shape; leave one out"
            )
        Run.open(from_run).recipe()
    Run(out).check_place()


def started(task: str, data: dict[str, Any], out: Path, settings: tuple[str, ...]) -> Recipe:
    """The recipe of the run in the folder: its sizes were chosen when it started, and only what the
    person types may differ.
    """
    recipe = Run(out).recipe()
    if recipe.task != task:
        raise RunError(f"{out}: holds a run for {recipe.task}, not {task}; choose another --out")
    values = recipe.model_dump(mode="json", exclude_none=True)
    # Whether it is the same data is checked when training starts.
    kept = {key: value for key, value in values["data"].items() if f"data.{key}" not in DATA}
    values["data"] = {**kept, "folder": ".", **data}
    return parse(override(values, settings), "command line")


def suggested(
    name: str, data: dict[str, Any], settings: tuple[str, ...], preset: str | None
) -> tuple[Recipe, list[str]]:
    """A recipe with sizes that fit the data, and the reasons for them."""
    task = tasks.get(name)
    # What is asked for may change how the data is read, and which sizes fit.
    asked = override({"data": data, "model": {}, "train": {}}, settings)
    asked = with_pretrained(asked, task.recipe.pretrained)
    if from_run := asked["train"].get("from_run"):
        found = suggest_from(task, from_run, asked["data"])
    else:
        model = asked["model"] | ({"encoder": asked["encoder"]} if "encoder" in asked else {})
        found = task.suggest(asked["data"], model, preset or "standard")
    recipe = parse(override({"task": name, **found.values}, settings), "command line")
    return recipe, still_true(found.reasons, override({}, settings))
