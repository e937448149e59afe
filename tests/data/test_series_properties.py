"""What holds for every table: nothing is shifted, whatever the format, the gaps, or the clocks."""

import csv
import io
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from pathlib import Path
from zoneinfo import ZoneInfo

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from regard.checks.series import check_series
from regard.data.series import SeriesColumns, SeriesReading, SeriesTable
from regard.data.series_tables import read_series
from regard.data.steps import Clock, Step
from regard.data.zones import clock_changes, to_local, to_utc
from tests.data.odd_series import TABLES

FORMS = (
    *("%Y-%m-%d %H:%M", "%Y-%m-%dT%H:%M:%S", "%Y-%m-%dT%H:%M:%SZ", "%d.%m.%Y %H:%M"),
    *("%m/%d/%Y %I:%M %p", "%Y%m%dT%H%M%S", "%d-%b-%Y %H:%M", "%Y/%m/%d %H:%M"),
)
ZONES = (
    "Europe/Berlin",
    "Australia/Melbourne",
    "America/New_York",
    "Asia/Kolkata",
    "UTC",
    "+01:00",
)
MISSING = ("", "NA", "-", "nan")
STEPS = ("1min", "5min", "15min", "30min", "1h", "6h")
ONE_TMP = settings(max_examples=60, suppress_health_check=[HealthCheck.function_scoped_fixture])


def microseconds(moment: datetime) -> int:
    return (moment.replace(tzinfo=None) - datetime(1970, 1, 1)) // timedelta(microseconds=1)


@dataclass(frozen=True)
class Written:
    """A table in some format, and the value of each series at each time."""

    text: str
    truth: dict[str, dict[datetime, float]]
    step: Step
    columns: SeriesColumns
    reading: SeriesReading


