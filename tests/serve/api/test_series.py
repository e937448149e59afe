"""Series in, forecasts out: however they are sent, and whatever else is sent."""

import csv
import io
import json
import time
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

import regard
from regard.cli import main
from regard.serve.http.limits import Limits
from regard.tasks.forecast import facts
from regard.tasks.forecaster import Forecaster
from tests.data.odd_series import TABLES
from tests.serve.conftest import Live, Start

HORIZON, LENGTH = 12, 60
KEY = "a-key-of-the-plant"
HOLIDAY = [step % 5 == 0 for step in range(LENGTH + HORIZON)]
VALUES: list[float | None] = [
    None if step == 20 else round(50 + 10 * np.sin(2 * np.pi * step / 24) + step % 3, 3)
    for step in range(LENGTH)
]
# The first hours after clocks are put forward in Berlin.
TIMES = [
    f"{np.datetime64('2024-03-31T01') + np.timedelta64(step, 'h')}:00Z"
    for step in range(LENGTH + HORIZON)
]
START = "2024-03-31 03:00"
SENT = {"series": VALUES, "start": START, "known": {"holiday": HOLIDAY}}


def rows(name: str = "") -> list[dict[str, Any]]:
    found = [
        {"time": time, "load": value, "holiday": int(holiday)}
        for time, value, holiday in zip(TIMES, [*VALUES, *[None] * HORIZON], HOLIDAY, strict=True)
    ]
    return [{**row, "house": name or "series"} for row in found]


def text(found: list[dict[str, Any]], delimiter: str = ",") -> str:
    file = io.StringIO()
    writer = csv.DictWriter(file, found[0].keys(), delimiter=delimiter, lineterminator="\n")
    writer.writeheader()
    writer.writerows(found)
    return file.getvalue()


@pytest.fixture(scope="module")
def live(start: Start, series_runs: dict[str, Path]) -> Live:
    limits = Limits(texts_per_minute=10**6, values=3000, body_bytes=300_000)
    return start(limits, more_runs=tuple(series_runs.values()))


@pytest.fixture(scope="module")
def forecaster(series_runs: dict[str, Path]) -> Forecaster:
    return Forecaster.load(series_runs["linear"])


def test_a_series_is_forecast_however_it_is_sent(live: Live, forecaster: Forecaster) -> None:
    expected = forecaster.forecast(rows())
    assert not isinstance(expected, list)
    assert expected.times[0] == "2024-04-02 15:00+02:00"
    form = {"model": "linear", "levels": "80,95"}
    asked = {"model": "linear", "levels": [80, 95]}
    table, tabs = text(rows()), text(rows(), "\t")
    answers = [
        live.post("/forecast", **SENT, **asked),
        live.post("/forecast", **{**SENT, "start": TIMES[0], "step": "60min"}, **asked),
        live.post("/forecast", **{**SENT, "start": None, "times": TIMES}, **asked),
        live.post("/forecast", table=rows(), **asked),
        live.post("/forecast", table=table, **asked),
        live.client.post("/forecast", data={"table": table, **form}),
        live.client.post("/forecast", files={"file": ("load.csv", table)}, data=form),
        live.client.post("/forecast", files={"file": ("load.tsv", tabs)}, data=form),
        live.client.post("/forecast", files={"file": ("load", table)}, data=form),
    ]
    assert [each.status_code for each in answers] == [200] * len(answers)
    for each in answers:
        found = each.json()
        assert (found["model"], found["season"], found["calibrated"]) == ("linear", 24, True)
        (one,) = found["forecasts"]
        assert (one["series"], one["times"]) == ("series", expected.times)
        assert set(one["intervals"]) == {"80", "95"}
        for name in ("mean", "median", "naive"):
            assert one[name] == pytest.approx(getattr(expected, name).tolist())
        low, high = expected.interval(80)
        assert one["intervals"]["80"]["low"] == pytest.approx(low.tolist())
        assert one["intervals"]["80"]["high"] == pytest.approx(high.tolist())
        assert any("1 of 60 values (1.7 %) are missing" in remark for remark in found["remarks"])


