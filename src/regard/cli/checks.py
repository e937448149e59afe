"""Options that several commands have, checked before any work is done."""

from pathlib import Path

from regard.errors import RequestError

PICTURES = (".png", ".svg", ".pdf")


def check_picture(path: Path | None) -> None:
    if path is not None and path.suffix not in PICTURES:
        raise RequestError(f"{path}: not a kind of picture; end the name in .png, .svg or .pdf")


def check_sentences(count: int) -> None:
    if count < 1:
        raise RequestError(f"--sentences {count}: give at least one sentence to measure on")
