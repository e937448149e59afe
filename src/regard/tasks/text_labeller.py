"""What labels texts for a classifier: a network, a linear model, or both together.

Shapes: B texts, L labels.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Self

import torch
from torch import Tensor

from regard.errors import RequestError
from regard.evaluate.combination import Weights
from regard.inspect.evidence import Spoken, TextEvidence
from regard.models.linear import Linear
from regard.run import Run
from regard.tasks import linear
from regard.tasks.from_run import temperature_of, validation_of
from regard.tasks.labelling import Labelling

if TYPE_CHECKING:
    from regard.models import Labeller

TITLES = {"network": "network alone", "linear": "linear model alone"}


@dataclass(frozen=True)
class TextLabeller:
    names: list[str]
    network: Labelling | None
    linear: Linear | None
    # What the logits of each are multiplied by, so that probabilities are calibrated.
    weights: Weights

    @classmethod
    def of(cls, run: Run, recipe: Any, model: "Labeller | Linear") -> Self:
        names = run.labels()
        if isinstance(model, Linear):
            return cls(names, None, model, Weights(0.0, 1 / temperature_of(run)))
        network = Labelling.of(run, recipe, model)
        if not recipe.linear.reads:
            return cls(names, network, None, Weights(1 / network.temperature, 0.0))
        found = validation_of(run)
        weights = Weights(found.get("network_weight", 0.0), found.get("linear_weight", 1.0))
        return cls(names, network, linear.load(run, recipe.linear, len(names)), weights)

    def probabilities(self, texts: Sequence[str]) -> Tensor:
        """[B, L]"""
        return self.combined(self.parts(texts)).softmax(-1)

    def combined(self, parts: dict[str, Tensor]) -> Tensor:
        """The logits of the answer, from those of its parts."""
        weights = self.weights._asdict()
        return torch.stack([weights[name] * logits for name, logits in parts.items()]).sum(0)

    @torch.inference_mode()
    def parts(self, texts: Sequence[str], every: bool = False) -> dict[str, Tensor]:
        """The logits [B, L] of the network and of the linear model: of both if there are two and
        `every` one is wanted, else of those that the answer needs.
        """
        found = {}
        if self.network is not None and (every or self.weights.network):
            rows = self.network.logits([[text] for text in texts], whole_text=True)
            found["network"] = torch.cat([torch.zeros(0, len(self.names)), *rows])
        if self.linear is not None and (every or self.weights.linear):
            found["linear"] = self.linear(texts)
        return found

    def alone(self, parts: dict[str, Tensor], true: Tensor) -> dict[str, float]:
        """The accuracy of each part of a combination alone; nothing where there is one part."""
        if len(parts) < 2:
            return {}
        return {
            TITLES[name]: 100 * float((logits.argmax(-1) == true).double().mean())
            for name, logits in parts.items()
        }


def evidence(labeller: TextLabeller, text: str, label: str | None) -> TextEvidence:
    """What the n-grams of a text add to the logit of a label, or of the likeliest one."""
    if label is not None and label not in labeller.names:
        known = ", ".join(labeller.names[:8]) + ", …" * (len(labeller.names) > 8)
        raise RequestError(f"--label {label}: there is no such label; there are {known}")
    assert labeller.linear is not None
    probabilities = labeller.probabilities([text])[0]
    at = int(probabilities.argmax()) if label is None else labeller.names.index(label)
    factor = (labeller.weights.linear or 1.0) * len(labeller.names) / (len(labeller.names) - 1)
    found = [
        Spoken(each.ngram, factor * float(each.logits[at] - each.logits.mean()), each.places)
        for each in labeller.linear.evidence(text)
    ]
    used = labeller.weights.network > 0
    return TextEvidence(text, labeller.names[at], float(probabilities[at]), used, found)
