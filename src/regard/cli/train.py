"""regard train: from sentence pairs, or from a recipe, to a run folder."""

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Literal

from cyclopts import Parameter

if TYPE_CHECKING:
    from regard.recipe import Recipe
    from regard.training.sizes import Preset


def train(
    recipe: Path | None = None,
    /,
    *,
    pairs: Annotated[tuple[Path, ...], Parameter(consume_multiple=True)] = (),
    valid: Annotated[tuple[Path, ...], Parameter(consume_multiple=True)] = (),
    languages: tuple[str, str] | None = None,
    out: Path | None = None,
    preset: Literal["standard", "fast"] | None = None,
    processes: int | None = None,
    settings: Annotated[tuple[str, ...], Parameter(name="--set")] = (),
) -> None:
    """Train a translator.

    Parameters
    ----------
    recipe
        A recipe file (TOML).
    pairs
        Two files with a sentence a line, or one .tsv or .jsonl; each may be .gz.
    valid
        The same for validation; without it a share of the pairs is held out.
    languages
        Two language codes, where the file names do not tell them.
    out
        The run folder; by default runs/ and the name of the recipe or the languages.
    preset
        With --pairs: standard, or fast, whose decoder has one layer and translates sooner.
    processes
        Processes of this machine that share each update; by default as many as pays off.
    settings
        A setting of the recipe, like train.steps=2000; may be given several times.
    """
    from regard.cli.display import show_training
    from regard.training.run import training_run

    if processes is not None:
        settings = (*settings, f"train.processes={processes}")
    chosen, out = choose(recipe, pairs, valid, languages, out, settings, preset)
    show_training(training_run(chosen, out), out)


def choose(
    path: Path | None,
    pairs: tuple[Path, ...],
    valid: tuple[Path, ...],
    languages: tuple[str, str] | None,
    out: Path | None,
    settings: tuple[str, ...],
    preset: "Preset | None" = None,
) -> tuple["Recipe", Path]:
    """The recipe and the folder that the command line asks for."""
    from regard.data.corpus import language_codes
    from regard.errors import RecipeError
    from regard.recipe import override, parse, read
    from regard.training.sizes import suggest

    if (path is None) == (not pairs):
        raise RecipeError("give either a recipe file or --pairs; see `regard train --help`")
    if path is not None:
        if valid or languages or preset:
            raise RecipeError(
                "--valid, --languages and --preset belong to --pairs; with a recipe, use --set"
            )
        return read(path, settings), out or Path("runs", path.stem)
    codes = languages or language_codes(pairs)
    out = out or Path("runs", "-".join(codes) if codes else "translator")
    data = {
        "train": [str(file) for file in pairs],
        "valid": [str(file) for file in valid],
        **({"languages": list(codes)} if codes else {}),
    }
    started = out / "recipe.toml"
    if started.exists():
        # The sizes were chosen when the run began; only what the person types may differ.
        values = read(started).model_dump(mode="json", exclude_none=True)
        values["data"] |= {**data, "folder": "."}
        return parse(override(values, settings), "command line"), out
    values, reasons = suggest(data, preset or "standard")
    from regard.cli.display import say

    for reason in reasons:
        say(f"  {reason}")
    return parse(override(values, settings), "command line"), out
