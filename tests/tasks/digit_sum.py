"""Read a row of digits, predict their sum."""

from collections.abc import Generator
from dataclasses import dataclass
from typing import Any, Literal

import torch
from pydantic import Field
from torch import Tensor, nn

from regard.data.batches import EqualBatches, Indices
from regard.evaluate.metrics import Metric
from regard.evaluate.validation import Findings, Sample
from regard.objectives import Loss
from regard.recipe import Recipe, Section, TrainSection
from regard.run import Run
from regard.tasks.task import Description, Evaluation, ScoreLine, Task, Test
from regard.training.events import Event, ExamplesReady
from regard.training.setup import TrainingSetup
from regard.weights import load_model


class DigitData(Section):
    examples: int = Field(default=2000, ge=10, description="Rows to learn from.")
    length: int = Field(default=4, ge=1, description="Digits of a row.")


class SumTraining(TrainSection):
    batch_size: int = Field(default=64, ge=1, description="Rows of a batch.")


class SumConfig(Section):
    width: int = Field(default=16, ge=1, description="Width of a digit's vector.")


class SumRecipe(Recipe):
    metrics = ("loss", "error")
    task: Literal["digit-sum"] = "digit-sum"
    data: DigitData = DigitData()
    model: SumConfig = SumConfig()
    train: SumTraining = SumTraining()


class Adder(nn.Module):
    def __init__(self, width: int, digits: int) -> None:
        super().__init__()
        self.embedding = nn.Embedding(digits, width)
        self.norm = nn.BatchNorm1d(width)
        self.value = nn.Linear(width, 1)

    def forward(self, rows: Tensor) -> Tensor:  # [B, length] → [B]
        return self.value(self.norm(self.embedding(rows).flatten(0, 1))).view(rows.shape).sum(1)


@dataclass(frozen=True)
class Rows:
    digits: Tensor  # [N, length]

    def batch(self, rows: Indices) -> Tensor:
        return self.digits[torch.from_numpy(rows)]

    def findings(self, model: Any) -> Findings:
        with torch.inference_mode():
            found, true = model(self.digits), self.digits.sum(1)
        away = (found - true).abs()
        sample = Sample(str(self.digits[0].tolist()), str(int(true[0])), f"{found[0]:.1f}")
        return Findings(float((away**2).mean()), {"error": float(away.mean())}, (sample,))


def draw(count: int, length: int, seed: int) -> Rows:
    return Rows(torch.randint(10, (count, length), generator=torch.Generator().manual_seed(seed)))


def setup(run: Run, recipe: SumRecipe) -> Generator[Event, None, TrainingSetup]:
    data, seed = recipe.data, recipe.seed
    yield ExamplesReady(train=data.examples, valid=200, unit="rows", padding=0.0)
    return TrainingSetup(
        sizes={"digits": 10},
        examples=draw(data.examples, data.length, seed),
        batches=EqualBatches(data.examples, recipe.train.batch_size, seed),
        objective=lambda model, batch: Loss((model(batch) - batch.sum(1)).pow(2).sum(), len(batch)),
        held_out=draw(200, data.length, seed + 1),
    )


def evaluate(run: Run, test: Test) -> Evaluation:
    error = draw(500, 4, seed=12345).findings(load_model(run)).scores["error"]
    return Evaluation("500 new rows", [ScoreLine("error", error)], facts={"error": error})


TASK = Task(
    name="digit-sum",
    recipe=SumRecipe,
    build=lambda recipe, sizes: Adder(recipe.model.width, sizes["digits"]),
    setup=setup,
    load=lambda folder, device: load_model(Run.open(folder)).to(device),
    evaluate=evaluate,
    metrics=(Metric("error", "mean error", higher_is_better=False),),
    describe=lambda recipe, run: Description("An adder of digits", None, sizes={"digits": 10}),
)
