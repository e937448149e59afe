"""What is wrong with the world around a command is told in one sentence, and costs nothing."""

import io
import subprocess
import sys
from dataclasses import replace
from pathlib import Path

import pytest
from safetensors import SafetensorError

from regard import tasks
from regard.cli import main
from regard.run import Run
from regard.tasks.task import Evaluation, ScoreLine
from regard.tasks.task import Test as Asked
from regard.tasks.writer import Writer

SMALL = [
    word
    for each in (
        *("train.steps=2", "train.threads=1", "train.processes=1", "train.batch_tokens=256"),
        *("model.num_layers=1", "model.d_model=16", "model.d_ff=16", "model.num_heads=2"),
        "data.context=16",
    )
    for word in ("--set", each)
]
LABELLER = ["--set", "train.steps=2", "--set", "train.threads=1", "--set", "model.d_model=16"]
REVIEWS = "".join(f"{'pos' if i % 2 else 'neg'}\tfilm number {i}\n" for i in range(80))


@pytest.fixture(scope="module")
def run(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A language model."""
    folder = tmp_path_factory.mktemp("manners")
    (folder / "book.txt").write_text("one two three\nfour five\n" * 60)
    main(["train", "--text", str(folder / "book.txt"), "--out", str(folder / "run"), *SMALL])
    return folder / "run"


def failing(arguments: list[str], capsys: pytest.CaptureFixture[str], code: int = 1) -> str:
    """The one sentence of a command that should fail."""
    capsys.readouterr()
    with pytest.raises(SystemExit) as error:
        main(arguments)
    said = capsys.readouterr()
    assert (error.value.code, said.out) == (code, "")
    return said.err.strip().splitlines()[-1]


def in_shell(command: str) -> "subprocess.CompletedProcess[str]":
    words = f"{sys.executable} -m regard {command}"
    return subprocess.run(words, shell=True, capture_output=True, text=True, timeout=120)


def test_closed_standard_input_is_empty(run: Path) -> None:
    done = in_shell(f"score {run} <&-")
    assert done.returncode == 1
    assert done.stderr.strip().splitlines() == [
        "regard: error: the text to score is empty; give some words or lines"
    ]


def test_nothing_to_embed_writes_no_file(run: Path, tmp_path: Path) -> None:
    done = in_shell(f"embed {run} --output {tmp_path}/v.npy < /dev/null")
    assert done.returncode == 1
    assert done.stderr.startswith("regard: error: no text was given, so nothing is written to")
    assert not list(tmp_path.iterdir())


def test_an_object_is_not_streamed(run: Path, capsys: pytest.CaptureFixture[str]) -> None:
    said = failing(["generate", str(run), "one", "--json", "--stream"], capsys, code=2)
    assert said == "regard: error: --json is one object at the end; leave --stream out"


def test_closed_standard_output_and_errors_are_no_traceback(run: Path) -> None:
    done = in_shell(f"generate {run} one --max-tokens 3 >&-")
    assert done.returncode == 1
    assert done.stderr == "regard: error: the output: it is closed; put that right and try again\n"
    assert in_shell(f"show {run / 'none'} 2>&-").returncode == 1


def test_what_writes_no_results_needs_no_standard_output(run: Path, tmp_path: Path) -> None:
    done = in_shell(f"embed {run} one --output {tmp_path}/v.npy >&-")
    assert done.returncode == 0, done.stderr
    assert (tmp_path / "v.npy").exists()


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="needs /dev/full")
def test_a_full_disk_behind_the_output_is_told(run: Path) -> None:
    done = in_shell(f"generate {run} one --max-tokens 3 > /dev/full")
    assert done.returncode == 1
    (sentence,) = done.stderr.strip().splitlines()
    assert sentence.startswith("regard: error: the output: No space left on device")


def test_an_interrupted_command_says_so(
    run: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    def interrupted(*arguments: object) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr(Writer, "load", interrupted)
    sentence = failing(["generate", str(run), "one"], capsys, code=130)
    assert sentence == "regard: error: interrupted"


@pytest.mark.parametrize("command", ["generate", "score"])
def test_standard_input_that_is_not_utf8_is_named(
    run: Path, command: str, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(b"one\ncaf\xe9\n")))
    assert "standard input:2: not valid UTF-8 (byte 0xe9)" in failing([command, str(run)], capsys)


def test_standard_input_keeps_its_lines(
    run: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(b"one\r\n two\n")))
    main(["generate", str(run), "--max-tokens", "1"])
    assert capsys.readouterr().out.startswith("one\n two\n")


def test_what_cannot_be_written_is_named(
    run: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    out = tmp_path / "none" / "vectors.npy"
    sentence = failing(["embed", str(run), "one", "--output", str(out)], capsys)
    assert sentence.startswith(f"regard: error: {out}: cannot be written (no folder")
    main(["embed", str(run), "one", "--output", str(tmp_path / "vectors.npy")])
    assert [path.name for path in tmp_path.iterdir()] == ["vectors.npy"]


def test_a_full_disk_stops_an_export_with_a_sentence(
    run: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    def full(*arguments: object) -> None:
        raise SafetensorError("I/O error: No space left on device (os error 28)")

    monkeypatch.setattr("regard.engines.huggingface.save_file", full)
    sentence = failing(["export", str(run), str(tmp_path / "hf"), "--to", "huggingface"], capsys)
    assert "cannot be written (I/O error: No space left on device" in sentence
    assert not list(tmp_path.iterdir())


def test_heads_are_a_translators(
    run: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    for command in (
        ["heads", str(run)],
        ["inspect", "alignment", str(run)],
        ["prune", str(run), "--keep", "50%", "--out", str(tmp_path / "out")],
        ["distill", str(run), "--out", str(tmp_path / "out")],
    ):
        assert "a run of task language-model, not translation" in failing(command, capsys)
    assert not (tmp_path / "out").exists()


def test_a_task_that_is_tested_without_files_searches_for_nothing(
    run: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    def evaluated(run: Run, test: Asked) -> Evaluation:
        assert test.without_search().files == ()
        return Evaluation("a test of its own", [ScoreLine("error", 0.25)])

    task = replace(tasks.get("language-model"), test_files="", evaluate=evaluated)
    monkeypatch.setitem(tasks._loaded, "language-model", task)
    main(["evaluate", str(run)])
    assert capsys.readouterr().out.splitlines() == ["a test of its own", f"{'error':<19}   0.25"]
    for flags, said in (
        (["--beam-size", "3"], "--beam-size: for translators only; leave it out"),
        (["--data", "a.txt"], "runs of task language-model take no files; leave --data out"),
    ):
        assert said in failing(["evaluate", str(run), *flags], capsys, code=2)


def test_a_missing_tokenizer_is_called_by_its_name(
    run: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    tokenizer = run / "tokenizer.json"
    aside = tokenizer.rename(run / "aside")
    try:
        assert f" {tokenizer}: missing, and the weights were trained with it" in failing(
            ["generate", str(run), "one"], capsys
        )
    finally:
        aside.rename(tokenizer)


def test_data_that_was_refused_can_be_mended(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """Nothing of a first try stays: neither its settings nor its vocabulary."""
    data, out = tmp_path / "a.tsv", tmp_path / "run"
    command = ["train", "--labelled", str(data), "--out", str(out), *LABELLER]
    data.write_text("pos\tfilm\n" * 9)
    sentence = failing(command, capsys)
    assert f"{data}: the only label is 'pos', and a model learns to tell" in sentence
    assert not out.exists()
    data.write_text(REVIEWS)
    main([*command, "--set", "data.held_out_share=0.2"])
    assert Run(out).recipe().data.held_out_share == 0.2


def test_vocabulary_of_refused_pairs_is_not_kept(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "a.tsv").write_text("three\ttrois\n")
    command = ["train", "--pairs", str(tmp_path / "a.tsv"), "--out", str(tmp_path / "run")]
    assert "too few pairs (1) to hold 5 % out" in failing(command, capsys)
    assert not (tmp_path / "run").exists()


def test_a_first_start_that_is_stopped_leaves_nothing_behind(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "a.txt").write_text("abc de")
    (tmp_path / "a.tsv").write_text(REVIEWS)
    (tmp_path / "mine").mkdir()
    before = sorted(path.name for path in tmp_path.rglob("*"))
    text, labelled = str(tmp_path / "a.txt"), str(tmp_path / "a.tsv")
    for words, said in (
        (["--text", text], "a.txt: the text to learn from has 7 tokens, and at least 129"),
        (
            ["--text", text, "--task", "masked-language-model", "--set", "data.context=4"],
            "a.txt: the text to validate on has 0 tokens, and at least 3 are needed; give more",
        ),
        (["--labelled", labelled, "--set", "train.device=nowhere"], "not on this machine"),
        (
            ["--labelled", labelled, "--set", "data.held_out_share=1e-9"],
            "raise data.held_out_share",
        ),
    ):
        for out in ("mine", "runs/new"):
            command = ["train", *words, "--processes", "1", "--out", str(tmp_path / out)]
            assert said in failing(command, capsys)
    assert sorted(path.name for path in tmp_path.rglob("*")) == before


def test_a_recipe_that_was_there_stays(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    recipe, data = tmp_path / "recipe.toml", tmp_path / "a.tsv"
    recipe.write_text(f'task = "classification"\ndata = {{train = ["{data}"]}}\n')
    data.write_text("pos\tfilm\n" * 9)
    failing(["train", str(recipe), "--out", str(tmp_path)], capsys)
    assert recipe.exists()


def test_a_share_out_of_range_is_a_sentence(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "a.tsv").write_text(REVIEWS)
    command = ["train", "--labelled", str(tmp_path / "a.tsv"), "--out", str(tmp_path / "run")]
    for setting, said in (
        ("data.held_out_share=0.5", "data.held_out_share = 0.5: give a number between 0 and 0.5"),
        ("data.lable=1", "unknown key data.lable; did you mean data.label?"),
    ):
        assert said in failing([*command, "--set", setting], capsys)
    assert not (tmp_path / "run").exists()


def test_a_label_that_only_validation_has_is_told(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "a.tsv").write_text(REVIEWS)
    (tmp_path / "b.tsv").write_text("pos\tfilm number 1\nodd\tfilm\n")
    files = ["--labelled", str(tmp_path / "a.tsv"), "--valid", str(tmp_path / "b.tsv")]
    main(["train", *files, "--out", str(tmp_path / "run"), *LABELLER])
    said = " ".join(capsys.readouterr().err.split())
    assert "warning: only in the validation data, so never learned: odd" in said


def test_a_language_model_refuses_what_has_no_lines_or_no_text(
    run: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "a.txt").write_text("one two three\n" * 300)
    (tmp_path / "blank.txt").write_text(" \n" * 600)
    text = ["train", "--text", str(tmp_path / "a.txt"), *SMALL]
    main([*text, "--task", "masked-language-model", "--out", str(tmp_path / "masked")])
    taken = ["--set", f"tokenizer.folder={tmp_path / 'masked'}", "--out", str(tmp_path / "run")]
    assert "its tokenizer loses line breaks" in failing([*text, *taken], capsys)
    main([*text, "--set", f"tokenizer.folder={run}", "--out", str(tmp_path / "run")])
    blank = ["train", "--text", str(tmp_path / "blank.txt"), "--out", str(tmp_path / "blank")]
    assert "the training texts are empty" in failing(blank, capsys)
