"""Experiments that come with the package: which recipes are trained and compared, as data."""

import tomllib
from collections.abc import Iterable
from dataclasses import dataclass
from importlib import resources

from regard.errors import UsageError
from regard.recipe import Recipe, read


@dataclass(frozen=True)
class Experiment:
    """Several recipes under the same conditions, and a sentence to look at afterwards."""

    title: str
    about: tuple[str, ...]
    sentence: str
    recipes: dict[str, Recipe]  # by the name of the run on the page
    folders: dict[str, str]  # by the same names


def load_experiment(name: str, corpus: str, settings: Iterable[str] = ()) -> Experiment:
    """An experiment on one of its data sets; `settings` override those of all its recipes."""
    package = resources.files("regard")
    values = tomllib.loads((package / "experiments" / f"{name}.toml").read_text("utf-8"))
    if corpus not in values["data"]:
        known = " or ".join(values["data"])
        raise UsageError(f"--corpus {corpus}: not known to {name}; give {known}")
    chosen = values["data"][corpus]
    laid_over = (*chosen["settings"], *settings)
    recipes = {}
    for run, recipe in chosen["runs"].items():
        with resources.as_file(package / "recipes" / f"{recipe}.toml") as path:
            recipes[run] = read(path, laid_over)
    return Experiment(
        values["title"], tuple(values["about"]), chosen["sentence"], recipes, chosen["runs"]
    )
