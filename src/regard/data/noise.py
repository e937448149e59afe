"""Training pairs as people type them: in small letters, In Title Case, with typos, or without the
mark at the end.

Which pairs are changed, and how, is drawn from PyTorch's generator, which training seeds for each
batch with (seed, update, batch): a resumed run draws the same.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from random import Random
from typing import Protocol

import numpy as np
import torch

from regard.data.batch import Batch, batch_pairs
from regard.data.batches import Indices
from regard.data.ids import Ids, Sides
from regard.text.marks import MarkedText
from regard.text.protect import protect
from regard.text.tokenizer import Tokenizer, Tokenizers

Texts = tuple[str, str]

# About one letter in this many is mistyped.
LETTERS_PER_TYPO = 30
END_MARKS = ".!?…。！？"


def in_small_letters(source: str, target: str, draw: Random) -> Texts:
    return changed(source, str.lower), target


def in_title_case(source: str, target: str, draw: Random) -> Texts:
    def titled(text: str) -> str:
        return " ".join(word[:1].upper() + word[1:] for word in text.split(" "))

    return changed(source, titled), target


def with_typos(source: str, target: str, draw: Random) -> Texts:
    """Letters that are left out, doubled, exchanged with the next, or replaced by another."""

    def mistyped(text: str) -> str:
        letters = [*text]
        places = [place for place, letter in enumerate(letters[:-1]) if letter.isalpha()]
        for place in reversed(places):
            if draw.random() * LETTERS_PER_TYPO < 1:
                letter, following = letters[place : place + 2]
                other = letters[draw.choice(places)]
                letters[place : place + 2] = draw.choice(
                    [
                        *([following], [letter, letter, following]),
                        *([following, letter], [other, following]),
                    ]
                )
        return "".join(letters)

    return changed(source, mistyped), target


def without_end_mark(source: str, target: str, draw: Random) -> Texts:
    """Both sides without their last mark, if both have one."""
    if source[-1:] in END_MARKS and target[-1:] in END_MARKS:
        return source.rstrip(END_MARKS) or source, target.rstrip(END_MARKS) or target
    return source, target


KINDS: tuple[Callable[[str, str, Random], Texts], ...] = (
    in_small_letters,
    in_title_case,
    with_typos,
    without_end_mark,
)


def changed(text: str, change: Callable[[str], str]) -> str:
    """A text with everything changed but its placeholders, tags and addresses."""
    marked: MarkedText = protect(text)
    return str(
        marked.with_parts(
            [change(part) if isinstance(part, str) else part for part in marked.parts]
        )
    )


class Rows(Protocol):
    """Encoded pairs, as they are or changed."""

    @property
    def start(self) -> int: ...
    def sides(self, rows: Indices) -> Sides: ...
    def batch(self, rows: Indices) -> Batch: ...


@dataclass(frozen=True)
class NoisyPairs:
    """Pairs of which a share is as people type them. No side becomes longer than `max_length`."""

    pairs: Rows
    tokenizers: Tokenizers
    share: float
    max_length: int

    @property
    def start(self) -> int:
        return self.pairs.start

    def sides(self, rows: Indices) -> Sides:
        sources, targets = self.pairs.sides(rows)
        draw = drawn()
        for row in range(len(rows)):
            if draw.random() < self.share:
                sources[row], targets[row] = self.noisy(sources[row], targets[row], draw)
        return sources, targets

    def noisy(self, source: Ids, target: Ids, draw: Random) -> tuple[Ids, Ids]:
        first, second = self.tokenizers
        texts = first.decode(source[:-1].tolist()), second.decode(target[:-1].tolist())
        new = draw.choice(KINDS)(*texts, draw)
        sides = encoded(first, new[0]), encoded(second, new[1])
        fits = all(1 < len(side) <= self.max_length for side in sides)
        return sides if fits else (source, target)

    def batch(self, rows: Indices) -> Batch:
        return batch_pairs(*self.sides(rows), self.start)


def drawn() -> Random:
    """A generator that follows from PyTorch's."""
    return Random(int(torch.randint(0, 1 << 62, ())))


def encoded(tokenizer: Tokenizer, text: str) -> Ids:
    return np.array([*tokenizer.encode(text), tokenizer.specials.end], np.int64)
