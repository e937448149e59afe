"""Which tensors are kept of a model, and the files they are kept in."""

import hashlib
import json
from collections.abc import Mapping
from pathlib import Path

import numpy as np
import pytest
import safetensors.torch
import torch
from torch import Tensor, nn
from torch.testing import assert_close

from regard.errors import RunError
from regard.files import read_arrays, write_arrays
from regard.models.transformer import Transformer, TransformerConfig
from regard.recipe import TrainSection
from regard.training.finish import averaged
from regard.training.optimizer import MovingAverage
from regard.training.parallel import copy_weights
from regard.training.state import TrainingState
from regard.weights import (
    check_weights,
    digest,
    load_weights,
    read_tensors,
    weights,
    write_tensors,
)

TENSORS = {
    "b": torch.linspace(-1, 1, 12).reshape(3, 4),
    "a": torch.tensor(5),
    "ä": torch.tensor(2.5),
    "empty": torch.empty(0, 3),
    "turned": torch.arange(6.0).reshape(2, 3).t(),
    "complex": torch.tensor([1 + 2j, 3 - 1j]),
    **{
        str(dtype): torch.tensor([0, 1, 1], dtype=dtype)
        for dtype in (
            *(torch.float16, torch.float64, torch.bool, torch.uint8, torch.int8),
            *(torch.int16, torch.int32, torch.int64, torch.uint16, torch.uint32, torch.uint64),
        )
    },
}
METADATA = {"step": "7", "progress": "{}"}


def by_pytorch(tensors: Mapping[str, Tensor], metadata: Mapping[str, str]) -> bytes:
    """A file as it was made of tensors, before arrays took their place."""
    data = {name: tensor.contiguous() for name, tensor in tensors.items()}
    checksum = hashlib.sha256(json.dumps(sorted(metadata.items())).encode())
    for name in sorted(data):
        tensor = data[name]
        checksum.update(f"{name} {tensor.dtype} {tuple(tensor.shape)}\n".encode())
        checksum.update(tensor.reshape(-1).view(torch.uint8).numpy().data)
    text = json.dumps({**metadata, "sha256": checksum.hexdigest()}, sort_keys=True)
    return safetensors.torch.save(data, {"regard": text})


@pytest.mark.parametrize("tensors", [TENSORS, {}], ids=["all types", "none"])
def test_files_are_the_bytes_that_pytorch_would_write(
    tensors: dict[str, Tensor], tmp_path: Path
) -> None:
    write_tensors(tmp_path / "tensors", tensors, METADATA)
    write_arrays(tmp_path / "arrays", {n: t.numpy() for n, t in tensors.items()}, METADATA)
    expected = by_pytorch(tensors, METADATA)
    assert (tmp_path / "tensors").read_bytes() == expected
    assert (tmp_path / "arrays").read_bytes() == expected


def test_what_was_written_is_read(tmp_path: Path) -> None:
    path = tmp_path / "tensors"
    path.write_bytes(by_pytorch(TENSORS, METADATA))
    tensors, metadata = read_tensors(path)
    arrays, _ = read_arrays(path)
    assert metadata == METADATA
    assert tensors.keys() == arrays.keys() == TENSORS.keys()
    for name, expected in TENSORS.items():
        assert tensors[name].dtype == expected.dtype
        assert torch.equal(tensors[name], expected)
        assert arrays[name].shape == expected.shape
        assert np.array_equal(arrays[name], expected.numpy())
        tensors[name].zero_()  # what was read is the reader's own
    assert digest(read_tensors(path)[0], {}) == digest(TENSORS, {})


@pytest.mark.parametrize("dtype", [torch.bfloat16, torch.float8_e4m3fn], ids=str)
def test_a_type_that_is_not_for_files_is_refused(dtype: torch.dtype, tmp_path: Path) -> None:
    path = tmp_path / "model.safetensors"
    path.write_bytes(safetensors.torch.save({"some": torch.ones(3).to(dtype)}))
    for read in (read_tensors, read_arrays):
        with pytest.raises(
            RunError, match=rf"{path}: damaged or not .* \(some is of the"
        ) as raised:
            read(path)
        assert "\n" not in str(raised.value)


