"""How good a forecaster is on the part of its series that it did not learn from. This may take a
while, so it is counted in a thread, and the page asks how far it is.
"""

import threading
from typing import TYPE_CHECKING, Any

import numpy as np

from regard.errors import RegardError, RequestError
from regard.evaluate.calibration import Calibration
from regard.evaluate.series import INTERVALS, Tally
from regard.studio.requests import Asked
from regard.studio.runs import OpenRun
from regard.studio.series import Known, check_view, series_of
from regard.tasks import series_data
from regard.tasks.forecast_evaluation import NAIVE, day_hours, hours_of, verdict

if TYPE_CHECKING:
    from regard.evaluate.forecasts import HeldOutSeries
    from regard.tasks.forecaster import Forecaster

# Windows that are forecast while nothing else can be asked.
AT_ONCE = 32
MODEL, BEFORE = "model", "before calibration"


class Measuring:
    """A measurement that is under way, or done."""

    def __init__(self, run: OpenRun, step: int) -> None:
        self.run, self.step = run, step
        self.done, self.total = 0, 0
        self.found: dict[str, Any] | None = None
        self.problem = ""
        threading.Thread(target=self.work, name="measure", daemon=True).start()

    def work(self) -> None:
        try:
            self.found = self.measured()
        except RegardError as error:
            self.problem = str(error)
        except Exception as error:
            self.problem = f"{self.run.folder}: {error}"
            raise

    def measured(self) -> dict[str, Any]:
        """Everything, part by part, so that the page may ask other things in between."""
        from regard.evaluate.forecasts import forecast_windows, joined

        with self.run.opened(self.step) as forecaster:
            known = series_of(self.run, forecaster)
            held_out = held_out_windows(self.run, known, forecaster)
        self.total = len(held_out.windows)
        futures, found = [], []
        for start in range(0, self.total, AT_ONCE):
            rows = np.arange(start, min(start + AT_ONCE, self.total))
            batch, scale, future = held_out.windows.scaled(rows)
            with self.run.opened(self.step) as forecaster:
                found.append(forecast_windows(forecaster.model, batch, scale))
            futures.append(future)
            self.done += len(rows)
        return scores(held_out, known, np.concatenate(futures), joined(found))


def held_out_windows(run: OpenRun, known: Known, forecaster: "Forecaster") -> "HeldOutSeries":
    """The windows that the run was validated on."""
    from regard.evaluate.forecasts import HeldOutSeries

    if not known.whole:
        raise RequestError(
            f"{run.folder}: the series that it learned from are no longer here; regard evaluate "
            "with --series measures it on others"
        )
    data, table = forecaster.data, known.table
    laid = series_data.laid_out(table, data)
    scaling = forecaster.model.config.scaling
    windows = series_data.Split.of(table, data).valid(laid, data.season, scaling)
    if not len(windows):
        raise series_data.nothing_there(table, data)
    return HeldOutSeries.of(windows, data.season, table.names)


def scores(held_out: "HeldOutSeries", known: Known, future: Any, found: Any) -> dict[str, Any]:
    """Errors on all windows; intervals on the later half of them, calibrated on the earlier half,
    since on what they were calibrated on, they are always right.
    """
    from regard.evaluate.forecasts import part

    horizon = future.shape[1]
    rows = np.arange(len(future))
    hours = [day_hours(known.table, each, horizon) for each in range(len(known.table))]
    when = hours_of(hours, held_out.windows.places, horizon)
    absolute, _ = held_out.seasonal(rows)
    own, naive = Tally(horizon), Tally(horizon)
    own.add(future, found, absolute, when)
    naive.add(future, held_out.naive(rows), absolute, when)
    tallies = {MODEL: own, NAIVE: naive}
    earlier, later = held_out.halves()
    coverage = {}
    if len(earlier) and len(later):
        calibration = Calibration.of(future[earlier], part(found, earlier))
        plain = part(found, later)
        for name, each in (
            (MODEL, calibration.apply(plain)),
            (BEFORE, plain),
            (NAIVE, held_out.naive(later)),
        ):
            tally = Tally(horizon)
            tally.add(future[later], each, absolute[later])
            held = tally.scores()
            coverage[name] = {str(each): held[f"coverage_{each}"] for each in INTERVALS}
    mine, theirs = own.scores(), naive.scores()
    return {
        "windows": len(future),
        "series": len(np.unique(held_out.windows.places[:, 0])),
        "scores": {
            name: {MODEL: mine[name], NAIVE: theirs[name]} for name in ("mae", "mase", "wql")
        },
        "by_step": {name: each.by_step("error").tolist() for name, each in tallies.items()},
        "by_hour": {} if when is None else {name: by_hour(each) for name, each in tallies.items()},
        "coverage": coverage,
        "verdict": verdict(mine, theirs),
    }


def by_hour(tally: Tally) -> list[float | None]:
    return [float(total / count) if count else None for total, count in tally.hours.tolist()]


def series_scores(run: OpenRun, asked: Asked) -> dict[str, Any]:
    """The scores, if they are there; else how many windows are done. The first question starts it,
    and one after a failure starts it again.
    """
    check_view(run)
    key = run.weights_of(asked.step)
    if key not in run.measured:
        run.measured = {key: Measuring(run, asked.step)}
    measuring = run.measured[key]
    if measuring.problem:
        del run.measured[key]
        raise RequestError(measuring.problem)
    return {"done": measuring.done, "total": measuring.total, "found": measuring.found}
