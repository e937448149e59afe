"""Models that compare images with texts as Hugging Face's CLIP, and back.

What CLIP has no setting for is put into its weights, where that changes no output: positions from a
formula become a table, and the bias of patches is added to their positions.
"""

import math
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import torch
from torch import Tensor

from regard.engines.exchange import Exported, Imported, loading, with_known_pieces
from regard.engines.huggingface_processor import FILE, FITS, processor, read_processor
from regard.engines.huggingface_vit import (
    PATCHES,
    as_patches,
    image_shape,
    opened,
    pixels_of,
    statistics,
    table_of,
)
from regard.engines.renaming import Entry, affine, attention, renamed, restored
from regard.engines.settings import ACTIVATIONS, Settings, from_stack, require, stack
from regard.engines.vocabulary import read_tokenizers, tokenizer_files
from regard.errors import RequestError, RunError
from regard.recipe import parse
from regard.run import Run
from regard.text.tokenizer import Tokenizer
from regard.weights import load_model, weights

# The end of a text, where a configuration does not say it. Where it says 2, as older ones do, that
# is wrong, and the end is the piece with the largest id.
USUAL_END, OLD_END = 49407, 2
USUAL_SCALE, LARGEST_SCALE = 100.0, 1e6
ROUNDING = 1e-6


def entries(recipe: Any) -> list[Entry]:
    """Where our tensors are in their file."""
    vision, text = "vision_model.embeddings", "text_model.embeddings"
    return [
        Entry("encoder.class_token", (f"{vision}.class_embedding",)),
        Entry("encoder.stem.projection.weight", (f"{vision}.patch_embedding.weight",)),
        Entry("encoder.positions", (f"{vision}.position_embedding.weight",)),
        *affine("encoder.embedding_norm", "vision_model.pre_layrnorm"),
        *tower("encoder.encoder", "vision_model", recipe.encoder.num_layers),
        *affine("encoder.norm", "vision_model.post_layernorm"),
        Entry("reader.embedding.weight", (f"{text}.token_embedding.weight",)),
        Entry("reader.positions.table", (f"{text}.position_embedding.weight",)),
        *tower("reader.decoder", "text_model", recipe.model.num_layers),
        *affine("reader.norm", "text_model.final_layer_norm"),
        Entry("image_projection.weight", ("visual_projection.weight",)),
        Entry("text_projection.weight", ("text_projection.weight",)),
        Entry("log_scale", ("logit_scale",), axes=-1),
    ]


def tower(ours: str, theirs: str, layers: int) -> Iterator[Entry]:
    for number in range(layers):
        mine, block = f"{ours}.{number}", f"{theirs}.encoder.layers.{number}"
        attending = f"{mine}.self_attention"
        yield from attention(attending, f"{block}.self_attn", "q_proj k_proj v_proj", "out_proj")
        yield from affine(f"{attending}_residual.normalise", f"{block}.layer_norm1")
        yield from affine(f"{mine}.feed_forward_residual.normalise", f"{block}.layer_norm2")
        yield from affine(f"{mine}.feed_forward.inner", f"{block}.mlp.fc1")
        yield from affine(f"{mine}.feed_forward.outer", f"{block}.mlp.fc2")


def export(run: Run, recipe: Any, name: str) -> Exported:
    """A run as a folder of this name."""
    require("CLIP", recipe.encoder, {**PATCHES, "embedding_norm": (True,)}, "encoder")
    written = {"kind": ("gpt",), "positions": ("learned", "sinusoidal")}
    require("CLIP", recipe.model, {**written, "activation": tuple(ACTIVATIONS)})
    require("CLIP", recipe.data, {"fit": FITS}, "data")
    tokenizer = run.tokenizers().source
    if tokenizer.specials.end == OLD_END:
        raise RequestError(
            f"{run.folder}: its tokenizer ends a text with piece {OLD_END}, which CLIP takes for "
            "the largest of a text; such a run cannot be exported there"
        )
    model: Any = load_model(run)
    pixels = pixels_of(model, recipe)
    tensors = renamed(entries(recipe), folded(model, recipe))
    longest = len(tensors["text_model.embeddings.position_embedding.weight"])
    facts = {
        "model_type": "clip",
        "max_position_embeddings": min(recipe.data.max_length, longest),
    }
    used = {"model": "CLIPModel", "processor": "CLIPProcessor"}
    return Exported(
        configuration(recipe, tokenizer, longest),
        tensors,
        {
            FILE: processor("CLIPImageProcessor", pixels) | {"processor_class": "CLIPProcessor"},
            **tokenizer_files(tokenizer, facts),
        },
        loading(
            name,
            used,
            opened(pixels),
            'given = {"text": ["a dog", "a cat"], "images": image, "return_tensors": "pt"}',
            "inputs = processor(**given, padding=True, truncation=True)",
            "print(model(**inputs).logits_per_image.softmax(-1))",
        ),
    )


