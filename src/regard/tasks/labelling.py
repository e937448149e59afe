"""Predicts labels for classifiers and taggers, and evaluates them."""

from collections.abc import Iterator, Sequence, Set
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, Self

import numpy as np
import torch
from torch import Tensor

from regard.data.label_ids import Row, batch_rows, encode
from regard.errors import DataError
from regard.evaluate.labels import f1_scores
from regard.run import Run
from regard.tasks.from_run import temperature_of
from regard.tasks.task import Evaluation, ScoreLine, Test
from regard.text.tokenizer import Tokenizer

if TYPE_CHECKING:
    from regard.models import Labeller

ROWS_AT_ONCE = 32
TEXTS_AT_ONCE = 512
# The F1 of each label is shown if there are at most this many labels.
MOST_SHOWN = 20


@dataclass(frozen=True)
class Labelling:
    """A model that predicts labels, and everything needed to use it."""

    model: "Labeller"
    tokenizer: Tokenizer
    names: list[str]
    max_length: int
    # Logits are divided by this, so that probabilities are calibrated.
    temperature: float
    folder: Path | None = None

    @classmethod
    def of(cls, run: Run, recipe: Any, model: "Labeller") -> Self:
        tokenizer, length = run.tokenizers().source, recipe.data.max_length
        return cls(model, tokenizer, run.labels(), length, temperature_of(run), run.folder)

    def probabilities(self, texts: Sequence[Sequence[str]], whole_text: bool) -> list[Tensor]:
        """[units, labels] for each text, in order."""
        logits = self.logits(texts, whole_text)
        return [(each / self.temperature).softmax(-1) for each in logits]

    @torch.inference_mode()
    def logits(self, texts: Sequence[Sequence[str]], whole_text: bool) -> list[Tensor]:
        """[units, labels] for each text, in order."""
        rows = list(encode(texts, self.tokenizer, self.max_length, whole_text))
        rows.sort(key=lambda row: len(row[2].pieces))
        found: list[list[tuple[int, Tensor]]] = [[] for _ in texts]
        for part in chunks(rows, ROWS_AT_ONCE):
            values = self.batch_logits([row for _, _, row in part], whole_text)
            for (number, first, row), each in zip(part, values, strict=True):
                found[number].append((first, each[: len(row.sizes)]))
        return [
            torch.cat([each for _, each in sorted(parts, key=lambda part: part[0])])
            for parts in found
        ]

    def batch_logits(self, rows: list[Row], whole_text: bool) -> Tensor:
        device = next(self.model.parameters()).device
        batch = batch_rows(rows, self.tokenizer.specials, whole_text).to(device)
        logits: Tensor = self.model(batch.tokens, batch.mask, batch.units)
        return logits.float().cpu()

    def last_row(self, units: list[str], whole_text: bool) -> list[int]:
        """The ids of the longest row that the model reads of a text, which it reads last."""
        rows = list(encode([units], self.tokenizer, self.max_length, whole_text))
        specials = self.tokenizer.specials
        longest = max(rows, key=lambda row: len(row[2].pieces))[2]
        return [specials.start, *map(int, longest.pieces), specials.end]


def chunks(rows: list[tuple[int, int, Row]], size: int) -> Iterator[list[tuple[int, int, Row]]]:
    for start in range(0, len(rows), size):
        yield rows[start : start + size]


def with_unknown(occurring: Set[str], names: Sequence[str], test: Test) -> list[str]:
    """The run's labels, then labels of the data that training never saw, which the model misses."""
    unknown = sorted(occurring - set(names))
    if unknown and not occurring & set(names):
        where = str(test.files[0]) if test.files else "evaluate"
        raise DataError(
            f"{where}: label {unknown[0]!r} is none of the run's ({', '.join(names[:8])}); "
            "name the right column with data.label in the recipe"
        )
    if unknown:
        shown = ", ".join(unknown[:8]) + ", …" * (len(unknown) > 8)
        test.reporter.say(f"Never seen in training, so counted as missed: {shown}")
    return [*names, *unknown]


def interval(rows: Any, bootstrap: int, seed: int = 12345) -> tuple[float, float]:
    """The 95 % interval of an accuracy in per cent, by resampling the examples: the mean of their
    first column, or the ratio of the sums of two columns.
    """
    draw = np.random.default_rng(seed)
    values = []
    for _ in range(bootstrap):
        sums = rows[draw.integers(0, len(rows), len(rows))].sum(0)
        values.append(100 * (sums[0] / (sums[1] if len(sums) > 1 else len(rows))))
    low, high = np.percentile(values, [2.5, 97.5])
    return float(low), float(high)


def label_evaluation(
    test: Test,
    examples: str,
    scores: dict[str, float],
    right: Any,
    names: list[str],
    table: Any,
    answers: list[str],
) -> Evaluation:
    """Scores with F1 of each label, unless there are too many to read. `right` has a row for each
    example, as `interval` takes it. `examples` is like "512 texts".
    """
    if len(names) <= MOST_SHOWN:
        scores = scores | {
            f"F1 {name}": value for name, value in zip(names, f1_scores(table), strict=True)
        }
    intervals = {"accuracy": interval(right, test.bootstrap)} if test.bootstrap > 1 else {}
    files, (count, unit) = [str(file) for file in test.files], examples.split()
    return Evaluation(
        headline=f"{', '.join(files)}{': ' * bool(files)}{int(count):,} "
        + unit.removesuffix("s" * (count == "1")),
        scores=[ScoreLine(name, v, *intervals.get(name, ())) for name, v in scores.items()],
        answers=answers,
        labels=names,
        confusion=table.tolist(),
        facts={
            "test": files,
            unit: int(count),
            "scores": scores,
            "intervals": {name: list(each) for name, each in intervals.items()},
            "labels": names,
            "confusion": table.tolist(),
        },
    )
