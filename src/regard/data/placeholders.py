"""Training pairs with placeholders: a word and its translation become the same symbol, so that a
model learns to copy the symbols that `regard.text.protect` finds in texts.

Which pairs get some, where and which is drawn from PyTorch's generator, which training seeds for
each batch with (seed, update, batch): a resumed run draws the same.
"""

from __future__ import annotations

from dataclasses import dataclass
from random import Random

import numpy as np

from regard.data.batch import Batch, batch_pairs
from regard.data.batches import Indices
from regard.data.ids import Ids, Sides
from regard.data.noise import Rows, drawn
from regard.data.switched import WordLinks
from regard.text.tokenizer import Tokenizer, Tokenizers

# The most placeholders of a sentence.
MOST = 2
FORMS = (
    *("%s", "%d", "%{number}$s", "%({name})s", "{{{number}}}", "{{{name}}}", "{{{{{name}}}}}"),
    *("${{{name}}}", "%{{{name}}}", "${name}$", "[X{number}X]"),
)


def symbol(draw: Random) -> str:
    """A placeholder as programs write them."""
    syllables = [draw.choice("bcdfghklmnprstvw") + draw.choice("aeiou") for _ in range(4)]
    name = "".join(syllables[: draw.randint(2, 4)])
    return draw.choice(FORMS).format(name=name, number=draw.randint(1, 20))


@dataclass(frozen=True)
class PairsWithPlaceholders:
    """Pairs of which a share has placeholders. No side becomes longer than `max_length`."""

    pairs: Rows
    links: WordLinks
    tokenizers: Tokenizers
    share: float
    max_length: int

    @property
    def start(self) -> int:
        return self.pairs.start

    def sides(self, rows: Indices) -> Sides:
        sources, targets = self.pairs.sides(rows)
        draw = drawn()
        for place, row in enumerate(rows.tolist()):
            if draw.random() < self.share:
                found = self.replaced(row, draw)
                if max(map(len, found)) <= self.max_length:
                    sources[place], targets[place] = found
        return sources, targets

    def replaced(self, row: int, draw: Random) -> tuple[Ids, Ids]:
        """A pair with some of its words replaced on both sides."""
        source, target = self.links.pairs.source(row), self.links.pairs.target(row)
        first, second = self.tokenizers
        links = [
            link
            for link in self.links.row(row).tolist()
            if begins(first, source[link[0]]) and begins(second, target[link[2]])
        ]
        chosen = draw.sample(links, min(len(links), draw.randint(1, MOST)))
        symbols = [symbol(draw) for _ in chosen]
        return (
            spliced(source, [(b, e) for b, e, _, _ in chosen], [first.encode(s) for s in symbols]),
            spliced(target, [(b, e) for _, _, b, e in chosen], [second.encode(s) for s in symbols]),
        )

    def batch(self, rows: Indices) -> Batch:
        return batch_pairs(*self.sides(rows), self.start)


def begins(tokenizer: Tokenizer, piece: int) -> bool:
    return tokenizer.begins_word(tokenizer.pieces([piece])[0])


def spliced(ids: Ids, places: list[tuple[int, int]], pieces: list[list[int]]) -> Ids:
    """The ids with these pieces in these places."""
    parts, done = [], 0
    for (begin, end), new in sorted(zip(places, pieces, strict=True)):
        parts += [ids[done:begin], np.array(new, np.int64)]
        done = end
    return np.concatenate([*parts, ids[done:]])
