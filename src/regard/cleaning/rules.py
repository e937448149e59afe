"""What shows on a single pair: broken letters, copies, the wrong language, other numbers."""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass

from regard.checks.characters import repaired
from regard.checks.languages import NOISE, alike, identifier, known_codes
from regard.cleaning.numbers import disagree
from regard.text.languages import base_code, language_name

# A text is in another language if that is e^12 times as likely: of 5,000 good texts of captions,
# news, everyday sentences and programs, one was.
MARGIN = 12.0
MARGIN_OF_LETTER = 0.2  # a long sentence may name many foreign places
LEAST_LETTERS = 10
# Shorter texts are often the same in both languages: names, numbers, "Taxi".
LEAST_COPIED_WORDS = 3
MOSTLY_COPIED = 0.8
MOST_CHARACTERS, MOST_RATIO = 20, 4.0

_WORDS = re.compile(r"[^\W\d_]+")
_ADDRESS = re.compile(r"https?://[^\s<>\"')\]]+|www\.[^\s<>\"')\]]+|[\w.+-]+@[\w-]+\.[\w.]+")
_WIDE = re.compile(r"[\u3040-\u30ff\u3400-\u9fff\uac00-\ud7af]")
_CONTROL = re.compile(r"[\x00-\x08\x0e-\x1f\x7f]")

Rule = Callable[[str, str], str | None]


def empty(source: str, target: str) -> str | None:
    if not source.strip():
        return "empty source"
    return None if target.strip() else "empty target"


def broken(source: str, target: str) -> str | None:
    for text in (source, target):
        if "\ufffd" in text or _CONTROL.search(text) or repaired(text) != text:
            return "broken characters"
    return None


def folded(text: str) -> str:
    """A text without case, spaces and punctuation, by which copies and near duplicates show."""
    return "".join(each for each in text.casefold() if each.isalnum())


def copied(source: str, target: str) -> str | None:
    """Source and target are the same, though they are more than a name."""
    source, target = (NOISE.sub(" ", text) for text in (source, target))
    words = _WORDS.findall(source)
    small = [word for word in words[1:] if word[0].islower()]
    if len(words) < LEAST_COPIED_WORDS or not small:
        return None
    if folded(source) == folded(target):
        return "copy of the source"
    mine, theirs = set(source.casefold().split()), set(target.casefold().split())
    same = len(mine & theirs) >= MOSTLY_COPIED * max(len(mine), len(theirs))
    return "copy of the source" if same and len(mine) > LEAST_COPIED_WORDS else None


def lengths(source: str, target: str) -> str | None:
    shorter, longer = sorted(map(width, (source, target)))
    return "lengths" if longer > MOST_RATIO * shorter + MOST_CHARACTERS else None


def width(text: str) -> int:
    """About how long a text would be in letters: a Chinese character says as much as three."""
    return len(text.strip()) + 2 * len(_WIDE.findall(text))


def addresses(source: str, target: str) -> str | None:
    """Each side has an address that the other lacks."""
    first, second = (
        {each.rstrip(".,;:") for each in _ADDRESS.findall(text)} for text in (source, target)
    )
    return "other addresses" if first - second and second - first else None


@dataclass(frozen=True)
class Languages:
    """The languages that the sides should be in; "" for one that cannot be told."""

    source: str
    target: str

    @classmethod
    def of(cls, source: str | None, target: str | None) -> Languages:
        codes = [base_code(code) if code else "" for code in (source, target)]
        first, second = (code if code in known_codes() else "" for code in codes)
        return cls(first, second)

    def wrong(self, source: str, target: str) -> str | None:
        for side, text, own in (("source", source, self.source), ("target", target, self.target)):
            if own and (other := other_language(text, own)):
                return f"{side} in {language_name(other)}"
        return None


def other_language(text: str, own: str) -> str:
    """The language of a text, if it is clearly not its own; else ""."""
    text = " ".join(NOISE.sub(" ", text).split())
    letters = sum(each.isalpha() for each in text)
    if letters < LEAST_LETTERS:
        return ""
    ranked = identifier().rank(text.lower() if text.isupper() else text)
    best, likelihood = ranked[0]
    if alike(best, own) or best == "zxx":
        return ""
    mine = max((score for code, score in ranked if alike(code, own)), default=likelihood)
    return str(best) if likelihood - mine > max(MARGIN, MARGIN_OF_LETTER * letters) else ""


def rules(languages: Languages) -> tuple[Rule, ...]:
    """All of them, the cheapest and surest first; the first that says something is the reason."""
    return (
        *(empty, broken, copied, lengths, addresses),
        lambda source, target: disagree(source, target, languages.source, languages.target),
        languages.wrong,
    )
