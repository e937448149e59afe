"""Recurrent runs through the same commands as any other, and `inspect gradients`."""

import json
import random
from pathlib import Path

import pytest

from regard.cli import main
from regard.recipe import parse
from regard.run import Run
from regard.training.run import train, training_run

WORDS = {"one": "un", "two": "deux", "three": "trois", "four": "quatre", "five": "cinq"}


@pytest.fixture(scope="module")
def files(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("pairs")
    draw = random.Random(1)
    lines = [draw.choices(list(WORDS), k=draw.randint(1, 6)) for _ in range(400)]
    english = "".join(" ".join(line) + "\n" for line in lines)
    french = "".join(" ".join(WORDS[word] for word in line) + "\n" for line in lines)
    (folder / "train.en").write_text(english, encoding="utf-8")
    (folder / "train.fr").write_text(french, encoding="utf-8")
    return folder


def train_run(files: Path, name: str, steps: int, **model: object) -> Path:
    values = {
        "data": {"folder": str(files), "train": ["train.en", "train.fr"]},
        "tokenizer": {"vocabulary_size": 300},
        "model": {"kind": "recurrent", "d_model": 32, "dropout": 0.1, **model},
        "train": {
            "steps": steps,
            "batch_tokens": 256,
            "learning_rate": 0.01,
            "warmup_steps": 20,
            "schedule": "cosine",
            "label_smoothing": 0.0,
            "eval_sentences": 8,
            "eval_every": 40,
            "save_every": 40,
            "processes": 1,
            "threads": 1,
        },
    }
    train(parse(values, name), files / name)
    return files / name


@pytest.fixture(scope="module")
def attending(files: Path) -> Path:
    return train_run(files, "attending", 200, cell="gru", d_model=48, dropout=0.0)


@pytest.fixture(scope="module")
def fixed(files: Path) -> Path:
    return train_run(files, "fixed", 4, cell="lstm", attention="none", decoder_layers=2)


def failing(arguments: list[str], capsys: pytest.CaptureFixture[str], code: int = 1) -> str:
    with pytest.raises(SystemExit) as error:
        main(arguments)
    assert error.value.code == code
    line = capsys.readouterr().err.strip().splitlines()[-1]
    assert line.startswith("regard: error: ")
    return line


def test_it_translates(attending: Path, capsys: pytest.CaptureFixture[str]) -> None:
    main(["translate", str(attending), "one two", "", "five three", "--engine", "torch"])
    assert capsys.readouterr().out.split("\n") == ["un deux", "", "cinq trois", ""]
    main(["translate", str(attending), "two five", "--json", "--n-best", "2"])
    found = json.loads(capsys.readouterr().out)
    assert found["text"] == "deux cinq"
    assert [target for _, target in found["alignment"]] == [0, 1]


def test_any_engine_that_fits_is_found_without_asking(
    fixed: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    main(["translate", str(fixed), "one two"])
    assert capsys.readouterr().out.count("\n") == 1


def test_it_is_scored_shown_and_looked_at(
    files: Path, attending: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    pairs = ("--source", str(files / "train.en"), "--reference", str(files / "train.fr"))
    main(["evaluate", str(attending), *pairs, "--bootstrap", "0", "--json"])
    scores = {each["name"]: each for each in json.loads(capsys.readouterr().out)["scores"]}
    assert scores["exact"]["value"] > 50
    main(["show", str(attending)])
    assert "recurrent, gru, 1 + 1 layers, d_model 48, bidirectional" in capsys.readouterr().out
    assert "additive attention" in (attending / "README.md").read_text(encoding="utf-8")
    main(["attend", str(attending), "one two three"])
    assert "un deux trois" in capsys.readouterr().out


def test_a_model_without_attention_says_so(fixed: Path, capsys: pytest.CaptureFixture[str]) -> None:
    said = failing(["attend", str(fixed), "one", "--translation", "un"], capsys)
    assert "has no attention to look at" in said
    main(["translate", str(fixed), "one two three", "--json"])
    assert json.loads(capsys.readouterr().out)["alignment"] == []


def test_a_run_that_was_stopped_ends_as_if_it_were_not(files: Path, tmp_path: Path) -> None:
    whole = train_run(files, "whole", 12, cell="lstm", attention="dot", input_feeding=True)
    recipe = Run.open(whole).recipe()
    stopped = training_run(
        recipe.model_copy(update={"train": recipe.train.model_copy(update={"save_every": 5})}),
        tmp_path / "parts",
    )
    for event in stopped:
        if getattr(event, "step", 0) == 8:
            break
    stopped.close()  # type: ignore[attr-defined]
    train(recipe, tmp_path / "parts")
    first, second = whole / "model.safetensors", tmp_path / "parts" / "model.safetensors"
    assert first.read_bytes() == second.read_bytes()


def test_gradients_are_measured_and_drawn(
    attending: Path, fixed: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    runs = [str(attending), str(fixed)]
    picture = tmp_path / "flow.svg"
    main(["inspect", "gradients", *runs, "--sentences", "12", "--picture", str(picture)])
    printed = capsys.readouterr().out
    assert "●" in printed
    assert "▲" in printed
    assert all(f"{mark} {run}" in printed for mark, run in zip("●▲", runs, strict=True))
    assert picture.read_text(encoding="utf-8").count("steps back") == 1
    main(["inspect", "gradients", *runs, "--sentences", "12", "--json"])
    facts = json.loads(capsys.readouterr().out)
    assert list(facts) == runs
    for flow in facts.values():
        assert flow["relative"][0] == 1
        assert all(value > 0 for value in flow["mean_norm"])
        assert flow["count"] == sorted(flow["count"], reverse=True)


def test_gradients_of_what_has_none(
    attending: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "recipe.toml").write_text('[data]\nbuiltin = "phrasebook"\n', encoding="utf-8")
    said = failing(["inspect", "gradients", str(tmp_path)], capsys)
    assert "a transformer has no recurrent states" in said
    command = ["inspect", "gradients", str(attending)]
    assert ".png, .svg or .pdf" in failing([*command, "--picture", "x.gif"], capsys, code=2)
    assert "Must be >= 1" in failing([*command, "--sentences", "0"], capsys, code=2)
