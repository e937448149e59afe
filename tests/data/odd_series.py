"""Odd and hostile tables of series, made on the spot, and what must come of each."""

import gzip
from dataclasses import dataclass, field
from datetime import datetime, timedelta

from regard.data.series import SeriesColumns, SeriesReading

Values = list[float | None]  # None is missing


@dataclass(frozen=True)
class OddTable:
    """A table, and either what is read, or the error."""

    text: str | bytes
    series: dict[str, Values] = field(default_factory=dict)
    start: str = ""  # of the first series
    step: str = ""
    remark: str = ""  # a part of one of the remarks
    error: str = ""  # a part of the sentence
    columns: SeriesColumns = field(default_factory=SeriesColumns)
    reading: SeriesReading = field(default_factory=SeriesReading)
    file: str = "load.csv"


def asked(target: str = "", time: str = "", id: str = "", known: str = "") -> SeriesColumns:
    parts = (tuple(filter(None, each.split(","))) for each in (target, time, id, known))
    return SeriesColumns(*parts)


def hours(count: int, start: str = "2024-01-01T00:00", every: int = 60) -> list[datetime]:
    first = datetime.fromisoformat(start)
    return [first + timedelta(minutes=every * i) for i in range(count)]


def table(head: str, rows: list[str]) -> str:
    return "\n".join([head, *rows]) + "\n"


def hourly(form: str, count: int = 30, start: str = "2024-01-01T00:00", cell: str = "{}") -> str:
    """A table of hours whose values are 0, 1, 2."""
    rows = [f"{t.strftime(form)},{cell.format(i)}" for i, t in enumerate(hours(count, start))]
    return table("t,load", rows)


def count(size: int) -> dict[str, Values]:
    return {"load": [float(i) for i in range(size)]}


def berlin_autumn(shuffled: bool = False) -> str:
    """Six hours of the clock in Berlin when it is put back: 02:00 occurs twice."""
    clock = ["00:00", "01:00", "02:00", "02:00", "03:00", "04:00"]
    rows = [f"2024-10-27 {each},{i}" for i, each in enumerate(clock)]
    return table("t,load", [*reversed(rows)] if shuffled else rows)


def berlin_spring() -> str:
    clock = ["00:00", "01:00", "03:00", "04:00", "05:00", "06:00"]
    return table("t,load", [f"2024-03-31 {each},{i}" for i, each in enumerate(clock)])


BERLIN = SeriesReading(zone="Europe/Berlin")
FIVE: dict[str, Values] = {"load": [0.0, 1.0, 2.0, 3.0, 4.0]}
HOURS = [f"2024-01-01 {hour:02}:00" for hour in range(24)]


def five(cells: list[str], head: str = "t,load") -> str:
    """Hours from midnight on, with these cells."""
    return table(head, [f"{hour},{cell}" for hour, cell in zip(HOURS, cells, strict=False)])


