"""Tiny models with random weights, and servers over them that listen on this machine."""

import threading
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import httpx2
import pytest
import torch
import uvicorn

import regard
from regard.recipe import parse
from regard.run import Run
from regard.serve import loading
from regard.serve.answers import Answers
from regard.serve.app import build
from regard.serve.http.keys import Key, Keys, digest
from regard.serve.http.limits import Limits
from regard.serve.http.metrics import Metrics
from regard.serve.http.quotas import Quota
from regard.serve.http.sites import usual_sites
from regard.serve.listeners import bind
from regard.serve.loading import build_service
from regard.serve.server import uvicorn_config
from regard.serve.settings import Settings
from regard.serve.translation.service import Service
from regard.tasks.translation.translator import Translator
from regard.text.tokenizer import END, Tokenizer, Tokenizers
from regard.weights import build as build_model
from regard.weights import save_model, weights
from tests.cli.test_attend_images import write_run
from tests.series_runs import SETTINGS, write_forecasters

LETTERS = ["the cat sleeps. a dog eats the bone, we like big red apples! jo quiz vex?"]


class Clock:
    """A clock that only the test moves."""

    now = 0.0

    def __call__(self) -> float:
        return self.now


def tiny_run(folder: Path, source: str, target: str, seed: int) -> Path:
    """A run with random weights. Its output means nothing, but is always the same."""
    recipe = parse(
        {
            "data": {
                "train": ["a.x", "a.y"],
                "languages": [source, target],
                "max_length": 40,
            },
            "tokenizer": {"kind": "character", "vocabulary_size": 300},
            "model": {
                "encoder_layers": 1,
                "decoder_layers": 1,
                "d_model": 16,
                "d_ff": 16,
                "num_heads": 2,
                "dropout": 0.0,
            },
            "decode": {"beam_size": 3, "max_length_ratio": 0.5},
        },
        "test",
    )
    tokenizer = Tokenizer.train(LETTERS, kind="character", vocabulary_size=300)
    sizes = {"inputs": len(tokenizer), "outputs": len(tokenizer)}
    torch.manual_seed(seed)
    model: Any = build_model(recipe, sizes)
    spelled = [i for i, p in enumerate(tokenizer.pieces(range(len(tokenizer)))) if p[:3] == "<0x"]
    with torch.no_grad():
        model.target_embedding.weight *= 3
        model.output.weight[END, 0] = 2.0
        model.output.weight[spelled] = 0.0  # letters, not bytes
    folder.mkdir(parents=True)
    run = Run(folder)
    run.save_recipe(recipe)
    run.save_tokenizers(Tokenizers(tokenizer, tokenizer))
    save_model(run, weights(model), 1, sizes)
    return folder


def write_image_run(folder: Path, task: str, model: dict[str, Any]) -> Path:
    """A run of images and captions with random weights."""
    data = {"train": ["photos"], "captions": ["captions.tsv"], "image_size": 12}
    encoder = {"kind": "cnn", "widths": [8, 8]}
    recipe = parse({"task": task, "data": data, "encoder": encoder, "model": model}, "test")
    tokenizer = Tokenizer.train(LETTERS, kind="word", vocabulary_size=300)
    shape = {"height": 12, "width": 12, "channels": 3}
    sizes = {**shape, "inputs": len(tokenizer), "outputs": len(tokenizer)}
    torch.manual_seed(5)
    folder.mkdir(parents=True)
    run = Run(folder)
    run.save_recipe(recipe)
    run.save_tokenizers(Tokenizers(tokenizer, tokenizer))
    save_model(run, weights(build_model(recipe, sizes)), 1, sizes)
    return folder


@pytest.fixture(scope="session")
def image_runs(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Path]:
    """A captioner, a matcher and a classifier of images."""
    folder = tmp_path_factory.mktemp("image-runs")
    recurrent = {"kind": "recurrent", "d_model": 16}
    return {
        "captions": write_image_run(folder / "captions", "captioning", recurrent),
        "gallery": write_image_run(folder / "gallery", "matching", recurrent),
        "cnn": write_run(folder, "cnn"),
    }