def test_the_naive_forecast_repeats_the_last_season(live: Live) -> None:
    one = live.post("/forecast", **SENT, model="linear").json()["forecasts"][0]
    assert one["naive"] == VALUES[LENGTH - 24 : LENGTH - 24 + HORIZON]


def test_what_is_known_in_advance_moves_the_forecast(live: Live) -> None:
    medians = []
    for ahead in (0, 1):
        known = {"holiday": [*HOLIDAY[:LENGTH], *[ahead] * HORIZON]}
        found = live.post("/forecast", **{**SENT, "known": known}, model="linear").json()
        medians.append(np.array(found["forecasts"][0]["median"]))
    assert (medians[1] - medians[0]).mean() == pytest.approx(8, abs=2.5)


def test_what_the_model_learned_from_is_continued(live: Live, series_runs: dict[str, Path]) -> None:
    found = live.post("/forecast", model="linear").json()
    expected = regard.load(series_runs["linear"]).forecast()
    assert [each["series"] for each in found["forecasts"]] == ["north", "south", "north wing"]
    for one, other in zip(found["forecasts"], expected, strict=True):
        assert json.loads(json.dumps(facts(other, (50, 80, 95)))) == one
    chosen = live.post("/forecast", model="linear", only=["south", "north"]).json()
    assert [each["series"] for each in chosen["forecasts"]] == ["south", "north"]
    form = {"model": "linear", "only": ["south", "north"]}
    assert live.client.post("/forecast", data=form).json() == chosen
    one = live.post("/forecast", model="linear", only="south").json()
    assert [each["series"] for each in one["forecasts"]] == ["south"]


def test_rows_without_times_are_counted(live: Live, series_runs: dict[str, Path]) -> None:
    values = [float(10 + step % 24) for step in range(48)]
    expected = regard.load(series_runs["rows"]).forecast(values)
    for sent in ({}, {"start": 0}, {"start": "0"}, {"times": list(range(48))}):
        (one,) = live.post("/forecast", model="rows", series=values, **sent).json()["forecasts"]
        assert one["times"] == [str(step) for step in range(48, 54)]
        assert one["median"] == pytest.approx(expected.median.tolist())
    later = live.post("/forecast", model="rows", series=values, start=500).json()
    assert later["forecasts"][0]["times"][0] == "548"
    assert live.error("/forecast", model="rows", series=values, known={"a": [1]})[1].endswith(
        "the model takes nothing, so leave it out in known"
    )


def test_several_series_are_forecast_in_their_order(live: Live) -> None:
    both = [*rows("b"), *rows("a")]
    found = live.post("/forecast", model="linear", table=both).json()["forecasts"]
    assert [each["series"] for each in found] == ["b", "a"]
    assert found[0]["median"] == found[1]["median"]


def test_it_is_listed_and_described(live: Live) -> None:
    listed = [each["id"] for each in live.client.get("/v1/models").json()["data"]]
    assert listed[:2] == ["linear", "rows"]  # then the pairs of languages
    spec = live.client.get("/spec").json()["paths"]["/forecast"]["post"]
    assert set(spec["requestBody"]["content"]) == {"application/json", "multipart/form-data"}


LONG = {**SENT, "series": [1.0] * 1001, "known": {"holiday": [0] * 1001}}