@st.composite
def tables(draw: st.DrawFn) -> Written:
    length = Step.parse(draw(st.sampled_from(STEPS)))
    step = timedelta(microseconds=length.count)
    begin = datetime(2024, 1, 20) + step * draw(st.integers(0, 5000))
    size = draw(st.integers(30, 60))
    form, long = draw(st.sampled_from(FORMS)), draw(st.booleans())
    names = draw(st.lists(st.sampled_from("abcde"), min_size=1, max_size=3, unique=True))
    comma, missing = draw(st.booleans()), draw(st.sampled_from(MISSING))
    truth: dict[str, dict[datetime, float]] = {}
    for number, name in enumerate(names):
        cells = draw(st.lists(st.integers(-999, 999), min_size=size, max_size=size))
        gaps = draw(st.sets(st.integers(3, size - 1), max_size=size // 5))
        truth[name] = {
            begin + step * i: 1000 * number + cells[i] / 4 for i in range(size) if i not in gaps
        }

    def cell(value: float | None) -> str:
        if value is None:
            return missing
        return str(value).replace(".", ",") if comma else str(value)

    if long:
        rows = [[n, t.strftime(form), cell(v)] for n in names for t, v in truth[n].items()]
        head = ["unique_id", "ds", "y"]
    else:
        times = sorted({time for each in truth.values() for time in each})
        rows = [[t.strftime(form), *(cell(truth[n].get(t)) for n in names)] for t in times]
        head = ["ds", *names]
    if draw(st.booleans()):
        rows = draw(st.permutations(rows))
    file = io.StringIO()
    writer = csv.writer(file, delimiter=draw(st.sampled_from(";\t" if comma else ",;\t")))
    writer.writerows([head, *rows])
    columns = SeriesColumns(target=("y",), id=("unique_id",)) if long else SeriesColumns()
    reading = SeriesReading(dates="month-first" if form.startswith("%m/") else "")
    return Written(file.getvalue(), truth, length, columns, reading)


def found(table: SeriesTable) -> dict[str, dict[int, float]]:
    return {
        each.name: {
            int(time): float(value)
            for time, value in zip(table.times(each), each.values, strict=True)
            if not np.isnan(value)
        }
        for each in table.series
    }


@ONE_TMP
@given(written=tables())
def test_every_value_keeps_its_time(tmp_path: Path, written: Written) -> None:
    path = tmp_path / "t.csv"
    path.write_text(written.text, encoding="utf-8")
    table = read_series([path], written.columns, written.reading)
    assert found(table) == {
        name: {microseconds(time): value for time, value in each.items()}
        for name, each in written.truth.items()
    }
    assert table.clock.step == written.step


TEXTS = [each.text for each in TABLES.values() if isinstance(each.text, str)]
PIECES = st.text('0123456789,;.:-/ \t\n"TZ+aeN\u2212\u0660²\0', max_size=4)


@settings(max_examples=200, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(
    text=st.sampled_from(TEXTS),
    edits=st.lists(st.tuples(st.floats(0, 1), st.integers(0, 5), PIECES), max_size=4),
    every=st.sampled_from(["", "", "1h", "1d"]),
    zone=st.sampled_from(["", "", "Europe/Berlin"]),
)
def test_a_damaged_table_is_read_or_refused_in_a_sentence(
    tmp_path: Path, text: str, edits: list[tuple[float, int, str]], every: str, zone: str
) -> None:
    for place, cut, piece in edits:
        at = int(place * len(text))
        text = text[:at] + piece + text[at + cut :]
    path = tmp_path / "t.csv"
    path.write_text(text, encoding="utf-8")
    report = check_series([path], lambda: read_series([path], reading=SeriesReading(every, zone)))
    if report.unread:
        assert "\n" not in report.findings[0].sentence
        return
    for each in read_series([path], reading=SeriesReading(every, zone)).series:
        assert len(each)
        assert not np.isnan(each.values[[0, -1]]).any()
        assert each.known.shape == (len(each), 0)


moments = st.datetimes(datetime(1990, 1, 1), datetime(2035, 1, 1))


@given(zone=st.sampled_from(ZONES[:5]), utc=st.lists(moments, min_size=1, max_size=30))
def test_local_times_are_those_of_python(zone: str, utc: list[datetime]) -> None:
    times = np.array(list(map(microseconds, utc)))
    where = ZoneInfo(zone)
    local = [microseconds(each.replace(tzinfo=UTC).astimezone(where)) for each in utc]
    assert to_local(times, zone).tolist() == local
    changes = clock_changes(np.array(local), zone)
    back = to_utc(np.array(local), zone)
    # A time that occurs twice is taken as the first; every other one comes back.
    assert [a == b for a, b in zip(back, times, strict=True)] == [
        not (change < 0 and utcs != first)
        for change, utcs, first in zip(changes, times, back, strict=True)
    ]


@pytest.mark.parametrize("zone", ["Europe/Berlin", "Australia/Melbourne", "America/New_York"])
@pytest.mark.parametrize("minutes", [30, 60])
def test_a_year_on_the_clock_of_a_place_has_no_gap_and_nothing_twice(
    zone: str, minutes: int, tmp_path: Path
) -> None:
    where = ZoneInfo(zone)
    first = datetime(2024, 1, 1, tzinfo=where).astimezone(UTC)
    utc = [first + timedelta(minutes=minutes * i) for i in range(366 * 24 * 60 // minutes)]
    path = tmp_path / "t.csv"
    rows = [f"{t.astimezone(where):%Y-%m-%d %H:%M},{i}" for i, t in enumerate(utc)]
    path.write_text("\n".join(["t,load", *rows]))
    table = read_series([path], reading=SeriesReading(zone=zone))
    series = table.series[0]
    assert series.values.tolist() == list(range(len(utc)))
    assert table.times(series).tolist() == list(map(microseconds, utc))
    # The hour of the day is that of the place, in summer and in winter.
    names, phases = table.clock.phases(series.start, len(series))
    hours = phases[:, names.index("time of day")] * 24
    local = [t.astimezone(where) for t in utc]
    assert np.allclose(hours, [t.hour + t.minute / 60 for t in local])
    days = phases[:, names.index("day of week")] * 7
    assert np.floor(days + 1e-6).tolist() == [t.weekday() for t in local]
    days = phases[:, names.index("day of year")] * 366
    assert np.floor(days + 1e-6).tolist() == [t.timetuple().tm_yday - 1 for t in local]


@given(
    unit=st.sampled_from(["row", "microsecond", "day", "weekday", "month", "month-end"]),
    count=st.integers(1, 400),
)
def test_a_step_is_read_as_it_is_written(unit: str, count: int) -> None:
    step = Step(count, unit)  # type: ignore[arg-type]
    assert Step.parse(str(step)) == step


@given(
    text=st.sampled_from(["1h", "30min", "1d", "1week", "1weekday", "1month", "1quarter", "1year"]),
    zone=st.sampled_from(["", *ZONES]),
    start=st.dates(datetime(2000, 1, 3).date(), datetime(2030, 1, 1).date()),
    skip=st.integers(0, 50),
)
def test_times_from_a_later_start_are_the_same_times(
    text: str, zone: str, start: datetime, skip: int
) -> None:
    if start.weekday() > 4:
        start += timedelta(days=2)
    local = microseconds(datetime(start.year, start.month, min(start.day, 28)))
    clock = Clock(Step.parse(text), zone)
    first = int(to_utc(np.array([local]), zone)[0])
    times = clock.times(first, 100)
    assert (np.diff(times) > 0).all()
    assert clock.times(int(times[skip]), 100 - skip).tolist() == times[skip:].tolist()
    assert len(set(clock.labels(first, 100))) == 100
