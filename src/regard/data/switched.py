"""Training pairs in which words of the source are replaced by their translations, so that a model
learns to write the target words that it finds in a source (code-switching, Song et al. 2019).

Which words translate each other is found once, by IBM Model 1. Which of them are replaced is drawn
from PyTorch's generator, which training seeds for each batch with (seed, update, batch).
"""

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import islice
from pathlib import Path
from typing import Any, NamedTuple, Self

import numpy as np
import numpy.typing as npt
import torch

from regard.data.batch import Batch, batch_pairs
from regard.data.batches import Indices
from regard.data.dictionary import STEM, Links, Table, Text
from regard.data.ids import IdPairs, Ids, Sides
from regard.data.on_disk import open_arrays, write_arrays
from regard.text.tokenizer import Tokenizer, Tokenizers

NAME = "switched"
PARTS = {"counts": "<i4", "links": "<i4"}
# Model 1 learns from at most this many pairs of words, in a few seconds.
MOST_WORD_PAIRS = 6_000_000
CHUNK_PAIRS = 4096
# A word comes from another by at least this share, in both directions.
LEAST_SHARE = 0.3
# Words that are a larger share of the text, such as articles, are no terms.
MOST_COMMON = 0.02
# The most words of a sentence that are replaced.
MOST_REPLACED = 3

_WORD = re.compile(r"[^\W\d_]{2,}")


class Word(NamedTuple):
    """A word of an encoded sentence: its first letters, and its pieces from `begin` to `end`."""

    stem: str
    begin: int
    end: int
    begins: bool  # whether its first piece holds the space before it


def words_of(tokenizer: Tokenizer, ids: Sequence[int]) -> list[Word]:
    """The words that are whole pieces of a sentence."""
    text = tokenizer.decode(ids)
    if tokenizer.encode(text) != [*ids]:
        return []
    pieces = tokenizer.pieces(ids)
    ends = {end: number for number, (_, end) in enumerate(tokenizer.places(text))}
    found = []
    for match in _WORD.finditer(text):
        inside = [ends[end] for end in range(match.start() + 1, match.end() + 1) if end in ends]
        if inside and match.end() in ends:
            begins = tokenizer.begins_word(pieces[inside[0]])
            stem = match[0].lower()[:STEM]
            found.append(Word(stem, inside[0], inside[-1] + 1, begins))
    return found


def stems(words: Sequence[Word]) -> Text:
    return tuple(word.stem for word in words)


def sentences(pairs: IdPairs, tokenizers: Tokenizers) -> Iterator[tuple[list[Word], list[Word]]]:
    source, target = tokenizers
    for row in range(len(pairs)):
        yield (
            words_of(source, pairs.source(row)[:-1].tolist()),
            words_of(target, pairs.target(row)[:-1].tolist()),
        )


def write_links(pairs: IdPairs, tokenizers: Tokenizers, folder: Path) -> None:
    """Find and write the words of each pair that translate each other, by their pieces."""
    sample, room = [], MOST_WORD_PAIRS
    for source, target in sentences(pairs, tokenizers):
        room -= len(source) * len(target)
        if room < 0:
            break
        sample.append((stems(source), stems(target)))
    forward = Table.learned(sample)
    backward = Table.learned([(target, source) for source, target in sample])

    def chunks() -> Iterator[Mapping[str, npt.NDArray[Any]]]:
        every = sentences(pairs, tokenizers)
        while chunk := list(islice(every, CHUNK_PAIRS)):
            found = [*linked(chunk, forward, backward)]
            yield {
                "counts": np.array([len(each) for each in found]),
                "links": np.array([link for each in found for link in each]).reshape(-1),
            }

    write_arrays(folder, NAME, PARTS, chunks(), lambda: {"pairs": pairs.fingerprint})


