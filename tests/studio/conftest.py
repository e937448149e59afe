"""Two small runs and a server for them."""

import http.client
import json
import random
import threading
import time
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest
import torch
import uvicorn
from torch import nn

from regard.data.batch import batch_pairs
from regard.recipe import parse
from regard.run import Run
from regard.studio.runs import OpenRun
from regard.studio.server import build_app
from regard.tasks.translation.heads import head_importance
from regard.text.tokenizer import END, PAD, Tokenizer, Tokenizers
from regard.weights import build, save_checkpoint, save_model, weights

WORDS = ("nul", "ein", "dua", "tri", "kva", "kin", "ses", "sep", "ok", "nau")
MODELS: dict[str, dict[str, Any]] = {
    "digits": {
        "encoder_layers": 1,
        "decoder_layers": 2,
        "d_model": 32,
        "d_ff": 32,
        "num_heads": 2,
        "norm": "pre",
        "tied_embeddings": "none",
    },
    "recurrent": {"kind": "recurrent", "cell": "gru", "d_model": 32, "attention": "additive"},
}
STEPS = (60, 120)
SIZES = {"num_layers": 2, "d_model": 16, "d_ff": 16, "num_heads": 2}
TEXT_TASKS: dict[str, dict[str, Any]] = {
    "language-model": {"data": {"train": ["a.txt"]}, "model": {"kind": "gpt", **SIZES}},
    "masked-language-model": {
        "data": {"train": ["a.txt"]},
        "model": {"kind": "bert", **SIZES},
    },
    "classification": {"data": {"train": ["a.tsv"]}, "model": {"kind": "bert", **SIZES}},
    "tagging": {"data": {"train": ["a.conllu"]}, "model": {"kind": "bert", **SIZES}},
}
LABELS = ["glad", "sad"]
SENTENCE = "the grey cat sleeps"


def pairs(count: int, seed: int) -> list[tuple[str, str]]:
    """Digits on the one side, their names on the other."""
    draw = random.Random(seed)
    rows = [draw.choices(range(10), k=draw.randint(2, 5)) for _ in range(count)]
    return [(" ".join(map(str, row)), " ".join(WORDS[digit] for digit in row)) for row in rows]


def lessons(model: nn.Module, found: list[tuple[str, str]], tokenizer: Tokenizer) -> Iterator[int]:
    """Learn all pairs at once, again and again; the number of updates made after each of STEPS."""
    sides = [[[*tokenizer.encode(text), END] for text in side] for side in zip(*found, strict=True)]
    batch = batch_pairs(*sides)
    optimizer = torch.optim.Adam(model.parameters(), lr=0.01)
    for step in range(1, STEPS[-1] + 1):
        logits = model(batch.source, batch.source_mask, batch.target)
        loss = nn.functional.cross_entropy(logits.transpose(1, 2), batch.labels, ignore_index=PAD)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        if step in STEPS:
            yield step


def log_lines(found: list[tuple[str, str]]) -> Iterator[dict[str, Any]]:
    """What training would have written."""
    for step in range(4, STEPS[-1] + 1, 4):
        loss, rate = 5 / step**0.5, 0.01 * min(1, step / 20)
        yield {"event": "step", "step": step, "loss": loss, "learning_rate": rate}
        yield {"event": "step", "step": step, "grad_norm": loss / 2, "tokens": 400, "seconds": 0.1}
    for step in STEPS:
        samples = [{"source": s, "reference": t, "output": t.split()[0]} for s, t in found[:3]]
        values = {"loss": 2.0, "perplexity": 7.4, "bleu": float(step), "samples": samples}
        yield {"event": "validation", "step": step, **values}


