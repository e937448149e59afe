"""Forecasting: what comes next in a series of numbers, and how sure that is."""

from collections.abc import Generator, Mapping, Sequence
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any, ClassVar, Literal, Self, cast

from pydantic import Field, model_validator

from regard.checks.report import Report, spread
from regard.checks.series import check_series
from regard.checks.series_findings import Lengths
from regard.configs.series import (
    SeriesLinearConfig,
    SeriesRecurrentConfig,
    SeriesSizes,
    SeriesTransformerConfig,
)
from regard.recipe import Recipe, parse_section
from regard.run import Run
from regard.tasks import series_data, series_sizes
from regard.tasks.forecast_evaluation import calibrate, evaluate, metrics, verdict
from regard.tasks.forecaster import Forecaster
from regard.tasks.series_planning import PLANNING
from regard.tasks.series_sections import SeriesSection, SeriesTraining
from regard.tasks.task import (
    DataFlags,
    Description,
    Section,
    Sizes,
    Suggestion,
    Task,
)
from regard.training.events import Event, ExamplesReady

if TYPE_CHECKING:
    from torch import nn

    from regard.data.series_windows import Windows
    from regard.evaluate.forecasts import HeldOutSeries
    from regard.evaluate.validation import HeldOut
    from regard.inspect.series import SeriesMaps
    from regard.models.series import SeriesModel
    from regard.training.setup import TrainingSetup

# Windows that a new model is fitted to before the first update, and how many at once.
MOST_FITTED, AT_ONCE = 60_000, 5_000


class ForecastingRecipe(Recipe):
    """A model that forecasts series."""

    models: ClassVar = {
        "transformer": SeriesTransformerConfig,
        "recurrent": SeriesRecurrentConfig,
        "linear": SeriesLinearConfig,
    }
    metrics = ("loss", "mase", "wql")

    task: Literal["forecasting"] = Field(
        default="forecasting", description="What the model is for."
    )
    data: SeriesSection
    model: SeriesTransformerConfig | SeriesRecurrentConfig | SeriesLinearConfig = Field(
        default_factory=dict, validate_default=True
    )
    train: SeriesTraining = SeriesTraining()

    @model_validator(mode="after")
    def whole_patches(self) -> Self:
        patch = getattr(self.model, "patch_size", 1)
        if self.data.context % patch:
            raise ValueError(
                f"data.context = {self.data.context} is not a multiple of model.patch_size = "
                f"{patch}; change one of them"
            )
        return self


def build(recipe: ForecastingRecipe, sizes: Sizes) -> "nn.Module":
    from regard.models.series import build_forecaster

    # A size that is 0 is not saved: the number of known columns.
    found = SeriesSizes(*(sizes.get(name, 0) for name in SeriesSizes._fields))
    return build_forecaster(recipe.model, found)


def setup(run: Run, recipe: ForecastingRecipe) -> "Generator[Event, None, TrainingSetup]":
    from regard import objectives
    from regard.data.batches import EqualBatches
    from regard.evaluate.forecasts import HeldOutSeries
    from regard.training.setup import TrainingSetup

    data = recipe.data
    table = yield from series_data.prepared(run, data)
    laid, split = series_data.laid_out(table, data), series_data.Split.of(table, data)
    scaling = recipe.model.scaling
    train, valid = split.train(laid, scaling), split.valid(laid, data.season, scaling)
    if not len(train) or not len(valid):
        raise series_data.nothing_there(table, data)
    short = int((split.last <= 0).sum())
    remarks = (f"{short:,} series are too short to learn from",) if short else ()
    yield ExamplesReady(len(train), len(valid), "windows", 0.0, remarks)
    sizes = series_data.sizes_of(data, table)._asdict()
    return TrainingSetup(
        sizes={name: size for name, size in sizes.items() if size},
        examples=train,
        batches=EqualBatches(len(train), recipe.train.batch_size, recipe.seed),
        objective=cast("Any", objectives.forecast),
        held_out=HeldOutSeries.of(valid, data.season, table.names),
        initialise=partial(initialise, train),
        remark=f"{data.horizon} steps ahead from {data.context}",
    )


def initialise(windows: "Windows", model: "SeriesModel") -> str:
    """Fit a new model to some of the windows that it will learn from."""
    import numpy as np

    from regard.evaluate.pairs import device_of

    rows = np.array(spread(range(len(windows)), MOST_FITTED))
    count = -(-len(rows) // AT_ONCE)
    device = device_of(model)
    parts = (windows.batch(rows[part::count]).to(device) for part in range(count))
    model.initialise(windows.batch(rows[::count]).to(device), parts)
    return ""


def after_training(
    run: Run, recipe: ForecastingRecipe, model: "nn.Module", held_out: "HeldOut"
) -> list[str]:
    return calibrate(run, model, cast("HeldOutSeries", held_out))


def validation_verdict(scores: Mapping[str, float | None]) -> str:
    naive = {name: scores.get(f"naive_{name}") for name in ("mase", "wql")}
    return verdict(scores, naive)


def attend_series(
    folder: Path, files: Sequence[Path], only: str, device: str = "cpu"
) -> "SeriesMaps":
    return Forecaster.load(folder, device).maps(list(files) or None, only)


def describe(recipe: ForecastingRecipe, run: Run | None) -> Description:
    data = recipe.data
    season = f", season {data.season}" if data.season > 1 else ""
    facts: dict[str, Any] = {
        "data": data.shown(),
        "forecasts": f"{data.horizon} steps from {data.context}{season}",
        "known": list(map(str, data.known)),
    }
    return Description(
        what="A forecaster of series",
        data=data.shown(),
        columns=("series", "median (80 % interval)", "what came"),
        facts=facts,
    )


def data_section(flags: DataFlags) -> tuple[Section, str]:
    return flags.files(), flags.train[0].name.partition(".")[0] if flags.train else "forecasting"


def suggest(data: Section, asked: Mapping[str, Any], preset: str) -> Suggestion:
    section = parse_section(ForecastingRecipe, "data", data, "command line")
    table = series_data.read_table(section)
    found = series_sizes.suggest_forecaster(series_sizes.SeriesFacts.of(table), data, asked)
    # Nothing fits series that are too short, and an error says more than sizes.
    series_data.Split.of(
        table, parse_section(ForecastingRecipe, "data", found.values["data"], "command line")
    )
    return found


def check(data: SeriesSection) -> Report:
    """What is to be seen on series before they are trained on."""
    given = data.model_fields_set
    lengths = Lengths(
        data.context if "context" in given else 0, data.horizon if "horizon" in given else 0
    )
    return check_series(data.paths("train"), partial(series_data.read_table, data), lengths)


TASK = Task(
    name="forecasting",
    recipe=ForecastingRecipe,
    build=build,
    setup=setup,
    load=Forecaster.load,
    evaluate=evaluate,
    test_files="data",
    draws_scores=True,
    metrics=metrics(),
    unit="windows",
    describe=describe,
    commands=lambda recipe: (
        # What is known in advance must be given for the steps after the last value.
        *(() if recipe.data.known else ("regard forecast {run}",)),
        "regard forecast {run} --series newer.csv --picture fan.png",
        "regard evaluate {run} --series later.csv --backtest 12",
    ),
    after_training=after_training,
    measures="and calibrating the intervals",
    verdict=validation_verdict,
    data_section=data_section,
    suggest=suggest,
    check=check,
    planning=PLANNING,
    attend_series=attend_series,
)
