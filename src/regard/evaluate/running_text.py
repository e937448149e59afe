"""Validation of a language model: how well it predicts a text, and how it continues one."""

import math
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

import numpy as np
import torch

from regard.data.batch import TextBatch
from regard.data.stream import CarriedState, Stream, TextExamples, lanes
from regard.decode import filters
from regard.decode.sample import sample
from regard.evaluate.pairs import device_of, perplexity
from regard.evaluate.validation import Findings, Sample, timed
from regard.objectives import Loss, next_token, next_token_carried
from regard.text.tokenizer import Tokenizer

if TYPE_CHECKING:
    from regard.models import LanguageModel

PROMPT_CHARACTERS, SAMPLE_CHARACTERS = 40, 200


@dataclass(frozen=True)
class HeldOutText:
    """A validation set of running text; `carrying` if the model carries its state along."""

    stream: Stream
    tokenizer: Tokenizer
    context: int
    carrying: bool
    sampled: bool
    batch_tokens: int

    def findings(self, model: "LanguageModel") -> Findings:
        total, count = self.total_loss(model)
        bits = total / math.log(2) / (self.stream.characters * count / (len(self.stream) - 1))
        scores = {"perplexity": perplexity(total / count), "bits_per_character": bits}
        samples = (self.sample(model),) if self.sampled else ()
        return Findings(total / count, scores, samples)

    def seconds(self, model: "LanguageModel") -> float:
        """About how long `findings` takes, by the loss of a few batches."""
        few = 4 * max(self.batch_tokens, self.context + 2)
        part = replace(self, stream=replace(self.stream, ids=self.stream.ids[:few]))
        return timed(lambda: part.total_loss(model)) * len(self.stream) / len(part.stream)

    @torch.inference_mode()
    def total_loss(self, model: Any) -> tuple[float, int]:
        """The total loss and the number of all tokens but the first, each within its window."""
        device = device_of(model)
        rows = max(1, self.batch_tokens // self.context)
        total, count = 0.0, 0
        if self.carrying and len(self.stream) > self.context:
            examples = TextExamples(self.stream, self.context, CarriedState())
            for starts in lanes(0, len(self.stream), self.context, rows):
                loss: Loss = next_token_carried(model, examples.batch(starts).to(device))
                total, count = total + float(loss.total), count + loss.count
            return total, count
        last = len(self.stream) - 1
        begins = range(0, last, self.context)
        for first in range(0, len(begins), rows):
            for windows, length in by_length(begins[first : first + rows], self.context, last):
                table = np.stack([self.stream.window(start, length + 1) for start in windows])
                ids = torch.from_numpy(table)
                loss = next_token(model, TextBatch(ids[:, :-1], ids[:, 1:]).to(device))
                total, count = total + float(loss.total), count + loss.count
        return total, count

    @torch.inference_mode()
    def sample(self, model: "LanguageModel") -> Sample:
        """The beginning of the text, as the model continues it, and as the text continues."""
        device = device_of(model)
        ids = self.stream.window(0, 4 * SAMPLE_CHARACTERS).tolist()
        text = self.tokenizer.decode(ids)
        specials = self.tokenizer.specials
        given = self.tokenizer.encode(text[:PROMPT_CHARACTERS]) or [specials.end]
        given = given[-max(1, model.longest // 2) :]
        state: Any = model.start(1)
        step: Any = model.step
        for token in given[:-1]:
            _, state = step(torch.tensor([token], device=device), state)
        room = min(SAMPLE_CHARACTERS, model.longest - len(given))
        tokens = sample(
            step,
            state,
            torch.tensor(given[-1:], device=device),
            max_lengths=torch.tensor([max(1, room)]),
            end=specials.end,
            filters=[filters.forbid(specials.never), filters.temperature(0.8)],
            seeds=[1],
        )
        output = self.tokenizer.decode([int(token) for token in tokens])
        after = text[PROMPT_CHARACTERS:][:SAMPLE_CHARACTERS]
        return Sample(text[:PROMPT_CHARACTERS], after, output[:SAMPLE_CHARACTERS])


def by_length(begins: range, context: int, last: int) -> list[tuple[list[int], int]]:
    """Group windows by their length: all are full but the last of a text."""
    full = [begin for begin in begins if begin + context <= last]
    rest = [([begin], last - begin) for begin in begins if begin + context > last]
    return [(full, context), *rest] if full else rest
