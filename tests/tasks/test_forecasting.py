"""Forecasting from a table to a run, and back to numbers with intervals."""

import csv
import json
import math
from collections import deque
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from PIL import Image

import regard
from regard.cli import main
from regard.data.series_arrays import last_part, load_table, save_table
from regard.data.series_tables import SeriesColumns, read_series
from regard.errors import DataError, RecipeError, RequestError, RunError
from regard.evaluate.validation import Validation
from regard.run import Run
from regard.tasks.forecast_evaluation import verdict
from regard.training.run import training_run

TINY: dict[str, Any] = {
    "train.steps": 60,
    "train.eval_every": 30,
    "train.save_every": 20,
    "train.batch_size": 32,
    "train.warmup_steps": 5,
    "train.learning_rate": 0.01,
    "train.threads": 1,
    "train.device": "cpu",
    "data.context": 48,
    "data.season": 12,
}
SMALL = {"model.d_model": 16, "model.num_layers": 1, "model.patch_size": 12, "model.dropout": 0.1}
BLOCKS = {**SMALL, "model.kind": "transformer", "model.d_ff": 16, "model.num_heads": 2}


def table(path: Path, steps: int, series: int = 2, future: int = 0, first: int = 0) -> Path:
    """Seasons of 12 hours with noise, and a switch that adds to them, known in advance."""
    with path.open("w", newline="") as file:
        writer = csv.writer(file)
        writer.writerow(["sensor", "time", "load", "switch"])
        for number in range(series):
            random = np.random.default_rng(number)
            noise, switch = random.normal(size=9000), random.integers(0, 2, 9000)
            for step in range(first, steps + future):
                time = np.datetime64("2024-01-01T00") + np.timedelta64(step, "h")
                value = 100 * (number + 1) + 20 * math.sin(2 * math.pi * step / 12)
                value += 10 * switch[step] + noise[step]
                shown = f"{value:.3f}" if step < steps else ""
                writer.writerow([f"s{number}", str(time), shown, switch[step]])
    return path


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Path]:
    made = tmp_path_factory.mktemp("series")
    table(made / "load.csv", 400, future=6)
    table(made / "later.csv", 460, future=6)
    with pytest.MonkeyPatch.context() as patch:
        from regard.machine import memory

        patch.setattr(memory, "keep_big_buffers", lambda: False)
        yield made


def options(**settings: Any) -> list[str]:
    return [f"--set={name}={value}" for name, value in {**TINY, **settings}.items()]


COLUMNS = ("--target", "load", "--id", "sensor", "--known", "switch", "--horizon", "6")


def trained(folder: Path, name: str, **settings: Any) -> Path:
    out = folder / name
    data = ["--series", str(folder / "load.csv"), *COLUMNS]
    main(["train", *data, "--out", str(out), *options(**settings)])
    return out


@pytest.fixture(scope="module")
def linear(folder: Path) -> Path:
    return trained(folder, "linear", **{"model.kind": "linear", "train.steps": 200})


@pytest.fixture(scope="module")
def transformer(folder: Path) -> Path:
    return trained(folder, "transformer", **BLOCKS)


@pytest.fixture(scope="module")
def paths(folder: Path) -> Path:
    choices = {**SMALL, "model.kind": "recurrent", "model.cell": "lstm", "model.forecast": "paths"}
    return trained(folder, "paths", **choices)


def printed(arguments: list[Any], capsys: pytest.CaptureFixture[str]) -> str:
    capsys.readouterr()
    main([str(each) for each in arguments])
    return capsys.readouterr().out


def failing(arguments: list[Any], capsys: pytest.CaptureFixture[str]) -> str:
    capsys.readouterr()
    with pytest.raises(SystemExit) as stopped:
        main([str(each) for each in arguments])
    assert stopped.value.code in (1, 2)
    return capsys.readouterr().err.strip().splitlines()[-1]


