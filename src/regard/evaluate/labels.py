"""Scores of labels: of whole texts, of words, and of the spans that words form."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor
from torch.nn.functional import cross_entropy

from regard.data.batches import Batches
from regard.data.label_ids import LabelledIds
from regard.evaluate.combination import combination
from regard.evaluate.pairs import device_of
from regard.evaluate.temperature import fitted_temperature
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


def text_scores(logits: Tensor, labels: Tensor, count: int = 0) -> dict[str, float]:
    """The scores of logits that make calibrated probabilities, [N, L]. The labels are `count`: as
    many as there are logits, or more, some of which no logit is for.
    """
    found, true = logits.argmax(-1).numpy(), labels.numpy()
    return {
        "accuracy": accuracy(found, true),
        "macro_f1": macro_f1(confusion(found, true, max(count, logits.size(-1)))),
        "calibration_error": calibration_error(logits.double().softmax(-1), labels),
        "most_frequent": most_frequent(true),
    }


def most_frequent(labels: NDArray[Any]) -> float:
    """The accuracy of an answer that is always the most frequent of these labels."""
    return 100 * float(np.bincount(labels).max()) / len(labels)


@dataclass(frozen=True)
class HeldOutLabels:
    """A validation set of labelled texts."""

    ids: LabelledIds
    tokenizer: Tokenizer
    batch_tokens: int
    # What a linear model says of the texts, [texts, L], where the network is combined with one.
    linear: Tensor | None = None

    def findings(self, model: "Labeller") -> Findings:
        rows, logits = all_logits(model, self.ids, self.batch_tokens)
        true = [self.ids.row(i).labels for i in rows]
        flat = torch.cat(logits)
        labels = torch.from_numpy(np.concatenate(true))
        if self.linear is not None:
            return self.combined(rows, flat, self.linear[rows], labels)
        loss = float(cross_entropy(flat, labels))
        found = [each.argmax(-1).numpy() for each in logits]
        scores: dict[str, float | None] = {
            "accuracy": accuracy(flat.argmax(-1).numpy(), labels.numpy())
        }
        if self.ids.whole_text:
            temperature = fitted_temperature(flat.double(), labels)
            scores = {**text_scores(flat / temperature, labels), "temperature": temperature}
        elif has_spans(self.ids.labels):
            scores["span_f1"] = span_f1(self.names(found), self.names(true))
        return Findings(loss, scores, self.samples(rows, found, true))

    def combined(
        self, rows: list[int], network: Tensor, linear: Tensor, labels: Tensor
    ) -> Findings:
        """The findings of the network and the linear model together."""
        chosen = combination(network.double(), linear.double(), labels)
        logits = chosen.network * network + chosen.linear * linear
        true, found = labels.numpy(), logits.argmax(-1).numpy()
        scores = text_scores(logits, labels) | {
            "linear_accuracy": accuracy(linear.argmax(-1).numpy(), true),
            "network_accuracy": accuracy(network.argmax(-1).numpy(), true),
            "network_weight": chosen.network,
            "linear_weight": chosen.linear,
        }
        samples = self.samples(rows, list(found[:, None]), list(true[:, None]))
        return Findings(float(cross_entropy(logits, labels)), scores, samples)

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


@dataclass(frozen=True)
class HeldOutTexts:
    """A validation set of texts for a model that reads them as they are."""

    texts: Sequence[str]
    numbers: Tensor  # of their labels
    labels: Sequence[str]

    @torch.inference_mode()
    def findings(self, model: Any) -> Findings:
        logits: Tensor = model(self.texts)
        temperature = fitted_temperature(logits.double(), self.numbers)
        scores = text_scores(logits / temperature, self.numbers) | {"temperature": temperature}
        rows = zip(self.texts[:3], self.numbers.tolist(), logits.argmax(-1).tolist(), strict=False)
        samples = (
            Sample(text, self.labels[true], self.labels[found]) for text, true, found in rows
        )
        return Findings(float(cross_entropy(logits, self.numbers)), scores, tuple(samples))


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
