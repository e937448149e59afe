"""How well a model labels held-out images."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import torch
from torch import Tensor

from regard.data.batches import Indices
from regard.data.image_batches import LabelledFeatures, LabelledImages
from regard.evaluate.labels import (
    accuracy,
    calibration_error,
    confusion,
    macro_f1,
)
from regard.evaluate.pairs import device_of
from regard.evaluate.temperature import fitted_temperature
from regard.evaluate.validation import Findings, Sample, timed

IMAGES_AT_ONCE = 256


@dataclass(frozen=True)
class HeldOutImages:
    """A validation set of labelled images."""

    examples: LabelledImages | LabelledFeatures
    labels: Sequence[str]

    def findings(self, model: Any) -> Findings:
        logits = torch.cat([self.logits(model, rows) for rows in self.parts()])
        true = torch.from_numpy(self.examples.labels)
        found = logits.argmax(-1)
        temperature = fitted_temperature(logits.double(), true)
        table = confusion(found.numpy(), true.numpy(), len(self.labels))
        scores: dict[str, float | None] = {
            "accuracy": accuracy(found.numpy(), true.numpy()),
            "macro_f1": macro_f1(table),
            "temperature": temperature,
            "calibration_error": calibration_error(
                (logits.double() / temperature).softmax(-1), true
            ),
        }
        loss = float(torch.nn.functional.cross_entropy(logits, true))
        return Findings(loss, scores, self.samples(found))

    def seconds(self, model: Any) -> float:
        """About how long `findings` takes, by one batch."""
        parts = self.parts()
        return len(parts) * timed(lambda: self.logits(model, parts[0]))

    def parts(self) -> list[Indices]:
        rows = np.arange(len(self.examples))
        return [rows[i : i + IMAGES_AT_ONCE] for i in range(0, len(rows), IMAGES_AT_ONCE)]

    @torch.inference_mode()
    def logits(self, model: Any, rows: Indices) -> Tensor:
        logits: Tensor = model(self.examples.images(rows).to(device_of(model)))
        return logits.float().cpu()

    def samples(self, found: Tensor) -> tuple[Sample, ...]:
        """The first three images, with their true labels and the labels that were found."""
        return tuple(
            Sample(name, self.labels[int(true)], self.labels[int(label)])
            for name, true, label in zip(
                self.examples.names[:3], self.examples.labels, found, strict=False
            )
        )
