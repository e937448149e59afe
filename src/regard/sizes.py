"""The sizes that the weights of a run name, and what must agree with them."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from regard.errors import RunError
from regard.files import read_metadata
from regard.small_files import UNEXPECTED, parse_json
from regard.text.tokenizer_json import LARGEST_JSON

LARGEST_SIZE = 2**40
# The most bytes of a tokenizer, and of each of its pieces with what makes it.
TOKENIZER_BYTES, PIECE_BYTES = 1 << 20, 256


def read_sizes(weights: Path) -> dict[str, int]:
    """The sizes in a file of weights; none without the file, or in runs of the first version."""
    if not weights.exists():
        return {}
    try:
        found = parse_json(read_metadata(weights).get("sizes", "{}"))
    except UNEXPECTED:
        found = None
    match found:
        case dict() if all(
            type(size) is int and 0 < size < LARGEST_SIZE for size in found.values()
        ):
            return found
    raise RunError(f"{weights}: damaged (no sizes in its metadata)")


def check_size(folder: Path, found: int, parts: str, expected: int | None) -> None:
    """Compare the number of pieces or labels in a run folder with that of its weights."""
    if expected not in (None, found):
        raise RunError(
            f"{folder}: there are {found:,} {parts}, and the model has {expected:,}; "
            "the files are not from the same run"
        )


def most_bytes(sizes: dict[str, int]) -> int:
    """The most bytes of a tokenizer for a model of these sizes."""
    if not sizes:
        return LARGEST_JSON
    return min(LARGEST_JSON, TOKENIZER_BYTES + PIECE_BYTES * max(sizes.values()))


def check_embeddings(folder: Path, model: Any) -> None:
    """Raise a RunError if a model has one embedding for both sides: they have two vocabularies."""
    if getattr(model, "tied_embeddings", None) == "all":
        raise RunError(
            f"{folder}: the two tokenizers have different pieces, but the model has one embedding "
            "for both; one of the files is from another run"
        )
