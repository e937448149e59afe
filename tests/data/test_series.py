"""Tables of series: a right reading with a remark, or one sentence."""

import os
from pathlib import Path

import numpy as np
import pytest

from regard.data.series import SeriesColumns, SeriesReading, SeriesTable
from regard.data.series_tables import read_series
from regard.data.steps import Step
from regard.errors import DataError
from tests.data.odd_series import TABLES, OddTable


def written(odd: OddTable, folder: Path) -> Path:
    path = folder / odd.file
    path.write_bytes(odd.text if isinstance(odd.text, bytes) else odd.text.encode())
    return path


def values_of(table: SeriesTable) -> dict[str, list[float | None]]:
    return {
        each.name: [None if np.isnan(value) else value for value in each.values.tolist()]
        for each in table.series
    }


@pytest.mark.parametrize("name", TABLES)
def test_an_odd_table_is_read_rightly_or_refused_in_a_sentence(name: str, tmp_path: Path) -> None:
    odd = TABLES[name]
    path = written(odd, tmp_path)
    if odd.error:
        with pytest.raises(DataError) as refused:
            read_series([path], odd.columns, odd.reading)
        sentence = str(refused.value)
        assert odd.error in sentence
        assert "\n" not in sentence
        assert ";" in sentence or "?" in sentence, "it says what to do"
        return
    table = read_series([path], odd.columns, odd.reading)
    assert values_of(table) == odd.series
    if odd.start:
        assert table.clock.labels(table.series[0].start, 1) == [odd.start]
    if odd.step:
        assert str(table.clock.step) == odd.step
    if odd.remark:
        assert any(odd.remark in remark for remark in table.remarks), table.remarks


def written_text(folder: Path, name: str, *lines: str) -> Path:
    path = folder / name
    path.write_text("\n".join(lines) + "\n", encoding="utf-8")
    return path


def test_rows_without_a_value_hold_what_is_known_of_the_future(tmp_path: Path) -> None:
    path = written_text(
        tmp_path,
        "load.csv",
        "t,load,holiday,temperature",
        *("2024-01-01,,TRUE,5", "2024-01-02,10,FALSE,6", "2024-01-03,,FALSE,7"),
        *("2024-01-04,12,yes,", "2024-01-05,,TRUE,9", "2024-01-06,,,10", "2024-01-07,,,"),
    )
    columns = SeriesColumns(target=("load",), known=("temperature", "holiday"))
    table = read_series([path], columns)
    (series,) = table.series
    assert table.known_names == ("temperature", "holiday")
    assert table.clock.labels(series.start, 1) == ["2024-01-02"]
    assert np.array_equal(series.values, [10, np.nan, 12], equal_nan=True)
    assert series.future == 2
    temperature, holiday = series.known.T
    assert np.array_equal(temperature, [6, 7, np.nan, 9, 10], equal_nan=True)
    assert np.array_equal(holiday, [0, 0, 1, 1, np.nan], equal_nan=True)


def test_what_is_known_has_gaps_where_rows_are_missing(tmp_path: Path) -> None:
    path = written_text(
        tmp_path, "a.csv", "t,y,x", "2024-01-01,1,5", "2024-01-02,2,6", "2024-01-05,5,9"
    )
    (series,) = read_series([path], SeriesColumns(target=("y",), known=("x",))).series
    assert np.array_equal(series.known[:, 0], [5, 6, np.nan, np.nan, 9], equal_nan=True)


def test_each_series_has_what_is_known_of_itself(tmp_path: Path) -> None:
    path = written_text(
        tmp_path,
        "a.csv",
        "id,t,y,x",
        *("a,2024-01-01,1,10", "a,2024-01-02,2,20", "b,2024-01-02,3,30", "b,2024-01-03,4,40"),
    )
    table = read_series([path], SeriesColumns(target=("y",), id=("id",), known=("x",)))
    assert {each.name: each.known[:, 0].tolist() for each in table.series} == {
        "a": [10.0, 20.0],
        "b": [30.0, 40.0],
    }
    assert table.clock.labels(table["b"].start, 1) == ["2024-01-02"]


def test_a_later_file_continues_the_series(tmp_path: Path) -> None:
    first = written_text(tmp_path, "jan.csv", "t,y", "2024-01-30,1", "2024-01-31,2")
    second = written_text(tmp_path, "feb.csv", "t,y", "2024-02-02,4", "2024-02-03,5")
    table = read_series([second, first])
    assert values_of(table) == {"y": [1.0, 2.0, None, 4.0, 5.0]}


def test_files_of_the_same_times_are_a_series_each(tmp_path: Path) -> None:
    first = written_text(tmp_path, "north.csv", "t,y", "2024-01-30,1", "2024-01-31,2")
    second = written_text(tmp_path, "south.csv", "t,y", "2024-01-30,4", "2024-01-31,5")
    table = read_series([first, second])
    assert values_of(table) == {"north": [1.0, 2.0], "south": [4.0, 5.0]}
    assert any("each file is a series" in remark for remark in table.remarks)


def test_rows_of_a_later_file_continue_their_series(tmp_path: Path) -> None:
    """As the M4 competition has it: series of different lengths, and what followed."""
    train = written_text(tmp_path, "train.csv", "V1,V2,V3,V4", "H1,1,2,3", "H2,4,5,")
    test = written_text(tmp_path, "test.csv", "V1,V2,V3,V4", "H1,7,8,9", "H2,7,8,9")
    table = read_series([train, test])
    assert values_of(table) == {"H1": [1.0, 2, 3, 7, 8, 9], "H2": [4.0, 5, 7, 8, 9]}


