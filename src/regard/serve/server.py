"""The server: it listens on a port, and asks its worker, which has the models."""

import logging
import signal
import sys
from collections.abc import Callable
from contextlib import ExitStack
from typing import Any, NoReturn, cast

import uvicorn
from starlette.types import ASGIApp, Receive, Scope, Send
from uvicorn.middleware.proxy_headers import ProxyHeadersMiddleware

from regard.serve.app import build, build_for_operators
from regard.serve.http.access_log import AccessLog
from regard.serve.http.keys import Keys
from regard.serve.http.metrics import Metrics
from regard.serve.http.protocol import bounded_protocol
from regard.serve.http.quotas import Usage
from regard.serve.http.root_path import under
from regard.serve.http.sites import Sites, usual_sites
from regard.serve.listeners import bind, listening
from regard.serve.running import Accounts, Server
from regard.serve.settings import Settings
from regard.serve.worker.workers import Workers

# As which a client at a socket in a folder is known, also to --trusted-proxy.
UNIX_PEER = "unix"


def serve(settings: Settings, say: Callable[[str], None]) -> None:
    """Load the runs and answer requests until a signal. Then finish the running requests."""
    for number in (signal.SIGTERM, signal.SIGINT):
        signal.signal(number, exit_at_once)
    for number in (signal.SIGUSR1, signal.SIGUSR2):  # would end the process, and mean nothing here
        signal.signal(number, signal.SIG_IGN)
    signal.signal(signal.SIGHUP, signal.SIG_IGN)  # what is being loaded need not be reloaded
    keys = Keys.read(settings.api_keys) if settings.api_keys else Keys()
    usage = Usage(settings.usage)
    keys.check_quotas(usage.is_kept)
    metrics = Metrics()
    workers = Workers(settings, metrics, say)
    log = AccessLog(quiet=settings.quiet)
    sites, is_apart = sites_of(settings, keys), settings.metrics_port is not None
    app = build(workers, settings.limits, keys, metrics, log, sites, usage, is_apart)
    with ExitStack() as stack:
        stack.callback(log.close)
        place = listening(settings.host, settings.port, settings.unix_socket)
        listener = stack.enter_context(place)
        config = uvicorn_config(outermost(app, settings), settings)
        server = Server(config, workers, Accounts(keys, usage, say), say)
        if settings.metrics_port is not None:
            apart = stack.enter_context(bind(settings.metrics_host, settings.metrics_port))
            operators = build_for_operators(workers, settings.limits, metrics)
            server.serve_apart(uvicorn_config(operators, settings), apart)
        server.run(sockets=[listener])


def sites_of(settings: Settings, keys: Keys) -> Sites:
    """The names and the other sites that are allowed: those that were given, or the usual ones."""
    behind_proxy = bool(settings.trusted_proxies) or settings.unix_socket is not None
    usual = usual_sites(settings.host, bool(keys), behind_proxy)
    hosts = frozenset(each.lower() for each in settings.allowed_hosts)
    origins = frozenset(each.lower().rstrip("/") for each in settings.cors_origins)
    return Sites(hosts or usual.hosts, origins or usual.origins)


def outermost(app: ASGIApp, settings: Settings) -> ASGIApp:
    """The application with what must be set right before anything else looks at a request."""
    if settings.root_path:
        app = under(settings.root_path, app)
    if settings.unix_socket is None:
        return app
    proxied = ProxyHeadersMiddleware(cast(Any, app), list(settings.trusted_proxies))

    async def with_peer(scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] == "http":  # at a socket in a folder a client has no address
            scope = {**scope, "client": (UNIX_PEER, 0)}
        await proxied(cast(Any, scope), cast(Any, receive), cast(Any, send))

    return with_peer


def uvicorn_config(app: ASGIApp, settings: Settings) -> uvicorn.Config:
    # Any client can cause a warning of uvicorn. Our own log has what goes wrong.
    logging.getLogger("uvicorn.error").setLevel(logging.ERROR)
    return uvicorn.Config(
        app,
        http=bounded_protocol(settings.limits, settings.trusted_proxies),
        ws="none",
        lifespan="off",
        log_config=None,
        access_log=False,
        server_header=False,
        # Other clients must not choose the address that they are counted under.
        proxy_headers=bool(settings.trusted_proxies) and settings.unix_socket is None,
        forwarded_allow_ips=list(settings.trusted_proxies),
        timeout_keep_alive=15,
        timeout_graceful_shutdown=settings.limits.drain_seconds,
    )


def exit_at_once(number: int, frame: object) -> NoReturn:
    """Handle a signal before uvicorn serves, and the one that uvicorn raises again at its end."""
    sys.exit(0)