class Counting(nn.Module):
    """A model that keeps more than parameters."""

    def __init__(self, seed: int) -> None:
        super().__init__()
        torch.manual_seed(seed)
        self.inner = nn.Linear(3, 4)
        self.normalise = nn.BatchNorm1d(4)
        self.output = nn.Linear(4, 4, bias=False)
        self.again = self.output
        self.table: Tensor
        self.register_buffer("table", torch.ones(2), persistent=False)

    def forward(self, x: Tensor) -> Tensor:
        return self.again(self.normalise(self.inner(x)))  # type: ignore[no-any-return]


def counting(seed: int, batches: int) -> Counting:
    """A model that has seen some batches."""
    model = Counting(seed)
    for number in range(batches):
        model(torch.randn(8, 3, generator=torch.Generator().manual_seed(number)))
    return model


MEAN, COUNT = "normalise.running_mean", "normalise.num_batches_tracked"


def test_persistent_buffers_are_kept_and_tied_weights_once() -> None:
    assert set(weights(Counting(0))) == {
        *("inner.weight", "inner.bias", "output.weight"),
        *("normalise.weight", "normalise.bias"),
        *(MEAN, "normalise.running_var", COUNT),
    }
    model = Transformer(TransformerConfig(d_model=8, d_ff=8, num_heads=2), 20, 20)
    assert list(weights(model)) == [name for name, _ in model.named_parameters()]


def test_buffers_are_saved_and_loaded(tmp_path: Path) -> None:
    path, model = tmp_path / "model.safetensors", counting(1, 3)
    write_tensors(path, weights(model), {})
    for load in (
        lambda other: load_weights(other, read_tensors(path)[0], path),
        lambda other: copy_weights(other, read_tensors(path)[0]),
    ):
        other = Counting(2)
        load(other)
        x = torch.randn(5, 3)
        assert torch.equal(other.eval()(x), model.eval()(x))
        assert other.normalise.num_batches_tracked == 3


def test_buffers_of_another_type_are_refused() -> None:
    model = Counting(1)
    for name, wrong in (
        (COUNT, torch.tensor(3.0)),
        (MEAN, torch.zeros(4).half()),
        (MEAN, torch.zeros(4).double()),
        (MEAN, torch.tensor([0.0, 0.0, 0.0, float("nan")])),
        ("inner.bias", torch.zeros(4, dtype=torch.int64)),
    ):
        with pytest.raises(RunError, match=f"here: {name} "):
            check_weights(model, {**weights(model), name: wrong}, "here")
    without = {name: tensor for name, tensor in weights(model).items() if name != COUNT}
    with pytest.raises(RunError, match=COUNT):
        check_weights(model, without, "here")


def test_averages_of_buffers() -> None:
    sets = [weights(counting(seed, batches)) for seed, batches in ((1, 2), (2, 7), (3, 4))]
    mean = averaged(sets)
    for name in ("inner.weight", MEAN):
        assert torch.equal(mean[name], torch.stack([each[name] for each in sets]).mean(0))
    assert mean[COUNT] == 4
    assert mean[COUNT].dtype == torch.int64
    load_weights(Counting(4), mean, "here")


def test_a_moving_average_of_buffers() -> None:
    model = counting(1, 2)
    average = MovingAverage(model, 0.5)
    before = {name: tensor.clone() for name, tensor in weights(model).items()}
    copy_weights(model, weights(counting(2, 5)))
    average.update(model, step=100)
    for name, now in weights(model).items():
        if name != COUNT:
            assert_close(average.weights[name], (before[name] + now) / 2)
    assert not torch.equal(before[MEAN], weights(model)[MEAN])
    assert average.weights[COUNT] == 5
    assert model.normalise.num_batches_tracked is not average.weights[COUNT]
    other = MovingAverage(Counting(3), 0.5)
    other.load(average.weights)
    for name, tensor in average.weights.items():
        assert torch.equal(other.weights[name], tensor)


def test_other_weights_for_a_while() -> None:
    state = TrainingState(counting(1, 2), TrainSection(moving_average=0.9))
    before = {name: tensor.clone() for name, tensor in state.judged_weights().items()}
    with state.model_with(weights(counting(2, 5))) as model:
        assert weights(model)[COUNT] == 5
    for name, tensor in weights(state.model).items():
        assert torch.equal(tensor, before[name])
    assert {f"weight/{MEAN}", f"average/{COUNT}"} <= state.tensors().keys()
