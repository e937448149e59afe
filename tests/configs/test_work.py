"""The work of language models and readers, against what PyTorch counts and autograd keeps."""

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from torch.nn.attention import SDPBackend, sdpa_kernel
from torch.utils.flop_counter import FlopCounterMode

from regard import objectives
from regard.configs.bert import BertConfig
from regard.configs.gpt import GPTConfig
from regard.configs.head import HeadConfig
from regard.configs.recurrent import ReaderConfig, RecurrentConfig, RecurrentLanguageModelConfig
from regard.configs.work import Work, loss_flops
from regard.data.batch import TextBatch, batch_pairs
from regard.data.masked import MaskedExamples, Masking
from regard.data.stream import Stream, WindowBatches, write_stream
from regard.models import build
from regard.planning.fleet import find_fleet
from regard.planning.plan import activations, make_plan, planning_of
from regard.planning.task_planning import Sizes, batch_size
from regard.recipe import parse
from regard.reporter import SILENT
from regard.text.tokenizer import Tokenizer

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
    work = config.training_flops(VOCABULARY, Work(0, count, LENGTH, LENGTH))
    loss = loss_flops(config.d_model, VOCABULARY, count)
    assert work - loss == counter.get_total_flops()


def test_the_work_of_a_bert_is_on_what_it_reads() -> None:
    config = BertConfig(**SIZES)
    model: Any = build(config, VOCABULARY, VOCABULARY)
    counter = FlopCounterMode(display=False)
    read = tokens()
    with sdpa_kernel(SDPBackend.MATH), counter:
        model.features(read, torch.ones_like(read, dtype=torch.bool)).sum().backward()
    count = read.numel()
    assert config.training_flops(0, Work(count, 0, LENGTH + 1)) == counter.get_total_flops()


@contextmanager
def keeping(model: Any) -> Iterator[dict[int, int]]:
    """Bytes that autograd keeps of a forward pass, by the place where they are."""
    own = {each.data_ptr() for each in (*model.parameters(), *model.buffers())}
    kept: dict[int, int] = {}
    alive = []  # so that no place is used twice

    def keep(tensor: torch.Tensor) -> torch.Tensor:
        storage = tensor.untyped_storage()
        if storage.data_ptr() not in own:
            kept[storage.data_ptr()] = storage.nbytes()
            alive.append(tensor)
        return tensor

    with torch.autograd.graph.saved_tensors_hooks(keep, lambda tensor: tensor):
        yield kept


@pytest.mark.parametrize("choice", GPTS, ids=str)
def test_activations_are_what_autograd_keeps(choice: dict[str, Any]) -> None:
    config = GPTConfig(**SIZES, **choice)
    model: Any = build(config, VOCABULARY, VOCABULARY).train()
    ids = tokens()
    with keeping(model) as kept:
        objectives.next_token(model, TextBatch(ids[:, :-1], ids[:, 1:]))
    num_bytes = sum(kept.values()) - 4 * model.output.weight.numel()  # a gradient made already
    told = config.activation_bytes(Work(0, ROWS * LENGTH))
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
    assert config.training_flops(0, Work(1, 1)) == 6 * sum(weights)


@pytest.mark.parametrize(
    ("task", "kind", "outputs"),
    [
        ("translation", "recurrent", "tokens"),
        ("language-model", "recurrent", "tokens"),
        ("classification", "recurrent", "labels"),
        ("language-model", "gpt", "tokens"),
        ("masked-language-model", "bert", "tokens"),
        ("classification", "bert", "labels"),
        ("tagging", "bert", "labels"),
        ("image-classification", "cnn", "labels"),
        ("image-classification", "vit", "labels"),
        ("image-classification", "mlp", "labels"),
        ("image-classification", "lite0", "labels"),
        ("captioning", "recurrent", "tokens"),
        ("captioning", "transformer", "tokens"),
        ("forecasting", "linear", "values"),
        ("forecasting", "recurrent", "values"),
        ("forecasting", "transformer", "values"),
        ("word-vectors", "skip-gram", "tokens"),
        ("word-vectors", "cbow", "tokens"),
        ("matching", "bag", "tokens"),
        ("matching", "recurrent", "tokens"),
        ("matching", "bert", "tokens"),
        ("matching", "gpt", "tokens"),
    ],
)
def test_every_task_can_be_planned(task: str, kind: str, outputs: str) -> None:
    without = ("cnn", "mlp", "lite0", "bag", "linear", "skip-gram", "cbow")
    sizes = {} if kind in without else {"d_model": 64} if kind == "recurrent" else SIZES
    values = {"task": task, "data": {"train": ["a.txt"]}, "model": {"kind": kind, **sizes}}
    recipe = parse(values, "test")
    found = planning_of(recipe).facts(recipe, None, SILENT)
    plan = make_plan(recipe, find_fleet("8xA100"), found.sizes)
    assert planning_of(recipe).has_labels == (outputs == "labels")
    assert plan.fits
    assert plan.seconds > 0
    assert 0 < plan.tokens_per_update <= 2 * batch_size(recipe.train)


