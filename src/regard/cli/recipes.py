"""regard recipes: the recipes that come with regard, and the data that they need."""

import json
import shutil
import sys
import textwrap
from collections.abc import Iterator
from contextlib import contextmanager
from itertools import groupby
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

from cyclopts import App, Parameter

if TYPE_CHECKING:
    from regard.datasets import DataSet
    from regard.recipe_catalogue import Known
    from regard.reporter import Advance

app = App(name="recipes")


@app.default
def recipes(
    name: str | None = None, /, *, as_json: Annotated[bool, Parameter(name="--json")] = False
) -> None:
    """List the recipes that come with regard, or describe one.

    The list has the data of each recipe, the score it reached and how long that took on two cores.
    `regard train NAME` trains a recipe, and `regard recipes fetch NAME` downloads its data, which
    no other command ever does.

    Parameters
    ----------
    name
        A recipe: show where its data comes from, its licence, and all of its settings.
    as_json
        Print one JSON object per recipe.
    """
    from regard.cli.display import results
    from regard.recipe_catalogue import catalogue, recipe_named

    if as_json:
        shown = [recipe_named(name)] if name else list(catalogue().values())
        for each in shown:
            results(json.dumps(facts(each), ensure_ascii=False))
    elif name:
        results(described(recipe_named(name)))
    else:
        results(listed(list(catalogue().values())))


@app.command
def fetch(name: str, /, *, to: Path | None = None, anyway: bool = False) -> None:
    """Download the data of a recipe.

    Every file is checked. Ctrl-C stops, and the same command resumes. A proxy is taken from the
    usual variables, such as https_proxy. The folder of the data goes to standard output.

    Parameters
    ----------
    name
        A recipe, or one of the data sets that recipes learn from.
    to
        The folder of data sets, in which each has a folder; by default $REGARD_DATA or data.
    anyway
        Keep files also where their content is not the expected one.
    """
    from regard.cli.display import results, say
    from regard.datasets import data_folder, shown_size
    from regard.datasets.fetch import fetch as fetch_one
    from regard.datasets.fetch import is_here
    from regard.recipe_catalogue import datasets_named
    from regard.reporter import Reporter

    found = datasets_named(name)
    if not found:
        say(f"{name} needs nothing: its data comes with regard.")
    for each in found:
        folder = (to or data_folder()) / each.name
        if is_here(each, folder):
            say(f"{each.name}: already in {folder}.")
        else:
            say(f"{each.about}.")
            say(f"  {shown_size(each.bytes)} from {each.home}. Licence: {each.licence}.")
            fetch_one(each, folder, Reporter(say, bytes_shown), check=not anyway)
            if each.note:
                say(f"  {each.note}")
        results(str(folder))
    if found:
        say_how_to_train(name, found, to)


def say_how_to_train(name: str, found: "tuple[DataSet, ...]", to: Path | None) -> None:
    import shlex

    from regard.cli.display import say
    from regard.datasets import VARIABLE, data_folder
    from regard.recipe_catalogue import catalogue

    using = [each.name for each in catalogue().values() if found[0] in each.datasets]
    chosen = name if name in catalogue() else using[0] if using else None
    if chosen is None:
        return
    there = to is None or to.resolve() == data_folder().resolve()
    setting = "" if there else f"{VARIABLE}={shlex.quote(str(to))} "
    say(f"Train with: {setting}regard train {chosen}")


@contextmanager
def bytes_shown(what: str, total: int) -> "Iterator[Advance]":
    """A bar that counts bytes; silent when piped."""
    from rich.progress import BarColumn, DownloadColumn, Progress, TextColumn
    from rich.progress import TimeRemainingColumn as Left

    from regard.cli.display import talk

    console = talk()
    columns = (TextColumn("  {task.description}"), BarColumn(), DownloadColumn(), Left())
    hidden = not console.is_terminal
    with Progress(*columns, console=console, transient=True, disable=hidden) as bar:
        task = bar.add_task(what, total=total or None)
        yield lambda count: bar.advance(task, count)


def listed(found: "list[Known]") -> str:
    """All recipes under the names of their tasks, then the data sets."""
    from regard.datasets import data_folder, datasets, shown_size

    names = max(len(each.name) for each in found)
    lines: list[str] = []
    for task, group in groupby(found, key=lambda each: each.task):
        lines += [task]
        for each in group:
            data = ", ".join(one.name for one in each.datasets) or "comes with regard"
            score = f"; {score_line(each)}" if each.score else ""
            lines += [f"  {each.name:<{names}}  {data}{score}", *indented(each.about, 6)]
        lines += [""]
    lines += [f"data, which regard looks for in {data_folder()}/"]
    lines += [
        f"  {one.name:<{names}}  {shown_size(one.bytes)}; {one.licence}"
        for one in datasets().values()
    ]
    return "\n".join(lines)


def described(each: "Known") -> str:
    from regard.datasets import data_folder, shown_size

    lines = [f"{each.name}: {each.task}", *indented(each.about, 2)]
    if each.score:
        lines += indented(f"Measured on two cores: {score_line(each)}.", 2)
    if each.start:
        lines += indented(f"It starts from {each.start}: train that first.", 2)
    lines += ["", "Data"]
    for one in each.datasets:
        lines += [
            f"  {one.name}",
            *indented(f"{one.about}."),
            *indented(f"{shown_size(one.bytes)} to download from {one.home}"),
            *indented(f"Licence: {one.licence}."),
            *(indented(one.note) if one.note else []),
            *indented(f"regard looks for it in {data_folder() / one.name}."),
        ]
    if not each.datasets:
        lines += ["  It comes with regard."]
    elif not each.is_here:
        lines += [f"  It is not there yet: regard recipes fetch {each.name}"]
    lines += ["", "Settings", *(f"  {line}".rstrip() for line in each.text.splitlines())]
    return "\n".join([*lines, "", f"Train it with: regard train {each.name}"])


def score_line(each: "Known") -> str:
    return each.score + (f" in {each.minutes} min" if each.minutes else "")


def indented(text: str, by: int = 4) -> list[str]:
    width = shutil.get_terminal_size().columns if sys.stdout.isatty() else 100
    space = " " * by
    return textwrap.wrap(
        text,
        max(40, width - 1),
        initial_indent=space,
        subsequent_indent=space,
        break_on_hyphens=False,
        break_long_words=False,
    )


def facts(each: "Known") -> dict[str, Any]:
    from dataclasses import asdict

    from regard.datasets import data_folder

    return {
        "name": each.name,
        "task": each.task,
        "about": each.about,
        "starts_from": each.start or None,
        "score": each.score or None,
        "minutes": each.minutes,
        "data": [
            {**asdict(one), "bytes": one.bytes, "folder": str(data_folder() / one.name)}
            for one in each.datasets
        ],
        "here": each.is_here,
        "settings": each.values,
    }
