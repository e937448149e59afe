"""The benchmark's foundations: its contenders are the same model, and its arithmetic is right."""

import json
import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest
import torch
from torch import nn
from torch.testing import assert_close

from benchmarks import peers
from benchmarks.__main__ import read_options, save
from benchmarks.folds import report, write_folds
from benchmarks.memory import write_corpus
from benchmarks.process import ROOT, environment
from benchmarks.profile import REST, group
from benchmarks.summary import markdown, paired_ratio, put, quietness
from regard.configs.transformer import TransformerConfig
from regard.data.batch import Batch, batch_pairs
from regard.data.labelled import Labelled
from regard.models.transformer import Transformer
from regard.objectives import translation

Build = Callable[[Transformer], nn.Module]
PAD = 0
# Lengths differ on both sides, so that a wrong mask shows.
SOURCES = [[5, 9, 12, 7, 7, 21, 3], [8, 3], [11, 4, 6, 3]]
TARGETS = [[6, 6, 13, 3], [20, 9, 4, 17, 8, 3], [3]]


@pytest.fixture
def batch() -> Batch:
    return batch_pairs(SOURCES, TARGETS)


def model(norm: str = "post", dropout: float = 0.0) -> Transformer:
    torch.manual_seed(1)
    config = TransformerConfig(
        encoder_layers=2,
        decoder_layers=3,
        d_model=16,
        d_ff=24,
        num_heads=4,
        dropout=dropout,
        norm=norm,
    )
    ours = Transformer(config, 23, 23)
    # Biases start as zeros and norms as ones, which would hide that they were not copied.
    with torch.no_grad():
        for parameter in ours.parameters():
            if parameter.dim() == 1:
                parameter.add_(torch.randn_like(parameter) / 4)
    return ours


PEERS = [
    pytest.param(peers.hugging_face, "post", id="marian"),
    pytest.param(peers.hugging_face, "pre", id="pegasus"),
    pytest.param(peers.TorchTransformer, "post", id="torch"),
]


@pytest.mark.parametrize(("build", "norm"), PEERS)
def test_a_peer_has_our_logits_and_our_loss(build: Build, norm: str, batch: Batch) -> None:
    ours = model(norm)
    theirs = build(ours)
    assert peers.logit_difference(ours, theirs, batch) < 1e-5
    loss_of = nn.CrossEntropyLoss(ignore_index=PAD, label_smoothing=0.1)
    theirs_say = loss_of(peers.logits_of(theirs, batch).flatten(0, 1), batch.labels.flatten())
    loss = translation(ours, batch, 0.1)
    assert_close(theirs_say, loss.total / loss.count, rtol=1e-5, atol=0)


@pytest.mark.parametrize(("build", "norm"), PEERS)
def test_a_peer_that_differs_in_one_weight_is_refused(
    build: Build, norm: str, batch: Batch
) -> None:
    ours = model(norm)
    theirs = build(ours)
    for name, parameter in theirs.named_parameters():
        # Biases of keys cancel in the softmax, and the positions are not copied from us.
        if not parameter.requires_grad or name.endswith("k_proj.bias"):
            continue
        with torch.no_grad():
            before = parameter.clone()
            parameter.add_(torch.randn_like(parameter))
        with pytest.raises(SystemExit, match="logits differ"):
            peers.logit_difference(ours, theirs, batch)
        with torch.no_grad():
            parameter.copy_(before)
    assert peers.logit_difference(ours, theirs, batch) < 1e-5


def without_dropout(model: nn.Module, batch: Batch) -> tuple[int, torch.Tensor]:
    """How often a model in training calls dropout, and its output when dropout does nothing."""
    calls = 0

    def ours(x: torch.Tensor, threshold: int) -> torch.Tensor:
        nonlocal calls
        calls += 1
        return x

    def torchs(
        x: torch.Tensor, p: float = 0.5, training: bool = True, inplace: bool = False
    ) -> torch.Tensor:
        nonlocal calls
        calls += training and p > 0
        return x

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("regard.layers.dropout._Dropout.apply", ours)
        patch.setattr(nn.functional, "dropout", torchs)
        logits = peers.logits_of(model.train(), batch)
    return calls, logits


