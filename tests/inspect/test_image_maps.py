"""What a classifier of images looks at, against formulas written out and cases that are known."""

import math
from typing import Any

import numpy as np
import pytest
import torch
from torch import Tensor

from regard.configs.cnn import CnnConfig
from regard.configs.image import ImageShape
from regard.configs.mlp import MlpConfig
from regard.configs.vit import VitConfig
from regard.errors import RequestError
from regard.inspect.heads.heads import heads_off
from regard.inspect.images.attention import patch_attention
from regard.inspect.images.hiding import agreement, ranks, with_hidden
from regard.inspect.images.maps import image_maps
from regard.inspect.images.positions import position_similarity
from regard.layers.attention import MultiHeadAttention
from regard.models.image_labeller import ImageLabeller
from regard.tasks.image_classification import ImageClassifier
from regard.tasks.image_inputs import ImageReader

SHAPE = ImageShape(8, 8, 3)
LABELS = ["cat", "dog", "owl"]
VIT = {"num_layers": 2, "d_model": 16, "d_ff": 16, "num_heads": 2, "patch_size": 2}


def labeller(config: Any, seed: int = 1) -> ImageLabeller:
    torch.manual_seed(seed)
    model = ImageLabeller(config, SHAPE, len(LABELS)).eval()
    with torch.no_grad():
        for each in model.parameters():
            if each.requires_grad:
                each.copy_(each + 0.2 * torch.randn_like(each))
    return model


def classifier(config: Any) -> ImageClassifier:
    return ImageClassifier(labeller(config), LABELS, ImageReader(8, 3, "crop"), temperature=2.0)


def photo(seed: int = 0) -> np.ndarray[Any, Any]:
    return np.random.default_rng(seed).integers(0, 256, (8, 8, 3), np.uint8)


def looked(model: ImageLabeller, image: Tensor, label: int) -> Any:
    grid = model.encoder.grid
    return patch_attention(model, lambda: model(image)[0, label], grid)


