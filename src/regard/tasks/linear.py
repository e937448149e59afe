"""The linear model of a classifier: found from labelled texts, saved, and combined with a network.

Shapes: B texts, N n-grams that occur often enough, L labels.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Self

import numpy as np
import torch
from torch import Tensor
from torch.nn.functional import embedding_bag, one_hot

from regard.configs.linear import LinearConfig, NgramConfig
from regard.errors import RunError
from regard.files import read_arrays, write_arrays
from regard.models.linear import Linear, lengths
from regard.run import Run
from regard.text.ngrams import KEY_BITS, MOST_TEXTS, NgramSets, ngram_sets
from regard.training.minimise import lowest
from regard.weights import load_weights, weights

# Of these, the strength with the lowest loss on the validation set is taken.
STRENGTHS = (1.0, 0.3, 0.1, 0.03)
# The most characters of all texts together, and the most weights: each is some 3 GB of memory.
MOST_CHARACTERS, MOST_WEIGHTS = 200_000_000, 60_000_000
# Fewest counts of naive Bayes, so that no n-gram decides alone.
SMOOTHING = 1.0


@dataclass(frozen=True)
class Table:
    """Which n-grams occur in which texts, from both sides: the n-grams of each text, and the texts
    of each n-gram.
    """

    keys: Tensor  # [N], ascending
    ngrams: Tensor
    text_starts: Tensor  # [B]
    texts: Tensor
    ngram_starts: Tensor  # [N]
    rarity: Tensor  # [N]
    lengths: Tensor  # [B, 1]

    @classmethod
    def of(cls, sets: NgramSets, texts: int, fewest: int, labels: int) -> Self:
        """Without n-grams that occur in fewer texts, or that are too many to have weights."""
        packed = (sets.keys << (63 - KEY_BITS)) | sets.texts
        packed.sort()
        keys, owners = packed >> (63 - KEY_BITS), packed & (MOST_TEXTS - 1)
        firsts = np.flatnonzero(np.diff(keys, prepend=-1))
        counts = np.diff(firsts, append=len(keys))
        most = max(1, MOST_WEIGHTS // labels)
        if np.count_nonzero(counts >= fewest) > most:
            fewest = int(np.sort(counts)[-most]) + 1
        kept = counts >= fewest
        number = np.cumsum(kept) - 1
        occurs = np.repeat(kept, counts)
        rows, owners = np.repeat(number, counts)[occurs], owners[occurs]
        by_text = np.argsort(owners, kind="stable")
        ngrams = torch.from_numpy(rows[by_text])
        starts = torch.from_numpy(np.searchsorted(owners[by_text], np.arange(texts)))
        rarity = torch.from_numpy(1 + np.log(texts / counts[kept])).float()
        return cls(
            torch.from_numpy(keys[firsts[kept]]),
            ngrams,
            starts,
            torch.from_numpy(owners),
            torch.from_numpy(np.cumsum(counts[kept]) - counts[kept]),
            rarity,
            lengths(rarity, ngrams, starts),
        )

    def sums(self, weight: Tensor) -> Tensor:
        """The weights of each text's n-grams, added up: [N, L] → [B, L]"""
        return embedding_bag(self.ngrams, weight, self.text_starts, mode="sum")

    def gathered(self, values: Tensor) -> Tensor:
        """The values of each n-gram's texts, added up: [B, L] → [N, L]"""
        return embedding_bag(self.texts, values, self.ngram_starts, mode="sum")


def factors(table: Table, targets: Tensor) -> Tensor:
    """What the weights of each n-gram are multiplied by: its rarity, and how much likelier it is
    under a label than under the others, as naive Bayes has it: [N, L]. Labels are one-hot, [B, L].
    """
    inside = table.gathered(targets)
    outside = inside.sum(1, keepdim=True) - inside + SMOOTHING
    inside = inside + SMOOTHING
    ratios = (inside / inside.sum(0)).log() - (outside / outside.sum(0)).log()
    return ratios * table.rarity[:, None]


