"""A run does not die of a batch that is too large for the memory there is."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import torch

from regard import objectives
from regard.data.batches import Batches
from regard.data.ids import IdPairs
from regard.errors import RunError
from regard.machine import memory
from regard.models import build
from regard.recipe import Recipe
from regard.run import Run
from regard.tasks.translation.pairs import load_prepared
from regard.training.fit import kept_bytes, largest, slices_that_fit
from regard.training.loop import TrainingData
from regard.training.run import train
from regard.weights import load_checkpoint

Tiny = Callable[..., Recipe]
LogOf = Callable[[Path, str], list[dict[str, Any]]]


@pytest.fixture
def data(finished: Path) -> TrainingData:
    pairs = IdPairs.open(finished / "training" / "data", "train")
    return TrainingData(pairs, Batches(pairs.source_lengths, pairs.target_lengths, 200, seed=1))


@pytest.fixture
def model(tiny: Tiny) -> Any:
    torch.manual_seed(0)
    return build(tiny().model, 300, 300).train()


def test_what_is_kept_grows_with_the_rows(data: TrainingData, model: Any) -> None:
    rows = largest(data)
    few, many = (kept_bytes(model, objectives.translation, data, each) for each in (rows[:2], rows))
    assert many == pytest.approx(few * len(rows) / 2, rel=0.35)
    hidden = 4 * 16 * data.tokens([rows])  # one activation of width 16
    assert 10 * hidden < many < 60 * hidden


def test_the_largest_batch_decides(
    data: TrainingData, model: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    rows = largest(data)
    need = 1.5 * kept_bytes(model, objectives.translation, data, rows)
    weights = 20 * sum(parameter.numel() for parameter in model.parameters())
    found = []
    for share in (10, 1.2, 0.55, 0.3, 0.01):
        free = int((need * share + weights) / 0.8)
        monkeypatch.setattr(memory, "free_memory", lambda free=free: free)
        found.append(slices_that_fit(model, objectives.translation, data))
    assert found[0] == 1
    assert found == sorted(found)
    assert 2 <= found[2] <= 4
    assert found[-1] == len(rows)


def test_no_memory_for_the_model_itself(
    data: TrainingData, model: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(memory, "free_memory", lambda: 1000)
    with pytest.raises(RunError, match=r"0\.0 GB free, not enough for the weights"):
        slices_that_fit(model, objectives.translation, data)


def test_memory_that_nobody_knows_is_not_guessed(
    data: TrainingData, model: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(memory, "free_memory", lambda: None)
    assert slices_that_fit(model, objectives.translation, data) == 1


def test_pieces_make_the_same_update(
    tiny: Tiny, tmp_path: Path, log_of: LogOf, monkeypatch: pytest.MonkeyPatch
) -> None:
    settings = ("model.dropout=0", "model.attention_dropout=0", "train.steps=8")
    train(tiny(*settings), tmp_path / "whole")
    parameters = 20 * sum(p.numel() for p in build(tiny().model, 300, 300).parameters())
    monkeypatch.setattr(memory, "free_memory", lambda: int((parameters + 3e5) / 0.8))
    train(tiny(*settings), tmp_path / "cut")
    run = Run(tmp_path / "cut")
    _, progress = load_checkpoint(run, run.checkpoints()[-1])
    assert int(progress["conditions"]["pieces of a batch"]) > 1
    whole, cut = (log_of(tmp_path / name, "step") for name in ("whole", "cut"))
    for mine, theirs in zip(whole, cut, strict=True):
        assert mine["loss"] == pytest.approx(theirs["loss"], abs=1e-5)
        assert mine["tokens"] == theirs["tokens"]


def test_a_pair_longer_than_a_batch_is_dropped(
    tiny: Tiny, data: TrainingData, tmp_path: Path
) -> None:
    lengths = data.batches.source_lengths, data.batches.target_lengths
    limit = max(int(each.max()) for each in lengths) - 1
    run = train(tiny(f"train.batch_tokens={limit}", "train.steps=2"), tmp_path)
    prepared = load_prepared(run, run.tokenizers())
    assert prepared is not None
    kept = prepared.train.source_lengths, prepared.train.target_lengths
    assert max(int(each.max()) for each in kept) == limit
