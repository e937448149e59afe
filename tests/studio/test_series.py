"""What the studio says of forecasts."""

import shutil
import time
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import regard
from regard.errors import RequestError
from regard.run import Run
from regard.studio.requests import Asked, Found, Looked, Window
from regard.studio.runs import OpenRun
from regard.studio.series import (
    series_forecast,
    series_names,
    series_overview,
    series_past,
    thinned,
    until,
)
from regard.studio.series_scores import series_scores
from tests.series_runs import CONTEXT, HORIZON, LENGTH, write_forecasters
from tests.studio.conftest import Served, Serving


@pytest.fixture(scope="module")
def folders(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Path]:
    return write_forecasters(tmp_path_factory.mktemp("series"))


@pytest.fixture(scope="module")
def runs(folders: dict[str, Path]) -> dict[str, OpenRun]:
    return {name: OpenRun(folder) for name, folder in folders.items()}


@pytest.fixture(scope="module")
def serving(folders: dict[str, Path]) -> Iterator[Served]:
    with Serving([folders["linear"]]) as server:
        yield server


def measured(run: OpenRun) -> dict[str, Any]:
    until = time.monotonic() + 60
    while (answer := series_scores(run, Asked()))["found"] is None:
        assert time.monotonic() < until
        time.sleep(0.05)
    assert answer["done"] == answer["total"]
    return answer["found"]  # type: ignore[no-any-return]


def test_series_are_found_by_their_names(runs: dict[str, OpenRun]) -> None:
    found = series_names(runs["linear"], Found())
    assert found["names"] == [[0, "north"], [1, "south"], [2, "north wing"]]
    assert found["count"] == 3
    assert found["zone"] == "Europe/Berlin"
    assert found["columns"] == ["holiday", "time of day", "day of week", "day of year"]
    assert series_names(runs["linear"], Found(text="NORTH"))["matches"] == 2
    wing = series_names(runs["linear"], Found(text="wing"))
    assert wing["names"] == [[2, "north wing"]]
    assert series_names(runs["linear"], Found(text="west"))["names"] == []


def test_those_that_begin_with_a_text_come_first(runs: dict[str, OpenRun]) -> None:
    names = [name for _, name in series_names(runs["linear"], Found(text="n"))["names"]]
    assert names == ["north", "north wing"]
    names = [name for _, name in series_names(runs["linear"], Found(text="s"))["names"]]
    assert names == ["south"]


@pytest.mark.parametrize("name", ["transformer", "linear"])
def test_the_forecast_is_pythons(name: str, runs: dict[str, OpenRun]) -> None:
    """From the end, where the run's own command continues, and with what is known there."""
    found = series_forecast(runs[name], Window(series=1, end=LENGTH, first=LENGTH - 30))
    expected = regard.load(runs[name].folder).forecast(only="south")
    assert found["ahead"] == expected.times
    assert found["median"] == pytest.approx(expected.median.tolist())
    for percent in (50, 80, 95):
        for mine, theirs in zip(
            found["intervals"][str(percent)], expected.interval(percent), strict=True
        ):
            assert mine == pytest.approx(theirs.tolist())
    assert found["error"] is None
    assert found["times"][30:] == expected.times
    assert found["values"] == pytest.approx(expected.past[-30:].tolist())


