"""What must hold of every encoder of images, and of the classifier on top of it."""

from typing import Any

import pytest
import torch
from pydantic import ValidationError
from torch import Tensor, nn
from torch.testing import assert_close

from regard import weights
from regard.models.image_labeller import ImageLabeller
from regard.models.images import (
    CnnConfig,
    ImageConfig,
    ImageShape,
    Lite0Config,
    MlpConfig,
    VitConfig,
    build_encoder,
)

SMALL: dict[str, Any] = {"num_layers": 2, "d_model": 16, "d_ff": 24, "num_heads": 2}
CONFIGS = [
    VitConfig(**SMALL),
    VitConfig(**SMALL, stem_blocks=2),
    VitConfig(**SMALL, stem="patch", pooling="token", positions="rotary"),
    VitConfig(**SMALL, stem="patch", patch_size=6, positions="sinusoidal", pooling="token"),
    CnnConfig(widths=(8, 12)),
    MlpConfig(d_model=10),
    Lite0Config(input_size=32, frozen=False),
]
each_encoder = pytest.mark.parametrize("config", CONFIGS, ids=lambda config: config.summary())
SHAPES = [ImageShape(12, 24, 3), ImageShape(24, 12, 1)]


def pixels(count: int, shape: ImageShape, seed: int = 0) -> Tensor:
    """Images as data gives them: channels last in memory."""
    generator = torch.Generator().manual_seed(seed)
    size = (count, shape.height, shape.width, shape.channels)
    return torch.randint(0, 256, size, dtype=torch.uint8, generator=generator).permute(0, 3, 1, 2)


def classifier(config: ImageConfig, shape: ImageShape = SHAPES[0]) -> ImageLabeller:
    """A model that has seen a batch, in float64, with all weights drawn."""
    torch.manual_seed(5)
    model = ImageLabeller(config, shape, labels=7)
    if isinstance(config, Lite0Config):
        for layer in model.modules():
            if isinstance(layer, nn.Conv2d):  # so that images still differ in the last layer
                nn.init.kaiming_normal_(layer.weight)
    else:
        model.initialise(pixels(40, shape, seed=9))
    for norm in model.modules():
        if isinstance(norm, nn.BatchNorm2d):
            nn.init.uniform_(norm.running_mean, -0.5, 0.5)
            nn.init.uniform_(norm.running_var, 0.5, 2)
    return model.double().eval()


@pytest.mark.parametrize("shape", SHAPES, ids=str)
@each_encoder
@torch.no_grad()
def test_a_grid_and_a_whole(config: ImageConfig, shape: ImageShape) -> None:
    encoder = classifier(config, shape).encoder
    grid, whole = encoder(pixels(3, shape))
    assert encoder.d_model == config.d_model
    assert grid.shape == (3, encoder.grid[0] * encoder.grid[1], encoder.d_model)
    assert whole.shape == (3, encoder.d_model)
    assert classifier(config, shape)(pixels(3, shape)).shape == (3, 7)


@each_encoder
@torch.no_grad()
def test_a_row_alone_is_the_row_in_a_batch(config: ImageConfig) -> None:
    model, images = classifier(config), pixels(4, SHAPES[0])
    together = model(images)
    assert not torch.isclose(together[0], together[1]).all()
    for row in range(4):
        assert_close(model(images[row : row + 1])[0], together[row], atol=1e-12, rtol=0)
    order = [2, 0, 3, 1]
    assert_close(model(images[order]), together[order], atol=1e-12, rtol=0)


@each_encoder
@torch.no_grad()
def test_types_and_layouts_of_images_give_the_same(config: ImageConfig) -> None:
    model, images = classifier(config), pixels(2, SHAPES[0])
    expected = model(images)
    for same in (images.contiguous(), images.double(), images.float()):
        assert_close(model(same), expected, atol=1e-12, rtol=0)


@each_encoder
def test_every_parameter_learns_but_the_whitening(config: ImageConfig) -> None:
    model = classifier(config).train()
    model(pixels(6, SHAPES[0])).square().sum().backward()
    for name, parameter in model.named_parameters():
        if name == "encoder.whiten.weight":
            assert not parameter.requires_grad
        else:
            assert parameter.grad is not None, name
            assert parameter.grad.any(), name


@each_encoder
@torch.no_grad()
def test_saved_weights_hold_all_that_was_measured_on_the_data(config: ImageConfig) -> None:
    model, images = classifier(config), pixels(2, SHAPES[0])
    torch.manual_seed(6)
    other = ImageLabeller(config, SHAPES[0], labels=7).double().eval()
    assert not torch.isclose(other(images), model(images)).all()
    weights.load_weights(other, weights.weights(model), "weights")
    assert torch.equal(other(images), model(images))
    assert {"encoder.standardise.mean", "encoder.standardise.std"} <= weights.kept(model).keys()


@each_encoder
def test_a_model_can_be_built_without_memory(config: ImageConfig) -> None:
    with torch.device("meta"), weights.ShapesOnly():
        empty = ImageLabeller(config, SHAPES[0], labels=7)
    found = {name: tensor.shape for name, tensor in weights.kept(empty).items()}
    assert found == {name: each.shape for name, each in weights.kept(classifier(config)).items()}
    assert all(tensor.is_meta for tensor in weights.kept(empty).values())


@pytest.mark.parametrize("channels", [1, 3])
@torch.no_grad()
def test_whitened_patches_are_uncorrelated(channels: int) -> None:
    shape = ImageShape(16, 16, channels)
    # Neighbouring pixels are alike, as in photographs.
    images = nn.functional.avg_pool2d(pixels(200, shape).double(), 3, 1, padding=1)
    cnn = build_encoder(CnnConfig(widths=(4,)), shape).double()
    cnn.initialise(images)
    outputs = cnn.whiten(cnn.standardise(images))[:, : 4 * channels]
    covariance = outputs.transpose(0, 1).flatten(1).cov()
    assert_close(covariance, torch.eye(4 * channels).double(), atol=0.02, rtol=0)


def test_sizes_that_do_not_fit_are_refused() -> None:
    with pytest.raises(ValueError, match="patch_size 5 does not divide images of 12 × 24"):
        build_encoder(VitConfig(stem="patch", patch_size=5), SHAPES[0])
    with pytest.raises(ValueError, match="4 stages halve images of 12 × 24 pixels until"):
        build_encoder(CnnConfig(widths=(4, 4, 4, 4)), SHAPES[0])
    with pytest.raises(ValidationError, match=r"2, 4, 8 …, it is 6"):
        VitConfig(patch_size=6)
    with pytest.raises(ValidationError, match="stem_blocks has to be 0, it is 1"):
        VitConfig(stem="patch", stem_blocks=1)
    with pytest.raises(ValidationError, match="not a multiple"):
        VitConfig(d_model=64, num_heads=3)
    with pytest.raises(ValidationError, match="heads of a width that 4 divides, it is 6"):
        VitConfig(d_model=12, num_heads=2, positions="rotary")
    with pytest.raises(ValidationError, match="a d_model that 4 divides, it is 6"):
        VitConfig(d_model=6, num_heads=2, positions="sinusoidal")
