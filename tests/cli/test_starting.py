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
    (f"plan {RECIPE} --device nope", 2, '--device "nope": not known'),
    ("distill nope --out student", 1, "nope: no such run folder"),
    ("distill runs/demo --out student --set train.stesp=1", 1, "did you mean train.steps?"),
    (f"plan {RECIPE} --set train.stesp=1", 1, "did you mean train.steps?"),
    ("plan --pairs nope.en a.fr", 1, "nope.en: there is no such file"),
    ("plan --text nope.txt", 1, "nope.txt: there is no such file"),
    (f"plan {RECIPE} --steps 5", 2, "there is no --steps; did you mean --set train.steps=5?"),
    ("train --pairs a.en a.fr --learning-rate=0.1", 2, "--set train.learning_rate=0.1?"),
    ("train --pairs a.en a.fr --learnin-rate 0.1", 2, "--set train.learning_rate=0.1?"),
    ("distill runs/full --out a.en/student", 1, "a.en is a file"),
    ("distill runs/full --out s --warmup-steps 1", 2, "--set train.warmup_steps=1?"),
    ("experiment attention-matters --out e --corpus nope", 2, "--corpus nope: not known"),
    ("experiment attention-matters --out e --set nope", 1, "write it like train.steps=2000"),
    ("translate nope hello", 1, "nope: no such run folder; `regard train` makes one"),
    ("translate new/demo hello", 1, "`regard train demo --out new/demo` makes it"),
    ("translate runs/text hello", 1, "a run of task language-model, not translation"),
    ("translate runs/demo hello", 1, "no trained weights yet"),
    ("translate runs/full hello --beam-size 0", 2, "--beam-size. Must be >= 1"),
    ("translate runs/full hello --top-k 3", 2, "need a temperature"),
    ("translate runs/full hello --device nope", 2, "Write cpu, cuda"),
    ("translate runs/full hello --heads-off nope", 2, "like cross.1.3"),
    ("generate nope", 1, "nope: no such run folder"),
    ("generate runs/full", 1, "a run of task translation, not language-model"),
    ("generate runs/text --top-p 2", 2, "--top-p. Must be <= 1"),
    ("score nope", 1, "nope: no such run folder"),
    ("score runs/text --device nope", 2, "Write cpu, cuda"),
    ("classify nope", 1, "nope: no such run folder"),
    ("classify runs/text --device nope", 2, "Write cpu, cuda"),
    ("classify runs/full a", 1, "a run of task translation, not classification"),
    ("tag nope", 1, "nope: no such run folder"),
    ("tag runs/text --device nope", 2, "Write cpu, cuda"),
    ("fill nope", 1, "nope: no such run folder"),
    ("fill runs/text --n-best 0", 2, "--n-best. Must be >= 1"),
    ("embed nope", 1, "nope: no such run folder"),
    ("embed runs/full --output nope/a.npy", 1, "cannot be written (no folder nope)"),
    ("embed runs/full --output a.npy --tokens", 2, "leave --tokens out"),
    ("translate runs/full --input nope", 1, "nope: there is no such file"),
    ("translate runs/full --output nope/a", 1, "cannot be written"),
    ("evaluate nope", 1, "nope: no such run folder"),
    ("evaluate runs/full --source nope --reference a.fr", 1, "nope: there is no such file"),
    ("evaluate runs/full --bootstrap -1", 2, "--bootstrap. Must be >= 0"),
    ("evaluate runs/full --output nope/a", 1, "cannot be written (no folder nope)"),
    ("evaluate runs/text --picture a.jpg", 2, "end the name in .png, .svg or .pdf"),
    ("compare nope", 1, "nope: no such run folder"),
    ("compare runs/full --source nope --reference a.fr", 1, "nope: there is no such file"),
    ("compare runs/full --picture a.jpg", 2, "end the name in .png, .svg or .pdf"),
    ("compare runs/full --html nope/a.html", 1, "cannot be written (no folder nope)"),
    ("studio nope", 1, "nope: no such run folder"),
    ("studio runs/full --port 99999", 2, "--port. Must be <= 65535"),
    ("attend nope hello", 1, "nope: no such run folder"),
    ("attend runs/full hello --picture a.jpg", 2, "end the name in .png, .svg or .pdf"),
    ("attend runs/full hello --png nope/a.png", 1, "cannot be written (no folder nope)"),
    ("attend runs/full hello --head 1", 2, "say of which layer"),
    ("heads nope", 1, "nope: no such run folder"),
    ("heads runs/full --picture a.jpg", 2, "end the name in .png, .svg or .pdf"),
    ("heads runs/full --heads-how nope", 2, "--heads-how"),
    ("inspect alignment nope", 1, "nope: no such run folder"),
    ("inspect alignment runs/full --sentences 0", 2, "--sentences. Must be >= 1"),
    ("inspect confidence nope", 1, "nope: no such run folder"),
    ("inspect positions nope", 1, "nope: no such run folder"),
    ("learn nope a.tsv", 1, "nope: no such run folder"),
    ("learn runs/full", 2, "give either a file of corrections, or --undo"),
    ("learn runs/full a.tsv --undo", 2, "give either a file of corrections, or --undo"),
    ("learn runs/full --undo", 1, "was taught nothing that could be taken back"),
    ("learn runs/full nope.tsv", 1, "nope.tsv: there is no such file"),
    ("learn runs/words a.tsv", 1, "a run of task language-model, not translation"),
    ("inspect positions runs/full --length 0", 2, "--length. Must be >= 1"),
    ("inspect gradients nope", 1, "nope: no such run folder"),
    ("inspect gradients runs/full", 1, "a transformer has no recurrent states"),
    ("serve nope", 1, "nope: no such run folder"),
    ("serve fr:en=nope", 1, "nope: no such run folder"),
    ("serve runs/full --api-keys nope", 1, "nope: there is no such file"),
    ("serve runs/full --port 99999", 2, "--port. Must be <= 65535"),
    ("export nope --to ctranslate2", 1, "nope: no such run folder"),
    ("export runs/full --to nope", 2, "--to"),
    ("export runs/words --to ctranslate2", 1, "a run of task language-model, not translation"),
    ("export runs/labels --to huggingface", 1, "a run of task classification, not translation or"),
    ("export runs/full --to huggingface --int8", 2, "--int8 is for argos, ctranslate2 and web"),
    ("export runs/full --to huggingface --out runs", 1, "is there already and not empty"),
    ("import nope --out new", 1, "nope: no such folder"),
    ("import runs/full --out new", 1, "has no config.json"),
    ("prune nope --keep 50% --out new", 1, "nope: no such run folder"),
    ("prune runs/full --keep half --out new", 2, "like 50% or 12"),
    ("prune runs/full --keep 50% --out a.en", 1, "is there already"),
    ("doctor --nope", 2, "Unknown option: --nope"),
    ("completion nope", 2, "bash"),
    ("completion bash", 0, ""),
    ("help export", 0, ""),
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
    heavy = {"torch", "ctranslate2", "matplotlib", "starlette"} & set(sys.modules)
    print("end of", code, *heavy, file=sys.stderr)
"""


def test_a_mistake_is_answered_without_torch(tmp_path: Path) -> None:
    for name in ("a.en", "a.fr"):
        (tmp_path / name).write_text("one two three\n" * 50)
    for name, values in {
        "demo": {"data": {"builtin": "phrasebook"}},
        "full": {"data": {"builtin": "phrasebook"}},
        "text": {"task": "language-model", "data": {"train": ["a.en"]}},
        "words": {"task": "language-model", "data": {"train": ["a.en"]}},
        "labels": {"task": "classification", "data": {"train": ["a.tsv"]}},
    }.items():
        (tmp_path / "runs" / name).mkdir(parents=True)
        Run(tmp_path / "runs" / name).save_recipe(parse(values, "test"))
    for name in ("full", "words", "labels"):
        Run(tmp_path / "runs" / name).model_path.touch()
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
        assert (command, end) == (command, f"{code}")
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
