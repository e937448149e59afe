"""The files in deploy/ name options and files that there are."""

import re
import shlex
import shutil
import subprocess
from pathlib import Path

import pytest

from regard.cli.serve import PlaceFlags, serve

ROOT = Path(__file__).resolve().parent.parent
UNIT = ROOT / "deploy" / "regard.service"
CONTAINERFILE = ROOT / "deploy" / "Containerfile"


def settings(text: str) -> dict[str, str]:
    lines = [line for line in text.splitlines() if "=" in line and not line.startswith("#")]
    return dict(line.split("=", 1) for line in lines)


def known_options() -> set[str]:
    names = [*serve.__annotations__, *PlaceFlags.__annotations__]
    return {f"--{name.replace('_', '-')}" for name in names}


def test_the_unit_starts_the_server_and_reloads_it() -> None:
    found = settings(UNIT.read_text("utf-8"))
    words = shlex.split(found["ExecStart"])
    assert words[1] == "serve"
    assert {word for word in words if word.startswith("--")} <= known_options()
    assert found["ExecReload"] == "/bin/kill -HUP $MAINPID"
    assert found["OOMPolicy"] == "continue"  # else the end of the worker ends the server
    assert found["KillMode"] == "mixed"


def test_systemd_accepts_the_unit(tmp_path: Path) -> None:
    if not shutil.which("systemd-analyze"):
        pytest.skip("systemd-analyze is not installed")
    copy = tmp_path / UNIT.name
    text = re.sub(r"ExecStart=\S+", f"ExecStart={shutil.which('true')}", UNIT.read_text("utf-8"))
    copy.write_text(text.replace("User=regard\nGroup=regard\n", ""))
    done = subprocess.run(
        ["systemd-analyze", "verify", str(copy)], capture_output=True, text=True, timeout=60
    )
    complaints = [line for line in done.stderr.splitlines() if UNIT.name in line]
    assert (done.returncode, complaints) == (0, [])


def test_the_container_copies_what_there_is_and_is_nobody_special() -> None:
    text = CONTAINERFILE.read_text("utf-8").replace("\\\n", " ")
    steps = [line.split() for line in text.splitlines() if line and not line.startswith("#")]
    for step in steps:
        if step[0] == "COPY" and not step[1].startswith("--"):
            assert [name for name in step[1:-1] if not (ROOT / name).exists()] == []
    assert ["USER", "10001"] in steps
    assert "requirements-serve.txt" in text
    assert "/ready" in text[text.index("HEALTHCHECK") :]
    options = set(re.findall(r"--[a-z-]+", text[text.index("ENTRYPOINT") :]))
    assert options <= known_options()