def test_an_earlier_end_sees_nothing_of_what_came(
    runs: dict[str, OpenRun], folders: dict[str, Path], tmp_path: Path
) -> None:
    """As a table says that has only the values before it."""
    end = 300
    lines = (folders["linear"].parent / "load.csv").read_text().splitlines()
    kept = lines[1 : end + 1] + [
        ",".join((*line.split(",")[:2], "", line.split(",")[3]))
        for line in lines[end + 1 : end + 1 + HORIZON]
    ]
    (tmp_path / "short.csv").write_text("\n".join([lines[0], *kept]) + "\n")
    expected = regard.load(folders["linear"]).forecast(tmp_path / "short.csv")
    found = series_forecast(runs["linear"], Window(end=end, first=end - 10, last=end + 40))
    assert found["ahead"] == expected.times
    assert found["median"] == pytest.approx(expected.median.tolist())
    true = [float(line.split(",")[2]) for line in lines[end + 1 : end + 1 + HORIZON]]
    assert found["values"][10 : 10 + HORIZON] == pytest.approx(true)
    distance = np.abs(np.array(found["median"]) - true).mean()
    assert found["error"]["model"] == pytest.approx(distance)
    assert found["naive"] == pytest.approx(
        [float(line.split(",")[2]) for line in lines[end + 1 - 24 : end + 1 - 24 + HORIZON]]
    )


def test_dates_are_those_of_the_place(runs: dict[str, OpenRun]) -> None:
    """The hour that clocks skip is not there."""
    found = series_forecast(runs["linear"], Window(end=380, first=340))
    times = found["times"]
    at = times.index("2024-03-31 01:00+01:00")
    assert times[at + 1] == "2024-03-31 03:00+02:00"


def test_a_column_that_is_off_is_its_mean(runs: dict[str, OpenRun]) -> None:
    run = runs["linear"]
    usual = series_forecast(run, Window(end=300))
    found = series_forecast(run, Window(end=300, off=[0]))
    assert usual["usual"] is None
    assert usual["moved"] is None
    assert found["usual"]["median"] == usual["median"]
    assert run.series is not None
    with run.opened() as forecaster:
        table = until(run.series.table, run.series.table.series[0], 300, CONTEXT, HORIZON)
        mean = np.full_like(table.series[0].known, float(forecaster.model.known.mean[0]))
        expected = forecaster.forecast(
            replace(table, series=[replace(table.series[0], known=mean)])
        )
    assert found["median"] == pytest.approx(expected.median.tolist(), rel=1e-5)
    distance = np.abs(np.array(usual["median"]) - found["median"])
    assert found["moved"]["mean"] == pytest.approx(distance.mean())
    assert found["moved"]["time"] == found["ahead"][distance.argmax()]
    # A holiday adds 8, and half of the hours have one.
    assert 1 < distance.mean() < 8
    # Nothing stays off.
    assert series_forecast(run, Window(end=300))["median"] == usual["median"]


def test_parts_of_the_calendar_are_columns_too(runs: dict[str, OpenRun]) -> None:
    for at in range(4):
        found = series_forecast(runs["transformer"], Window(end=300, off=[at]))
        assert found["moved"]["mean"] > 0
    with pytest.raises(RequestError, match="4 known columns"):
        series_forecast(runs["transformer"], Window(end=300, off=[4]))


def test_an_overview_keeps_the_lowest_and_the_highest(runs: dict[str, OpenRun]) -> None:
    found = series_overview(runs["linear"], Window(series=2))
    assert found["name"] == "north wing"
    assert found["ends"] == [1, LENGTH]
    assert found["end"] == LENGTH - HORIZON
    assert found["began"] == LENGTH - round(0.2 * LENGTH)
    assert len(found["points"]) == LENGTH
    values = np.zeros(100_000)
    values[[777, 50_000]] = 9, -9
    values[10:20] = np.nan
    points = thinned(values)
    assert len(points) <= 610
    assert [777, 9.0] in points
    assert [50_000, -9.0] in points
    assert [step for step, _ in points] == sorted(step for step, _ in points)


