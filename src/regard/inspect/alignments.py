"""Which head aligns words: cross-attention is compared with alignments found without any network.

These come from IBM Model 1 (Brown et al. 1993), trained in both directions: links that both find
are sure, links that one finds are possible, and heads are ranked by their alignment error rate
AER = 1 - (|A ∩ S| + |A ∩ P|) / (|A| + |S|) (Och & Ney 2003).
"""

import re
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt
import torch

from regard.data.batch import START, batch_pairs
from regard.inspect.heads.heads import attentions
from regard.inspect.maps import Reading, merge_words, recording

if TYPE_CHECKING:
    from regard.models import Model

# (source word, target word)
Links = set[tuple[int, int]]
# A layer, a head and a reading, as in HeadScore.
Key = tuple[int | None, int | None, Reading]

ROUNDS = 5
# How much the nearer of two equal words is preferred: less than any difference in probability that
# means something.
NEARNESS = 0.01
NULL = ""
SENTENCES_AT_ONCE = 16


@dataclass(frozen=True)
class WordPair:
    """The words of a sentence and of its translation."""

    source: list[str]
    target: list[str]


@dataclass(frozen=True)
class HeadScore:
    """A cross-attention head as an aligner; None stands for the mean over heads, or over layers.

    `reading` says which row belongs to a word: that of the position which predicts the word, or of
    the one which has read it.
    """

    layer: int | None
    head: int | None
    reading: Reading
    aer: float
    sharpness: float  # the mean of the largest weights

    def name(self) -> str:
        if self.head is not None:
            return f"cross.{self.layer}.{self.head}"
        return "the mean of all" if self.layer is None else f"the mean of cross.{self.layer}"

    def __str__(self) -> str:
        return f"AER {self.aer:.2f}, sharpness {self.sharpness:.2f}"


@dataclass(frozen=True)
class Aligners:
    """All heads and means of heads, best first, and what they were measured on."""

    scores: list[HeadScore]
    pairs: int  # from which Model 1 learned
    sentences: int  # on which heads were compared

    @property
    def best(self) -> HeadScore:
        return self.scores[0]

    @property
    def best_head(self) -> HeadScore:
        """The best single head, means left out."""
        return next(each for each in self.scores if each.head is not None)

    def summary(self) -> str:
        """The best head, and the best mean of heads, which often aligns better than any head."""
        found = f"{self.best_head.name()} is the head that aligns words best ({self.best_head})"
        if self.best == self.best_head:
            return found
        return f"{found}, {self.best.name()} aligns better still ({self.best})"

    @classmethod
    def from_json(cls, found: dict[str, Any]) -> "Aligners":
        scores = [HeadScore(**each) for each in found["scores"]]
        return cls(scores, found["pairs"], found["sentences"])


@dataclass(frozen=True)
class FirstMap:
    """The map of cross-attention that is shown where none is asked for, and what it is called."""

    layer: int | None
    head: int | None
    reading: Reading
    name: str


def first_map(aligners: Aligners | None, layers: int) -> FirstMap:
    """The head or the mean of heads that aligns words best. Where that was not measured, it is the
    mean of the last layer but one, which usually does; see `Maps.alignment`.
    """
    if aligners is None:
        layer = max(0, layers - 2)
        name = f"the mean of cross.{layer}; `regard inspect alignment` finds what aligns best"
        return FirstMap(layer, None, "predicts", name)
    best = aligners.best
    name = f"{best.name()}, which aligns best ({best})"
    return FirstMap(best.layer, best.head, best.reading, name)


def ranked(scores: Sequence[HeadScore]) -> list[HeadScore]:
    return sorted(scores, key=lambda each: (round(each.aer, 6), -each.sharpness))


def plain(word: str) -> str:
    """A word as Model 1 counts it: in lower case, without punctuation around it."""
    return re.sub(r"^\W+|\W+$", "", word).lower() or word


def silver_links(pairs: Sequence[WordPair], compared: int) -> list[tuple[Links, Links]]:
    """Sure and possible links of the first `compared` pairs, learned from all of them."""
    forward = best_sources([(pair.source, pair.target) for pair in pairs], compared)
    backward = best_sources([(pair.target, pair.source) for pair in pairs], compared)
    found = []
    for one, other in zip(forward, backward, strict=True):
        first = {(source, target) for target, source in enumerate(one) if source >= 0}
        second = {(source, target) for source, target in enumerate(other) if target >= 0}
        found.append((first & second, first | second))
    return found


