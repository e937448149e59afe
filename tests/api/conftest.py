"""Small runs of every task, trained once through `regard.train`."""

from datetime import datetime, timedelta
from pathlib import Path
from typing import Any

import pytest

import regard
from regard.machine import memory

# Small models that learn nothing much, quickly.
TINY: dict[str, Any] = {
    "train.steps": 4,
    "train.threads": 1,
    "train.device": "cpu",
    "train.batch_tokens": 400,
    "tokenizer.vocabulary_size": 300,
    "model.d_model": 16,
}
TRANSFORMER = {**TINY, "model.num_heads": 2, "model.d_ff": 16}
TRANSLATOR = {**TRANSFORMER, "model.encoder_layers": 1, "model.decoder_layers": 1}
TEXT = {**TRANSFORMER, "model.num_layers": 1, "data.context": 16}
PAIRS = [(f"le chat {n} dort.", f"the cat {n} sleeps.") for n in range(80)]
TEXTS = [f"one and two and {n} and so on" for n in range(200)]
REVIEWS = [
    (f"film {n} is {word}", label)
    for n in range(60)
    for word, label in (("good", "pos"), ("bad", "neg"))
]
SENTENCES = [(["she", "reads", f"book{n}"], ["PRON", "VERB", "NOUN"]) for n in range(80)]


def hours(count: int) -> list[str]:
    """Rows of times and values that come again each day."""
    first = datetime(2024, 1, 1)
    times = [first + timedelta(hours=hour) for hour in range(count)]
    return [f"{each:%Y-%m-%d %H:%M},{50 + each.hour + each.day % 3}" for each in times]


def keep_allocation(patch: pytest.MonkeyPatch) -> None:
    """Training tunes the C library for its whole process, which here runs other tests too."""
    patch.setattr(memory, "keep_big_buffers", lambda: False)


@pytest.fixture(autouse=True)
def usual_allocation(monkeypatch: pytest.MonkeyPatch) -> None:
    keep_allocation(monkeypatch)


@pytest.fixture(autouse=True)
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    return tmp_path


@pytest.fixture(scope="session")
def runs(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder runs that holds demo, book, masked, vectors, reviews, tags and load."""
    folder = tmp_path_factory.mktemp("api")
    with pytest.MonkeyPatch.context() as patch:
        keep_allocation(patch)
        patch.chdir(folder)
        regard.train(pairs=PAIRS, languages=("fr", "en"), out="runs/demo", settings=TRANSLATOR)
        regard.train(text=TEXTS, out="runs/book", settings=TEXT)
        regard.train(text=TEXTS, task="masked-language-model", out="runs/masked", settings=TEXT)
        words = {"train.steps": 4, "train.threads": 1, "model.d_model": 16}
        regard.train(text=TEXTS, task="word-vectors", out="runs/vectors", settings=words)
        regard.train(labelled=REVIEWS, out="runs/reviews", settings=TINY)
        regard.train(tagged=SENTENCES, out="runs/tags", settings=TINY)
        Path("load.csv").write_text("\n".join(["time,load", *hours(42 * 24)]))
        linear = {"train.steps": 4, "train.threads": 1, "model.kind": "linear"}
        regard.train(series="load.csv", target="load", horizon=6, out="runs/load", settings=linear)
    return folder
