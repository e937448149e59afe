"""A task that is none of ours is one file, and everything works with it.

The file is digit_sum.py beside this one; docs/write-a-task.md explains it.
"""

import json
import re
import shutil
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest
import torch

import regard
from regard import Run, tasks
from regard.cli import main
from regard.errors import RecipeError
from regard.training.events import Interrupted, StepReport
from regard.weights import read_tensors
from tests.tasks import digit_sum

PAGE = Path(__file__).resolve().parents[2] / "docs" / "write-a-task.md"
RECIPE = """
task = "digit-sum"
[train]
steps = 300
learning_rate = 0.1
schedule = "cosine"
warmup_steps = 20
eval_every = 50
save_every = 50
metric = "error"
threads = 1
"""


@pytest.fixture(autouse=True, scope="module")
def known() -> Iterator[None]:
    tasks.add(digit_sum.TASK)
    yield
    for known in (tasks.TASKS, tasks._loaded):
        known.pop("digit-sum", None)


@pytest.fixture
def recipe_path(tmp_path: Path) -> Path:
    path = tmp_path / "digits.toml"
    path.write_text(RECIPE)
    return path


@pytest.fixture(scope="module")
def trained(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("digits")
    (folder / "digits.toml").write_text(RECIPE)
    regard.train(regard.read_recipe(folder / "digits.toml"), folder / "run")
    return folder / "run"


@pytest.fixture
def run(trained: Path, tmp_path: Path) -> Run:
    return Run(Path(shutil.copytree(trained, tmp_path / "run")))


def test_the_task_is_one_file_of_at_most_a_hundred_lines() -> None:
    assert len(Path(digit_sum.__file__).read_text("utf-8").splitlines()) <= 100


def test_it_learns_to_add_and_answers(run: Run) -> None:
    adder = regard.load(run.folder)
    found = adder(torch.tensor([[1, 2, 3, 4], [9, 9, 9, 9]]))
    assert found.tolist() == pytest.approx([10, 36], abs=0.5)


def test_it_is_evaluated(run: Run) -> None:
    assert regard.evaluate_run(run.folder).score("error") < 0.5


def test_the_best_weights_are_those_with_the_smallest_error(run: Run) -> None:
    lines = map(json.loads, (run.folder / "log.jsonl").read_text().splitlines())
    errors = [line["error"] for line in lines if line["event"] in ("validation", "average")]
    assert len(errors) > 3
    assert run.info()["validation"]["error"] == pytest.approx(min(errors))


def test_what_the_model_has_beside_its_parameters_is_kept(run: Run) -> None:
    tensors, metadata = read_tensors(run.model_path)
    assert int(tensors["norm.num_batches_tracked"]) > 0
    assert json.loads(metadata["sizes"]) == {"digits": 10}


def test_a_stopped_run_resumes_and_ends_as_if_it_had_not_been_stopped(
    recipe_path: Path, run: Run, tmp_path: Path
) -> None:
    recipe = regard.read_recipe(recipe_path)
    for event in regard.training_run(recipe, tmp_path / "stopped"):
        if isinstance(event, StepReport) and event.step == 120:
            break
    resumed = regard.train(recipe, tmp_path / "stopped")
    ends = [read_tensors(each.checkpoint_path(300))[0] for each in (run, resumed)]
    assert ends[0].keys() == ends[1].keys()
    assert all(torch.equal(ends[0][name], ends[1][name]) for name in ends[0])


def test_commands_work_with_it(
    run: Run, recipe_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    main(["show", str(run.folder)])
    shown = capsys.readouterr().out
    assert "digit-sum" in shown
    assert "error 0." in shown
    main(["evaluate", str(run.folder), "--json"])
    assert json.loads(capsys.readouterr().out)["error"] < 0.5
    main(["show", "--settings", "digit-sum"])
    assert "Digits of a row." in capsys.readouterr().out
    main(["train", str(recipe_path), "--out", str(run.folder)])
    assert "is finished" in capsys.readouterr().err


def test_its_card_says_what_it_is(run: Run) -> None:
    card = (run.folder / "README.md").read_text("utf-8")
    assert card.count("An adder of digits, trained by regard") == 1
    assert "mean error 0." in card


@pytest.mark.parametrize("setting", ["train.label_smoothing=0", "data.max_ratio=2", "decode.x=2"])
def test_a_setting_of_another_task_is_refused(recipe_path: Path, setting: str) -> None:
    with pytest.raises(RecipeError, match="would do nothing here"):
        regard.read_recipe(recipe_path, [setting])


def test_a_wrong_setting_is_explained(recipe_path: Path) -> None:
    with pytest.raises(RecipeError, match=r"did you mean data\.length\?"):
        regard.read_recipe(recipe_path, ["data.lenght=4"])
    with pytest.raises(RecipeError, match="digit-sum has loss, error"):
        regard.read_recipe(recipe_path, ["train.metric=bleu"])


def test_a_program_that_has_not_added_the_task_says_so(
    run: Run, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delitem(tasks.TASKS, "digit-sum")
    monkeypatch.delitem(tasks._loaded, "digit-sum")
    with pytest.raises(regard.RegardError, match="digit-sum: there is no such task"):
        regard.load(run.folder)


def test_ctrl_c_saves(recipe_path: Path, tmp_path: Path) -> None:
    import signal

    events = []
    for event in regard.training_run(regard.read_recipe(recipe_path), tmp_path / "run"):
        events.append(event)
        if isinstance(event, StepReport) and event.step == 7:
            signal.raise_signal(signal.SIGINT)
    assert isinstance(events[-1], Interrupted)
    assert Run(tmp_path / "run").checkpoint_path(events[-1].step).exists()


def test_a_name_that_is_taken_is_refused() -> None:
    from dataclasses import replace

    with pytest.raises(RecipeError, match="there is one of that name"):
        tasks.add(replace(digit_sum.TASK, name="translation"))


def test_a_run_starts_from_another(recipe_path: Path, run: Run, tmp_path: Path) -> None:
    settings = [f"train.from_run={run.folder}", "train.steps=1", "train.warmup_steps=1"]
    tuned = regard.train(regard.read_recipe(recipe_path, settings), tmp_path / "tuned")
    first = json.loads((tuned.folder / "log.jsonl").read_text().splitlines()[0])
    untuned = json.loads((run.folder / "log.jsonl").read_text().splitlines()[0])
    assert first["loss"] < untuned["loss"] / 10


def test_the_page_shows_this_file_and_its_commands_work(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    blocks = re.findall(r"```(\w+)\n(.*?)```", PAGE.read_text("utf-8"), flags=re.DOTALL)
    (_, task), (_, program), (_, recipe), (_, commands) = blocks
    assert task == Path(digit_sum.__file__).read_text("utf-8")
    monkeypatch.chdir(tmp_path)
    Path("digit_sum.py").write_text(task, "utf-8")
    Path("digits.py").write_text(program, "utf-8")
    Path("digits.toml").write_text(recipe, "utf-8")
    first, *others = [line.removeprefix("python ").split() for line in commands.splitlines()]
    subprocess.run([sys.executable, *first], check=True, timeout=100)
    for program, *words in others:
        assert program == "digits.py"
        main(words)  # a new process for each would take long
    printed = capsys.readouterr().out
    assert "500 new rows" in printed
    assert "Digits of a row." in printed