@pytest.fixture(scope="session")
def series_runs(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Path]:
    """Forecasters of hours with a column that is known in advance, and of rows without times."""
    folder = tmp_path_factory.mktemp("series-runs")
    made = write_forecasters(folder, "linear")
    settings = {**SETTINGS, "data.calendar": "none", "model.kind": "linear", "train.steps": 30}
    values = [float(10 + step % 24) for step in range(300)]
    made["rows"] = folder / "rows"
    regard.train(series=values, horizon=6, out=made["rows"], settings=settings)
    return made


@pytest.fixture(scope="session")
def runs(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Path]:
    """fr → en, en → fr and en → de, so that fr → de goes through en."""
    folder = tmp_path_factory.mktemp("runs")
    pairs = [("fr", "en"), ("en", "fr"), ("en", "de")]
    return {
        f"{source}-{target}": tiny_run(folder / f"{source}-{target}", source, target, seed)
        for seed, (source, target) in enumerate(pairs)
    }


@dataclass
class Live:
    """A server that listens, and the service it answers from."""

    url: str
    service: Service
    client: httpx2.Client
    metrics: Metrics
    port: int
    server: uvicorn.Server = field(repr=False)

    def translator(self, source: str, target: str) -> Translator:
        (pair,) = self.service.pairs.route(source, target)
        return pair.translator

    def post(self, path: str, **values: Any) -> httpx2.Response:
        return self.client.post(path, json=values)

    def error(self, path: str, **values: Any) -> tuple[int, str]:
        """The status and the sentence of a refusal."""
        response = self.post(path, **values)
        return response.status_code, response.json()["error"]


Start = Callable[..., Live]


@pytest.fixture(scope="session")
def loaded_once() -> Iterator[None]:
    """Load once, for all servers, what takes long to load and never changes."""
    with pytest.MonkeyPatch.context() as patch:
        for name in ("Detector", "load_pairs"):
            slow, kept = getattr(loading, name), {}

            def once(what: Any, *others: Any, slow: Any = slow, kept: dict[Any, Any] = kept) -> Any:
                if tuple(what) not in kept:
                    kept[tuple(what)] = slow(what, *others)
                return kept[tuple(what)]

            patch.setattr(loading, name, once)
        yield


@pytest.fixture(scope="session")
def start(runs: dict[str, Path], loaded_once: None) -> Iterator[Start]:
    """Start a server with other limits, keys or suggestions. All servers stop after the tests."""
    started: list[tuple[Live, threading.Thread]] = []

    def begin(
        limits: Limits | None = None,
        secrets: dict[str, str] | None = None,
        more_runs: tuple[Path, ...] = (),
        quota: Quota | None = None,
        **others: Any,
    ) -> Live:
        places = tuple(map(str, (*runs.values(), *more_runs)))
        settings = Settings(places, port=0, limits=limits or Limits(), **others)
        metrics = Metrics()
        service = build_service(settings, lambda line: None)
        keys = Keys([Key(digest(secret), name, quota) for secret, name in (secrets or {}).items()])
        sites = usual_sites(settings.host, bool(keys), bool(settings.trusted_proxies))
        app = build(Answers(service), settings.limits, keys, metrics, sites=sites)
        listening = uvicorn.Server(uvicorn_config(app, settings))
        listener = bind("127.0.0.1", 0)
        port = listener.getsockname()[1]
        thread = threading.Thread(target=listening.run, kwargs={"sockets": [listener]}, daemon=True)
        thread.start()
        deadline = time.monotonic() + 60
        while not listening.started and time.monotonic() < deadline:
            time.sleep(0.01)
        url = f"http://127.0.0.1:{port}"
        client = httpx2.Client(base_url=url, timeout=60, trust_env=False)
        live = Live(url, service, client, metrics, port, listening)
        started.append((live, thread))
        return live

    yield begin
    for live, _ in started:
        live.client.close()
        # Some tests leave requests that never end, and no test waits for an answer any more.
        live.server.config.timeout_graceful_shutdown = 1
        live.server.should_exit = True
    for live, thread in started:
        thread.join(30)
        live.service.batcher.stop()


@pytest.fixture(scope="session")
def live(start: Start) -> Live:
    """A server with the usual limits and no keys."""
    return start()
