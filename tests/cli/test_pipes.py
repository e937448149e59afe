"""Commands as one part of a pipe: a line is answered before the next one is written."""

import gzip
import json
import os
import select
import shutil
import signal
import subprocess
import sys
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TextIO

import pytest

from regard.cli import main

OLD_RUNS = Path(__file__).resolve().parent.parent / "old_runs"
SENTENCES = ["the old dog sees the red bird .", "the good king hears the young baker ."]
COMMANDS = {
    "translate": ("translation-transformer", "--json"),
    "classify": ("classification-bert", "--json"),
    "tag": ("tagging", "--json"),
    "fill": ("masked-language-model", "--json"),
    "score": ("language-model-gpt", "--json", "--lines"),
    "embed": ("tagging",),
}


def words_for(command: str, folder: Path) -> list[str]:
    """The command on a copy of an old run, since some commands write into their run."""
    name, *options = COMMANDS[command]
    run = folder / name
    if not run.exists():
        shutil.copytree(OLD_RUNS / name, run)
    return [command, str(run), *options]


def texts_for(command: str) -> list[str]:
    if command == "fill":
        return [text.replace("the", "[MASK]", 1) for text in SENTENCES]
    return SENTENCES


@contextmanager
def conversation(
    words: list[str], monkeypatch: pytest.MonkeyPatch
) -> Iterator[tuple[TextIO, TextIO]]:
    """A command in a thread: the pipe to its input, and the one from its output."""
    inner, to_it = os.pipe()
    from_it, outer = os.pipe()
    with (
        os.fdopen(inner, encoding="utf-8") as stdin,
        os.fdopen(to_it, "w", encoding="utf-8", buffering=1) as asking,
        os.fdopen(from_it, encoding="utf-8") as answers,
        os.fdopen(outer, "w", encoding="utf-8") as stdout,
    ):
        monkeypatch.setattr(sys, "stdin", stdin)
        monkeypatch.setattr(sys, "stdout", stdout)
        thread = threading.Thread(target=main, args=(words,))
        thread.start()
        try:
            yield asking, answers
        finally:
            asking.close()
            thread.join()


