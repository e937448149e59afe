"""regard serve: a server over trained runs."""

import os
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

from cyclopts import Parameter
from cyclopts.validators import Number

from regard.cli.options import AT_LEAST_1, Device, Engine, Int8, Port

if TYPE_CHECKING:
    from regard.run import Run

Count = Annotated[int, AT_LEAST_1]


@dataclass
class LimitFlags:
    """Limits of a request or a caller.

    Parameters
    ----------
    max_characters
        Characters in all texts of a request.
    max_texts
        Texts of a request.
    max_alternatives
        Alternatives for a text, or for the caption of an image.
    max_images
        Images of a request.
    max_values
        Values of the series of a request, and of their forecasts.
    max_body_bytes
        Bytes of a request.
    texts_per_minute
        Texts per minute of one key, or of one address where there are no keys.
    queue
        Sentences that may wait; a request beyond them is refused and may be sent again later.
    timeout_seconds
        Seconds to answer a request.
    """

    max_characters: Count = 20_000
    max_texts: Count = 256
    max_alternatives: Annotated[int, Parameter(validator=Number(gte=0))] = 10
    max_images: Count = 16
    max_values: Count = 200_000
    max_body_bytes: Count = 4 << 20
    texts_per_minute: Count = 6000
    queue: Count = 4096
    timeout_seconds: Annotated[float, Parameter(validator=Number(gt=0))] = 60.0


@dataclass
class PlaceFlags:
    """Where the server is reached, and by whom.

    Parameters
    ----------
    unix_socket
        Listen at a socket of this name instead of a port; its owner and group may connect.
    root_path
        The path of another site under which a proxy serves this one, like /translate.
    allowed_hosts
        A name under which the server answers, beside this machine's own; * is any. Repeat it.
    cors_origins
        Another site whose pages may ask the server, like https://example.org; * is any. Repeat it.
    trusted_proxy
        The address of a proxy whose X-Forwarded-For is trusted, or unix for all who may connect to
        the socket. Repeat it for more proxies.
    metrics_port
        Serve /metrics at a port of its own, without keys, and no longer at the other.
    metrics_host
        The address of that port.
    """

    unix_socket: Path | None = None
    root_path: str = ""
    allowed_hosts: tuple[str, ...] = ()
    cors_origins: tuple[str, ...] = ()
    trusted_proxy: tuple[str, ...] = ()
    metrics_port: Port | None = None
    metrics_host: str = "127.0.0.1"


def serve(
    runs: Annotated[tuple[str, ...], Parameter(negative=())],
    /,
    *,
    host: str = "127.0.0.1",
    port: Port = 5000,
    api_keys: Path | None = None,
    suggestions: Path | None = None,
    glossaries: Path | None = None,
    memory: Annotated[tuple[str, ...], Parameter(negative=())] = (),
    usage: Path | None = None,
    device: Device = "cpu",
    engine: Engine = "auto",
    int8: Int8 = False,
    workers: Annotated[
        int | None,
        AT_LEAST_1,
        Parameter(show_default="one for each core with ctranslate2, else 1"),
    ] = None,
    batch: Count = 64,
    quiet: bool = False,
    place: Annotated[PlaceFlags | None, Parameter(name="*")] = None,
    limits: Annotated[LimitFlags | None, Parameter(name="*")] = None,
) -> None:
    """Answer requests over HTTP, as LibreTranslate, DeepL and OpenAI do.

    Translators answer translation requests; other runs complete texts, turn texts and images into
    vectors, label or describe images, compare them with texts, or forecast series. Ctrl-C stops the
    server.

    Parameters
    ----------
    runs
        Run folders; en:de=FOLDER if the run of a translator does not name its languages. Other runs
        are served under the names of their folders.
    host
        The address to listen at; 0.0.0.0 is every address of this machine.
    port
        The port to listen at; 0 takes a free one.
    api_keys
        A file with one key per line and a name after it; without it, everyone is answered.
    suggestions
        Keep suggested translations in this folder; without it, suggestions are refused.
    glossaries
        Keep the glossaries that DeepL's clients send in this folder; without it, they are refused.
    memory
        A translation memory (a .tmx, or another file of pairs), which answers requests with
        "memory": true where a sentence is exactly the same; en:de=FILE if there are several pairs
        of languages. Repeat it for more.
    usage
        Count what each key has used of its quota in this file.
    workers
        Threads that translate side by side.
    batch
        Translate at most this many sentences together; 1 turns batching off.
    quiet
        Write no access log.
    """
    os.environ.setdefault("TOKENIZERS_PARALLELISM", "true")
    from regard.cli.checks import check_inputs, check_room_for, open_run
    from regard.cli.display import say

    check_inputs(api_keys)
    for folder in (suggestions, glossaries):
        if folder is not None:
            check_room_for(folder)
    for run in runs:
        check_served(open_run(Path(folder_of(run))))
    from regard.serve.http.limits import Limits
    from regard.serve.server import serve as run_server
    from regard.serve.settings import Settings

    given, where = limits or LimitFlags(), place or PlaceFlags()
    settings = Settings(
        runs=runs,
        host=host,
        port=port,
        api_keys=api_keys,
        suggestions=suggestions,
        glossaries=glossaries,
        memory=memory,
        usage=usage,
        unix_socket=where.unix_socket,
        metrics_port=where.metrics_port,
        metrics_host=where.metrics_host,
        trusted_proxies=where.trusted_proxy,
        allowed_hosts=where.allowed_hosts,
        cors_origins=where.cors_origins,
        root_path=root_path_of(where.root_path),
        device=device,
        engine=engine,
        int8=int8,
        workers=workers,
        batch=batch,
        quiet=quiet,
        limits=Limits(
            characters=given.max_characters,
            texts=given.max_texts,
            alternatives=given.max_alternatives,
            images=given.max_images,
            values=given.max_values,
            body_bytes=given.max_body_bytes,
            texts_per_minute=given.texts_per_minute,
            queued_sentences=given.queue,
            request_seconds=given.timeout_seconds,
        ),
    )
    run_server(settings, say)


def root_path_of(given: str) -> str:
    """The path with a slash before it, and none after it."""
    path = given.strip("/")
    return f"/{path}" if path else ""


def check_served(run: "Run") -> None:
    from regard import tasks
    from regard.errors import RunError
    from regard.run import commands_for

    if not tasks.entry(run.task_name()).serves:
        ways = " or ".join(f"`{each}`" for each in commands_for(run.recipe(), run.folder))
        raise RunError(
            f"{run.folder}: a run of task {run.task_name()}, which the server cannot answer with; "
            f"use {ways}"
        )


def folder_of(run: str) -> str:
    """FOLDER, also of en:de=FOLDER."""
    languages, equals, folder = run.partition("=")
    return folder if equals and ":" in languages and "/" not in languages else run
