"""Small runs that forecast drawn series."""

import csv
import math
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from regard.cli import main

HORIZON, CONTEXT, LENGTH = 12, 48, 420
# 2024-03-31, when clocks are put forward, is in the last part.
START = np.datetime64("2024-03-16T00")
SIZES = {"d_model": 16, "num_layers": 2, "d_ff": 16, "num_heads": 2, "patch_size": 12}
SETTINGS: dict[str, Any] = {
    "data.calendar": "year",
    "train.steps": 40,
    "train.eval_every": 20,
    "train.save_every": 20,
    "train.batch_size": 32,
    "train.warmup_steps": 2,
    "train.learning_rate": 0.01,
    "train.threads": 1,
    "train.device": "cpu",
    "data.context": CONTEXT,
    "data.season": 24,
    "data.held_out_share": 0.2,
}
KINDS: dict[str, dict[str, Any]] = {
    "transformer": {f"model.{name}": value for name, value in SIZES.items()},
    "linear": {"train.steps": 150},
    # A walk at random: nothing is better than its last value.
    "loser": {"model.kind": "linear", "train.learning_rate": 0.5, "train.steps": 8},
}


def write_series(path: Path, names: list[str], walk: bool = False) -> Path:
    """Days of 24 hours with noise, and a holiday that adds to them and is known in advance."""
    with path.open("w", newline="") as file:
        writer = csv.writer(file)
        writer.writerow(["house", "time", "load", "holiday"])
        for number, name in enumerate(names):
            random = np.random.default_rng(number)
            noise = random.normal(size=LENGTH + HORIZON)
            holiday = random.integers(0, 2, LENGTH + HORIZON)
            for step in range(LENGTH + HORIZON):
                value = 50 * (number + 1) + 10 * math.sin(2 * math.pi * step / 24) + noise[step]
                value = noise[:step].sum() if walk else value + 8 * holiday[step]
                time = f"{START + np.timedelta64(step, 'h')}:00Z"
                shown = f"{value:.3f}" if step < LENGTH else ""
                writer.writerow([name, time, shown, holiday[step]])
    return path


def write_forecasters(folder: Path, *names: str) -> dict[str, Path]:
    """The runs of these names, or all of them."""
    table = write_series(folder / "load.csv", ["north", "south", "north wing"])
    walk = write_series(folder / "walk.csv", ["walk"], walk=True)
    made = {}
    with pytest.MonkeyPatch.context() as patch:
        from regard.machine import memory

        patch.setattr(memory, "keep_big_buffers", lambda: False)
        for name, changes in KINDS.items():
            if names and name not in names:
                continue
            settings = {**SETTINGS, "model.kind": name, **changes}
            made[name] = folder / name
            data = ["--series", walk if name == "loser" else table, "--horizon", HORIZON]
            columns = ["--target", "load", "--id", "house", "--known", "holiday"]
            options = [f"--set={each}={value}" for each, value in settings.items()]
            out = ["--out", made[name], "--zone", "Europe/Berlin"]
            main([str(each) for each in ("train", *data, *columns, *out, *options)])
    return made
