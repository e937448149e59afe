"""Captions of images: several for each, every one with the place where it was read.

What a file is shows in its content:

    a table with a header      file|image|file_name|filepath|index, caption|text|title, split
    JSON lines                 {"file_name": "a.jpg", "text": "a dog"}, or a list of texts
    Flickr8k.token.txt         a.jpg#0<TAB>a dog
    Karpathy's JSON            {"images": [{"filename", "split", "sentences": [{"raw"}]}]}
    COCO's JSON                {"images": [{"id", "file_name"}], "annotations": [{"image_id", …}]}
    JSON by name               {"a.jpg": ["a dog", "a brown dog"]}
    a folder                   a.txt for a.jpg, a caption on each line
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from typing import Any

from regard.data.image_files import ImageFile, ImageList, several
from regard.data.image_names import ImageNames, without_ending
from regard.data.image_tables import (
    ImageRow,
    Wanted,
    check_found,
    found_image,
    image_rows,
    object_row,
    told_split,
)
from regard.data.lines import check_file, kind_of, lines
from regard.errors import DataError, shown

CAPTION_NAMES = (
    *("caption", "captions", "text", "title", "sentence", "sentences", "comment"),
    *("description", "raw", "alt_text"),
)
# Karpathy's name for further images to train on.
OTHER_TRAINING = "restval"


@dataclass(frozen=True, slots=True)
class Caption:
    image: int  # its number in the list of images
    text: str
    place: str


@dataclass(frozen=True)
class LeftOut:
    """What a table and a folder do not agree on."""

    missing: Sequence[str] = ()  # names of images that are not there
    empty: Sequence[str] = ()  # places of captions without a word
    without: Sequence[str] = ()  # images without a caption

    def remarks(self) -> Iterator[str]:
        if self.missing:
            yield f"captions of {several(self.missing, 'image')} that are not there"
        if self.empty:
            yield f"{several(self.empty, 'empty caption')}: left out"
        if self.without:
            yield f"{several(self.without, 'image')} without a caption: left out"


@dataclass(frozen=True)
class CaptionList:
    """Captions in the order of their images; `splits` has one for each image, or is empty."""

    captions: list[Caption] = field(repr=False)
    images: ImageList = field(repr=False)
    splits: list[str] = field(repr=False)
    remarks: list[str]
    as_read: Sequence[Caption] = field(default=(), repr=False)  # in the order of the rows
    left_out: LeftOut = LeftOut()

    def __len__(self) -> int:
        return len(self.captions)

    @cached_property
    def by_image(self) -> list[list[str]]:
        """The captions of each image; [] for an image that has none."""
        found: list[list[str]] = [[] for _ in range(len(self.images))]
        for caption in self.captions:
            found[caption.image].append(caption.text)
        return found


def read_captions(paths: Sequence[Path], images: ImageList, caption: str | int = "") -> CaptionList:
    """The captions of images from files; without any, from texts beside the images. `caption`
    names or numbers the column of a table.
    """
    names = ImageNames(images)
    captions: list[Caption] = []
    splits, told = [""] * len(images), [""] * len(images)
    missing: dict[str, None] = {}
    empty: list[str] = []
    wanted = Wanted("caption", CAPTION_NAMES, caption)
    for row in _rows(paths, images, names, wanted):
        if row.image is None:
            missing[row.name] = None
            continue
        if told[row.image] and row.split != splits[row.image]:
            raise DataError(
                f"{row.place}: {images.names[row.image]} is for {shown(row.split)} here and for "
                f"{shown(splits[row.image])} in {told[row.image]}; an image has one split"
            )
        splits[row.image], told[row.image] = row.split, row.place
        for value in row.values:
            if text := " ".join(value.split()):
                captions.append(Caption(row.image, text, row.place))
            else:
                empty.append(row.place)
    where = paths[0] if paths else Path(images.names[0])
    check_found(where, images, len(captions), [*missing] or empty)
    without = [name for name, place in zip(images.names, told, strict=True) if not place]
    left_out = LeftOut([*missing], empty, without)
    return CaptionList(
        sorted(captions, key=lambda each: each.image),
        images,
        splits if any(splits) else images.splits,
        [*wanted.remarks, *left_out.remarks()],
        captions,
        left_out,
    )


def _rows(
    paths: Sequence[Path], images: ImageList, names: ImageNames, wanted: Wanted
) -> Iterator[ImageRow]:
    if not paths:
        yield from _beside(images, None)
    for path in paths:
        if path.is_dir():
            yield from _beside(images, path)
            continue
        check_file(path)
        whole = _whole(path) if kind_of(path) == ".json" else None
        if whole is None:
            yield from image_rows(path, names, wanted)
        elif isinstance(whole.get("annotations"), list):
            yield from _coco(path, whole, names)
        elif isinstance(whole.get("images"), list):
            yield from _karpathy(path, whole["images"], names, wanted)
        else:
            yield from _by_name(path, whole, names)


def _whole(path: Path) -> dict[str, Any] | None:
    """The object that a file of JSON is; None if it is a list of objects."""
    text = "\n".join(line for line, _ in lines(path))
    if text.lstrip()[:1] != "{":
        return None
    try:
        found = json.loads(text)
    except (ValueError, RecursionError) as error:
        line = getattr(error, "lineno", 1)
        raise DataError(f"{path}:{line}: not valid JSON; fetch or write the file again") from None
    return None if isinstance(found.get("data"), list) else found


def _coco(path: Path, whole: dict[str, Any], names: ImageNames) -> Iterator[ImageRow]:
    files: dict[Any, str] = {}
    for number, entry in enumerate(whole.get("images") or []):
        match entry:
            case {"id": int() | str() as key, "file_name": str(name)}:
                files[key] = name
            case _:
                raise DataError(
                    f'{path}: images[{number}] has no "id" and "file_name", but {shown(entry)}'
                )
    for number, entry in enumerate(whole["annotations"]):
        place = f"{path}: annotations[{number}]"
        match entry:
            case {"image_id": int() | str() as key, "caption": str(text)}:
                name = files.get(key, str(key))
            case {"image_id": _, "category_id": _}:
                raise DataError(f"{place} has a category and no caption; give the captions' file")
            case _:
                raise DataError(f'{place} has no "image_id" and "caption", but {shown(entry)}')
        yield ImageRow(name, found_image(name, place, names), (text,), "", place)


def _karpathy(
    path: Path, entries: list[Any], names: ImageNames, wanted: Wanted
) -> Iterator[ImageRow]:
    for number, entry in enumerate(entries):
        place = f"{path}: images[{number}]"
        if not isinstance(entry, dict) or "sentences" not in entry:
            yield object_row(entry, place, names, wanted)
            continue
        file = entry.get("filename", entry.get("file_name"))
        sentences = entry["sentences"]
        if not isinstance(file, str) or not isinstance(sentences, list):
            raise DataError(f'{place} has no "filename" and "sentences", but {shown(entry)}')
        texts = [each.get("raw") if isinstance(each, dict) else each for each in sentences]
        if not all(isinstance(each, str) for each in texts):
            raise DataError(f'{place} has sentences without "raw": {shown(sentences)}')
        # COCO's folders, such as val2014, come in a key of their own.
        folder = entry.get("filepath")
        image = found_image(f"{folder}/{file}", place, names) if isinstance(folder, str) else None
        if image is None:
            image = found_image(file, place, names)
        split = str(entry.get("split", ""))
        split = "train" if split == OTHER_TRAINING else told_split(split)
        yield ImageRow(file, image, tuple(map(str, texts)), split, place)


def _by_name(path: Path, whole: dict[str, Any], names: ImageNames) -> Iterator[ImageRow]:
    for name, values in whole.items():
        place = f"{path}: {shown(name)}"
        texts = values if isinstance(values, list) else [values]
        if not all(isinstance(each, str) for each in texts):
            raise DataError(
                f'{place} is {shown(values)}; write {{"a.jpg": ["…"]}}, or give the JSON of COCO '
                "or Karpathy"
            )
        yield ImageRow(name, found_image(name, place, names), tuple(texts), "", place)


def _beside(images: ImageList, folder: Path | None) -> Iterator[ImageRow]:
    """Texts of the same names as the images, beside them or in a folder of their own."""
    found = False
    for number, (name, entry) in enumerate(zip(images.names, images.entries, strict=True)):
        if not isinstance(entry, ImageFile):
            continue
        path = entry.path if folder is None else folder / name
        for text in (Path(f"{without_ending(str(path))}.txt"), Path(f"{path}.txt")):
            if text.is_file():
                found = True
                if text.stat().st_size == 0:
                    yield ImageRow(name, number, ("",), "", str(text))
                else:
                    check_file(text)
                    for line, place in lines(text):
                        if line.strip():
                            yield ImageRow(name, number, (line,), "", place)
                break
    if not found:
        where = folder or images.names[0]
        raise DataError(
            f"{where}: no captions: there is no .txt of the name of an image; give a table of "
            "captions"
        )
