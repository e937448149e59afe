"""Runs of captioners that have learned three captions by heart, and of matchers that have learned
nothing, with validation images.
"""

import json
from pathlib import Path
from typing import Any

import numpy as np
import torch
from PIL import Image

from regard.data.batch import pad
from regard.data.image_cache import build as build_cache
from regard.data.image_files import find_images
from regard.recipe import parse
from regard.run import Run
from regard.text.tokenizer import Tokenizer, Tokenizers
from regard.weights import build, save_model, weights

SIZE = 16
UPDATES = 80
CAPTIONS = ["a red star on blue", "a green heart", "two yellow moons on a grey ground"]
VIT = {"num_layers": 2, "d_model": 16, "d_ff": 16, "num_heads": 2, "patch_size": 4}
STACK = {"num_layers": 2, "d_model": 16, "d_ff": 16, "num_heads": 2}
CAPTIONERS: dict[str, dict[str, Any]] = {
    "lstm": {
        "encoder": {"kind": "cnn", "widths": [8, 8]},
        "model": {"kind": "recurrent", "d_model": 16},
    },
    "transformer": {
        "encoder": {"kind": "vit", **VIT},
        "model": {"kind": "transformer", **STACK},
    },
    "whole": {
        "encoder": {"kind": "cnn", "widths": [8, 8]},
        "model": {"kind": "recurrent", "d_model": 16, "attention": "none"},
    },
}
MATCHERS: dict[str, dict[str, Any]] = {
    "mean": {
        "encoder": {"kind": "vit", "pooling": "mean", **VIT},
        "model": {"kind": "bag", "d_model": 16},
    },
    "largest": {
        "encoder": {"kind": "cnn", "widths": [8, 8]},
        "model": {"kind": "bert", **STACK},
    },
    "token": {
        "encoder": {"kind": "vit", "pooling": "token", **VIT},
        "model": {"kind": "recurrent", "d_model": 16},
    },
    "last": {
        "encoder": {"kind": "vit", "pooling": "mean", **VIT},
        "model": {"kind": "gpt", **STACK},
    },
}


def photo(seed: int = 0, size: int = SIZE) -> Any:
    return np.random.default_rng(seed).integers(0, 256, (size, size, 3), np.uint8)


def learn(model: Any, tokenizer: Tokenizer) -> None:
    """Learn the captions of the validation images by heart."""
    specials = tokenizer.specials
    rows = [[*each, specials.end] for each in tokenizer.encode_batch(CAPTIONS)]
    labels = pad(rows, specials.pad)
    target = torch.cat((torch.full_like(labels[:, :1], specials.start), labels[:, :-1]), 1)
    pixels = np.stack([photo(number) for number in range(len(CAPTIONS))])
    images = torch.from_numpy(pixels).permute(0, 3, 1, 2)
    model.initialise(images)
    optimizer = torch.optim.Adam(model.parameters(), lr=0.02)
    for _ in range(UPDATES):
        logits = model.train()(images, target).transpose(1, 2)
        loss = torch.nn.functional.cross_entropy(logits, labels, ignore_index=specials.pad)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()


def disturb(model: Any) -> None:
    """Larger weights, so that images and words make a difference."""
    with torch.no_grad():
        for each in model.parameters():
            if each.requires_grad and each.dim() > 1:
                each.add_(0.15 * torch.randn_like(each))


def write_run(folder: Path, task: str, sections: dict[str, Any]) -> Path:
    data = {"train": ["photos"], "captions": ["captions.tsv"], "image_size": SIZE}
    recipe = parse({"task": task, "data": data, **sections}, "test")
    tokenizer = Tokenizer.train(CAPTIONS * 9, vocabulary_size=400)
    run = Run(folder)
    run.training.mkdir(parents=True)
    run.save_recipe(recipe)
    run.save_tokenizers(Tokenizers(tokenizer, tokenizer))
    torch.manual_seed(3)
    count = len(tokenizer)
    sizes = {"height": SIZE, "width": SIZE, "channels": 3, "inputs": count, "outputs": count}
    model = build(recipe, sizes)
    if task == "captioning":
        learn(model, tokenizer)
    else:
        disturb(model)
    save_model(run, weights(model), 1, sizes)
    run.save_info({"step": 1})
    write_validation(run)
    return run.folder


def write_validation(run: Run) -> None:
    """Three images with their captions, as training keeps them."""
    photos = run.folder / "photos"
    photos.mkdir()
    for number in range(len(CAPTIONS)):
        Image.fromarray(photo(number)).save(photos / f"{number}.png")
    images = find_images([photos])
    build_cache(images, run.training / "data" / "images", SIZE, "crop", 3)
    part = {
        "rows": list(range(len(CAPTIONS))),
        "names": images.names,
        "captions": [[each, f"{each} again"] for each in CAPTIONS],
    }
    (run.training / "data" / "valid.json").write_text(json.dumps(part))


def write_captioners(folder: Path) -> dict[str, Path]:
    return {name: write_run(folder / name, "captioning", CAPTIONERS[name]) for name in CAPTIONERS}


def write_matchers(folder: Path) -> dict[str, Path]:
    return {name: write_run(folder / name, "matching", MATCHERS[name]) for name in MATCHERS}
