"""Classifiers of images as Hugging Face's ViT, and back.

What ViT has no setting for is put into its weights, where that changes no output: positions from a
formula become a table, and the temperature of the probabilities divides the last layer.
"""

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import torch
from torch import Tensor

from regard.engines.exchange import Exported, Imported, loading
from regard.engines.huggingface_processor import FILE, FITS, Pixels, processor, read_processor
from regard.engines.renaming import Entry, affine, attention, renamed, restored
from regard.engines.settings import ACTIVATIONS, Settings, from_stack, require, stack
from regard.errors import RunError
from regard.recipe import Recipe, parse
from regard.run import Run
from regard.weights import load_model, weights

if TYPE_CHECKING:
    from regard.configs.vit import VitConfig

# What a tower of images has to be, whatever reads it.
PATCHES: Mapping[str, tuple[object, ...]] = {
    "kind": ("vit",),
    "stem": ("patch",),
    "positions": ("learned", "sinusoidal"),
    "pooling": ("token",),
    "activation": tuple(ACTIVATIONS),
}


def entries(config: "VitConfig") -> Iterator[Entry]:
    """Where our tensors are in their file."""
    yield Entry("encoder.class_token", ("vit.embeddings.cls_token",), axes=2)
    yield Entry("encoder.positions", ("vit.embeddings.position_embeddings",), axes=1)
    yield from affine("encoder.stem.projection", "vit.embeddings.patch_embeddings.projection")
    for number in range(config.num_layers):
        ours, theirs = f"encoder.encoder.{number}", f"vit.encoder.layer.{number}"
        mine, parts = f"{ours}.self_attention", "attention.query attention.key attention.value"
        yield from attention(mine, f"{theirs}.attention", parts, "output.dense")
        yield from affine(f"{mine}_residual.normalise", f"{theirs}.layernorm_before")
        yield from affine(f"{ours}.feed_forward_residual.normalise", f"{theirs}.layernorm_after")
        yield from affine(f"{ours}.feed_forward.inner", f"{theirs}.intermediate.dense")
        yield from affine(f"{ours}.feed_forward.outer", f"{theirs}.output.dense")
    yield from affine("encoder.norm", "vit.layernorm")
    yield from affine("output", "classifier")


def export(run: Run, recipe: Any, name: str) -> Exported:
    """A run as a folder of this name."""
    require("ViT", recipe.model, {**PATCHES, "embedding_norm": (False,)})
    require("ViT", recipe.data, {"fit": FITS}, "data")
    model = load_model(run)
    tensors, pixels = weights(model), pixels_of(model, recipe)
    tensors["encoder.positions"] = table_of(model)
    temperature = float(run.info().get("validation", {}).get("temperature") or 1.0)
    for part in ("output.weight", "output.bias"):
        tensors[part] = tensors[part] / temperature
    used = {"model": "ViTForImageClassification", "processor": "AutoImageProcessor"}
    return Exported(
        configuration(recipe, run.labels()),
        renamed(entries(recipe.model), tensors),
        {FILE: processor("ViTImageProcessor", pixels)},
        loading(
            name,
            used,
            opened(pixels),
            'found = model(**processor(image, return_tensors="pt")).logits.softmax(-1)[0]',
            "print(model.config.id2label[int(found.argmax())], found.max().item())",
        ),
    )


def configuration(recipe: Any, labels: Sequence[str]) -> dict[str, Any]:
    """The contents of config.json."""
    config = recipe.model
    return {
        "model_type": "vit",
        "architectures": ["ViTForImageClassification"],
        **stack(config),
        "hidden_dropout_prob": config.dropout,
        "attention_probs_dropout_prob": config.attention_dropout,
        "image_size": recipe.data.image_size,
        "patch_size": config.patch_size,
        "num_channels": recipe.data.channels,
        "qkv_bias": True,
        "id2label": {str(number): label for number, label in enumerate(labels)},
        "label2id": {label: number for number, label in enumerate(labels)},
    }


def pixels_of(model: Any, recipe: Any) -> Pixels:
    """How the encoder of a model sees images."""
    data, standardise = recipe.data, model.encoder.standardise
    return Pixels(data.image_size, data.channels, data.fit, standardise.mean, standardise.std)


