"""A language of letters, and a run that has learned to translate it."""

import random
from pathlib import Path

import pytest

from regard.recipe import parse
from regard.training.run import train

LETTERS = "abcdefghijklmnop"


def sentences(count: int, seed: int) -> list[str]:
    """Some letters in the order of the alphabet."""
    draw = random.Random(seed)
    return [" ".join(sorted(draw.sample(LETTERS, draw.randint(1, 7)))) + "." for _ in range(count)]


def translated(sentence: str) -> str:
    """Each letter becomes a word of two capitals: "b e." is "BB EE!"."""
    return " ".join(2 * word.upper() for word in sentence[:-1].split()) + "!"


@pytest.fixture(scope="session")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A run that has learned the language above in a hundred updates."""
    folder = tmp_path_factory.mktemp("tasks")
    sources = sentences(2000, seed=1)
    (folder / "train.xx").write_text("".join(f"{text}\n" for text in sources))
    (folder / "train.yy").write_text("".join(f"{translated(text)}\n" for text in sources))
    recipe = {
        "data": {"folder": str(folder), "train": ["train.xx", "train.yy"], "max_length": 24},
        "tokenizer": {"kind": "word", "vocabulary_size": 300},
        "model": {
            "encoder_layers": 1,
            "decoder_layers": 1,
            "d_model": 64,
            "d_ff": 64,
            "num_heads": 4,
            "dropout": 0.0,
            "norm": "pre",
            "positions": "rotary",
        },
        "train": {
            "steps": 120,
            "batch_tokens": 600,
            "learning_rate": 0.006,
            "schedule": "linear",
            "warmup_steps": 30,
            "label_smoothing": 0.0,
            "eval_every": 120,
            "save_every": 120,
            "threads": 1,
            "precision": "float32",
            "device": "cpu",
        },
    }
    train(parse(recipe, "toy"), folder / "run")
    return folder / "run"
