"""Which image a table means by a name.

A name is that of an image, or the end of its path: "a.jpg", "cats/a.jpg" and "photos/cats/a.jpg"
are all photos/cats/a.jpg. Case, Unicode's form and the ending may differ where only one image can
be meant; a name that may be one of two is refused, and so is one that leads out of the folder.
"""

from __future__ import annotations

import os
import unicodedata
from collections import Counter
from pathlib import PurePosixPath

from regard.data.image_files import ImageFile, ImageList
from regard.data.image_formats import OTHER_ENDINGS, READ_ENDINGS
from regard.errors import DataError, shown

ENDINGS = (*READ_ENDINGS, *OTHER_ENDINGS)


class ImageNames:
    """Finds the number of an image by its name."""

    def __init__(self, images: ImageList) -> None:
        self.images = images
        times = Counter(images.names)
        self.exact = {name: at for at, name in enumerate(images.names) if times[name] == 1}
        self.paths = [
            tuple(os.path.abspath(entry.path).split(os.sep))
            if isinstance(entry, ImageFile)
            else (name,)
            for name, entry in zip(images.names, images.entries, strict=True)
        ]
        self.by_last: dict[str, list[int]] = {}
        for number, path in enumerate(self.paths):
            last = plain(path[-1])
            for key in (last, without_ending(last)):
                self.by_last.setdefault(key, []).append(number)

    def find(self, name: str, place: str) -> int | None:
        """The number of the image; None if there is none of that name."""
        parts = _parts(name, place)
        clean = "/".join(parts)
        if clean in self.exact:
            return self.exact[clean]
        alike = self.by_last.get(plain(parts[-1]), []) if parts else []
        exact = [each for each in alike if self.paths[each][-len(parts) :] == parts]
        for found in (exact, self._ending_with(parts, alike)):
            if len(found) == 1:
                return found[0]
            if found:
                first, second = (self.images.names[each] for each in found[:2])
                raise DataError(
                    f"{place}: {shown(name)} may be {first} or {second}; write the one that is "
                    "meant with its folder, as it is written there"
                )
        return None

    def _ending_with(self, parts: tuple[str, ...], alike: list[int]) -> list[int]:
        """The images of that name apart from case and form."""
        above = tuple(map(plain, parts[:-1]))
        depth = len(parts)
        return [
            each
            for each in dict.fromkeys(alike)
            if tuple(map(plain, self.paths[each][-depth:-1])) == above
        ]

    def at(self, number: str, place: str) -> int | None:
        """The image of a number from 0, as tables beside .npz files have it."""
        text = number.strip()
        if not (text.isascii() and text.isdecimal()):
            raise DataError(f"{place}: the index {shown(number)} is no number; count from 0")
        return int(text) if len(text) < 12 and int(text) < len(self.images) else None


def _parts(name: str, place: str) -> tuple[str, ...]:
    """The parts of a name that stays within the folder."""
    text = name.strip().replace("\\", "/")
    if text.startswith(("/", "~")) or text[1:3] == ":/" or "://" in text:
        raise _outside(name, place)
    parts = PurePosixPath(text).parts
    if ".." in parts:
        raise _outside(name, place)
    return parts


def _outside(name: str, place: str) -> DataError:
    return DataError(
        f"{place}: {shown(name)} leads out of the folder of images; write names within it"
    )


def plain(name: str) -> str:
    """A name without regard to case and Unicode's form."""
    return unicodedata.normalize("NFC", unicodedata.normalize("NFC", name).casefold())


def without_ending(name: str) -> str:
    """A name without the ending of an image."""
    return next((name[: -len(end)] for end in ENDINGS if name.lower().endswith(end)), name)
