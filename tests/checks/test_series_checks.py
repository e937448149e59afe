"""Checks of series: what is planted is found, and what is usual is not."""

from pathlib import Path

import numpy as np
import pytest

from regard.checks.kinds import recognise
from regard.checks.report import Report
from regard.checks.series import check_series
from regard.checks.series_findings import Lengths
from regard.data.seasons import season_of, usual_seasons
from regard.data.series import Floats, Series, SeriesTable
from regard.data.series_tables import read_series
from regard.data.steps import Clock, Step
from regard.errors import DataError

HOURLY = Clock(Step.parse("1h"))
START = 1_704_067_200_000_000


def load(size: int = 1000, seed: int = 0) -> Floats:
    """Hours with a day, a week and noise."""
    random, hours = np.random.default_rng(seed), np.arange(size)
    day = 10 * np.sin(2 * np.pi * hours / 24) + 5 * np.cos(4 * np.pi * hours / 24)
    return 100 + day + random.normal(0, 1, size)


def table(*values: Floats, known: dict[str, Floats] | None = None) -> SeriesTable:
    known = known or {}
    series = [
        Series(f"s{number}", START, each, np.stack([*known.values()], 1) if known else each[:, :0])
        for number, each in enumerate(np.reshape(one, (-1, 1)) for one in values)
    ]
    flat = [Series(each.name, each.start, each.values[:, 0], each.known) for each in series]
    return SeriesTable(flat, HOURLY, "load", tuple(known))


def report(given: SeriesTable, context: int = 0, horizon: int = 0) -> Report:
    return check_series(["load.csv"], lambda: given, Lengths(context, horizon))


def codes(found: Report) -> dict[str, str]:
    return {finding.code: finding.severity for finding in found.findings}


def test_usual_series_are_let_through() -> None:
    found = report(table(load(), load(seed=1)), context=72, horizon=24)
    assert codes(found) == {}
    facts = {fact.name: fact.value for fact in found.facts}
    assert facts["series"] == 2
    assert facts["values"] == 2000
    assert facts["step"] == "1h"
    assert facts["season"] == 24
    assert facts["times"] == ["2024-01-01 00:00", "2024-02-11 15:00"]
    assert found.samples


def planted(at: int, value: float, size: int = 1) -> Floats:
    values = load()
    values[at : at + size] = value
    return values


LOAD = load(1048)
RANDOM = np.random.default_rng(5).normal(size=1000)
PLANTED = {
    "constant": (table(np.full(500, 7.0)), "error"),
    "one of several is constant": (table(load(), np.full(1000, 7.0)), "warning"),
    "short": (table(load(100)), "error"),
    "one of several is short": (table(load(), load(50)), "warning"),
    "few": (table(load(60)), "warning"),
    "missing": (table(np.where(np.arange(1000) % 10 == 3, np.nan, load())), "warning"),
    "scales": (table(load(), load() * 1e7), "warning"),
    "marks": (table(planted(500, -999.0)), "warning"),
    "jumps": (table(planted(500, 5000.0)), "warning"),
    "stuck": (table(planted(500, 103.25, 100)), "warning"),
    "leak": (table(LOAD[:1000], known={"copy": LOAD[:1000]}), "error"),
    "leak, in other units": (table(LOAD[:1000], known={"kW": LOAD[:1000] * 1000 + 5}), "error"),
    "leak, an hour later": (table(LOAD[:1000], known={"next": LOAD[1:1001]}), "error"),
    "leak, an hour earlier": (table(LOAD[1:1001], known={"last": LOAD[:1000]}), "error"),
    "leak, two days earlier": (table(LOAD[48:1048], known={"last": LOAD[:1000]}), "note"),
    "known-missing": (
        table(LOAD[:1000], known={"heat": np.where(RANDOM > 2, np.nan, RANDOM)}),
        "warning",
    ),
    "known-ends": (table(LOAD[:1000], known={"heat": RANDOM}), "note"),
    "ends": (table(load(), load(990)), "note"),
}


@pytest.mark.parametrize("name", PLANTED)
def test_what_is_planted_is_found(name: str) -> None:
    given, severity = PLANTED[name]
    found = codes(report(given, context=72, horizon=48))
    code = name.partition(",")[0]
    code = {"one of several is constant": "constant", "one of several is short": "short"}.get(
        code, code
    )
    assert found.get(code) == severity


