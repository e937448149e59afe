"""One spelling for each text: what a tokenizer sees, and what decoding returns.

The rules are data in the form that the `tokenizers` library reads. So they are saved inside
tokenizer.json and stay the same when Python's Unicode tables change.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from regard.text.typography import Rule

# Control characters that are not white space, the soft hyphen and the byte order mark: nothing
# a reader sees. Joiners and direction marks stay, because Persian, Hindi and emoji need them.
INVISIBLE = r"[\x{00}-\x{08}\x{0E}-\x{1F}\x{7F}-\x{84}\x{86}-\x{9F}\x{AD}\x{FEFF}]"

# Pieces mark a word start with this character, so it must not occur in the text itself.
WORD_START = "▁"


def normaliser(
    *, lowercase: bool, verbatim: bool = False, rules: Sequence[Rule] = ()
) -> dict[str, Any]:
    """The normaliser section of a tokenizer.json. Verbatim text keeps its lines and spaces, except
    the carriage returns of line ends. The rules fold typographic variants.

    NFC comes after dropping and lower-casing, which can both bring a letter and its accent
    together; white space comes after NFC, which turns one kind of space into another, and after the
    rules, which add spaces. In this order normalising a text twice changes nothing more.
    """
    one_space: list[dict[str, Any]] = [
        {"type": "Replace", "pattern": {"Regex": r"\s+"}, "content": " "},
        {"type": "Strip", "strip_left": True, "strip_right": True},
    ]
    verbatim_space = [{"type": "Replace", "pattern": {"Regex": r"\r\n?"}, "content": "\n"}]
    steps: list[dict[str, Any]] = [
        {"type": "Replace", "pattern": {"Regex": INVISIBLE}, "content": ""},
        *([{"type": "Lowercase"}] if lowercase else []),
        {"type": "NFC"},
        *(rule.step() for rule in rules),
        *(verbatim_space if verbatim else one_space),
        {"type": "Replace", "pattern": {"String": WORD_START}, "content": "_"},
    ]
    return {"type": "Sequence", "normalizers": steps}


def scalar_values(text: str) -> str:
    r"""Replace surrogates, which a Python string can hold (JSON's "\ud800") and UTF-8 cannot."""
    try:
        text.encode()
    except UnicodeEncodeError:
        return text.encode("utf-16", "surrogatepass").decode("utf-16", "replace")
    return text


def is_unicode(value: object) -> bool:
    """Whether a value is a text that UTF-8 can hold."""
    return isinstance(value, str) and scalar_values(value) == value
