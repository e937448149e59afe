"""The public data sets that recipes learn from: where they come from and where regard looks for
them. None of the data comes with regard; `regard recipes fetch` downloads it when a person asks.
"""

import os
import tomllib
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache
from pathlib import Path, PurePosixPath
from typing import Any

VARIABLE = "REGARD_DATA"
CATALOGUE = Path(__file__).with_name("datasets.toml")


def data_folder() -> Path:
    """The folder that holds the data sets: $REGARD_DATA, or `data` in the working folder."""
    return Path(os.environ.get(VARIABLE) or "data")


def with_data_folder(folder: str) -> str:
    """A folder of a recipe, with the data folder in place of its name, $REGARD_DATA."""
    first, *rest = PurePosixPath(folder).parts or ("",)
    return str(Path(data_folder(), *rest)) if first == f"${VARIABLE}" else folder


@dataclass(frozen=True)
class Download:
    """A file as its publisher offers it. Without a checksum, the size is only about right."""

    name: str
    url: str
    bytes: int
    sha256: str = ""


@dataclass(frozen=True)
class Made:
    """A file of a data set: what it is made of, `download` or `download:member of the archive`,
    how, and the checksum of its text, uncompressed.
    """

    name: str
    parts: tuple[str, ...]
    how: str = "lines"
    share: tuple[float, float] = (0.0, 1.0)
    sha256: str = ""
    names: tuple[str, ...] = ()  # of labels that the publisher has numbered


@dataclass(frozen=True)
class DataSet:
    name: str
    about: str
    licence: str
    home: str
    downloads: tuple[Download, ...]
    files: tuple[Made, ...]
    note: str = ""

    @property
    def bytes(self) -> int:
        """The size of what is downloaded."""
        return sum(each.bytes for each in self.downloads)


def datasets() -> dict[str, DataSet]:
    return _read(CATALOGUE)


@cache
def _read(path: Path) -> dict[str, DataSet]:
    with path.open("rb") as file:
        return {name: _parsed(name, values) for name, values in tomllib.load(file).items()}


def _parsed(name: str, values: Mapping[str, Any]) -> DataSet:
    files: list[dict[str, Any]] = [
        {key: tuple(it) if isinstance(it, list) else it for key, it in each.items()}
        for each in values["files"]
    ]
    made = tuple(Made(**each) for each in files)
    downloads = tuple(Download(**each) for each in values["downloads"])
    return DataSet(**{**values, "name": name, "downloads": downloads, "files": made})


def fetch_hint(path: Path) -> str:
    """How to get a file that is missing, if it belongs to a data set."""
    found = datasets().get(path.parent.name)
    if found is None or path.name not in {each.name for each in found.files}:
        return ""
    return (
        f"`regard recipes fetch {found.name}` downloads it, or name the folder that holds it with "
        "--set data.folder=…"
    )


def shown_size(number: int) -> str:
    """3 kB, 0.4 MB, 84 MB, 1.7 GB"""
    if number < 1e5:
        return f"{number / 1e3:.0f} kB"
    if number >= 1e9:
        return f"{number / 1e9:.1f} GB"
    return f"{number / 1e6:.1f} MB" if number < 1e7 else f"{number / 1e6:.0f} MB"
