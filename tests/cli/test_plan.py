"""`regard plan`: figures for people and programs, and a command that can be typed as it is."""

import json
import shlex
from pathlib import Path
from typing import Any

import pytest

from regard import machine
from regard.cli import app, main

SETTINGS = """
[data]
train = ["train.en", "train.de"]
[tokenizer]
vocabulary_size = 37000
[train]
batch_tokens = 3125
accumulate = 8
"""


@pytest.fixture
def recipe(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    path = Path("base.toml")
    path.write_text(SETTINGS, encoding="utf-8")
    return path


def planned(capsys: pytest.CaptureFixture[str], *arguments: str) -> dict[str, Any]:
    main(["plan", "base.toml", "--json", *arguments])
    answer: dict[str, Any] = json.loads(capsys.readouterr().out)
    return answer


def test_the_answer_of_a_plan(recipe: Path, capsys: pytest.CaptureFixture[str]) -> None:
    main(["plan", str(recipe), "--device", "8xA100"])
    printed = capsys.readouterr().out
    assert printed.startswith("base.toml on 8 × A100-40\n")
    for part in ("parameters", "fits into 40.0 GB", "tokens/s in bfloat16", "100,000 updates"):
        assert part in printed
    assert "passes" not in printed  # the data is not here
    assert printed.splitlines()[-1].endswith(
        "torchrun --nproc-per-node 8 -m regard train base.toml --out runs/base"
    )


def test_passes_are_told_where_the_data_is(
    recipe: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    for name in ("train.en", "train.de"):
        Path(name).write_text("one two three four\n" * 1000, encoding="utf-8")
    answer = planned(capsys, "--device", "A100", "--set", "train.steps=10")
    tokens = 2 * 1000 * (1 + 1.3 * 4)
    assert answer["passes"] == pytest.approx(10 * answer["tokens_per_update"] / tokens)


@pytest.mark.parametrize(
    ("arguments", "parts"),
    [
        (("--device", "A100"), ["regard train base.toml --out runs/base"]),
        (
            ("--device", "2x8xH100", "--set", "train.accumulate=16"),
            ["--nnodes 2", "--rdzv-endpoint", "--nproc-per-node 8", "--set train.accumulate=16"],
        ),
        (
            ("--device", "V100", "--set", "train.precision=bfloat16"),
            ["--set train.precision=float32"],
        ),
    ],
)
def test_the_command_is_one_that_runs(
    recipe: Path,
    capsys: pytest.CaptureFixture[str],
    arguments: tuple[str, ...],
    parts: list[str],
) -> None:
    command = planned(capsys, *arguments)["command"]
    for part in parts:
        assert part in command
    words = shlex.split(command)
    app.parse_args(words[words.index("train") :], exit_on_error=False, print_error=False)


def test_what_does_not_fit_is_sharded(recipe: Path, capsys: pytest.CaptureFixture[str]) -> None:
    large = ("--set", "model.d_model=4096", "--set", "model.d_ff=16384")
    answer = planned(capsys, "--device", "8xL4", *large)
    assert answer["parallel"] == "fsdp"
    assert "--set train.parallel=fsdp" in answer["command"]
    alone = planned(capsys, "--device", "L4", *large)
    assert not alone["fits"]
    assert alone["parallel"] == "ddp"


def test_advice_keeps_the_update(recipe: Path, capsys: pytest.CaptureFixture[str]) -> None:
    main(["plan", str(recipe), "--device", "16xA100"])
    printed = capsys.readouterr().out
    assert "--set train.accumulate=16 --set train.batch_tokens=1562" in printed
    main(["plan", str(recipe), "--device", "A100"])
    assert "--set train.accumulate=1 --set train.batch_tokens=25000" in capsys.readouterr().out
    main(["plan", str(recipe), "--device", "8xA100"])
    assert "advice" not in capsys.readouterr().out
    main(["plan", str(recipe), "--device", "T4", "--set", "train.batch_tokens=100000"])
    printed = capsys.readouterr().out
    assert "does not fit" in printed
    assert "--set train.accumulate=16 --set train.batch_tokens=50000" in printed


def test_this_machine_by_default(
    recipe: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(machine, "gemm_rate", lambda device: 100e9)
    monkeypatch.setattr(machine, "usable_cores", lambda: 2)
    monkeypatch.setattr(machine, "busy_cores", lambda: 1.2)
    main(["plan", str(recipe), "--set", "train.device=cpu", "--device", "cpu"])
    printed, said = capsys.readouterr()
    assert "take 1.2 cores" in said
    assert "of the peak of 100 GFLOP/s" in printed
    assert "days for 100,000 updates" in printed
    assert printed.startswith("base.toml on this CPU, 2 processes\n")
    assert printed.splitlines()[-1].split("run ")[1].strip().startswith("regard train")


def test_an_unknown_device_is_one_sentence(
    recipe: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    with pytest.raises(SystemExit) as stop:
        main(["plan", str(recipe), "--device", "abacus"])
    assert stop.value.code == 1
    said = capsys.readouterr().err.strip()
    assert said.startswith('regard: error: --device "abacus": not known')
    assert len(said.splitlines()) == 1
