"""Facts of the wrong kind in run.json are refused in a sentence; texts cannot steer a terminal."""

import json
from pathlib import Path
from typing import Any

import pytest

from regard.errors import RunError, visible
from regard.run_info import read_info

GOOD = {
    "format": 1,
    "step": 3,
    "seconds": 0.5,
    "languages": ["fr", "en"],
    "validation": {"bleu": 1.5, "temperature": 0.7, "none": None},
}


def written(folder: Path, values: Any) -> Path:
    path = folder / "run.json"
    path.write_text(json.dumps(values), "utf-8")
    return path


def test_what_regard_writes_is_read(tmp_path: Path) -> None:
    assert read_info(written(tmp_path, GOOD)) == GOOD


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("step", "3"),
        ("step", True),
        ("step", -1),
        ("step", 10**400),
        ("parameters", {}),
        ("seconds", float("nan")),
        ("machine", 5),
        ("languages", ["fr", 1]),
        ("validation", []),
        ("validation", {"temperature": "hot"}),
        ("validation", {"temperature": 0}),
    ],
)
def test_a_fact_of_the_wrong_kind_is_named(name: str, value: Any, tmp_path: Path) -> None:
    path = written(tmp_path, {**GOOD, name: value})
    with pytest.raises(RunError, match=rf"run\.json: damaged \({name} cannot be|not valid JSON"):
        read_info(path)


def test_a_text_does_not_steer_a_terminal() -> None:
    assert visible("\x1b[2J\x9b1m\u202eabc\x07\x00") == "\ufffd[2J\ufffd1m\ufffdabc\ufffd\ufffd"
    for text in ("a\tb\nc", "l’été ", "日本語", "שלום", "👩\u200d🚀", "\u200f"):
        assert visible(text) == text