@pytest.mark.parametrize(
    ("sent", "status", "message"),
    [
        ({"series": 3}, 400, "series must be a list of numbers"),
        ({"series": "1,2,3"}, 400, "series must be a list of numbers"),
        ({"series": []}, 400, "series must be a list of numbers"),
        ({**SENT, "series": [1, "2"]}, 400, "must hold numbers, and null"),
        ({**SENT, "series": [[1]]}, 400, "must hold numbers, and null"),
        ({**SENT, "series": [None] * 60}, 400, "series: all values are missing"),
        ({**SENT, "series": [1e300, -1e300] * 30}, 400, "too large to calculate with"),
        ({**SENT, "known": {"holiday": [1e300] * 72}}, 400, "too large to calculate with"),
        ({**SENT, "start": None}, 400, "missing start parameter"),
        ({**SENT, "start": ["2024-01-01"]}, 400, "start must be a string"),
        ({**SENT, "start": "01/02/2024"}, 400, "start: 01/02/2024 may be day-first or month-first"),
        ({**SENT, "start": "yesterday"}, 400, "start: the time is 'yesterday'"),
        ({**SENT, "start": "2024-13-01"}, 400, "start: the time is '2024-13-01'"),
        ({**SENT, "start": "2024-03-31 02:30"}, 400, "does not exist in Europe/Berlin"),
        ({**SENT, "start": "1" * 3000}, 400, "neither a time nor the number of a row"),
        ({**SENT, "start": "2024" + " " * 100_000 + "x"}, 400, "no time that can be read"),
        ({**SENT, "start": 7}, 400, "this table has no times, only numbers"),
        ({**SENT, "step": "1d"}, 400, "the model learned steps of 1h, not 1d"),
        ({**SENT, "step": "1 fortnight"}, 400, "this is no length of time"),
        ({**SENT, "step": 60}, 400, "step parameter must be a string"),
        ({**SENT, "times": TIMES}, 400, "give times or start, not both"),
        ({**SENT, "start": None, "times": TIMES[:70]}, 400, "times: 70 values, and 72"),
        ({**SENT, "start": None, "times": "a"}, 400, "times must be a list of strings"),
        ({**SENT, "start": None, "times": [None] * 72}, 400, "times must be a list of strings"),
        ({**SENT, "start": None, "times": [""] * 72}, 400, "times:1: there is no time"),
        (
            {**SENT, "start": None, "times": [*TIMES[:71], "soon"]},
            400,
            "times:72: the time is 'soon'",
        ),
        (
            {**SENT, "start": None, "times": [TIMES[0]] * 72},
            400,
            "times:2: the time 2024-03-31 03:00+02:00 is in line 1, too",
        ),
        ({**SENT, "known": {}}, 400, "known must have holiday"),
        ({**SENT, "known": None}, 400, "known must have holiday"),
        ({**SENT, "known": [1]}, 400, "known must be an object"),
        ({**SENT, "known": {"holiday": "no"}}, 400, "each list of known must be a list"),
        ({**SENT, "known": {"holiday": ["no"] * 72}}, 400, "must hold numbers"),
        ({**SENT, "known": {"holiday": HOLIDAY, "x": HOLIDAY}}, 400, "takes only holiday"),
        ({**SENT, "known": {"holiday": HOLIDAY[:10]}}, 400, "holiday: 10 values, and 60"),
        ({**SENT, "known": {"holiday": HOLIDAY[:70]}}, 400, "and 10 are there"),
        ({**SENT, "known": {"holiday": [None] * 72}}, 400, "and 0 are there"),
        ({**SENT, "levels": [0]}, 400, "levels must be percentages"),
        ({**SENT, "levels": [100]}, 400, "levels must be percentages"),
        ({**SENT, "levels": []}, 400, "levels must be percentages"),
        ({**SENT, "levels": {"a": 1}}, 400, "levels must be percentages"),
        ({**SENT, "levels": ["a"]}, 400, "levels must be percentages"),
        ({**SENT, "levels": [[80]]}, 400, "levels must be percentages"),
        ({**SENT, "levels": [10**400]}, 400, "levels must be percentages"),
        ({**SENT, "levels": list(range(1, 30))}, 400, "and at most 20"),
        ({**SENT, "only": "other"}, 400, "other: there is no such series; there are series"),
        ({**SENT, "only": [3]}, 400, "only must be a name"),
        ({**SENT, "table": text(rows())}, 400, "give one of series, table and a file"),
        ({"start": START}, 400, "start belongs to series, which is missing"),
        ({"known": {"holiday": [1]}}, 400, "known belongs to series"),
        (LONG, 400, "more than 3,000 values; the end of each series is enough"),
        ({"table": "a,b\n" * 2000}, 400, "more than 3,000 values"),
        ({"table": [{str(n): 1} for n in range(100)]}, 400, "more than 3,000 values"),
        ({"table": []}, 400, "there are no rows in table"),
        ({"table": [1, 2]}, 400, "CSV as a text, or a list of objects"),
        ({"table": {"a": [1]}}, 400, "CSV as a text, or a list of objects"),
        ({"table": [{"time": {"a": 1}}]}, 400, "table:1: time is"),
        ({"table": [{}]}, 400, "table:"),
        ({"table": ""}, 400, "table: the file is empty"),
        ({"table": "/etc/passwd"}, 400, "table:1: "),
        ({"table": "\0" * 500}, 400, "binary file"),
        ({"table": text(rows()).replace("load", "x" * 5000)}, 400, "table:1: target is column"),
        ({"table": text(rows()).replace("holiday", "a")}, 400, "known is column holiday"),
        ({"series": [1.0], "model": "other"}, 404, "there are: linear, rows"),
        ({"series": [1.0], "model": ""}, 400, "missing model parameter"),
        ({"series": [1.0], "model": 3}, 400, "must be a string"),
        ({"table": "a" * 310_000}, 413, "longer than"),
    ],
)
def test_what_cannot_be_forecast_is_refused_in_a_sentence(
    live: Live, sent: dict[str, Any], status: int, message: str
) -> None:
    found, sentence = live.error("/forecast", **{"model": "linear", **sent})
    assert (found, message in sentence) == (status, True), sentence
    assert len(sentence) < 600
    assert "regard-" not in sentence