TABLES = {
    # How a table is written.
    "no header": OddTable(
        five(["0", "1", "2", "3", "4"]).partition("\n")[2],
        {"column 2": FIVE["load"]},
        "2024-01-01 00:00",
        "1h",
        "names no columns",
    ),
    "decimal comma": OddTable(
        five(["0,5", "1,25", "-2", "1.003,5", "4"]).replace(",load", ";load").replace("00,", "00;"),
        {"load": [0.5, 1.25, -2.0, 1003.5, 4.0]},
        step="1h",
        remark="decimal comma",
    ),
    "decimal comma without header": OddTable(
        "2024-01-01;1,5\n2024-01-02;2,5\n2024-01-03;3,5\n",
        {"column 2": [1.5, 2.5, 3.5]},
        "2024-01-01",
        "1d",
        "semicolons",
    ),
    "thousands": OddTable(
        five(['"1,234"', '"1,235"', '"12,236"', '"1,237,000"']),
        {"load": [1234.0, 1235.0, 12236.0, 1237000.0]},
    ),
    "byte order mark": OddTable(b"\xef\xbb\xbf" + hourly("%Y-%m-%d %H:%M").encode(), count(30)),
    "windows line ends": OddTable(hourly("%Y-%m-%d %H:%M").replace("\n", "\r\n"), count(30)),
    "old macintosh": OddTable(
        hourly("%Y-%m-%d %H:%M").replace("\n", "\r"), error="carriage returns, as on old Macs"
    ),
    "utf-16": OddTable(hourly("%Y-%m-%d %H:%M").encode("utf-16"), error="iconv"),
    "latin-1": OddTable(
        "t,l\xe4rm\n2024-01-01,1\n2024-01-02,2\n".encode("latin-1"), error="load.csv:1: not valid"
    ),
    "excel's separator line": OddTable(
        "sep=;\nt;load\n2024-01-01;1\n2024-01-02;2\n", {"load": [1.0, 2.0]}
    ),
    "lines above": OddTable(
        "Power plant north\nunit: kW\n\nt,load\n" + "\n".join(five(list("01234")).split("\n")[1:]),
        FIVE,
        remark="first 3 lines",
    ),
    "a row of units": OddTable(
        five(["0", "1", "2", "3"]).replace("load\n", "load\n,kW\n"),
        error="load.csv:2: load is 'kW'",
    ),
    "quotes": OddTable(five([f'"{i}"' for i in range(5)]).replace("t,load", '"t","load"'), FIVE),
    "tabs": OddTable(five(list("01234")).replace(",", "\t"), FIVE, file="load.tsv"),
    "tabs in a csv": OddTable(five(list("01234")).replace(",", "\t"), FIVE, remark="tabs"),
    "semicolons in a txt": OddTable(five(list("01234")).replace(",", ";"), FIVE, file="load.txt"),
    "gzip": OddTable(gzip.compress(five(list("01234")).encode()), FIVE, file="load.csv.gz"),
    "damaged gzip": OddTable(
        gzip.compress(five(list("01234")).encode())[:-12], error="damaged gzip", file="load.csv.gz"
    ),
    "a row is too short": OddTable(
        five(list("01")) + "2024-01-01 02:00\n", error="load.csv:4: 1 col"
    ),
    "a row is too long": OddTable(
        five(list("01")) + "2024-01-01 02:00,2,7,7\n", error="csv:4: 4 col"
    ),
    "a quote is not closed": OddTable(five(["0", '"1', "2"]), error="load.csv:3: a cell begins"),
    "empty lines": OddTable(five(list("01234")).replace("\n", "\n\n"), FIVE),
    "rows of commas": OddTable(five(list("01234")) + ",\n,\n", FIVE),
    "only a header": OddTable("t,load\n", error="no rows of values"),
    "empty": OddTable("", error="the file is empty"),
    "one row": OddTable("t,load\n2024-01-01,5\n", error="load.csv:2: no series has more than one"),
    "a spreadsheet": OddTable(b"PK\x03\x04", error="cannot be read yet", file="load.xlsx"),
    "parquet": OddTable(b"PAR1", error="to_csv", file="load.parquet"),
    "two columns of one name": OddTable(
        table("t,load,load", ["2024-01-01,1,5", "2024-01-02,2,6"]),
        {"load": [1.0, 2.0], "load (2)": [5.0, 6.0]},
    ),
    # Values.
    "missing": OddTable(
        five(["0", "NA", "-", "", "n/a", "5", "NaN", "7"]),
        {"load": [0.0, None, None, None, None, 5.0, None, 7.0]},
        remark="5 of 8 values (62 %) are missing and are not filled in",
    ),
    "infinite": OddTable(
        five(["0", "inf", "-Infinity", "3", "4"]),
        {"load": [0.0, None, None, 3.0, 4.0]},
        remark="2 infinite values",
    ),
    "text in the target": OddTable(
        five(["0", "1", "2", "broken", "4", "5"]), error="load.csv:5: load is 'broken'"
    ),
    "units in the cells": OddTable(
        five(["0 kW", "1 kW", "2 kW"]), error="load.csv:1: no column holds numbers"
    ),
    "units in the target": OddTable(
        five(["0 kW", "1 kW"]), error="load.csv:2: load is '0 kW'", columns=asked("load")
    ),
    "two decimal marks": OddTable(
        five(['"0,5"', '"1,5"', "2.5"]), error="load.csv:4: load is '2.5'"
    ),
    "exponents": OddTable(five(["1e3", "-2.5E-1", "+3"]), {"load": [1000.0, -0.25, 3.0]}),
    "minus sign": OddTable(five(["\u22125", "6", "7"]), {"load": [-5.0, 6.0, 7.0]}),
    "nothing but gaps": OddTable(
        five(["", "", "NA"]), error="all values are missing", columns=asked("load")
    ),
    "ends that are missing": OddTable(
        five(["", "NA", "2", "", "4", ""]), {"load": [2.0, None, 4.0]}, "2024-01-01 02:00", "1h"
    ),
    # Times.
    "day and month are unclear": OddTable(
        table("t,load", [f"01/{m:02}/2024,{m}" for m in range(1, 7)]),
        error="load.csv:2: 01/01/2024 may be day-first or month-first",
    ),
    "everything is unclear": OddTable(
        table("t,load", ["01/02/03,1", "01/03/03,2", "01/04/03,3"]),
        error="day-first or month-first or year-first",
    ),
    "asked and answered": OddTable(
        table("t,load", [f"01/{m:02}/2024,{m}" for m in range(1, 7)]),
        {"load": [1.0, 2.0, 3.0, 4.0, 5.0, 6.0]},
        "2024-01-01",
        "1month",
        reading=SeriesReading(dates="day-first"),
    ),
    "asked and answered otherwise": OddTable(
        table("t,load", [f"01/{m:02}/2024,{m}" for m in range(1, 7)]),
        {"load": [1.0, 2.0, 3.0, 4.0, 5.0, 6.0]},
        "2024-01-01",
        "1d",
        reading=SeriesReading(dates="month-first"),
    ),
    "answered wrongly": OddTable(
        table("t,load", ["13/01/2024,1", "14/01/2024,2"]),
        error="load.csv:2: the time is '13/01/2024', and it cannot be month-first",
        reading=SeriesReading(dates="month-first"),
    ),
    "a later row shows the order": OddTable(
        hourly("%d/%m/%Y %H:%M", 24 * 14), count(24 * 14), "2024-01-01 00:00", "1h", "day-first"
    ),
    "american": OddTable(
        hourly("%m/%d/%Y %I:%M %p", 24 * 14),
        count(24 * 14),
        "2024-01-01 00:00",
        "1h",
        "month-first",
    ),
    "german": OddTable(hourly("%d.%m.%Y %H:%M", 5), count(5), "2024-01-01 00:00", "1h"),
    "mixed formats": OddTable(
        five(list("0123")).replace("2024-01-01 02:00", "01.01.2024 02:00"),
        error="load.csv:4: the time is '01.01.2024 02:00', and it is not written like 2024-01-01",
    ),
    "no such day": OddTable(
        five(list("0123")).replace("01-01 01", "02-30 01"), error="no such day"
    ),
    "no such hour": OddTable(five(list("0123")).replace("01:00", "25:00"), error="no time of day"),
    "no time in a row": OddTable(five(list("012")) + ",3\n", error="load.csv:5: there is no time"),
    "a sum at the end": OddTable(
        five(list("01234")) + "Total,10\n", error="load.csv:7: the time is 'Total'"
    ),
    "utc": OddTable(hourly("%Y-%m-%dT%H:%M:%SZ", 5), count(5), "2024-01-01 00:00+00:00", "1h"),
    "an offset": OddTable(
        hourly("%Y-%m-%dT%H:%M:%S+05:30", 5), count(5), "2024-01-01 00:00+05:30", "1h"
    ),
    "mixed offsets": OddTable(
        table(
            "t,load",
            [
                *(f"2024-10-27 0{h}:00+02:00,{h}" for h in range(3)),
                *(f"2024-10-27 0{h}:00+01:00,{h + 1}" for h in range(2, 4)),
            ],
        ),
        FIVE,
        "2024-10-26 22:00+00:00",
        "1h",
        "--zone Europe/Berlin",
    ),
    "mixed offsets in a zone": OddTable(
        table(
            "t,load",
            [
                *(f"2024-10-27 0{h}:00+02:00,{h}" for h in range(3)),
                *(f"2024-10-27 0{h}:00+01:00,{h + 1}" for h in range(2, 4)),
            ],
        ),
        FIVE,
        "2024-10-27 00:00+02:00",
        "1h",
        reading=BERLIN,
    ),
    "an offset in some rows": OddTable(
        five(list("0123")).replace("02:00,", "02:00Z,"), error="has no offset from UTC"
    ),
    "seconds since 1970": OddTable(
        table("t,load", [f"{1704067200 + 3600 * i},{i}" for i in range(5)]),
        FIVE,
        "2024-01-01 00:00+00:00",
        "1h",
        "seconds since 1970",
    ),
    "milliseconds since 1970": OddTable(
        table("time,load", [f"{(1704067200 + 600 * i) * 1000},{i}" for i in range(5)]),
        FIVE,
        "2024-01-01 00:00+00:00",
        "10min",
        "milliseconds since 1970",
    ),
    "digits": OddTable(
        table("day,load", [f"202401{d:02},{d - 1}" for d in range(1, 6)]), FIVE, "2024-01-01", "1d"
    ),
    "years": OddTable(
        table("year,load", [f"{2000 + y},{y}" for y in range(5)]), FIVE, "2000-01-01", "1year"
    ),
    "months by name": OddTable(
        table("month,load", ["Jan-20,0", "Feb-20,1", "Mar-20,2", "Apr-20,3", "May-20,4"]),
        FIVE,
        "2020-01-01",
        "1month",
    ),
    "month ends": OddTable(
        table(
            "t,load",
            ["2023-12-31,0", "2024-01-31,1", "2024-02-29,2", "2024-03-31,3", "2024-04-30,4"],
        ),
        FIVE,
        "2023-12-31",
        "1month-end",
    ),
    "quarters": OddTable(
        table("q,load", ["2020Q1,0", "2020Q2,1", "2020Q3,2", "2020Q4,3", "2021Q1,4"]),
        FIVE,
        "2020-01-01",
        "1quarter",
    ),
    "weekdays": OddTable(
        table("t,price", [f"2024-01-{d:02},{d}" for d in (1, 2, 3, 4, 5, 8, 9, 11, 12, 15)]),
        {"price": [1.0, 2.0, 3.0, 4.0, 5.0, 8.0, 9.0, None, 11.0, 12.0, 15.0]},
        "2024-01-01",
        "1weekday",
    ),
    "a date and a time of day": OddTable(
        table("Date;Time;load", [f"16/12/2006;{h:02}:24:00;{h}" for h in range(5)]).replace(
            ",", ";"
        ),
        FIVE,
        "2006-12-16 00:24",
        "1h",
        "Date, Time",
    ),
    "a date and an hour": OddTable(
        table("date,hr,load", [f"2024-01-0{1 + i // 3},{i % 3},{i}" for i in range(3)]),
        {"load": [0.0, 1.0, 2.0]},
        "2024-01-01 00:00",
        "1h",
    ),
    "year, month, day and hour": OddTable(
        table("No,year,month,day,hour,load", [f"{i + 1},2010,1,2,{i},{i}" for i in range(5)]),
        FIVE,
        "2010-01-02 00:00",
        "1h",
    ),
    "unsorted": OddTable(
        table("t,load", [f"{HOURS[i]},{i}" for i in (3, 0, 4, 1, 2)]),
        FIVE,
        "2024-01-01 00:00",
        "1h",
        "they are sorted",
    ),
    "latest first": OddTable(
        table("t,load", [f"{HOURS[i]},{i}" for i in (4, 3, 2, 1, 0)]),
        FIVE,
        "2024-01-01 00:00",
        "1h",
    ),
    "a row twice": OddTable(
        five(list("01234")) + "2024-01-01 02:00,2\n", FIVE, remark="1 row occurs twice"
    ),
    "a time twice": OddTable(
        five(list("01234")) + "2024-01-01 02:00,9\n",
        error="load.csv:7: the time 2024-01-01 02:00 is in line 4, too, with other values",
    ),
    "clocks are put back": OddTable(berlin_autumn(), error="--zone Europe/Berlin"),
    "clocks are put back in a zone": OddTable(
        berlin_autumn(),
        {"load": [0.0, 1.0, 2.0, 3.0, 4.0, 5.0]},
        "2024-10-27 00:00+02:00",
        "1h",
        reading=BERLIN,
    ),
    "clocks are put back, latest first": OddTable(
        berlin_autumn(shuffled=True),
        {"load": [0.0, 1.0, 2.0, 3.0, 4.0, 5.0]},
        "2024-10-27 00:00+02:00",
        "1h",
        reading=BERLIN,
    ),
    "clocks are put forward": OddTable(
        berlin_spring(),
        {"load": [0.0, 1.0, None, 2.0, 3.0, 4.0, 5.0]},
        "2024-03-31 00:00",
        "1h",
        "put forward in Europe/Berlin",
    ),
    "clocks are put forward in a zone": OddTable(
        berlin_spring(),
        {"load": [0.0, 1.0, 2.0, 3.0, 4.0, 5.0]},
        "2024-03-31 00:00+01:00",
        "1h",
        reading=BERLIN,
    ),
    "an hour that does not exist": OddTable(
        hourly("%Y-%m-%d %H:%M", 6, "2024-03-31T00:00"),
        error="load.csv:4: 2024-03-31 02:00 does not exist in Europe/Berlin",
        reading=BERLIN,
    ),
    "days where clocks change": OddTable(
        table("t,load", [f"2024-03-{d},{d}" for d in range(29, 32)] + ["2024-04-01,32"]),
        {"load": [29.0, 30.0, 31.0, 32.0]},
        "2024-03-29",
        "1d",
        reading=BERLIN,
    ),
    "no such zone": OddTable(
        five(list("012")), error="did you mean Europe/Berlin", reading=SeriesReading(zone="Berlin")
    ),
    "gaps": OddTable(
        table("t,load", [f"{HOURS[i]},{i}" for i in (0, 1, 2, 5, 6)]),
        {"load": [0.0, 1.0, 2.0, None, None, 5.0, 6.0]},
        "2024-01-01 00:00",
        "1h",
        "the longest gap is 2 values from 2024-01-01 03:00 on",
    ),
    "irregular": OddTable(
        table(
            "t,load", [f"2024-01-01 {h:02}:{m:02},{h}" for h, m in enumerate((0, 3, 1, 7, 2, 9))]
        ),
        error="--every 1h takes the mean",
    ),
    "irregular, means": OddTable(
        table("t,load", [f"2024-01-01 {h:02}:{m:02},{h}" for h in range(3) for m in (3, 17, 44)]),
        {"load": [0.0, 1.0, 2.0]},
        "2024-01-01 00:00",
        "1h",
        "mean of 1h",
        reading=SeriesReading(every="1h"),
    ),
    "one time is off": OddTable(
        hourly("%Y-%m-%d %H:%M").replace("2024-01-01 05:00", "2024-01-01 05:07"),
        error="load.csv:7: the step to 2024-01-01 05:07 is 67min, and most are 1h",
    ),
    "means of less": OddTable(
        five(list("012")), error="no means of less", reading=SeriesReading(every="5min")
    ),
    "no length of time": OddTable(
        five(list("012")), error="write one like 10s", reading=SeriesReading(every="soon")
    ),
    "one year is wrong": OddTable(
        hourly("%Y-%m-%d %H:%M") + "9024-01-03 00:00,5\n", error="mend the time that is wrong"
    ),
    "days of Excel": OddTable(
        table("date,load", [f"{45292 + i},{i}" for i in range(5)]),
        FIVE,
        "45292",
        "1row",
        "of Excel",
    ),
    "days of Excel with fractions": OddTable(
        table("date,load", [f"{45292 + i / 24:.5f},{i}" for i in range(5)]),
        error="neither a time nor the number of a row",
        columns=asked("load", "date"),
    ),
    "years of two digits": OddTable(
        table("t,load", [f"{d:%d.%m.%y},{i}" for i, d in enumerate(hours(40, every=1440))]),
        count(40),
        "2024-01-01",
        "1d",
        "years apart",
    ),
    "times that nobody can read": OddTable(
        table("Uhrzeit,load", [f"{each} MEZ,{i}" for i, each in enumerate(HOURS)]),
        error="load.csv:2: the time is '2024-01-01 00:00 MEZ'",
    ),
    "from and to": OddTable(
        table(
            "MTU,load",
            [
                f"{t:%d.%m.%Y %H:%M} - {t + timedelta(hours=1):%d.%m.%Y %H:%M},{i}"
                for i, t in enumerate(hours(5))
            ],
        ),
        FIVE,
        "2024-01-01 00:00",
        "1h",
    ),
    "fractions of seconds": OddTable(
        table("ts,load", [f"{1704067200 + i / 4:.2f},{i}" for i in range(5)]),
        FIVE,
        "2024-01-01 00:00:00.000+00:00",
        "250ms",
    ),
    "nanoseconds": OddTable(
        table("t,load", [f"2024-01-01T00:00:0{i}.000000000Z,{i}" for i in range(5)]),
        FIVE,
        step="1s",
    ),
    "the end of a day": OddTable(
        table("t,load", [f"2024-01-01 {h}:00,{h - 20}" for h in range(20, 25)]), FIVE, step="1h"
    ),
    "weeks": OddTable(
        table("week,load", [f"2024-W0{i + 1},{i}" for i in range(5)]), FIVE, "2024-01-01", "1week"
    ),
    "a clock in another column": OddTable(
        table(
            "Datum;Uhrzeit;load", [f"{t:%d.%m.%Y};{t:%H:%M};{i}" for i, t in enumerate(hours(30))]
        ),
        count(30),
        "2024-01-01 00:00",
        "1h",
    ),
    # Shapes.
    "no times": OddTable("load\n0\n1\n2\n3\n4\n", FIVE, "0", "1row", "counted from 0"),
    "no times, no header": OddTable("5.5\n6.5\n\n8.5\n", {"column 1": [5.5, 6.5, None, 8.5]}, "0"),
    "numbers of rows": OddTable(
        table("t,load", ["10,0", "11,1", "13,3", "14,4"]),
        {"load": [0.0, 1.0, None, 3.0, 4.0]},
        "10",
        "1row",
    ),
    "long": OddTable(
        table(
            "unique_id,ds,y",
            [f"{n},{HOURS[i]},{v + i}" for n, v in (("a", 0), ("b", 10)) for i in range(3)],
        ),
        {"a": [0.0, 1.0, 2.0], "b": [10.0, 11.0, 12.0]},
        "2024-01-01 00:00",
        "1h",
        "each value of column unique_id",
    ),
    "long, mixed": OddTable(
        table(
            "ds,y,place",
            [f"{HOURS[i]},{v + i},{n}" for i in range(3) for n, v in (("a", 0), ("b", 10))],
        ),
        {"a": [0.0, 1.0, 2.0], "b": [10.0, 11.0, 12.0]},
    ),
    "two ids": OddTable(
        table(
            "shop,item,t,sold",
            [f"{s},{k},2024-01-0{d},{s}{k}{d}" for s in (1, 2) for k in (3, 4) for d in (1, 2)],
        ),
        {f"{s} / {k}": [float(f"{s}{k}1"), float(f"{s}{k}2")] for s in (1, 2) for k in (3, 4)},
        columns=asked("sold", id="shop,item"),
    ),
    "ids without times": OddTable(
        table("id,y", ["a,1", "a,2", "b,5", "b,6", "b,7"]),
        {"a": [1.0, 2.0], "b": [5.0, 6.0, 7.0]},
        "0",
        columns=asked("y", id="id"),
    ),
    "which is the target": OddTable(
        table("unique_id,ds,a,b", [f"x,{HOURS[i]},1,2" for i in range(3)]),
        error="name it with --target",
    ),
    "other steps": OddTable(
        table(
            "id,t,y",
            [
                *(f"a,{each},1" for each in HOURS),
                *(f"b,2024-01-{d:02} 00:00,2" for d in range(1, 9)),
            ],
        ),
        error="the series b has steps of 24h, and others of 1h",
    ),
    "wide": OddTable(
        table("t,a,b", [f"2024-01-0{d},{d},{d * 10}" for d in range(1, 4)]),
        {"a": [1.0, 2.0, 3.0], "b": [10.0, 20.0, 30.0]},
        "2024-01-01",
        "1d",
        "2 columns a, b are a series each",
    ),
    "a row for each series": OddTable(
        '"V1","V2","V3","V4"\n"H1","1","2","3"\n"H2","4","5",""\n',
        {"H1": [1.0, 2.0, 3.0], "H2": [4.0, 5.0]},
        "0",
        "1row",
        "each row is a series",
    ),
    "a row for each series, with dates": OddTable(
        "Page,2015-07-01,2015-07-02,2015-07-03\nA,1,2,3\nB,,5,6\n",
        {"A": [1.0, 2.0, 3.0], "B": [5.0, 6.0]},
        "2015-07-01",
        "1d",
    ),
    "a row for each series, with years": OddTable(
        "country,1990,1991,1992\nFrance,1,2,3\nItaly,4,,6\n",
        {"France": [1.0, 2.0, 3.0], "Italy": [4.0, None, 6.0]},
        "1990-01-01",
        "1year",
    ),
    "a row for each series, named in two columns": OddTable(
        "Province,Country,Lat,1/22/20,1/23/20,1/24/20\n,Chad,15,0,1,2\nACT,Australia,-35,3,4,5\n"
        "NSW,Australia,-33,6,7,8\n",
        {
            "Chad": [0.0, 1.0, 2.0],
            "ACT / Australia": [3.0, 4.0, 5.0],
            "NSW / Australia": [6.0, 7.0, 8.0],
        },
        "2020-01-22",
        "1d",
        "month-first",
    ),
    "two ids that nobody names": OddTable(
        table(
            "day,store,item,sold",
            [f"2024-01-0{d},{s},{i},{s}{i}{d}" for s in (1, 2) for i in (3, 4) for d in (1, 2, 3)],
        ),
        {f"{s} / {i}": [float(f"{s}{i}{d}") for d in (1, 2, 3)] for s in (1, 2) for i in (3, 4)},
        "2024-01-01",
        "1d",
        "column store, item",
    ),
    "a unit in a column": OddTable(
        table("t,load,unit", [f"{HOURS[i]},{i},kW" for i in range(5)]),
        FIVE,
        remark="left out: unit",
    ),
    "a time twice beside a text": OddTable(
        table("t,load,weather", [*(f"{HOURS[i]},{i},sun" for i in range(9)), f"{HOURS[4]},9,rain"]),
        error="load.csv:11: the time 2024-01-01 04:00 is in line 6, too",
    ),
    "a name twice": OddTable(
        "V1,V2,V3,V4\nH1,1,2,3\nH2,4,5,6\nH1,7,8,9\n", error="load.csv:4: the series H1 is in"
    ),
    "lines of JSON": OddTable(
        "".join(f'{{"t": "{HOURS[i]}", "load": {"null" if i == 2 else i}}}\n' for i in range(4)),
        {"load": [0.0, 1.0, None, 3.0]},
        "2024-01-01 00:00",
        "1h",
        file="load.jsonl",
    ),
    "a list of numbers": OddTable("[1.5, 2, 3]", {"value": [1.5, 2.0, 3.0]}, file="load.json"),
    "a list in a row": OddTable(
        '{"t": "2024-01-01", "load": [1, 2]}\n',
        error="load.jsonl:1: load is [1, 2]",
        file="load.jsonl",
    ),
    # Columns that are asked for.
    "no such column": OddTable(
        five(list("012")), error="did you mean load?", columns=asked("laod")
    ),
    "a column by its number": OddTable(five(list("01234")), FIVE, columns=asked("2", "1")),
    "the target is known": OddTable(
        five(list("012")), error="is given as target and known", columns=asked("load", known="load")
    ),
    "text is known": OddTable(
        table("t,load,weather", ["2024-01-01,1,rain", "2024-01-02,2,sun"]),
        error="load.csv:2: weather is 'rain'",
        columns=asked("load", known="weather"),
    ),
}
