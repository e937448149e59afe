"""Stops training when the user or the system asks for it."""

import signal
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from types import FrameType


@contextmanager
def stopping() -> Iterator[Callable[[], int]]:
    """A function that returns the signal that asked for a stop, or 0. The first Ctrl-C or SIGTERM
    only asks; a second one acts at once.
    """
    asked = [0]
    if threading.current_thread() is not threading.main_thread():
        yield lambda: asked[0]
        return
    before = {number: signal.getsignal(number) for number in (signal.SIGINT, signal.SIGTERM)}

    def ask(number: int, frame: FrameType | None) -> None:
        asked[0] = number
        for each, handler in before.items():
            signal.signal(each, handler)

    for number in before:
        signal.signal(number, ask)
    try:
        yield lambda: asked[0]
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)
