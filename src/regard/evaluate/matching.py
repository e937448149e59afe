"""How well images find their texts, and texts their images.

Shapes: I images, T texts, w width of the shared space.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from regard.data.batches import Indices
from regard.data.matching_pairs import MatchingPairs
from regard.evaluate.metrics import RANKS
from regard.evaluate.pairs import device_of
from regard.evaluate.validation import Findings, Sample, timed

AT_ONCE = 256


@dataclass(frozen=True)
class Recall:
    """The share of queries, in per cent, with a right answer among the first k; and by chance."""

    to_texts: dict[int, float]
    to_images: dict[int, float]
    chance_to_texts: dict[int, float]
    chance_to_images: dict[int, float]

    @property
    def mean(self) -> float:
        return float(np.mean([*self.to_texts.values(), *self.to_images.values()]))

    @property
    def chance(self) -> float:
        return float(np.mean([*self.chance_to_texts.values(), *self.chance_to_images.values()]))

    def scores(self) -> dict[str, float | None]:
        return {
            **{f"image_to_text_{k}": value for k, value in self.to_texts.items()},
            **{f"text_to_image_{k}": value for k, value in self.to_images.items()},
            "mean_recall": self.mean,
            "chance": self.chance,
        }


def recall(similarity: Tensor, right: Tensor) -> Recall:
    """Recall from the similarities [I, T], and which texts belong to which images [I, T]. Where two
    answers are equally similar, the wrong one comes first.
    """
    return Recall(
        shares(first_right(similarity, right)),
        shares(first_right(similarity.T, right.T)),
        by_chance(right.sum(1).double(), right.size(1)),
        by_chance(right.sum(0).double(), right.size(0)),
    )


def first_right(similarity: Tensor, right: Tensor) -> Tensor:
    """The place of the first right answer of each row, from 0."""
    best = similarity.masked_fill(~right, -torch.inf).max(1).values
    return ((similarity >= best[:, None]) & ~right).sum(1)


def shares(places: Tensor) -> dict[int, float]:
    return {k: 100 * float((places < k).double().mean()) for k in RANKS}


def by_chance(right: Tensor, candidates: int) -> dict[int, float]:
    """The expected recall if answers came in random order, given how many are right for each."""
    found = {}
    for k in RANKS:
        missed = torch.ones_like(right)
        for drawn in range(min(k, candidates)):
            missed *= ((candidates - right - drawn) / (candidates - drawn)).clamp(min=0)
        found[k] = 100 * float((1 - missed).mean())
    return found


def belong(images: Indices, texts: NDArray[np.int64], wanted: Indices) -> Tensor:
    """Which texts are captions of which images, [I, T], where row r of the pairs says that
    `texts[r]` is a caption of `images[r]`: also those of another image with the same words.
    """
    pairs = {(int(image), int(text)) for image, text in zip(images, texts, strict=True)}
    places = {int(image): place for place, image in enumerate(wanted)}
    alike: dict[int, list[int]] = {}
    for row, text in enumerate(texts):
        alike.setdefault(int(text), []).append(row)
    right = torch.zeros(len(wanted), len(texts), dtype=torch.bool)
    for image, text in pairs:
        right[places[image], alike[text]] = True
    return right


@dataclass(frozen=True)
class HeldOutMatching:
    """A validation set of images and their captions."""

    pairs: MatchingPairs
    names: Sequence[str]  # of the images
    batch_size: int

    def findings(self, model: Any) -> Findings:
        images = np.unique(self.pairs.owners)
        image_vectors = torch.cat([self.of_images(model, rows) for rows in parts(images)])
        rows = np.arange(len(self.pairs))
        text_vectors = torch.cat([self.of_texts(model, part) for part in parts(rows)])
        similarity = image_vectors @ text_vectors.T
        right = belong(self.pairs.owners, self.pairs.text_numbers, images)
        found = recall(similarity, right)
        loss = self.loss(model, images, image_vectors, text_vectors)
        return Findings(loss, found.scores(), self.samples(similarity, images))

    def seconds(self, model: Any) -> float:
        """About how long `findings` takes, by one batch of each kind."""
        images, rows = np.unique(self.pairs.owners), np.arange(len(self.pairs))
        return len(parts(images)) * timed(lambda: self.of_images(model, parts(images)[0])) + len(
            parts(rows)
        ) * timed(lambda: self.of_texts(model, parts(rows)[0]))

    @torch.inference_mode()
    def of_images(self, model: Any, rows: Indices) -> Tensor:
        vectors: Tensor = model.image_vectors(self.pairs.images.plain(rows).to(device_of(model)))
        return vectors.float().cpu()

    @torch.inference_mode()
    def of_texts(self, model: Any, rows: Indices) -> Tensor:
        tokens, mask = (each.to(device_of(model)) for each in self.pairs.tokens(rows))
        vectors: Tensor = model.text_vectors(tokens, mask)
        return vectors.float().cpu()

    def loss(self, model: Any, images: Indices, image_vectors: Tensor, texts: Tensor) -> float:
        """The mean loss in batches of the size that training has. It is computed by this process
        alone, so nothing is gathered.
        """
        scale = float(model.scale.detach())
        places = np.searchsorted(images, self.pairs.owners)
        count = -(-len(self.pairs) // self.batch_size)
        total = 0.0
        for start in range(count):
            rows = np.arange(start, len(self.pairs), count)
            numbers = self.pairs.numbers(rows)
            total += pair_loss(image_vectors[places[rows]], texts[rows], scale, numbers)
        return total / len(self.pairs)

    def samples(self, similarity: Tensor, images: Indices) -> tuple[Sample, ...]:
        """The first three images, a caption of each, and the text that was found for it."""
        found = similarity.argmax(1)
        shown = []
        for place, image in enumerate(images[:3]):
            own = int(np.flatnonzero(self.pairs.owners == image)[0])
            shown.append(
                Sample(
                    self.names[int(image)],
                    self.pairs.texts[own],
                    self.pairs.texts[int(found[place])],
                )
            )
        return tuple(shown)


def pair_loss(images: Tensor, texts: Tensor, scale: float, numbers: Tensor) -> float:
    """The sum of the loss over pairs, in double precision."""
    logits = scale * images.double() @ texts.double().T
    same = (numbers[:, None] == numbers).any(-1)
    same.fill_diagonal_(False)
    logits = logits.masked_fill(same, -torch.inf)
    own = logits.diagonal()
    return float((logits.logsumexp(1) + logits.logsumexp(0) - 2 * own).sum() / 2)


def parts(rows: Indices) -> list[Indices]:
    return [rows[start : start + AT_ONCE] for start in range(0, len(rows), AT_ONCE)]
