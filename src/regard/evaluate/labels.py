"""Scores of labels: of whole texts, of words, and of the spans that words form."""

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from regard.data.batches import Batches
from regard.data.label_ids import LabelledIds
from regard.evaluate.pairs import device_of
from regard.evaluate.validation import Findings, Sample, timed
from regard.text.tokenizer import Tokenizer

if TYPE_CHECKING:
    from regard.models import Labeller

BINS = 15
SHOWN_WORDS = 30
Span = tuple[int, int, str]


def accuracy(found: Sequence[Any] | NDArray[Any], true: Sequence[Any] | NDArray[Any]) -> float:
    """The percentage of labels that are right."""
    return 100 * float(np.mean(np.asarray(found) == np.asarray(true)))


def confusion(found: NDArray[Any], true: NDArray[Any], labels: int) -> NDArray[np.int64]:
    """[true, found]: how often each label was found for each true label."""
    table = np.zeros((labels, labels), np.int64)
    np.add.at(table, (true, found), 1)
    return table


def f1_scores(table: NDArray[np.int64]) -> list[float]:
    """F1 of each label in per cent: the harmonic mean of its precision and its recall."""
    right = np.diag(table).astype(float)
    either = table.sum(0) + table.sum(1)
    return (100 * 2 * right / np.maximum(either, 1)).tolist()  # type: ignore[no-any-return]


def macro_f1(table: NDArray[np.int64]) -> float:
    """The mean F1 over the labels that occur, however rare they are."""
    scores = np.array(f1_scores(table))
    occurs = (table.sum(0) + table.sum(1)) > 0
    return float(scores[occurs].mean())


def spans(labels: Sequence[str]) -> set[Span]:
    """(first word, last word, type) of each span in labels like B-NP, I-NP, O.

    A span begins at B or S, and at I or E where no span of its type continues: the rule of the
    CoNLL shared tasks, which seqeval follows by default.
    """
    found: set[Span] = set()
    begin, kind, is_open = 0, "", False
    for place, label in enumerate([*labels, "O"]):
        mark, _, name = label.partition("-")
        name = name or "_"
        continues = is_open and mark in ("I", "E") and name == kind
        if not continues:
            if kind:
                found.add((begin, place - 1, kind))
            begin, kind = place, "" if mark == "O" else name
        is_open = mark in ("B", "I") and bool(kind)
    return found


def span_f1(found: Iterable[Sequence[str]], true: Iterable[Sequence[str]]) -> float:
    """F1 in per cent over the spans of all sentences; both ends and the type must be right."""
    right = num_found = num_true = 0
    for found_labels, true_labels in zip(found, true, strict=True):
        found_spans, true_spans = spans(found_labels), spans(true_labels)
        right += len(found_spans & true_spans)
        num_found += len(found_spans)
        num_true += len(true_spans)
    return 100 * 2 * right / max(1, num_found + num_true)


def has_spans(labels: Iterable[str]) -> bool:
    return any(label.startswith(("B-", "I-")) for label in labels)


def fitted_temperature(logits: Tensor, labels: Tensor) -> float:
    """The temperature T that makes the labels likeliest (Guo et al. 2017) under a normal prior of
    log T with mean 0 and standard deviation 1: a few examples that are all right must not make a
    model certain of everything. Found by bisection.
    """

    def slope(inverse: float) -> float:
        """The derivative of the loss by log 1/T."""
        scaled = (logits * inverse).log_softmax(-1)
        chosen = logits.gather(1, labels[:, None])[:, 0]
        return inverse * float(((scaled.exp() * logits).sum(-1) - chosen).sum()) + math.log(inverse)

    low, high = math.log(0.01), math.log(100.0)
    for _ in range(60):
        middle = (low + high) / 2
        low, high = (low, middle) if slope(math.exp(middle)) > 0 else (middle, high)
    return math.exp(-(low + high) / 2)


def calibration_error(probabilities: Tensor, labels: Tensor) -> float:
    """The expected calibration error in per cent: how far, on average, confidence is from accuracy,
    over bins of similar confidence.
    """
    confidence, found = probabilities.max(-1)
    right = (found == labels).double()
    bins = (confidence * BINS).long().clamp(max=BINS - 1)
    gap = torch.zeros(BINS, dtype=torch.float64)
    gap.index_add_(0, bins, confidence.double() - right)
    return 100 * float(gap.abs().sum()) / len(labels)


@dataclass(frozen=True)
class HeldOutLabels:
    """A validation set of labelled texts."""

    ids: LabelledIds
    tokenizer: Tokenizer
    batch_tokens: int

    def findings(self, model: "Labeller") -> Findings:
        rows, logits = all_logits(model, self.ids, self.batch_tokens)
        true = [self.ids.row(i).labels for i in rows]
        flat = torch.cat(logits)
        labels = torch.from_numpy(np.concatenate(true))
        loss = float(torch.nn.functional.cross_entropy(flat, labels))
        found = [each.argmax(-1).numpy() for each in logits]
        scores: dict[str, float | None] = {
            "accuracy": accuracy(flat.argmax(-1).numpy(), labels.numpy())
        }
        if self.ids.whole_text:
            temperature = fitted_temperature(flat.double(), labels)
            scores |= {
                "macro_f1": macro_f1(
                    confusion(flat.argmax(-1).numpy(), labels.numpy(), len(self.ids.labels))
                ),
                "temperature": temperature,
                "calibration_error": calibration_error(
                    (flat.double() / temperature).softmax(-1), labels
                ),
            }
        elif has_spans(self.ids.labels):
            scores["span_f1"] = span_f1(self.names(found), self.names(true))
        return Findings(loss, scores, self.samples(rows, found, true))

    @torch.inference_mode()
    def seconds(self, model: "Labeller") -> float:
        """About how long `findings` takes, by one batch."""
        batches = Batches(self.ids.lengths, self.ids.unit_counts, self.batch_tokens, seed=0).epoch(
            0
        )
        batch = self.ids.batch(batches[len(batches) // 2]).to(device_of(model))
        return len(batches) * timed(lambda: model(batch.tokens, batch.mask, batch.units))

    def names(self, rows: Iterable[Any]) -> list[list[str]]:
        return [[self.ids.labels[number] for number in row] for row in rows]

    def samples(self, rows: list[int], found: list[Any], true: list[Any]) -> tuple[Sample, ...]:
        """The first three texts, with their true labels and the labels that were found."""
        places = sorted(range(len(rows)), key=rows.__getitem__)[:3]
        return tuple(
            Sample(
                self.tokenizer.decode(list(self.ids.row(rows[place]).pieces)),
                " ".join(self.names([true[place]])[0][:SHOWN_WORDS]),
                " ".join(self.names([found[place]])[0][:SHOWN_WORDS]),
            )
            for place in places
        )


@torch.inference_mode()
def all_logits(
    model: "Labeller", ids: LabelledIds, batch_tokens: int
) -> tuple[list[int], list[Tensor]]:
    """The number of each text, and the logits of its units, [U, L]."""
    device = device_of(model)
    order: list[int] = []
    found: list[Tensor] = []
    for rows in Batches(ids.lengths, ids.unit_counts, batch_tokens, seed=0).epoch(0):
        batch = ids.batch(rows).to(device)
        logits = model(batch.tokens, batch.mask, batch.units).float().cpu()
        for row, each, labels in zip(rows.tolist(), logits, batch.labels, strict=True):
            order.append(row)
            found.append(each[: int((labels >= 0).sum())])
    return order, found
