"""A model starts from the weights of another run, if they are good."""

from pathlib import Path

import pytest
import torch

from regard.errors import RunError
from regard.run import Run
from regard.training.initialise import from_run
from regard.weights import load_model, read_tensors, weights, write_tensors

OLD = Path(__file__).resolve().parents[1] / "old_runs" / "translation-transformer"


def with_first_weight(folder: Path, value: float) -> Run:
    """A copy of a run whose first weight is another one, with a checksum that is right."""
    run, path = Run(OLD), folder / "model.safetensors"
    for each in OLD.iterdir():
        if each.is_file() and each.name != path.name:
            (folder / each.name).write_bytes(each.read_bytes())
    tensors, metadata = read_tensors(run.model_path)
    next(each for each in tensors.values() if each.is_floating_point()).view(-1)[0] = value
    write_tensors(path, tensors, {k: v for k, v in metadata.items() if k != "checksum"})
    return Run(folder)


def test_weights_that_are_not_finite_are_refused(tmp_path: Path) -> None:
    model = load_model(Run(OLD))
    before = {name: tensor.clone() for name, tensor in weights(model).items()}
    assert "starts from" in from_run(model, str(with_first_weight(tmp_path, 7.0).folder))
    assert any(not torch.equal(before[name], new) for name, new in weights(model).items())
    with pytest.raises(RunError, match=r"holds numbers that are not finite; train that run again"):
        from_run(model, str(with_first_weight(tmp_path, float("nan")).folder))
