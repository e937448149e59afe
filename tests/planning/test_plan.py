"""Formulas against what they stand for: PyTorch's own counts, the paper's clock, a model built."""

from dataclasses import replace
from itertools import pairwise
from typing import Any

import numpy as np
import pytest
import torch
from torch.nn.attention import SDPBackend, sdpa_kernel
from torch.utils.flop_counter import FlopCounterMode

from regard import objectives
from regard.configs.cnn import CnnConfig
from regard.configs.image import ImageShape
from regard.configs.image_work import encoder_part
from regard.configs.lite0 import Lite0Config
from regard.configs.recurrent import RecurrentConfig
from regard.configs.transformer import TransformerConfig
from regard.configs.vit import VitConfig
from regard.configs.work import Work, loss_flops, part_of
from regard.data.batch import Batch, batch_pairs
from regard.errors import RequestError
from regard.machine import devices, memory
from regard.models import build
from regard.planning.fleet import CARDS, Device, Fleet, find_fleet
from regard.planning.plan import (
    Parallel,
    Plan,
    Share,
    batch_seconds,
    make_plan,
    ring_seconds,
    split_update,
    waiting_seconds,
)
from regard.planning.task_planning import Sizes
from regard.recipe import Recipe, parse
from regard.tasks.image_sections import ImageTraining
from regard.tasks.measuring import assumed_sizes
from regard.tasks.sections import TokenTraining

VOCABULARY, ROWS, SOURCE, TARGET = 300, 8, 24, 20
SMALL = {"encoder_layers": 2, "decoder_layers": 3, "d_model": 64, "d_ff": 160, "num_heads": 4}
CHOICES: list[dict[str, Any]] = [
    {},
    {"norm": "pre"},
    {"dropout": 0.0, "feed_forward_dropout": 0.2},
    {"activation": "gelu", "positions": "learned"},
    {"activation": "swiglu", "feed_forward_dropout": 0.1},
    {"positions": "rotary", "normalisation": "rms", "norm": "pre"},
]
BASE = TransformerConfig()
BIG = TransformerConfig(d_model=1024, d_ff=4096, num_heads=16)
P100 = find_fleet("8xP100")


def batch() -> Batch:
    draw = np.random.default_rng(0)
    return batch_pairs(
        [draw.integers(4, VOCABULARY, SOURCE) for _ in range(ROWS)],
        [draw.integers(4, VOCABULARY, TARGET) for _ in range(ROWS)],
    )


@pytest.mark.parametrize("choice", CHOICES, ids=str)
def test_work_is_what_pytorch_counts(choice: dict[str, Any]) -> None:
    config = TransformerConfig(**SMALL, **choice)
    model, each = build(config, VOCABULARY, VOCABULARY), batch()
    counter = FlopCounterMode(display=False)
    with sdpa_kernel(SDPBackend.MATH), counter:
        model.features(each.source, each.source_mask, each.target).sum().backward()
    tokens = ROWS * SOURCE, ROWS * TARGET
    work = config.training_flops(VOCABULARY, Work(*tokens, SOURCE, TARGET))
    loss = loss_flops(config.d_model, VOCABULARY, tokens[1])
    assert work - loss == counter.get_total_flops()
    assert loss == 3 * 2 * tokens[1] * model.output.weight.numel()


@pytest.mark.parametrize("choice", CHOICES, ids=str)
def test_activations_are_what_autograd_keeps(choice: dict[str, Any]) -> None:
    config = TransformerConfig(**SMALL, **choice)
    model = build(config, VOCABULARY, VOCABULARY).train()
    own = {each.data_ptr() for each in (*model.parameters(), *model.buffers())}
    kept: dict[int, torch.Tensor] = {}

    def keep(tensor: torch.Tensor) -> torch.Tensor:
        if tensor.untyped_storage().data_ptr() not in own:
            kept[tensor.untyped_storage().data_ptr()] = tensor
        return tensor

    with torch.autograd.graph.saved_tensors_hooks(keep, lambda tensor: tensor):
        loss = objectives.translation(model, batch(), 0.1)
    num_bytes = sum(tensor.untyped_storage().nbytes() for tensor in kept.values())
    num_bytes -= 4 * model.output.weight.numel()  # its gradient, which the loss has made already
    assert loss.count == ROWS * TARGET
    told = config.activation_bytes(Work(ROWS * SOURCE, ROWS * TARGET))
    assert told == pytest.approx(num_bytes, rel=0.01)


