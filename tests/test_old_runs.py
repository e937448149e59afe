"""Runs saved before tasks became files still load, answer and resume.

tests/old_runs/make.py made them, and noted what that version answered. Numbers are compared to
about four digits, since another CPU may round differently.
"""

import json
import shutil
from pathlib import Path
from typing import Any

import pytest

import regard
from regard import Run
from regard.cli import main
from tests.old_runs import make

RUNS = sorted(make.RECIPES)
# What is drawn at random, or nearly a tie, may differ from one CPU to another.
TOO_CLOSE = ("drawn", "best", "bleu", "chrf")
# Scores and facts that versions before had not.
NEWER = ("most_frequent", "copied_bleu", "counted_pairs", "frequent_token", "name")


def expected(name: str) -> dict[str, Any]:
    found: dict[str, Any] = json.loads((make.HERE / name / "expected.json").read_bytes())
    return found


def without(value: Any) -> Any:
    """The value without what another CPU may change."""
    if isinstance(value, dict):
        return {
            key: without(each) for key, each in value.items() if key not in (*TOO_CLOSE, *NEWER)
        }
    return value


def comparable(value: Any) -> Any:
    """What is expected: the same, with numbers that are almost the same."""
    match value:
        case dict():
            return {str(k): comparable(v) for k, v in value.items() if k not in TOO_CLOSE}
        case list() | tuple():
            return [comparable(each) for each in value]
        case float():
            return pytest.approx(value, rel=1e-3, abs=2e-4)
    return value


@pytest.fixture
def copy(request: pytest.FixtureRequest, tmp_path: Path) -> Path:
    return Path(shutil.copytree(make.HERE / request.param, tmp_path / request.param))


@pytest.mark.parametrize("copy", RUNS, indirect=True)
def test_an_old_run_answers_as_it_did(copy: Path) -> None:
    found = without(json.loads(json.dumps(make.answers(copy))))
    assert found == comparable(expected(copy.name)["answers"])


@pytest.mark.parametrize("copy", RUNS, indirect=True)
def test_an_old_run_resumes_as_it_would_have(copy: Path) -> None:
    resumed = expected(copy.name)["resumed"]
    settings = [f"data.folder={make.DATA}", *resumed["settings"]]
    regard.train(regard.read_recipe(copy / "recipe.toml", settings), copy)
    assert Run.open(copy).info()["step"] == 220
    found = json.loads(json.dumps(make.losses(copy, after=make.STEPS)))
    assert without(found) == comparable(resumed["learned"])


@pytest.mark.parametrize("copy", RUNS, indirect=True)
def test_an_old_run_is_loaded_and_shown(copy: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert regard.load(copy).model is not None
    main(["show", str(copy)])
    shown = capsys.readouterr().out
    assert f"  task          {Run.open(copy).task_name()}\n" in shown
    assert f"{sum(p.numel() for p in regard.load(copy).model.parameters()):,}" in shown


def test_a_recipe_by_hand_is_not_taken_for_an_old_one(tmp_path: Path) -> None:
    """Only what a program wrote out whole may hold settings of other tasks."""
    path = tmp_path / "mine.toml"
    path.write_text('task = "tagging"\n[data]\ntrain = ["a.conll"]\n[decode]\nbeam_size = 5\n')
    with pytest.raises(regard.RecipeError, match="would do nothing here"):
        regard.read_recipe(path)
