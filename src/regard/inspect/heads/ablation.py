"""Do we need all the heads? What a model loses without each of them, and without many."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import torch
from torch import Tensor

from regard.data.batch import Batch, batches_of
from regard.data.corpus import Pair
from regard.evaluate.pairs import device_of, greedy_translations, references_of
from regard.evaluate.scores import bleu
from regard.inspect.heads.heads import Head, How, head_means, heads_of, heads_off
from regard.objectives import translation
from regard.text.tokenizer import Tokenizers

if TYPE_CHECKING:
    from regard.models import Model

ROWS = 64


@dataclass(frozen=True)
class Worth:
    """How a model does without a head: smaller numbers, a more important head."""

    part: str
    layer: int
    head: int
    bleu: float
    log_probability: float  # the mean over the pieces of the references


@dataclass(frozen=True)
class CurvePoint:
    """How a model does with so many heads left; `removed` are those gone since the last point."""

    kept: int
    bleu: float
    log_probability: float
    removed: list[str]


@dataclass(frozen=True)
class Importance:
    """What was measured; BLEU is of greedy translations of the sample."""

    sentences: int
    how: How
    bleu: float  # with all heads
    log_probability: float
    heads: list[Worth]
    curve: list[CurvePoint] = field(default_factory=list)

    @classmethod
    def from_json(cls, found: dict[str, Any]) -> "Importance":
        return cls(
            sentences=found["sentences"],
            how=found["how"],
            bleu=found["bleu"],
            log_probability=found["log_probability"],
            heads=[Worth(**each) for each in found["heads"]],
            curve=[CurvePoint(**each) for each in found["curve"]],
        )


class Bench:
    """A model, and pairs to try it on with some heads off."""

    def __init__(
        self, model: "Model", tokenizers: Tokenizers, pairs: Sequence[Pair], how: How = "zero"
    ) -> None:
        self.model = model
        self.source_tokenizer, self.target_tokenizer = tokenizers
        self.pairs = pairs
        self.how: How = how
        device = device_of(model)
        self.batches: list[Batch] = [
            batch.to(device) for batch in batches_of(pairs, tokenizers, ROWS)
        ]
        self.means: Mapping[Head, Tensor] | None = None
        if how == "mean":
            self.means = head_means(model, self.batches)

    @torch.inference_mode()
    def log_probability(self, off: Sequence[Head] = ()) -> float:
        """Of a piece of the references on average, by one teacher-forced pass."""
        with heads_off(self.model, off, self.how, self.means):
            losses = [translation(self.model, batch) for batch in self.batches]
        return -sum(float(loss.total) for loss in losses) / sum(loss.count for loss in losses)

    def bleu(self, off: Sequence[Head] = ()) -> float:
        with heads_off(self.model, off, self.how, self.means):
            outputs = greedy_translations(self.model, self)
        return bleu(outputs, references_of(self))

    def without(self, head: Head) -> Worth:
        return Worth(
            head.part, head.layer, head.head, self.bleu([head]), self.log_probability([head])
        )


def greedy_curve(bench: Bench) -> Iterator[CurvePoint]:
    """Heads are removed, those first that are missed least, until each layer has one left.

    Who is missed least is found anew at each point, given those that are gone already. Many heads
    go an eighth at a time, few one by one.
    """
    everything = heads_of(bench.model)
    gone: list[Head] = []
    yield CurvePoint(len(everything), bench.bleu(), bench.log_probability(), [])
    while loose := removable(everything, gone):
        by_loss = sorted(loose, key=lambda head: -bench.log_probability([*gone, head]))
        count = max(1, (len(everything) - len(gone)) // 8)
        new: list[Head] = []
        for head in by_loss:
            if len(new) < count and head in removable(everything, [*gone, *new]):
                new.append(head)
        gone += new
        yield CurvePoint(
            kept=len(everything) - len(gone),
            bleu=bench.bleu(gone),
            log_probability=bench.log_probability(gone),
            removed=[str(head) for head in new],
        )


def removable(everything: Sequence[Head], gone: Sequence[Head]) -> list[Head]:
    """The heads that are not the last of their layer."""
    left = [head for head in everything if head not in gone]
    layers = [(head.part, head.layer) for head in left]
    return [head for head in left if layers.count((head.part, head.layer)) > 1]
