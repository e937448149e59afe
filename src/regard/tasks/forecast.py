"""What a forecaster says of a series."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from html import escape
from pathlib import Path
from typing import Any

from numpy.typing import NDArray

from regard.errors import RequestError, shown
from regard.evaluate.series import INTERVALS, Floats, Forecasts


@dataclass(frozen=True, repr=False)
class Forecast:
    """What a forecaster says of the next steps of a series.

    A notebook shows it as a fan: the past, the median, and intervals.

    Attributes
    ----------
    name : str
        Of the series.
    times : list of str
        Of the steps ahead, in the time of the place; numbers where the data has no times.
    timestamps : array of datetime64, [H]
        The same in UTC; whole numbers where the data has no times.
    mean, median : array of float, [H]
    naive : array of float, [H]
        The seasonal naive forecast, which repeats the last season, to compare with.
    samples : array of float, [paths, H]
        Ways in which the series may continue.
    past : array of float, [C]
        The values before, NaN where one is missing.
    past_times : list of str

    Examples
    --------
    >>> import regard
    >>> forecast = regard.load("runs/load").forecast()
    >>> forecast
    Forecast('load': 6 steps from 2024-02-12 00:00)
    >>> low, high = forecast.interval(80)
    >>> bool((low <= forecast.median).all() and (forecast.median <= high).all())
    True
    """

    name: str
    times: list[str]
    timestamps: NDArray[Any]
    found: Forecasts  # of this series alone, [1, H]
    naive: Floats
    samples: Floats
    past: Floats
    past_times: list[str]

    def __repr__(self) -> str:
        return f"Forecast({self.name!r}: {len(self.times)} steps from {self.times[0]})"

    @property
    def mean(self) -> Floats:
        found: Floats = self.found.mean[0]
        return found

    @property
    def median(self) -> Floats:
        found: Floats = self.found.median[0]
        return found

    def quantile(self, level: float) -> Floats:
        """The values below which a share of the future lies.

        Parameters
        ----------
        level
            The share, between 0 and 1.

        Returns
        -------
        array of float, [H]

        Raises
        ------
        RequestError
            It is not between 0 and 1.
        """
        if not 0 < level < 1:
            raise RequestError(f"quantile {shown(level)}: give a level between 0 and 1, like 0.9")
        return self.found.at(level)[0, :, 0]

    def interval(self, percent: float = 80) -> tuple[Floats, Floats]:
        """The interval that holds a share of the future.

        Parameters
        ----------
        percent
            The share, between 0 and 100.

        Returns
        -------
        low, high : array of float, [H]

        Raises
        ------
        RequestError
            It is not between 0 and 100.
        """
        check_levels([percent])
        low, high = self.found.interval(percent)
        return low[0], high[0]

    def rows(self, levels: Sequence[float] = INTERVALS) -> list[dict[str, Any]]:
        """A row for each step, as a table or a DataFrame takes it.

        Parameters
        ----------
        levels
            The intervals to give, in percent.

        Returns
        -------
        list of dict
            With series, time, mean, median, and low_80 and high_80 for an interval of 80 %.

        Raises
        ------
        RequestError
            A level is not between 0 and 100.
        """
        columns: dict[str, Any] = {"mean": self.mean, "median": self.median}
        for percent in levels:
            columns[f"low_{percent:g}"], columns[f"high_{percent:g}"] = self.interval(percent)
        return [
            {"series": self.name, "time": time}
            | {name: float(values[step]) for name, values in columns.items()}
            for step, time in enumerate(self.times)
        ]

    def save(self, path: Path | str, levels: Sequence[float] = INTERVALS) -> None:
        """Draw the fan to a file.

        Parameters
        ----------
        path
            The file: .png, .svg or .pdf.
        levels
            The intervals to draw, in percent.
        """
        from regard.inspect.series_drawing import save_fans

        check_levels(levels)
        save_fans([self], levels, Path(path))

    def _repr_html_(self) -> str:
        from regard.inspect.series_drawing import fan_svg

        return f"<p>{escape(repr(self))}</p>" + fan_svg(self, INTERVALS)


def check_levels(levels: Sequence[float]) -> None:
    for percent in levels:
        if not 0 < percent < 100:
            raise RequestError(f"level {shown(percent)}: give a percentage like 80")


def facts(forecast: Forecast, levels: Sequence[float]) -> Mapping[str, Any]:
    """A forecast as JSON holds it."""
    return {
        "series": forecast.name,
        "times": forecast.times,
        "mean": forecast.mean.tolist(),
        "median": forecast.median.tolist(),
        "naive": forecast.naive.tolist(),
        "intervals": {
            f"{percent:g}": dict(
                zip(
                    ("low", "high"),
                    (each.tolist() for each in forecast.interval(percent)),
                    strict=True,
                )
            )
            for percent in levels
        },
    }