@torch.no_grad()
def solved(table: Table, targets: Tensor, strength: float, start: Tensor) -> Tensor:
    """The scaled weights and biases, flat, that make the labels likeliest where weights are pulled
    to 0; `start` is where the search begins.
    """
    texts, labels = targets.shape
    scales = factors(table, targets)

    def loss(point: Tensor) -> tuple[float, Tensor]:
        weight, bias = point[:-labels].view(-1, labels), point[-labels:]
        shares = (table.sums(weight * scales) / table.lengths + bias).log_softmax(-1)
        value = -float((shares * targets).sum()) + strength / 2 * float(weight.square().sum())
        wrong = shares.exp() - targets
        slope = table.gathered(wrong / table.lengths) * scales + strength * weight
        return value / texts, torch.cat([slope.flatten(), wrong.sum(0)]) / texts

    return lowest(loss, start)


@dataclass(frozen=True)
class Found:
    """A linear model, and what it says of the validation texts."""

    model: Linear
    logits: Tensor  # [texts, L]
    strength: float


@torch.no_grad()
def find(
    config: NgramConfig,
    train: tuple[Sequence[str], Tensor],
    valid: tuple[Sequence[str], Tensor],
    labels: int,
) -> Found:
    """The weights for texts with the numbers of their labels. Of several strengths, the one with
    the lowest loss on the validation set is taken.
    """
    texts, numbers = thinned(*train)
    sets = ngram_sets(texts, config.words, config.characters)
    table = Table.of(sets, len(texts), config.min_texts, labels)
    targets = one_hot(numbers, labels).float()
    scales = factors(table, targets)
    model = Linear(LinearConfig(**config.model_dump()), len(table.keys), labels)
    model.keys.copy_(table.keys)
    model.rarity.copy_(table.rarity)
    point = torch.zeros(len(table.keys) * labels + labels)
    best: Found | None = None
    lowest_loss = float("inf")
    chosen = point
    for strength in [config.strength] if config.strength else STRENGTHS:
        point = solved(table, targets, strength, point)
        set_weights(model, point, scales)
        logits = model(valid[0])
        loss = float(torch.nn.functional.cross_entropy(logits, valid[1]))
        if best is None or loss < lowest_loss:
            best, lowest_loss, chosen = Found(model, logits, strength), loss, point
    assert best is not None
    set_weights(model, chosen, scales)
    return best


def set_weights(model: Linear, point: Tensor, scales: Tensor) -> None:
    labels = len(model.bias)
    model.weight.copy_(point[:-labels].view(-1, labels) * scales)
    model.bias.copy_(point[-labels:])


def thinned(texts: Sequence[str], numbers: Tensor) -> tuple[Sequence[str], Tensor]:
    """Every second text, or every third, …, where all of them have too many n-grams for memory."""
    step = -(-len(texts) // MOST_TEXTS)
    step = max(step, -(-sum(map(len, texts)) // MOST_CHARACTERS))
    return texts[::step], numbers[::step]


def save(run: Run, found: Found) -> None:
    """Write the model beside that of the network, and its logits beside the encoded data."""
    arrays = {name: tensor.numpy() for name, tensor in weights(found.model).items()}
    write_arrays(model_path(run), arrays, {})
    path = logits_path(run)
    path.parent.mkdir(parents=True, exist_ok=True)
    write_arrays(path, {"logits": found.logits.numpy()}, {})


def load(run: Run, config: NgramConfig, labels: int) -> Linear:
    """The model beside a network; a RunError if the file is not one for these labels."""
    arrays, _ = read_arrays(model_path(run))
    tensors = {name: torch.from_numpy(array) for name, array in arrays.items()}
    model = Linear(LinearConfig(**config.model_dump()), len(tensors.get("keys", ())), labels)
    load_weights(model, tensors, model_path(run))
    return model.eval()


def load_logits(run: Run, texts: int, labels: int) -> Tensor:
    """What the linear model says of the validation texts."""
    path = logits_path(run)
    arrays, _ = read_arrays(path)
    logits = arrays.get("logits")
    if logits is None or logits.shape != (texts, labels):
        raise RunError(f"{path}: not of this run; delete the folder {path.parent} and start again")
    return torch.from_numpy(logits)


def model_path(run: Run) -> Path:
    return run.folder / "linear.safetensors"


def logits_path(run: Run) -> Path:
    return run.training / "data" / "valid.linear.safetensors"
