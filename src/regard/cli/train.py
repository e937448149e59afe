"""regard train: from data, or from a recipe, to a run folder."""

from collections.abc import Mapping
from dataclasses import field, make_dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Literal

from cyclopts import Parameter

from regard import tasks
from regard.cli.options import EXPLAINED

if TYPE_CHECKING:
    from regard.start import DataOptions, Start

Files = tuple[Path, ...]


def flags_of_tasks() -> Any:
    """A flag for the data of each task, as the list of tasks has them."""
    helps = tasks.flags()
    helps["valid"] = "The same for validation; without it, a share of the data is held out."
    files = [
        (flag, Annotated[Files, Parameter(consume_multiple=True, help=text)], field(default=()))
        for flag, text in helps.items()
    ]
    languages = Annotated[
        tuple[str, str] | None,
        Parameter(help="With --pairs: two language codes, where the file names do not show them."),
    ]
    texts = [
        (name, Annotated[str | None, Parameter(help=text)], field(default=None))
        for name, text in tasks.data_flags().items()
    ]
    every = [*files, ("languages", languages, field(default=None)), *texts]
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
    embeddings: Path | None = None,
    out: Path | None = None,
    preset: Annotated[
        Literal["standard", "fast"] | None, EXPLAINED, Parameter(show_default="standard")
    ] = None,
    processes: int | None = None,
    anyway: bool = False,
    settings: Annotated[tuple[str, ...], Parameter(name="--set")] = (),
) -> None:
    """Train a model from your data or from a recipe, or resume a run.

    Two ways to start: `regard train --pairs train.en train.de` (or --text, --labelled, --series …)
    chooses sizes for your data; `regard train RECIPE` takes every setting from a recipe. Ctrl-C
    saves and stops, and the same command resumes.

    Parameters
    ----------
    recipe
        A recipe file (TOML), or the name of a recipe that `regard recipes` lists.
    task
        With --text: masked-language-model or word-vectors trains these instead.
    from_run
        A finished run to start from, such as a masked language model for a classifier.
    embeddings
        Vectors of words to start from: a run folder, or a file of Word2Vec or GloVe. Words are then
        the tokens, and the model is as wide as the vectors.
    out
        The run folder. By default it is in runs/, named after the recipe, languages or task.
    preset
        With --pairs: standard, or fast, which translates faster with one decoder layer.
    processes
        Processes on this machine that share each update; by default, as many as pay off.
    anyway
        Train even if the check of the data finds what cannot be meant; see `regard check --help`.
    settings
        A setting of the recipe, like train.steps=2000. Repeat it for more settings.
    """
    from regard.cli.check import check_first
    from regard.cli.display import say
    from regard.run import Run
    from regard.start import DataOptions, starting_from
    from regard.training.checks import checked
    from regard.training.run import training_run

    if from_run is not None:
        settings = (*settings, f"train.from_run={from_run}")
    if embeddings is not None:
        settings = (*starting_from(embeddings), *settings)
    if processes is not None:
        settings = (*settings, f"train.processes={processes}")
    given: Any = data
    options = DataOptions(task, out, preset, settings)
    start = choose(recipe, vars(given) if given else {}, options)
    for reason in start.reasons:
        say(f"  {reason}")
    checked(start.recipe, Run(start.out))  # before the data is read, which may take long
    check_first(start.recipe, start.out, anyway)
    from regard.cli.training_screen import show_training

    show_training(training_run(start.recipe, start.out), start.out)


def choose(
    path: Path | None, given: Mapping[str, Any], options: "DataOptions", command: str = "train"
) -> "Start":
    """The recipe and the folder that the command line asks for."""
    from regard.cli.display import SCREEN
    from regard.errors import UsageError
    from regard.start import from_data, from_recipe, split_flags
    from regard.tasks.task import DataFlags

    valid, languages = given.get("valid", ()), given.get("languages")
    flags = [flag for flag in tasks.flags() if given.get(flag)]
    if (path is None) == (not flags):
        known = [f"--{each}" for each in tasks.flags()]
        raise UsageError(
            f"give either a recipe file or {', '.join(known[:-1])} or {known[-1]}; "
            f"see `regard {command} --help`"
        )
    if path is None:
        flag, others = split_flags(flags)
        companions = {each: given[each] for each in others}
        data = DataFlags(given[flag], valid, languages, companions=companions)
        options = replace(options, data_flags=given_flags(given))
        return from_data(flag, data, options, SCREEN)
    for name in given_flags(given):
        raise UsageError(f"--{name}: with a recipe, use --set data.{name}=…")
    if valid or languages or options.task or options.preset:
        raise UsageError(
            "--valid, --languages, --task and --preset belong to data on the command line; "
            "with a recipe, use --set data.valid=…"
        )
    return from_recipe(path, options.out, options.settings)


def given_flags(given: Mapping[str, Any]) -> dict[str, str]:
    """The flags that stand for settings of [data] and were given."""
    return {name: given[name] for name in tasks.data_flags() if given.get(name) is not None}
