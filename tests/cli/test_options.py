"""Options are one language: one name for one thing, and its default in every help page."""

import io
import os
import re
import shlex
import shutil
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from regard.cli import COMMANDS, INSIDE, app, main
from regard.cli.old_names import OLD_NAMES
from regard.cli.options import shown_default
from regard.cli.streams import as_utf8, prepare_streams
from regard.inspect.curves import terminal_curves
from regard.inspect.figures import plain_heat, save_matrix
from regard.inspect.maps import Matrix
from regard.recipe import parse
from regard.run import commands_for
from regard.tasks.translation.translator import Translator

OLD_RUNS = Path(__file__).resolve().parents[1] / "old_runs"
NAMES = [name for commands in COMMANDS.values() for name in commands if name not in INSIDE]
NAMES += [f"{outer} {name}" for outer, commands in INSIDE.items() for name in commands]
# Commands that compute with a run. Training takes its device from the recipe.
COMPUTE = [
    *("translate", "generate", "score", "classify", "tag", "fill", "embed", "evaluate", "compare"),
    *("studio", "attend", "heads", "serve", "prune"),
    *("inspect alignment", "inspect positions", "inspect gradients"),
]


def command(name: str) -> Any:
    found = app
    for word in name.split():
        found = found[word]
    return found


def options(name: str) -> Iterator[Any]:
    for argument in command(name).assemble_argument_collection():
        if argument.show and argument.name.startswith("--"):
            yield argument


def page(name: str, capsys: pytest.CaptureFixture[str]) -> str:
    main(["help", *name.split()])
    return " ".join(capsys.readouterr().out.replace("│", " ").split())


@pytest.mark.parametrize("name", NAMES)
def test_every_default_is_shown(name: str, capsys: pytest.CaptureFixture[str]) -> None:
    printed = page(name, capsys)
    for argument in options(name):
        if (known := shown_default(argument.field_info.default)) and not argument.required:
            found = re.search(rf"{argument.name} .*?\[default: ([^]]*)\]", printed)
            assert found, argument.name
            assert found[1].replace(" ", "") == known.replace(" ", ""), argument.name


def test_a_default_is_shown_as_it_is_typed() -> None:
    shown = [shown_default(value) for value in (None, False, (), "", 1.0, 0.8, 100, Path("runs/a"))]
    assert shown == [None, None, None, None, "1", "0.8", "100", "runs/a"]


def test_the_default_that_a_run_has_is_named(capsys: pytest.CaptureFixture[str]) -> None:
    printed = page("translate", capsys)
    assert "1 is greedy search. [default: the run's setting]" in printed
    assert "[default: the teacher's setting]" in page("distill", capsys)


@pytest.mark.parametrize("name", COMPUTE)
def test_what_computes_takes_a_device(name: str) -> None:
    assert "--device" in [argument.name for argument in options(name)]


def test_one_thing_has_one_name() -> None:
    found = {argument.name for name in NAMES for argument in options(name)}
    assert not found & {"--png", "--svg", "--figure", "--how", "--top"}
    for name, names in OLD_NAMES.items():
        inner = [name] if name not in INSIDE else [f"{name} {each}" for each in INSIDE[name]]
        for each in inner:
            own = {argument.name for argument in options(each)}
            assert not own & names.keys()
            assert set(names.values()) <= own


