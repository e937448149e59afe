"""From run folders to a server that answers."""

import gc
import logging
import os
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
from regard.serve.app import build
from regard.serve.http.access_log import AccessLog
from regard.serve.http.keys import Keys
from regard.serve.http.limits import Limits
from regard.serve.http.metrics import Metrics
from regard.serve.http.protocol import protocol
from regard.serve.language_models import READING, LanguageModels, task_of
from regard.serve.translation.batching import MOST_SENTENCES, Batcher
from regard.serve.translation.detection import Detector
from regard.serve.translation.files import Downloads
from regard.serve.translation.memory import Memory
from regard.serve.translation.pairs import Pairs, load
from regard.serve.translation.service import Service


@dataclass(frozen=True)
class Settings:
    """How to serve."""

    runs: tuple[str, ...]
    host: str = "127.0.0.1"
    port: int = 5000
    api_keys: Path | None = None
    suggestions: Path | None = None
    trusted_proxies: tuple[str, ...] = ()
    engine: EngineName = "auto"
    int8: bool = False
    workers: int | None = None
    batch: int = MOST_SENTENCES
    quiet: bool = False
    limits: Limits = field(default_factory=Limits)


def serve(settings: Settings, say: Callable[[str], None]) -> None:
    """Load, listen, answer until told to stop, finish what was begun."""
    begun = time.perf_counter()
    for number in (signal.SIGTERM, signal.SIGINT):
        signal.signal(number, leave)
    keys = Keys.read(settings.api_keys) if settings.api_keys else Keys()
    with bound(settings.host, settings.port) as listener:
        metrics = Metrics()
        service = build_service(settings, metrics, say)
        warm_up(service.pairs)
        app = build(service, keys, metrics, None if settings.quiet else AccessLog())
        place = address(listener)

        def ready() -> None:
            seconds = time.perf_counter() - begun
            say(f"Ready in {seconds:.1f} s: http://{place}/ (Ctrl-C stops)")

        spare_collections()
        server = Server(configuration(app, settings), ready)
        try:
            server.run(sockets=[listener])
        finally:
            service.batcher.stop()


def spare_collections() -> None:
    """A full collection of garbage stops everything for a tenth of a second when hundreds wait.
    What is loaded need not be looked at again, and requests leave next to nothing to collect.
    """
    gc.collect()
    gc.freeze()
    gc.set_threshold(10_000, 10, 100)


class Server(uvicorn.Server):
    """Says when it answers, and not before."""

    def __init__(self, config: uvicorn.Config, ready: Callable[[], None]) -> None:
        super().__init__(config)
        self._ready = ready

    async def startup(self, sockets: list[socket.socket] | None = None) -> None:
        await super().startup(sockets)
        self._ready()


def configuration(app: ASGIApp, settings: Settings) -> uvicorn.Config:
    # What uvicorn warns of, anyone can make it say; what goes wrong is in our own log.
    logging.getLogger("uvicorn.error").setLevel(logging.ERROR)
    return uvicorn.Config(
        app,
        http=protocol(settings.limits),
        ws="none",
        lifespan="off",
        log_config=None,
        access_log=False,
        server_header=False,
        # Otherwise anyone could claim any address.
        proxy_headers=bool(settings.trusted_proxies),
        forwarded_allow_ips=list(settings.trusted_proxies),
        timeout_keep_alive=15,
        timeout_graceful_shutdown=settings.limits.drain_seconds,
    )


def build_service(settings: Settings, metrics: Metrics, say: Callable[[str], None]) -> Service:
    others = [place for place in settings.runs if writes_or_reads(place)]
    translators = [place for place in settings.runs if place not in others]
    pairs = load(translators, settings.engine, settings.int8, say)
    language_models = LanguageModels()
    for place in others:
        language_models.add(Path(place))
        say(f"  {language_models.names[-1]}: {place}")
    limits = settings.limits
    threads = settings.workers or usual_threads(pairs)
    for pair in pairs.pairs:
        if hasattr(pair.translator.engine, "batches_a_call"):
            pair.translator.engine.batches_a_call = 1
    return Service(
        pairs=pairs,
        batcher=Batcher(threads, limits.queued_sentences, settings.batch, metrics.batch),
        detector=Detector(pairs.sources),
        limits=limits,
        downloads=Downloads(limits.file_bytes),
        memory=Memory(settings.suggestions, limits.suggestion_bytes)
        if settings.suggestions
        else None,
        language_models=language_models,
    )


def writes_or_reads(place: str) -> bool:
    """Whether a run is a language model or an encoder; other names are told what they lack by the
    loading of translators.
    """
    folder = Path(place)
    return (folder / "recipe.toml").is_file() and task_of(folder) in READING


def usual_threads(pairs: Pairs) -> int:
    """A thread for each core, unless PyTorch searches, which takes all cores for itself."""
    fast = all(hasattr(pair.translator.engine, "batches_a_call") for pair in pairs.pairs)
    if not fast:
        return 1
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1


def warm_up(pairs: Pairs) -> None:
    """Translate something once: the first time takes longer."""
    for pair in pairs.pairs:
        pair.translator.translate(["a"])


def bound(host: str, port: int) -> socket.socket:
    """A socket that is ours, but does not yet take connections: nobody waits while models load."""
    if not 0 <= port <= 65535:
        raise RequestError(f"--port {port}: ports are numbers up to 65535; choose another")
    try:
        family, kind, _, _, place = socket.getaddrinfo(host, port, type=socket.SOCK_STREAM)[0]
        listener = socket.socket(family, kind)
        try:
            listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
            listener.bind(place)
        except OSError:
            listener.close()
            raise
    except (OSError, UnicodeError) as error:
        reason = getattr(error, "strerror", None) or error
        raise RequestError(
            f"{host}:{port}: cannot listen there ({reason}); choose another --host or --port"
        ) from None
    return listener


def address(listener: socket.socket) -> str:
    host, port = listener.getsockname()[:2]
    return f"[{host}]:{port}" if ":" in host else f"{host}:{port}"


def leave(number: int, frame: object) -> NoReturn:
    """Before serving, stop at once; after serving, uvicorn raises the signal once more."""
    sys.exit(0)