def linked(
    chunk: Sequence[tuple[list[Word], list[Word]]], forward: Table, backward: Table
) -> Iterator[list[tuple[int, int, int, int]]]:
    """For each pair: (begin, end) of a source word and of the target word that translates it."""
    texts = [(stems(source), stems(target)) for source, target in chunk]
    there = best_words(texts, forward)
    back = best_words([(target, source) for source, target in texts], backward)
    for (source, target), one, other in zip(chunk, there, back, strict=True):
        yield [
            (word.begin, word.end, target[at].begin, target[at].end)
            for number, word in enumerate(source)
            if (at := other[number]) >= 0
            and one[at] == number
            and word.begins == target[at].begins
            and not is_common(word.stem, backward)
            and not is_common(target[at].stem, forward)
        ]


def is_common(stem: str, table: Table) -> bool:
    return bool(table.chances[table.words.get(stem, 0)] > MOST_COMMON)


def best_words(texts: Sequence[tuple[Text, Text]], table: Table) -> Iterator[list[int]]:
    """For each word of the second side of each pair: the word of the first that it comes from, or
    -1.
    """
    links = Links.of(texts, table.given, table.words, known_only=False)
    likely = table.likely(links)
    block = 0
    for count in links.counts.tolist():
        found = []
        for number in range(block, block + count):
            begin = links.starts[number]
            chances = likely[begin : begin + links.sizes[number]]
            best = int(chances.argmax())
            sure = chances[best] > LEAST_SHARE * max(chances.sum(), 1e-9)
            found.append(best - 1 if sure else -1)  # the first stands for no word
        block += count
        yield found


@dataclass(frozen=True)
class WordLinks:
    """For each pair, the words that translate each other: (begin, end) of the pieces on the source
    side, and on the target side.
    """

    pairs: IdPairs
    _starts: Ids
    _links: npt.NDArray[Any]  # [N, 4]

    @classmethod
    def of(cls, pairs: IdPairs, tokenizers: Tokenizers, folder: Path) -> Self:
        """The links in a folder, which are written first if they are not there."""
        if not (folder / f"{NAME}.json").exists():
            write_links(pairs, tokenizers, folder)
        found = open_arrays(folder, NAME, PARTS)
        if found.facts.get("pairs") != pairs.fingerprint:
            write_links(pairs, tokenizers, folder)
            found = open_arrays(folder, NAME, PARTS)
        starts = np.concatenate(([0], np.cumsum(found.parts["counts"], dtype=np.int64)))
        return cls(pairs, starts, found.parts["links"].reshape(-1, 4))

    def row(self, row: int) -> npt.NDArray[Any]:
        return self._links[self._starts[row] : self._starts[row + 1]]


@dataclass(frozen=True)
class SwitchedPairs:
    """Pairs of which a share has words replaced in the source. No source becomes longer than
    `max_length`.
    """

    links: WordLinks
    share: float
    max_length: int

    @property
    def start(self) -> int:
        return self.links.pairs.start

    def sides(self, rows: Indices) -> Sides:
        sources, targets = self.links.pairs.sides(rows)
        replaced = torch.rand(len(rows)) < self.share
        for place in replaced.nonzero().flatten().tolist():
            sources[place] = self.switched(rows[place])
        return sources, targets

    def batch(self, rows: Indices) -> Batch:
        return batch_pairs(*self.sides(rows), self.start)

    def switched(self, row: int) -> Ids:
        """The source of a pair with some of its words replaced."""
        pairs, links = self.links.pairs, self.links.row(row)
        source, target = pairs.source(row), pairs.target(row)
        count = int(torch.randint(1, MOST_REPLACED + 1, ()))
        chosen = torch.randperm(len(links))[:count].sort().values
        result = spliced(source, target, links[chosen.numpy()].tolist())
        return result if len(result) <= self.max_length else source


def spliced(source: Ids, target: Ids, links: Iterable[Sequence[int]]) -> Ids:
    """The source with the pieces of target words in the places of its own, in order."""
    parts, done = [], 0
    for begin, end, first, last in links:
        parts += [source[done:begin], target[first:last]]
        done = end
    return np.concatenate([*parts, source[done:]])