@pytest.mark.parametrize("build", [peers.hugging_face, peers.TorchTransformer])
def test_a_peer_drops_at_our_places_and_nowhere_else(build: Build, batch: Batch) -> None:
    ours = model(dropout=0.3)
    calls, logits = without_dropout(ours, batch)
    their_calls, their_logits = without_dropout(build(ours), batch)
    assert their_calls == calls > 0
    # Attention has dropout inside its kernel, where a call does not show but the result would.
    assert_close(their_logits[batch.label_mask], logits[batch.label_mask], rtol=0, atol=1e-5)


def test_a_ratio_is_of_the_windows_of_a_round() -> None:
    # Twice as fast in two rounds of three, though the median speeds are the same.
    assert paired_ratio([2, 20, 8], [1, 10, 8]).median == 2
    always = paired_ratio([2, 20, 8], [1, 10, 4])
    assert (always.median, always.low, always.high) == (2, 2, 2)


def test_an_interval_holds_the_median_and_grows_with_the_spread() -> None:
    narrow = paired_ratio([1.9, 2.0, 2.1, 2.0, 2.0], [1] * 5)
    wide = paired_ratio([1.0, 2.0, 3.0, 1.5, 2.5], [1] * 5)
    for each in (narrow, wide):
        assert each.low < each.median == 2 < each.high
    assert wide.high - wide.low > narrow.high - narrow.low
    assert wide.low >= 1
    assert wide.high <= 3


def test_a_machine_that_changed_its_speed_was_not_quiet() -> None:
    assert "not quiet" in quietness([200e9, 150e9])
    assert "not quiet" not in quietness([200e9, 190e9])


def test_a_table_takes_the_place_of_the_old_one_and_of_nothing_else() -> None:
    document = "a\n<!-- x -->\nold\n<!-- /x -->\nb\n<!-- y -->\nkept\n<!-- /y -->\n"
    table = markdown(["", "speed"], [["regard", r"\\1 is no group"]])
    once = put(document, "x", table)
    assert once == document.replace("old", table)
    assert put(once, "x", table) == once
    with pytest.raises(SystemExit, match="<!-- z -->"):
        put(document, "z", table)