@pytest.mark.parametrize(
    "config",
    [
        RecurrentConfig(d_model=32, attention="additive"),
        RecurrentConfig(d_model=32, attention="dot", cell="gru", encoder_layers=2),
        RecurrentConfig(d_model=32, attention="dot", input_feeding=True, decoder_layers=2),
        RecurrentConfig(d_model=32, attention="none", cell="rnn", bidirectional=False),
    ],
    ids=lambda config: config.summary(),
)
def test_a_recurrent_model_meets_each_weight_once_a_token(config: RecurrentConfig) -> None:
    weights = {
        name: parameter.numel()
        for name, parameter in build(config, VOCABULARY, VOCABULARY).named_parameters()
        if parameter.dim() == 2 and not name.startswith(("source_emb", "target_emb", "bridge"))
    }
    weights.pop("attention.score.weight", None)  # counted with the positions it scores
    on_source = sum(
        number
        for name, number in weights.items()
        if name.startswith(("encoder.", "attention.key_projection"))
    )
    on_target = sum(weights.values()) - on_source
    assert config.training_flops(0, Work(1, 0)) == 6 * on_source
    assert config.training_flops(0, Work(0, 1, source_length=0)) == 6 * on_target
    looks = config.attention != "none"
    met = on_target + looks * 2 * 32 * 5
    assert config.training_flops(0, Work(0, 1, source_length=5)) == 6 * met


FLOAT16 = replace(find_fleet("V100").device, float32=125e12)  # tensor cores for all products
A100 = replace(find_fleet("A100").device, float32=312e12)


@pytest.mark.parametrize(
    ("config", "device", "side", "seconds"),
    [
        # Vaswani et al. 2017, §5.2: 25,000 tokens a side on eight cards.
        (BASE, P100.device, 25_000 / 8, 0.4),
        (BIG, P100.device, 25_000 / 8, 1.0),
        # A maintainer of fairseq, 2019: 160,000 target tokens/s on four cards.
        (BASE, FLOAT16, 3500, 3500 / 40_000),
        # The cards' maker, 2019 and 2022: target tokens/s on one card.
        (BIG, FLOAT16, 2560, 2560 / 23_821),
        (BIG, FLOAT16, 5120, 5120 / 32_942),
        (BIG, FLOAT16, 10_240, 10_240 / 39_911),
        (BIG, A100, 10_240, 10_240 / 82_059),
    ],
)
def test_published_speeds_are_met(
    config: TransformerConfig, device: Device, side: float, seconds: float
) -> None:
    vocabulary = 37_000 if device is P100.device else 33_000
    part = part_of(config, vocabulary, Work(side, side), mixed=False)
    planned = batch_seconds([part], replace(device, bfloat16=0.0))
    assert seconds / 1.5 < planned < seconds * 1.25


@pytest.mark.parametrize(
    ("layers", "d_model", "d_ff", "side", "seconds"),
    [
        (4, 128, 256, 1024, 0.160),
        (4, 128, 256, 4096, 0.569),
        (3, 256, 1024, 1024, 0.344),
        (3, 256, 1024, 4096, 1.409),
        (6, 512, 2048, 1024, 2.136),
    ],
)
def test_speeds_measured_on_a_cpu_are_met(
    layers: int, d_model: int, d_ff: int, side: int, seconds: float
) -> None:
    """Two cores of 185 GFLOP/s, sentences of 16 pieces, a vocabulary of 8,000."""
    config = TransformerConfig(
        encoder_layers=layers, decoder_layers=layers, d_model=d_model, d_ff=d_ff, num_heads=4
    )
    device = replace(P100.device, float32=185e9, is_card=False)
    part = part_of(config, 8000, Work(side, side, 16, 16), mixed=False)
    assert batch_seconds([part], device) == pytest.approx(seconds, rel=0.1)