@pytest.mark.parametrize("name", TABLES)
def test_an_odd_table_is_read_or_refused(live: Live, name: str) -> None:
    """None of them is an error of the server, and none of the sentences names a place on it."""
    data = TABLES[name].text
    for ending in ("csv", "tsv"):
        files = {"file": (f"odd.{ending}", data if isinstance(data, bytes) else data.encode())}
        answer = live.client.post("/forecast", files=files, data={"model": "linear"})
        assert answer.status_code in (200, 400)
        assert "regard-" not in answer.text


def test_a_bad_table_is_refused_with_the_sentence_of_the_command(
    live: Live, series_runs: dict[str, Path], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    bad = text(rows()).replace(TIMES[7], "soon")
    path = tmp_path / "bad.csv"
    path.write_text(bad)
    with pytest.raises(SystemExit):
        main(["forecast", str(series_runs["linear"]), "--series", str(path)])
    printed = capsys.readouterr().err.strip().splitlines()[-1]
    sentence = printed.removeprefix("regard: error: ").replace(str(path), "table")
    assert live.error("/forecast", model="linear", table=bad) == (
        400,
        f"Invalid request: {sentence}",
    )


@pytest.mark.parametrize("name", ["load.csv.gz", "LOAD.CSV.BZ2"])
def test_what_is_compressed_is_not_unpacked(live: Live, name: str) -> None:
    files = {"file": (name, b"\x1f\x8b" + b"0" * 100)}
    answer = live.client.post("/forecast", files=files, data={"model": "linear"})
    assert answer.json() == {"error": "Invalid request: send the table unpacked, not compressed"}


@pytest.mark.parametrize("name", ["load.xlsx", "load.parquet", "a.json", "a.jsonl", "../../a.csv"])
def test_the_name_of_a_file_leads_nowhere(live: Live, name: str) -> None:
    files = {"file": (name, b"PK\x03\x04")}
    answer = live.client.post("/forecast", files=files, data={"model": "linear"})
    assert answer.status_code == 400
    assert "regard-" not in answer.text


HEAD = "time,load,holiday,house\n"
HOURS = "".join(f"2024-05-01 {hour:02}:00,{hour},0,a\n" for hour in range(5))


@pytest.mark.parametrize(
    "table",
    [
        HEAD + HOURS + "2024-05" + " " * 1_000_000 + "x,1,0,a\n",
        HEAD + HOURS + "1" * 1_000_000 + " x,1,0,a\n",
        HEAD + "".join(f"2024-05-01 {hour:02}:00,{'1' * 9}{'2' * 90_000} x,1,a\n" for hour in "ab"),
        ",".join(f"c{n}" for n in range(90_000)) + "\n" + "1," * 89_999 + "1\n",
        ",".join(["c"] * 90_000) + "\n" + "1," * 89_999 + "1\n",
        HEAD + "".join(f"2024-05-01 00:00,1,0,x{n}\n" for n in range(40_000)),
        HEAD + '"' * 1_000_000,
        HEAD + "0001-01-01 00:00,1,0,a\n9999-12-31 23:00,1,0,a\n9999-12-31 23:01,1,0,a\n",
    ],
    ids=["time", "digits", "number", "wide", "alike", "names", "quotes", "far"],
)
def test_no_table_takes_long(forecaster: Forecaster, table: str, tmp_path: Path) -> None:
    """The time to refuse one grows with its size, and not with the square of it."""
    path = tmp_path / "table.csv"
    path.write_text(table)
    before = time.process_time()
    with pytest.raises(regard.RegardError):
        forecaster.forecast(path)
    assert time.process_time() - before < 40


json_values = st.recursive(
    st.none() | st.booleans() | st.floats() | st.integers() | st.text(max_size=5),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text(max_size=5), inner),
    max_leaves=6,
)
some_lists = st.lists(st.none() | st.floats() | st.integers(), min_size=1, max_size=30)


