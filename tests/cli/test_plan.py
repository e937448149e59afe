"""`regard plan`: figures for people and programs, and a command that can be typed as it is."""

import json
import shlex
from pathlib import Path
from typing import Any

import pytest
from PIL import Image

from regard.cli import app, main
from regard.machine import cores, devices
from regard.models import build
from regard.recipe import read
from regard.run import Run
from regard.text.tokenizer import Tokenizer, Tokenizers
from tests.series_runs import write_forecasters, write_series

SETTINGS = """
[data]
train = ["train.en", "train.de"]
[tokenizer]
vocabulary_size = 37000
[train]
batch_tokens = 3125
accumulate = 8
"""


@pytest.fixture
def recipe(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    path = Path("base.toml")
    path.write_text(SETTINGS, encoding="utf-8")
    return path


def planned(
    capsys: pytest.CaptureFixture[str], *arguments: str, what: str = "base.toml"
) -> dict[str, Any]:
    main(["plan", what, "--json", *arguments])
    answer: dict[str, Any] = json.loads(capsys.readouterr().out)
    return answer


def test_the_answer_of_a_plan(recipe: Path, capsys: pytest.CaptureFixture[str]) -> None:
    main(["plan", str(recipe), "--device", "8xA100"])
    printed = capsys.readouterr().out
    assert printed.startswith("base.toml on 8 × A100-40\n")
    for part in ("parameters", "fits into 40.0 GB", "tokens/s in bfloat16", "100,000 updates"):
        assert part in printed
    assert "passes" not in printed  # the data is not here
    assert printed.splitlines()[-1].endswith(
        "torchrun --nproc-per-node 8 -m regard train base.toml --out runs/base"
    )


def test_passes_are_told_where_the_data_is(
    recipe: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    for name in ("train.en", "train.de"):
        Path(name).write_text("one two three four\n" * 1000, encoding="utf-8")
    answer = planned(capsys, "--device", "A100", "--set", "train.steps=10")
    tokens = 2 * 1000 * (1 + 1.3 * 4) * 0.95  # of which a share is held out
    assert answer["passes"] == pytest.approx(10 * answer["tokens_per_update"] / tokens)


@pytest.mark.parametrize(
    ("arguments", "parts"),
    [
        (("--device", "A100"), ["regard train base.toml --out runs/base"]),
        (
            ("--device", "2x8xH100", "--set", "train.accumulate=16"),
            ["--nnodes 2", "--rdzv-endpoint", "--nproc-per-node 8", "--set train.accumulate=16"],
        ),
        (
            ("--device", "V100", "--set", "train.precision=bfloat16"),
            ["--set train.precision=float32"],
        ),
    ],
)
def test_the_command_is_one_that_runs(
    recipe: Path,
    capsys: pytest.CaptureFixture[str],
    arguments: tuple[str, ...],
    parts: list[str],
) -> None:
    command = planned(capsys, *arguments)["command"]
    for part in parts:
        assert part in command
    words = shlex.split(command)
    app.parse_args(words[words.index("train") :], exit_on_error=False, print_error=False)


def test_what_does_not_fit_is_sharded(recipe: Path, capsys: pytest.CaptureFixture[str]) -> None:
    large = ("--set", "model.d_model=4096", "--set", "model.d_ff=16384")
    answer = planned(capsys, "--device", "8xL4", *large)
    assert answer["parallel"] == "fsdp"
    assert "--set train.parallel=fsdp" in answer["command"]
    alone = planned(capsys, "--device", "L4", *large)
    assert not alone["fits"]
    assert alone["parallel"] == "ddp"


def test_advice_keeps_the_update(recipe: Path, capsys: pytest.CaptureFixture[str]) -> None:
    main(["plan", str(recipe), "--device", "16xA100"])
    printed = capsys.readouterr().out
    assert "--set train.accumulate=16 --set train.batch_tokens=1562" in printed
    main(["plan", str(recipe), "--device", "A100"])
    assert "--set train.accumulate=1 --set train.batch_tokens=25000" in capsys.readouterr().out
    main(["plan", str(recipe), "--device", "8xA100"])
    assert "advice" not in capsys.readouterr().out
    main(["plan", str(recipe), "--device", "T4", "--set", "train.batch_tokens=100000"])
    printed = capsys.readouterr().out
    assert "does not fit" in printed
    assert "--set train.accumulate=16 --set train.batch_tokens=50000" in printed


def test_this_machine_by_default(
    recipe: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(devices, "gemm_rate", lambda device: 100e9)
    monkeypatch.setattr(devices, "loss_rate", lambda: 100e9)
    monkeypatch.setattr(cores, "usable_cores", lambda: 2)
    monkeypatch.setattr(cores, "busy_cores", lambda: 1.2)
    main(["plan", str(recipe), "--set", "train.device=cpu", "--device", "cpu"])
    printed, said = capsys.readouterr()
    assert "take 1.2 cores" in said
    assert "of the peak of 100 GFLOP/s" in printed
    assert "days for 100,000 updates" in printed
    assert printed.startswith("base.toml on this CPU, 2 processes\n")
    assert printed.splitlines()[-1].split("run ")[1].strip().startswith("regard train")


def test_an_unknown_device_is_one_sentence(
    recipe: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    with pytest.raises(SystemExit) as stop:
        main(["plan", str(recipe), "--device", "abacus"])
    assert stop.value.code == 2
    said = capsys.readouterr().err.strip()
    assert said.startswith('regard: error: --device "abacus": not known')
    assert len(said.splitlines()) == 1


TEXT = "the cat sat on the mat\nand so did the dog\n" * 100
BOOK = """
task = "language-model"
[data]
train = ["book.txt"]
context = 16
[tokenizer]
kind = "{kind}"
vocabulary_size = 400
[model]
kind = "gpt"
num_layers = 2
d_model = 32
d_ff = 64
num_heads = 2
[train]
steps = 10
batch_tokens = 100
"""
REVIEWS = """
task = "{task}"
[data]
train = ["{file}"]
[model]
kind = "bert"
num_layers = 1
d_model = 32
d_ff = 64
num_heads = 2
[train]
steps = 10
"""


@pytest.fixture
def book(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A recipe for a language model of characters, whose text is there."""
    monkeypatch.chdir(tmp_path)
    Path("book.txt").write_text(TEXT, encoding="utf-8")
    path = Path("book.toml")
    path.write_text(BOOK.format(kind="character"), encoding="utf-8")
    return path


def size(path: Path, vocabulary: int) -> int:
    model = build(read(path).model, vocabulary, vocabulary)
    return sum(parameter.numel() for parameter in model.parameters())


def learned(kind: Any) -> Tokenizer:
    return Tokenizer.train([TEXT], kind=kind, vocabulary_size=400, verbatim=True)


def test_the_plan_of_a_language_model_is_of_its_windows_and_characters(
    book: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    answer = planned(capsys, "--device", "A100", what="book.toml")
    assert answer["vocabulary_known"]
    assert answer["parameters"] == size(book, len(learned("character")))
    assert answer["tokens_per_update"] == 6 * 16
    assert answer["passes"] == pytest.approx(10 * 6 * 16 / (0.95 * len(TEXT)), rel=0.01)
    main(["plan", str(book), "--device", "A100"])
    printed = capsys.readouterr().out
    assert "1 × 6 windows of 16 tokens\n" in printed
    assert "passes over the text" in printed
    Path("book.txt").unlink()
    main(["plan", str(book), "--device", "A100"])
    printed = capsys.readouterr().out
    assert f"model       up to {size(book, 400):,} parameters, up to 400 pieces\n" in printed
    assert "data        not on this machine\n" in printed


def test_a_run_folder_has_a_vocabulary_of_its_own(
    book: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    book.write_text(BOOK.format(kind="bpe"), encoding="utf-8")
    assert not planned(capsys, "--device", "A100", what="book.toml")["vocabulary_known"]
    run, tokenizer = Run(Path("mine")), learned("bpe")
    run.folder.mkdir()
    run.save_recipe(read(book))
    run.save_tokenizers(Tokenizers(tokenizer, tokenizer))
    for what in ("mine", "mine/recipe.toml"):
        answer = planned(capsys, "--device", "A100", what=what)
        assert answer["parameters"] == size(book, len(tokenizer))
        assert answer["command"] == "regard train mine/recipe.toml --out runs/mine-again"
        tokens = 0.95 * len(tokenizer.encode(TEXT))
        assert answer["passes"] == pytest.approx(10 * 6 * 16 / tokens, rel=0.02)
    other = planned(capsys, "--device", "A100", "--set", "tokenizer.kind=word", what="mine")
    assert not other["vocabulary_known"]


def test_the_plan_of_a_masked_model_tells_what_is_hidden(
    book: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    masked = BOOK.format(kind="bpe").replace("language-model", "masked-language-model")
    book.write_text(masked.replace('"gpt"', '"bert"'), encoding="utf-8")
    main(["plan", str(book), "--device", "A100"])
    # A start and an end are in each window, so that 14 tokens are of the text.
    printed = capsys.readouterr().out
    assert "98 tokens," in printed
    assert "1 × 7 windows of 16 tokens, 2 hidden in each window\n" in printed


@pytest.mark.parametrize(
    ("task", "file", "text", "tokens"),
    [
        ("classification", "a.tsv", "good\tone two\nbad\tone\nfair\tone two three\n", 3 * 5.6),
        ("tagging", "a.conll", "one N\ntwo V\n\none X\ntwo N\n\n", 2 * (2 + 2.6 + 2)),
    ],
)
def test_labels_are_counted(
    book: Path, capsys: pytest.CaptureFixture[str], task: str, file: str, text: str, tokens: float
) -> None:
    book.write_text(REVIEWS.format(task=task, file=file), encoding="utf-8")
    main(["plan", str(book), "--device", "A100"])
    assert "16 labels (a guess)" in capsys.readouterr().out
    Path(file).write_text(text, encoding="utf-8")
    answer = planned(capsys, "--device", "A100", what="book.toml")
    assert answer["sizes"]["outputs"] == 3
    assert answer["passes"] == pytest.approx(10 * answer["tokens_per_update"] / tokens / 0.95)
    main(["plan", str(book), "--device", "A100"])
    printed = capsys.readouterr().out
    assert "3 labels\n" in printed
    assert "tokens, padding included\n" in printed


def test_what_begins_from_a_run_is_as_large_as_that(
    book: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    run, tokenizer = Run(Path("mine")), learned("bpe")
    run.folder.mkdir()
    run.save_recipe(read(book, ["model.d_model=48", "tokenizer.kind=bpe"]))
    run.save_tokenizers(Tokenizers(tokenizer, tokenizer))
    Path("more.toml").write_text(
        'task = "language-model"\n[data]\ntrain = ["book.txt"]\ncontext = 16\n'
        '[train]\nfrom_run = "mine"\n',
        encoding="utf-8",
    )
    answer = planned(capsys, "--device", "A100", what="more.toml")
    assert answer["parameters"] == size(run.recipe_path, len(tokenizer))


def test_the_plan_of_a_recurrent_model(book: Path, capsys: pytest.CaptureFixture[str]) -> None:
    sections = BOOK.format(kind="character").split("[model]")
    model = '[model]\nkind = "recurrent"\nd_model = 32\n[train]\nsteps = 10\n'
    book.write_text(sections[0] + model, encoding="utf-8")
    main(["plan", str(book), "--device", "A100"])
    printed = capsys.readouterr().out
    assert "windows of 16 tokens" in printed
    assert "each step waits for the one before it" in printed


def photos(folder: Path, count: int = 40) -> Path:
    folder.mkdir()
    for number in range(count):
        label = folder / ("red" if number % 2 else "blue")
        label.mkdir(exist_ok=True)
        colour = (200, number, 20) if number % 2 else (20, number, 200)
        Image.new("RGB", (20, 16), colour).save(label / f"{number}.png")
    return folder


def test_images_are_planned_without_a_recipe(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    photos(Path("my photos"))
    main(["plan", "--images", "my photos", "--device", "A100", "--set", "train.steps=100"])
    printed, said = capsys.readouterr()
    assert "40 images of about 16 pixels, 2 labels" in said
    assert printed.startswith("my photos on A100-40\n")
    assert "parameters, 2 labels\n" in printed
    assert "update      32 images," in printed
    assert "images/s in bfloat16" in printed
    passes = 100 * 32 / (40 * 0.95)
    assert f"about {passes:.1f} passes over the images\n" in printed
    command = printed.splitlines()[-1].split("run ")[1].strip()
    assert command.startswith("regard train --images 'my photos' --out runs/image-classification ")
    app.parse_args(shlex.split(command)[1:], exit_on_error=False, print_error=False)


@pytest.mark.parametrize("task", ["captioning", "matching"])
def test_captions_are_planned_without_a_recipe(
    task: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    folder = photos(Path("photos"))
    names = sorted(path.relative_to(folder) for path in folder.rglob("*.png"))
    rows = [f"{name}\ta {name.parent} square number {i}" for i, name in enumerate(names)]
    Path("captions.tsv").write_text("\n".join(["file\tcaption", *rows]) + "\n")
    data = ["--images", "photos", "--captions", "captions.tsv", "--task", task]
    main(["plan", *data, "--device", "A100", "--json"])
    answer = json.loads(capsys.readouterr().out)
    assert answer["parameters"] > 0
    assert answer["fits"]
    assert answer["passes"] > 1
    assert f"--captions captions.tsv --task {task}" in answer["command"]
    main(["plan", *data, "--device", "T4", "--set", "encoder.kind=lite0"])
    assert "images encoded once before training" in capsys.readouterr().out


def test_series_are_planned_without_a_recipe(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    write_series(Path("load.csv"), ["north", "south"])
    columns = ["--target", "load", "--id", "house", "--known", "holiday", "--horizon", "12"]
    settings = ["--set", "data.context=48", "--set", "train.steps=100"]
    main(["plan", "--series", "load.csv", *columns, *settings, "--device", "A100"])
    printed, said = capsys.readouterr()
    assert "2 series with 840 values, a step of 1h" in said
    assert printed.startswith("load.csv on A100-40\n")
    assert "update      128 windows," in printed
    assert "windows/s in bfloat16" in printed
    # Of 420 steps 42 are held out; a window has a past of 48 and a future of 12.
    passes = 100 * 128 / (2 * (420 - 42 - 48 - 12 + 1))
    assert f"about {passes:.1f} passes over the windows\n" in printed
    command = printed.splitlines()[-1].split("run ")[1].strip()
    assert command.startswith(f"regard train --series load.csv {' '.join(columns)} --out runs/load")
    app.parse_args(shlex.split(command)[1:], exit_on_error=False, print_error=False)


def test_the_plan_of_a_forecaster_is_what_its_run_became(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """Also where the table is gone: the run has its own copy, and a recipe assumes the calendar."""
    made = write_forecasters(tmp_path, "transformer")["transformer"]
    parameters = Run(made).info()["parameters"]
    for gone in (False, True):
        if gone:
            (tmp_path / "load.csv").unlink()
        capsys.readouterr()
        main(["plan", str(made), "--device", "A100", "--json"])
        answer = json.loads(capsys.readouterr().out)
        assert answer["parameters"] == parameters
        assert answer["passes"] > 0
    recipe = tmp_path / "recipe.toml"
    recipe.write_bytes((made / "recipe.toml").read_bytes())
    main(["plan", str(recipe), "--device", "A100", "--json"])
    answer = json.loads(capsys.readouterr().out)
    assert (answer["parameters"], answer["passes"]) == (parameters, None)


def test_word_vectors_are_planned_without_a_recipe(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    Path("book.txt").write_text("the cat and the dog see the bird and the mouse.\n" * 400)
    given = ["--text", "book.txt", "--task", "word-vectors"]
    settings = ["model.d_model=8", "train.steps=5"]
    main(["plan", *given, *(f"--set={each}" for each in settings), "--device", "A100"])
    printed = capsys.readouterr().out
    assert "112 parameters, 7 words\n" in printed
    assert "words/s in " in printed
    assert "passes over the text\n" in printed
    command = shlex.split(printed.splitlines()[-1].split("run ")[1])
    monkeypatch.setattr("regard.machine.memory.keep_big_buffers", lambda: False)
    main([*command[1:], "--set=train.threads=1", "--set=train.processes=1"])
    assert Run(Path("runs/word-vectors")).info()["parameters"] == 112


def test_a_plan_is_of_a_recipe_or_of_data(capsys: pytest.CaptureFixture[str]) -> None:
    for words in (["demo", "--images", "photos"], []):
        with pytest.raises(SystemExit) as stop:
            main(["plan", *words])
        assert stop.value.code == 2
        assert "see `regard plan --help`" in capsys.readouterr().err