@pytest.mark.parametrize(
    ("config", "side", "images", "seconds"),
    [
        (CnnConfig(widths=(32, 64, 128)), 32, 128, 0.115),
        (CnnConfig(widths=(32, 64, 128)), 32, 32, 0.031),
        (CnnConfig(widths=(48, 96, 192)), 32, 256, 0.420),
        (CnnConfig(widths=(64, 128, 256)), 32, 128, 0.329),
        (CnnConfig(widths=(32, 32, 64, 128)), 64, 32, 0.086),
        (VitConfig(num_layers=4, d_model=128, d_ff=256, num_heads=2), 32, 128, 0.289),
        (VitConfig(num_layers=6, d_model=192, d_ff=384, num_heads=3), 32, 128, 0.846),
        (VitConfig(num_layers=4, d_model=128, d_ff=256, patch_size=8, num_heads=2), 64, 32, 0.106),
        (Lite0Config(frozen=False), 128, 16, 0.188),
    ],
)
def test_speeds_of_encoders_measured_on_a_cpu_are_met(
    config: Any, side: int, images: int, seconds: float
) -> None:
    """One core of 250 GFLOP/s, images in colour."""
    device = replace(P100.device, float32=250e9, is_card=False)
    part = encoder_part(config, ImageShape(side, side, 3), images, mixed=False, labels=10)
    assert batch_seconds([part], device) == pytest.approx(seconds, rel=0.25)


def test_an_update_of_examples_is_split_as_one_of_tokens() -> None:
    train = ImageTraining(batch_size=128, accumulate=2)
    assert split_update(train, 2) == Share(1, 128, whole=True)
    assert split_update(train, 4) == Share(2, 32, whole=False)


def test_a_frozen_encoder_has_no_gradients_and_moments() -> None:
    values = {"task": "image-classification", "data": {"builtin": "shapes"}}
    frozen, learned = (
        planned(parse({**values, "model": {"kind": "lite0", "frozen": each}}, "test"), P100)
        for each in (True, False)
    )
    assert frozen.parameters == learned.parameters
    assert frozen.memory.weights == learned.memory.weights
    assert frozen.memory.moments < 0.01 * learned.memory.moments
    assert frozen.memory.activations < 0.1 * learned.memory.activations


def recipe(**sections: dict[str, Any]) -> Recipe:
    values = {"data": {"builtin": "phrasebook"}, "tokenizer": {"vocabulary_size": 37_000}}
    return parse({**values, **sections}, "test")


def planned(chosen: Recipe, fleet: Fleet, parallel: Parallel = "ddp") -> Plan:
    """A plan where the data is not there to be asked."""
    sizes = assumed_sizes(chosen) if hasattr(chosen, "tokenizer") else Sizes(0, 8)
    return make_plan(chosen, fleet, sizes, parallel)


@pytest.mark.parametrize("tied", ["all", "output", "none"])
def test_parameters_are_those_of_the_model(tied: str) -> None:
    model = {**SMALL, "tied_embeddings": tied, "activation": "swiglu", "positions": "learned"}
    chosen = recipe(model=model, tokenizer={"vocabulary_size": VOCABULARY})
    built = build(chosen.model, VOCABULARY, VOCABULARY)
    found = planned(chosen, P100).parameters
    assert found == sum(parameter.numel() for parameter in built.parameters())


def test_the_base_model_has_the_papers_size() -> None:
    assert planned(recipe(), P100).parameters == pytest.approx(65e6, rel=0.04)


@pytest.mark.parametrize("devices", [1, 2, 3, 8, 16])
def test_an_update_is_the_same_on_any_number_of_devices(devices: int) -> None:
    train = TokenTraining(batch_tokens=3000, accumulate=8)
    share = split_update(train, devices)
    assert share.batches * share.batch_tokens * devices == pytest.approx(24_000)
    assert share.whole == (8 % devices == 0)


def test_more_devices_are_faster_and_never_by_more_than_their_number() -> None:
    chosen = recipe(train={"batch_tokens": 3125, "accumulate": 8})
    seconds = [planned(chosen, find_fleet(f"{count}xA100")).seconds for count in (1, 2, 4, 8)]
    for before, after in pairwise(seconds):
        assert before / 2 < after < before


def test_a_ring_moves_all_but_one_part_twice() -> None:
    assert ring_seconds(8e9, 1, 1e9) == 0
    assert ring_seconds(8e9, 4, 1e9) == 2 * (8 - 2)
    # Between machines the network is what counts.
    within, between = find_fleet("16xH100"), find_fleet("2x8xH100")
    assert within.size == between.size
    assert between.link < within.link


