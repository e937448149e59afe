"""Finds the images that a table names, and gives them the table's labels."""

import unicodedata
from collections import defaultdict
from collections.abc import Iterable
from dataclasses import replace
from functools import cached_property
from pathlib import Path, PurePosixPath

from regard.data.image_files import MOST_SHOWN, ImageList
from regard.data.labelled import read_texts
from regard.errors import DataError


class ImageNames:
    """The images of a list by their names, as tables write them: with or without folders, in
    another Unicode form, in other letters' case, with or without the file's ending.
    """

    def __init__(self, images: ImageList) -> None:
        self.names = images.names
        self.exact = {name: number for number, name in enumerate(images.names)}

    @cached_property
    def alike(self) -> dict[str, list[int]]:
        found: dict[str, list[int]] = defaultdict(list)
        for number, name in enumerate(self.names):
            path = PurePosixPath(plain(name))
            for form in {str(path), path.name, str(path.with_suffix("")), path.stem}:
                found[form].append(number)
        return found

    def number(self, name: str, place: str) -> int | None:
        """The number of the image that a table names at a place; None if there is none."""
        if name in self.exact:
            return self.exact[name]
        path = PurePosixPath(name.replace("\\", "/"))
        if path.is_absolute() or ".." in path.parts:
            raise DataError(
                f"{place}: {name!r} leads out of the folder of images; "
                "write names that start inside it"
            )
        found = self.alike.get(plain(str(path)), [])
        if len(found) > 1:
            several = " and ".join(self.names[each] for each in found[:2])
            raise DataError(
                f"{place}: {name!r} may be {several}; write the name as the file has it"
            )
        return found[0] if found else None


def plain(name: str) -> str:
    return unicodedata.normalize("NFC", name).casefold()


def labelled_by(images: ImageList, table: Path, label: str | int = "") -> ImageList:
    """The images that a table of names and labels names, with these labels."""
    names = ImageNames(images)
    labels: dict[int, tuple[str, str]] = {}
    missing = []
    for row in read_texts([table], label):
        name, found = row.units[0], row.labels[0]
        number = names.number(name, row.place)
        if number is None:
            missing.append(f"{name} ({row.place})")
        elif labels.get(number, (found,))[0] != found:
            raise DataError(
                f"{row.place}: {name!r} is {found!r} here and {labels[number][0]!r} in "
                f"{labels[number][1]}; give an image one label"
            )
        else:
            labels[number] = found, row.place
    if not labels:
        raise DataError(
            f"{table}: names none of the {len(images):,} images ({missing[0] if missing else ''}); "
            "write file names that start inside the folder of images"
        )
    remarks = [*images.remarks]
    if missing:
        remarks.append(f"{table}: {named(missing)} without an image")
    if unlabelled := [name for number, name in enumerate(images.names) if number not in labels]:
        remarks.append(f"{table}: {named(unlabelled)} of the folder without a label, left out")
    kept = sorted(labels)
    given = [labels[number][0] for number in kept]
    return replace(images.subset(kept), labels=given, remarks=remarks)


def named(names: Iterable[str]) -> str:
    """3 names (a, b, c)"""
    found = list(names)
    shown = ", ".join(found[:MOST_SHOWN]) + ", …" * (len(found) > MOST_SHOWN)
    return f"{len(found):,} name{'s' * (len(found) > 1)} ({shown})"
