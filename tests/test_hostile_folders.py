"""A folder from a stranger costs little, runs nothing, and ends in one sentence.

`tests/hostile_folders.py` makes the folders and `tests/hostile_child.py` runs the commands. Here
each folder is opened by the command that answers with it; the slow test runs all commands.
"""

import json
import os
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any, NamedTuple

import pytest
import torch

from tests.hostile_folders import FOLDERS, commands, inputs, originals

ROOT = Path(__file__).resolve().parent.parent
SECONDS, MEGABYTES = 2, 500
# What a training costs that a folder has let through.
TRAINING_SECONDS = 20
# Every so many folders are in the quick test; those around them differ little.
STRIDE = 5
STEERING = {"\x1b", "\x07", "\x9b", "\u202e"}


class Goods(NamedTuple):
    """The good runs that are changed, the data that commands are given, and where all that is."""

    place: Path
    runs: dict[str, Path]
    given: dict[str, Path]


@pytest.fixture(scope="module")
def goods(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Goods]:
    place = tmp_path_factory.mktemp("hostile")
    (place / "originals").mkdir()
    (place / "given").mkdir()
    before = torch.get_num_threads()
    torch.set_num_threads(1)  # for tiny models more are slower, much so beside other programs
    yield Goods(place, originals(place / "originals"), inputs(place / "given"))
    torch.set_num_threads(before)


def outcomes(goods: Goods, folders: list[Any], wanted: set[str]) -> list[dict[str, Any]]:
    """What became of the commands on these folders."""
    jobs = []
    for hostile in folders:
        place = Path(tempfile.mkdtemp(dir=goods.place))
        good = goods.runs[hostile.kind]
        folder = place / good.name
        shutil.copytree(good, folder)
        hostile.change(folder)
        for command, arguments in commands(hostile.kind, folder, goods.given).items():
            if command in wanted:
                jobs.append(
                    {
                        "title": f"{hostile.kind}: {hostile.name}: {command}",
                        "must_refuse": hostile.refused and command == "use",
                        "folder": str(folder),
                        "place": str(place / f"at-{command}"),
                        "arguments": arguments,
                    }
                )
    done = subprocess.run(
        [sys.executable, str(ROOT / "tests" / "hostile_child.py")],
        input=json.dumps(jobs),
        capture_output=True,
        text=True,
        check=False,
        cwd=ROOT,
        env={**os.environ, "OMP_NUM_THREADS": "1"},
    )
    assert done.returncode == 0, done.stderr
    found: list[dict[str, Any]] = json.loads(done.stdout)
    assert len(found) == len(jobs)
    return found


def complaints(outcome: dict[str, Any]) -> list[str]:
    """What is wrong with an outcome."""
    found = [f"{what} was seen" for what in outcome["seen"]]
    error, code = outcome["error"], outcome["code"]
    sentences = [line for line in error.splitlines() if line.startswith("regard: error: ")]
    if code not in (0, 1, 2):
        found.append(f"ended with {code}: {error[-300:]}")
    elif code and len(sentences) != 1:
        found.append(f"{len(sentences)} sentences: {error[-300:]}")
    if outcome["must_refuse"] and not code:
        found.append(f"was accepted: {outcome['output'][:100]}")
    trained = not code and outcome.get("title", "").endswith(": train")
    seconds = TRAINING_SECONDS if trained else SECONDS
    if outcome["seconds"] > seconds or outcome["megabytes"] > MEGABYTES:
        found.append(f"cost {outcome['seconds']:.1f} s and {outcome['megabytes']:.0f} MB")
    if STEERING & set(error):
        found.append("a control character")
    return found


def assert_harmless(found: list[dict[str, Any]]) -> None:
    wrong = {each["title"]: complaints(each) for each in found if complaints(each)}
    assert not wrong, "\n".join(f"{title}: {what}" for title, what in wrong.items())


@pytest.mark.timeout(1200)
def test_a_hostile_folder_ends_in_one_sentence(goods: Goods) -> None:
    assert_harmless(outcomes(goods, FOLDERS[::STRIDE], {"use"}))


@pytest.mark.slow
@pytest.mark.timeout(7200)
@pytest.mark.parametrize("kind", sorted({each.kind for each in FOLDERS}))
def test_every_hostile_folder_is_harmless_to_every_command(goods: Goods, kind: str) -> None:
    every = {"show", "use", "attend", "serve", "studio", "export", "train"}
    assert len(FOLDERS) >= 100
    assert_harmless(outcomes(goods, [each for each in FOLDERS if each.kind == kind], every))


def test_what_a_folder_must_not_cause_is_seen() -> None:
    good = {"seen": [], "error": "regard: error: a", "code": 1, "must_refuse": True}
    good |= {"output": "", "seconds": 0.1, "megabytes": 1}
    assert complaints(good) == []
    for change in (
        {"code": "traceback"},
        {"code": "killed (9)"},
        {"code": 0},
        {"seen": ["writes /etc/passwd"]},
        {"error": "Traceback"},
        {"error": "regard: error: a\nregard: error: b"},
        {"error": "regard: error: \x1b[2J"},
        {"seconds": 3},
        {"megabytes": 900},
    ):
        assert complaints({**good, **change})