def test_waiting_is_what_the_backward_pass_does_not_hide() -> None:
    share = split_update(TokenTraining(accumulate=16), 16)
    fleet = find_fleet("2x8xH100")
    ring = ring_seconds(4e9, 16, fleet.link)
    assert waiting_seconds(10**9, fleet, share, 0.0, "ddp") == ring
    assert waiting_seconds(10**9, fleet, share, ring, "ddp") == pytest.approx(ring / 3)
    assert waiting_seconds(10**9, fleet, share, 2 * ring, "ddp") == 0
    assert waiting_seconds(10**9, fleet, share, 0.0, "fsdp") == 1.5 * ring


def test_memory_is_sixteen_bytes_a_parameter_and_less_when_sharded() -> None:
    chosen = recipe(train={"batch_tokens": 1000, "accumulate": 8})
    alone, eight = planned(chosen, find_fleet("P100")), planned(chosen, P100)
    embedding = 4 * 512 * 37_000
    held = alone.memory.weights + alone.memory.gradients + alone.memory.moments
    assert held == 16 * alone.parameters + embedding
    assert eight.memory == alone.memory  # each has a copy, and batches as large
    sharded = planned(chosen, P100, "fsdp")
    assert sharded.memory.moments == eight.memory.moments / 8
    assert sharded.memory.total < eight.memory.total
    averaged = recipe(train={"batch_tokens": 1000, "accumulate": 8, "moving_average": 0.99})
    extra = planned(averaged, P100).memory.moments - eight.memory.moments
    assert extra == 4 * eight.parameters


def test_bfloat16_is_taken_where_the_card_has_it() -> None:
    chosen = recipe()
    on_new, on_old = planned(chosen, find_fleet("A100")), planned(chosen, find_fleet("V100"))
    assert (on_new.precision, on_old.precision) == ("bfloat16", "float32")
    asked = recipe(train={"precision": "float32"})
    assert planned(asked, find_fleet("A100")).precision == "float32"
    assert on_new.memory.activations < on_old.memory.activations
    for found in (on_new, on_old):
        assert 0 < found.share_of_peak < 1


def test_what_fits_is_told() -> None:
    assert planned(recipe(), find_fleet("T4")).fits
    small = replace(CARDS[0], memory=2e9)
    assert not planned(recipe(), Fleet(small)).fits


def test_recurrent_models_are_planned_in_float32() -> None:
    chosen = recipe(model={"kind": "recurrent", "d_model": 64})
    found = planned(chosen, find_fleet("A100"))
    built = build(chosen.model, 37_000, 37_000)
    assert found.parameters == sum(parameter.numel() for parameter in built.parameters())
    assert found.precision == "float32"
    assert found.memory.moments == 8 * found.parameters
    assert found.seconds > 0


@pytest.mark.parametrize(
    ("text", "name", "nodes", "per_node"),
    [
        ("A100", "A100-40", 1, 1),
        ("8xA100-80GB", "A100-80", 1, 8),
        ("2x8xH100", "H100", 2, 8),
        ("4 × rtx-4090", "RTX 4090", 1, 4),
        ("3X RTX 3090", "RTX 3090", 1, 3),
    ],
)
def test_a_fleet_by_its_name(text: str, name: str, nodes: int, per_node: int) -> None:
    fleet = find_fleet(text)
    assert (fleet.device.name, fleet.nodes, fleet.per_node) == (name, nodes, per_node)


@pytest.mark.parametrize("text", ["A1000", "8x", "0xA100", "8x8x8xA100", "2xcpu", "moon"])
def test_a_device_nobody_knows_is_said(text: str) -> None:
    with pytest.raises(RequestError, match="RTX 4090") as raised:
        find_fleet(text)
    assert f'"{text}"' in str(raised.value)


def test_this_machine_is_measured(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(torch.cuda, "is_available", lambda: False)
    monkeypatch.setattr(torch.backends.mps, "is_available", lambda: False)
    monkeypatch.setattr(devices, "gemm_rate", lambda device: 100e9)
    monkeypatch.setattr(devices, "loss_rate", lambda: 100e9)
    monkeypatch.setattr(memory, "free_memory", lambda: 6 * 10**9)
    for text in ("", "cpu"):
        fleet = find_fleet(text, processes=2)
        assert fleet.size * fleet.device.float32 == 100e9
        assert fleet.size * fleet.device.memory == 6e9
    found = planned(recipe(), fleet)
    assert found.precision == "float32"
    assert 0.5 < found.share_of_peak < 0.9
