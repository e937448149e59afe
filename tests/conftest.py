"""What every test can count on: no network, no window, no deadline on a busy machine."""

import ipaddress
import os
import socket
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import hypothesis
import pytest

# Read when the libraries are first imported, so they are set before any test module is.
os.environ["HF_HUB_OFFLINE"] = "1"
os.environ["MPLBACKEND"] = "Agg"
# Threads that wait for each other over tiny tensors take minutes on a busy machine.
os.environ.setdefault("OMP_NUM_THREADS", "1")
# As `regard` itself does before PyTorch is loaded.
os.environ.setdefault("GOMP_SPINCOUNT", "1000")

# A shared machine may pause any example; pytest-timeout still catches one that hangs.
hypothesis.settings.register_profile("regard", deadline=None)
hypothesis.settings.load_profile("regard")

# Runs of a toy language, for the tests of training and of tasks.
pytest_plugins = ("tests.toy_runs",)

REPOSITORY = Path(__file__).resolve().parent.parent


class NetworkUsed(RuntimeError):
    """A test reached for another machine.

    Not an OSError: code that retries or hides connection errors must not hide this one.
    """


def refuse_if_remote(host: object) -> None:
    if isinstance(host, bytes):
        host = host.decode("ascii", "replace")
    if not isinstance(host, str) or host in ("", "localhost"):
        return
    try:
        address = ipaddress.ip_address(host)
        remote = not (address.is_loopback or address.is_unspecified)
    except ValueError:
        remote = True
    if remote:
        raise NetworkUsed(f"a test tried to reach {host}; tests work without a network")


@pytest.fixture(scope="session", autouse=True)
def no_network() -> Iterator[None]:
    """Let sockets connect, and names resolve, on this machine only."""
    connect, connect_ex = socket.socket.connect, socket.socket.connect_ex
    getaddrinfo = socket.getaddrinfo

    def check(sock: socket.socket, address: Any) -> None:
        if sock.family in (socket.AF_INET, socket.AF_INET6):
            refuse_if_remote(address[0])

    def local_connect(sock: socket.socket, address: Any) -> None:
        check(sock, address)
        connect(sock, address)

    def local_connect_ex(sock: socket.socket, address: Any) -> int:
        check(sock, address)
        return connect_ex(sock, address)

    def local_getaddrinfo(host: Any, *arguments: Any, **options: Any) -> Any:
        refuse_if_remote(host)
        return getaddrinfo(host, *arguments, **options)

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(socket.socket, "connect", local_connect)
        patch.setattr(socket.socket, "connect_ex", local_connect_ex)
        patch.setattr(socket, "getaddrinfo", local_getaddrinfo)
        yield


@pytest.fixture(scope="session", autouse=True)
def own_cache(tmp_path_factory: pytest.TempPathFactory) -> Iterator[None]:
    """Converted runs are kept in a cache of this session; other programs find theirs in it, too."""
    usual = Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache")
    folder = tmp_path_factory.mktemp("user-cache")
    for other in usual.iterdir() if usual.is_dir() else ():
        if other.name != "regard":
            (folder / other.name).symlink_to(other)
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("XDG_CACHE_HOME", str(folder))
        yield


@pytest.fixture(scope="session")
def shared_data() -> Path:
    """The folder of public data sets, for the checks that need real text."""
    named = os.environ.get("REGARD_DATA")
    folder = Path(named) if named else REPOSITORY.parent / "shared" / "data"
    if not folder.is_dir():
        pytest.skip(f"no data sets in {folder}; set REGARD_DATA to the folder that holds them")
    return folder


@pytest.fixture(scope="session", autouse=True)
def short_measurements() -> Iterator[None]:
    """Trainings of tests measure the speed of products as all do, but not for as long."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("regard.machine.devices.MEASURED_SECONDS", 0.01)
        yield


@pytest.fixture(autouse=True, scope="session")
def usual_allocation() -> Iterator[None]:
    """Commands tune the C library for their whole process, which here runs other tests, too."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("regard.machine.memory.keep_big_buffers", lambda: False)
        yield
