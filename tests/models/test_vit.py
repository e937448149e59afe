"""A Vision Transformer: the same as Hugging Face's, and its attention can be recorded."""

from typing import Any

import pytest
import torch
from torch import Tensor
from torch.testing import assert_close
from transformers import ViTConfig as TheirConfig
from transformers import ViTForImageClassification

from regard.inspect.maps import recording
from regard.models.image_labeller import ImageLabeller
from regard.models.images import ImageShape, VitConfig

SHAPE = ImageShape(12, 24, 3)
SIZES: dict[str, Any] = {"num_layers": 2, "d_model": 16, "d_ff": 24, "num_heads": 4}


def vit(**choices: Any) -> ImageLabeller:
    torch.manual_seed(4)
    config = VitConfig(**{**SIZES, "stem": "patch", "pooling": "token", **choices})
    model = ImageLabeller(config, SHAPE, labels=5).double().eval()
    with torch.no_grad():
        for parameter in model.parameters():
            parameter.normal_(std=0.3)
    return model


def pixels(count: int) -> Tensor:
    generator = torch.Generator().manual_seed(0)
    return torch.randint(0, 256, (count, 3, 12, 24), dtype=torch.uint8, generator=generator)


def theirs(model: ImageLabeller) -> ViTForImageClassification:
    """Hugging Face's model with the weights of ours, which reads standardised pixels."""
    own = model.state_dict()
    config = TheirConfig(
        hidden_size=16,
        num_hidden_layers=2,
        num_attention_heads=4,
        intermediate_size=24,
        layer_norm_eps=1e-6,
        image_size=(12, 24),
        patch_size=4,
        num_labels=5,
    )
    other = ViTForImageClassification(config).double().eval()
    tensors: dict[str, Tensor] = {
        "vit.embeddings.cls_token": own["encoder.class_token"][None, None],
        "vit.embeddings.position_embeddings": own["encoder.positions"][None],
        **both(own, "encoder.stem.projection", "vit.embeddings.patch_embeddings.projection"),
        **both(own, "encoder.norm", "vit.layernorm"),
        **both(own, "output", "classifier"),
    }
    for layer in range(2):
        ours, their = f"encoder.encoder.{layer}", f"vit.layers.{layer}"
        tensors |= {
            **both(own, f"{ours}.self_attention_residual.normalise", f"{their}.layernorm_before"),
            **both(own, f"{ours}.self_attention.out_projection", f"{their}.attention.o_proj"),
            **both(own, f"{ours}.feed_forward_residual.normalise", f"{their}.layernorm_after"),
            **both(own, f"{ours}.feed_forward.inner", f"{their}.mlp.fc1"),
            **both(own, f"{ours}.feed_forward.outer", f"{their}.mlp.fc2"),
        }
        for kind in ("weight", "bias"):
            parts = own[f"{ours}.self_attention.in_projection.{kind}"].chunk(3)
            for part, tensor in zip("qkv", parts, strict=True):
                tensors[f"{their}.attention.{part}_proj.{kind}"] = tensor
    other.load_state_dict(tensors)
    return other


def both(own: dict[str, Tensor], ours: str, their: str) -> dict[str, Tensor]:
    return {f"{their}.{kind}": own[f"{ours}.{kind}"] for kind in ("weight", "bias")}


@torch.no_grad()
def test_it_computes_what_hugging_face_computes() -> None:
    model, images = vit(), pixels(3)
    expected = theirs(model)(pixel_values=model.encoder.standardise(images)).logits
    assert_close(model(images), expected, atol=1e-12, rtol=0)
    assert expected.std() > 0.1


@pytest.mark.parametrize("positions", ["learned", "sinusoidal", "rotary"])
@pytest.mark.parametrize("pooling", ["token", "mean"])
def test_training_computes_what_is_computed_otherwise(pooling: str, positions: str) -> None:
    model, images = vit(pooling=pooling, positions=positions), pixels(3)
    found = []
    for training in (True, False):
        logits = model.train(training)(images)
        gradients = torch.autograd.grad(logits.square().sum(), list(model.parameters()))
        assert all(gradient.any() for gradient in gradients)
        found.append((logits, *gradients))
    assert_close(*found, atol=1e-9, rtol=1e-9)


@pytest.mark.parametrize("pooling", ["token", "mean"])
@torch.no_grad()
def test_training_makes_patches_of_the_last_block_only_if_they_are_read(pooling: str) -> None:
    model, images = vit(pooling=pooling), pixels(2)
    seen = []
    model.encoder.encoder[-1].feed_forward.register_forward_hook(
        lambda _module, _given, made: seen.append(made.dim())
    )
    for training in (True, False):
        model.train(training)(images)
    assert seen == [2 if pooling == "token" else 3, 3]


@pytest.mark.parametrize("pooling", ["token", "mean"])
@torch.no_grad()
def test_recording_sees_every_layer_and_changes_nothing(pooling: str) -> None:
    model, images = vit(pooling=pooling), pixels(2)
    before = model(images)
    with recording(model) as weights:
        assert torch.equal(model(images), before)
    assert list(weights) == [f"encoder.encoder.{layer}.self_attention" for layer in range(2)]
    places = 3 * 6 + (pooling == "token")
    for (recorded,) in weights.values():
        assert recorded.shape == (2, 4, places, places)


@pytest.mark.parametrize("positions", ["learned", "sinusoidal", "rotary"])
@torch.no_grad()
def test_the_place_of_a_patch_counts(positions: str) -> None:
    """The mean over patches is the same for any order of them only where places are unknown."""
    model, images = vit(positions=positions, pooling="mean"), pixels(1)
    turned = images.roll(4, dims=3)
    assert not torch.isclose(model(images), model(turned)).all()
    encoder = model.encoder
    encoder.positions, encoder.rotation = None, None
    assert_close(model(images), model(turned), atol=1e-12, rtol=0)


def test_its_size_is_that_of_the_published_model() -> None:
    config = VitConfig(
        num_layers=12,
        d_model=768,
        d_ff=3072,
        num_heads=12,
        patch_size=16,
        stem="patch",
        pooling="token",
    )
    with torch.device("meta"):
        model = ImageLabeller(config, ImageShape(224, 224, 3), labels=1000)
    assert sum(parameter.numel() for parameter in model.parameters()) == 86_567_656
