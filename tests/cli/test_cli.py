"""The command line as a person meets it: real arguments, real files, what it says."""

import gzip
import inspect
import io
import json
import os
import random
import re
import subprocess
import sys
import time
from importlib import import_module
from pathlib import Path

import pytest

from regard.cli import COMMANDS, INSIDE, app, main, place_of
from regard.decode.search import Search

WORDS = {"one": "un", "two": "deux", "three": "trois", "four": "quatre", "five": "cinq"}
SETTINGS = (
    *("--set", "model.d_model=32", "--set", "model.d_ff=64", "--set", "model.num_heads=2"),
    *("--set", "model.encoder_layers=1", "--set", "model.decoder_layers=1"),
    *("--set", "model.dropout=0.0", "--set", "train.threads=1", "--set", "train.eval_sentences=8"),
    *("--set", "train.eval_every=40", "--set", "train.save_every=40"),
)


def sentences(count: int, seed: int) -> list[tuple[str, str]]:
    """Numbers in English and, word by word, in French."""
    draw = random.Random(seed)
    chosen = [[draw.choice(list(WORDS)) for _ in range(draw.randint(1, 6))] for _ in range(count)]
    return [(" ".join(line), " ".join(WORDS[word] for word in line)) for line in chosen]


def write_pairs(folder: Path, name: str, pairs: list[tuple[str, str]]) -> list[str]:
    paths = [folder / f"{name}.en", folder / f"{name}.fr"]
    for path, side in zip(paths, zip(*pairs, strict=True), strict=True):
        path.write_text("".join(line + "\n" for line in side), encoding="utf-8")
    return [str(path) for path in paths]