def test_a_column_that_is_only_alike_is_no_leak() -> None:
    heat = 0.8 * load() + np.random.default_rng(3).normal(0, 2, 1000)
    holiday = (np.arange(1000) // 24 % 7 > 4).astype(float)
    found = report(table(load(), known={"heat": heat, "holiday": holiday}), 72, 24)
    assert "leak" not in codes(found)


def test_the_future_of_what_is_known_counts() -> None:
    known = np.random.default_rng(3).normal(size=(1024, 1))
    series = Series("load", START, load(), known)
    found = report(SeriesTable([series], HOURLY, "load", ("heat",)), 72, 24)
    assert codes(found) == {}


def test_a_table_that_cannot_be_read_is_one_error(tmp_path: Path) -> None:
    path = tmp_path / "load.csv"
    path.write_text("t,load\n2024-01-01,1\n2024-01-02,x\n2024-01-03,3\n")
    found = check_series([path], lambda: read_series([path]))
    assert found.unread
    assert "load.csv:3" in found.findings[0].sentence


def test_how_a_table_was_read_is_part_of_the_report(tmp_path: Path) -> None:
    path = tmp_path / "load.csv"
    path.write_text("t;load\n" + "".join(f"{day:02}.01.2024;{day},5\n" for day in range(1, 20)))
    found = check_series([path], lambda: read_series([path]))
    notes = [finding.sentence for finding in found.findings if finding.code == "reading"]
    assert any("decimal comma" in note for note in notes)
    assert any("day-first" in note for note in notes)


@pytest.mark.parametrize(
    ("step", "seasons"),
    [
        ("30min", (48, 336)),
        ("1h", (24, 168)),
        ("1d", (7, 365)),
        ("1weekday", (5,)),
        ("1week", (52,)),
        ("1month", (12,)),
        ("1quarter", (4,)),
        ("1year", ()),
        ("10min", (144, 1008)),
        ("1s", (86_400, 604_800)),
        ("7min", (1440,)),
        ("11min", ()),
        ("1row", ()),
    ],
)
def test_a_step_suggests_seasons(step: str, seasons: tuple[int, ...]) -> None:
    assert usual_seasons(Step.parse(step)) == seasons


def with_step(values: Floats, step: str) -> SeriesTable:
    series = Series("load", START, values, np.zeros((len(values), 0)))
    return SeriesTable([series], Clock(Step.parse(step)))


def test_a_season_is_confirmed_by_the_data() -> None:
    found = season_of(with_step(load(2000), "1h"))
    assert found.length == 24
    assert found.lengths == (24, 168)
    weekly = load(2000) * np.where(np.arange(2000) // 24 % 7 > 4, 0.5, 1.0)
    assert season_of(with_step(weekly, "1h")).length == 168


@pytest.mark.parametrize("seed", range(5))
def test_chance_is_no_season(seed: int) -> None:
    noise = np.random.default_rng(seed).normal(size=3000)
    for values in (noise, np.cumsum(noise), np.full(3000, 2.0), np.arange(3000.0), noise[:5]):
        for step in ("1h", "1d", "1month", "1row"):
            assert season_of(with_step(values, step)).length == 1


@pytest.mark.parametrize("period", [4, 7, 12, 24, 30, 50])
def test_a_season_shows_where_there_are_no_times(period: int) -> None:
    noise = np.random.default_rng(0).normal(size=2000)
    values = 3 * np.sin(2 * np.pi * np.arange(2000) / period) + noise
    assert season_of(with_step(values, "1row")).length == period


def test_gaps_do_not_hide_a_season() -> None:
    values = load(2000)
    values[np.random.default_rng(1).random(2000) < 0.2] = np.nan
    assert season_of(with_step(values, "1h")).length == 24


@pytest.mark.parametrize(
    ("text", "flag"),
    [
        ("t,load\n2024-01-01,1\n2024-01-02,2\n2024-01-03,3\n", "series"),
        ("unique_id,ds,y\na,2024-01-01,1\na,2024-01-02,2\nb,2024-01-01,3\n", "series"),
        (
            "V1,V2,V3,V4,V5,V6,V7,V8,V9\n" + "".join(f"H{i},1,2,3,4,5,6,7,8\n" for i in range(5)),
            "series",
        ),
        ("5.5\n6.5\n7.5\n8.5\n", "series"),
        ("text,label\n" + "".join(f"a film number {i},{i % 2}\n" for i in range(30)), "labelled"),
        ("date,en,fr,rank\n" + "".join(f"2024-01-01,w{i},m{i},{i}\n" for i in range(30)), "pairs"),
        ("the cat sleeps,le chat dort\nthe dog,le chien\n" * 9, "pairs"),
        (
            "date,review,stars\n"
            + "".join(f"2024-01-{i:02},so good {i},{i % 3}\n" for i in range(1, 31)),
            "labelled",
        ),
    ],
)
def test_series_are_told_from_texts(text: str, flag: str, tmp_path: Path) -> None:
    path = tmp_path / "a.csv"
    path.write_text(text)
    assert recognise([path]).flag == flag


def test_a_bad_table_is_no_traceback_when_it_is_recognised(tmp_path: Path) -> None:
    path = tmp_path / "a.csv"
    path.write_text("")
    with pytest.raises(DataError):
        recognise([path])