@settings(max_examples=60, deadline=None, suppress_health_check=list(HealthCheck), database=None)
@given(
    st.fixed_dictionaries(
        {},
        optional={
            "series": some_lists | json_values,
            "start": st.sampled_from(["2024-01-01", "9999-12-31 23:00", "0001-01-01"])
            | json_values,
            "step": st.sampled_from(["1h", "60 min", "1month"]) | json_values,
            "times": st.lists(st.datetimes().map(str), max_size=30) | json_values,
            "known": st.dictionaries(st.just("holiday"), some_lists) | json_values,
            "table": st.lists(st.dictionaries(st.text(max_size=5), json_values)) | json_values,
            "levels": json_values,
            "only": json_values,
        },
    )
)
def test_whatever_is_sent_is_answered(live: Live, sent: dict[str, Any]) -> None:
    body = json.dumps({"model": "linear", **sent})
    headers = {"content-type": "application/json"}
    answer = live.client.post("/forecast", content=body, headers=headers)
    assert answer.status_code in (200, 400), answer.text
    found = json.loads(answer.text, parse_constant=lambda name: pytest.fail(f"{name} in {body}"))
    assert set(found) >= {"forecasts"} or set(found) == {"error"}


def test_more_forecasts_than_a_request_may_hold_are_refused(
    start: Start, series_runs: dict[str, Path]
) -> None:
    served = start(Limits(values=150), more_runs=(series_runs["linear"],))
    status, sentence = served.error("/forecast", levels=[80])
    assert (status, "the forecasts of 3 series are more than 150 numbers" in sentence) == (
        400,
        True,
    )
    assert served.post("/forecast", only="south").status_code == 200


def test_a_server_without_such_a_model_says_so(start: Start) -> None:
    status, sentence = start().error("/forecast", series=[1.0])
    assert (status, sentence) == (
        404,
        "no such forecaster here; start the server with the run of one",
    )


def test_keys_and_rates_hold_for_series(start: Start, series_runs: dict[str, Path]) -> None:
    served = start(
        Limits(texts_per_minute=3), secrets={KEY: "us"}, more_runs=(series_runs["linear"],)
    )
    bearer = {"authorization": f"Bearer {KEY}"}
    assert served.error("/forecast", **SENT)[0] == 400
    assert served.error("/forecast", **SENT, api_key="a-wrong-key")[0] == 403
    statuses = [
        served.client.post("/forecast", json=SENT, headers=bearer).status_code for _ in range(4)
    ]
    assert statuses == [200, 200, 200, 429]
    counted = served.metrics.text().decode()
    assert 'regard_requests_total{route="/forecast",status="200"} 3.0' in counted
