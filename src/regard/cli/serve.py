"""regard serve: a translation server over trained runs."""

import os
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Literal

from cyclopts import Parameter


@dataclass
class LimitFlags:
    """What one request or one caller may ask for.

    Parameters
    ----------
    max_characters
        Of all texts of a request.
    max_texts
        Of a request.
    max_alternatives
        Of a text.
    max_body_bytes
        Of a request.
    texts_per_minute
        Of one key, or of one address where there are no keys.
    queue
        Sentences that may wait; beyond them requests are told to come again.
    timeout_seconds
        To answer a request.
    """

    max_characters: int = 20_000
    max_texts: int = 256
    max_alternatives: int = 10
    max_body_bytes: int = 4 << 20
    texts_per_minute: int = 6000
    queue: int = 4096
    timeout_seconds: float = 60.0


def serve(
    runs: Annotated[tuple[str, ...], Parameter(negative=())],
    /,
    *,
    host: str = "127.0.0.1",
    port: int = 5000,
    api_keys: Path | None = None,
    suggestions: Path | None = None,
    trusted_proxy: tuple[str, ...] = (),
    engine: Literal["auto", "torch", "ctranslate2"] = "auto",
    int8: bool = False,
    workers: int | None = None,
    batch: int = 64,
    quiet: bool = False,
    limits: Annotated[LimitFlags | None, Parameter(name="*")] = None,
) -> None:
    """Answer translation requests over HTTP.

    Parameters
    ----------
    runs
        Run folders, a language pair each; en:de=FOLDER where a run does not tell its languages.
    host
        The address to listen at; 0.0.0.0 is every address of this machine.
    port
        The port to listen at; 0 takes a free one.
    api_keys
        A file with a key a line and a name after it; without it everyone is answered.
    suggestions
        A folder to keep suggested translations in; without it there are none.
    trusted_proxy
        The address of a proxy whose X-Forwarded-For is believed; may be given several times.
    engine
        What searches: torch, ctranslate2, or auto, which is ctranslate2 where it can answer.
    int8
        Products of whole numbers with ctranslate2: quicker, and now and then another word.
    workers
        Threads that translate side by side; by default one a core with ctranslate2.
    batch
        Sentences translated together at most; 1 turns batching off.
    quiet
        Leave out the access log.
    """
    os.environ.setdefault("TOKENIZERS_PARALLELISM", "true")
    from regard.cli.display import say
    from regard.serve.http.limits import Limits
    from regard.serve.server import Settings
    from regard.serve.server import serve as run_server

    given = limits or LimitFlags()
    settings = Settings(
        runs=runs,
        host=host,
        port=port,
        api_keys=api_keys,
        suggestions=suggestions,
        trusted_proxies=trusted_proxy,
        engine=engine,
        int8=int8,
        workers=workers,
        batch=batch,
        quiet=quiet,
        limits=Limits(
            characters=given.max_characters,
            texts=given.max_texts,
            alternatives=given.max_alternatives,
            body_bytes=given.max_body_bytes,
            texts_per_minute=given.texts_per_minute,
            queued_sentences=given.queue,
            request_seconds=given.timeout_seconds,
        ),
    )
    run_server(settings, say)
