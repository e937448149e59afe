"""Shards on a real cluster of this machine: workers that die, a program that is killed."""

import os
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path

import pytest

from regard.cli import main
from regard.tasks.translation.translator import Translator

PROCESSES = Path("/proc")
TEXTS = [f"{n % 10} {n // 10 % 10} {n % 7}" for n in range(600)]

# What `regard translate --on ray` does, with smaller shards and two workers.
PROGRAM = """
import os, sys
from pathlib import Path
from regard.decode.search import Search
from regard.run import Run
from regard.tasks.translation import on_ray, shards

run, folder, texts = Run(Path(sys.argv[1])), Path(sys.argv[2]), Path(sys.argv[3])
job = shards.Job.of(run, Search(beam_size=2), "text", "ctranslate2", False)
every = list(shards.cut(texts.read_text().splitlines(), folder, job, shard_lines=50))
rest = [each for each in every if not each.is_done()]
print("left", len(rest), flush=True)
for lines in on_ray.translate(rest, job, workers=2):
    print("done", lines, flush=True)
print(*shards.outputs(every), sep="\\n", end="", flush=True)
"""


def workers() -> Iterator[int]:
    """The processes of Ray's workers that have shards."""
    for folder in PROCESSES.glob("[0-9]*"):
        with suppress(OSError):
            if b"ShardWorker" in (folder / "cmdline").read_bytes():
                yield int(folder.name)


@pytest.mark.slow
@pytest.mark.skipif(not PROCESSES.is_dir(), reason="finds processes in /proc")
def test_killed_workers_and_a_killed_program_cost_nothing(finished: Path, tmp_path: Path) -> None:
    pytest.importorskip("ray.data", reason="needs the extra ray")
    folder, texts = tmp_path / "parts", tmp_path / "texts"
    folder.mkdir()
    texts.write_text("\n".join(TEXTS))

    def start() -> "subprocess.Popen[str]":
        command = [sys.executable, "-c", PROGRAM, str(finished), str(folder), str(texts)]
        return subprocess.Popen(command, stdout=subprocess.PIPE, text=True)

    with start() as program:
        assert program.stdout
        assert program.stdout.readline() == "left 12\n"
        assert program.stdout.readline() == "done 50\n"
        program.kill()
    while list(workers()):
        time.sleep(0.2)
    done = {path: path.stat().st_mtime_ns for path in folder.glob("*.out")}
    assert done

    with start() as program:
        assert program.stdout
        assert program.stdout.readline() == f"left {12 - len(done)}\n"
        for _ in range(12 - len(done)):
            if (found := list(workers())) and len(done) < 12:
                with suppress(ProcessLookupError):
                    os.kill(found[0], signal.SIGKILL)
                break
            assert program.stdout.readline() == "done 50\n"
        rest = program.stdout.read()
        assert program.wait() == 0
    lines = [line for line in rest.split("\n") if line != "done 50" and "(raylet)" not in line]
    assert lines == Translator.load(finished, engine="ctranslate2").translate(TEXTS, beam_size=2)
    assert {path: path.stat().st_mtime_ns for path in done} == done


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        ([], "--on: name the files with --input and --output"),
        (["--input", "IN", "--output", "OUT", "--json"], "--on: writes one translation on each"),
        (["--input", "IN", "--output", "out.tmx"], "--on: writes one translation on each"),
        (["--input", "IN", "--output", "OUT", "--device", "mps"], "--device mps: --on translates"),
    ],
)
def test_what_does_not_go_with_it_is_refused(
    finished: Path,
    tmp_path: Path,
    capsys: pytest.CaptureFixture[str],
    arguments: list[str],
    said: str,
) -> None:
    (tmp_path / "IN").write_text("1 2\n")
    given = [str(tmp_path / each) if each.isupper() or "." in each else each for each in arguments]
    with pytest.raises(SystemExit) as stopped:
        main(["translate", str(finished), *given, "--on", "ray"])
    assert stopped.value.code == 2
    assert said in capsys.readouterr().err


def test_a_cluster_that_does_not_start_is_a_sentence(
    finished: Path,
    tmp_path: Path,
    capsys: pytest.CaptureFixture[str],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    ray = pytest.importorskip("ray", reason="needs the extra ray")

    def init(address: str, **options: object) -> None:
        raise ConnectionError("none") if address == "auto" else Exception("timed out")

    monkeypatch.setattr(ray, "init", init)
    (tmp_path / "in").write_text("1 2\n")
    files = ["--input", str(tmp_path / "in"), "--output", str(tmp_path / "out")]
    with pytest.raises(SystemExit) as stopped:
        main(["translate", str(finished), *files, "--on", "ray"])
    assert stopped.value.code == 1
    assert "--on ray: no cluster starts on this machine (timed out)" in capsys.readouterr().err


def test_a_missing_package_is_named(
    finished: Path,
    tmp_path: Path,
    capsys: pytest.CaptureFixture[str],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setitem(sys.modules, "ray", None)
    (tmp_path / "in").write_text("1 2\n")
    files = ["--input", str(tmp_path / "in"), "--output", str(tmp_path / "out")]
    with pytest.raises(SystemExit) as stopped:
        main(["translate", str(finished), *files, "--on", "ray"])
    assert stopped.value.code == 1
    assert 'install it with `pip install "regard[ray]"`' in capsys.readouterr().err
    assert sorted(each.name for each in tmp_path.iterdir()) == ["in"]
