"""Batch normalisation is PyTorch's, except where that has no statistics."""

import subprocess
import sys
from pathlib import Path

import torch
from torch import nn
from torch.testing import assert_close

from regard.layers.batch_norm import BatchNorm2d


def test_one_process_computes_what_pytorch_does() -> None:
    torch.manual_seed(1)
    x = torch.randn(5, 3, 4, 2, dtype=torch.float64)
    ours, theirs = BatchNorm2d(3).double(), nn.BatchNorm2d(3).double()
    for training in (True, False):
        ours.train(training)
        theirs.train(training)
        assert torch.equal(ours(x), theirs(x))
    for name, tensor in theirs.state_dict().items():
        assert torch.equal(ours.state_dict()[name], tensor)


def test_a_single_number_has_no_statistics() -> None:
    layer = BatchNorm2d(2).train()
    layer(torch.randn(4, 2, 3, 3))
    before = {name: tensor.clone() for name, tensor in layer.state_dict().items()}
    x = torch.randn(1, 2, 1, 1)
    assert_close(layer(x), layer.eval()(x))
    assert all(torch.equal(layer.state_dict()[name], each) for name, each in before.items())


PROGRAM = """
import os, sys, torch
from torch import distributed
from regard.layers.batch_norm import BatchNorm2d, rows_counted

rank = int(sys.argv[1])
distributed.init_process_group("gloo", f"file://{sys.argv[2]}/store", rank=rank, world_size=2)
x, weight, bias, gradient = torch.load(f"{sys.argv[2]}/given", weights_only=True)
# The second process has no row of its own in the second batch, and joins with one that is there.
for rows, counted in ((slice(rank, None, 2), True), (slice(0, 1), rank == 0)):
    own = x[rows].clone().requires_grad_()
    layer = BatchNorm2d(3).double().train()
    layer.load_state_dict({**layer.state_dict(), "weight": weight, "bias": bias})
    with rows_counted(counted):
        layer(own).backward(gradient[rows] * counted)
    found = [own.grad, layer.weight.grad, layer.bias.grad, layer.running_mean, layer.running_var]
    torch.save(found, f"{sys.argv[2]}/{rank}-{counted}-{len(own)}")
distributed.destroy_process_group()
os._exit(0)
"""


def test_two_processes_compute_what_one_does_with_all_rows(tmp_path: Path) -> None:
    torch.manual_seed(2)
    x, gradient = torch.randn(2, 7, 3, 4, 2, dtype=torch.float64)
    weight, bias = torch.randn(2, 3, dtype=torch.float64)
    torch.save([x, weight, bias, gradient], tmp_path / "given")
    command = [sys.executable, "-c", PROGRAM]
    others = [subprocess.Popen([*command, str(rank), str(tmp_path)]) for rank in (0, 1)]
    assert [other.wait(timeout=100) for other in others] == [0, 0]
    for rows, files in (([4, 3], ("0-True-4", "1-True-3")), ([1, 0], ("0-True-1", "1-False-1"))):
        first, second = (torch.load(tmp_path / name, weights_only=True) for name in files)
        count = sum(rows)
        batch = x[:count].clone().requires_grad_()
        layer = nn.BatchNorm2d(3).double().train()
        layer.load_state_dict({**layer.state_dict(), "weight": weight, "bias": bias})
        layer(batch).backward(gradient[:count])
        assert batch.grad is not None
        assert_close(first[0], batch.grad[::2] if count > 1 else batch.grad)
        if count > 1:
            assert_close(second[0], batch.grad[1::2])
        else:
            assert not second[0].any()
        for mine, yours, expected in zip(
            first[1:3], second[1:3], (layer.weight.grad, layer.bias.grad), strict=True
        ):
            assert_close(mine + yours, expected)
        for each in (first, second):
            assert_close(each[3:], [layer.running_mean, layer.running_var])
