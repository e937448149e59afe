"""The recipes that come with regard, by name."""

import difflib
import shlex
from importlib import resources
from pathlib import Path

from regard.errors import RecipeError


def shipped() -> dict[str, Path]:
    """The file of each recipe that comes with regard, by its name."""
    folder = resources.files("regard") / "recipes"
    found = [Path(str(each)) for each in folder.iterdir() if each.name.endswith(".toml")]
    return {path.stem: path for path in sorted(found, key=lambda path: path.stem)}


def is_shipped(name: Path | str) -> bool:
    """Whether this is the bare name of a recipe that comes with regard, and no file here."""
    path = Path(name)
    return path.name == str(name) and not path.is_file() and path.name in shipped()


def find(name: Path | str) -> Path:
    """The file of a recipe: a path, or the bare name of one that comes with regard. A file of that
    name in this folder comes first.
    """
    path = Path(name)
    if path.is_file():
        return path
    if is_shipped(path):
        return shipped()[path.name]
    if path.exists():
        return path  # a folder or a device: reading it says what is wrong
    raise RecipeError(
        f"{path}: no such recipe file, and no recipe of that name comes with regard; "
        f"{nearest(path.stem)}`regard recipes` lists them"
    )


def nearest(name: str) -> str:
    """A question about the names that are spelt like this one, if there are any."""
    near = difflib.get_close_matches(name, shipped(), n=2)
    return f"did you mean {' or '.join(near)}? " if near else ""


def what_makes(folder: Path) -> str:
    """The command that makes a run folder, of which there is only the name."""
    if folder.name not in shipped():
        return "`regard train` makes one"
    return f"`regard train {folder.name} --out {shlex.quote(str(folder))}` makes it"
