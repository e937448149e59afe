"""regard studio: look inside a run in the browser."""

import secrets
import socket
import sys
import webbrowser
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING, Annotated
from urllib.parse import urlencode

from cyclopts import Parameter

from regard.cli.options import Device, Port

if TYPE_CHECKING:
    from regard.studio.runs import OpenRun

PORT = 8800


def studio(
    run: Path,
    against: Path | None = None,
    /,
    *,
    host: str = "127.0.0.1",
    port: Annotated[Port | None, Parameter(show_default="8800, or a free one")] = None,
    token: str | None = None,
    device: Device = "cpu",
    open_page: Annotated[bool, Parameter(name="--open")] = False,
    publish: Path | None = None,
    text: Annotated[tuple[str, ...], Parameter(negative=())] = (),
    tour: Path | None = None,
) -> None:
    """Look inside a run, or inside two runs, in the browser.

    A page shows translations, attention, heads, beam search and training curves. Ctrl-C closes it.

    Parameters
    ----------
    run
        A run folder, finished or still in training.
    against
        A second run folder, to see the same sentence in two models.
    host
        The address to listen at. An address that others can reach needs a token.
    port
        The port to listen at; 0 takes a free one.
    token
        What a visitor must know. An address that others can reach gets a new one by default.
    open_page
        Open the page in the browser.
    publish
        Write a lesson to this file instead: the page with its answers about some sentences, which
        any browser opens from the disk.
    text
        A sentence of the lesson; may be given several times. By default the first held-out ones.
    tour
        A tour of one's own, as JSON; by default the one that follows the lectures.
    """
    from regard.cli.display import results, say
    from regard.errors import UsageError
    from regard.studio.runs import OpenRun

    runs = [OpenRun(folder, device) for folder in (run, against) if folder is not None]
    from regard.studio.tour import BUILT_IN, read_tour

    read_tour(tour or BUILT_IN)
    if publish is not None:
        write_lesson(runs, publish, text, tour or BUILT_IN)
        return
    if text:
        raise UsageError("--text: only a lesson has sentences of its own; add --publish FILE")
    from regard.studio.guard import LOOPBACK

    if token is None:
        token = "" if host in LOOPBACK else secrets.token_urlsafe(16)
    if not token and host not in LOOPBACK:
        raise UsageError(f"--host {host}: others can reach it; give a --token that is not empty")
    import uvicorn

    from regard.studio.server import build_app

    with listening(host, port) as listener:
        address = f"http://{shown(host)}:{listener.getsockname()[1]}/"
        address += f"?{urlencode({'token': token})}" if token else ""
        results(address)
        sys.stdout.flush()
        say("The page is ready to be opened; Ctrl-C closes it.")
        if open_page:
            webbrowser.open(address)
        config = uvicorn.Config(
            build_app(runs, host, token, tour or BUILT_IN),
            log_level="warning",
            timeout_graceful_shutdown=1,
        )
        with suppress(KeyboardInterrupt):  # the usual way to close it
            uvicorn.Server(config).run(sockets=[listener])


def write_lesson(runs: "list[OpenRun]", path: Path, texts: tuple[str, ...], tour: Path) -> None:
    from regard.cli.display import results
    from regard.errors import UsageError
    from regard.studio.lesson.publish import publish

    if len(runs) > 1:
        raise UsageError("--publish: a lesson is about one run; give one")
    results(publish(runs[0], texts, path, tour))


def listening(host: str, port: int | None) -> socket.socket:
    from regard.errors import RequestError

    family = socket.AF_INET6 if ":" in host else socket.AF_INET
    try:
        return socket.create_server((host, PORT if port is None else port), family=family)
    except OSError as error:
        if port is None:
            return listening(host, 0)
        raise RequestError(
            f"{host}, port {port}: cannot be listened at ({error.strerror}); choose another --port"
        ) from None


def shown(host: str) -> str:
    """The host as a browser on this machine can ask for it."""
    host = {"0.0.0.0": "127.0.0.1", "::": "::1"}.get(host, host)
    return f"[{host}]" if ":" in host else host
