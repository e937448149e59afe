"""`regard compare` and `regard experiment` as a person meets them."""

import json
import random
from pathlib import Path

import pytest
import torch

from regard.cli import main
from regard.recipe import Recipe, parse
from regard.run import Run
from regard.text.tokenizer import Tokenizer, Tokenizers
from regard.weights import build, save_model, weights

WORDS = {"one": "un", "two": "deux", "three": "trois", "four": "quatre", "five": "cinq"}
RECURRENT = {"kind": "recurrent", "d_model": 16, "dropout": 0.0}
TRANSFORMER = {"d_model": 16, "d_ff": 16, "num_heads": 2, "encoder_layers": 1, "decoder_layers": 1}


@pytest.fixture(scope="module")
def files(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("pairs")
    draw = random.Random(1)
    for name, count in (("train", 120), ("valid", 30)):
        lines = [draw.choices(list(WORDS), k=draw.randint(1, 9)) for _ in range(count)]
        english = "".join(" ".join(line) + "\n" for line in lines)
        french = "".join(" ".join(WORDS[word] for word in line) + "\n" for line in lines)
        (folder / f"{name}.en").write_text(english, encoding="utf-8")
        (folder / f"{name}.fr").write_text(french, encoding="utf-8")
    return folder


def recipe_of(files: Path, model: dict[str, object], **data: object) -> Recipe:
    pairs = {"train": ["train.en", "train.fr"], "valid": ["valid.en", "valid.fr"]}
    values = {
        "data": {"folder": str(files), **pairs, **data},
        "model": model,
        "decode": {"beam_size": 1, "max_length_ratio": 0.2},
    }
    return parse(values, "test")


def untrained(folder: Path, recipe: Recipe) -> Path:
    """A run with random weights: what it says is nonsense, but it says something."""
    folder.mkdir(parents=True)
    run = Run(folder)
    words = [" ".join([*WORDS, *WORDS.values()])]
    tokenizer = Tokenizer.train(words * 4, kind="word", vocabulary_size=300, lowercase=False)
    run.save_recipe(recipe)
    run.save_tokenizers(Tokenizers(tokenizer, tokenizer))
    torch.manual_seed(len(folder.name))
    sizes = {"inputs": len(tokenizer), "outputs": len(tokenizer)}
    save_model(run, weights(build(recipe, sizes)), step=0, sizes=sizes)
    return folder


@pytest.fixture(scope="module")
def runs(files: Path) -> list[str]:
    folder = files / "runs"
    models = {
        "fixed": {**RECURRENT, "attention": "none"},
        "attending": {**RECURRENT, "attention": "dot"},
        "transformer": TRANSFORMER,
    }
    return [
        str(untrained(folder / name, recipe_of(files, model))) for name, model in models.items()
    ]


def failing(arguments: list[str], capsys: pytest.CaptureFixture[str], code: int = 1) -> str:
    with pytest.raises(SystemExit) as error:
        main(arguments)
    assert error.value.code == code
    line = capsys.readouterr().err.strip().splitlines()[-1]
    assert line.startswith("regard: error: ")
    return line


def test_runs_of_any_kind_are_compared(
    runs: list[str], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    html, figure = tmp_path / "page.html", tmp_path / "curve.svg"
    drawn = ["--html", str(html), "--picture", str(figure), "--sentence", "one two"]
    main(["compare", *runs, "--bootstrap", "20", "--json", *drawn])
    facts = json.loads(capsys.readouterr().out)
    assert [run["name"] for run in facts["runs"]] == ["fixed", "attending", "transformer"]
    assert facts["sentences"] == 30
    assert facts["test"] == "validation pairs"
    assert facts["curves"] == ["BLEU"]
    assert sum(each["sentences"] for each in facts["bins"]) == 30
    assert [len(run["differences"]) for run in facts["runs"]] == [0, 2, 2]
    text = html.read_text("utf-8")
    assert "one two" in text
    assert "no attention" in text
    assert b"<svg" in figure.read_bytes()


def test_files_may_be_given_and_one_run_is_enough(
    runs: list[str], files: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    pairs = ["--source", str(files / "valid.en"), "--reference", str(files / "valid.fr")]
    main(["compare", runs[0], *pairs, "--bootstrap", "5", "--beam-size", "2"])
    printed = capsys.readouterr().out
    assert "valid.en: 30 sentences" in printed
    assert "fixed" in printed
    assert "BLEU by words of the source" in printed


def test_what_cannot_be_compared_is_said_in_a_sentence(
    runs: list[str], files: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    said = failing(["compare", runs[0], runs[0]], capsys)
    assert "named twice" in said
    said = failing(["compare", *runs, "--source", str(files / "valid.en")], capsys)
    assert "--source and --reference" in said
    said = failing(["compare", *runs, "--picture", "x.gif"], capsys, code=2)
    assert ".png, .svg or .pdf" in said
    said = failing(["compare", *runs, "--bootstrap", "0"], capsys, code=2)
    assert "--bootstrap. Must be >= 2" in said
    other = untrained(
        tmp_path / "other", recipe_of(files, RECURRENT, valid=["train.en", "train.fr"])
    )
    said = failing(["compare", runs[0], str(other)], capsys)
    assert "learned from other pairs" in said
    german = recipe_of(files, RECURRENT, languages=["en", "de"])
    said = failing(["compare", runs[0], str(untrained(tmp_path / "german", german))], capsys)
    assert "translates en → de" in said
    values = {"task": "language-model", "data": {"train": ["book.txt"]}}
    book = Run(tmp_path / "book")
    book.folder.mkdir()
    book.save_recipe(parse(values, "test"))
    said = failing(["compare", str(book.folder), runs[0]], capsys)
    assert "a run of task language-model, not translation; use `regard generate" in said


def test_an_experiment_goes_on_and_writes_its_page(
    files: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    out = tmp_path / "experiment"
    settings = [
        f"data.folder={files}",
        'data.train=["train.en", "train.fr"]',
        'data.valid=["valid.en", "valid.fr"]',
        'data.languages=["en", "fr"]',
        *("tokenizer.vocabulary_size=300", "model.d_model=8", "model.encoder_layers=1"),
        *("model.decoder_layers=1", "train.steps=1", "train.eval_sentences=1"),
        *("train.processes=1", "train.threads=1", "decode.max_length_ratio=0.2"),
    ]
    command = ["experiment", "attention-matters", "--out", str(out), "--corpus", "multi30k"]
    command += [word for setting in settings for word in ("--set", setting)]
    main(command)
    capsys.readouterr()
    names = {"index.html", "by-length.png", "by-length.svg", "comparison.json"}
    assert names <= {path.name for path in out.iterdir()}
    text = (out / "index.html").read_text("utf-8")
    assert "Why attention was needed" in text
    assert "It has no attention" in text or "Its translation is empty" in text
    runs = json.loads((out / "comparison.json").read_text("utf-8"))["runs"]
    assert [run["updates"] for run in runs] == [1, 1, 1]
    assert len({run["training_tokens"] for run in runs}) == 1
    before = {path: path.stat().st_mtime_ns for path in out.glob("*/model.safetensors")}
    (out / "index.html").unlink()
    main(command)
    assert capsys.readouterr().err.count("trained already") == 3
    assert {path: path.stat().st_mtime_ns for path in before} == before
    assert (out / "index.html").exists()
