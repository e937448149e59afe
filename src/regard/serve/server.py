"""The server: it loads run folders, listens on a port and answers requests."""

import gc
import logging
import signal
import socket
import sys
import time
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import NoReturn

import uvicorn
from starlette.types import ASGIApp

from regard.engines import EngineName
from regard.errors import RequestError
from regard.machine.cores import usable_cores
from regard.serve.app import build
from regard.serve.http.access_log import AccessLog
from regard.serve.http.keys import Keys
from regard.serve.http.limits import Limits
from regard.serve.http.metrics import Metrics
from regard.serve.http.protocol import bounded_protocol
from regard.serve.image_models import ImageModels
from regard.serve.language_models import LanguageModels, served
from regard.serve.translation.batching import MAX_BATCH_SENTENCES, Batcher
from regard.serve.translation.detection import Detector
from regard.serve.translation.files import Downloads
from regard.serve.translation.memory import TranslationMemory
from regard.serve.translation.pairs import LanguagePairs, load_pairs
from regard.serve.translation.service import Service


@dataclass(frozen=True)
class Settings:
    """What to serve, and how."""

    runs: tuple[str, ...]
    host: str = "127.0.0.1"
    port: int = 5000
    api_keys: Path | None = None
    suggestions: Path | None = None
    trusted_proxies: tuple[str, ...] = ()
    device: str = "cpu"
    engine: EngineName = "auto"
    int8: bool = False
    workers: int | None = None
    batch: int = MAX_BATCH_SENTENCES
    quiet: bool = False
    limits: Limits = field(default_factory=Limits)


def serve(settings: Settings, say: Callable[[str], None]) -> None:
    """Load the runs and answer requests until a signal. Then finish the running requests."""
    start = time.perf_counter()
    for number in (signal.SIGTERM, signal.SIGINT):
        signal.signal(number, exit_at_once)
    keys = Keys.read(settings.api_keys) if settings.api_keys else Keys()
    with bind(settings.host, settings.port) as listener:
        metrics = Metrics()
        service = build_service(settings, metrics, say)
        warm_up(service.pairs)
        app = build(service, keys, metrics, None if settings.quiet else AccessLog())
        address = address_of(listener)

        def report_ready() -> None:
            seconds = time.perf_counter() - start
            say(f"Ready in {seconds:.1f} s: http://{address}/ (Ctrl-C stops)")

        tune_garbage_collection()
        server = Server(uvicorn_config(app, settings), report_ready)
        try:
            server.run(sockets=[listener])
        finally:
            service.batcher.stop()


def tune_garbage_collection() -> None:
    """Make full collections rare: one takes a tenth of a second when hundreds of requests wait, and
    stops all of them. What is loaded now stays, and requests leave hardly any garbage.
    """
    gc.collect()
    gc.freeze()
    gc.set_threshold(10_000, 10, 100)


class Server(uvicorn.Server):
    """A server that reports when it accepts requests."""

    def __init__(self, config: uvicorn.Config, ready: Callable[[], None]) -> None:
        super().__init__(config)
        self._ready = ready

    async def startup(self, sockets: list[socket.socket] | None = None) -> None:
        await super().startup(sockets)
        self._ready()


def uvicorn_config(app: ASGIApp, settings: Settings) -> uvicorn.Config:
    # Any client can cause a warning of uvicorn. Our own log has what goes wrong.
    logging.getLogger("uvicorn.error").setLevel(logging.ERROR)
    return uvicorn.Config(
        app,
        http=bounded_protocol(settings.limits),
        ws="none",
        lifespan="off",
        log_config=None,
        access_log=False,
        server_header=False,
        # Other clients must not choose the address that they are counted under.
        proxy_headers=bool(settings.trusted_proxies),
        forwarded_allow_ips=list(settings.trusted_proxies),
        timeout_keep_alive=15,
        timeout_graceful_shutdown=settings.limits.drain_seconds,
    )


def build_service(settings: Settings, metrics: Metrics, say: Callable[[str], None]) -> Service:
    others = [run for run in settings.runs if gives(run, "embeddings")]
    labellers = [run for run in settings.runs if gives(run, "labels")]
    translators = [run for run in settings.runs if run not in (*others, *labellers)]
    pairs = load_pairs(translators, settings.device, settings.engine, settings.int8, say)
    language_models = LanguageModels()
    for run in others:
        language_models.add(Path(run), settings.device)
        say(f"  {language_models.names[-1]}: {run}")
    image_models = ImageModels()
    for run in labellers:
        image_models.add(Path(run), settings.device)
        say(f"  {Path(run).resolve().name}: {run}")
    limits = settings.limits
    threads = settings.workers or default_threads(pairs)
    for pair in pairs.pairs:
        if hasattr(pair.translator.engine, "batches_a_call"):
            pair.translator.engine.batches_a_call = 1
    return Service(
        pairs=pairs,
        batcher=Batcher(threads, limits.queued_sentences, settings.batch, metrics.record_batch),
        detector=Detector(pairs.sources),
        limits=limits,
        downloads=Downloads(limits.file_bytes),
        memory=TranslationMemory(settings.suggestions, limits.suggestion_bytes)
        if settings.suggestions
        else None,
        language_models=language_models,
        image_models=image_models,
    )


def gives(run: str, answer: str) -> bool:
    """Whether a run gives embeddings, or labels of images. Whatever gives neither is loaded as a
    translator, which reports what is wrong with it.
    """
    folder = Path(run)
    return (folder / "recipe.toml").is_file() and answer in served(folder)


def default_threads(pairs: LanguagePairs) -> int:
    """One thread for each core; only one where PyTorch searches, which uses all cores itself."""
    fast = all(hasattr(pair.translator.engine, "batches_a_call") for pair in pairs.pairs)
    if not fast:
        return 1
    return usable_cores()


def warm_up(pairs: LanguagePairs) -> None:
    """Translate something with each pair, since the first translation takes longer."""
    for pair in pairs.pairs:
        pair.translator.translate(["a"])


def bind(host: str, port: int) -> socket.socket:
    """A socket that holds the port, but accepts no connections while the models load."""
    if not 0 <= port <= 65535:
        raise RequestError(f"--port {port}: ports are numbers up to 65535; choose another")
    try:
        family, kind, _, _, address = socket.getaddrinfo(host, port, type=socket.SOCK_STREAM)[0]
        listener = socket.socket(family, kind)
        try:
            listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
            listener.bind(address)
        except OSError:
            listener.close()
            raise
    except (OSError, UnicodeError) as error:
        reason = getattr(error, "strerror", None) or error
        raise RequestError(
            f"{host}:{port}: cannot listen there ({reason}); choose another --host or --port"
        ) from None
    return listener


def address_of(listener: socket.socket) -> str:
    host, port = listener.getsockname()[:2]
    return f"[{host}]:{port}" if ":" in host else f"{host}:{port}"


def exit_at_once(number: int, frame: object) -> NoReturn:
    """Handle a signal before uvicorn serves, and the one that uvicorn raises again at its end."""
    sys.exit(0)
