"""Running text as one long row of ids, and the windows through which a model reads it.

name.ids    every document's ids, each document closed by END
name.json   counts, digests, the tokenizer, and how many characters the ids stand for
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Self

import numpy as np
import numpy.typing as npt
import torch

from regard.data.batch import RowStates, TextBatch
from regard.data.batches import Amounts, Indices
from regard.data.on_disk import damaged, id_type, open_arrays, write_arrays
from regard.errors import DataError
from regard.text.long_texts import parts
from regard.text.tokenizer import Tokenizer

CHUNK_CHARACTERS = 1_000_000


def write_stream(
    texts: Iterable[str | None], tokenizer: Tokenizer, folder: Path, name: str
) -> None:
    """Encode texts one after another; None marks the end of a document. A text should end where a
    line ends, so that no piece is cut.
    """
    characters, end = 0, tokenizer.specials.end

    def chunks() -> Iterator[dict[str, npt.NDArray[Any]]]:
        nonlocal characters
        for chunk in _chunks(texts):
            encoded = iter(tokenizer.encode_batch([text for text in chunk if text is not None]))
            characters += sum(
                len(tokenizer.normalise(part))
                for text in chunk
                if text is not None
                for part in parts(text)
            )
            ids = [i for text in chunk for i in ([end] if text is None else next(encoded))]
            yield {"ids": np.array(ids, np.int64)}

    def facts() -> dict[str, Any]:
        return {"characters": characters, "tokenizer": tokenizer.fingerprint}

    write_arrays(folder, name, {"ids": id_type(len(tokenizer))}, chunks(), facts)


@dataclass(frozen=True)
class Stream:
    """Ids of running text, read from disk on demand."""

    ids: npt.NDArray[Any]
    characters: int
    tokenizer: str  # the fingerprint of the tokenizer that encoded it

    @classmethod
    def open(cls, folder: Path, name: str, *, backward: bool = False) -> Self:
        found = open_arrays(folder, name, ["ids"])
        match found.facts:
            case {"characters": int(characters), "tokenizer": str(tokenizer)}:
                ids = found.parts["ids"]
                return cls(ids[::-1] if backward else ids, characters, tokenizer)
        raise damaged(folder / f"{name}.json", "not what regard writes")

    def __len__(self) -> int:
        return len(self.ids)

    def window(self, start: int, length: int) -> npt.NDArray[np.int64]:
        return self.ids[start : start + length].astype(np.int64)


@dataclass
class WindowBatches:
    """Batches of windows that cover the text without gaps, in an order that is a pure function of
    (seed, epoch). Each epoch begins at another place, so that the borders of windows move.

    The windows are shuffled or in lanes. In lanes, the text is cut into as many lanes as a batch
    has rows, and each batch continues every lane where the previous batch stopped, so that a
    recurrent model can carry its state on.
    """

    size: int  # ids in the text
    context: int
    batch_tokens: int
    seed: int
    in_lanes: bool = False
    hidden: int = 0  # tokens of each window that are predicted; 0 means all
    _epoch: tuple[int, list[Indices]] | None = field(default=None, repr=False)

    def __post_init__(self) -> None:
        check_size(self.size, self.context)

    def epoch(self, epoch: int) -> list[Indices]:
        """The batches of an epoch: for each, the places where its windows begin."""
        if self._epoch is None or self._epoch[0] != epoch:
            self._epoch = (epoch, self._plan(epoch))
        return self._epoch[1]

    def _plan(self, epoch: int) -> list[Indices]:
        random = np.random.Generator(np.random.Philox(key=[self.seed, epoch]))
        first = int(random.integers(0, min(self.context, self.size - self.context)))
        rows = max(1, self.batch_tokens // self.context)
        if self.in_lanes:
            return lanes(first, self.size, self.context, rows)
        starts = np.arange(first, self.size - self.context, self.context, dtype=np.int64)
        random.shuffle(starts)
        return [starts[begin : begin + rows] for begin in range(0, len(starts), rows)]

    def padding(self) -> float:
        """The share of padding; there is none."""
        return 0.0

    def cells(self, rows: Indices) -> int:
        return len(rows) * self.context

    def amounts(self) -> Amounts:
        tokens = float(sum(map(self.tokens, self.epoch(0))))
        if self.hidden:
            predicted = tokens * self.hidden / self.context
            return Amounts(tokens, predicted, self.context, self.context)
        return Amounts(0.0, tokens, self.context, self.context)

    def lengths(self, rows: Indices) -> Indices:
        return np.full(len(rows), self.context)

    def tokens(self, rows: Indices) -> int:
        return len(rows) * self.context

    def labels(self, rows: Indices) -> int:
        return len(rows) * (self.hidden or self.context)


def lanes(first: int, size: int, context: int, rows: int) -> list[Indices]:
    """Where the windows of each batch begin, from `first` to the end of a text."""
    room = size - 1 - first
    rows = max(1, min(rows, room // (context + 1)))
    length = room // rows
    # A lane stops before the next one begins, so that no place is in two lanes.
    count = max(1, (length - 1) // context)
    starts = first + length * np.arange(rows, dtype=np.int64)
    return [starts + context * number for number in range(count)]


def check_size(size: int, context: int) -> None:
    if size <= context:
        raise DataError(
            f"the text has {size} tokens, and a context is {context}; "
            "give more text or a smaller data.context"
        )


class CarriedState:
    """The states of a recurrent model at the places where it will continue: [P, d] for each."""

    def __init__(self) -> None:
        self.states: dict[int, torch.Tensor] = {}

    def forget_all_but(self, places: Iterable[int]) -> None:
        self.states = {place: self.states[place] for place in places if place in self.states}

    def table(self, places: Sequence[int]) -> dict[str, torch.Tensor]:
        """The known states at these places, as a checkpoint stores them; {} if there are none."""
        known = [place for place in places if place in self.states]
        if not known:
            return {}
        states = torch.stack([self.states[place].float().cpu() for place in known])
        return {"places": torch.tensor(known), "states": states}

    def load(self, table: dict[str, torch.Tensor]) -> None:
        self.states = (
            dict(zip(table["places"].tolist(), table["states"].clone(), strict=True))
            if table
            else {}
        )


@dataclass(frozen=True)
class TextExamples:
    """Batches of windows; with a carried state, each continues from what was read before it."""

    stream: Stream
    context: int
    carried_state: CarriedState | None = None

    def batch(self, rows: Indices) -> TextBatch:
        table = np.stack([self.stream.window(start, self.context + 1) for start in rows])
        ids = torch.from_numpy(table)
        row_states = None
        if self.carried_state is not None:
            begins = [int(start) for start in rows]
            row_states = RowStates(
                self.carried_state.states, begins, [start + self.context for start in begins]
            )
        return TextBatch(ids[:, :-1], ids[:, 1:], row_states)


def _chunks(texts: Iterable[str | None]) -> Iterator[list[str | None]]:
    chunk: list[str | None] = []
    characters = 0
    for text in texts:
        chunk.append(text)
        characters += len(text or "")
        if characters >= CHUNK_CHARACTERS:
            yield chunk
            chunk, characters = [], 0
    if chunk:
        yield chunk
