"""How a language model continues a text, up to where it is asked to stop."""

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from regard.tasks.writer import Writer
    from regard.tasks.writing import Writing


def until_stopped(pieces: Iterator[str], stops: Sequence[str]) -> Iterator[str]:
    """The pieces of a text up to the first stop sequence, which may be spread over pieces."""
    held = ""
    longest = max(map(len, stops), default=0)
    for piece in pieces:
        held += piece
        found = [at for stop in stops if (at := held.find(stop)) >= 0]
        if found:
            yield held[: min(found)]
            return
        ready = len(held) - max(0, longest - 1)
        if ready > 0:
            yield held[:ready]
            held = held[ready:]
    if held:
        yield held


def complete(
    writer: "Writer", prompt: str, writing: "Writing", stops: Sequence[str]
) -> Iterator[str]:
    return until_stopped(writer.stream(prompt, writing), stops)