def folded(model: Any, recipe: Any) -> dict[str, Tensor]:
    """Our tensors, with all that CLIP has no setting for."""
    tensors, reader = weights(model), model.reader
    table = table_of(model).clone()
    table[1:] += tensors["encoder.stem.projection.bias"]
    tensors["encoder.positions"] = table
    if recipe.model.positions == "sinusoidal":
        scaled = tensors["reader.embedding.weight"] * math.sqrt(recipe.model.d_model)
        tensors["reader.embedding.weight"] = scaled
        tensors["reader.positions.table"] = reader.positions(0, recipe.data.max_length, scaled)
    tensors["log_scale"] = tensors["log_scale"].clamp(max=math.log(recipe.space.largest_scale))
    return tensors


def configuration(recipe: Any, tokenizer: Tokenizer, longest: int) -> dict[str, Any]:
    """The contents of config.json."""
    specials, width = tokenizer.specials, recipe.space.width
    return {
        "model_type": "clip",
        "architectures": ["CLIPModel"],
        "projection_dim": width,
        "logit_scale_init_value": math.log(1 / recipe.space.temperature),
        "vision_config": {
            "model_type": "clip_vision_model",
            **stack(recipe.encoder),
            "attention_dropout": recipe.encoder.attention_dropout,
            "image_size": recipe.data.image_size,
            "patch_size": recipe.encoder.patch_size,
            "num_channels": recipe.data.channels,
            "projection_dim": width,
        },
        "text_config": {
            "model_type": "clip_text_model",
            **stack(recipe.model),
            "attention_dropout": recipe.model.attention_dropout,
            "vocab_size": len(tokenizer),
            "max_position_embeddings": longest,
            "projection_dim": width,
            "pad_token_id": specials.pad,
            "bos_token_id": specials.start,
            "eos_token_id": specials.end,
        },
    }


def read(folder: Path, task: str, settings: Settings, tensors: Mapping[str, Tensor]) -> Imported:
    """What transformers saved in a folder."""
    where = folder / "model.safetensors"
    vision, text = part_of(settings, "vision_config"), part_of(settings, "text_config")
    pixels = read_processor(folder, *image_shape(vision), crops=True)
    tokenizers = read_tokenizers(folder, text, "clip")
    check_end(text, tokenizers.source)
    encoder, model = from_clip(vision, text)
    space = {"width": settings.whole("projection_dim", 512), "dropout": 0.0}
    scale = largest_scale(tensors, where)
    values = {
        "task": task,
        "data": {
            "imported": str(folder),
            **pixels.data(),
            "max_length": model["max_positions"],
        },
        "encoder": {"kind": "vit", **encoder},
        "model": {"kind": "gpt", **model},
        "space": {**space, "largest_scale": scale},
    }
    recipe: Any = parse(values, str(settings.where))
    ours = restored(entries(recipe), tensors, where)
    ours = with_known_pieces(ours, tokenizers, folder)
    # Their patches have no bias.
    ours["encoder.stem.projection.bias"] = torch.zeros(recipe.encoder.d_model)
    return Imported(
        recipe,
        {**ours, **statistics(pixels)},
        {**pixels.sizes(), "inputs": len(tokenizers.source)},
        tokenizers,
    )


def part_of(settings: Settings, name: str) -> Settings:
    """The settings of one of the two towers. An older file may have them under another name, which
    comes first.
    """
    found = settings.values.get(f"{name}_dict")
    found = settings.values.get(name) if found is None else found
    if not isinstance(found, dict | None):
        raise settings.refused(name, "an object of settings is needed")
    return Settings(found or {}, settings.where)


def from_clip(vision: Settings, text: Settings) -> tuple[dict[str, Any], dict[str, Any]]:
    """Our sections [encoder] and [model]."""
    encoder = {
        **from_stack(vision, 768, 12, "quick_gelu", 1e-5),
        **as_patches(vision, 32),
        "embedding_norm": True,
        "attention_dropout": vision.number("attention_dropout", 0.0),
    }
    model = {
        **from_stack(text, 512, 8, "quick_gelu", 1e-5),
        "dropout": 0.0,
        "attention_dropout": text.number("attention_dropout", 0.0),
        "max_positions": text.whole("max_position_embeddings", 77),
    }
    return encoder, model


def check_end(text: Settings, tokenizer: Tokenizer) -> None:
    """Refuse a tokenizer that ends a text with a piece at which the model does not look."""
    end, named = tokenizer.specials.end, text.whole("eos_token_id", USUAL_END)
    if (len(tokenizer) - 1 if named == OLD_END else named) != end:
        raise text.refused("eos_token_id", f"the tokenizer ends a text with piece {end}")


def largest_scale(tensors: Mapping[str, Tensor], where: Path) -> float:
    """A limit of the scale that leaves it as it is."""
    found = tensors.get("logit_scale", torch.zeros(()))
    power = float(found.double().max()) if found.numel() else math.nan
    if not power < math.log(LARGEST_SCALE):
        raise RunError(
            f"{where}: logit_scale is {power:g}, which multiplies similarities by more than "
            f"{LARGEST_SCALE:,.0f}; it is damaged"
        )
    scale = math.exp(power)
    return USUAL_SCALE if scale <= USUAL_SCALE * (1 + ROUNDING) else float(math.ceil(scale))
