"""What there is to know about each recipe that comes with regard, without reading its data."""

import tomllib
from collections.abc import Mapping
from dataclasses import dataclass
from itertools import takewhile
from pathlib import Path, PurePosixPath
from typing import Any

from regard import recipe_names, tasks
from regard.datasets import VARIABLE, DataSet, datasets, with_data_folder
from regard.errors import RequestError
from regard.recipe_format import read_values

SCORES = Path(__file__).with_name("recipe_scores.toml")


@dataclass(frozen=True)
class Known:
    """A recipe that comes with regard. `start` is the run that it starts from, if any."""

    name: str
    task: str
    about: str
    datasets: tuple[DataSet, ...]
    start: str
    score: str
    minutes: int | None
    values: Mapping[str, Any]
    text: str  # the recipe as its file has it

    @property
    def is_here(self) -> bool:
        """Whether all of its data is where regard looks for it."""
        data = self.values["data"]
        folder = with_data_folder(data.get("folder", "."))
        names = (*data.get("train", ()), *data.get("valid", ()))
        return all(Path(folder, name).is_file() for name in names)


def catalogue() -> dict[str, Known]:
    """Every recipe that comes with regard, in the order of their tasks and names."""
    with SCORES.open("rb") as file:
        scores = tomllib.load(file)
    files = recipe_names.shipped()
    found = [known(name, path, scores.get(name, {})) for name, path in files.items()]
    order = list(tasks.TASKS)
    return {each.name: each for each in sorted(found, key=lambda each: order.index(each.task))}


def known(name: str, path: Path, measured: Mapping[str, Any]) -> Known:
    values = read_values(path)
    about, text = first_comment(path.read_text("utf-8"))
    return Known(
        name=name,
        task=values.get("task", tasks.DEFAULT),
        about=about,
        datasets=datasets_of(values["data"]),
        start=values.get("train", {}).get("from_run", ""),
        score=measured.get("score", ""),
        minutes=measured.get("minutes"),
        values=values,
        text=text,
    )


def first_comment(text: str) -> tuple[str, str]:
    """The comment that a recipe begins with, as one line, and the rest of the recipe."""
    lines = text.splitlines()
    comment = list(takewhile(lambda line: line.startswith("#"), lines))
    about = " ".join(line.removeprefix("#").strip() for line in comment)
    return about, "\n".join(lines[len(comment) :])


def datasets_of(data: Mapping[str, Any]) -> tuple[DataSet, ...]:
    """The data sets that a [data] section names; the folder of each has its name."""
    folder = PurePosixPath(data.get("folder", "."))
    if folder.parts[:1] != (f"${VARIABLE}",):
        return ()
    paths = [
        PurePosixPath(folder, name) for key in ("train", "valid") for name in data.get(key, ())
    ]
    names = dict.fromkeys(path.parts[1] for path in paths)
    return tuple(datasets()[name] for name in names)


def recipe_named(name: str) -> Known:
    found = catalogue().get(name)
    if found is None:
        raise RequestError(
            f"{name}: no recipe of that name comes with regard; {recipe_names.nearest(name)}"
            "`regard recipes` lists them"
        )
    return found


def datasets_named(name: str) -> tuple[DataSet, ...]:
    """The data sets of a recipe, or the one data set of that name."""
    found = datasets().get(name)
    return (found,) if found else recipe_named(name).datasets
