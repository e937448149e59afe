"""Tells a service manager how the server is: systemd's protocol, one datagram a message."""

import os
import socket
import time
from contextlib import suppress

READY = "READY=1"


def notify(*lines: str) -> None:
    """Send some lines to the manager that started the server, if one did."""
    address = os.environ.get("NOTIFY_SOCKET", "")
    if not address:
        return
    if address[0] == "@":  # a name that is no file
        address = "\0" + address[1:]
    with suppress(OSError), socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM) as sock:
        sock.sendto("\n".join(lines).encode(), address)


def reloading() -> None:
    microseconds = time.clock_gettime_ns(time.CLOCK_MONOTONIC) // 1000
    notify("RELOADING=1", f"MONOTONIC_USEC={microseconds}")