def test_a_batch_of_windows_is_planned_as_it_is_trained(tmp_path: Path) -> None:
    tokenizer = Tokenizer.train(["the cat sat on the mat"] * 3, vocabulary_size=300)
    write_stream(["the cat sat on the mat", None] * 200, tokenizer, tmp_path, "train")
    stream = Stream.open(tmp_path, "train")
    masking = Masking.of(tokenizer, 0.3, whole_words=False)
    values = {
        "task": "masked-language-model",
        "data": {"train": ["a.txt"], "context": 30, "masked_share": 0.3},
        "model": {"kind": "bert", **SIZES},
        "train": {"batch_tokens": 250},
    }
    for pairs, content in ((False, 28), (True, 27)):
        values["model"] |= {"next_sentence": pairs, "pooler": pairs}
        recipe = parse(values, "test")
        order = WindowBatches(len(stream), content, 250, 1, hidden=masking.count(content))
        rows = order.epoch(0)[0]
        batch = MaskedExamples(stream, content, masking, pairs).batch(rows)
        planning, sizes = planning_of(recipe), Sizes(len(tokenizer), len(tokenizer))
        work = planning.work(recipe, 1.0, sizes)
        assert work.source_tokens == batch.tokens.numel()
        assert work.target_tokens == batch.labels.numel()
        assert planning.counted_tokens(recipe, work) == pytest.approx(order.tokens(rows))
        model: Any = build(recipe.model, len(tokenizer), len(tokenizer)).train()
        with keeping(model) as kept:
            objectives.masked_token(model, batch)
        told = activations(recipe, sizes, 1.0, mixed=False)
        assert told == pytest.approx(sum(kept.values()), rel=0.1)


RECURRENT: list[Any] = [
    RecurrentLanguageModelConfig(d_model=32, cell="rnn"),
    RecurrentLanguageModelConfig(d_model=32, cell="gru", num_layers=1),
    RecurrentLanguageModelConfig(d_model=32, cell="lstm"),
    ReaderConfig(d_model=32, num_layers=2),
    ReaderConfig(d_model=32, cell="gru", bidirectional=False),
    RecurrentConfig(d_model=32, encoder_layers=2),
    RecurrentConfig(d_model=32, cell="gru", attention="dot", decoder_layers=2),
    RecurrentConfig(d_model=32, cell="rnn", attention="none"),
]


@pytest.mark.parametrize("config", RECURRENT, ids=lambda config: config.summary())
def test_recurrent_layers_keep_about_what_the_rule_says(config: Any) -> None:
    head = HeadConfig() if isinstance(config, ReaderConfig) else None
    model: Any = build(config, VOCABULARY, VOCABULARY, head).train()
    ids = tokens()[:, :-1]
    shown = torch.ones_like(ids, dtype=torch.bool)
    draw = np.random.default_rng(0)
    rows = [draw.integers(4, VOCABULARY, LENGTH) for _ in range(ROWS)]
    made_already = 4 * model.output.weight.numel()
    with keeping(model) as kept:
        if head:
            model.features(ids, shown, torch.zeros_like(ids))
            made_already = 0
        elif isinstance(config, RecurrentConfig):
            objectives.translation(model, batch_pairs(rows, rows), 0.1)
        else:
            objectives.next_token_carried(model, TextBatch(ids, ids))
    told = config.activation_bytes(Work(ids.numel(), ids.numel(), LENGTH))
    assert told == pytest.approx(sum(kept.values()) - made_already, rel=0.25)