def test_old_names_work_and_say_so(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    run, picture = str(OLD_RUNS / "translation-transformer"), tmp_path / "map.svg"
    main(["attend", run, "the old dog", f"--svg={picture}", "--device", "cpu"])
    said = capsys.readouterr()
    assert said.err == "regard: --svg is now called --picture\n"
    assert picture.read_bytes().startswith(b"<?xml")


def test_the_folder_of_an_export_may_be_an_argument(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    run, out = str(OLD_RUNS / "language-model-gpt"), tmp_path / "out"
    main(["export", run, str(out), "--to", "huggingface"])
    said = capsys.readouterr().err
    assert f"now given with --out {out}" in said
    sizes = re.search(r"Wrote .*: ([0-9.]+) MB, from ([0-9.]+) MB of weights", said)
    assert sizes
    assert (out / "model.safetensors").exists()


@pytest.mark.parametrize("words", [["-V"], ["--version"]])
def test_the_version(words: list[str], capsys: pytest.CaptureFixture[str]) -> None:
    main(words)
    assert re.fullmatch(r"\d+\.\d+\.\d+\S*\n", capsys.readouterr().out)


def test_help_of_a_command(capsys: pytest.CaptureFixture[str]) -> None:
    main(["help", "inspect", "positions"])
    asked = capsys.readouterr().out
    main(["inspect", "positions", "--help"])
    assert asked == capsys.readouterr().out
    main(["help"])
    assert "Look inside" in capsys.readouterr().out
    with pytest.raises(SystemExit) as stop:
        main(["help", "trian"])
    assert stop.value.code == 2
    assert 'Did you mean "train"?' in capsys.readouterr().err


COMPLETED = """
source "$1"
complete_word() {
    COMP_WORDS=("$@"); COMP_CWORD=$(($# - 1)); COMPREPLY=()
    _regard
    echo "${COMPREPLY[*]}"
}
complete_word regard transl
complete_word regard translate --beam
complete_word regard translate --engine ctr
complete_word regard inspect al
"""


def test_bash_completes_commands_options_and_choices(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    main(["completion", "bash"])
    (tmp_path / "regard.bash").write_text(capsys.readouterr().out)
    done = subprocess.run(
        ["bash", "-c", COMPLETED, "bash", str(tmp_path / "regard.bash")],
        capture_output=True,
        text=True,
        timeout=60,
    )
    assert done.stdout.split() == ["translate", "--beam-size", "ctranslate2", "alignment"]


@pytest.mark.parametrize("shell", ["zsh", "fish"])
def test_other_shells_have_a_script(shell: str, capsys: pytest.CaptureFixture[str]) -> None:
    main(["completion", shell])
    assert "translate" in capsys.readouterr().out


def test_completion_is_installed(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("HOME", str(tmp_path))
    main(["completion", "bash", "--install"])
    (script,) = (path for path in tmp_path.rglob("regard") if path.is_file())
    assert str(script) in capsys.readouterr().err
    assert str(script) in (tmp_path / ".bashrc").read_text()


@pytest.mark.parametrize("own", ["", "autoload -Uz compinit && compinit\n", "alias ll='ls -l'"])
def test_zsh_completes_after_the_installation_whatever_zshrc_holds(
    own: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name in ("ZSH", "ZSH_CUSTOM", "ZDOTDIR"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("HOME", str(tmp_path))
    zshrc = tmp_path / ".zshrc"
    zshrc.write_text(own)
    for _ in range(2):
        main(["completion", "zsh", "--install"])
    lines = zshrc.read_text().splitlines()
    assert own.strip() in lines or not own
    assert lines.index(f"fpath=({tmp_path}/.zsh/completions $fpath)") < next(
        place for place, line in enumerate(lines) if "compinit" in line
    )
    assert len([line for line in lines if "compinit" in line]) == 1
    if zsh := shutil.which("zsh"):
        done = subprocess.run(
            [zsh, "-i", "-c", "print $_comps[regard]"],
            capture_output=True,
            text=True,
            timeout=60,
            stdin=subprocess.DEVNULL,
        )
        assert done.stdout.strip() == "_cyclopts_regard", done.stderr


def test_int8_is_not_ignored_without_ctranslate2(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(sys.modules, "ctranslate2", None)
    run = OLD_RUNS / "translation-transformer"
    with pytest.raises(SystemExit):
        main(["translate", str(run), "the old dog", "--int8"])
    said = capsys.readouterr().err
    assert "pip install ctranslate2" in said
    assert "int8 is CTranslate2's alone, leave it out" in said
    assert Translator.load(run, engine="auto").translate(["the old dog"])  # by torch


def test_export_advises_what_it_has(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    pytest.importorskip("ctranslate2")
    run = str(OLD_RUNS / "translation-recurrent")
    with pytest.raises(SystemExit):
        main(["export", run, "--to", "ctranslate2", "--out", str(tmp_path / "out")])
    said = capsys.readouterr().err
    assert "only a Transformer; translate and serve it with --engine torch" in said


def test_what_to_try_fits_the_run_and_the_shell() -> None:
    pairs = {"train": ["a.fr", "a.en"], "languages": ["fr", "en"]}
    translate, evaluate = commands_for(parse({"data": pairs}, "test"), "my runs/it's fr")
    assert shlex.split(translate)[:3] == ["regard", "translate", "my runs/it's fr"]
    assert evaluate.endswith("--source test.fr --reference test.en")
    builtin = parse({"data": {"builtin": "phrasebook"}}, "test")
    assert commands_for(builtin, "runs/demo")[1] == "regard evaluate runs/demo"


def test_positions_in_a_pipe_differ() -> None:
    rows = plain_heat([[0.0, 1.0], [1.0, 0.0], [-1.0, 0.5]]).splitlines()
    assert rows == ["▒█", "█▒", " ▓"]


def test_letters_that_no_font_has_are_one_warning(tmp_path: Path) -> None:
    matrix = Matrix(rows=["ça"], columns=["\U00010600\U00010601", "$5"], weights=[[0.5, 0.5]])
    with pytest.warns(UserWarning, match="no installed font has") as said:
        save_matrix(matrix, tmp_path / "map.png")
    assert len(said) == 1
    assert (tmp_path / "map.png").stat().st_size > 1000


def test_an_axis_has_numbers() -> None:
    text = terminal_curves({"a": [1.0, 0.6, 0.2]}, "x", "y").plain
    marks = [line.split("┤")[0].strip() for line in text.splitlines() if "┤" in line]
    assert marks[0] == "1.0e+00"
    assert all(re.fullmatch(r"\d\.\de[-+]\d\d", mark) for mark in marks)


def test_an_ascii_terminal_gets_utf8(monkeypatch: pytest.MonkeyPatch) -> None:
    written = io.BytesIO()
    monkeypatch.setattr(sys, "stdout", io.TextIOWrapper(written, encoding="ascii"))
    prepare_streams()
    sys.stdout.write("█ é \udcff")
    sys.stdout.flush()
    assert written.getvalue() == "█ é \\udcff".encode()


def test_words_of_another_encoding_are_read_as_utf8(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    kept = os.fsdecode("été".encode())
    broken = "été".encode().decode("ascii", "surrogateescape")
    assert as_utf8(["a", kept, broken]) == ["a", "été", "été"]