@pytest.fixture(scope="session")
def folders(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Path]:
    """A Transformer that has learned its pairs by heart, and a recurrent model that has not."""
    corpus = tmp_path_factory.mktemp("digits")
    for name, found in (("train", pairs(40, seed=1)), ("valid", pairs(8, seed=2))):
        for side, suffix in enumerate(("xx", "yy")):
            lines = "".join(pair[side] + "\n" for pair in found)
            (corpus / f"{name}.{suffix}").write_text(lines, encoding="utf-8")
    found = pairs(40, seed=1)
    tokenizer = Tokenizer.train((text for pair in found for text in pair), vocabulary_size=330)
    made = {}
    for name, sizes in MODELS.items():
        data = {"folder": str(corpus), "train": ["train.xx", "train.yy"]}
        data["valid"] = ["valid.xx", "valid.yy"]
        recipe = parse({"data": data, "model": sizes, "decode": {"max_length_ratio": 0.1}}, name)
        made[name] = corpus / name
        run = Run(made[name])
        run.training.mkdir(parents=True)
        run.save_recipe(recipe)
        run.save_tokenizers(Tokenizers(tokenizer, tokenizer))
        torch.manual_seed(1)
        sizes_of_data = {"inputs": len(tokenizer), "outputs": len(tokenizer)}
        model = build(recipe, sizes_of_data)
        # One that has learned to end what it says is enough; the other is slow to learn.
        steps = lessons(model, found, tokenizer) if name == "digits" else iter(STEPS)
        for step in steps:
            kept = weights(model)
            save_checkpoint(run, step, {f"weight/{key}": value for key, value in kept.items()}, {})
            save_model(run, kept, step, sizes_of_data)
        text = "".join(json.dumps(line) + "\n" for line in log_lines(found))
        (run.folder / "log.jsonl").write_text(text)
        run.save_info({"step": STEPS[-1], "languages": ["xx", "yy"], "parameters": 12345})
    head_importance(made["digits"], sentences=8, how="zero", curve=True)
    return made


def text_run(folder: Path, task: str) -> Path:
    torch.manual_seed(5)
    recipe = parse({"task": task, **TEXT_TASKS[task]}, task)
    tokenizer = Tokenizer.train([SENTENCE, "a dog sleeps"], vocabulary_size=300)
    run = Run(folder / task)
    run.training.mkdir(parents=True)
    run.save_recipe(recipe)
    run.save_tokenizers(Tokenizers(tokenizer, tokenizer))
    outputs = len(tokenizer)
    if task in ("classification", "tagging"):
        run.labels_path.write_text(json.dumps({"labels": LABELS}))
        outputs = len(LABELS)
    sizes = {"inputs": len(tokenizer), "outputs": outputs}
    model = build(recipe, sizes)
    save_model(run, weights(model), 1, sizes)
    return run.folder


@pytest.fixture(scope="session")
def text_folders(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Path]:
    """A model that has learned nothing for each task that is not translation."""
    folder = tmp_path_factory.mktemp("texts")
    return {task: text_run(folder, task) for task in TEXT_TASKS}


@dataclass(frozen=True)
class Answer:
    status: int
    headers: dict[str, str]
    body: bytes

    def json(self) -> Any:
        return json.loads(self.body)


@dataclass(frozen=True)
class Served:
    port: int

    @property
    def address(self) -> str:
        return f"http://127.0.0.1:{self.port}/"

    def ask(
        self, path: str, values: object = None, headers: dict[str, str] | None = None
    ) -> Answer:
        """GET, or POST of JSON when there are values."""
        connection = http.client.HTTPConnection("127.0.0.1", self.port, timeout=100)
        given = {"Host": f"127.0.0.1:{self.port}", **(headers or {})}
        try:
            if values is None:
                connection.request("GET", path, headers=given)
            else:
                given = {"Content-Type": "application/json", **given}
                data = values if isinstance(values, bytes) else json.dumps(values).encode()
                connection.request("POST", path, data, given)
            found = connection.getresponse()
            names = {name.lower(): value for name, value in found.getheaders()}
            return Answer(found.status, names, found.read())
        finally:
            connection.close()


class Serving:
    """A server in a thread, on a port of its own."""

    def __init__(self, folders: list[Path], host: str = "127.0.0.1", token: str = "") -> None:
        runs = [OpenRun(folder) for folder in folders]
        config = uvicorn.Config(
            build_app(runs, host, token), port=0, log_level="warning", timeout_graceful_shutdown=1
        )
        self.server = uvicorn.Server(config)
        self.thread = threading.Thread(target=self.server.run, daemon=True)

    def __enter__(self) -> Served:
        self.thread.start()
        until = time.monotonic() + 60
        while not self.server.started:
            assert time.monotonic() < until
            assert self.thread.is_alive()
            time.sleep(0.01)
        return Served(self.server.servers[0].sockets[0].getsockname()[1])

    def __exit__(self, *_: object) -> None:
        self.server.should_exit = True
        self.thread.join(20)


@pytest.fixture(scope="session")
def served(folders: dict[str, Path]) -> Iterator[Served]:
    with Serving(list(folders.values())) as server:
        yield server
