"""Beside a program that takes a core, training keeps at least a good part of its speed."""

import json
import os
import re
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from statistics import median

import pytest

from benchmarks.train import busy_program
from regard.machine import cores
from regard.recipe import Recipe
from regard.run import Run

# The command itself, as people start it, since it is the command that settles how threads wait.
TRAIN = "from regard.cli import main; main()"
# Half is what is promised; the rest is for the noise of so short a measurement.
LEAST_KEPT = 0.45


@pytest.mark.slow
@pytest.mark.timeout(600)
@pytest.mark.skipif(cores.usable_cores() < 2, reason="needs two cores")
@pytest.mark.parametrize("shape", ["one process, two threads", "two processes"])
def test_half_the_speed_is_kept_beside_a_busy_program(
    tiny: Callable[..., Recipe], tmp_path: Path, shape: str
) -> None:
    if cores.busy_cores(1.0) > 0.3:
        pytest.skip("other programs take the cores already")
    processes, threads = (1, 2) if shape.startswith("one") else (2, 1)
    larger = ("model.d_model=256", "model.d_ff=1024", "model.encoder_layers=3", "train.steps=60")
    recipe = tiny(
        *larger,
        *("train.batch_tokens=2000", "train.accumulate=1", "train.save_every=60"),
        *("train.eval_every=60", "train.eval_sentences=0", f"train.threads={threads}"),
        f"train.processes={processes}",
    )
    alone = rate(recipe, tmp_path / "alone")
    with busy_program():
        beside = rate(recipe, tmp_path / "beside")
    assert beside > LEAST_KEPT * alone


def rate(recipe: Recipe, out: Path) -> float:
    """Tokens a second of the middle update, by the log; the first ones warm up."""
    out.mkdir()
    run = Run(out / "recipe")
    run.folder.mkdir()
    run.save_recipe(recipe)
    tuning = re.compile("OMP_|MKL_|GOMP_|KMP_")
    environment = {name: text for name, text in os.environ.items() if not tuning.match(name)}
    words = ["train", str(run.recipe_path), "--out", str(out / "run")]
    subprocess.run([sys.executable, "-c", TRAIN, *words], env=environment, check=True)
    lines = (out / "run" / "log.jsonl").read_text("utf-8").splitlines()
    steps = [entry for entry in map(json.loads, lines) if entry["event"] == "step"][10:]
    return median(entry["tokens"] / entry["seconds"] for entry in steps)