def test_a_document_that_is_not_there_is_refused_before_anything_is_measured(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    missing = str(tmp_path / "none.md")
    monkeypatch.setattr("sys.argv", ["benchmarks", "train", "--out", missing])
    with pytest.raises(SystemExit):
        read_options()
    assert "no such document" in capsys.readouterr().err


def test_the_tuning_of_the_surroundings_reaches_no_contender(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setenv("OMP_NUM_THREADS", "7")
    monkeypatch.setenv("GOMP_SPINCOUNT", "7")
    monkeypatch.setenv("MALLOC_TOP_PAD_", "7")
    found = environment(2, {"MALLOC_TRIM_THRESHOLD_": "8"})
    assert found["OMP_NUM_THREADS"] == found["MKL_NUM_THREADS"] == "2"
    assert found["MALLOC_TRIM_THRESHOLD_"] == "8"
    assert not {"GOMP_SPINCOUNT", "MALLOC_TOP_PAD_"} & found.keys()


def test_a_section_is_kept_beside_those_found_before(tmp_path: Path) -> None:
    save("training", {"sizes": [1]}, tmp_path)
    save("decoding", {"beam": 5}, tmp_path)
    save("training", {"sizes": [1, 2]}, tmp_path)
    found = json.loads((tmp_path / "results.json").read_text("utf-8"))
    assert found == {"training": {"sizes": [1, 2]}, "decoding": {"beam": 5}}


def test_a_corpus_has_as_many_pairs_as_asked_for_and_no_two_alike(tmp_path: Path) -> None:
    sides = [tmp_path / "a.en", tmp_path / "a.de"]
    for side in sides:
        side.write_text("one\ntwo\nthree\n", encoding="utf-8")
    write_corpus(sides, 8, tmp_path)
    sources = (tmp_path / "train.aa").read_text("utf-8").splitlines()
    assert sources == (tmp_path / "train.bb").read_text("utf-8").splitlines()
    assert len(set(sources)) == 8
    assert sources[4].startswith("two")


@pytest.mark.parametrize(
    ("names", "kind"),
    [
        (["aten::mm", "_LinearCrossEntropy"], "products"),
        (["aten::exp_", "_LinearCrossEntropy"], "softmax and loss"),
        (["aten::random_", "_Dropout"], "dropout"),
        (["aten::sum", "AddmmBackward0"], "additions and copies"),
        (["aten::_fused_adam_", "Optimizer.step#Adam.step"], "optimizer"),
        (["aten::linalg_vector_norm", "aten::_foreach_norm"], "optimizer"),
        (["aten::native_layer_norm"], "norm"),
        (["aten::_scaled_dot_product_flash_attention_for_cpu"], "attention"),
        (["aten::empty"], REST),
    ],
)
def test_an_operation_is_counted_where_its_time_belongs(names: list[str], kind: str) -> None:
    assert group(names) == kind


WINDOW = """
import sys, time
from benchmarks.process import Replies
replies = Replies()
print("ready", flush=True, file=sys.stderr)
replies.serve({}, lambda request: time.sleep(60))
"""


def test_a_contender_ends_with_who_asked_it_even_within_a_window() -> None:
    middle = (
        "import subprocess, sys, time\n"
        f"child = subprocess.Popen([sys.executable, '-c', {WINDOW!r}], stdin=subprocess.PIPE)\n"
        "child.stdin.write(b'{}\\n')\nchild.stdin.flush()\n"
        "print(child.pid, flush=True)\ntime.sleep(60)\n"
    )
    with subprocess.Popen(
        [sys.executable, "-c", middle],
        cwd=ROOT,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    ) as asking:
        assert asking.stdout is not None
        assert asking.stderr is not None
        pid = int(asking.stdout.readline())
        assert asking.stderr.readline() == "ready\n"
        asking.send_signal(signal.SIGKILL)
    deadline = time.monotonic() + 20
    while alive(pid) and time.monotonic() < deadline:
        time.sleep(0.1)
    assert not alive(pid)


def alive(pid: int) -> bool:
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return False
    status = Path(f"/proc/{pid}/status")
    return not (status.exists() and "State:\tZ" in status.read_text())


def test_each_sentence_is_tested_on_once_and_by_a_model_that_never_saw_it(tmp_path: Path) -> None:
    rows = [Labelled((f"film {number}",), (str(number % 2),), "") for number in range(23)]
    write_folds([rows[start::5] for start in range(5)], tmp_path)
    everything = {f"{row.labels[0]}\t{row.units[0]}" for row in rows}
    tested = []
    for folder in tmp_path.iterdir():
        train, valid, test = (
            (folder / f"{name}.tsv").read_text("utf-8").splitlines()
            for name in ("train", "valid", "test")
        )
        assert len(train) + len(valid) + len(test) == len(rows)
        assert {*train, *valid, *test} == everything
        tested += test
    assert sorted(tested) == sorted(everything)


def test_a_gain_is_reported_with_its_interval(capsys: pytest.CaptureFixture[str]) -> None:
    tuned = np.array([True] * 80 + [False] * 20)
    right = {"fine-tuned": tuned, "from nothing": tuned & (np.arange(100) >= 10)}
    report("all sentences", right, np.ones(100, bool))
    *_, last = capsys.readouterr().out.splitlines()
    assert last.split()[:2] == ["difference", "10.00"]
    low, high = (float(value) for value in last.split("[")[1].rstrip("]").split(", "))
    # The standard error of ten gains in a hundred is 3.
    assert 3 < low < 6
    assert 14 < high < 17
