"""Arithmetic of a token: the formula of a model, and the count for a model that has none."""

from functools import partial
from typing import Any

import numpy as np
import pytest

from regard import objectives
from regard.configs.work import Work
from regard.data.batch import Batch, batch_pairs
from regard.data.batches import Batches, Indices
from regard.models.transformer import Transformer, TransformerConfig
from regard.planning.plan import training_formula
from regard.recipe import parse
from regard.tasks import TASKS
from regard.training.estimate import counted_flops, flops_per_token
from regard.training.loop import TrainingData


class Pairs:
    """Sentences of one length, so that nothing is padding."""

    def __init__(self, length: int) -> None:
        self.ids = np.random.default_rng(1).integers(4, 300, (2, 64, length))

    def batch(self, rows: Indices) -> Batch:
        return batch_pairs(*(side[rows].tolist() for side in self.ids))


def data_of(length: int) -> TrainingData:
    lengths = np.full(64, length, np.int32)
    return TrainingData(Pairs(length), Batches(lengths, lengths, 640, seed=1))


def transformer(d_model: int) -> Transformer:
    sizes: dict[str, Any] = {"encoder_layers": 2, "decoder_layers": 1, "d_ff": 4 * d_model}
    return Transformer(TransformerConfig(d_model=d_model, num_heads=4, **sizes), 300, 300)


@pytest.mark.parametrize("length", [5, 60])
@pytest.mark.parametrize("d_model", [32, 128])
def test_what_is_counted_is_near_the_formula(length: int, d_model: int) -> None:
    """Also of long sentences, where attention is a good part of it."""
    model, data = transformer(d_model), data_of(length)
    counted = counted_flops(model, objectives.translation, data)
    formula = partial(model.config.training_flops, 300)
    told = flops_per_token(model, objectives.translation, data, formula)
    assert counted == pytest.approx(told, rel=0.08)
    assert all(parameter.grad is None for parameter in model.parameters())


def test_a_model_without_a_formula_is_counted() -> None:
    data = data_of(20)
    found = flops_per_token(transformer(32), objectives.translation, data)
    assert found == counted_flops(transformer(32), objectives.translation, data)


# There is no formula for series yet.
@pytest.mark.parametrize("task", [name for name in TASKS if TASKS[name].flag not in ("", "series")])
def test_every_task_has_a_formula(task: str) -> None:
    """PyTorch would load its compiler to count."""
    files = ["a", "b"] if task == "translation" else ["a"]
    recipe = parse({"task": task, "data": {"train": files}}, "test")
    formula = training_formula(recipe, {"inputs": 30, "outputs": 30})
    assert formula is not None
    assert formula(Work(200, 100, 20, 10)) > 0
