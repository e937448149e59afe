"""A tokenizer of regard's own as the page reads it: pieces, merges or scores, and rules."""

import json
import re
from pathlib import Path
from typing import Any

from regard.errors import RequestError
from regard.text.tokenizer import Tokenizer

# What the library's regular expressions write in another way than JavaScript's.
_DIFFERENT = {
    r"\w": r"[\p{L}\p{M}\p{N}\p{Pc}]",
    r"\s": r"\p{White_Space}",
}


def tokenizer_of(tokenizer: Tokenizer, folder: Path) -> dict[str, Any]:
    document = json.loads(tokenizer.to_json())
    model = document["model"]
    if document["post_processor"] is not None or model["type"] not in ("BPE", "Unigram"):
        raise RequestError(
            f"{folder}: has an imported tokenizer, which a page cannot read; export a run that "
            "regard has trained"
        )
    if tokenizer.keeps_lines:
        raise RequestError(
            f"{folder}: has a tokenizer that keeps lines and spaces, which a page cannot read"
        )
    found = {
        "pieces": list(tokenizer.vocabulary),
        "specials": sorted(each for each in tokenizer.specials if each is not None),
        "rules": [*map(rule, steps(document["normalizer"]))],
    }
    if model["type"] == "Unigram":
        return {**found, "scores": [score for _, score in model["vocab"]]}
    merges = [each if isinstance(each, str) else " ".join(each) for each in model["merges"]]
    return {**found, "merges": merges, "wholeWords": bool(model["ignore_merges"])}


def steps(normaliser: dict[str, Any] | None) -> list[dict[str, Any]]:
    if normaliser is None:
        return []
    if normaliser["type"] == "Sequence":
        return [step for each in normaliser["normalizers"] for step in steps(each)]
    return [normaliser]


def rule(step: dict[str, Any]) -> str | dict[str, str]:
    """A step of the normaliser: its name, or what is replaced by what."""
    if step["type"] != "Replace":
        return str(step["type"])
    pattern = step["pattern"]
    if "String" in pattern:
        return {"text": pattern["String"], "to": step["content"]}
    return {"regex": javascript(pattern["Regex"]), "to": step["content"]}


def javascript(pattern: str) -> str:
    """A regular expression for JavaScript, where `\\w` and `\\s` know more than ASCII."""
    pattern = re.sub(r"\\x\{([0-9A-Fa-f]+)\}", r"\\u{\1}", pattern)
    inside = 0
    parts = []
    for part in re.findall(r"\\.|.", pattern, re.DOTALL):
        inside += {"[": 1, "]": -1}.get(part, 0)
        different = _DIFFERENT.get(part, part)
        parts.append(different[1:-1] if inside and part == r"\w" else different)
    return "".join(parts)
