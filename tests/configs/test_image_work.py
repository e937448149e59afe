"""The work of models that see images, against what PyTorch counts and autograd keeps."""

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import pytest
import torch
from torch.nn.attention import SDPBackend, sdpa_kernel
from torch.utils.flop_counter import FlopCounterMode

from regard import objectives
from regard.configs.bert import BertConfig
from regard.configs.captioner import RecurrentCaptionerConfig, TransformerCaptionerConfig
from regard.configs.clip import BagConfig, SharedSpaceConfig
from regard.configs.cnn import CnnConfig
from regard.configs.gpt import GPTConfig
from regard.configs.image import ImageShape
from regard.configs.image_work import captioner_parts, cells, clip_parts, encoder_part
from regard.configs.lite0 import Lite0Config
from regard.configs.mlp import MlpConfig
from regard.configs.recurrent import ReaderConfig
from regard.configs.vit import VitConfig
from regard.configs.work import Part, Work
from regard.data.caption_batches import CaptionBatch
from regard.data.image_batches import ImageBatch
from regard.data.matching_pairs import MatchingBatch
from regard.models.captioner import Captioner
from regard.models.clip import Clip
from regard.models.image_labeller import ImageLabeller
from regard.models.images import build_encoder

SHAPE = ImageShape(16, 24, 3)
IMAGES, LENGTH, VOCABULARY, LABELS = 4, 6, 50, 7
STACK = {"num_layers": 2, "d_model": 24, "d_ff": 40, "num_heads": 2}
CNN = CnnConfig(widths=(8, 12))
ENCODERS = [
    CNN,
    CnnConfig(widths=(6,), residual_blocks=2),
    VitConfig(**STACK),
    VitConfig(**STACK, stem_blocks=1),
    VitConfig(**STACK, stem="patch", pooling="token", positions="rotary"),
    VitConfig(**STACK, stem="patch", pooling="token"),
    VitConfig(**STACK, pooling="token", dropout=0.1, activation="swiglu"),
    VitConfig(**STACK, patch_size=8, dropout=0.1),
    MlpConfig(d_model=20, num_layers=3, dropout=0.0),
]
DECODERS = [
    RecurrentCaptionerConfig(d_model=16),
    RecurrentCaptionerConfig(d_model=16, attention="none", cell="gru", num_layers=2),
    RecurrentCaptionerConfig(d_model=16, cell="rnn", num_layers=2, dropout=0.0),
    TransformerCaptionerConfig(**STACK),
    TransformerCaptionerConfig(**STACK, activation="swiglu", dropout=0.0),
]
READERS = [
    BagConfig(d_model=16),
    BertConfig(**STACK),
    GPTConfig(**STACK),
    ReaderConfig(d_model=16, cell="gru"),  # PyTorch does not count what is inside of an LSTM
]
SPACE = SharedSpaceConfig(width=12)


def pixels() -> torch.Tensor:
    values = torch.randint(0, 256, (IMAGES, SHAPE.height, SHAPE.width, 3), dtype=torch.uint8)
    return values.permute(0, 3, 1, 2)


def ids() -> torch.Tensor:
    return torch.randint(4, VOCABULARY, (IMAGES, LENGTH))


@contextmanager
def counting() -> Iterator[FlopCounterMode]:
    with sdpa_kernel(SDPBackend.MATH), FlopCounterMode(display=False) as counter:
        yield counter


@contextmanager
def keeping(model: torch.nn.Module) -> Iterator[dict[int, int]]:
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


def flops(parts: list[Part]) -> float:
    return sum(part.flops + part.loss_flops for part in parts)


def kept_bytes(parts: list[Part]) -> float:
    return sum(part.kept_bytes for part in parts)


@pytest.mark.parametrize("config", ENCODERS, ids=lambda config: config.summary())
def test_the_work_of_an_encoder_is_what_pytorch_counts(config: Any) -> None:
    model = ImageLabeller(config, SHAPE, LABELS)
    with counting() as counter:
        model(pixels()).sum().backward()
    part = encoder_part(config, SHAPE, IMAGES, mixed=False, labels=LABELS)
    assert flops([part]) == counter.get_total_flops()


