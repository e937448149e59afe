"""A batch: padded tensors and masks. B sentences, S source length, T target length."""

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from regard.data.corpus import Pair
from regard.text.tokenizer import PAD, Tokenizers
from regard.text.tokenizer import START as START

Ids = Sequence[int] | NDArray[np.int64]


@dataclass(frozen=True)
class Batch:
    """`target` is what the decoder reads (START, y₁ …), `labels` what it predicts (y₁ … END)."""

    source: Tensor  # [B, S]
    source_mask: Tensor  # [B, S], True at real tokens
    target: Tensor  # [B, T]
    labels: Tensor  # [B, T], PAD where there is nothing to predict
    label_mask: Tensor  # [B, T], True where there is something to predict
    tokens: int  # real tokens, source and labels

    def to(self, device: torch.device) -> "Batch":
        if device.type == "cpu":
            return self
        return Batch(
            self.source.to(device, non_blocking=True),
            self.source_mask.to(device, non_blocking=True),
            self.target.to(device, non_blocking=True),
            self.labels.to(device, non_blocking=True),
            self.label_mask.to(device, non_blocking=True),
            self.tokens,
        )


@dataclass(frozen=True)
class RowStates:
    """The states from which the rows of a batch continue, and where to keep the states after them.
    A place without a state is treated as the beginning of a text.
    """

    states: dict[int, Tensor]  # [P, d] for each place
    begins: list[int]
    ends: list[int]

    def before(self, like: Tensor) -> Tensor | None:
        """The states before the rows, [B, P, d], on the device of `like`; None if no row has
        one.
        """
        known = [self.states.get(place) for place in self.begins]
        some = next((state for state in known if state is not None), None)
        if some is None:
            return None
        rows = [torch.zeros_like(some) if state is None else state for state in known]
        return torch.stack(rows).to(like.device)

    def keep(self, states: Tensor) -> None:
        """Keep the states [B, P, d] after the last token. Numbers that are not finite become 0, so
        that they do not spoil all that follows.
        """
        finite = torch.nan_to_num(states.detach(), 0.0, 0.0, 0.0)
        self.states.update(zip(self.ends, finite.unbind(), strict=True))


@dataclass(frozen=True)
class TextBatch:
    """Running text: `labels` are the tokens that follow each token."""

    tokens: Tensor  # [B, T]
    labels: Tensor  # [B, T]
    row_states: RowStates | None = None

    def to(self, device: torch.device) -> "TextBatch":
        if device.type == "cpu":
            return self
        return TextBatch(
            self.tokens.to(device, non_blocking=True),
            self.labels.to(device, non_blocking=True),
            self.row_states,
        )


def pad(rows: Sequence[Ids], filler: int = PAD) -> Tensor:
    """Rows of ids as one table, the shorter ones filled up at the end with PAD or another
    filler.
    """
    table = np.full((len(rows), max(len(row) for row in rows)), filler, dtype=np.int64)
    for line, row in zip(table, rows, strict=True):
        line[: len(row)] = row
    return torch.from_numpy(table)


def batch_sources(sources: Sequence[Ids]) -> tuple[Tensor, Tensor]:
    """Padded sources and their mask. The mask is made from the lengths, because in tokenizers of
    others PAD may be an ordinary piece. Each source ends in END.
    """
    source = pad(sources)
    lengths = torch.tensor([len(row) for row in sources])
    return source, torch.arange(source.size(1)) < lengths[:, None]


def batch_pairs(sources: Sequence[Ids], targets: Sequence[Ids], start: int = START) -> Batch:
    """A batch of pairs whose sides both end in END."""
    source, source_mask = batch_sources(sources)
    labels, label_mask = batch_sources(targets)
    target = torch.cat((torch.full_like(labels[:, :1], start), labels[:, :-1]), dim=1)
    tokens = sum(map(len, sources)) + sum(map(len, targets))
    return Batch(source, source_mask, target, labels, label_mask, tokens)


def batches_of(pairs: Iterable[Pair], tokenizers: Tokenizers, rows: int) -> Iterator[Batch]:
    """Batches of `rows` pairs, with pairs of similar length together."""
    closing, specials = tokenizers.source.specials.end, tokenizers.target.specials
    ids = [
        (
            [*tokenizers.source.encode(pair.source), closing],
            [*tokenizers.target.encode(pair.target), specials.end],
        )
        for pair in pairs
    ]
    ids.sort(key=lambda pair: len(pair[1]))
    for first in range(0, len(ids), rows):
        sources, targets = zip(*ids[first : first + rows], strict=True)
        yield batch_pairs(sources, targets, specials.start)
