"""Frozen encoders: what they make of a run's images is computed once, before training."""

from collections.abc import Generator
from typing import TYPE_CHECKING, Any, Literal

import numpy as np
from numpy.typing import NDArray

from regard.configs.image import ImageShape
from regard.configs.lite0 import Lite0Config
from regard.reporter import Reporter
from regard.run import Run
from regard.tasks.image_sections import AugmentationSection
from regard.training.events import Event
from regard.training.progress import reported

if TYPE_CHECKING:
    from torch import Tensor

    from regard.data.batches import Indices
    from regard.data.image_batches import LabelledFeatures, LabelledImages
    from regard.data.image_features import ImageFeatures

# The encoders that `--from` takes, whatever the section that they are of.
PRETRAINED = ("lite0",)
# Changes of images that an encoder would have to see again in each update.
FRESH = frozenset({"shift", "cut_out", "cut_mix", "brightness"})


def once(encoder: Any, changes: AugmentationSection) -> bool:
    """Whether an encoder sees each image, and its mirror image, only once."""
    fresh = any(value for name, value in changes.model_dump().items() if name in FRESH)
    return isinstance(encoder, Lite0Config) and encoder.frozen and not fresh


def check_weights(encoder: Any) -> None:
    """Refuse an encoder whose weights are not installed before any image is read."""
    if isinstance(encoder, Lite0Config):
        from regard.models.lite0_weights import read_weights

        read_weights()


def features(
    run: Run,
    encoder: Lite0Config,
    images: "tuple[NDArray[np.uint8], Indices]",
    name: str,
    part: Literal["grid", "whole"],
    mirrored: bool,
) -> "Generator[Event, None, ImageFeatures]":
    """What the encoder makes of some rows of images [N, H, W, C], in a file of the run's data."""
    import torch

    from regard.data.image_features import computed
    from regard.models.images import build_encoder

    pixels, rows = images
    model = build_encoder(encoder, ImageShape(*pixels.shape[1:]))
    model.initialise(torch.zeros(0))
    model.eval()

    def encode(images: "Tensor") -> "Tensor":
        found: Tensor = getattr(model(images), part)
        return found

    def work(reporter: Reporter) -> "ImageFeatures":
        path = run.training / "data" / f"{name}.features"
        return computed(pixels, rows, encode, path, mirrored, reporter)

    return (yield from reported(f"Encoding the images with {encoder.kind} ({name})", work))


def labelled(
    run: Run, encoder: Lite0Config, images: "LabelledImages", name: str, mirrored: bool = False
) -> "Generator[Event, None, LabelledFeatures]":
    """Images with labels, as the encoder sees them."""
    from regard.data.image_batches import LabelledFeatures

    chosen = images.pixels, images.rows
    found = yield from features(run, encoder, chosen, name, "whole", mirrored)
    return LabelledFeatures(found, images.labels, images.names)