def test_files_of_other_columns_are_refused(tmp_path: Path) -> None:
    first = written_text(tmp_path, "a.csv", "t,y", "2024-01-30,1", "2024-01-31,2")
    second = written_text(tmp_path, "b.csv", "t,z", "2024-02-01,1", "2024-02-02,2")
    with pytest.raises(DataError, match=r"b\.csv: its columns or its times are not like those of"):
        read_series([first, second])


def test_an_error_in_a_later_file_names_its_line(tmp_path: Path) -> None:
    first = written_text(tmp_path, "a.csv", "t,y", "2024-01-01,1", "2024-01-02,2")
    second = written_text(tmp_path, "b.csv", "t,y", "2024-01-03,1", "2024-01-04,2", "2024-01-03,9")
    with pytest.raises(DataError, match=r"b\.csv:4: the time 2024-01-03 is in line 2, too"):
        read_series([first, second])


def test_means_of_days_are_those_of_the_place(tmp_path: Path) -> None:
    """The day on which clocks are put forward has 23 hours, and it begins at its own midnight."""
    hours = np.arange(24 * 5)
    utc = np.datetime64("2024-03-29T23:00", "h") + hours
    lines = [f"{time}:00Z,{hour}" for time, hour in zip(utc, hours, strict=True)]
    path = written_text(tmp_path, "a.csv", "t,y", *lines)
    table = read_series([path], reading=SeriesReading(every="1d", zone="Europe/Berlin"))
    (series,) = table.series
    assert table.clock.labels(series.start, 2) == ["2024-03-30", "2024-03-31"]
    assert series.values[:3].tolist() == [
        hours[:24].mean(),
        hours[24:47].mean(),
        hours[47:71].mean(),
    ]


def test_a_mean_of_few_rows_at_the_end_is_left_out(tmp_path: Path) -> None:
    times = np.datetime64("2024-01-01T00:00", "m") + 10 * np.arange(14)
    lines = [f"{time},{at}" for at, time in enumerate(times)]
    path = written_text(tmp_path, "a.csv", "t,y", *lines)
    table = read_series([path], reading=SeriesReading(every="1h"))
    assert values_of(table) == {"y": [2.5, 8.5]}


def test_weeks_begin_on_monday_and_months_on_their_first(tmp_path: Path) -> None:
    days = np.datetime64("2024-01-01", "D") + np.arange(91)
    path = written_text(tmp_path, "a.csv", "t,y", *(f"{day},{i}" for i, day in enumerate(days)))
    weeks = read_series([path], reading=SeriesReading(every="1week"))
    assert weeks.series[0].values[:2].tolist() == [3.0, 10.0]
    months = read_series([path], reading=SeriesReading(every="1month"))
    assert months.clock.labels(months.series[0].start, 3) == [
        "2024-01-01",
        "2024-02-01",
        "2024-03-01",
    ]
    assert months.series[0].values[:3].tolist() == [15.0, 45.0, 75.0]


@pytest.mark.parametrize(
    ("times", "like", "step"),
    [
        (["2024-01-08", "2024-01-09", "2024-01-10"], "1weekday", "1weekday"),
        (["2024-01-08", "2024-01-09", "2024-01-13"], "1weekday", "1d"),  # a Saturday
        (["2024-01-08", "2024-01-09", "2024-01-10"], "1h", "1d"),
        (["2024-01-08 00:00", "2024-01-08 02:00", "2024-01-08 04:00"], "1h", "2h"),
        (["2024-01-08 00:00", "2024-01-08 01:00", "2024-01-08 05:00"], "1h", "1h"),
        (["2024-02-29", "2024-03-31"], "1month-end", "1month-end"),
        (["2024-02-29", "2024-03-30"], "1month-end", "30d"),
        (["2024-02-28", "2024-03-28"], "1month", "1month"),
        (["2024-02-28"], "1month", "1month"),
        (["7"], "1row", "1row"),
    ],
)
def test_few_rows_have_the_step_of_what_they_continue(
    times: list[str], like: str, step: str, tmp_path: Path
) -> None:
    path = tmp_path / "load.csv"
    path.write_text("t,load\n" + "".join(f"{time},1.5\n" for time in times))
    reading = SeriesReading(step=Step.parse(like))
    columns = SeriesColumns(target=("load",), time=("t",))
    assert str(read_series([path], columns, reading).clock.step) == step


def test_reading_never_changes_what_is_read(tmp_path: Path) -> None:
    """A table that is written from what was read is read as the same."""
    path = written(TABLES["gaps"], tmp_path)
    table = read_series([path])
    (series,) = table.series
    times = table.clock.labels(series.start, len(series))
    again = written_text(
        tmp_path,
        "b.csv",
        "t,load",
        *(f"{t},{v}" for t, v in zip(times, series.values, strict=True)),
    )
    assert values_of(read_series([again])) == values_of(table)


@pytest.mark.skipif("REGARD_DATA" not in os.environ, reason="needs public data sets")
def test_public_tables_are_read_as_their_authors_describe_them() -> None:
    data = Path(os.environ["REGARD_DATA"])
    ett = read_series([data / "etth1" / "ETTh1.csv.gz"])
    assert [len(each) for each in ett.series] == [17_420] * 7
    m4 = read_series([data / "m4-hourly" / "Hourly-train.csv.gz"])
    assert len(m4) == 414
    columns = SeriesColumns(target=("Demand",), known=("Temperature", "Holiday"))
    zone = SeriesReading(zone="Australia/Melbourne")
    vic = read_series([data / "vic-elec" / "vic_elec.csv.gz"], columns, zone)
    assert len(vic.series[0]) == 52_608
    assert vic.series[0].missing == 0
