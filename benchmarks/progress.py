"""How far a long measurement is and how long it will take."""

import sys
import time


class Progress:
    """Estimates the remaining time from the planned times and from the time taken so far."""

    def __init__(self, expected_seconds: float) -> None:
        self._expected = expected_seconds
        self._done = 0.0
        self._started = time.monotonic()
        self.say(f"about {duration(expected_seconds)} in all; leave the machine alone meanwhile")

    def advance(self, expected_seconds: float, label: str) -> None:
        self._done += expected_seconds
        took = time.monotonic() - self._started
        left = max(0.0, self._expected - self._done) * took / self._done
        self.say(f"{label}; about {duration(left)} left")

    def say(self, text: str) -> None:
        live = sys.stderr.isatty()
        print(f"\r\033[K{text}" if live else text, end="" if live else "\n", file=sys.stderr)
        sys.stderr.flush()


def duration(seconds: float) -> str:
    return f"{seconds / 60:.0f} min" if seconds >= 90 else f"{seconds:.0f} s"
