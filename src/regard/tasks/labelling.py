"""Classifier and Tagger: labels for texts, and for the words of sentences."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Self, cast

import torch
from torch import Tensor

from regard.checkpoint import Run
from regard.data.label_ids import Row, batch_rows, encode
from regard.errors import RequestError
from regard.machine.devices import choose_device
from regard.text.tokenizer import Tokenizer

if TYPE_CHECKING:
    from regard.models import Labeller

ROWS_AT_ONCE = 32


@dataclass(frozen=True)
class Labels:
    """A model that labels, and what it takes to use it."""

    model: "Labeller"
    tokenizer: Tokenizer
    names: list[str]
    max_length: int
    # What logits are divided by, so that probabilities mean what they say.
    temperature: float

    @classmethod
    def load(cls, folder: Path | str, task: str, device: str) -> Self:
        run = Run.open(folder)
        recipe = run.recipe_for(task)
        tokenizer, names = run.tokenizers().source, run.labels()
        model = run.network(len(tokenizer), len(names)).to(choose_device(device))
        scores = run.info().get("validation", {})
        temperature = float(scores.get("temperature") or 1.0)
        labeller = cast("Labeller", model)
        return cls(labeller, tokenizer, names, recipe.data.max_length, temperature)

    @torch.inference_mode()
    def probabilities(self, texts: Sequence[Sequence[str]], whole_text: bool) -> list[Tensor]:
        """[units, labels] for each text, in order."""
        rows = list(encode(texts, self.tokenizer, self.max_length, whole_text))
        rows.sort(key=lambda row: len(row[2].pieces))
        found: list[list[tuple[int, Tensor]]] = [[] for _ in texts]
        for part in chunks(rows, ROWS_AT_ONCE):
            logits = self.logits([row for _, _, row in part], whole_text)
            for (number, first, row), each in zip(part, logits, strict=True):
                found[number].append((first, each[: len(row.sizes)]))
        return [
            torch.cat([each for _, each in sorted(parts, key=lambda part: part[0])])
            for parts in found
        ]

    def logits(self, rows: list[Row], whole_text: bool) -> Tensor:
        device = next(self.model.parameters()).device
        batch = batch_rows(rows, self.tokenizer.specials, whole_text).to(device)
        logits: Tensor = self.model(batch.tokens, batch.mask, batch.units)
        return (logits.float().cpu() / self.temperature).softmax(-1)


@dataclass(frozen=True)
class Classification:
    """The likeliest label of a text, and the probability of each."""

    label: str
    probabilities: dict[str, float]  # the likeliest first


class Classifier:
    """Texts to labels."""

    def __init__(self, labels: Labels) -> None:
        self.labels = labels

    @classmethod
    def load(cls, folder: Path | str, device: str = "cpu") -> Self:
        """The classifier of a run folder."""
        return cls(Labels.load(folder, "classification", device))

    def classify(self, texts: Sequence[str]) -> list[Classification]:
        """The labels of texts, in order; of a long text as much as the model reads is read."""
        if isinstance(texts, str):
            raise RequestError("classify takes a list of texts; put the text in brackets")
        found = self.labels.probabilities([[text] for text in texts], whole_text=True)
        return [self._classification(each[0]) for each in found]

    def _classification(self, probabilities: Tensor) -> Classification:
        order = probabilities.argsort(descending=True, stable=True).tolist()
        ranked = {self.labels.names[i]: float(probabilities[i]) for i in order}
        return Classification(next(iter(ranked)), ranked)


@dataclass(frozen=True)
class TaggedWord:
    word: str
    label: str
    probability: float


class Tagger:
    """Words of sentences to labels."""

    def __init__(self, labels: Labels) -> None:
        self.labels = labels

    @classmethod
    def load(cls, folder: Path | str, device: str = "cpu") -> Self:
        """The tagger of a run folder."""
        return cls(Labels.load(folder, "tagging", device))

    def tag(self, sentences: Sequence[str | Sequence[str]]) -> list[list[TaggedWord]]:
        """The labels of each sentence's words: of those given, or of those between spaces."""
        if isinstance(sentences, str):
            raise RequestError("tag takes a list of sentences; put the sentence in brackets")
        words = [each.split() if isinstance(each, str) else list(each) for each in sentences]
        found = iter(self.labels.probabilities([each for each in words if each], whole_text=False))
        return [self._tagged(each, next(found)) if each else [] for each in words]

    def _tagged(self, words: list[str], probabilities: Tensor) -> list[TaggedWord]:
        best = probabilities.max(-1)
        return [
            TaggedWord(word, self.labels.names[label], value)
            for word, label, value in zip(
                words, best.indices.tolist(), best.values.tolist(), strict=True
            )
        ]


def chunks(rows: list[tuple[int, int, Row]], size: int) -> Iterator[list[tuple[int, int, Row]]]:
    for start in range(0, len(rows), size):
        yield rows[start : start + size]
