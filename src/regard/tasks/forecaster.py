"""The object that forecasts with a run."""

import os
from collections import deque
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING, Any, Self

import numpy as np
from numpy.typing import NDArray

from regard.data.examples import Given, write
from regard.data.series import Series, SeriesTable
from regard.data.series_arrays import load_table
from regard.errors import DataError, RequestError, RunError
from regard.evaluate.calibration import Calibration
from regard.evaluate.seasonal_naive import seasonal_naive
from regard.evaluate.series import Floats, Forecasts
from regard.run import Run
from regard.sizes import read_sizes
from regard.tasks import series_data
from regard.tasks.forecast import Forecast
from regard.tasks.inputs import summary
from regard.tasks.series_sections import SeriesSection

if TYPE_CHECKING:
    from regard.evaluate.following import Turns
    from regard.inspect.series import SeriesMaps

AT_ONCE = 256
PATHS = 100
# Newer windows that intervals follow: of a series, and about as many of all together.
MOST_FOLLOWED, MOST_OF_ALL = 50, 5_000


class Forecaster:
    """Forecasts series.

    `regard.load` or `Forecaster.load` gives one of a run folder.

    Examples
    --------
    >>> import regard
    >>> forecaster = regard.load("runs/load")
    >>> forecaster.forecast().times[:2]
    ['2024-02-12 00:00', '2024-02-12 01:00']
    """

    def __init__(
        self,
        model: Any,
        data: SeriesSection,
        calibration: Calibration | None = None,
        last: SeriesTable | None = None,
        folder: Path | None = None,
    ) -> None:
        self.model = model
        self.data = data
        self.calibration = calibration or Calibration.none()
        self.last = last  # the end of what it learned from
        self.folder = folder

    def __repr__(self) -> str:
        steps = f"{self.data.horizon} steps ahead from {self.data.context}"
        return summary("Forecaster", self.folder, self.model, steps)

    @classmethod
    def load(cls, folder: Path | str, device: str = "cpu") -> Self:
        """Load the forecaster of a run folder.

        Parameters
        ----------
        folder
            The run folder.
        device
            cpu, cuda, mps, or auto for the best that there is.

        Returns
        -------
        Forecaster

        Raises
        ------
        RunError
            There is no run in the folder, or one of another task.
        """
        from regard.machine.devices import choose_device
        from regard.weights import load_model

        run = Run.open(folder)
        recipe = run.recipe_for("forecasting")
        model = load_model(run).to(choose_device(device)).eval()
        end = run.folder / series_data.TABLE
        last = load_table(end) if os.path.lexists(end) else None
        sizes = read_sizes(run.model_path)
        if last is not None and any(
            sizes.get(name, 0) != size
            for name, size in series_data.sizes_of(recipe.data, last)._asdict().items()
        ):
            raise RunError(f"{end}: not of this run's weights; copy the whole run again")
        calibration = Calibration.from_facts(run.finding("calibration"))
        return cls(model, recipe.data, calibration, last, run.folder)

    def forecast(
        self,
        series: Any = None,
        only: str | Sequence[str] = (),
        samples: int = PATHS,
    ) -> Forecast | list[Forecast]:
        """Forecast what follows series.

        Parameters
        ----------
        series
            Newer data, as `regard.train` took it: a table, a list of numbers, or the name of a
            file. Without it, the data that the model learned from is continued.
        only
            Names of series, where not all are wanted.
        samples
            Paths to draw of each series.

        Returns
        -------
        Forecast or list of Forecast
            One for a series, a list in the same order for several.

        Raises
        ------
        DataError
            The data cannot be read, has another step, or columns that are known in advance end too
            early.
        RequestError
            There is no such series.
        """
        table = self.chosen(self.table(series), [only] if isinstance(only, str) else only)
        self.check_known(table)
        followed = min(MOST_FOLLOWED, max(1, MOST_OF_ALL // len(table)))
        parts = [
            replace(table, series=table.series[start : start + AT_ONCE])
            for start in range(0, len(table), AT_ONCE)
        ]
        found = [each for part in parts for each in self._part(part, samples, followed)]
        return found[0] if len(found) == 1 else found

    def table(self, series: Any = None) -> SeriesTable:
        """The series that are meant: newer ones, or the end of those that were learned from."""
        if series is None:
            if self.last is None:
                raise RunError(
                    f"{self.folder}: the end of its series is not here (series.safetensors); "
                    "give the data with --series"
                )
            return self.last
        table = series if isinstance(series, SeriesTable) else self.read(series)
        if self.last is not None and table.clock.step != self.last.clock.step:
            raise DataError(
                f"{table.series[0].name}: its step is {table.clock.step}, and the model learned "
                f"steps of {self.last.clock.step}; give data with that step, or longer steps of it "
                "with data.every"
            )
        return table

    def read(self, series: Any) -> SeriesTable:
        """A table that Python holds, or files, read as those that were learned from."""
        step = self.last.clock.step if self.last is not None else None
        with table_files(series) as paths:
            return series_data.read_table(self.data, paths, step)

    def chosen(self, table: SeriesTable, only: Sequence[str]) -> SeriesTable:
        """The series of these names; without a name, all."""
        if not only:
            return table
        by_name = {each.name: each for each in reversed(table.series)}
        if unknown := [name for name in only if name not in by_name]:
            known = ", ".join(table.names[:8]) + ", …" * (len(table) > 8)
            raise RequestError(f"{unknown[0]}: there is no such series; there are {known}")
        return replace(table, series=[by_name[name] for name in only])

    def check_known(self, table: SeriesTable) -> None:
        """Check that what is known in advance reaches to the end of the horizon."""
        if not table.known_names:
            return
        for each in table.series:
            there = ~np.isnan(each.known[len(each) : len(each) + self.data.horizon])
            count, names = int(there.any(1).sum()), table.known_names
            if count == self.data.horizon:  # each step has some column, but has each column some?
                names = tuple(name for at, name in enumerate(names) if not there[:, at].any())
                count = 0
            if names:
                raise DataError(
                    f"{each.name}: {', '.join(names)} must be known for the {self.data.horizon} "
                    f"steps after the last value, and {count} are there; append rows with these "
                    "columns, and without a value"
                )

    def windows(self, table: SeriesTable) -> tuple[Floats, NDArray[np.float32]]:
        """The end of each series, with an empty future: values [B, C + H] and what is known of
        them [B, C + H, K].
        """
        laid = series_data.laid_out(table, self.data)
        places = np.stack((np.arange(len(table)), laid.lengths), 1)
        return laid.slices(places)

    def followed(self, table: SeriesTable, most: int) -> Floats:
        """How much wider than calibrated the intervals of each series are, [S, I], by what came
        after newer windows, up to a number of each.
        """
        from regard.evaluate.following import Following

        horizon = self.data.horizon
        following = Following(len(table), horizon, horizon)
        newer = self.turns(table, horizon, 0, most)
        deque(newer.forecasts(self.model, self.calibration, following), maxlen=0)
        return following.now()

    def turns(self, table: SeriesTable, stride: int, count: int, more: int) -> "Turns":
        """The last windows of each series, and newer ones before them that intervals follow."""
        from regard.evaluate.following import Turns

        laid = series_data.laid_out(table, self.data)
        newer = series_data.newer_steps(self.last, table, self.data.context)
        return Turns.of(laid, self.model.config.scaling, newer, stride, count, more)

    def _part(self, table: SeriesTable, samples: int, followed: int) -> list[Forecast]:
        from regard.data.series_windows import scaled
        from regard.evaluate.forecasts import forecast_windows, part

        context = self.data.context
        with np.errstate(over="ignore"):  # what is too large is refused below
            values, known = self.windows(table)
        past = np.isnan(values[:, :context]).all(1)
        if past.any():
            name = table.series[int(past.argmax())].name
            raise DataError(
                f"{name}: there is no value in its last {context} steps; give newer ones"
            )
        with np.errstate(over="ignore", invalid="ignore"):
            calibration = self.calibration.wider(self.followed(table, followed))
            batch, scale = scaled(values, known, context, self.model.config.scaling)
            raw = forecast_windows(self.model, batch, scale, samples)
            found = calibration.apply(raw)
        too_large = np.isinf(known).any((1, 2)) | ~np.isfinite(found.quantiles).all((1, 2))
        if too_large.any():
            name = table.series[int(too_large.argmax())].name
            raise DataError(
                f"{name}: its values, or what is known in advance, are too large to calculate with;"
                " give them in a larger unit"
            )
        drawn = calibration.paths(raw, samples)
        naive = self.naive(values[:, :context])
        return [
            self._forecast(
                each,
                table,
                values[row, :context],
                part(found, np.array([row])),
                naive[row],
                drawn[row],
            )
            for row, each in enumerate(table.series)
        ]

    def naive(self, past: Floats) -> Floats:
        """The seasonal naive forecast of windows [B, C]: [B, H]."""
        nothing = np.zeros(len(past))
        return seasonal_naive(past, self.data.horizon, self.data.season, nothing).mean

    def _forecast(
        self,
        series: Series,
        table: SeriesTable,
        past: Floats,
        found: Forecasts,
        naive: Floats,
        drawn: Floats,
    ) -> Forecast:
        horizon, length = self.data.horizon, len(series)
        kept = min(length, self.data.context)
        times = table.clock.times(series.start, length + horizon)
        labels = table.clock.labels(int(times[length - kept]), kept + horizon)
        stamps = times[length:]
        return Forecast(
            series.name,
            labels[kept:],
            stamps.astype("datetime64[us]") if table.has_times else stamps,
            found,
            naive,
            drawn,
            past[-kept:],
            labels[:kept],
        )

    def maps(self, series: Any = None, only: str = "") -> "SeriesMaps":
        """Look at which parts of the past a forecast comes from.

        Parameters
        ----------
        series
            As for `forecast`.
        only
            The name of a series; without it, the first.

        Returns
        -------
        SeriesMaps

        Raises
        ------
        DataError, RequestError
            As `forecast` does.
        """
        from regard.inspect.series import series_maps

        table = self.table(series)
        table = self.chosen(table, [only or table.names[0]])
        self.check_known(table)
        return series_maps(self, table)


@contextmanager
def table_files(series: Any) -> Iterator[list[Path]]:
    """The files of a table; one that Python holds is written to a file for a while."""
    given = Given("series", series, ())
    if (files := given.files()) is not None:
        yield list(files)
        return
    with TemporaryDirectory() as folder:
        path = Path(folder, "series.jsonl")
        write(given, path, started=False)
        try:
            yield [path]
        except DataError as error:
            raise DataError(str(error).replace(str(path), "series")) from None