def test_a_table_becomes_a_forecaster_that_beats_the_naive_one(linear: Path) -> None:
    scores = Run(linear).info()["validation"]
    assert scores["mase"] < 0.6 * scores["naive_mase"]
    assert scores["wql"] < 0.6 * scores["naive_wql"]
    card = (linear / "README.md").read_text()
    assert "seasonal naive MASE" in card
    assert "before calibration" in card
    assert "no better" not in card


def test_it_continues_what_it_learned_from(
    linear: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    fan, rows = tmp_path / "fan.png", tmp_path / "rows.csv"
    flags = ["--levels", "80,50", "--picture", fan, "--csv", rows]
    lines = printed(["forecast", linear, *flags], capsys).splitlines()
    head = ["median", "low 50 %", "high 50 %", "low 80 %", "high 80 %"]
    assert lines[0].split("\t") == ["s0", *head]
    assert lines[7].split("\t") == ["s1", *head]
    assert lines[1].split("\t")[0] == "2024-01-17 16:00"
    with rows.open(newline="") as file:
        found = list(csv.DictReader(file))
    assert len(found) == 12
    for row in found:
        ends = [float(row[name]) for name in ("low_80", "low_50", "median", "high_50", "high_80")]
        assert ends == sorted(ends)
    with Image.open(fan) as drawn:
        assert drawn.width > 200


def test_newer_data_is_forecast_as_it_is_in_python(
    linear: Path, folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    shown = printed(["forecast", linear, "--series", folder / "later.csv", "--json"], capsys)
    objects = [json.loads(line) for line in shown.splitlines()]
    forecaster = regard.load(linear)
    pandas = pytest.importorskip("pandas")
    frame = pandas.read_csv(folder / "later.csv")
    for given in (folder / "later.csv", frame):
        found = forecaster.forecast(given)
        assert [each.name for each in found] == ["s0", "s1"]
        for each, facts in zip(found, objects, strict=True):
            assert each.times == facts["times"]
            assert each.median.tolist() == pytest.approx(facts["median"])
            low, high = each.interval(80)
            assert low.tolist() == pytest.approx(facts["intervals"]["80"]["low"])
            assert (low < high).all()
    (one,) = (forecaster.forecast(frame, only="s1"),)
    assert one.name == "s1"
    assert one.samples.shape == (100, 6)
    assert str(one.timestamps[0]) == "2024-01-20T04:00:00.000000"
    assert one.quantile(0.5).tolist() == one.median.tolist()
    assert repr(one) == "Forecast('s1': 6 steps from 2024-01-20 04:00)"
    assert "<svg" in one._repr_html_()
    assert repr(forecaster).startswith("Forecaster(")


def test_a_known_column_moves_the_forecast(linear: Path, folder: Path) -> None:
    pandas = pytest.importorskip("pandas")
    frame = pandas.read_csv(folder / "load.csv")
    off, on = frame.copy(), frame.copy()
    empty = frame["load"].isna()
    off.loc[empty, "switch"], on.loc[empty, "switch"] = 0, 1
    forecaster = regard.load(linear)
    low, high = (forecaster.forecast(each, only="s0").median for each in (off, on))
    assert (high - low).mean() == pytest.approx(10, abs=2.5)


def test_each_known_column_must_be_known_in_advance(folder: Path, tmp_path: Path) -> None:
    text = (folder / "load.csv").read_text().splitlines()
    rows = [f"{line},{'price' if not at else at % 7}" for at, line in enumerate(text)]
    (tmp_path / "two.csv").write_text("\n".join(rows) + "\n")
    out = tmp_path / "run"
    data = ["--series", str(tmp_path / "two.csv"), *COLUMNS[:4], "--known", "switch,price"]
    more = options(**{"model.kind": "linear", "train.steps": 5})
    main(["train", *data, "--horizon", "6", "--out", str(out), *more])
    forecaster = regard.load(out)
    assert len(forecaster.forecast()) == 2
    # Of the last steps, which have no value, only the one column is known.
    ends = [row if row.split(",")[2] else row.rpartition(",")[0] + "," for row in rows]
    (tmp_path / "ends.csv").write_text("\n".join(ends) + "\n")
    with pytest.raises(DataError, match="s0: price must be known for the 6 steps after"):
        forecaster.forecast(tmp_path / "ends.csv")


@pytest.mark.parametrize("kind", ["linear", "transformer", "paths"])
def test_backtests_score_it_beside_the_naive_forecast(
    kind: str,
    folder: Path,
    tmp_path: Path,
    request: pytest.FixtureRequest,
    capsys: pytest.CaptureFixture[str],
) -> None:
    run, picture = request.getfixturevalue(kind), tmp_path / "scores.png"
    asked = ["evaluate", run, "--series", folder / "later.csv", "--backtest", 5]
    shown = printed([*asked, "--picture", picture], capsys)
    assert "10 windows of 2 series, 6 steps each" in shown
    for name in ("MASE", "WQL", "CRPS", "MAPE, %", "80 % coverage"):
        assert f"{name} " in shown
        assert f"{name}, seasonal naive" in shown
    assert "80 % coverage, before calibration" in shown
    assert picture.stat().st_size > 1000
    facts = json.loads(printed([*asked, "--json"], capsys))
    assert facts["windows_learned_from"] == 0
    assert len(facts["error_by_step"]["model"]) == 6
    assert len(facts["error_by_hour"]["model"]) == 24
    by_name = {each["name"]: each["value"] for each in facts["scores"]}
    assert by_name["MASE"] > 0
    again = regard.evaluate_run(run, folder / "later.csv", backtest=5)
    assert again.score("MASE") == pytest.approx(by_name["MASE"])


def test_scores_are_those_of_windows_one_by_one(linear: Path, folder: Path) -> None:
    """A backtest of one window says what a forecast from the shorter table says, and its intervals
    follow the same newer windows.
    """
    found = regard.evaluate_run(linear, folder / "later.csv", backtest=10)
    forecaster = regard.load(linear)
    errors, inside = [], []
    pandas = pytest.importorskip("pandas")
    frame = pandas.read_csv(folder / "later.csv")
    for steps in range(460 - 60, 460, 6):
        for sensor in ("s0", "s1"):
            own = frame[frame["sensor"] == sensor].iloc[: steps + 6].copy()
            true = own["load"].to_numpy()[steps:].copy()
            own.loc[own.index[steps:], "load"] = np.nan
            forecast = forecaster.forecast(own)
            errors.append(np.abs(forecast.median - true).mean())
            low, high = forecast.interval(80)
            inside.append(((low <= true) & (true <= high)).mean())
    assert found.score("MAE") == pytest.approx(np.mean(errors), rel=1e-6)
    assert found.score("80 % coverage") == pytest.approx(100 * np.mean(inside))


def test_windows_that_were_learned_from_are_admitted(
    linear: Path, folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    shown = printed(["evaluate", linear, "--data", folder / "load.csv", "--backtest", 30], capsys)
    assert "are in what the run learned from" in shown


@pytest.mark.parametrize("kind", ["linear", "transformer", "paths"])
def test_it_shows_which_parts_of_the_past_count(
    kind: str,
    tmp_path: Path,
    request: pytest.FixtureRequest,
    capsys: pytest.CaptureFixture[str],
) -> None:
    run, picture = request.getfixturevalue(kind), tmp_path / "maps.png"
    files = ["--picture", picture, "--csv", tmp_path / "maps.csv"]
    shown = printed(["attend", run, "--only", "s1", *files], capsys)
    assert shown.startswith("s1: how far the median moves")
    assert picture.stat().st_size > 1000
    facts = json.loads(printed(["attend", run, "--json"], capsys))
    moved = facts["moves_if_hidden"]
    assert len(moved) == len(facts["parts"])
    if kind == "linear":
        # The last season counts about as much as anything does.
        size = facts["steps_of_a_part"]
        assert max(moved[-(12 // size) - 1 :]) > 0.7 * max(moved)
    if kind == "transformer":
        assert len(facts["attention"]) == 1
        assert 0 < sum(facts["attention"][0]) <= 1.0001
        assert facts["ahead"] == ["2024-01-17 16:00"]
    else:
        assert facts["attention"] == []


RESUMED: dict[str, dict[str, Any]] = {
    "transformer": BLOCKS,
    "paths": {**SMALL, "model.kind": "recurrent", "model.cell": "gru", "model.forecast": "paths"},
    "linear": {"model.kind": "linear"},
}


@pytest.mark.parametrize("kind", RESUMED)
def test_a_resumed_training_ends_with_the_same_weights(kind: str, folder: Path) -> None:
    """Windows follow from seed, epoch and step, and calibration from the weights."""
    whole = trained(folder, f"whole-{kind}", **RESUMED[kind])
    start = regard.read_recipe(whole / "recipe.toml")
    out = folder / f"resumed-{kind}"
    events = training_run(start, out)
    for event in events:
        if isinstance(event, Validation):
            break
    events.close()
    assert not Run(out).info()
    deque(training_run(start, out), maxlen=0)
    for name in ("model.safetensors", "calibration.json"):
        assert (out / name).read_bytes() == (whole / name).read_bytes()


def test_the_data_may_change_once_training_has_started(folder: Path, tmp_path: Path) -> None:
    """A started run has its own copy, so that a file to which rows are added spoils nothing."""
    own = table(tmp_path / "own.csv", 300, future=6)
    data = ["--series", str(own), *COLUMNS, "--out", str(tmp_path / "run")]
    main(["train", *data, *options(**{"model.kind": "linear", "train.steps": 20})])
    table(own, 310, future=6)
    more = options(**{"model.kind": "linear", "train.steps": 30})
    main(["train", *data, *more])
    assert Run(tmp_path / "run").info()["step"] == 30
    assert regard.load(tmp_path / "run").forecast(only="s0").times[0] == "2024-01-13 12:00"


def test_a_model_that_loses_says_so(
    folder: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """A walk at random cannot be forecast better than by its last value."""
    path = tmp_path / "walk.csv"
    steps = np.random.default_rng(1).normal(size=500).cumsum()
    rows = [f"2024-{1 + i // 28 % 12:02}-{1 + i % 28:02},{x:.3f}" for i, x in enumerate(steps)]
    path.write_text("value\n" + "\n".join(row.partition(",")[2] for row in rows) + "\n")
    settings = {"model.kind": "linear", "train.learning_rate": 0.5, "train.steps": 10}
    settings |= {"data.season": 1, "data.context": 24}
    out = tmp_path / "walk"
    capsys.readouterr()
    main(
        ["train", "--series", str(path), "--horizon", "4", "--out", str(out), *options(**settings)]
    )
    words = "no better than the seasonal naive forecast"
    assert words in capsys.readouterr().err
    assert words in (out / "README.md").read_text()
    assert words in printed(["show", out], capsys)
    assert words in printed(["evaluate", out, "--series", path, "--backtest", 9], capsys)


def test_a_verdict_is_only_about_scores_that_are_worse() -> None:
    assert verdict({"mase": 1.2, "wql": 0.1}, {"mase": 1.0, "wql": 0.2}).count("MASE") == 1
    assert verdict({"mase": 0.9, "wql": 0.1}, {"mase": 1.0, "wql": 0.2}) == ""
    assert verdict({"mase": None}, {"mase": None}) == ""


def test_sizes_follow_from_the_data_and_are_explained(
    folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    shown = printed(["check", "--series", folder / "load.csv", *COLUMNS], capsys)
    assert "train takes" in shown
    assert "season 12" in shown or "season" in shown
    assert "held out for validation" in shown
    assert "linear map" in shown


def test_from_python_with_lists_and_frames(folder: Path, tmp_path: Path) -> None:
    values = [math.sin(2 * math.pi * i / 12) + 0.01 * (i % 7) for i in range(300)]
    settings = {**TINY, "model.kind": "linear", "train.steps": 30}
    run = regard.train(series=values, horizon=6, out=tmp_path / "list", settings=settings)
    found = run.load().forecast()
    assert found.times == [str(i) for i in range(300, 306)]
    assert found.timestamps.tolist() == list(range(300, 306))
    assert np.abs(found.median).max() < 2
    more = run.load().forecast([*values, *values[:6]])
    assert more.times[0] == "306"
    pandas = pytest.importorskip("pandas")
    index = pandas.date_range("2024-01-01", periods=300, freq="h")
    frame = pandas.DataFrame({"load": values, "on": np.arange(300) % 2}, index=index)
    run = regard.train(
        series=frame,
        target="load",
        known=["on"],
        horizon=6,
        out=tmp_path / "frame",
        settings=settings,
    )
    assert run.recipe().data.known == ("on",)
    with pytest.raises(DataError, match="must be known for the 6 steps"):
        run.load().forecast()
    with pytest.raises(RequestError, match="horizon belongs to data"):
        regard.train({"task": "forecasting", "data": {"train": ["x.csv"]}}, horizon=4)


def test_series_of_any_size_and_length_are_learned_together(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """One is a million times as large as another, one never changes, and one is short."""
    noise = np.random.default_rng(1).normal(size=300)
    wave = 5 + np.sin(2 * np.pi * np.arange(300) / 12) + 0.1 * noise
    parts = {"small": wave, "large": 1e6 * wave, "still": np.full(300, 7.0), "short": wave[:20]}
    rows = [
        f"{name},{np.datetime64('2024-01-01T00') + np.timedelta64(step, 'h')},{value:.9g}"
        for name, values in parts.items()
        for step, value in enumerate(values)
    ]
    path = tmp_path / "mixed.csv"
    path.write_text("id,time,load\n" + "\n".join(rows) + "\n")
    data = ["--series", str(path), "--horizon", "6", "--out", str(tmp_path / "run")]
    main(["train", *data, *options(**{"model.kind": "linear", "train.steps": 30})])
    found = {each.name: each for each in regard.load(tmp_path / "run").forecast()}
    assert list(found) == list(parts)
    small, large = found["small"], found["large"]
    for level in (50, 95):
        for one, other in zip(small.interval(level), large.interval(level), strict=True):
            assert other.tolist() == pytest.approx((1e6 * one).tolist(), rel=1e-4)
    assert found["still"].median.tolist() == pytest.approx([7.0] * 6, abs=0.05)
    assert np.isfinite(found["short"].samples).all()


def test_a_new_id_and_a_short_past_are_forecast(linear: Path, tmp_path: Path) -> None:
    """What was never learned from is scaled by its own past, like everything else."""
    lines = table(tmp_path / "new.csv", 300, series=1, future=6).read_text().splitlines()
    forecaster = regard.load(linear)
    expected = forecaster.forecast(tmp_path / "new.csv")
    (tmp_path / "new.csv").write_text("\n".join(lines).replace("s0,", "new,"))
    found = forecaster.forecast(tmp_path / "new.csv")
    assert (expected.name, found.name) == ("s0", "new")
    assert found.median.tolist() == expected.median.tolist()
    (tmp_path / "short.csv").write_text("\n".join([lines[0], *lines[-10:]]))
    short = forecaster.forecast(tmp_path / "short.csv")
    assert short.past.tolist() == expected.past[-4:].tolist()
    assert np.isfinite(short.samples).all()


Mistake = Callable[[Path, Path], list[Any]]
MISTAKES: dict[str, tuple[Mistake, str]] = {
    "levels": (lambda run, data: ["forecast", run, "--levels", "80,x"], "like 50,80,95"),
    "too high a level": (lambda run, data: ["forecast", run, "--levels", "100"], "50,80,95"),
    "no such series": (lambda run, data: ["forecast", run, "--only", "s7"], "there are s0, s1"),
    "another step": (
        lambda run, data: ["forecast", run, "--series", data / "days.csv"],
        "learned steps of 1h",
    ),
    "no future of what is known": (
        lambda run, data: ["forecast", run, "--series", data / "ends.csv"],
        "switch must be known for the 6 steps after the last value, and 2 are there",
    ),
    "no such file": (lambda run, data: ["forecast", run, "--series", data / "no.csv"], "no.csv"),
    "too short a series": (
        lambda run, data: ["evaluate", run, "--series", data / "short.csv"],
        "too short to forecast their last 6 steps",
    ),
    "a text": (lambda run, data: ["attend", run, "Hello"], "not for series"),
    "no attention": (lambda run, data: ["attend", run, "--layer", "0"], "has no attention"),
    "words": (lambda run, data: ["evaluate", run], "give its test files with --data"),
    "no picture": (lambda run, data: ["forecast", run, "--picture", "x.gif"], "not a kind of"),
}


@pytest.mark.parametrize("name", MISTAKES)
def test_a_mistake_is_one_sentence(
    name: str, linear: Path, folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    table(folder / "ends.csv", 400, future=2)
    table(folder / "short.csv", 5)
    days = ["sensor,time,load,switch"]
    days += [f"s0,2024-01-{day:02},{day},1" for day in range(1, 31)]
    (folder / "days.csv").write_text("\n".join(days) + "\n")
    arguments, sentence = MISTAKES[name]
    assert sentence in failing(arguments(linear, folder), capsys)


def test_wrong_settings_are_refused_before_training(
    folder: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    data = ["--series", folder / "load.csv", *COLUMNS, "--out", tmp_path / "no"]
    train = ["train", *data]
    patches = ["--set=model.patch_size=7", "--set=data.context=48"]
    assert "not a multiple of model.patch_size" in failing(
        [*train, "--set=model.kind=transformer", *patches], capsys
    )
    long = ["train", *data[:-4], "--horizon", "300", "--out", tmp_path / "no"]
    assert "too few to learn 300 steps ahead" in failing(long, capsys)
    assert "last part of their time" in failing([*train, "--valid", folder / "later.csv"], capsys)
    text = tmp_path / "a.txt"
    text.write_text("one two three\n" * 50)
    assert "--horizon 6: belongs to --series" in failing(
        ["train", "--text", text, "--horizon", 6, "--out", tmp_path / "no"], capsys
    )
    assert "use --set data.horizon" in failing(["train", "demo", "--horizon", 6], capsys)
    assert not (tmp_path / "no").exists()
    with pytest.raises(RecipeError, match="patch_size"):
        regard.Recipe(
            task="forecasting",
            data={"train": ["a.csv"], "context": 10},
            model={"kind": "recurrent", "patch_size": 4},
        )


def test_a_table_is_the_same_after_a_file(folder: Path, tmp_path: Path) -> None:
    columns = SeriesColumns(target=("load",), known=("switch",))
    found = read_series([folder / "load.csv"], columns)
    save_table(found, tmp_path / "table")
    again = load_table(tmp_path / "table")
    assert again.names == found.names
    assert again.clock == found.clock
    assert again.known_names == found.known_names
    for mine, theirs in zip(again.series, found.series, strict=True):
        assert mine.start == theirs.start
        np.testing.assert_array_equal(mine.values, theirs.values)
        np.testing.assert_array_equal(mine.known, theirs.known)
    end = last_part(found, 10)
    assert [len(each) for each in end.series] == [10, 10]
    assert end.times(end.series[0])[-1] == found.times(found.series[0])[-1]
    np.testing.assert_array_equal(
        end.series[0].known, found.series[0].known[-len(end.series[0].known) :]
    )
    (tmp_path / "table").write_bytes(b"nothing")
    with pytest.raises(RunError):
        load_table(tmp_path / "table")


def test_nothing_in_the_run_is_code(linear: Path) -> None:
    names = {path.suffix for path in linear.rglob("*") if path.is_file()}
    assert names <= {".toml", ".json", ".jsonl", ".md", ".safetensors", ""}
