"""Where the server listens: a port, or a socket in a folder."""

import os
import socket
import stat
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

from regard.errors import RequestError

# The owner and the group may connect; others may not.
UNIX_MODE = 0o660


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


def bind_unix(path: Path) -> socket.socket:
    """A socket under a name in a folder. One that a server left behind is replaced."""
    remove_stale(path)
    listener = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
    mask = os.umask(0o777 & ~UNIX_MODE)  # nobody else may connect, not even for a moment
    try:
        listener.bind(str(path))
    except OSError as error:
        listener.close()
        reason = error.strerror or error
        raise RequestError(
            f"{path}: cannot listen there ({reason}); choose another --unix-socket"
        ) from None
    finally:
        os.umask(mask)
    return listener


def remove_stale(path: Path) -> None:
    """Remove a socket that nobody listens at any more. Anything else stays."""
    try:
        found = path.lstat()
    except OSError:
        return
    if not stat.S_ISSOCK(found.st_mode):
        raise RequestError(
            f"{path}: there is something else under this name; choose another --unix-socket"
        )
    with socket.socket(socket.AF_UNIX, socket.SOCK_STREAM) as trying:
        trying.settimeout(1)
        try:
            trying.connect(str(path))
        except (ConnectionRefusedError, FileNotFoundError):
            path.unlink(missing_ok=True)
            return
        except OSError:  # one that listens, but is too busy, or that we may not use
            pass
    raise RequestError(f"{path}: another server listens there; choose another --unix-socket")


@contextmanager
def listening(host: str, port: int, path: Path | None) -> Iterator[socket.socket]:
    """A listener at a port or, if there is one, at a path, which is removed at the end unless
    another server has taken it.
    """
    if path is None:
        with bind(host, port) as listener:
            yield listener
        return
    path = path.absolute()
    with bind_unix(path) as listener:
        ours = path.lstat().st_ino
        try:
            yield listener
        finally:
            with suppress(OSError):
                if path.lstat().st_ino == ours:
                    path.unlink()


def address_of(listener: socket.socket) -> str:
    if listener.family == socket.AF_UNIX:
        return f"unix:{listener.getsockname()}"
    host, port = listener.getsockname()[:2]
    return f"http://[{host}]:{port}/" if ":" in host else f"http://{host}:{port}/"
