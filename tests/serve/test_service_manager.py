"""A service manager learns when the server is ready and when it reloads."""

import re
import socket
from pathlib import Path

import pytest

from regard.serve import service_manager


def test_messages_go_to_the_socket_that_is_named(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    with socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM) as manager:
        manager.bind("notify")
        manager.settimeout(10)
        monkeypatch.setenv("NOTIFY_SOCKET", "notify")
        service_manager.notify(service_manager.READY)
        assert manager.recv(100) == b"READY=1"
        service_manager.reloading()
        assert re.fullmatch(rb"RELOADING=1\nMONOTONIC_USEC=\d+", manager.recv(100))


@pytest.mark.parametrize("address", [None, "", "no-such-socket", "@no-such-name"])
def test_without_a_manager_nothing_happens(
    monkeypatch: pytest.MonkeyPatch, address: str | None
) -> None:
    if address is None:
        monkeypatch.delenv("NOTIFY_SOCKET", raising=False)
    else:
        monkeypatch.setenv("NOTIFY_SOCKET", address)
    service_manager.notify(service_manager.READY)
