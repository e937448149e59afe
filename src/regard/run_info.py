"""What run.json may say. It may be a stranger's, so each fact must be of its kind."""

from __future__ import annotations

import math
from collections.abc import Callable
from pathlib import Path
from typing import Any

from regard.errors import RunError, shown
from regard.files import read_json

FORMAT = 1
LARGEST_COUNT = 2**53


def _is_count(value: object) -> bool:
    return type(value) is int and 0 <= value < LARGEST_COUNT


def _is_number(value: object) -> bool:
    return type(value) in (int, float) and math.isfinite(value)  # type: ignore[arg-type]


def _is_text(value: object) -> bool:
    return isinstance(value, str)


def _are_languages(value: object) -> bool:
    return value is None or (isinstance(value, list) and all(map(_is_text, value)))


def _are_scores(value: object) -> bool:
    if not isinstance(value, dict):
        return False
    temperature = value.get("temperature")
    return temperature is None or (_is_number(temperature) and temperature > 0)


KINDS: dict[str, Callable[[object], bool]] = {
    "step": _is_count,
    "parameters": _is_count,
    "seconds": _is_number,
    "machine": _is_text,
    "regard": _is_text,
    "torch": _is_text,
    "languages": _are_languages,
    "validation": _are_scores,
}


def read_info(path: Path) -> dict[str, Any]:
    """The facts in a run.json, which is there."""
    info = read_json(path)
    if info.get("format") != FORMAT:
        raise RunError(f"{path}: written in a format this version of regard does not know")
    for name, is_right in KINDS.items():
        if name in info and not is_right(info[name]):
            raise RunError(f"{path}: damaged ({name} cannot be {shown(info[name])})")
    return info
