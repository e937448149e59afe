"""regard train: from data, or from a recipe, to a run folder."""

from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Literal

from cyclopts import Parameter

if TYPE_CHECKING:
    from regard.recipe import Recipe
    from regard.tasks.translation.sizes import Preset

Files = Annotated[tuple[Path, ...], Parameter(consume_multiple=True)]


@dataclass
class DataFlags:
    """What to learn from, where no recipe says it; one of the first four.

    Parameters
    ----------
    pairs
        Sentences and their translations: two files with a sentence a line, or one .tsv or .jsonl.
    text
        Running text for a language model: plain text, or the texts of a .jsonl or .tsv.
    labelled
        Texts and their labels for a classifier: a .tsv of label, tab, text, or a .jsonl.
    tagged
        Sentences whose words have labels for a tagger: CoNLL columns, or CoNLL-U.
    valid
        The same for validation; without it a share of the data is held out.
    languages
        With --pairs: two language codes, where the file names do not tell them.
    """

    pairs: Files = ()
    text: Files = ()
    labelled: Files = ()
    tagged: Files = ()
    valid: Files = ()
    languages: tuple[str, str] | None = None

    def given(self) -> list[tuple[str, tuple[Path, ...]]]:
        """The tasks that files are given for, and their files."""
        found = {
            "translation": self.pairs,
            "language-model": self.text,
            "classification": self.labelled,
            "tagging": self.tagged,
        }
        return [(task, files) for task, files in found.items() if files]


def train(
    recipe: Path | None = None,
    /,
    *,
    data: Annotated[DataFlags | None, Parameter(name="*")] = None,
    task: str | None = None,
    from_run: Annotated[Path | None, Parameter(name="--from")] = None,
    out: Path | None = None,
    preset: Literal["standard", "fast"] | None = None,
    processes: int | None = None,
    settings: Annotated[tuple[str, ...], Parameter(name="--set")] = (),
) -> None:
    """Train a model.

    Parameters
    ----------
    recipe
        A recipe file (TOML).
    task
        With --text: masked-language-model, if it is not to be a language model.
    from_run
        A finished run to begin from, such as a masked language model for a classifier.
    out
        The run folder; by default runs/ and the name of the recipe, the languages or the task.
    preset
        With --pairs: standard, or fast, whose decoder has one layer and translates sooner.
    processes
        Processes of this machine that share each update; by default as many as pays off.
    settings
        A setting of the recipe, like train.steps=2000; may be given several times.
    """
    from regard.cli.display import show_training
    from regard.training.run import training_run

    if from_run is not None:
        settings = (*settings, f"train.from_run={from_run}")
    if processes is not None:
        settings = (*settings, f"train.processes={processes}")
    chosen, out = choose(recipe, data or DataFlags(), task, out, settings, preset)
    show_training(training_run(chosen, out), out)


def choose(
    path: Path | None,
    flags: DataFlags,
    task: str | None,
    out: Path | None,
    settings: tuple[str, ...],
    preset: "Preset | None" = None,
) -> tuple["Recipe", Path]:
    """The recipe and the folder that the command line asks for."""
    from regard.errors import RecipeError
    from regard.recipe import override, read

    given = flags.given()
    if (path is None) == (not given) or len(given) > 1:
        raise RecipeError(
            "give either a recipe file or --pairs, --text, --labelled or --tagged; "
            "see `regard train --help`"
        )
    if path is not None:
        if flags.valid or flags.languages or task or preset:
            raise RecipeError(
                "--valid, --languages, --task and --preset belong to data on the command line; "
                "with a recipe, use --set data.valid=…"
            )
        return read(path, settings), out or Path("runs", path.stem)
    wanted = task_of(given[0][0], task or override({}, settings).get("task"))
    if wanted != "translation":
        refuse_flags_of_pairs(wanted, flags, preset)
    data, name = data_of(wanted, given[0][1], flags)
    out = out or Path("runs", name)
    if (out / "recipe.toml").exists():
        return begun(wanted, data, out, settings), out
    return suggested(wanted, data, settings, preset), out


def task_of(found: str, asked: str | None) -> str:
    from regard.errors import RecipeError

    if asked in (None, found):
        return found
    if found == "language-model" and asked == "masked-language-model":
        return asked
    raise RecipeError(f"--task {asked}: does not fit the data, which is for {found}")


def refuse_flags_of_pairs(task: str, flags: DataFlags, preset: "Preset | None") -> None:
    from regard.errors import RecipeError

    codes = " ".join(flags.languages or ())
    for flag, given in (("--preset", preset), ("--languages", codes)):
        if given:
            raise RecipeError(f"{flag} {given}: belongs to --pairs; leave it out for {task}")


def data_of(task: str, files: tuple[Path, ...], flags: DataFlags) -> tuple[dict[str, Any], str]:
    """The [data] section, and a name for the run."""
    from regard.data.corpus import language_codes

    data: dict[str, Any] = {
        "train": [str(file) for file in files],
        "valid": [str(file) for file in flags.valid],
    }
    if task != "translation":
        return data, task
    codes = flags.languages or language_codes(files)
    if codes:
        data["languages"] = list(codes)
    return data, "-".join(codes) if codes else "translator"


def begun(task: str, data: dict[str, Any], out: Path, settings: tuple[str, ...]) -> "Recipe":
    """The recipe of a run that is in the folder: its sizes were chosen when it began, and only what
    the person types may differ.
    """
    from regard.errors import RunError
    from regard.recipe import override, parse, read

    recipe = read(out / "recipe.toml")
    if recipe.task != task:
        raise RunError(f"{out}: holds a run for {recipe.task}, not {task}; choose another --out")
    values = recipe.model_dump(mode="json", exclude_none=True)
    values["data"] |= {**data, "folder": "."}
    return parse(override(values, settings), "command line")


def suggested(
    task: str, data: dict[str, Any], settings: tuple[str, ...], preset: "Preset | None"
) -> "Recipe":
    from regard.cli.display import say
    from regard.errors import RecipeError
    from regard.recipe import override, parse
    from regard.tasks.suggestions import still_true, suggest_from
    from regard.tasks.translation.sizes import suggest

    # What is asked for may change how the data is read, and which sizes fit.
    asked = override({"data": data, "model": {}, "train": {}}, settings)
    for name, section in asked.items():
        if name in ("data", "model", "train") and not isinstance(section, dict):
            raise RecipeError(
                f"--set {name}={section}: {name} is a section; name one of its keys as well"
            )
    if from_run := asked["train"].get("from_run"):
        if preset:
            raise RecipeError(f"--preset {preset}: --from takes the run's own shape; leave one out")
        values, reasons = suggest_from(from_run, asked["data"], task)
    else:
        values, reasons = suggest(asked["data"], task, preset or "standard", asked["model"])
    recipe = parse(override({"task": task, **values}, settings), "command line")
    for reason in still_true(reasons, override({}, settings)):
        say(f"  {reason}")
    return recipe
