"""Validation of a masked language model: how many of the hidden tokens it finds."""

from dataclasses import dataclass, replace
from itertools import groupby
from typing import TYPE_CHECKING

import numpy as np
import torch

from regard.data.masked import MaskedExamples
from regard.evaluate.pairs import device_of, perplexity
from regard.evaluate.validation import Findings, Sample, timed
from regard.text.tokenizer import Tokenizer

if TYPE_CHECKING:
    from regard.models import Bert

SHOWN_TOKENS = 40


@dataclass(frozen=True)
class HeldOutMasked:
    """A validation set of windows of text, in which every validation hides the same tokens."""

    examples: MaskedExamples
    tokenizer: Tokenizer
    batch_tokens: int

    @torch.inference_mode()
    def findings(self, model: "Bert") -> Findings:
        device, content = device_of(model), self.examples.content
        starts = np.arange(0, len(self.examples.stream) - content + 1, content)
        rows = max(1, self.batch_tokens // content)
        loss = right = count = related = 0.0
        samples: tuple[Sample, ...] = ()
        with torch.random.fork_rng(devices=[]):
            torch.manual_seed(0)
            for begin in range(0, len(starts), rows):
                batch = self.examples.batch(starts[begin : begin + rows]).to(device)
                features = model.features(batch.tokens, batch.mask, batch.segments)
                places = batch.places[..., None].expand(-1, -1, features.size(-1))
                logits = model.output(model.predictions(features.gather(1, places))).float()
                found = logits.argmax(-1)
                loss += float(
                    torch.nn.functional.cross_entropy(
                        logits.flatten(0, 1), batch.labels.flatten(), reduction="sum"
                    )
                )
                right += float((found == batch.labels).sum())
                count += batch.labels.numel()
                if batch.follows is not None:
                    predicted = model.relation(model.pooled(features)).argmax(-1)
                    related += float((predicted == batch.follows).sum())
                samples = samples or (self.sample(batch.tokens[0], batch.places[0], found[0]),)
        mean = loss / count
        scores: dict[str, float | None] = {
            "perplexity": perplexity(mean),
            "accuracy": 100 * right / count,
        }
        if self.examples.in_pairs:
            scores["next_sentence_accuracy"] = 100 * related / len(starts)
        return Findings(mean, scores, samples)

    def seconds(self, model: "Bert") -> float:
        """About how long `findings` takes, by a few batches."""
        stream = self.examples.stream
        few = replace(stream, ids=stream.ids[: 4 * max(self.batch_tokens, self.examples.content)])
        part = replace(self, examples=replace(self.examples, stream=few))
        return timed(lambda: part.findings(model)) * len(stream) / len(few)

    def sample(self, tokens: torch.Tensor, places: torch.Tensor, found: torch.Tensor) -> Sample:
        """The beginning of a text with its masks, and with the tokens that were found for them."""
        tokenizer = self.tokenizer
        filled = tokens.scatter(0, places, found)[:SHOWN_TOKENS].tolist()
        unseen = set(tokenizer.specials) - {tokenizer.specials.mask}
        shown = [index for index in tokens[:SHOWN_TOKENS].tolist() if index not in unseen]
        text = ""
        for hidden, group in groupby(shown, lambda index: index == tokenizer.specials.mask):
            ids = list(group)
            if hidden:
                text += " [MASK]" * len(ids)
            else:
                apart = tokenizer.begins_word(tokenizer.pieces(ids)[0])
                text += " " * apart + tokenizer.decode(ids)
        return Sample(text.strip(), "", tokenizer.decode(filled))
