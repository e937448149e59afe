"""The work of language models and readers, against what PyTorch counts and autograd keeps."""

from typing import Any

import pytest
import torch
from torch.nn.attention import SDPBackend, sdpa_kernel
from torch.utils.flop_counter import FlopCounterMode

from regard import objectives
from regard.data.batch import TextBatch
from regard.devices import find_fleet
from regard.models import (
    BertConfig,
    GPTConfig,
    ReaderConfig,
    RecurrentLanguageModelConfig,
    build,
)
from regard.plan import make_plan
from regard.recipe import parse
from regard.work import loss_flops, stack_activation_bytes, training_flops

VOCABULARY, ROWS, LENGTH = 300, 4, 20
SIZES = {"num_layers": 2, "d_model": 64, "d_ff": 160, "num_heads": 4}
GPTS: list[dict[str, Any]] = [
    {},
    {"positions": "rotary", "dropout": 0.0},
    {"activation": "relu"},
    {"activation": "swiglu"},
]


def tokens() -> torch.Tensor:
    return torch.randint(4, VOCABULARY, (ROWS, LENGTH + 1))


@pytest.mark.parametrize("choice", GPTS, ids=str)
def test_work_is_what_pytorch_counts(choice: dict[str, Any]) -> None:
    config = GPTConfig(**SIZES, **choice)
    model: Any = build(config, VOCABULARY, VOCABULARY)
    counter = FlopCounterMode(display=False)
    with sdpa_kernel(SDPBackend.MATH), counter:
        model.features(tokens()[:, :-1]).sum().backward()
    count = ROWS * LENGTH
    work = training_flops(config, VOCABULARY, 0, count, LENGTH, LENGTH)
    assert work - loss_flops(config, VOCABULARY, count) == counter.get_total_flops()


def test_the_work_of_a_bert_is_on_what_it_reads() -> None:
    config = BertConfig(**SIZES)
    model: Any = build(config, VOCABULARY, VOCABULARY)
    counter = FlopCounterMode(display=False)
    read = tokens()
    with sdpa_kernel(SDPBackend.MATH), counter:
        model.features(read, torch.ones_like(read, dtype=torch.bool)).sum().backward()
    count = read.numel()
    assert training_flops(config, 0, count, 0, LENGTH + 1) == counter.get_total_flops()


@pytest.mark.parametrize("choice", GPTS, ids=str)
def test_activations_are_what_autograd_keeps(choice: dict[str, Any]) -> None:
    config = GPTConfig(**SIZES, **choice)
    model: Any = build(config, VOCABULARY, VOCABULARY).train()
    own = {each.data_ptr() for each in (*model.parameters(), *model.buffers())}
    kept: dict[int, int] = {}

    def keep(tensor: torch.Tensor) -> torch.Tensor:
        storage = tensor.untyped_storage()
        if storage.data_ptr() not in own:
            kept[storage.data_ptr()] = storage.nbytes()
        return tensor

    ids = tokens()
    with torch.autograd.graph.saved_tensors_hooks(keep, lambda tensor: tensor):
        objectives.next_token(model, TextBatch(ids[:, :-1], ids[:, 1:]))
    num_bytes = sum(kept.values()) - 4 * model.output.weight.numel()  # a gradient made already
    told = stack_activation_bytes(config, ROWS * LENGTH)
    assert told == pytest.approx(num_bytes, rel=0.05)


@pytest.mark.parametrize(
    "config",
    [
        RecurrentLanguageModelConfig(d_model=32, cell="gru"),
        ReaderConfig(d_model=32, num_layers=2),
        ReaderConfig(d_model=32, bidirectional=False, cell="rnn"),
    ],
    ids=lambda config: config.summary(),
)
def test_a_recurrent_model_meets_each_weight_once_a_token(
    config: RecurrentLanguageModelConfig | ReaderConfig,
) -> None:
    model = build(config, VOCABULARY, VOCABULARY)
    weights = [p.numel() for name, p in model.named_parameters() if "kernel.weight" in name]
    assert training_flops(config, 0, 1, 1) == 6 * sum(weights)


@pytest.mark.parametrize(
    ("task", "kind", "outputs"),
    [
        ("language-model", "gpt", "tokens"),
        ("masked-language-model", "bert", "tokens"),
        ("classification", "bert", "labels"),
        ("tagging", "bert", "labels"),
    ],
)
def test_every_task_can_be_planned(task: str, kind: str, outputs: str) -> None:
    values = {"task": task, "data": {"train": ["a.txt"]}, "model": {"kind": kind, **SIZES}}
    plan = make_plan(parse(values, "test"), find_fleet("8xA100"))
    assert plan.fits
    assert plan.seconds > 0
    assert 0 < plan.tokens_per_update <= 2 * 4096