@pytest.mark.parametrize("config", ENCODERS, ids=lambda config: config.summary())
def test_an_encoder_keeps_what_the_formula_says(config: Any) -> None:
    model = ImageLabeller(config, SHAPE, LABELS).train()
    with keeping(model) as kept:
        objectives.image_label(model, ImageBatch(pixels(), torch.zeros(IMAGES, dtype=torch.long)))
    told = encoder_part(config, SHAPE, IMAGES, mixed=False, labels=LABELS).kept_bytes
    assert told == pytest.approx(sum(kept.values()), rel=0.05)


@pytest.mark.parametrize("config", [*ENCODERS, Lite0Config()], ids=lambda config: config.summary())
def test_the_grid_is_as_large_as_that_of_the_encoder(config: Any) -> None:
    rows, columns = build_encoder(config, SHAPE).grid
    assert cells(config, SHAPE) == rows * columns


def test_the_last_block_makes_patches_if_the_grid_is_read() -> None:
    config = VitConfig(**STACK, pooling="token")
    model = build_encoder(config, SHAPE).train()
    with counting() as counter:
        found = model(pixels())
        (found.grid.sum() + found.whole.sum()).backward()
    part = encoder_part(config, SHAPE, IMAGES, mixed=False, grid=True)
    assert flops([part]) == counter.get_total_flops()
    assert encoder_part(config, SHAPE, IMAGES, mixed=False).flops < part.flops


def test_a_frozen_encoder_is_only_read_forward() -> None:
    frozen, learned = Lite0Config(input_size=64), Lite0Config(input_size=64, frozen=False)
    model = build_encoder(frozen, SHAPE)
    with counting() as counter:
        model(pixels())
    part = encoder_part(frozen, SHAPE, IMAGES, mixed=False)
    assert (part.flops, part.kept_bytes) == (counter.get_total_flops(), 0)
    # PyTorch counts too much of the backward pass where channels have a filter each.
    assert encoder_part(learned, SHAPE, IMAGES, mixed=False).flops < 3 * part.flops
    model = build_encoder(learned, SHAPE).train()
    with keeping(model) as kept:
        model(pixels())
    told = encoder_part(learned, SHAPE, IMAGES, mixed=False).kept_bytes
    assert told == pytest.approx(sum(kept.values()), rel=0.1)


def captions(images: torch.Tensor) -> CaptionBatch:
    return CaptionBatch(images, ids(), ids(), torch.ones(IMAGES, LENGTH, dtype=torch.bool))


@pytest.mark.parametrize("encoded", [False, True])
@pytest.mark.parametrize("config", DECODERS, ids=lambda config: config.summary())
def test_a_captioner_works_and_keeps_about_what_the_rule_says(config: Any, encoded: bool) -> None:
    model = Captioner(CNN, config, SHAPE, VOCABULARY).train()
    images = model.encoder(pixels()).grid.detach() if encoded else pixels()
    with counting() as counter:
        model(images, ids()).sum().backward()
    with keeping(model) as kept:
        objectives.caption(model, captions(images))
    made_already = 4 * model.output.weight.numel()  # a gradient
    work = Work(IMAGES, IMAGES * LENGTH, 1, LENGTH)
    parts = captioner_parts(CNN, config, SHAPE, VOCABULARY, work, mixed=False, encoded=encoded)
    assert flops(parts) == pytest.approx(counter.get_total_flops(), rel=0.08)
    assert kept_bytes(parts) == pytest.approx(sum(kept.values()) - made_already, rel=0.25)


def pairs() -> MatchingBatch:
    mask = torch.ones(IMAGES, LENGTH, dtype=torch.bool)
    return MatchingBatch(pixels(), ids(), mask, torch.arange(2 * IMAGES).reshape(IMAGES, 2))


@pytest.mark.parametrize("encoded", [False, True])
@pytest.mark.parametrize("text", READERS, ids=lambda config: config.summary())
def test_a_matcher_works_and_keeps_about_what_the_rule_says(text: Any, encoded: bool) -> None:
    model, batch = Clip(CNN, text, SPACE, SHAPE, VOCABULARY).train(), pairs()
    if encoded:
        batch = batch._replace(images=model.encoder(batch.images).whole.detach())
    work = Work(IMAGES * LENGTH, IMAGES * LENGTH, LENGTH, LENGTH)
    parts = clip_parts(CNN, text, SPACE, SHAPE, work, mixed=False, encoded=encoded)
    with keeping(model) as kept, counting() as counter:
        objectives.matching(model, batch).total.backward()
    assert flops(parts) == pytest.approx(counter.get_total_flops(), rel=0.08)
    assert kept_bytes(parts) == pytest.approx(sum(kept.values()), rel=0.25)
