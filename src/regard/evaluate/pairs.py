"""Validation of a translator: the loss over all pairs, and translations of some."""

import math
import sys
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, Protocol

import torch
from torch import nn

from regard.data.batch import batch_sources
from regard.data.batches import Batches
from regard.data.corpus import Pair
from regard.data.ids import IdPairs
from regard.decode.contract import Step
from regard.decode.sample import collect
from regard.evaluate.scores import bleu, chrf
from regard.evaluate.validation import Findings, Sample, timed
from regard.objectives import translation
from regard.text.tokenizer import Tokenizer

if TYPE_CHECKING:
    from regard.models import Model


# Sentences that are translated together, and tokens of them that are tried to measure the speed.
ROWS, TRIED = 64, 8


class Texts(Protocol):
    """Pairs as texts, with the tokenizers of both sides."""

    @property
    def pairs(self) -> Sequence[Pair]: ...
    @property
    def source_tokenizer(self) -> Tokenizer: ...
    @property
    def target_tokenizer(self) -> Tokenizer: ...


@dataclass(frozen=True)
class HeldOutPairs:
    """A validation set: the ids of all pairs for the loss, and some texts for translation."""

    ids: IdPairs
    pairs: Sequence[Pair]
    source_tokenizer: Tokenizer
    target_tokenizer: Tokenizer
    batch_tokens: int

    def findings(self, model: "Model") -> Findings:
        """Loss over all pairs, BLEU and chrF of greedy translations of some."""
        loss = mean_loss(model, self.ids, self.batch_tokens)
        outputs = greedy_translations(model, self)
        references = references_of(self)
        scores = {
            "perplexity": perplexity(loss),
            "bleu": bleu(outputs, references) if outputs else None,
            "chrf": chrf(outputs, references) if outputs else None,
        }
        samples = tuple(
            Sample(pair.source, pair.target, output)
            for pair, output in zip(self.pairs[:3], outputs[:3], strict=True)
        )
        return Findings(loss, scores, samples)

    @torch.inference_mode()
    def seconds(self, model: "Model") -> float:
        """About how long `findings` takes, by one batch and by a few tokens of some translations. A
        translation is taken to be as long as its reference.
        """
        batches = Batches(self.ids.source_lengths, self.ids.target_lengths, self.batch_tokens, 0)
        rows = batches.epoch(0)[len(batches.epoch(0)) // 2]
        batch = self.ids.batch(rows).to(device_of(model))
        total = len(batches.epoch(0)) * timed(lambda: translation(model, batch))
        if not self.pairs:
            return total
        lengths = [
            len(each) + 1 for each in self.target_tokenizer.encode_batch(references_of(self))
        ]
        steps = sum(sorted(lengths)[::-ROWS])  # each group of rows is as long as its longest
        middle = sorted(self.pairs, key=lambda pair: len(pair.source))[len(self.pairs) // 2 :][
            :ROWS
        ]
        part = replace(self, pairs=middle)
        return total + steps * timed(lambda: greedy_translations(model, part, TRIED)) / TRIED


def references_of(data: Texts) -> list[str]:
    """The references of the pairs, in lower case where the tokenizer writes nothing else."""
    references = [pair.target for pair in data.pairs]
    if data.target_tokenizer.lower_cases:
        return [each.lower() for each in references]
    return references


def perplexity(loss: float) -> float:
    return math.exp(min(loss, 100.0))


@torch.inference_mode()
def mean_loss(model: "Model", pairs: IdPairs, batch_tokens: int) -> float:
    """Cross-entropy per target token."""
    device = device_of(model)
    total, count = 0.0, 0
    batches = Batches(pairs.source_lengths, pairs.target_lengths, batch_tokens, seed=0)
    for rows in batches.epoch(0):
        loss = translation(model, pairs.batch(rows).to(device))
        total += float(loss.total)
        count += loss.count
    return total / count


@torch.inference_mode()
def greedy_translations(model: "Model", data: Texts, longest: int = sys.maxsize) -> list[str]:
    """Greedy translations of at most `longest` tokens, in the order of the pairs."""
    device = device_of(model)
    step: Step[Any] = model.step
    closing, specials = data.source_tokenizer.specials.end, data.target_tokenizer.specials
    sources = data.source_tokenizer.encode_batch([pair.source for pair in data.pairs])
    order = sorted(range(len(sources)), key=lambda i: len(sources[i]))
    outputs = [""] * len(sources)
    for start in range(0, len(order), ROWS):
        chosen = order[start : start + ROWS]
        source, mask = batch_sources([[*sources[i], closing] for i in chosen])
        source, mask = source.to(device), mask.to(device)
        hypotheses = collect(
            step,
            model.start(source, mask),
            torch.full((len(chosen),), specials.start, device=device),
            max_lengths=(2 * mask.sum(1) + 20).clamp(max=min(longest, model.longest)),
            end=specials.end,
            scored=False,
        )
        texts = data.target_tokenizer.decode_batch([each.tokens for each in hypotheses])
        for i, text in zip(chosen, texts, strict=True):
            outputs[i] = text
    return outputs


def device_of(model: nn.Module) -> torch.device:
    return next(model.parameters()).device
