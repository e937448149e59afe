"""A toy language, a model small enough to train in a second, and the means to compare two runs.

These fixtures are for all folders: `tests/conftest.py` names this file as a plugin.
"""

import hashlib
import json
import random
import shutil
import tomllib
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from regard.recipe import Recipe, override, parse
from regard.run import Run
from regard.training.run import train
from regard.weights import digest, load_checkpoint

WORDS = ("nul", "ein", "dua", "tri", "kva", "kin", "ses", "sep", "ok", "nau")


def toy_pairs(count: int, seed: int) -> list[tuple[str, str]]:
    """Digits on the one side, their names in reverse order on the other."""
    draw = random.Random(seed)
    rows = [draw.choices(range(10), k=draw.randint(2, 8)) for _ in range(count)]
    return [
        (" ".join(map(str, row)), " ".join(WORDS[digit] for digit in reversed(row))) for row in rows
    ]


def write_pairs(folder: Path, name: str, pairs: list[tuple[str, str]]) -> None:
    for side, suffix in enumerate(("xx", "yy")):
        lines = "".join(pair[side] + "\n" for pair in pairs)
        (folder / f"{name}.{suffix}").write_text(lines, encoding="utf-8")


def swap_pieces(path: Path) -> None:
    """Give two letters each other's ids: nothing else is wrong with the tokenizer."""
    found = json.loads(path.read_text(encoding="utf-8"))
    pieces = found["model"]["vocab"]
    one, other = [each for each in pieces if len(each) == 1 and each.isalpha()][:2]
    pieces[one], pieces[other] = pieces[other], pieces[one]
    path.write_text(json.dumps(found, ensure_ascii=False), encoding="utf-8")


@pytest.fixture(scope="session")
def corpus(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with 200 training and 20 validation pairs."""
    folder = tmp_path_factory.mktemp("corpus")
    write_pairs(folder, "train", toy_pairs(200, seed=1))
    write_pairs(folder, "valid", toy_pairs(20, seed=2))
    return folder


@pytest.fixture(scope="session")
def tiny(corpus: Path) -> Callable[..., Recipe]:
    """The smallest recipe with dropout and accumulation on: 12 batches an epoch, 4 epochs.

    Settings are laid over it as on the command line: tiny("train.steps=30").
    """
    text = f"""
        seed = 3
        data = {{folder = "{corpus}", train = ["train.xx", "train.yy"]}}
        tokenizer.vocabulary_size = 300
        [model]
        encoder_layers = 1
        decoder_layers = 1
        d_model = 16
        d_ff = 32
        num_heads = 2
        dropout = 0.2
        attention_dropout = 0.1
        norm = "pre"
        [train]
        steps = 24
        batch_tokens = 200
        accumulate = 2
        learning_rate = 0.01
        warmup_steps = 4
        eval_every = 5
        save_every = 6
        log_every = 1
        eval_sentences = 4
        threads = 1
        device = "cpu"
        precision = "float32"
    """

    def make(*settings: str) -> Recipe:
        return parse(override(tomllib.loads(text), settings), "tiny")

    return make


@pytest.fixture
def outcome() -> Callable[[Path], dict[str, Any]]:
    """All of a run that must not depend on how often it was interrupted: everything but time."""

    def read(folder: Path) -> dict[str, Any]:
        run = Run.open(folder)
        checkpoints = {path.name: load_checkpoint(run, path) for path in run.checkpoints()}
        return {
            "model": hashlib.sha256(run.model_path.read_bytes()).hexdigest(),
            "tensors": {path: digest(found[0], {}) for path, found in checkpoints.items()},
            "progress": {path: timeless(found[1]) for path, found in checkpoints.items()},
            "log": [timeless(json.loads(line)) for line in lines(run.folder / "log.jsonl")],
            "info": timeless(run.info()),
            "files": sorted(path.name for path in run.folder.rglob("*") if path.is_file()),
        }

    return read


def timeless(values: dict[str, Any]) -> dict[str, Any]:
    return {name: value for name, value in values.items() if name not in ("seconds", "crc32")}


def lines(path: Path) -> list[str]:
    return path.read_text(encoding="utf-8").splitlines()


@pytest.fixture(scope="session")
def finished(tiny: Callable[..., Recipe], tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The folder of a finished run, to be looked at only."""
    folder = tmp_path_factory.mktemp("finished") / "run"
    train(tiny(), folder)
    return folder


@pytest.fixture
def copy(finished: Path, tmp_path: Path) -> Path:
    """A finished run, to be changed."""
    shutil.copytree(finished, tmp_path / "copy")
    return tmp_path / "copy"


@pytest.fixture
def log_of() -> Callable[[Path, str], list[dict[str, Any]]]:
    """The entries of a kind in the log of a run, read as other languages read JSON."""

    def refuse(constant: str) -> None:
        raise AssertionError(f"{constant} is not JSON")

    def read(folder: Path, event: str) -> list[dict[str, Any]]:
        entries = [json.loads(line, parse_constant=refuse) for line in lines(folder / "log.jsonl")]
        return [entry for entry in entries if entry["event"] == event]

    return read
