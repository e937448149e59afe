"""regard train: from data, or from a recipe, to a run folder."""

from collections.abc import Mapping
from dataclasses import field, make_dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Literal

from cyclopts import Parameter

from regard import tasks

if TYPE_CHECKING:
    from regard.recipe import Recipe
    from regard.tasks.task import DataFlags

Files = tuple[Path, ...]


def flags_by_name() -> dict[str, str]:
    return {entry.flag: entry.flag_help for entry in tasks.TASKS.values() if entry.flag_help}


def flags_of_tasks() -> Any:
    """A flag for the data of each task, as the list of tasks has them."""
    helps = flags_by_name()
    helps["valid"] = "The same for validation; without it, a share of the data is held out."
    files = [
        (flag, Annotated[Files, Parameter(consume_multiple=True, help=text)], field(default=()))
        for flag, text in helps.items()
    ]
    languages = Annotated[
        tuple[str, str] | None,
        Parameter(help="With --pairs: two language codes, where the file names do not show them."),
    ]
    every = [*files, ("languages", languages, field(default=None))]
    # Without a module of its own, cyclopts takes the class for one of Python's and shows no flags.
    return make_dataclass("GivenData", every, namespace={"__module__": __name__})


GivenData = flags_of_tasks()


def train(
    recipe: Path | None = None,
    /,
    *,
    data: Annotated[GivenData | None, Parameter(name="*")] = None,  # type: ignore[valid-type]
    task: str | None = None,
    from_run: Annotated[Path | None, Parameter(name="--from")] = None,
    out: Path | None = None,
    preset: Literal["standard", "fast"] | None = None,
    processes: int | None = None,
    settings: Annotated[tuple[str, ...], Parameter(name="--set")] = (),
) -> None:
    """Train a model from your data or from a recipe, or resume a run.

    Two ways to start: `regard train --pairs train.en train.de` (or --text, --labelled, --tagged)
    chooses sizes for your data; `regard train RECIPE.toml` takes every setting from a file. Ctrl-C
    saves and stops, and the same command resumes.

    Parameters
    ----------
    recipe
        A recipe file (TOML).
    task
        With --text: masked-language-model trains a masked language model instead.
    from_run
        A finished run to start from, such as a masked language model for a classifier.
    out
        The run folder. By default it is in runs/, named after the recipe, languages or task.
    preset
        With --pairs: standard, or fast, which translates faster with one decoder layer.
    processes
        Processes on this machine that share each update; by default, as many as pay off.
    settings
        A setting of the recipe, like train.steps=2000. Repeat it for more settings.
    """
    from regard.cli.display import show_training
    from regard.training.run import training_run

    if from_run is not None:
        settings = (*settings, f"train.from_run={from_run}")
    if processes is not None:
        settings = (*settings, f"train.processes={processes}")
    given: Any = data
    chosen, out = choose(recipe, vars(given) if given else {}, task, out, settings, preset)
    show_training(training_run(chosen, out), out)


def choose(
    path: Path | None,
    given: Mapping[str, Any],
    task: str | None,
    out: Path | None,
    settings: tuple[str, ...],
    preset: str | None = None,
) -> tuple["Recipe", Path]:
    """The recipe and the folder that the command line asks for."""
    from regard.errors import RecipeError
    from regard.recipe import override, read
    from regard.tasks.task import DataFlags

    valid, languages = given.get("valid", ()), given.get("languages")
    flags = [flag for flag in given if flag not in ("valid", "languages") and given[flag]]
    if (path is None) == (not flags) or len(flags) > 1:
        known = [
            f"--{each}" for each in dict.fromkeys(e.flag for e in tasks.TASKS.values()) if each
        ]
        raise RecipeError(
            f"give either a recipe file or {', '.join(known[:-1])} or {known[-1]}; "
            "see `regard train --help`"
        )
    if path is not None:
        if valid or languages or task or preset:
            raise RecipeError(
                "--valid, --languages, --task and --preset belong to data on the command line; "
                "with a recipe, use --set data.valid=…"
            )
        return read(path, settings), out or Path("runs", path.stem)
    entry = task_for(flags[0], task or override({}, settings).get("task"))
    refuse_unused(entry, {"preset": preset, "languages": " ".join(languages or ())})
    data, name = section_of(entry, DataFlags(given[flags[0]], valid, languages))
    out = out or Path("runs", name)
    if (out / "recipe.toml").exists():
        return started(entry.name, data, out, settings), out
    return suggested(entry.name, data, settings, preset), out


def task_for(flag: str, asked: str | None) -> tasks.Entry:
    """The task that learns from such data: the first in the list, or the one that is asked for."""
    from regard.errors import RecipeError

    fitting = [entry for entry in tasks.TASKS.values() if entry.flag == flag]
    if asked is None:
        return fitting[0]
    found = next((entry for entry in fitting if entry.name == asked), None)
    if found is None:
        raise RecipeError(f"--task {asked}: does not fit the data, which is for {fitting[0].name}")
    return found


def refuse_unused(entry: tasks.Entry, options: Mapping[str, str | None]) -> None:
    from regard.errors import RecipeError

    for name, value in options.items():
        if value and name not in entry.options:
            flag = next(each.flag for each in tasks.TASKS.values() if name in each.options)
            raise RecipeError(
                f"--{name} {value}: belongs to --{flag}; leave it out for {entry.name}"
            )


def section_of(entry: tasks.Entry, flags: "DataFlags") -> tuple[dict[str, Any], str]:
    """The [data] section, and a name for the run."""
    make = tasks.get(entry.name).data_section
    return (flags.files(), entry.name) if make is None else make(flags)


def started(task: str, data: dict[str, Any], out: Path, settings: tuple[str, ...]) -> "Recipe":
    """The recipe of the run in the folder: its sizes were chosen when it started, and only what the
    person types may differ.
    """
    from regard.errors import RunError
    from regard.recipe import override, parse
    from regard.run import Run

    recipe = Run(out).recipe()
    if recipe.task != task:
        raise RunError(f"{out}: holds a run for {recipe.task}, not {task}; choose another --out")
    values = recipe.model_dump(mode="json", exclude_none=True)
    values["data"] |= {**data, "folder": "."}
    return parse(override(values, settings), "command line")


def suggested(
    name: str, data: dict[str, Any], settings: tuple[str, ...], preset: str | None
) -> "Recipe":
    from regard.cli.display import say
    from regard.errors import RecipeError
    from regard.recipe import override, parse
    from regard.tasks.suggestions import still_true, suggest_from

    task = tasks.get(name)
    # What is asked for may change how the data is read, and which sizes fit.
    asked = override({"data": data, "model": {}, "train": {}}, settings)
    for section, values in asked.items():
        if section in ("data", "model", "train") and not isinstance(values, dict):
            raise RecipeError(
                f"--set {section}={values}: {section} is a section; name one of its keys as well"
            )
    if from_run := asked["train"].get("from_run"):
        if preset:
            raise RecipeError(f"--preset {preset}: --from takes the run's own shape; leave one out")
        found = suggest_from(task, from_run, asked["data"])
    else:
        found = task.suggest(asked["data"], asked["model"], preset or "standard")
    recipe = parse(override({"task": name, **found.values}, settings), "command line")
    for reason in still_true(found.reasons, override({}, settings)):
        say(f"  {reason}")
    return recipe
