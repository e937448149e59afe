"""A run is translated and served where only requirements-serve.txt is installed: no PyTorch."""

import http.client
import json
import os
import re
import shutil
import subprocess
import sys
import tomllib
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest
from packaging.requirements import Requirement

from regard import Translator

pytest.importorskip("ctranslate2", reason="needs the extra `fast`")

ROOT = Path(__file__).resolve().parent.parent
OLD_RUN = ROOT / "tests" / "old_runs" / "translation-transformer"
TEXTS = ["the old dog sees the red bird .", "the good king hears the young baker .", ""]
MODULES = (
    *("serve.server", "run", "recipe", "files", "errors", "machine.cores", "decode.search"),
    *("engines.ctranslate2", "engines.conversion", "tasks.translation.task"),
)


def required(lines: list[str]) -> set[str]:
    return {Requirement(line).name for line in lines if line and not line.startswith("#")}


def left_out() -> set[str]:
    """The packages that are not installed for a server."""
    project = tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))["project"]
    serving = (ROOT / "requirements-serve.txt").read_text("utf-8").splitlines()
    return required(project["dependencies"]) - required(serving)


def hiding() -> str:
    """Code after which Python does not find these packages."""
    return f"""
import sys

class Without:
    def __init__(self, finder):
        self.finder = finder

    def find_spec(self, name, path=None, target=None):
        hidden = name.partition(".")[0] in {sorted(left_out())}
        return None if hidden else self.finder.find_spec(name, path, target)

    def __getattr__(self, name):
        return getattr(self.finder, name)

sys.meta_path[:] = map(Without, sys.meta_path)
"""


def as_if_not_installed(code: str, *arguments: str) -> list[str]:
    """The command of a Python that does not find these packages."""
    return [sys.executable, "-c", hiding() + code, *arguments]


REGARD = "from regard.cli import main\nmain()"


@pytest.fixture
def run(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Path:
    """A run that was never converted."""
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    return Path(shutil.copytree(OLD_RUN, tmp_path / "run"))


@pytest.fixture(scope="module")
def expected() -> list[str]:
    """What PyTorch says."""
    return Translator.load(OLD_RUN, engine="torch").translate(TEXTS)


def finished(command: list[str]) -> "subprocess.CompletedProcess[str]":
    return subprocess.run(command, capture_output=True, text=True, timeout=100, check=False)


def test_pytorch_is_not_found() -> None:
    assert "torch" in left_out()
    done = finished(as_if_not_installed("import torch"))
    assert "ModuleNotFoundError: No module named 'torch'" in done.stderr


def test_what_serves_is_imported() -> None:
    code = "\n".join(f"import regard.{module}" for module in MODULES)
    done = finished(as_if_not_installed(code))
    assert (done.returncode, done.stderr) == (0, "")


def test_a_run_translates_as_with_pytorch(run: Path, tmp_path: Path, expected: list[str]) -> None:
    for _ in ("converted", "converted before"):
        done = finished(as_if_not_installed(REGARD, "translate", str(run), *TEXTS))
        assert (done.returncode, done.stderr) == (0, "")
        assert done.stdout.splitlines() == expected
    assert len(list((tmp_path / "cache" / "regard" / "engines").iterdir())) == 1


@contextmanager
def serving(run: Path) -> Iterator[int]:
    """The port of a server for a run, as long as the block lasts. Its worker is a process of its
    own: both run `sitecustomize` when they start.
    """
    (run.parent / "sitecustomize.py").write_text(hiding())
    paths = [str(run.parent), *filter(None, [os.environ.get("PYTHONPATH")])]
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join(paths)}
    command = [sys.executable, "-m", "regard", "serve", str(run), "--port", "0", "--quiet"]
    with subprocess.Popen(command, stderr=subprocess.PIPE, text=True, env=environment) as process:
        assert process.stderr is not None
        said = []
        try:
            for line in process.stderr:
                said.append(line)
                if found := re.search(r"http://127\.0\.0\.1:(\d+)/", line):
                    yield int(found[1])
                    return
            raise AssertionError("".join(said))
        finally:
            process.terminate()


def post(port: int, **values: Any) -> Any:
    connection = http.client.HTTPConnection("127.0.0.1", port, timeout=60)
    try:
        headers = {"Content-Type": "application/json"}
        connection.request("POST", "/translate", json.dumps(values), headers)
        return json.load(connection.getresponse())
    finally:
        connection.close()


@pytest.mark.timeout(300)
def test_a_run_is_served_as_with_pytorch(run: Path, expected: list[str]) -> None:
    with serving(run) as port:
        answer = post(port, q=TEXTS, source="en", target="de")
        assert answer == {"translatedText": expected}
        automatic = post(port, q=TEXTS[0], source="auto", target="de")
        assert automatic["translatedText"] == expected[0]
        explained = post(port, q=TEXTS[0], source="en", target="de", explain=True)
        assert explained["translatedText"] == expected[0]
        assert explained["regard"]["tokens"]
        assert explained["regard"]["alignment"]
