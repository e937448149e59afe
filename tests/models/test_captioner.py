"""What must hold of a captioner, whatever its parts: causality, padding, steps, rows."""

from typing import Any

import pytest
import torch
from torch import Tensor

from regard.configs.captioner import RecurrentCaptionerConfig, TransformerCaptionerConfig
from regard.configs.cnn import CnnConfig
from regard.configs.image import ImageShape
from regard.configs.lite0 import Lite0Config
from regard.configs.vit import VitConfig
from regard.data.caption_batches import CaptionBatch
from regard.decode.outputs import outputs
from regard.decode.search import Search
from regard.models.captioner import Captioner
from regard.objectives import caption
from regard.text.tokenizer import Specials

VOCABULARY, START, END = 30, 2, 3
SHAPE = ImageShape(16, 16, 3)
CNN = CnnConfig(widths=(8, 8))
VIT = VitConfig(patch_size=8, num_layers=1, d_model=16, d_ff=16, num_heads=2)
DECODERS = {
    "lstm": RecurrentCaptionerConfig(d_model=16, num_layers=2),
    "gru": RecurrentCaptionerConfig(cell="gru", d_model=16, tied_embeddings=False),
    "whole": RecurrentCaptionerConfig(d_model=16, attention="none"),
    "transformer": TransformerCaptionerConfig(d_model=16, d_ff=24, num_heads=2, num_layers=2),
}
each_decoder = pytest.mark.parametrize("decoder", DECODERS)


def made(decoder: str, encoder: Any = CNN) -> Captioner:
    torch.manual_seed(5)
    model = Captioner(encoder, DECODERS[decoder], SHAPE, VOCABULARY)
    model.initialise(pixels(20))
    return model.double().eval()


def pixels(count: int) -> Tensor:
    generator = torch.Generator().manual_seed(7)
    return torch.randint(0, 256, (count, 3, 16, 16), generator=generator).to(torch.uint8)


def tokens(rows: int, length: int) -> Tensor:
    generator = torch.Generator().manual_seed(3)
    found = torch.randint(4, VOCABULARY, (rows, length), generator=generator)
    found[:, 0] = START
    return found


@pytest.mark.parametrize("encoder", [CNN, VIT], ids=["cnn", "vit"])
@each_decoder
@torch.no_grad()
def test_steps_give_the_logits_of_the_whole(decoder: str, encoder: Any) -> None:
    model, images, target = made(decoder, encoder), pixels(3), tokens(3, 20)
    whole = model(images, target)
    state = model.start(images)
    for place in range(20):
        logits, state = model.step(target[:, place], state)
        torch.testing.assert_close(logits, whole[:, place])


@each_decoder
@torch.no_grad()
def test_a_later_token_changes_no_earlier_logit(decoder: str) -> None:
    model, images, target = made(decoder), pixels(2), tokens(2, 12)
    changed = target.clone()
    changed[:, 7:] = (target[:, 7:] + 3) % VOCABULARY
    before, after = model(images, target), model(images, changed)
    assert torch.equal(before[:, :7], after[:, :7])
    assert not torch.equal(before[:, 7], after[:, 7])


@each_decoder
@torch.no_grad()
def test_padding_changes_no_loss(decoder: str) -> None:
    model, images = made(decoder), pixels(2)
    target, labels = tokens(2, 9), tokens(2, 9).roll(1, 1)
    mask = torch.ones(2, 9, dtype=torch.bool)
    mask[1, 5:] = False
    together = caption(model, CaptionBatch(images, target, labels, mask))
    alone = [
        caption(
            model,
            CaptionBatch(
                images[i : i + 1],
                target[i : i + 1, :length],
                labels[i : i + 1, :length],
                mask[i : i + 1, :length],
            ),
        )
        for i, length in ((0, 9), (1, 5))
    ]
    assert together.count == sum(each.count for each in alone) == 14
    torch.testing.assert_close(together.total, alone[0].total + alone[1].total)


def found(model: Captioner, images: Tensor, search: Search) -> list[list[Any]]:
    limits = torch.full((len(images),), 12)
    with torch.inference_mode():
        return outputs(model.step, model.start(images), limits, search, Specials())


@each_decoder
def test_an_image_alone_is_described_as_among_others(decoder: str) -> None:
    model, images = made(decoder), pixels(5)
    together = found(model, images, Search(beam_size=4, n_best=2))
    for number in range(5):
        alone = found(model, images[number : number + 1], Search(beam_size=4, n_best=2))
        assert [each.tokens for each in alone[0]] == [each.tokens for each in together[number]]


@each_decoder
def test_a_beam_of_one_is_greedy(decoder: str) -> None:
    model, images = made(decoder), pixels(4)
    greedy = found(model, images, Search(beam_size=1))
    one = found(model, images, Search(temperature=0.001))
    assert [each[0].tokens for each in greedy] == [each[0].tokens for each in one]
    wide = found(model, images, Search(beam_size=12, length_penalty=0))
    scores = found(model, images, Search(beam_size=1, length_penalty=0))
    for best, plain in zip(wide, scores, strict=True):
        assert best[0].score >= plain[0].score - 1e-9


@pytest.mark.parametrize(("decoder", "part"), [("lstm", "grid"), ("whole", "whole")])
@torch.no_grad()
def test_what_a_frozen_encoder_has_made_stands_for_the_images(decoder: str, part: str) -> None:
    torch.manual_seed(5)
    model = Captioner(Lite0Config(input_size=64), DECODERS[decoder], SHAPE, VOCABULARY)
    model = model.double().eval()
    images, target = pixels(2), tokens(2, 6)
    features = getattr(model.encoder(images), part)
    torch.testing.assert_close(model(features, target), model(images, target))


def test_a_frozen_encoder_stays_as_it_is_and_the_rest_learns() -> None:
    model = Captioner(Lite0Config(input_size=32), DECODERS["lstm"], SHAPE, VOCABULARY).train()
    before = {name: value.clone() for name, value in model.encoder.state_dict().items()}
    target = tokens(2, 6)
    mask = torch.ones_like(target, dtype=torch.bool)
    caption(model, CaptionBatch(pixels(2), target, target, mask)).total.backward()  # type: ignore[no-untyped-call]
    assert all(each.grad is None for each in model.encoder.parameters())
    assert all(each.grad is not None for each in model.decoder.parameters())
    for name, value in model.encoder.state_dict().items():
        assert torch.equal(value, before[name])