def table_of(model: Any) -> Tensor:
    """The positions of the patches, and of the token before them, learned or from a formula."""
    table: Tensor = model.encoder.positions.detach()
    return table


def opened(pixels: Pixels) -> str:
    """A line for the card that opens an image, which a processor does not make grey by itself."""
    return 'image = Image.open("photo.jpg")' + '.convert("L")' * (pixels.channels == 1)


def read(folder: Path, task: str, settings: Settings, tensors: Mapping[str, Tensor]) -> Imported:
    """What transformers saved in a folder."""
    where = folder / "model.safetensors"
    if settings.values.get("problem_type") not in (None, "single_label_classification"):
        raise settings.refused("problem_type", "regard gives an image one label of several")
    if "classifier.weight" not in tensors:
        raise RunError(f"{where}: has no classifier; only a ViTForImageClassification is imported")
    config = from_vit(settings)
    pixels = read_processor(folder, *image_shape(settings), crops=False)
    values = {
        "task": task,
        "data": {"imported": str(folder), **pixels.data()},
        "model": {"kind": "vit", **config},
    }
    recipe: Recipe = parse(values, str(settings.where))
    found = {**tensors, **missing_biases(recipe.model, settings)}
    ours = restored(list(entries(recipe.model)), found, where)
    labels = labels_of(settings, len(ours["output.weight"]))
    return Imported(
        recipe,
        {**ours, **statistics(pixels)},
        {**pixels.sizes(), "outputs": len(labels)},
        labels=labels,
    )


def from_vit(settings: Settings) -> dict[str, Any]:
    """Our [model] section."""
    sizes = from_stack(settings)
    heads = sizes["num_heads"] or 1
    settings.expect({}, {"head_dim": sizes["d_model"] // heads})
    return {
        **sizes,
        **as_patches(settings, 16),
        "dropout": settings.number("hidden_dropout_prob", 0.0),
        "attention_dropout": settings.number("attention_probs_dropout_prob", 0.0),
    }


def as_patches(settings: Settings, patch_size: int) -> dict[str, Any]:
    """The settings of a tower that reads patches as ViT and CLIP do."""
    return {
        "patch_size": square(settings, "patch_size", patch_size),
        "stem": "patch",
        "positions": "learned",
        "pooling": "token",
    }


def image_shape(settings: Settings) -> tuple[int, int]:
    """The side of the images, and their channels."""
    return square(settings, "image_size", 224), settings.whole("num_channels", 3)


def square(settings: Settings, key: str, otherwise: int) -> int:
    """A whole number, which may be given twice, as height and width."""
    match settings.values.get(key):
        case [int(height), int(width)] if height == width:
            return height
    return settings.whole(key, otherwise)


def missing_biases(config: "VitConfig", settings: Settings) -> dict[str, Tensor]:
    """Zeros for the biases of queries, keys and values, where the model has none."""
    if settings.values.get("qkv_bias", True) is not False:
        return {}
    return {
        f"vit.encoder.layer.{number}.attention.attention.{part}.bias": torch.zeros(config.d_model)
        for number in range(config.num_layers)
        for part in ("query", "key", "value")
    }


def statistics(pixels: Pixels) -> dict[str, Tensor]:
    return {"encoder.standardise.mean": pixels.mean, "encoder.standardise.std": pixels.std}


def labels_of(settings: Settings, count: int) -> tuple[str, ...]:
    """The names of the labels. Some name two the same, which then have their numbers, too."""
    numbers = [str(number) for number in range(count)]
    named = settings.values.get("id2label") or {number: f"LABEL_{number}" for number in numbers}
    if not isinstance(named, dict) or {*named} != {*numbers}:
        raise settings.refused("id2label", f"names of {count} labels are needed, from 0 on")
    labels = [named[number] for number in numbers]
    if count < 2 or not all(isinstance(each, str) and each.strip() for each in labels):
        raise settings.refused("id2label", "at least two labels with a name each are needed")
    often = Counter(labels)
    different = tuple(
        f"{label} ({number})" if often[label] > 1 else label
        for number, label in zip(numbers, labels, strict=True)
    )
    if len({*different}) < count:
        raise settings.refused("id2label", "labels with different names are needed")
    return different