@pytest.mark.parametrize("command", COMMANDS)
def test_each_line_is_answered_as_it_comes(
    command: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with conversation(words_for(command, tmp_path), monkeypatch) as (asking, answers):
        for text in texts_for(command) * 2:
            asking.write(f"{text}\n")
            found = json.loads(answers.readline())
            source = found.get("source") or found.get("text") or " ".join(found.get("words", ()))
            assert source == text


@pytest.mark.parametrize("command", COMMANDS)
def test_an_empty_line_is_answered_as_it_comes(
    command: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with conversation(words_for(command, tmp_path), monkeypatch) as (asking, answers):
        asking.write("\n")
        assert select.select([answers], [], [], 20)[0]


@pytest.mark.parametrize("command", COMMANDS)
def test_files_in_and_out_are_answered_as_a_pipe_is(
    command: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    words = words_for(command, tmp_path)
    texts = [*texts_for(command), *texts_for(command)]
    given, written = tmp_path / "in.gz", tmp_path / "out.jsonl"
    given.write_bytes(gzip.compress("\r\n".join(texts).encode()))
    main([*words, "--input", str(given), "--output", str(written)])
    with conversation(words, monkeypatch) as (asking, answers):
        asking.write("\n".join(texts))
        asking.close()
        piped = [json.loads(answers.readline()) for _ in texts]
    lines = written.read_text("utf-8").splitlines()
    assert len(lines) == len(piped) == len(texts)
    for line, other in zip(lines, piped, strict=True):
        assert json.loads(line).keys() == other.keys()
        for key, value in json.loads(line).items():
            if isinstance(value, str):
                assert value == other[key]


def test_a_whole_text_is_scored_and_continued_from_a_file(tmp_path: Path) -> None:
    folder = str(OLD_RUNS / "language-model-gpt")
    given, written = tmp_path / "in.txt", tmp_path / "out.txt"
    given.write_text("\n".join(SENTENCES), "utf-8")
    main(["score", folder, "--input", str(given), "--output", str(written)])
    assert written.read_text("utf-8").count("bits/character") == 1
    words = ("--max-tokens", "3", "--input", str(given), "--output", str(written))
    main(["generate", folder, *words])
    assert written.read_text("utf-8").startswith("\n".join(SENTENCES))


def test_lines_are_not_asked_of_texts(capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit) as stopped:
        main(["score", str(OLD_RUNS / "language-model-gpt"), "one", "--lines"])
    assert stopped.value.code == 2
    assert "--lines is for a file or a pipe" in capsys.readouterr().err


@pytest.mark.parametrize("command", [*COMMANDS, "generate"])
def test_what_cannot_be_read_or_written_is_refused_before_a_run_is_loaded(
    command: str,
    tmp_path: Path,
    capsys: pytest.CaptureFixture[str],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    words = words_for("score" if command == "generate" else command, tmp_path)[:2]
    monkeypatch.setattr("regard.run.Run.tokenizers", lambda self: pytest.fail("loaded"))
    text = tmp_path / "text"
    text.write_text("one\n")
    for options, sentence in (
        (["--input", str(tmp_path / "no")], "there is no such file"),
        (["--output", str(tmp_path / "no" / "out")], "cannot be written"),
        (["--input", str(text), "--output", str(text)], "is what is read"),
        (["one", "--input", str(text)], "not both"),
    ):
        with pytest.raises(SystemExit):
            main([command, words[1], *options])
        assert sentence in capsys.readouterr().err


@pytest.fixture
def translating(tmp_path: Path) -> Iterator["subprocess.Popen[str]"]:
    """A translator as another program starts it."""
    pytest.importorskip("ctranslate2")
    command = [sys.executable, "-m", "regard", *words_for("translate", tmp_path)[:2]]
    pipes = dict.fromkeys(("stdin", "stdout", "stderr"), subprocess.PIPE)
    with subprocess.Popen(  # type: ignore[call-overload]
        command, text=True, bufsize=1, preexec_fn=heed_ctrl_c, **pipes
    ) as process:
        yield process
        process.kill()


def heed_ctrl_c() -> None:
    """Programs that are started in the background may not see it."""
    signal.signal(signal.SIGINT, signal.SIG_DFL)


def ask(process: "subprocess.Popen[str]", text: str) -> str:
    assert process.stdin is not None
    assert process.stdout is not None
    process.stdin.write(f"{text}\n")
    return process.stdout.readline()


def test_a_co_process_answers_and_ends_with_its_input(
    translating: "subprocess.Popen[str]",
) -> None:
    first, second = (ask(translating, text) for text in SENTENCES)
    assert first.strip()
    assert second.strip() != first.strip()
    assert ask(translating, "") == "\n"
    assert ask(translating, SENTENCES[0]) == first
    rest, errors = translating.communicate(SENTENCES[1])  # without a line end
    assert (rest, errors, translating.returncode) == (second, "", 0)


@pytest.mark.skipif(os.name == "nt", reason="signals of Unix")
def test_ctrl_c_while_it_waits_is_one_line(translating: "subprocess.Popen[str]") -> None:
    ask(translating, SENTENCES[0])
    translating.send_signal(signal.SIGINT)
    assert translating.wait(30) == 130
    assert translating.stderr is not None
    assert translating.stderr.read() == "regard: error: interrupted\n"


def test_a_reader_that_has_gone_ends_it_quietly(translating: "subprocess.Popen[str]") -> None:
    ask(translating, SENTENCES[0])
    assert translating.stdin is not None
    assert translating.stdout is not None
    translating.stdout.close()
    translating.stdin.write(f"{SENTENCES[1]}\n")
    assert translating.wait(30) == 1
    assert translating.stderr is not None
    assert translating.stderr.read() == ""
