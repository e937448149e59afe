"""Chooses the encoder, the decoder and the length of training that fit captioned images."""

from collections.abc import Mapping
from typing import Any

from regard.tasks.image_sizes import ImageFacts, augmentation, image_size, lite0_size
from regard.tasks.suggestions import LENGTH, PIECES, paces
from regard.tasks.task import Reason, Section, Suggestion

# Passes over many captions, and over few.
PASSES = (8, 16)
CHARACTERS_A_PIECE = 4.5


def suggest_captioner(
    facts: ImageFacts, images: int, captions: list[str], data: Section, asked: Mapping[str, Any]
) -> Suggestion:
    """What fits such images and these captions to learn from."""
    encoder = asked.get("encoder", {}).get("kind", "cnn")
    kind = asked.get("kind", "recurrent")
    size = data.get("image_size") or image_size(facts, encoder)
    changes, changed = augmentation(facts, size, encoder)
    count, many = len(captions), len(captions) >= 10_000
    batch, passes = (1024, PASSES[0]) if many else (512, PASSES[1])
    # With the piece that ends each caption.
    pieces = sum(map(len, captions)) / CHARACTERS_A_PIECE + count
    steps = max(200, round(passes * pieces / batch))
    every = max(25, steps // 12)
    vocabulary = 4000 if many else 1000
    width = asked.get("d_model") or (384 if many and kind == "recurrent" else 256)
    values = {
        "data": {"image_size": size, **data},
        "augmentation": changes,
        "tokenizer": {"kind": "bpe", "vocabulary_size": vocabulary, "lowercase": True},
        "encoder": {"kind": encoder, **encoder_sizes(encoder, size, facts)},
        "model": {"kind": kind, "d_model": width},
        "train": {
            **paces(steps, min(500, steps // 10), every),
            "batch_tokens": batch,
            "optimizer": "adamw",
            "learning_rate": 1.5e-3 if kind == "recurrent" else 5e-4,
            "weight_decay": 0.01,
            "metric": "cider",
            "patience": 4,
            # Batch normalisation wants whole batches.
            **({"processes": 1} if encoder == "cnn" else {}),
        },
    }
    looking = {
        "cnn": "a residual CNN, which learns with the rest, looks at the image",
        "vit": "a Vision Transformer, which learns with the rest, looks at the image",
        "lite0": "EfficientNet-Lite0, as its authors trained it, looks at the image",
    }[encoder]
    layer = asked.get("cell", "lstm").upper()
    writing = f"an {layer} with attention" if kind == "recurrent" else "a Transformer's decoder"
    reasons = [
        Reason(f"{count:,} captions of {images:,} images of about {facts.side} pixels: so"),
        Reason(f"{looking}, at {size} × {size} pixels", ("encoder.kind", "data.image_size")),
        changed,
        Reason(f"{writing} of width {width} writes", ("model.kind", "model.d_model")),
        Reason(f"{vocabulary:,} pieces in small letters", PIECES),
        Reason(
            f"{steps:,} updates, about {round(steps * batch / max(1, pieces))} passes at most: "
            "fewer when validation stops getting better",
            LENGTH,
        ),
    ]
    return Suggestion(values, reasons)


def encoder_sizes(kind: str, size: int, facts: ImageFacts) -> Section:
    match kind:
        case "cnn":
            widths = [32, 64, 128] if size <= 48 else [32, 32, 64, 128]
            return {"widths": widths, "residual_blocks": 1}
        case "vit":
            sizes = {"num_layers": 4, "d_model": 192, "d_ff": 384, "num_heads": 3}
            return {**sizes, "patch_size": 4 if size <= 32 else 8}
    return {"input_size": lite0_size(facts)}
