"""Series that Python holds: tables with an index of times, columns, and lists of numbers."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from regard.data.examples import Given, write
from regard.data.series import SeriesTable
from regard.data.series_tables import read_series
from regard.errors import DataError

Read = Callable[[Any], SeriesTable]


@pytest.fixture
def read(tmp_path: Path) -> Read:
    def as_table(data: Any) -> SeriesTable:
        write(Given("series", data, ()), tmp_path / "train.jsonl", started=False)
        return read_series([tmp_path / "train.jsonl"])

    return as_table


def only(table: SeriesTable) -> tuple[str, list[float], str, str]:
    (series,) = table.series
    return (
        series.name,
        series.values.tolist(),
        table.clock.labels(series.start, 1)[0],
        str(table.clock.step),
    )


def test_an_index_of_times(read: Read) -> None:
    pandas = pytest.importorskip("pandas")
    index = pandas.date_range("2024-03-31", periods=30, freq="h", tz="Europe/Berlin")
    frame = pandas.DataFrame({"load": np.arange(30.0)}, index=index)
    values = list(np.arange(30.0))
    # The day on which clocks are put forward has offsets of both seasons.
    assert only(read(frame)) == ("load", values, "2024-03-30 23:00+00:00", "1h")
    assert only(read(frame["load"])) == only(read(frame))
    months = pandas.Series(range(5), index=pandas.period_range("2020-01", periods=5, freq="M"))
    assert only(read(months))[1:] == ([0, 1, 2, 3, 4], "2020-01-01", "1month")


def test_a_long_table(read: Read) -> None:
    pandas, polars = pytest.importorskip("pandas"), pytest.importorskip("polars")
    days = np.array(["2024-01-01", "2024-01-02", "2024-01-03"] * 2, "datetime64[D]")
    columns = {"unique_id": list("aaabbb"), "ds": days, "y": [1.5, None, 3.5, 4.0, 5.0, 6.0]}
    for table in (pandas.DataFrame(columns), polars.DataFrame(columns), columns):
        found = read(table)
        assert found.names == ["a", "b"]
        assert np.array_equal(found["a"].values, [1.5, np.nan, 3.5], equal_nan=True)
        assert str(found.clock.step) == "1d"
    by_index = pandas.DataFrame(columns).set_index(["unique_id", "ds"])
    assert read(by_index).names == ["a", "b"]


@pytest.mark.parametrize("data", [[1.5, 2, 3], np.array([1.5, 2, 3]), {"value": (1.5, 2, 3)}])
def test_numbers_alone(data: Any, read: Read) -> None:
    assert only(read(data)) == ("value", [1.5, 2.0, 3.0], "0", "1row")


def test_what_is_no_series_is_refused_in_a_sentence(read: Read) -> None:
    for data in (["a", "b"], np.ones((3, 2)), [[1, 2], [3, 4]], []):
        with pytest.raises(DataError) as refused:
            read(data)
        assert "\n" not in str(refused.value)
