"""Chooses the size of images, the model and the changes of images that fit the data."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from regard.tasks.suggestions import paces
from regard.tasks.task import Reason, Section, Suggestion

MODEL = ("model.kind", "model.widths", "model.num_layers", "model.d_model")
LENGTH = ("train.steps", "train.batch_size", "train.patience")


@dataclass(frozen=True)
class ImageFacts:
    """What a look at the images has found."""

    count: int
    side: int  # the shorter one of a typical image, in pixels
    grey: bool
    # Letters and digits mean something else when they are mirrored.
    are_signs: bool = False


def image_size(facts: ImageFacts, kind: str) -> int:
    """The side of the square that a model sees: small images as they are, a multiple of 4; large
    ones at a size that a processor can learn from, or that a pretrained encoder takes.
    """
    most = lite0_size(facts) if kind == "lite0" else 64
    return max(8, min(facts.side // 4 * 4, most))


def lite0_size(facts: ImageFacts) -> int:
    """As it was trained, unless that would take too long: three times as long as 128 pixels."""
    return 128 if is_large(facts) else 224


def augmentation(facts: ImageFacts, size: int, kind: str) -> tuple[Section, Reason]:
    about = ("augmentation.shift", "augmentation.flip")
    mirrored = not facts.are_signs
    if kind == "lite0":
        words = "each image is encoded once" + ", and mirrored once" * mirrored
        return {"shift": 0, "flip": mirrored}, Reason(words, about)
    shift = max(1, size // 8)
    words = f"moved by up to {shift} pixels" + " and mirrored" * mirrored
    words += " at random, so that it never sees the same image twice"
    return {"shift": shift, "flip": mirrored}, Reason(words, about)


def suggest_classifier(
    facts: ImageFacts, labels: int, data: Section, asked: Mapping[str, Any]
) -> Suggestion:
    kind = asked.get("kind", "cnn")
    size = data.get("image_size") or image_size(facts, kind)
    changes, changed = augmentation(facts, size, kind)
    model, train, passes, shape = MODELS.get(kind, cnn)(facts, size)
    batch = 256 if is_large(facts) and kind == "cnn" else 128 if facts.count >= 2000 else 32
    steps = max(200, min(round(passes * facts.count / batch), 100_000))
    every = max(25, steps // 15)
    values = {
        "data": {"image_size": size, "channels": 1 if facts.grey else 3, **data},
        "augmentation": changes,
        "model": {"kind": kind, **model},
        "train": {
            **paces(steps, min(200, max(10, steps // 10)), every),
            "batch_size": batch,
            "metric": "accuracy",
            "average": 1,
            "patience": 6,
            **train,
        },
    }
    colours = "shades of grey" if facts.grey else "colours"
    reasons = [
        Reason(f"{facts.count:,} images of about {facts.side} pixels, {labels:,} labels: so"),
        Reason(
            f"images of {size} × {size} pixels in {colours}",
            ("data.image_size", "data.channels"),
        ),
        shape,
        changed,
        Reason(
            f"{steps:,} updates of {batch} images, {passes} passes at most: fewer when validation "
            "stops getting better",
            LENGTH,
        ),
    ]
    return Suggestion(values, reasons)


def is_large(facts: ImageFacts) -> bool:
    return facts.count >= 20_000


def cnn(facts: ImageFacts, size: int) -> tuple[Section, Section, int, Reason]:
    widths = [64, 128, 256] if is_large(facts) else [32, 64, 128]
    if size > 48:
        widths = [widths[0], *widths]
    passes = 12 if is_large(facts) else 40
    words = ", ".join(map(str, widths))
    shape = f"a residual CNN with stages of {words} channels: it needs the least data"
    return (
        {"widths": widths, "residual_blocks": 1},
        {
            "optimizer": "adamw",
            "learning_rate": 1e-2 if is_large(facts) else 5e-3,
            "adam_betas": [0.9, 0.99],
            "weight_decay": 0.05,
        },
        passes,
        Reason(shape, MODEL),
    )


def vit(facts: ImageFacts, size: int) -> tuple[Section, Section, int, Reason]:
    patch = 4 if size <= 48 else 8
    layers, width = 4, 128
    shape = (
        f"a Vision Transformer, {layers} layers of width {width}, patches of {patch} pixels made "
        "by convolutions, which learn more from few images"
    )
    model = {
        "num_layers": layers,
        "d_model": width,
        "d_ff": 2 * width,
        "num_heads": width // 32,
        "patch_size": patch,
    }
    train = {
        "optimizer": "adamw",
        "learning_rate": 2e-3,
        "weight_decay": 0.05,
    }
    return model, train, 30 if is_large(facts) else 40, Reason(shape, MODEL)


def mlp(facts: ImageFacts, size: int) -> tuple[Section, Section, int, Reason]:
    shape = "two layers of 512 that know nothing of rows and columns: the simplest network"
    train = {"optimizer": "adamw", "learning_rate": 1e-3, "weight_decay": 0.01}
    return {}, train, 30, Reason(shape, MODEL)


def lite0(facts: ImageFacts, size: int) -> tuple[Section, Section, int, Reason]:
    shape = "EfficientNet-Lite0 as its authors trained it; only what turns it into labels learns"
    train = {"optimizer": "adamw", "learning_rate": 3e-3, "weight_decay": 0.01}
    return {"input_size": lite0_size(facts)}, train, 30, Reason(shape, MODEL)


MODELS = {"cnn": cnn, "vit": vit, "mlp": mlp, "lite0": lite0}
