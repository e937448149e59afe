"""Validation of a captioner: the loss over all captions, and captions of some images."""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

import numpy as np
import torch

from regard.data.batches import Batches, Indices
from regard.data.caption_batches import CaptionedImages
from regard.decode.sample import collect
from regard.evaluate.caption_scores import CaptionReferences
from regard.evaluate.pairs import device_of, perplexity
from regard.evaluate.validation import Findings, Sample, timed
from regard.objectives import caption
from regard.text.tokenizer import Tokenizer

ROWS, TRIED = 64, 8


@dataclass(frozen=True)
class HeldOutCaptions:
    """A validation set: all captions for the loss, and some images to describe."""

    examples: CaptionedImages
    names: Sequence[str]  # of the images to describe
    texts: Sequence[Sequence[str]]  # their captions
    tokenizer: Tokenizer
    batch_tokens: int
    longest: int  # the most tokens of a caption

    def findings(self, model: Any) -> Findings:
        """Loss over all captions; BLEU-4 and CIDEr-D of greedy captions, and CIDEr-D of the same
        captions with the images shuffled.
        """
        loss = mean_loss(model, self.examples, self.batch_tokens)
        scores: dict[str, float | None] = {"perplexity": perplexity(loss)}
        if not self.names:
            return Findings(loss, scores)
        captions = self.greedy(model)
        found = self.references.scores(captions)
        shuffled = self.references.scores(self.references.shuffled(captions))
        scores |= {
            "bleu": found.bleu[3],
            "cider": found.cider,
            "shuffled_cider": shuffled.cider,
        }
        samples = tuple(
            Sample(name, texts[0], output)
            for name, texts, output in zip(self.names[:3], self.texts, captions, strict=False)
        )
        return Findings(loss, scores, samples)

    @cached_property
    def references(self) -> CaptionReferences:
        return CaptionReferences(self.texts)

    def seconds(self, model: Any) -> float:
        """About how long `findings` takes, by one batch and by a few tokens of some captions."""
        batches = batches_of(self.examples, self.batch_tokens).epoch(0)
        middle = batches[len(batches) // 2]
        total = len(batches) * timed(lambda: losses(model, self.examples, [middle]))
        if not self.names:
            return total
        few = replace(self, names=self.names[:ROWS], texts=self.texts[:ROWS], longest=TRIED)
        tokens = float(np.mean(self.examples.lengths))
        parts = len(self.names) / len(few.names)
        return total + parts * tokens / TRIED * timed(lambda: few.greedy(model))

    @torch.inference_mode()
    def greedy(self, model: Any) -> list[str]:
        """The likeliest caption of each image, word by word."""
        specials, device = self.tokenizer.specials, device_of(model)
        found: list[str] = []
        for start in range(0, len(self.names), ROWS):
            rows = np.arange(start, min(start + ROWS, len(self.names)))
            hypotheses = collect(
                model.step,
                model.start(self.examples.images.plain(rows).to(device)),
                torch.full((len(rows),), specials.start, device=device),
                max_lengths=torch.full((len(rows),), self.longest),
                end=specials.end,
                scored=False,
            )
            found += self.tokenizer.decode_batch([each.tokens for each in hypotheses])
        return found


def batches_of(examples: CaptionedImages, batch_tokens: int, seed: int = 0) -> Batches:
    """Batches of captions of similar length; an image counts as one token."""
    lengths = examples.lengths
    return Batches(np.ones_like(lengths), lengths, batch_tokens, seed)


def mean_loss(model: Any, examples: CaptionedImages, batch_tokens: int) -> float:
    """Cross-entropy per token."""
    total, count = losses(model, examples, batches_of(examples, batch_tokens).epoch(0))
    return total / count


@torch.inference_mode()
def losses(model: Any, examples: CaptionedImages, batches: Sequence[Indices]) -> tuple[float, int]:
    """The sum of the cross-entropies of all tokens, and their number."""
    total, count = 0.0, 0
    for rows in batches:
        loss = caption(model, examples.batch(rows).to(device_of(model)))
        total += float(loss.total)
        count += loss.count
    return total, count
