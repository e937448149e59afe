"""The contenders of `python -m benchmarks.images training`, each in a process of its own: regard,
and Hugging Face's `ViTForImageClassification` in a plain loop.

*training* is a whole update: regard as `regard train` makes it, with the choice and augmentation of
its images, clipping and reports; the other chooses images, scales them, and runs its model, its
loss and AdamW. *model* is the model, its loss and AdamW alone, on one batch.
"""

import json
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from pathlib import Path
from typing import Any

import numpy as np

from benchmarks.process import REGARD, Contender, Message, Replies
from benchmarks.summary import paired_ratio

WARM_UP, LABELS = 3, 10
# Where regard and its peer compute the same: a patch stem, a class token, learned positions.
SIZES: Message = {"num_layers": 4, "d_model": 128, "d_ff": 256, "num_heads": 2, "patch_size": 4}
JOB: Message = {**SIZES, "image_size": 32, "batch_size": 128, "learning_rate": 1e-3, "threads": 1}
CONTENDERS = ("regard", "Hugging Face")


def write_images(path: Path, count: int, size: int) -> None:
    random = np.random.default_rng(1)
    pixels = random.integers(0, 256, (count, size, size, 3), np.uint8)
    np.savez(path, x_train=pixels, y_train=np.arange(count) % LABELS)


def recipe_of(job: Message) -> Any:
    from regard.recipe import parse

    often = 10**6  # never, in a measurement
    every = {"steps": often, "eval_every": often, "save_every": often, "log_every": 50}
    choices = {"stem": "patch", "pooling": "token", "positions": "learned", "dropout": 0.0}
    return parse(
        {
            "task": "image-classification",
            "data": {"train": [job["images"]], "image_size": job["image_size"]},
            "model": {"kind": "vit", **choices, **{name: job[name] for name in SIZES}},
            "train": {
                **every,
                "schedule": "constant",
                "warmup_steps": 0,
                "optimizer": "adamw",
                "weight_decay": 0.01,
                "batch_size": job["batch_size"],
                "learning_rate": job["learning_rate"],
                "threads": job["threads"],
                "processes": 1,
                "device": "cpu",
                "precision": "float32",
            },
        },
        "benchmark",
    )


def timed(update: Callable[[], object], steps: int) -> Message:
    """Seconds of processor time and of the clock for these updates."""
    for _ in range(WARM_UP):
        update()
    before = time.process_time(), time.perf_counter()
    for _ in range(steps):
        update()
    return {"processor": time.process_time() - before[0], "wall": time.perf_counter() - before[1]}


def one_batch(job: Message) -> tuple[Any, Any]:
    """Pixels [B, 3, S, S] from 0 to 255 and labels, for the model alone."""
    import torch

    with np.load(job["images"]) as archive:
        pixels, labels = (archive[name][: job["batch_size"]] for name in ("x_train", "y_train"))
    return torch.from_numpy(pixels).permute(0, 3, 1, 2), torch.from_numpy(labels)


def our_model(job: Message, recipe: Any) -> Callable[[], None]:
    from regard.configs.image import ImageShape
    from regard.data.image_batches import ImageBatch
    from regard.models.image_labeller import ImageLabeller
    from regard.objectives import image_label
    from regard.training.optimizer import build_optimizer

    shape = ImageShape(job["image_size"], job["image_size"], 3)
    model = ImageLabeller(recipe.model, shape, LABELS).train()
    optimizer = build_optimizer(model, recipe.train)
    batch = ImageBatch(*one_batch(job))

    def update() -> None:
        loss = image_label(model, batch)
        (loss.total / loss.count).backward()
        optimizer.step()
        optimizer.zero_grad()

    return update


def ours(job: Message) -> tuple[dict[str, Callable[[], object]], int]:
    """Updates of a training that is under way, and of the model alone."""
    from regard.configs.parameters import num_parameters
    from regard.training.events import StepReport
    from regard.training.run import training_run

    recipe = recipe_of(job)
    events = training_run(recipe, Path(job["folder"], "run"))
    updates: Iterator[Any] = (each for each in events if isinstance(each, StepReport))
    found = {"training": lambda: next(updates), "model": our_model(job, recipe)}
    return found, num_parameters(recipe, {"outputs": LABELS})


