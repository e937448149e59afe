"""Two small runs, really trained; a server for them; a browser."""

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
import uvicorn

from regard import machine
from regard.recipe import parse
from regard.studio.runs import OpenRun
from regard.studio.server import build_app
from regard.training.run import train

WORDS = ("nul", "ein", "dua", "tri", "kva", "kin", "ses", "sep", "ok", "nau")
TRAIN = {
    "steps": 120,
    "batch_tokens": 400,
    "learning_rate": 0.01,
    "warmup_steps": 20,
    "eval_every": 60,
    "save_every": 60,
    "log_every": 4,
    "eval_sentences": 4,
    "threads": 1,
    "device": "cpu",
    "precision": "float32",
}
MODELS: dict[str, dict[str, Any]] = {
    "digits": {
        "encoder_layers": 1,
        "decoder_layers": 2,
        "d_model": 32,
        "d_ff": 32,
        "num_heads": 2,
        "dropout": 0.0,
        "attention_dropout": 0.0,
        "norm": "pre",
    },
    "recurrent": {"kind": "recurrent", "cell": "gru", "d_model": 32, "attention": "additive"},
}


def write_pairs(folder: Path, name: str, count: int, seed: int) -> None:
    """Digits on the one side, their names on the other."""
    draw = random.Random(seed)
    rows = [draw.choices(range(10), k=draw.randint(2, 5)) for _ in range(count)]
    source = "".join(" ".join(map(str, row)) + "\n" for row in rows)
    target = "".join(" ".join(WORDS[digit] for digit in row) + "\n" for row in rows)
    (folder / f"{name}.xx").write_text(source, encoding="utf-8")
    (folder / f"{name}.yy").write_text(target, encoding="utf-8")


@pytest.fixture(scope="session")
def folders(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Path]:
    """A Transformer and a recurrent run that translate digits to words."""
    corpus = tmp_path_factory.mktemp("digits")
    write_pairs(corpus, "train", 400, seed=1)
    write_pairs(corpus, "valid", 12, seed=2)
    made = {}
    for name, model in MODELS.items():
        recipe = {
            "seed": 3,
            "data": {
                "folder": str(corpus),
                "train": ["train.xx", "train.yy"],
                "valid": ["valid.xx", "valid.yy"],
            },
            "tokenizer": {"vocabulary_size": 300},
            "model": model,
            "train": TRAIN if name == "digits" else {**TRAIN, "steps": 16},
        }
        made[name] = corpus / name
        with pytest.MonkeyPatch.context() as patch:
            patch.setattr(machine, "keep_big_buffers", lambda: False)
            train(parse(recipe, name), made[name])
    return made


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