@pytest.mark.parametrize("pooling", ["token", "mean"])
def test_gradients_of_weights_are_those_of_the_formula(
    pooling: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The model computes no weights that could have gradients, so a model that does is written
    here, with the plain formula.
    """
    model = labeller(VitConfig(**VIT, pooling=pooling)).double()
    image = torch.rand(1, 3, 8, 8, dtype=torch.float64) * 255
    found = looked(model, image, 1)
    kept: list[Tensor] = []

    def attend(self: Any, query: Tensor, memory: Any, mask: Any, causal: bool = False) -> Tensor:
        scores = query @ memory.keys.transpose(-2, -1) / math.sqrt(query.size(-1))
        weights = scores.softmax(-1)
        kept.append(weights)
        heads = weights @ memory.values
        return self.out_projection(heads.transpose(1, 2).flatten(2))  # type: ignore[no-any-return]

    monkeypatch.setattr(MultiHeadAttention, "attend", attend)
    gradients = torch.autograd.grad(model(image)[0, 1], kept)
    for own, weights, other, gradient in zip(
        found.weights, kept, found.gradients, gradients, strict=True
    ):
        assert torch.allclose(own, weights[0].detach())
        assert torch.allclose(other, gradient[0])


@pytest.mark.parametrize("pooling", ["token", "mean"])
def test_maps_of_attention_are_shares(pooling: str) -> None:
    model = labeller(VitConfig(**VIT, pooling=pooling)).double()
    found = looked(model, torch.rand(1, 3, 8, 8, dtype=torch.float64) * 255, 0)
    own = 0.0 if pooling == "mean" else 1.0
    for layer, weights in zip(found.heads(), found.weights, strict=True):
        assert layer.shape == (2, 4, 4)
        first = weights[:, 0, 0] if own else torch.zeros(2)
        assert torch.allclose(layer.sum((1, 2)), 1 - first.double())
    a, b = ((each.mean(0) + torch.eye(each.size(-1))) / 2 for each in found.weights)
    rolled = b @ a
    row = rolled[0, 1:] if own else rolled.mean(0)
    assert torch.allclose(found.rollout().flatten(), row)
    assert (found.gradient() >= 0).all()


def test_a_pass_that_is_looked_at_is_the_usual_one_and_leaves_nothing_behind() -> None:
    asked = classifier(VitConfig(**VIT))
    before = asked.probabilities(photo()[None])
    found = asked.maps(photo(), "dog")
    assert torch.equal(asked.probabilities(photo()[None]), before)
    assert found.label == "dog"
    assert found.probability == pytest.approx(float(before[0, 1]))
    assert list(found.probabilities.values()) == sorted(found.probabilities.values(), reverse=True)
    assert all(each.grad is None for each in asked.model.parameters())


def test_labels_have_their_own_gradients_and_share_the_rollout() -> None:
    asked = classifier(VitConfig(**VIT))
    cat, dog = (asked.maps(photo(), label) for label in ("cat", "dog"))
    assert np.array_equal(cat.maps["rollout"], dog.maps["rollout"])
    assert not np.allclose(*(each.maps["gradient × attention"] for each in (cat, dog)))
    with pytest.raises(RequestError, match="no such label; it knows cat, dog, owl"):
        asked.maps(photo(), "cow")


@pytest.mark.parametrize(
    ("config", "names", "grid"),
    [
        (VitConfig(**VIT), ["rollout", "gradient × attention"], (4, 4)),
        (CnnConfig(widths=[8, 8]), ["Grad-CAM"], (8, 8)),
        (MlpConfig(d_model=8), [], (8, 8)),
    ],
    ids=["vit", "cnn", "mlp"],
)
def test_hiding_a_patch_changes_what_is_said_by_what_the_map_says(
    config: Any, names: list[str], grid: tuple[int, int]
) -> None:
    asked = classifier(config)
    found = asked.maps(photo())
    assert list(found.maps) == list(found.agreement) == names
    assert found.hidden.shape == grid
    assert all((each >= 0).all() and np.isfinite(each).all() for each in found.maps.values())
    patch = int(np.abs(found.hidden).argmax())
    without = image_maps(asked, photo(), found.label, without=[patch])
    fall = found.probability - without.probabilities[found.label]
    assert fall == pytest.approx(float(found.hidden.flat[patch]), abs=1e-6)
    # What is hidden already changes nothing more.
    assert without.hidden.flat[patch] == pytest.approx(0, abs=1e-6)
    with pytest.raises(RequestError, match="has patches 0 to"):
        image_maps(asked, photo(), without=[grid[0] * grid[1]])


def test_grad_cam_of_a_sum_of_places_is_what_each_adds() -> None:
    """If a logit is the sum over places of a weight times a channel, the map is that product."""
    from regard.inspect.images.grad_cam import grad_cam

    class Stack(torch.nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.stages = torch.nn.ModuleList([torch.nn.Identity()])

        def forward(self, x: Tensor) -> Tensor:
            return self.stages[0](x)  # type: ignore[no-any-return]

    encoder, worth = Stack(), torch.tensor([2.0, -1.0])
    features = torch.rand(1, 2, 6, 6, requires_grad=True)
    found = grad_cam(encoder, lambda: (encoder(features) * worth[:, None, None]).sum())
    expected = (features[0] * worth[:, None, None]).sum(0).clamp(min=0)
    assert found is not None
    assert torch.allclose(found, expected.detach())


def test_only_the_hidden_patches_change() -> None:
    image, colour = photo(), np.array([1, 2, 3], np.uint8)
    hidden = with_hidden(image, (4, 4), [5, 15], colour)
    changed = (hidden != image).any(-1)
    assert changed[2:4, 2:4].any()
    assert (hidden[6:8, 6:8] == colour).all()
    changed[2:4, 2:4] = changed[6:8, 6:8] = False
    assert not changed.any()
    # Patches of unequal size still cover the image.
    everything = with_hidden(image, (3, 3), range(9), colour)
    assert (everything == colour).all()


def test_agreement_is_the_correlation_of_ranks() -> None:
    values = torch.rand(4, 4)
    assert agreement(values, values.exp()) == pytest.approx(1)
    assert agreement(values, -values) == pytest.approx(-1)
    assert agreement(torch.ones(4, 4), values) == 0
    assert ranks(torch.tensor([3.0, 1.0, 3.0, 2.0])).tolist() == [3.5, 1.0, 3.5, 2.0]
    coarse = torch.tensor([[0.0, 1.0], [2.0, 3.0]])
    assert agreement(coarse, torch.arange(16.0).view(4, 4)) > 0.9


@pytest.mark.parametrize("positions", ["learned", "sinusoidal", "rotary"])
def test_positions_are_most_like_themselves_and_their_neighbours(positions: str) -> None:
    torch.manual_seed(1)
    config = VitConfig(**VIT, positions=positions, pooling="token")
    found = position_similarity(ImageLabeller(config, SHAPE, 3).encoder)
    assert found is not None
    assert found.shape == (4, 4, 4, 4)
    assert torch.allclose(found.view(16, 16).diagonal(), torch.ones(16), atol=1e-5)
    assert found[0, 0, 0, 1] > found[0, 0, 3, 3]
    assert position_similarity(ImageLabeller(MlpConfig(d_model=8), SHAPE, 3).encoder) is None


def test_a_head_that_is_switched_off_has_no_gradient() -> None:
    asked = classifier(VitConfig(**VIT))
    with heads_off(asked.model, ["encoder.0.1"]):
        image = torch.rand(1, 3, 8, 8) * 255
        found = looked(asked.model, image, 0)
        changed = asked.probabilities(photo()[None])
    assert not found.gradients[0][1].any()
    assert found.gradients[0][0].any()
    assert not torch.allclose(changed, asked.probabilities(photo()[None]))


def test_a_head_that_is_not_there_is_named() -> None:
    found = classifier(VitConfig(**VIT)).maps(photo())
    assert found.head(1).shape == found.head(1, 1).shape == (4, 4)
    with pytest.raises(RequestError, match="layers 0 to 1"):
        found.head(2)
    with pytest.raises(RequestError, match="heads 0 to 1"):
        found.head(1, 2)
    with pytest.raises(RequestError, match="no attention heads"):
        classifier(CnnConfig(widths=[8, 8])).maps(photo()).head(0)