def theirs(job: Message) -> tuple[dict[str, Callable[[], object]], int]:
    """The same of a plain loop around Hugging Face's model."""
    import torch
    from transformers import ViTConfig, ViTForImageClassification

    config = ViTConfig(
        hidden_size=job["d_model"],
        num_hidden_layers=job["num_layers"],
        num_attention_heads=job["num_heads"],
        intermediate_size=job["d_ff"],
        image_size=job["image_size"],
        patch_size=job["patch_size"],
        num_labels=LABELS,
    )
    torch.manual_seed(1)
    model = ViTForImageClassification(config).train()
    rate = job["learning_rate"]
    optimizer = torch.optim.AdamW(model.parameters(), lr=rate, weight_decay=0.01, fused=True)
    with np.load(job["images"]) as archive:
        pixels = torch.from_numpy(archive["x_train"]).permute(0, 3, 1, 2).contiguous()
        labels = torch.from_numpy(archive["y_train"])
    scaled, marked = one_batch(job)[0].float() / 127.5 - 1, one_batch(job)[1]

    def update(images: torch.Tensor, wanted: torch.Tensor) -> None:
        model(pixel_values=images, labels=wanted).loss.backward()
        optimizer.step()
        optimizer.zero_grad()

    def train() -> None:
        rows = torch.randint(len(pixels), (job["batch_size"],))
        update(pixels[rows].float() / 127.5 - 1, labels[rows])

    parameters = sum(each.numel() for each in model.parameters())
    return {"training": train, "model": lambda: update(scaled, marked)}, parameters


def contend(job: Message) -> None:
    """Answer as one of the contenders."""
    replies = Replies()
    from regard.machine.memory import keep_big_buffers

    keep_big_buffers()  # regard does so by itself, and the other gets the same
    import torch

    torch.set_num_threads(job["threads"])
    updates, parameters = (ours if job["name"] == "regard" else theirs)(job)
    replies.serve(
        {"parameters": parameters},
        lambda request: timed(updates[request["what"]], request["steps"]),
    )


def measure(rounds: int, steps: int) -> None:
    with tempfile.TemporaryDirectory() as name, ExitStack() as stack:
        folder = Path(name)
        job = {**JOB, "images": str(folder / "images.npz"), "folder": name}
        write_images(Path(job["images"]), 5000, job["image_size"])
        module = "benchmarks.image_training"
        both = [
            stack.enter_context(Contender(who, module, {**job, "name": who}, REGARD, folder))
            for who in CONTENDERS
        ]
        rates: dict[tuple[str, str, str], list[float]] = {}
        for _ in range(rounds):
            for what in ("training", "model"):
                for who in both:
                    for clock, seconds in who.ask({"what": what, "steps": steps}).items():
                        rate = steps * job["batch_size"] / seconds
                        rates.setdefault((what, clock, who.name), []).append(rate)
        size, sizes = job["image_size"], ", ".join(f"{key} {job[key]}" for key in SIZES)
        print(f"Images of {size} × {size} pixels, batches of {job['batch_size']}, {sizes}")
        for who in both:
            print(f"{who.name}: {who.hello['parameters']:,} parameters")
    for what in ("training", "model"):
        for clock in ("processor", "wall"):
            mine, other = (rates[what, clock, who] for who in CONTENDERS)
            ratio = paired_ratio(mine, other)
            print(f"{what:<9}by {clock:<10}{max(mine):7,.0f} images/s, {max(other):7,.0f}: "
                  f"{max(mine) / max(other):.2f} ×, median of rounds {ratio.median:.2f} "
                  f"[{ratio.low:.2f}, {ratio.high:.2f}]")  # fmt: skip


if __name__ == "__main__":
    contend(json.loads(sys.argv[1]))
