"""Chooses how much of series a model reads, the model, and how long it learns."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from regard.data.seasons import Season, season_of
from regard.data.series import SeriesTable
from regard.tasks.suggestions import paces
from regard.tasks.task import Reason, Section, Suggestion

SEASON = ("data.season",)
CONTEXT = ("data.context",)
MODEL = ("model.kind", "model.num_layers", "model.d_model", "model.patch_size", "model.head")
LENGTH = ("train.steps", "train.batch_size", "train.patience")
SCALED = {
    "last": "the last value and the deviation of its past",
    "mean": "the mean size of its past",
    "standard": "the mean and the deviation of its past",
}
YEAR_SECONDS = 365.2425 * 86_400
# A model reads this many seasons, but no more steps than a processor can learn from.
SEASONS, MOST_CONTEXT = 14, 512
# Patches that a Transformer reads as one are about a season, but of this many steps.
SHORTEST_PATCH, LONGEST_PATCH = 8, 48
# With fewer windows than this, a linear model is the safer choice.
FEW_WINDOWS = 2000


@dataclass(frozen=True)
class SeriesFacts:
    """What a look at the table has found."""

    count: int  # of series
    length: int  # of a typical one
    values: int  # of all
    step: str
    years: float  # of the longest
    season: Season

    @classmethod
    def of(cls, table: SeriesTable) -> "SeriesFacts":
        lengths = [len(each) for each in table.series]
        values = sum(len(each) - each.missing for each in table.series)
        step = str(table.clock.step) if table.has_times else "row"
        years = max(lengths) * table.clock.step.seconds / YEAR_SECONDS if table.has_times else 0.0
        return cls(len(table), int(np.median(lengths)), values, step, years, season_of(table))


def suggest_forecaster(facts: SeriesFacts, data: Section, asked: Mapping[str, Any]) -> Suggestion:
    season = data.get("season") or facts.season.length
    horizon = data.get("horizon") or first_horizon(facts, season)
    share = data.get("held_out_share", 0.1)
    held_out = max(horizon, round(share * facts.length))
    usable = max(1, facts.length - held_out - horizon)
    patch = asked.get("patch_size") or patch_for(facts, season, horizon)
    context = data.get("context") or context_for(season, horizon, usable, patch)
    windows = facts.count * max(1, usable - context)
    kind = asked.get("kind") or ("linear" if windows < FEW_WINDOWS else "transformer")
    patch = min(patch, context)
    # Of a year that is seen once, nobody can say what was its time and what was chance.
    calendar = "year" if (1 - share) * facts.years >= 2 else "week"
    model, train, shape = MODELS.get(kind, transformer)(patch, windows)
    steps = train["steps"]
    values = {
        "data": {
            "horizon": horizon,
            "context": context,
            "season": season,
            "calendar": calendar,
            **data,
        },
        "model": {"kind": kind, **model},
        "train": {
            **paces(steps, 100, max(25, steps // 15)),
            "optimizer": "adamw",
            "batch_size": 128,
            "average": 1,
            "patience": 6,
            **train,
        },
    }
    seasons = context / season
    reading = f", {seasons:.3g} seasons" if season > 1 and seasons >= 2 else ""
    passes = steps * 128 / max(1, windows)
    reasons = [
        Reason(
            f"{facts.count:,} series with {facts.values:,} values, a step of {facts.step}; "
            "the sizes fit them:"
        ),
        Reason(f"season {season}: {facts.season.why}", SEASON),
        Reason(f"{context} steps of the past{reading}, to forecast {horizon}", CONTEXT),
        Reason(
            f"the last {100 * share:g} % of the time, {held_out:,} steps, held out for validation "
            "and to calibrate the intervals",
            ("data.held_out_share",),
        ),
        *calendar_reason(facts, calendar),
        shape,
        Reason(
            f"each window is scaled by {SCALED[model['scaling']]}, so that one model fits small "
            "and large series, and values that grow",
            ("model.scaling",),
        ),
        Reason(f"{steps:,} updates, {passes:.1f} passes over {windows:,} windows", LENGTH),
    ]
    return Suggestion(values, reasons)


def calendar_reason(facts: SeriesFacts, calendar: str) -> list[Reason]:
    if not facts.years:
        return []
    words = "the time of day and week is known to it"
    more = ", and that of the year, since there are two to learn from" * (calendar == "year")
    return [Reason(words + more, ("data.calendar",))]


def first_horizon(facts: SeriesFacts, season: int) -> int:
    """A season, or a tenth of a short series, where nobody has said how far to forecast."""
    return max(1, min(season if season > 1 else 12, facts.length // 10))


def context_for(season: int, horizon: int, usable: int, patch: int) -> int:
    """Some seasons and three horizons, at most two thirds of what there is to learn from; whole
    patches.
    """
    wanted = max(SEASONS * season, 3 * horizon)
    most = max(MOST_CONTEXT, 3 * horizon, season)
    found = min(wanted, most, max(2 * usable // 3, min(season, usable)))
    return max(patch, found // patch * patch) if found >= patch else max(1, found)


def patch_for(facts: SeriesFacts, season: int, horizon: int) -> int:
    """The shortest season, if it is neither too short nor too long, so that the same part of a
    season has the same place in every patch.
    """
    shortest = min((season, *facts.season.lengths)) if season > 1 else 1
    if shortest < SHORTEST_PATCH:
        return shortest * max(1, round(12 / shortest))
    if shortest <= LONGEST_PATCH:
        return shortest
    divisors = [each for each in range(SHORTEST_PATCH, LONGEST_PATCH + 1) if shortest % each == 0]
    return max(divisors, default=24)


def transformer(patch: int, windows: int) -> tuple[Section, Section, Reason]:
    d = 128 if windows >= 10 * FEW_WINDOWS else 64
    shape = Reason(
        f"a Transformer over patches of {patch} steps, 2 layers, d_model {d}, with a head of "
        "quantiles",
        MODEL,
    )
    model = {"num_layers": 2, "d_model": d, "d_ff": 2 * d, "num_heads": 4, "patch_size": patch}
    return (
        {**model, "dropout": 0.1, "head": "quantiles", "scaling": "standard"},
        {"steps": updates(windows), "learning_rate": 1e-3, "weight_decay": 0.01},
        shape,
    )


def recurrent(patch: int, windows: int) -> tuple[Section, Section, Reason]:
    d = 128 if windows >= 10 * FEW_WINDOWS else 64
    shape = Reason(
        f"a recurrent model over patches of {patch} steps, d_model {d}, with a head of quantiles",
        MODEL,
    )
    model = {"num_layers": 1, "d_model": d, "patch_size": patch, "dropout": 0.1}
    return (
        {**model, "head": "quantiles", "scaling": "last"},
        {"steps": updates(windows), "learning_rate": 2e-3, "weight_decay": 0.01},
        shape,
    )


def linear(patch: int, windows: int) -> tuple[Section, Section, Reason]:
    few = ", since there are too few windows for more" if windows < FEW_WINDOWS else ""
    shape = Reason(f"a linear map from the past to the future{few}", MODEL)
    train = {"steps": 1000, "learning_rate": 3e-4, "weight_decay": 0.0}
    return {"scaling": "last"}, train, shape


def updates(windows: int) -> int:
    return 3000 if windows >= 10 * FEW_WINDOWS else 1500


MODELS = {"linear": linear, "recurrent": recurrent, "transformer": transformer}
