"""Several processes, really started, train as one would."""

import os
import re
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from contextlib import closing
from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from regard.errors import RunError
from regard.recipe import Recipe
from regard.run import Run
from regard.training import team
from regard.training.events import Estimate, Interrupted, Resumed, StepReport
from regard.training.run import train, training_run
from regard.training.team import Share, Team
from regard.weights import read_tensors

Tiny = Callable[..., Recipe]
LogOf = Callable[[Path, str], list[dict[str, Any]]]
Outcome = Callable[[Path], dict[str, Any]]

TWO = "train.processes=2"
SPLIT = ("train.accumulate=1", "model.dropout=0", "model.attention_dropout=0")


@given(
    sizes=st.lists(st.integers(1, 9), min_size=1, max_size=6),
    members=st.integers(1, 5),
    pieces=st.integers(1, 3),
)
def test_the_shares_of_a_team_are_the_update(sizes: list[int], members: int, pieces: int) -> None:
    """Each row once, in the batch it belongs to; whoever has none keeps step without counting."""
    starts = np.cumsum([0, *sizes])
    batches = [np.arange(a, b) for a, b in pairwise(starts)]
    shares = [
        [
            each.part(i, pieces)
            for each in Team(rank, members).shares(batches)
            for i in range(pieces)
        ]
        for rank in range(members)
    ]
    assert len({len(each) for each in shares}) == 1
    places = [share.place for each in shares for share in each]
    assert len(set(places)) == len(places)  # no two draw the same dropout
    found: dict[int, list[int]] = {}
    for share in (share for each in shares for share in each):
        assert len(share.rows)
        found.setdefault(share.place[0], []).extend(share.rows.tolist() if share.counts else [])
    assert {n: sorted(rows) for n, rows in found.items()} == {
        n: rows.tolist() for n, rows in enumerate(batches)
    }


def test_alone_does_everything() -> None:
    rows = np.arange(3)
    assert Team().shares([rows]) == [Share((0,), rows)]
    assert Team().sum(2.5) == 2.5
    assert Team().from_leader(4) == 4


