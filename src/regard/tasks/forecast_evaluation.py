"""Scores forecasts on later data, always beside the seasonal naive one, and calibrates them."""

import time
from collections.abc import Callable, Mapping
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from regard.data.series import SeriesTable
from regard.errors import DataError
from regard.evaluate.calibration import Calibration
from regard.evaluate.metrics import FORECASTS, Metric
from regard.evaluate.series import INTERVALS, Floats, Tally
from regard.reporter import SILENT, Reporter
from regard.run import Run
from regard.small_files import UNEXPECTED, read_json
from regard.tasks import series_data
from regard.tasks.forecaster import MOST_FOLLOWED, Forecaster
from regard.tasks.task import Evaluation, ScoreLine, Test

if TYPE_CHECKING:
    from regard.evaluate.following import Turns
    from regard.evaluate.forecasts import HeldOutSeries

NAIVE = "seasonal naive"
SCORED = ("mae", "mse", "mase", "mape", "wql", "crps")


@dataclass(frozen=True)
class Backtest:
    """What a model and the seasonal naive forecast have said of the same windows."""

    calibrated: Tally
    plain: Tally
    naive: Tally
    windows: int
    series: int

    @property
    def tallies(self) -> dict[str, Tally]:
        return {"model": self.calibrated, NAIVE: self.naive}


def evaluate(run: Run, test: Test) -> Evaluation:
    """Score a run on the last windows of series."""
    recipe = run.recipe_for("forecasting")
    forecaster = Forecaster.load(run.folder, test.without_search().device)
    table = forecaster.table(series_data.read_table(recipe.data, test.files))
    for remark in table.remarks:
        test.reporter.say(remark)
    began = held_out_times(run)
    name = ", ".join(map(str, test.files))
    return backtest(forecaster, table, test.backtest, test.stride, test.reporter, name, began)


def held_out_times(run: Run) -> dict[str, int]:
    """When the part of each series began that the run did not learn from; none if its training
    data is no longer here.
    """
    try:
        found = read_json(run.training / "data" / "valid.json")
        return {str(name): int(time) for name, time in found["begins"].items()}
    except (OSError, *UNEXPECTED):
        return {}


def backtest(
    forecaster: Forecaster,
    table: SeriesTable,
    windows: int = 1,
    stride: int = 0,
    reporter: Reporter = SILENT,
    name: str = "",
    began: Mapping[str, int] | None = None,
) -> Evaluation:
    """Forecast the last part of each series from several points of time, without training again."""
    data = forecaster.data
    stride = stride or data.horizon
    turns = last_windows(forecaster, table, windows, stride)
    started = time.perf_counter()
    with reporter.progress("forecasting", len(turns.windows)) as advance:
        found = measured(forecaster, turns, table, windows, advance)
    seconds = time.perf_counter() - started
    seen = seen_windows(turns.windows.places, table, began or {})
    scores = score_lines(found)
    sentence = verdict(found.calibrated.scores(), found.naive.scores())
    headline = (
        f"{name}{': ' * bool(name)}{found.windows:,} windows of {found.series:,} series, "
        f"{data.horizon} steps each, in {seconds:.1f} s"
    )
    remarks = [sentence] if sentence else []
    if seen:
        remarks.append(
            f"{seen:,} of the {found.windows:,} windows are in what the run learned from, so the "
            "scores say too much; give later data, or fewer windows with --backtest"
        )
    return Evaluation(
        headline="\n".join((headline, *remarks)),
        scores=scores,
        facts={
            "test": name,
            "windows": found.windows,
            "series": found.series,
            "horizon": data.horizon,
            "stride": stride,
            "windows_learned_from": seen,
            "seconds": round(seconds, 2),
            "loses": bool(sentence),
            "scores": [asdict(score) for score in scores],
            **details(found),
        },
        draw=lambda path: draw(found, path),
    )


def draw(found: Backtest, path: Path) -> None:
    from regard.inspect.series_drawing import save_scores

    save_scores(details(found), path)


def last_windows(forecaster: Forecaster, table: SeriesTable, windows: int, stride: int) -> "Turns":
    found = forecaster.turns(table, stride, windows, MOST_FOLLOWED)
    if not len(found.windows):
        longest = max(map(len, table.series))
        raise DataError(
            f"{table.series[0].name}: series of up to {longest:,} values are too short to forecast "
            f"their last {forecaster.data.horizon} steps; give longer ones"
        )
    return found


def measured(
    forecaster: Forecaster,
    turns: "Turns",
    table: SeriesTable,
    count: int,
    advance: Callable[[int], None],
) -> Backtest:
    """Go through windows once, and count what the model and the naive forecast say of the last ones
    of each series.
    """
    from regard.evaluate.following import Following
    from regard.evaluate.forecasts import HeldOutSeries, part

    data = forecaster.data
    calibrated, plain, naive = (Tally(data.horizon) for _ in range(3))
    hours = [day_hours(table, number, data.horizon) for number in range(len(table))]
    held_out = HeldOutSeries.of(turns.windows, data.season, table.names)
    following = Following(len(table), data.horizon, turns.stride)
    for each in turns.forecasts(forecaster.model, forecaster.calibration, following):
        advance(len(each.rows))
        kept = np.flatnonzero(turns.turns[each.rows] > -count)
        if not len(kept):
            continue
        rows, future = each.rows[kept], each.future[kept]
        absolute, _ = held_out.seasonal(rows)
        when = hours_of(hours, turns.windows.places[rows], data.horizon)
        calibrated.add(future, part(each.calibrated, kept), absolute, when)
        plain.add(future, part(each.plain, kept), absolute)
        naive.add(future, held_out.naive(rows), absolute, when)
    last = turns.windows.places[turns.turns > -count]
    return Backtest(calibrated, plain, naive, len(last), len(np.unique(last[:, 0])))