def test_the_past_is_where_python_says(runs: dict[str, OpenRun]) -> None:
    run = runs["transformer"]
    found = series_past(run, Looked(series=1, end=LENGTH))
    maps = regard.load(run.folder).maps(only="south")
    assert found["parts"] == maps.parts
    assert found["hidden"] == pytest.approx(maps.hidden.tolist(), rel=1e-4)
    assert np.allclose(found["attention"], maps.attention().weights, atol=1e-6)
    assert found["first"] == LENGTH - CONTEXT
    assert found["heads"] == [2, 2]
    head = series_past(run, Looked(series=1, end=LENGTH, layer=1, head=0))
    assert np.allclose(head["attention"], maps.attention(1, 0).weights, atol=1e-6)
    other = series_past(run, Looked(series=1, end=LENGTH, layer=9))
    assert np.allclose(other["attention"], found["attention"])
    plain = series_past(runs["linear"], Looked(end=20))
    assert plain["attention"] == []
    # The series is shorter than what the model reads.
    assert plain["first"] == 20 - CONTEXT
    assert plain["parts"][0] == ""


def test_scores_are_those_of_validation(runs: dict[str, OpenRun]) -> None:
    found = measured(runs["linear"])
    info = Run(runs["linear"].folder).info()["validation"]
    for name in ("mase", "wql"):
        assert found["scores"][name]["model"] == pytest.approx(info[name], rel=1e-4)
        assert found["scores"][name]["seasonal naive"] == pytest.approx(info[f"naive_{name}"])
    assert found["verdict"] == ""
    assert np.mean(found["by_step"]["model"]) == pytest.approx(
        found["scores"]["mae"]["model"], rel=1e-6
    )
    assert len(found["by_hour"]["seasonal naive"]) == 24
    assert set(found["coverage"]) == {"model", "before calibration", "seasonal naive"}
    for held in found["coverage"].values():
        assert 0 <= held["50"] <= held["80"] <= held["95"] <= 100


def test_a_run_that_loses_says_so(runs: dict[str, OpenRun]) -> None:
    words = "no better than the seasonal naive forecast"
    assert words in series_names(runs["loser"], Found())["verdict"]
    assert words in measured(runs["loser"])["verdict"]
    assert series_names(runs["linear"], Found())["verdict"] == ""


def test_without_its_training_data_the_end_is_shown(
    folders: dict[str, Path], tmp_path: Path
) -> None:
    copy = tmp_path / "copy"
    shutil.copytree(folders["linear"], copy, ignore=shutil.ignore_patterns("training"))
    run = OpenRun(copy)
    assert series_names(run, Found())["whole"] is False
    found = series_overview(run, Window())
    assert found["length"] == CONTEXT
    assert found["began"] is None
    expected = regard.load(copy).forecast(only="north").median
    at_end = series_forecast(run, Window(end=found["ends"][1]))
    assert at_end["median"] == pytest.approx(expected.tolist())
    with pytest.raises(RequestError, match="no longer here"):
        measured(run)


def test_the_server_answers_and_refuses(serving: Served, folders: dict[str, Path]) -> None:
    (described,) = serving.ask("/api/runs").json()["runs"]
    assert described["views"] == ["series", "training", "blocks"]
    found = serving.ask("/api/series_forecast", {"series": 1, "end": 300})
    assert found.status == 200
    assert len(found.json()["median"]) == HORIZON
    for values, problem in (
        ({"series": 3}, "there is no series 4; there are 3"),
        ({"series": -1}, "series"),
        ({"end": 10**13}, "end"),
        ({"off": list(range(300))}, "off"),
        ({"series": "north"}, "series"),
        ({"horizon": 5}, "horizon"),
    ):
        answer = serving.ask("/api/series_forecast", values)
        assert answer.status == 400
        assert problem in answer.json()["error"]
    assert serving.ask("/api/series_names", {"text": "x" * 201}).status == 400


def test_other_runs_have_no_series(folders: dict[str, Path], text_folders: dict[str, Path]) -> None:
    run = OpenRun(text_folders["tagging"])
    for answer, asked in (
        (series_names, Found()),
        (series_forecast, Window()),
        (series_past, Looked()),
        (series_scores, Asked()),
    ):
        with pytest.raises(RequestError, match="forecasts no series"):
            answer(run, asked)  # type: ignore[operator]
