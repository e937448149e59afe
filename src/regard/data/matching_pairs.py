"""Pairs of an image and a caption of it, in memory-mapped files, and batches of them.

name.ids      the pieces of every caption
name.pieces   how many pieces each has
name.images   the number of its image
name.texts    a number that captions with the same text share
name.json     counts, digests and the tokenizer

Shapes: B pairs of a batch, T tokens, C channels, H × W pixels, d width of an encoder.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import NamedTuple, Protocol, Self

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from regard.data.batch import pad
from regard.data.batches import Indices
from regard.data.image_features import ImageFeatures
from regard.data.on_disk import damaged, id_type, open_arrays, write_arrays
from regard.text.tokenizer import Specials, Tokenizer

PARTS = ("ids", "pieces", "images", "texts")


class MatchingBatch(NamedTuple):
    images: Tensor  # [B, C, H, W], or what an encoder has made of them, [B, d]
    tokens: Tensor  # [B, T]
    mask: Tensor  # [B, T], True at real tokens
    numbers: Tensor  # [B, 2], the image and the text of each pair

    def to(self, device: torch.device) -> MatchingBatch:
        return MatchingBatch(*(each.to(device) for each in self))


class Images(Protocol):
    """Images by their numbers, as a model takes them: as they are, or changed at random."""

    def plain(self, numbers: Indices) -> Tensor: ...
    def drawn(self, numbers: Indices) -> Tensor: ...


@dataclass(frozen=True)
class PixelImages:
    """Images of a cache."""

    pixels: NDArray[np.uint8]  # [N, H, W, C]
    change: Callable[[Tensor], Tensor] | None = None

    def plain(self, numbers: Indices) -> Tensor:
        return torch.from_numpy(self.pixels[numbers]).permute(0, 3, 1, 2)

    def drawn(self, numbers: Indices) -> Tensor:
        images = self.plain(numbers)
        return images if self.change is None else self.change(images)


@dataclass(frozen=True)
class EncodedImages:
    """What a frozen encoder has made of some images of a cache, whose numbers are `numbers`, in
    rising order.
    """

    features: ImageFeatures
    numbers: Indices

    def plain(self, numbers: Indices) -> Tensor:
        return self.features.plain(np.searchsorted(self.numbers, numbers))

    def drawn(self, numbers: Indices) -> Tensor:
        return self.features.drawn(np.searchsorted(self.numbers, numbers))


def batch_texts(rows: Sequence[Sequence[int]], specials: Specials) -> tuple[Tensor, Tensor]:
    """Tokens [B, T] and their mask; every text is between a start and an end token."""
    tokens = pad([[specials.start, *row, specials.end] for row in rows], specials.pad)
    lengths = torch.tensor([len(row) + 2 for row in rows])
    return tokens, torch.arange(tokens.size(1)) < lengths[:, None]


def write_pairs(
    captions: Sequence[tuple[int, str]],
    tokenizer: Tokenizer,
    folder: Path,
    name: str,
    max_length: int,
) -> None:
    """Write captions, each with the number of its image; a long one is cut."""
    texts = [text for _, text in captions]
    pieces = [each[: max_length - 2] for each in tokenizer.encode_batch(texts)]
    known: dict[str, int] = {}
    chunk: dict[str, NDArray[np.int64]] = {
        "ids": np.array([piece for each in pieces for piece in each], np.int64),
        "pieces": np.array([len(each) for each in pieces], np.int64),
        "images": np.array([image for image, _ in captions], np.int64),
        "texts": np.array([known.setdefault(text, len(known)) for text in texts], np.int64),
    }
    types = {"ids": id_type(len(tokenizer)), "pieces": "<i4", "images": "<i8", "texts": "<i8"}
    write_arrays(folder, name, types, [chunk], lambda: {"tokenizer": tokenizer.fingerprint})


@dataclass(frozen=True)
class MatchingPairs:
    """Captions and their images; a row is a caption."""

    ids: NDArray[np.integer]
    ends: Indices
    image_numbers: Indices
    text_numbers: Indices
    specials: Specials
    source: Images

    @classmethod
    def open(cls, folder: Path, name: str, tokenizer: Tokenizer, source: Images) -> Self:
        found = open_arrays(folder, name, PARTS)
        ends = found.parts["pieces"].cumsum(dtype=np.int64)
        if not len(ends) or ends[-1] != len(found.parts["ids"]):
            raise damaged(folder / f"{name}.pieces", "its counts do not add up")
        images, texts = (np.asarray(found.parts[part], np.int64) for part in ("images", "texts"))
        return cls(found.parts["ids"], ends, images, texts, tokenizer.specials, source)

    def __len__(self) -> int:
        return len(self.ends)

    def pieces(self, row: int) -> list[int]:
        begin = int(self.ends[row - 1]) if row else 0
        return [int(piece) for piece in self.ids[begin : int(self.ends[row])]]

    def texts(self, rows: Indices) -> tuple[Tensor, Tensor]:
        return batch_texts([self.pieces(int(row)) for row in rows], self.specials)

    def batch(self, rows: Indices) -> MatchingBatch:
        images = self.source.drawn(self.image_numbers[rows])
        numbers = np.stack((self.image_numbers[rows], self.text_numbers[rows]), -1)
        return MatchingBatch(images, *self.texts(rows), torch.from_numpy(numbers))
