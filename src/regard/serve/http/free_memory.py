"""Gives memory back to the system after requests. The allocator would keep most of it."""

import asyncio
import ctypes

SECONDS = 10.0


class FreeMemory:
    def __init__(self) -> None:
        self._is_planned = False

    def soon(self) -> None:
        """Give memory back in a few seconds, once for all requests until then."""
        if not self._is_planned:
            self._is_planned = True
            asyncio.get_running_loop().call_later(SECONDS, self._start)

    def _start(self) -> None:
        self._is_planned = False
        asyncio.get_running_loop().run_in_executor(None, trim)


def trim() -> None:
    """Return free memory to the system, where the C library can."""
    function = getattr(ctypes.CDLL(None), "malloc_trim", None)
    if function is not None:
        function(0)
