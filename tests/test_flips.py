"""Every changed byte of a run is noticed, or changes nothing: a small part of the benchmark."""

import random
from functools import partial
from pathlib import Path

import pytest

from benchmarks.flips import Kind, flipped, outcome, resumed, translated, used

NAMES = (
    *("recipe.toml", "tokenizer.json", "model.safetensors", "run.json", "log.jsonl", "README.md"),
    *("alignment.json", "training/step-00000024.safetensors", "training/data/contents.json"),
    *("training/data/valid.jsonl", "training/data/train.ids", "training/data/train.json"),
)


@pytest.mark.parametrize("name", NAMES)
def test_changed_bytes_of_a_translator_are_noticed(copy: Path, name: str) -> None:
    kind = Kind(copy, translated)
    use = partial(resumed if name.startswith("training/") else used, kind)
    tally = flipped(copy / name, 4, random.Random(name), partial(outcome, use, use()))
    assert tally.missed == []
    assert tally.counts.total() == 4


def test_a_change_that_nobody_notices_would_be_missed(copy: Path) -> None:
    def blind() -> str:
        return "harmless" if (copy / "README.md").read_bytes() == before else "missed"

    before = (copy / "README.md").read_bytes()
    tally = flipped(copy / "README.md", 3, random.Random(1), blind)
    assert tally.counts == {"missed": 3}
    assert (copy / "README.md").read_bytes() == before
