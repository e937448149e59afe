"""A mistake is answered before PyTorch is loaded, and Ctrl-C at any moment."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

from regard.cli import main
from regard.recipe import parse
from regard.run import Run

RECIPE = Path(__file__).resolve().parents[2] / "recipes" / "demo.toml"
# Each command with its exit code, and words of its sentence.
WRONG = [
    ("train nope.toml", 1, "nope.toml: no such recipe"),
    ("train --pairs nope.en a.fr", 1, "nope.en: there is no such file"),
    ("train --pairs a.en a.fr --valid nope.en a.fr", 1, "nope.en: there is no such file"),
    ("train --pairs a.en a.fr --set train.stesp=3", 1, "did you mean train.steps?"),
    ("train --pairs a.en a.fr --set train.steps=many", 1, "give a whole number of at least 1"),
    ("train --pairs a.en a.fr --set train=3", 1, "train is a section"),
    ("train --pairs a.en a.fr --from runs/nope", 1, "runs/nope: no such run folder"),
    ("train --pairs a.en a.fr --out a.en/run", 1, "a.en: is not a folder"),
    ("train --pairs a.en a.fr --out runs/demo", 1, "holds another run, which learned from phrase"),
    ("train --text nope.txt", 1, "nope.txt: there is no such file"),
    ("train --text a.en --task masked-language-model --out a.fr", 1, "a.fr: is not a folder"),
    ("train --labelled nope.tsv", 1, "nope.tsv: there is no such file"),
    ("train --tagged nope.conll", 1, "nope.conll: there is no such file"),
    ("train --nope", 2, "Unknown option"),
    (f"train {RECIPE} --set train.steps=0", 1, "give a whole number of at least 1"),
    (f"train {RECIPE} --set train.from_run=runs/demo --out new", 1, "no trained weights yet"),
    (f"train {RECIPE} --out runs/text", 1, "runs/text: holds a run for language-model"),
    ("demo --out a.en/run", 1, "a.en: is not a folder"),
    ("show nope", 1, "nope: no such run folder"),
    ("show --settings nope", 1, "there is no such task"),
    (f"show {RECIPE}", 0, ""),
    ("show runs/demo", 0, ""),
    ("show --settings tagging", 0, ""),
    ("plan nope.toml", 1, "nope.toml: no such recipe"),
    (f"plan {RECIPE} --device nope", 1, '--device "nope": not known'),
    ("distill nope --out student", 1, "nope: no such run folder"),
    ("distill runs/demo --out student --set train.stesp=1", 1, "did you mean train.steps?"),
    ("experiment attention-matters --out e --data nope", 1, "--data nope: not known"),
    ("experiment attention-matters --out e --source nope --reference a.fr", 1, "nope: there is no"),
]
RUN_ALL = """
import sys
from regard.__main__ import main

for line in sys.stdin.read().splitlines():
    sys.argv = ["regard", *line.split()]
    try:
        main()
        code = 0
    except SystemExit as end:
        code = end.code
    print("end of", code, "torch" in sys.modules, file=sys.stderr)
"""


def test_a_mistake_is_answered_without_torch(tmp_path: Path) -> None:
    for name in ("a.en", "a.fr"):
        (tmp_path / name).write_text("one two three\n" * 50)
    for name, values in {
        "demo": {"data": {"builtin": "phrasebook"}},
        "text": {"task": "language-model", "data": {"train": ["a.en"]}},
    }.items():
        (tmp_path / "runs" / name).mkdir(parents=True)
        Run(tmp_path / "runs" / name).save_recipe(parse(values, "test"))
    done = subprocess.run(
        [sys.executable, "-c", RUN_ALL],
        input="\n".join(command for command, _, _ in WRONG),
        cwd=tmp_path,
        env={**os.environ, "COLUMNS": "200"},
        capture_output=True,
        text=True,
        timeout=60,
    )
    parts = done.stderr.split("end of ")
    assert len(parts) == len(WRONG) + 1, done.stderr
    said = [parts[0], *(part.partition("\n")[2] for part in parts[1:])]
    ends = [part.partition("\n")[0] for part in parts[1:]]
    for (command, code, words), sentence, end in zip(WRONG, said, ends, strict=False):
        assert (command, words in sentence) == (command, True), sentence
        assert (command, end) == (command, f"{code} False")
    assert {path.name for path in tmp_path.iterdir()} == {"a.en", "a.fr", "runs"}


def test_ctrl_c_while_modules_are_loaded_is_one_sentence() -> None:
    text = """
import sys

class Interrupting:
    def find_spec(self, name, path=None, target=None):
        if name == "cyclopts":
            raise KeyboardInterrupt

sys.meta_path.insert(0, Interrupting())
from regard.__main__ import main
main()
"""
    done = subprocess.run([sys.executable, "-c", text], capture_output=True, text=True, timeout=60)
    assert (done.returncode, done.stderr) == (130, "regard: error: interrupted\n")


def test_the_command_starts_where_ctrl_c_is_caught() -> None:
    project = (RECIPE.parents[1] / "pyproject.toml").read_text("utf-8")
    assert 'regard = "regard.__main__:main"' in project


def test_commands_say_that_a_run_is_unfinished(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    run = Run(tmp_path / "run")
    run.training.mkdir(parents=True)
    run.save_recipe(parse({"data": {"builtin": "phrasebook"}, "train": {"steps": 200}}, "test"))
    run.checkpoint_path(97).touch()
    folder, file = str(run.folder), str(tmp_path / "out")
    for words in (
        *(["translate", folder, "one"], ["evaluate", folder], ["serve", f"en:fr={folder}"]),
        *(["export", folder, file, "--to", "huggingface"], ["heads", folder]),
        *(["compare", folder, folder], ["attend", folder, "one"], ["classify", folder, "one"]),
    ):
        with pytest.raises(SystemExit):  # it has no weights
            main(words)
        said = capsys.readouterr().err
        assert f"{folder}: stopped at update 97 of 200; the command that" in said, words
    main(["show", folder])
    assert "stopped at update 97 of 200" in capsys.readouterr().out