@pytest.fixture(scope="module")
def two(tiny: Tiny, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A run of two processes with dropout and accumulation, undisturbed."""
    folder = tmp_path_factory.mktemp("two") / "run"
    train(tiny(TWO), folder)
    return folder


def curve(log_of: LogOf, folder: Path) -> list[float]:
    return [entry["loss"] for entry in log_of(folder, "step")]


def test_whole_batches_draw_the_same_dropout(finished: Path, two: Path, log_of: LogOf) -> None:
    expected = curve(log_of, finished)
    assert len(expected) == 24
    assert curve(log_of, two) == pytest.approx(expected, abs=1e-5)
    kept = [read_tensors(Run(each).model_path)[0] for each in (finished, two)]
    for name, tensor in kept[0].items():
        np.testing.assert_allclose(kept[1][name], tensor, atol=1e-4)


def test_the_memory_told_is_that_of_all_processes(tiny: Tiny, tmp_path: Path) -> None:
    short = ("train.steps=1", "train.eval_every=1")
    alone, together = (
        next(
            event for event in training_run(recipe, tmp_path / name) if isinstance(event, Estimate)
        )
        for name, recipe in (("one", tiny(*short)), ("two", tiny(*short, TWO)))
    )
    # The second process has PyTorch loaded, too.
    assert together.memory_bytes > alone.memory_bytes + 2**27


@pytest.mark.parametrize("parallel", ["ddp", "fsdp"])
def test_a_split_batch_gives_the_same_losses(
    tiny: Tiny, tmp_path: Path, log_of: LogOf, parallel: str
) -> None:
    settings = (*SPLIT, "train.steps=12", "train.moving_average=0.9")
    train(tiny(*settings), tmp_path / "one")
    together = tiny(*settings, TWO, f"train.parallel={parallel}")
    train(together, tmp_path / "two")
    expected = curve(log_of, tmp_path / "one")
    assert curve(log_of, tmp_path / "two") == pytest.approx(expected, abs=1e-5)
    one, two = (Run(tmp_path / name).info() for name in ("one", "two"))
    assert two["validation"]["loss"] == pytest.approx(one["validation"]["loss"], abs=1e-3)


@pytest.mark.parametrize("parallel", ["ddp", pytest.param("fsdp", marks=pytest.mark.slow)])
def test_an_interrupted_team_goes_on_to_the_same_bits(
    tiny: Tiny, two: Path, outcome: Outcome, tmp_path: Path, parallel: str
) -> None:
    recipe = tiny(TWO, f"train.parallel={parallel}")
    if parallel == "fsdp":
        two = tmp_path / "undisturbed"
        train(recipe, two)
    out = tmp_path / "out"
    with closing(training_run(recipe, out)) as events:
        for event in events:
            if isinstance(event, StepReport) and event.step == 8:
                signal.raise_signal(signal.SIGTERM)
        assert event == Interrupted(8, signal.SIGTERM)
    events = list(training_run(recipe, out))
    assert Resumed(8) in events
    assert outcome(out) == outcome(two)


def test_a_process_that_dies_is_named(
    tiny: Tiny, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    started: list[subprocess.Popen[bytes]] = []
    popen = subprocess.Popen

    def watch(*arguments: Any, **options: Any) -> Any:
        started.append(popen(*arguments, **options))
        return started[-1]

    monkeypatch.setattr(team.subprocess, "Popen", watch)
    with closing(training_run(tiny(TWO, "train.steps=100000"), tmp_path)) as events:
        while getattr(next(events), "step", 0) < 3:
            pass
        started[0].kill()
        with pytest.raises(RunError, match=r"process 1 of 2 was killed by signal 9; start the "):
            list(events)


def test_the_others_leave_with_the_leader(tiny: Tiny, tmp_path: Path) -> None:
    """However it ends: here it is killed before the next update."""
    run = Run(tmp_path)
    tmp_path.joinpath("training").mkdir()
    run.save_recipe(tiny(TWO, "train.steps=100000"))
    (tmp_path / "temporary").mkdir()
    with subprocess.Popen(
        [sys.executable, "-m", "regard", "train", str(run.recipe_path), "--out", str(tmp_path)],
        stderr=subprocess.PIPE,
        env={**os.environ, "TMPDIR": str(tmp_path / "temporary")},
    ) as leader:
        assert leader.stderr is not None
        for line in leader.stderr:
            if b"memory" in line:
                break
        children = Path(f"/proc/{leader.pid}/task/{leader.pid}/children")
        if not children.exists():
            pytest.skip("needs /proc to see the other process")
        (child,) = map(int, children.read_text().split())
        leader.kill()
    deadline = time.monotonic() + 60
    while alive(child):
        assert time.monotonic() < deadline
        time.sleep(0.05)
    assert not list((tmp_path / "temporary").iterdir())


def test_ctrl_c_is_heard_while_the_others_start() -> None:
    """PyTorch's own waiting would not hear it; here the other process is never ready."""
    text = """
import sys
from pathlib import Path
from regard.training import team
with team.started([sys.executable, "-c", "import time; time.sleep(600)"], 2) as (store, others):
    print("started", flush=True)
    team.wait_until_ready(Path(store).parent, others)
"""
    with subprocess.Popen(
        [sys.executable, "-c", text],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        preexec_fn=lambda: signal.signal(signal.SIGINT, signal.default_int_handler),
    ) as leader:
        assert leader.stdout is not None
        assert leader.stdout.readline() == b"started\n"
        leader.send_signal(signal.SIGINT)
        assert b"KeyboardInterrupt" in leader.communicate(timeout=60)[1]


def test_a_process_that_ends_while_it_starts_is_not_waited_for() -> None:
    command = [sys.executable, "-c", "raise SystemExit(3)"]
    with (
        pytest.raises(RunError, match="training process 1 of 2 ended with code 3"),
        team.assembled(command, 2),
    ):
        pass


def alive(process: int) -> bool:
    """Whether a process is there and no mere entry that nobody has collected."""
    try:
        return not re.search(r"\) [ZX] ", Path(f"/proc/{process}/stat").read_text())
    except FileNotFoundError:
        return False


def test_torchrun_starts_the_same_team(
    tiny: Tiny, two: Path, log_of: LogOf, tmp_path: Path
) -> None:
    recipe = tmp_path / "recipe.toml"
    Run(tmp_path).save_recipe(tiny())
    out = tmp_path / "out"
    ran = subprocess.run(
        [
            *(sys.executable, "-m", "torch.distributed.run", "--standalone"),
            *("--nproc-per-node", "2", "-m", "regard", "train", recipe, "--out", out),
        ],
        capture_output=True,
        text=True,
        timeout=120,
    )
    assert ran.returncode == 0, ran.stderr
    assert ran.stderr.count("Training done") == 1
    assert curve(log_of, out) == curve(log_of, two)


@pytest.mark.parametrize("joined", [True, False])
def test_a_process_that_was_in_a_group_ends_at_once(joined: bool) -> None:
    """What PyTorch's threads would do while Python cleans up is never tried."""
    text = f"""
import atexit, sys
from regard.__main__ import main
from regard.training import team
atexit.register(print, "cleaned up")
team.has_joined = {joined}
sys.argv = ["regard", "show", "nowhere"]
main()
"""
    ran = subprocess.run([sys.executable, "-c", text], capture_output=True, text=True, timeout=60)
    assert ran.returncode == 1
    assert "nowhere" in ran.stderr
    assert ("cleaned up" in ran.stdout) == (not joined)


def test_a_folder_takes_one_run_at_a_time(tiny: Tiny, tmp_path: Path) -> None:
    with closing(training_run(tiny(), tmp_path)) as events:
        next(events)
        with pytest.raises(RunError, match="another process is training here"):
            train(tiny(), tmp_path)
    train(tiny("train.steps=2"), tmp_path)


@pytest.mark.parametrize(
    ("settings", "cores", "expected"),
    [
        (("train.batch_tokens=2048", "train.accumulate=1"), 2, 2),
        (("train.batch_tokens=1024", "train.accumulate=1"), 8, 2),
        (("train.batch_tokens=4096", "train.accumulate=4"), 8, 8),
        (("train.batch_tokens=4096",), 1, 1),
        (("train.batch_tokens=200", "train.accumulate=1"), 8, 1),
        (("train.batch_tokens=4096", "train.steps=20"), 8, 1),
        (("train.batch_tokens=4096", "train.processes=1"), 8, 1),
        (("train.batch_tokens=4096", "train.threads=2"), 8, 1),
        (("train.batch_tokens=20", "train.processes=3"), 1, 3),
    ],
)
def test_how_many_processes_pay(
    tiny: Tiny,
    monkeypatch: pytest.MonkeyPatch,
    settings: tuple[str, ...],
    cores: int,
    expected: int,
) -> None:
    monkeypatch.setattr(team.cores, "usable_cores", lambda: cores)
    recipe = tiny("train.steps=5000", "train.threads=0", *settings)
    assert team.worthwhile(recipe.train) == expected