def best_sources(pairs: Sequence[tuple[list[str], list[str]]], compared: int) -> list[list[int]]:
    """For each target word of the first `compared` pairs: the source word it most likely comes
    from, or -1.

    Every word of a target sentence is paired with every word of its source, and with none. One long
    array holds the pairs of all sentences, in a block for each target word.
    """
    numbers: dict[str, int] = {NULL: 0}

    def ids(words: list[str]) -> npt.NDArray[np.int64]:
        return np.array([numbers.setdefault(plain(word), len(numbers)) for word in words], np.int64)

    blocks, sizes = [], []
    for source, target in pairs:
        sources, targets = np.append(ids(source), 0), ids(target)
        blocks.append((np.tile(sources, len(targets)), np.repeat(targets, len(sources))))
        sizes += [len(sources)] * len(targets)
    if not sizes:
        return [[] for _ in range(compared)]
    given = np.concatenate([block[0] for block in blocks])
    words = np.concatenate([block[1] for block in blocks])
    kinds, entry = np.unique(given * len(numbers) + words, return_inverse=True)
    likely = expected_shares(kinds // len(numbers), entry, np.array(sizes))
    found, begin = [], 0
    for source, target in pairs[:compared]:
        end = begin + (len(source) + 1) * len(target)
        shares = likely[begin:end].reshape(len(target), len(source) + 1)
        begin = end
        found.append(chosen(shares, len(source)))
    return found


def expected_shares(
    sources: npt.NDArray[np.int64], entry: npt.NDArray[np.int64], sizes: npt.NDArray[np.int64]
) -> npt.NDArray[np.float64]:
    """Expectation maximisation: each target word is divided among its source words in proportion to
    t(target | source), and t is estimated from the sums of these shares over all sentences.
    """
    starts = np.concatenate(([0], np.cumsum(sizes)[:-1]))
    probability = np.ones(len(sources))
    shares = np.zeros(len(entry))
    for _ in range(ROUNDS):
        weights = probability[entry]
        shares = weights / np.repeat(np.add.reduceat(weights, starts), sizes)
        counts = np.bincount(entry, shares, len(sources))
        probability = counts / np.bincount(sources, counts)[sources]
    return shares


def chosen(shares: npt.NDArray[np.float64], count: int) -> list[int]:
    """The source word with the largest share of each target word; -1 if that is no source word."""
    if not count:
        return [-1] * len(shares)
    rows = (np.arange(len(shares)) + 0.5) / max(1, len(shares))
    columns = (np.arange(count) + 0.5) / count
    near = 1 - NEARNESS * np.abs(rows[:, None] - columns)
    words = shares[:, :count] * near
    best = words.argmax(1)
    return [
        int(column) if words[row, column] > shares[row, count] else -1
        for row, column in enumerate(best)
    ]


def alignment_error_rate(found: Sequence[Links], silver: Sequence[tuple[Links, Links]]) -> float:
    """The error rate over all sentences. It is 0 if every link found is possible and every sure
    link is found.
    """
    agree = sum(
        len(links & sure) + len(links & possible)
        for links, (sure, possible) in zip(found, silver, strict=True)
    )
    total = sum(map(len, found)) + sum(len(sure) for sure, _ in silver)
    return 1 - agree / total if total else 1.0


@dataclass(frozen=True)
class Example:
    """A pair as the model reads it: ids that end in END, and the word of each piece, -1 for END.
    The decoder begins with `start`, the same for all examples.
    """

    source: list[int]
    target: list[int]
    source_word: list[int]
    target_word: list[int]
    start: int = START


@torch.no_grad()
def score_heads(
    model: "Model", examples: Sequence[Example], silver: Sequence[tuple[Links, Links]]
) -> list[HeadScore]:
    """Scores of every cross-attention head and mean of heads, in both readings, best first."""
    counts = [getattr(attention, "num_heads", 1) for attention in attentions(model)["cross"]]
    names: list[tuple[int | None, int | None]] = [
        (layer, head) for layer, count in enumerate(counts) for head in range(count)
    ]
    # The mean of a single head is that head.
    names += [(layer, None) for layer, count in enumerate(counts) if count > 1]
    names += [(None, None)] if len(counts) > 1 else []
    readings: tuple[Reading, ...] = ("predicts", "read")
    keys = [(layer, head, reading) for layer, head in names for reading in readings]
    links: dict[Key, list[Links]] = {key: [] for key in keys}
    sharpness: dict[Key, list[float]] = {key: [] for key in keys}
    for start in range(0, len(examples) if names else 0, SENTENCES_AT_ONCE):
        some = examples[start : start + SENTENCES_AT_ONCE]
        layers = cross_weights(model, some)
        for row, example in enumerate(some):
            weights = candidates([layer[row] for layer in layers], len(names))
            weights = weights[:, : len(example.target), : len(example.source)]
            for reading in readings:
                rows = example.target_word
                if reading == "read":
                    rows = [-1, *rows[:-1]]
                merged = merge_words(weights, rows, example.source_word)
                if not merged.numel():
                    continue
                largest, places = merged.max(-1)
                for (layer, head), sharp, place in zip(
                    names, largest.tolist(), places.tolist(), strict=True
                ):
                    links[layer, head, reading].append({(s, t) for t, s in enumerate(place)})
                    sharpness[layer, head, reading] += sharp
    wanted = [each for each, example in zip(silver, examples, strict=True) if has_words(example)]
    return ranked(
        [
            HeadScore(
                layer=key[0],
                head=key[1],
                reading=key[2],
                aer=alignment_error_rate(found, wanted),
                sharpness=float(np.mean(sharpness[key])),
            )
            for key, found in links.items()
            if found
        ]
    )


def has_words(example: Example) -> bool:
    return max(example.source_word) >= 0 and max(example.target_word) >= 0


def cross_weights(model: "Model", examples: Sequence[Example]) -> list[torch.Tensor]:
    """The cross-attention weights [B, h, T, S] of each layer."""
    sources, targets = [each.source for each in examples], [each.target for each in examples]
    batch = batch_pairs(sources, targets, examples[0].start)
    batch = batch.to(next(model.parameters()).device)
    with recording(model):
        model.features(batch.source, batch.source_mask, batch.target)
        cross = attentions(model)["cross"]
        return [torch.cat(attention.record or [], dim=2).cpu() for attention in cross]


def candidates(layers: Sequence[torch.Tensor], count: int) -> torch.Tensor:
    """[h, T, S] for each layer → [count, T, S]: heads, then the mean of each layer, then of all."""
    heads = torch.cat(list(layers))
    means = [layer.mean(0) for layer in layers if len(layer) > 1]
    everything = [heads, *(mean[None] for mean in means), heads.mean(0)[None]]
    return torch.cat(everything)[:count]
