"""NeuralForecast as a contender of `benchmarks.series`. It runs in an environment of its own, so
nothing of regard is imported here.
"""

import json
import logging
import sys
import time
import warnings
from importlib.metadata import version
from typing import Any

import pandas as pd
import torch
from neuralforecast.losses.pytorch import MAE, MQLoss
from neuralforecast.models import GRU, PatchTST
from neuralforecast.tsdataset import TimeSeriesDataset
from pytorch_lightning import Callback

from benchmarks.process import Message, Replies

WARM_UP = 3


class Clock(Callback):
    """Processor time at the end of each update."""

    def __init__(self) -> None:
        self.times: list[float] = []

    def on_train_batch_end(self, *_: object) -> None:
        self.times.append(time.process_time())


def build(job: Message, steps: int, clock: Clock) -> Any:
    """The model; whatever Lightning writes beside the training is switched off."""
    given = {
        "h": job["horizon"],
        "input_size": job["context"],
        "loss": MAE() if job.get("point") else MQLoss(quantiles=job["quantiles"]),
        "max_steps": steps,
        "learning_rate": job["learning_rate"],
        "batch_size": 1,  # series of which all windows are made for each update
        "windows_batch_size": job["batch_size"],
        "callbacks": [clock],
        "logger": False,
        "enable_progress_bar": False,
        "enable_checkpointing": False,
        "enable_model_summary": False,
        "accelerator": "cpu",
    }
    if job["kind"] == "recurrent":
        return GRU(
            **given,
            encoder_n_layers=job["num_layers"],
            encoder_hidden_size=job["d_model"],
            encoder_dropout=job["dropout"],
            decoder_layers=1,
            scaler_type="standard",
        )
    return PatchTST(
        **given,
        encoder_layers=job["num_layers"],
        n_heads=job["num_heads"],
        hidden_size=job["d_model"],
        linear_hidden_size=job["d_ff"],
        dropout=job["dropout"],
        patch_len=job["patch_size"],
        stride=job["patch_size"],
    )


def trained(job: Message, dataset: TimeSeriesDataset, steps: int) -> float:
    """Seconds of updates, as the library trains."""
    clock = Clock()
    build(job, steps + WARM_UP, clock).fit(dataset)
    return clock.times[-1] - clock.times[WARM_UP - 1]


def alone(job: Message, steps: int) -> float:
    """Seconds of updates of the model on one batch, without data."""
    model = build(job, 1, Clock()).train()
    past = torch.randn(job["batch_size"], job["context"], 1)
    future = torch.randn(job["batch_size"], job["horizon"], 1)
    given = {"insample_y": past, "insample_mask": torch.ones_like(past)}
    given |= {"futr_exog": None, "hist_exog": None, "stat_exog": None}
    optimizer = torch.optim.Adam(model.parameters(), lr=job["learning_rate"])
    for step in range(steps + WARM_UP):
        if step == WARM_UP:
            started = time.process_time()
        found = model.loss.domain_map(model(given))
        optimizer.zero_grad()
        model.loss(y=future, y_hat=found, mask=torch.ones_like(future)).backward()
        optimizer.step()
    return time.process_time() - started


def main() -> None:
    job = json.loads(sys.argv[1])
    warnings.filterwarnings("ignore")
    logging.getLogger("pytorch_lightning").setLevel(logging.ERROR)
    torch.set_num_threads(job["threads"])
    frame = pd.read_csv(job["table"], parse_dates=["ds"])
    dataset = TimeSeriesDataset.from_df(frame)[0]
    parameters = sum(each.numel() for each in build(job, 1, Clock()).parameters())

    def answer(request: Message) -> Message:
        steps = request["steps"]
        alone_only = request["what"] == "model"
        return {"seconds": alone(job, steps) if alone_only else trained(job, dataset, steps)}

    hello = {
        "parameters": parameters,
        "versions": f"NeuralForecast {version('neuralforecast')}, torch {version('torch')}",
    }
    Replies().serve(hello, answer)


if __name__ == "__main__":
    main()
