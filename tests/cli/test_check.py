"""regard check, and the same check before a training and before an evaluation."""

import json
import os
import subprocess
import sys
from itertools import islice
from pathlib import Path

import pytest

from regard.cli import main
from regard.data import phrasebook

SMALL = [
    *("--set", "train.steps=2", "--set", "model.d_model=16", "--set", "model.d_ff=16"),
    *("--set", "train.eval_every=2", "--set", "train.save_every=2", "--processes", "1"),
]


@pytest.fixture(scope="session")
def lines() -> tuple[list[str], list[str]]:
    pairs = list(islice(phrasebook.pairs("train", "phrasebook"), 400))
    return [p.source for p in pairs], [p.target for p in pairs]


@pytest.fixture(autouse=True)
def folder(
    lines: tuple[list[str], list[str]], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """good.fr and good.en translate each other; late.en is one line late."""
    monkeypatch.chdir(tmp_path)
    french, english = lines
    for name, text in (
        ("good.fr", french),
        ("good.en", english),
        ("late.fr", french),
        ("late.en", [*english[-1:], *english[:-1]]),
    ):
        Path(name).write_text("".join(f"{line}\n" for line in text))


Said = pytest.CaptureFixture[str]


def status_of(words: list[str]) -> object:
    try:
        main(words)
    except SystemExit as stop:
        return stop.code
    return 0


def test_the_report_is_for_people(capsys: Said) -> None:
    assert status_of(["check", "late.fr", "late.en"]) == 1
    said = capsys.readouterr().out
    assert "French (100 %) → English (100 %)" in said
    assert "error [shift] from the first line on the target is one line late" in said
    assert "late.fr:" in said
    assert "1 error: `regard train` would stop here" in said
    assert "\x1b" not in said


def test_check_never_loads_torch() -> None:
    program = """
import sys
from regard.cli import main
sys.argv = ["regard", "check", "good.fr", "good.en"]
main()
assert "torch" not in sys.modules
"""
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    assert "Nothing is wrong" in done.stdout


@pytest.mark.parametrize(
    ("words", "said"),
    [
        ([], "give the files to check"),
        (["good.fr", "--text", "good.en"], "give the files to check"),
        (["missing.fr", "good.en"], "missing.fr: there is no such file"),
        (["link.fr", "good.en"], "link.fr: this is a link to nowhere.fr, which is not there"),
        (["pipe.fr", "good.en"], "pipe.fr: this is a pipe, and regard reads a file more than once"),
        (["--pairs", "pipe.fr", "good.en"], "pipe.fr: this is a pipe"),
    ],
)
def test_a_wrong_call_gets_a_sentence(words: list[str], said: str, capsys: Said) -> None:
    Path("link.fr").symlink_to("nowhere.fr")
    os.mkfifo("pipe.fr")
    assert status_of(["check", *words]) in (1, 2)
    assert said in "".join(capsys.readouterr())


def test_a_recipe_is_checked(capsys: Said) -> None:
    Path("a.toml").write_text('task = "translation"\n[data]\ntrain = ["late.fr", "late.en"]\n')
    assert status_of(["check", "a.toml", "--json"]) == 1
    report = json.loads(capsys.readouterr().out)
    assert [each["code"] for each in report["findings"]][:1] == ["shift"]


def test_unreadable_files_are_reported(capsys: Said) -> None:
    Path("bad.en").write_bytes(b"\xff\xfea\0\n\0")
    assert status_of(["check", "--pairs", "good.fr", "bad.en", "--json"]) == 1
    (finding,) = json.loads(capsys.readouterr().out)["findings"]
    assert finding["code"] == "unreadable"


def test_training_stops_at_what_cannot_be_meant(capsys: Said) -> None:
    assert status_of(["train", "--pairs", "late.fr", "late.en", "--out", "run", *SMALL]) == 1
    said = capsys.readouterr().err
    assert "the target is one line late" in said
    assert "train with --anyway" in said
    assert not Path("run").exists()


def test_training_goes_its_way_if_it_is_meant_and_does_not_check_again(
    capsys: Said, monkeypatch: pytest.MonkeyPatch
) -> None:
    command = ["train", "--pairs", "late.fr", "late.en", "--out", "run", *SMALL]
    assert status_of([*command, "--anyway"]) == 0
    assert "error [shift]" in capsys.readouterr().err
    assert status_of(command) == 0  # which is finished, so there is nothing to check
    assert "shift" not in capsys.readouterr().err


def test_a_run_of_the_other_direction_is_no_start(capsys: Said) -> None:
    main(["train", "--pairs", "good.fr", "good.en", "--out", "fr-en", *SMALL])
    capsys.readouterr()
    words = ["train", "--pairs", "good.en", "good.fr", "--from", "fr-en", "--out", "run"]
    assert status_of(words) == 1
    assert "fr-en translates fr → en, and these pairs are en → fr" in capsys.readouterr().err
    evaluation = ["evaluate", "fr-en", "--source", "good.en", "--reference", "good.fr"]
    assert status_of(evaluation) == 1
    assert "seem to be swapped: fr-en translates French → English" in capsys.readouterr().err
    Path("other.en").write_bytes(Path("good.fr").read_bytes())
    evaluation = ["evaluate", "fr-en", "--source", "good.fr", "--reference", "other.en"]
    assert status_of([*evaluation, "--bootstrap", "0"]) == 0
    assert "warning: --reference other.en is in French" in capsys.readouterr().err