def day_hours(table: SeriesTable, number: int, more: int) -> NDArray[np.int64] | None:
    """The hour of the day of each step of a series; None where steps are a day or longer."""
    series = table.series[number]
    names, phases = table.clock.phases(series.start, len(series) + more)
    if "time of day" not in names:
        return None
    return (24 * phases[:, names.index("time of day")]).astype(np.int64)


def hours_of(
    hours: list[NDArray[np.int64] | None], places: NDArray[np.int64], horizon: int
) -> NDArray[np.int64] | None:
    """The same of windows, [B, H]."""
    found = []
    for number, step in places.tolist():
        own = hours[number]
        if own is None:
            return None
        found.append(own[step : step + horizon])
    return np.array(found)


def seen_windows(places: NDArray[np.int64], table: SeriesTable, began: Mapping[str, int]) -> int:
    """How many windows begin before the part that was held out of training."""
    count = 0
    for number, series in enumerate(table.series):
        if series.name in began:
            steps = places[places[:, 0] == number, 1]
            count += int((table.times(series)[steps] < began[series.name]).sum())
    return count


def score_lines(found: Backtest) -> list[ScoreLine]:
    own, plain = found.calibrated.scores(), found.plain.scores()
    naive = found.naive.scores()
    lines = []
    for name in SCORED:
        metric = FORECASTS[name]
        for value, beside in ((own[name], ""), (naive[name], f", {NAIVE}")):
            if value is not None:
                lines.append(ScoreLine(metric.title + beside, value, decimals=metric.decimals))
    for percent in INTERVALS:
        name = f"coverage_{percent}"
        title = f"{percent} % coverage"
        for scores, beside in (
            (own, ""),
            (plain, ", before calibration"),
            (naive, f", {NAIVE}"),
        ):
            value = scores[name]
            if value is not None:
                lines.append(ScoreLine(title + beside, value, decimals=1))
    return lines


def details(found: Backtest) -> dict[str, Any]:
    """Plain numbers behind the scores: by step, by hour of the day, and by interval."""
    hours = {
        name: [float(total / count) if count else None for total, count in tally.hours.tolist()]
        for name, tally in found.tallies.items()
        if tally.hours.any()
    }
    coverage = {"model": found.calibrated, "before calibration": found.plain, NAIVE: found.naive}
    return {
        "error_by_step": {
            name: tally.by_step("error").tolist() for name, tally in found.tallies.items()
        },
        "error_by_hour": hours,
        "coverage": {
            name: {str(each): float(tally.scores()[f"coverage_{each}"] or 0) for each in INTERVALS}
            for name, tally in coverage.items()
        },
        "coverage_by_step": {
            str(each): (100 * found.calibrated.by_step(f"inside {each}")).tolist()
            for each in INTERVALS
        },
    }


def verdict(scores: Mapping[str, float | None], naive: Mapping[str, float | None]) -> str:
    """A sentence if forecasts are no better than the naive ones; "" if they are."""
    worse = []
    for name in ("mase", "wql"):
        own, theirs = scores.get(name), naive.get(name)
        if own is not None and theirs is not None and own >= theirs:
            metric = FORECASTS[name]
            worse.append(f"{metric.title} {metric.shown(own)} against {metric.shown(theirs)}")
    if not worse:
        return ""
    return (
        f"This model is no better than the {NAIVE} forecast ({', '.join(worse)}), which repeats "
        "the last season: use that, or give the model more data or more updates."
    )


def calibrate(run: Run, model: Any, held_out: "HeldOutSeries") -> list[str]:
    """Calibrate the intervals on held-out windows and save how; lines for the card. What they hold
    afterwards is counted on the later half of the windows, by a calibration on the earlier half.
    """
    futures: list[Floats] = []
    found = []
    for _, future, forecasts in held_out.forecasts(model):
        futures.append(future)
        found.append(forecasts)
    future = np.concatenate(futures)
    from regard.evaluate.forecasts import joined

    everything = joined(found)
    calibration = Calibration.of(future, everything)
    run.save_finding("calibration", calibration.facts())
    return coverage_lines(held_out, future, everything)


def coverage_lines(held_out: "HeldOutSeries", future: Floats, found: Any) -> list[str]:
    from regard.evaluate.forecasts import part

    earlier, later = held_out.halves()
    if not len(earlier) or not len(later):
        return []
    first = Calibration.of(future[earlier], part(found, earlier))
    after = part(found, later)
    before_scores, after_scores = (
        coverages(future[later], each) for each in (after, first.apply(after))
    )
    words = [
        f"{percent} % intervals held {before_scores[percent]:.1f} % before calibration and "
        f"{after_scores[percent]:.1f} % after it"
        for percent in INTERVALS
    ]
    return [f"- On held-out windows, {'; '.join(words)}."]


def coverages(future: Floats, found: Any) -> dict[int, float]:
    tally = Tally(future.shape[1])
    tally.add(future, found, np.ones(len(future)))
    scores = tally.scores()
    return {percent: float(scores[f"coverage_{percent}"] or 0) for percent in INTERVALS}


def metrics() -> tuple[Metric, ...]:
    """What validation measures."""
    own = [FORECASTS[name] for name in ("mase", "wql", "coverage_80")]
    beside = [
        Metric(f"naive_{name}", f"{NAIVE} {FORECASTS[name].title}", FORECASTS[name].decimals, False)
        for name in ("mase", "wql")
    ]
    return (*own, *beside)
