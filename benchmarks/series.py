"""Measures how many windows a second models of series learn from, beside NeuralForecast.

    python3 -m venv peer && peer/bin/pip install torch neuralforecast
    python -m benchmarks.series --peer peer/bin/python

Each contender is a process with one thread, on the same table and with the same sizes, batch,
context, horizon and loss. They take turns, and the best round of each counts, by processor time.
*training* is a whole update as each library makes it, with the choice of its windows; *model* is
the model, its loss and Adam alone, on one batch.
"""

import argparse
import csv
import json
import sys
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np

from benchmarks.process import REGARD, Contender, Message, Replies

SERIES, LENGTH = 100, 1000
ROUNDS, STEPS = 5, 40
# The levels of regard's quantiles; the other library learns the same.
QUANTILES = [0.025, 0.05, 0.1, 0.2, 0.25, 0.3, 0.4, 0.5, 0.6, 0.7, 0.75, 0.8, 0.9, 0.95, 0.975]
SHARED = {"batch_size": 128, "dropout": 0.1, "learning_rate": 1e-3, "quantiles": QUANTILES}
PATCHES: Message = {
    **SHARED,
    "kind": "transformer",
    "context": 336,
    "horizon": 96,
    "num_layers": 3,
    "d_model": 64,
    "d_ff": 128,
    "num_heads": 4,
    "patch_size": 24,
}
RECURRENT: Message = {**SHARED, "kind": "recurrent", "num_layers": 1, "d_model": 128}
JOBS: dict[str, Message] = {
    "patches": PATCHES,
    "patches-point": {**PATCHES, "point": True},
    "recurrent": {**RECURRENT, "context": 336, "horizon": 96, "patch_size": 24},
    "recurrent-steps": {**RECURRENT, "context": 96, "horizon": 24, "patch_size": 1},
}
NAMES = {
    "patches": ("Transformer over patches of 24", "PatchTST over patches of 24"),
    "patches-point": ("the same", "PatchTST that learns one number for each step"),
    "recurrent": ("GRU over patches of 24", "GRU over steps"),
    "recurrent-steps": ("GRU over steps", "GRU over steps"),
}
MODEL = ("kind", "num_layers", "d_model", "d_ff", "num_heads", "patch_size", "dropout")


def write_table(path: Path) -> None:
    """Days of 24 hours with noise, as both libraries read them."""
    random = np.random.default_rng(1)
    times = np.datetime64("2024-01-01T00") + np.arange(LENGTH) * np.timedelta64(1, "h")
    day = np.sin(2 * np.pi * np.arange(LENGTH) / 24)
    with path.open("w", newline="") as file:
        writer = csv.writer(file)
        writer.writerow(["unique_id", "ds", "y"])
        for number in range(SERIES):
            values = 10 + day + 0.3 * random.normal(size=LENGTH)
            for moment, value in zip(times, values, strict=True):
                writer.writerow([f"s{number}", f"{moment}:00:00", f"{value:.4f}"])


def recipe_of(job: Message) -> Any:
    from regard.recipe import parse

    often = 10**6  # never, in a measurement
    return parse(
        {
            "task": "forecasting",
            "data": {
                "train": [job["table"]],
                "context": job["context"],
                "horizon": job["horizon"],
                "season": 24,
                "calendar": "none",
            },
            "model": {name: job[name] for name in MODEL if name in job},
            "train": {
                "steps": often,
                "eval_every": often,
                "save_every": often,
                "log_every": 1,
                "warmup_steps": 0,
                "schedule": "constant",
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


def trained(updates: Iterator[Any], steps: int) -> float:
    """Seconds of updates of a training that is under way."""
    next(updates)
    started = time.process_time()
    for _ in range(steps):
        next(updates)
    return time.process_time() - started


def alone(job: Message, recipe: Any, steps: int) -> float:
    """Seconds of updates of the model on one batch, without data."""
    import torch

    from regard.configs.series import SeriesSizes
    from regard.data.series_windows import SeriesBatch
    from regard.models.series import build_forecaster
    from regard.objectives import forecast
    from regard.training.optimizer import build_optimizer

    size, context, horizon = job["batch_size"], job["context"], job["horizon"]
    model = build_forecaster(recipe.model, SeriesSizes(context, horizon, 0, 24)).train()
    past, future = torch.randn(size, context), torch.randn(size, horizon)
    batch = SeriesBatch(past, future, torch.zeros(size, context + horizon, 0))
    optimizer = build_optimizer(model, recipe.train)
    for step in range(steps + 3):
        if step == 3:
            started = time.process_time()
        loss = forecast(model, batch)
        (loss.total / loss.count).backward()
        optimizer.step()
        optimizer.zero_grad()
    return time.process_time() - started


def ours(job: Message) -> None:
    """regard as a contender."""
    replies = Replies()
    from regard.machine.memory import keep_big_buffers

    keep_big_buffers()
    import torch

    from regard.training.events import StepReport
    from regard.training.run import training_run

    torch.set_num_threads(job["threads"])
    recipe = recipe_of(job)
    with tempfile.TemporaryDirectory() as folder:
        events = training_run(recipe, Path(folder, "run"))
        updates = (each for each in events if isinstance(each, StepReport))
        next(updates)

        def answer(request: Message) -> Message:
            steps = request["steps"]
            alone_only = request["what"] == "model"
            return {"seconds": alone(job, recipe, steps) if alone_only else trained(updates, steps)}

        from regard.configs.parameters import num_parameters

        replies.serve({"parameters": num_parameters(recipe, {})}, answer)
        events.close()


def measure(name: str, asked: argparse.Namespace, folder: Path) -> None:
    job = {**JOBS[name], "threads": 1, "table": str(folder / "table.csv")}
    best: dict[tuple[str, str], float] = {}
    with (
        Contender("regard", "benchmarks.series", job, REGARD, folder) as mine,
        Contender(
            "NeuralForecast", "benchmarks.series_peer", job, {}, folder, asked.peer
        ) as theirs,
    ):
        for _ in range(asked.rounds):
            for what in ("training", "model"):
                for who in (mine, theirs):
                    seconds = who.ask({"what": what, "steps": asked.steps})["seconds"]
                    rate = asked.steps * job["batch_size"] / seconds
                    best[what, who.name] = max(best.get((what, who.name), 0.0), rate)
        own, other = NAMES[name]
        print(f"{own} ({mine.hello['parameters']:,} parameters) beside {other} "
              f"({theirs.hello['parameters']:,} parameters, {theirs.hello['versions']}), "
              f"{job['context']} → {job['horizon']}, batches of {job['batch_size']}")  # fmt: skip
    for what in ("training", "model"):
        own_rate, rate = best[what, "regard"], best[what, "NeuralForecast"]
        print(f"  {what:<9}{own_rate:8,.0f} windows/s, {rate:8,.0f}: {own_rate / rate:.2f} ×")


def main() -> None:
    if sys.argv[1:2] and sys.argv[1].startswith("{"):
        ours(json.loads(sys.argv[1]))
        return
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--peer", required=True, help="the Python that has neuralforecast")
    parser.add_argument("--rounds", type=int, default=ROUNDS)
    parser.add_argument("--steps", type=int, default=STEPS, help="updates of a round")
    parser.add_argument("--models", nargs="+", choices=JOBS, default=list(JOBS))
    asked = parser.parse_args()
    with tempfile.TemporaryDirectory() as name:
        write_table(Path(name, "table.csv"))
        for model in asked.models:
            measure(model, asked, Path(name))


if __name__ == "__main__":
    main()
