"""Labelled units as ids in memory-mapped files.

name.ids     the pieces of every text
name.sizes   how many pieces each unit has
name.labels  the number of each unit's label
name.pieces, name.units   how many pieces and units each text has
name.json    counts, digests, the tokenizer and the labels
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from itertools import islice
from pathlib import Path
from typing import Any, Self

import numpy as np
import numpy.typing as npt
import torch
from torch import Tensor

from regard.data.batch import pad
from regard.data.batches import Indices, Lengths
from regard.data.labelled import Labelled
from regard.data.on_disk import damaged, id_type, open_arrays, write_arrays
from regard.errors import DataError
from regard.text.tokenizer import Specials, Tokenizer

CHUNK_TEXTS = 2000
PARTS = ("ids", "sizes", "labels", "pieces", "units")
NONE = -1


@dataclass(frozen=True)
class LabelBatch:
    """Texts and the labels of their units."""

    tokens: Tensor  # [B, T]
    mask: Tensor  # [B, T], True at real tokens
    units: Tensor  # [B, T], which unit of its text a token belongs to, -1 for none
    labels: Tensor  # [B, U], -1 where there is no unit

    def to(self, device: torch.device) -> LabelBatch:
        if device.type == "cpu":
            return self
        moved = (each.to(device, non_blocking=True) for each in self.parts())
        return LabelBatch(*moved)

    def parts(self) -> tuple[Tensor, Tensor, Tensor, Tensor]:
        return self.tokens, self.mask, self.units, self.labels


@dataclass(frozen=True)
class Row:
    """A text as ids: its pieces, how many each unit has, and the labels if they are known."""

    pieces: Sequence[int] | npt.NDArray[np.int64]
    sizes: Sequence[int] | npt.NDArray[np.int64]
    labels: Sequence[int] | npt.NDArray[np.int64] = ()


def batch_rows(rows: Sequence[Row], specials: Specials, whole_text: bool) -> LabelBatch:
    """A batch in which every text is between a start and an end token. If the whole text is one
    unit, these belong to it.
    """
    tokens = [[specials.start, *row.pieces, specials.end] for row in rows]
    outside = 0 if whole_text else NONE
    units = [[outside, *np.repeat(np.arange(len(row.sizes)), row.sizes), outside] for row in rows]
    labels = [row.labels if len(row.labels) else [NONE] * len(row.sizes) for row in rows]
    lengths = torch.tensor([len(each) for each in tokens])
    table = pad(tokens, specials.pad)
    return LabelBatch(
        table,
        torch.arange(table.size(1)) < lengths[:, None],
        pad(units, NONE),
        pad(labels, NONE),
    )


def encode(
    texts: Sequence[Sequence[str]], tokenizer: Tokenizer, max_length: int, whole_text: bool
) -> Iterator[tuple[int, int, Row]]:
    """Rows of at most `max_length` tokens, start and end included, each with the number of its text
    and of its first unit. A text that is one unit is cut; a sentence continues in further rows.
    """
    room = max_length - 2
    units = [
        unit if whole_text else "_".join(unit.split()) or "_" for text in texts for unit in text
    ]
    pieces = iter(tokenizer.encode_batch(units))
    unknown = tokenizer.specials.unknown
    for number, text in enumerate(texts):
        row: list[list[int]] = []
        first = 0
        for at, unit in enumerate(islice(pieces, len(text))):
            # A unit of invisible characters has no pieces, but it still has a label.
            unit = unit[:room] or [tokenizer.specials.end if unknown is None else unknown]
            if sum(map(len, row)) + len(unit) > room:
                yield number, first, joined(row)
                row, first = [], at
            row.append(unit)
        yield number, first, joined(row)


def joined(row: list[list[int]]) -> Row:
    return Row([piece for unit in row for piece in unit], [len(unit) for unit in row])


def write_labelled(
    examples: Iterable[Labelled],
    tokenizer: Tokenizer,
    labels: Sequence[str],
    folder: Path,
    name: str,
    *,
    max_length: int,
    whole_text: bool,
) -> None:
    numbers = {label: number for number, label in enumerate(labels)}
    counted = 0

    def chunks() -> Iterator[dict[str, npt.NDArray[Any]]]:
        nonlocal counted
        source = iter(examples)
        while chunk := list(islice(source, CHUNK_TEXTS)):
            units = [example.units for example in chunk]
            rows = []
            for number, first, row in encode(units, tokenizer, max_length, whole_text):
                named = chunk[number].labels[first : first + len(row.sizes)]
                rows.append((row, [numbers[label] for label in named]))
            counted += len(rows)
            yield {
                "ids": np.array([i for row, _ in rows for i in row.pieces]),
                "sizes": np.array([size for row, _ in rows for size in row.sizes]),
                "labels": np.array([label for _, named in rows for label in named]),
                "pieces": np.array([len(row.pieces) for row, _ in rows]),
                "units": np.array([len(row.sizes) for row, _ in rows]),
            }

    def facts() -> dict[str, Any]:
        if not counted:
            raise DataError(f"there is nothing to {'learn from' if name == 'train' else name}")
        return {"tokenizer": tokenizer.fingerprint, "labels": list(labels)}

    types = {
        "ids": id_type(len(tokenizer)),
        "sizes": "<i4",
        "labels": id_type(len(labels)),
        "pieces": "<i4",
        "units": "<i4",
    }
    write_arrays(folder, name, types, chunks(), facts)


@dataclass(frozen=True)
class LabelledIds:
    """Labelled texts, read from disk on demand."""

    tokenizer: str
    labels: list[str]
    parts: dict[str, npt.NDArray[Any]]
    piece_ends: npt.NDArray[np.int64]
    unit_ends: npt.NDArray[np.int64]
    specials: Specials
    whole_text: bool

    @classmethod
    def open(cls, folder: Path, name: str, specials: Specials, *, whole_text: bool) -> Self:
        found = open_arrays(folder, name, PARTS)
        match found.facts:
            case {"tokenizer": str(tokenizer), "labels": list(labels)}:
                pass
            case _:
                raise damaged(folder / f"{name}.json", "not what regard writes")
        pieces, units = (found.parts[part].cumsum(dtype=np.int64) for part in ("pieces", "units"))
        if pieces[-1] != len(found.parts["ids"]) or units[-1] != len(found.parts["labels"]):
            raise damaged(folder / f"{name}.pieces", "its counts do not add up")
        return cls(tokenizer, labels, found.parts, pieces, units, specials, whole_text)

    def __len__(self) -> int:
        return len(self.piece_ends)

    def row(self, i: int) -> Row:
        end, unit_end = int(self.piece_ends[i]), int(self.unit_ends[i])
        begin, unit_begin = (
            end - int(self.parts["pieces"][i]),
            unit_end - int(self.parts["units"][i]),
        )
        return Row(
            self.parts["ids"][begin:end].astype(np.int64),
            self.parts["sizes"][unit_begin:unit_end].astype(np.int64),
            self.parts["labels"][unit_begin:unit_end].astype(np.int64),
        )

    def batch(self, rows: Indices) -> LabelBatch:
        return batch_rows([self.row(i) for i in rows], self.specials, self.whole_text)

    @property
    def lengths(self) -> Lengths:
        """The number of tokens in each text, start and end included."""
        return np.asarray(self.parts["pieces"]) + 2

    @property
    def unit_counts(self) -> Lengths:
        return np.asarray(self.parts["units"])