@pytest.fixture(scope="module")
def files(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("pairs")
    write_pairs(folder, "train", sentences(400, seed=1))
    write_pairs(folder, "test", sentences(30, seed=2))
    return folder


@pytest.fixture(scope="module")
def run(files: Path) -> Path:
    out = files / "run"
    pairs = ("--pairs", str(files / "train.en"), str(files / "train.fr"))
    main(["train", *pairs, "--out", str(out), *SETTINGS, "--set", "train.steps=160"])
    return out


def failing(arguments: list[str], capsys: pytest.CaptureFixture[str]) -> tuple[int, str]:
    """The exit code and the one sentence of a command that should fail."""
    with pytest.raises(SystemExit) as error:
        main(arguments)
    lines = capsys.readouterr().err.strip().splitlines()
    assert lines[-1].startswith("regard: error: ")
    assert not any("Traceback" in line for line in lines)
    return int(error.value.code or 0), lines[-1].removeprefix("regard: error: ")


SENTENCES = {name: text for commands in COMMANDS.values() for name, text in commands.items()}
ALL = [name for name in SENTENCES if name not in INSIDE]
ALL += [f"{outer} {name}" for outer, commands in INSIDE.items() for name in commands]


def help_of(words: list[str], capsys: pytest.CaptureFixture[str]) -> str:
    main([*words, "--help"])
    printed = capsys.readouterr().out
    return " ".join(printed.replace("│", " ").split())


def test_help_lists_every_command_with_a_sentence(capsys: pytest.CaptureFixture[str]) -> None:
    printed = help_of([], capsys)
    for commands in COMMANDS.values():
        for command, sentence in commands.items():
            assert f" {command} {sentence} " in printed


def test_the_list_has_headings_in_the_order_of_work(capsys: pytest.CaptureFixture[str]) -> None:
    main(["--help"])
    headings = re.findall(r"╭─ (.*?) ─", capsys.readouterr().out)
    expected = ["Train", "Use", "Look inside", "Serve and share", "This machine", "About regard"]
    assert headings == expected


@pytest.mark.parametrize("command", ALL)
def test_each_command_explains_itself(command: str, capsys: pytest.CaptureFixture[str]) -> None:
    printed = help_of(command.split(), capsys)
    assert f"Usage: regard {command} " in printed
    module, _, name = place_of(command).partition(":")
    function = getattr(import_module(module), name)
    written = inspect.getdoc(getattr(function, "default_command", function)) or ""
    first, *more = written.partition("\nParameters\n")[0].strip().split("\n\n")
    outer, _, inner = command.partition(" ")
    listed = INSIDE[outer][inner] if inner else SENTENCES[outer]
    assert " ".join(first.split()) == listed, "the list has the first sentence of the docstring"
    for paragraph in (first, *more):
        assert " ".join(paragraph.split()).replace("`", "") in printed


def test_translate_shows_the_defaults_of_a_search(capsys: pytest.CaptureFixture[str]) -> None:
    printed = help_of(["translate"], capsys)
    for name in ("n_best", "min_length", "top_k", "top_p", "seed"):
        after = printed.split(f" --{name.replace('_', '-')} ", 1)[1].split(" --", 1)[0]
        assert f"[default: {getattr(Search(), name):g}]" in after


def test_help_is_in_plain_english(capsys: pytest.CaptureFixture[str]) -> None:
    for command in ("", *ALL, *INSIDE):
        printed = help_of(command.split(), capsys).lower()
        for words in ("goes on", "anew", "is told", "so many", "kept alive"):
            assert words not in printed, command


NO_TORCH = """
import sys
sys.modules["torch"] = None  # as if it were not installed
from regard.cli import main
main()
"""


def test_a_command_that_needs_torch_says_so_where_it_is_not_installed(tmp_path: Path) -> None:
    def said(*words: str) -> tuple[int, str, str]:
        command = [sys.executable, "-c", NO_TORCH, *words]
        done = subprocess.run(command, capture_output=True, text=True, cwd=tmp_path, timeout=60)
        return done.returncode, done.stdout, done.stderr

    sentence = (
        "regard: error: this command needs PyTorch, which is not installed; "
        "install it with `pip install torch`\n"
    )
    (tmp_path / "a.txt").write_text("one two\n")
    for words in (["doctor"], ["demo"], ["train", "--text", "a.txt"]):
        code, printed, talk = said(*words)
        assert (code, printed, talk.splitlines(keepends=True)[-1]) == (1, "", sentence)
    assert [path.name for path in tmp_path.iterdir()] == ["a.txt"]
    assert "Traceback" in said("doctor", "--debug")[2]
    code, printed, _ = said("show", "--settings", "translation")
    assert (code, "train.steps" in printed) == (0, True)


def test_another_package_that_is_missing_is_not_taken_for_torch(
    run: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(sys.modules, "uvicorn", None)
    with pytest.raises(ModuleNotFoundError, match="uvicorn"):
        main(["studio", str(run)])


def test_version(capsys: pytest.CaptureFixture[str]) -> None:
    main(["--version"])
    assert capsys.readouterr().out.strip().count(".") == 2


@pytest.mark.parametrize(
    ("arguments", "part"),
    [
        (["trian"], 'Did you mean "train"?'),
        (["train", "--pears", "x"], "Did you mean --pairs?"),
        (["translate"], "regard translate --help"),
        (["train"], "give either a recipe file or --pairs"),
        (["train", "--text", "a.txt", "--preset", "fast"], "--preset fast: belongs to --pairs"),
        (["train", "x.toml", "--task", "tagging"], "--task and --preset belong to data"),
        (["translate", "run", "--beam-size", "many"], "beam-size"),
    ],
)
def test_wrong_usage_exits_2(
    arguments: list[str], part: str, capsys: pytest.CaptureFixture[str]
) -> None:
    code, sentence = failing(arguments, capsys)
    assert code == 2
    assert part in sentence


def test_failures_exit_1_with_one_sentence(
    tmp_path: Path, files: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    short = tmp_path / "short.fr"
    short.write_text("un\n", encoding="utf-8")
    bad = tmp_path / "bad.fr"
    bad.write_bytes((files / "train.fr").read_bytes().replace(b"cinq", b"c\xffnq", 1))
    english = str(files / "train.en")
    for arguments, part in (
        (["train", str(tmp_path / "no.toml")], "no such recipe"),
        (["train", "--pairs", english], "one file of plain text holds no pairs"),
        (["train", "--pairs", english, str(short)], "400"),
        (["train", "--pairs", english, str(tmp_path)], "this is a folder"),
        (["train", "--pairs", english, str(files / "train.frr")], "did you mean train.fr"),
        (["train", "--pairs", english, str(bad)], "not valid UTF-8 (byte 0xff"),
        (["translate", str(tmp_path / "none"), "one"], "no such run folder"),
        (["show", str(tmp_path)], "not a run folder"),
        (["evaluate", str(tmp_path)], "not a run folder"),
    ):
        if arguments[0] == "train":
            arguments = [*arguments, "--out", str(tmp_path / "out")]
        code, sentence = failing(arguments, capsys)
        assert code == 1
        assert part in sentence


def test_a_setting_is_checked_before_anything_is_written(
    tmp_path: Path, files: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    pairs = ["--pairs", str(files / "train.en"), str(files / "train.fr")]
    out = tmp_path / "out"
    for setting, part in (
        ("train.step=3", "did you mean train.steps?"),
        ("train.steps=many", "train.steps = 'many'"),
        ("nonsense", "write it like train.steps=2000"),
    ):
        code, sentence = failing(["train", *pairs, "--out", str(out), "--set", setting], capsys)
        assert code == 1
        assert part in sentence
    assert not out.exists()


def test_debug_shows_where_an_error_came_from(tmp_path: Path) -> None:
    from regard.errors import RunError

    with pytest.raises(RunError):
        main(["show", str(tmp_path), "--debug"])


def test_training_explains_its_choices_and_estimates(
    files: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    pairs = ("--pairs", str(files / "train.en"), str(files / "train.fr"))
    out = str(tmp_path / "out")
    main(["train", *pairs, "--out", out, *SETTINGS, "--set", "train.steps=4"])
    said = capsys.readouterr().err
    for part in ("400 pairs", "vocabulary of up to", "to validate"):
        assert part in said
    assert "layers of width" not in said, "the settings have others"
    for part in ("parameters", "On this machine about", "GB memory", "passes over the data"):
        assert part in said


def test_the_same_command_resumes_and_a_finished_run_says_so(
    files: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    pairs = ("--pairs", str(files / "train.en"), str(files / "train.fr"))
    command = ["train", *pairs, "--out", str(tmp_path / "out"), *SETTINGS, "--set"]
    main([*command, "train.steps=4"])
    main([*command, "train.steps=6"])
    assert "Resuming after step 4" in capsys.readouterr().err
    main([*command, "train.steps=6"])
    assert "is finished (step 6)" in capsys.readouterr().err


def test_texts_are_translated_in_order(run: Path, capsys: pytest.CaptureFixture[str]) -> None:
    main(["translate", str(run), "one two", "", "five"])
    assert capsys.readouterr().out.split("\n") == ["un deux", "", "cinq", ""]


def test_standard_input_keeps_its_lines(
    run: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    text = "three\r\n\none\u2028two\nfour"
    monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(text.encode())))
    main(["translate", str(run), "--beam-size", "1"])
    lines = capsys.readouterr().out.split("\n")
    assert len(lines) == 5
    assert lines[0] == "trois"
    assert lines[1] == ""
    assert lines[3] == "quatre"


def test_json_tells_what_is_known(run: Path, capsys: pytest.CaptureFixture[str]) -> None:
    main(["translate", str(run), "two five", "--json", "--n-best", "2"])
    found = json.loads(capsys.readouterr().out)
    assert found["source"] == "two five"
    assert found["text"] == "deux cinq"
    assert found["score"] <= 0
    assert len(found["log_probabilities"]) == len(found["tokens"]) + 1
    assert [target for _, target in found["alignment"]] == [0, 1]
    assert len(found["alternatives"]) == 1


def test_prefix_sampling_and_wrong_search(run: Path, capsys: pytest.CaptureFixture[str]) -> None:
    main(["translate", str(run), "one two", "--prefix", "trois"])
    assert capsys.readouterr().out.startswith("trois")
    outputs = []
    for _ in range(2):
        main(["translate", str(run), "one", "--temperature", "2", "--seed", "7", "--n-best", "3"])
        outputs.append(capsys.readouterr().out)
    assert outputs[0] == outputs[1]
    assert outputs[0].count("\n") == 3
    code, sentence = failing(["translate", str(run), "one", "--top-k", "3"], capsys)
    assert (code, "need a temperature" in sentence) == (2, True)


def test_evaluate_scores_with_signatures(
    run: Path, files: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    zipped = tmp_path / "test.fr.gz"
    zipped.write_bytes(gzip.compress((files / "test.fr").read_bytes()))
    output = tmp_path / "output.fr"
    main(
        [
            *("evaluate", str(run), "--source", str(files / "test.en"), "--json"),
            *("--reference", str(zipped), "--bootstrap", "20", "--output", str(output)),
        ]
    )
    facts = json.loads(capsys.readouterr().out)
    scores = {score["name"]: score for score in facts["scores"]}
    assert facts["sentences"] == 30
    assert scores["BLEU"]["low"] <= scores["BLEU"]["value"] <= scores["BLEU"]["high"]
    assert "tok:13a" in scores["BLEU"]["signature"]
    assert scores["exact"]["value"] > 50
    assert len(output.read_text(encoding="utf-8").splitlines()) == 30


def test_evaluate_takes_files_of_pairs(
    run: Path, files: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    sides = [(files / f"test.{code}").read_text("utf-8").splitlines() for code in ("en", "fr")]
    entries = [f'msgid "{s}"\nmsgstr "{t}"\n' for s, t in list(zip(*sides, strict=True))[:5]]
    test = tmp_path / "test.po"
    test.write_text("\n".join(entries), "utf-8")
    main(["evaluate", str(run), "--data", str(test), "--json", "--bootstrap", "0"])
    assert json.loads(capsys.readouterr().out)["sentences"] == 5
    both = ["evaluate", str(run), "--data", str(test), "--source", str(test)]
    code, sentence = failing(both, capsys)
    assert (code, "--data holds both sides" in sentence) == (2, True)


def test_evaluate_without_files_needs_the_built_in_corpus(
    run: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    code, sentence = failing(["evaluate", str(run)], capsys)
    assert (code, "--source and --reference" in sentence) == (1, True)


def test_show_a_run_and_a_recipe(run: Path, capsys: pytest.CaptureFixture[str]) -> None:
    main(["show", str(run)])
    printed = capsys.readouterr().out
    for part in ("en, fr", "d_model 32", "parameters", "validation", "made by"):
        assert part in printed
    main(["show", str(run), "--json"])
    facts = json.loads(capsys.readouterr().out)
    assert facts["recipe"]["model"]["d_model"] == 32
    main(["show", str(run / "recipe.toml")])
    assert "up to 160" in capsys.readouterr().out


def test_attend_prints_and_draws(
    run: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    picture = tmp_path / "alignment.png"
    main(["attend", str(run), "one two three", "--picture", str(picture)])
    printed = capsys.readouterr().out
    assert "un deux trois" in printed
    assert any(shade in printed for shade in "░▒▓█")
    assert picture.read_bytes().startswith(b"\x89PNG")
    assert "- Alignment: cross." in (run / "README.md").read_text("utf-8")


def test_ctrl_c_saves_and_exits_politely(files: Path, tmp_path: Path) -> None:
    out = tmp_path / "out"
    pairs = ("--pairs", str(files / "train.en"), str(files / "train.fr"))
    command = [sys.executable, "-m", "regard", "train", *pairs, "--out", str(out), *SETTINGS]
    child = subprocess.Popen(
        [*command, "--set", "train.steps=100000", "--set", "train.save_every=5"],
        stderr=subprocess.PIPE,
        text=True,
    )
    try:
        deadline = time.monotonic() + 60
        while not list(out.glob("training/step-*")) and time.monotonic() < deadline:
            time.sleep(0.1)
        child.send_signal(2)
        said = child.communicate(timeout=30)[1]
    finally:
        child.kill()
    assert child.returncode == 130
    assert "the same command resumes there" in said


def test_a_closed_pipe_is_no_error(run: Path) -> None:
    command = f"{sys.executable} -m regard translate {run} one two three | head -c 1"
    done = subprocess.run(
        command, shell=True, capture_output=True, text=True, env={**os.environ, "NO_COLOR": "1"}
    )
    assert done.stdout == "u"
    assert "Traceback" not in done.stderr


@pytest.mark.parametrize("command", ["translate", "classify", "tag", "fill", "caption"])
def test_several_texts_may_follow_an_option(command: str) -> None:
    _, bound, _ = app.parse_args([command, "RUN", "--json", "one", "two"], exit_on_error=False)
    assert bound.args[1:] == ("one", "two")
