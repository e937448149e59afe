"""Sizes of a model that matches images and texts, each with its reason."""

from collections.abc import Mapping
from typing import Any

from regard.data.captions import CaptionList
from regard.tasks import image_sizes
from regard.tasks.image_sizes import ImageFacts
from regard.tasks.suggestions import PIECES, paces
from regard.tasks.task import Reason, Section, Suggestion

ENCODER = ("encoder.kind", "encoder.widths", "encoder.num_layers", "encoder.d_model")
TEXT = ("model.kind", "model.d_model", "model.cell", "model.num_layers")
FROZEN = "images are read by EfficientNet-Lite0 as its authors trained it; it stays as it is"
LENGTH = ("train.steps", "train.batch_size", "train.patience")


def suggest(
    facts: ImageFacts, found: CaptionList, data: Section, asked: Mapping[str, Any]
) -> Suggestion:
    kind = asked.get("encoder", {}).get("kind", "cnn")
    size = data.get("image_size") or image_sizes.image_size(facts, kind)
    changes, changed = image_sizes.augmentation(facts, size, kind)
    encoder, _, _, shape = image_sizes.MODELS.get(kind, image_sizes.cnn)(facts, size)
    words = sum(len(each.text.split()) for each in found.captions)
    vocabulary = max(400, min(16_000, words // 20))
    model, seen = text_tower(asked.get("kind", "bag"))
    each = len(found) / max(1, sum(bool(captions) for captions in found.by_image))
    count = round(facts.count * each)
    batch = 256 if count >= 4000 else max(8, min(64, count // 8))
    passes = 20 if kind == "lite0" else 30
    steps = max(200, min(round(passes * count / batch), 50_000))
    values = {
        "data": {"image_size": size, "channels": 1 if facts.grey else 3, **data},
        "tokenizer": {"kind": "word", "lowercase": True, "vocabulary_size": vocabulary},
        "augmentation": changes,
        "encoder": {"kind": kind, **encoder},
        "model": model,
        "space": {"width": 512, "dropout": 0.3},
        "train": {
            **paces(steps, min(200, steps // 10), max(25, steps // 15)),
            "batch_size": batch,
            "optimizer": "adamw",
            "learning_rate": 1e-3,
            "weight_decay": 0.01,
            "metric": "mean_recall",
            "average": 1,
            "patience": 6,
        },
    }
    reasons = [
        Reason(f"{facts.count:,} images with {each:.1f} captions each, {words:,} words: so"),
        Reason(FROZEN if kind == "lite0" else shape.text, ENCODER),
        Reason(seen, TEXT),
        Reason(f"a vocabulary of up to {vocabulary:,} words", PIECES),
        changed,
        Reason(
            f"{steps:,} updates of {batch} captions, {passes} passes at most: fewer when "
            "validation stops getting better",
            LENGTH,
        ),
    ]
    return Suggestion(values, reasons)


def text_tower(kind: str) -> tuple[Section, str]:
    if kind == "bag":
        words = "captions are read as bags of words, which learn most from few images"
        return {"kind": kind, "d_model": 300, "dropout": 0.3}, words
    if kind == "recurrent":
        model: Section = {"kind": kind, "cell": "gru", "d_model": 512, "dropout": 0.2}
        return model, "captions are read by a bidirectional GRU of width 512"
    stack = {"num_layers": 2, "d_model": 256, "d_ff": 1024, "num_heads": 4, "max_positions": 64}
    return {"kind": kind, **stack}, "captions are read by a Transformer, 2 layers of width 256"
