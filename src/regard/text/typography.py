"""Typographic variants: a text with ’ is read like the training data with '.

Keyboards, word processors and languages write the same mark in several ways. Which of them the
training data has is counted while the vocabulary is learned. A variant that is hardly there is then
read as the usual one; what the data distinguishes stays as it is. The rules are steps of the
normaliser in tokenizer.json, so every engine and every export follows them. Only what a model reads
is folded, never what a translator writes.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Iterator
from typing import Any, Literal, NamedTuple

Typography = Literal["fold", "keep"]

# A variant is hardly there if it occurs once among 200 usual ones, or once among 50 if it
# occurs fewer than ten times: such examples teach a model nothing.
AMONG_MANY, AMONG_FEW, HARDLY = 200, 50, 10

APOSTROPHES = "'’ʼ′`´‘‛＇"
HYPHENS, DASHES = "-‐‑‒−", "–—―"
STRAIGHT, OPENING, CLOSING = '"', "“„‟«", "”»"
QUOTES = STRAIGHT + OPENING + CLOSING
SPACES = " \u00a0\u202f\u2009"
ELLIPSIS, DOTS = "…", "..."
MARKS = "?!;:"
# The closing mark may be another one's opening mark: „so“, »so«.
STYLES = (("“", "”"), ("„", "“"), ("„", "”"), ("«", "»"), ("»", "«"))

_CHUNK = 1_000_000
_AFTER = {"?": "", "!": "", ";": r"(?=\s|$)", ":": r"(?=\s|$)"}
_SPACED = {mark: re.compile(rf"\s{re.escape(mark)}{_AFTER[mark]}") for mark in MARKS}
_TIGHT = {mark: re.compile(rf"[^\s?!;:]{re.escape(mark)}{_AFTER[mark]}") for mark in MARKS}
_BEFORE_INVERTED = re.compile(r"\w«")

# Every pattern matches a bounded number of characters, so the time is linear in the text. Old runs
# have a lower bound for spaces.
_MOST_SPACES, _OLD_MOST_SPACES = 99, 3


def _tighten(most: int) -> dict[str, str]:
    return {mark: rf"\s{{1,{most}}}{re.escape(mark)}{_AFTER[mark]}" for mark in MARKS}


def _loose_guillemets(most: int) -> tuple[str, str]:
    return rf"(?<!\w)«\s{{0,{most}}}", rf"\s{{0,{most}}}»(?!\w)"


_TIGHTEN = _tighten(_MOST_SPACES)
_SPACE_OUT = {mark: rf"(?<=[^\s?!;:]){re.escape(mark)}{_AFTER[mark]}" for mark in MARKS}
_OPENING_STRAIGHT = r'(?<![^\s(\[])"'
_OPENING_GUILLEMET, _CLOSING_GUILLEMET = _loose_guillemets(_MOST_SPACES)
_TIGHT_OPENING, _TIGHT_CLOSING = r"«(?=\S)", r"(?<=\S)»"
_PATTERNS = {
    *_TIGHTEN.values(),
    *_tighten(_OLD_MOST_SPACES).values(),
    *_loose_guillemets(_OLD_MOST_SPACES),
    *_SPACE_OUT.values(),
    *(_OPENING_STRAIGHT, _OPENING_GUILLEMET, _CLOSING_GUILLEMET, _TIGHT_OPENING, _TIGHT_CLOSING),
}
_SINGLE = {*APOSTROPHES, *HYPHENS, *DASHES, *QUOTES, *SPACES, ELLIPSIS, DOTS}
_CONTENTS = _SINGLE | {"« ", " »", *MARKS, *(f" {mark}" for mark in MARKS)}


def is_rare(count: int, usual: int) -> bool:
    """Whether something is hardly there, next to the usual ones."""
    return usual > 0 and usual >= count * (AMONG_FEW if count < HARDLY else AMONG_MANY)


class Rule(NamedTuple):
    """What is read as what; `pattern` is a regular expression, or a text that stands for itself."""

    pattern: str
    content: str

    def step(self) -> dict[str, Any]:
        """The rule as a step of a normaliser."""
        kind = "Regex" if self.pattern in _PATTERNS else "String"
        return {"type": "Replace", "pattern": {kind: self.pattern}, "content": self.content}


def read_rules(steps: Iterable[object]) -> list[Rule] | None:
    """The rules of steps that this module has made; None if there is another step among them."""
    rules = []
    for step in steps:
        match step:
            case {"pattern": {"Regex": str(pattern)}, "content": str(content)}:
                known = pattern in _PATTERNS and content in _CONTENTS
            case {"pattern": {"String": str(pattern)}, "content": str(content)}:
                known = pattern in _SINGLE and content in _CONTENTS
            case _:
                return None
        rule = Rule(pattern, content)
        if not known or rule.step() != step:
            return None
        rules.append(rule)
    # The same rule again and again could make a text longer without an end.
    return rules if len({rule.pattern for rule in rules}) == len(rules) else None


class Variants:
    """Counts the variants in texts that pass by."""

    def __init__(self) -> None:
        self.counts: Counter[str] = Counter()
        self._waiting: list[str] = []
        self._size = 0

    def watch(self, texts: Iterable[str]) -> Iterator[str]:
        """The same texts, which are counted on their way."""
        for text in texts:
            self.add(text)
            yield text

    def add(self, text: str) -> None:
        self._waiting.append(text)
        self._size += len(text)
        if self._size > _CHUNK:
            self._count()

    def _count(self) -> None:
        """Count what has come together: a few passes over a long text are quick."""
        text = "\n".join(self._waiting)
        self._waiting, self._size = [], 0
        counts = self.counts
        for variant in (*_SINGLE, "."):
            counts[variant] += text.count(variant)
        for mark in MARKS:
            counts[f" {mark}"] += len(_SPACED[mark].findall(text))
            counts[f"x{mark}"] += len(_TIGHT[mark].findall(text))
        for guillemet in ("« ", "«\u00a0", "«\u202f"):
            counts["« "] += text.count(guillemet)
        counts["x«"] += len(_BEFORE_INVERTED.findall(text))

    def rules(self, verbatim: bool = False) -> list[Rule]:
        """What to read as what. Verbatim text keeps the spaces around its marks."""
        self._count()
        found = [
            *self._one_of(APOSTROPHES),
            *self._dashes(),
            *self._quotes(),
            *self._ellipsis(),
        ]
        return [*found, *(self._one_of(SPACES) if verbatim else self._marks())]

    def _rare(self, variant: str, usual: str) -> bool:
        return is_rare(self.counts[variant], self.counts[usual])

    def _usual(self, variants: Iterable[str]) -> str:
        return max(variants, key=lambda variant: self.counts[variant])

    def _one_of(self, variants: str) -> list[Rule]:
        usual = self._usual(variants)
        return [
            Rule(variant, usual)
            for variant in variants
            if variant != usual and self._rare(variant, usual)
        ]

    def _dashes(self) -> list[Rule]:
        """A dash that is not there is read as another dash, or else as a hyphen."""
        hyphen, dash = self._usual(HYPHENS), self._usual(DASHES)
        if self._rare(dash, hyphen):
            return self._one_of(HYPHENS + DASHES)
        return [*self._one_of(HYPHENS), *self._one_of(DASHES)]

    def _ellipsis(self) -> list[Rule]:
        if self._rare(ELLIPSIS, DOTS) or (not self.counts[ELLIPSIS] and self.counts["."]):
            return [Rule(ELLIPSIS, DOTS)]
        return [Rule(DOTS, ELLIPSIS)] if self._rare(DOTS, ELLIPSIS) else []

    def _quotes(self) -> list[Rule]:
        counts = self.counts
        style = max(STYLES, key=lambda pair: min(counts[pair[0]], counts[pair[1]]))
        if style == ("«", "»") and counts["x«"] * 2 > counts["«"]:
            style = ("»", "«")
        if counts[STRAIGHT] >= min(counts[style[0]], counts[style[1]]):
            return self._straightened() if counts[STRAIGHT] else []
        usual, *_ = style
        rules = []
        opening, closing = style
        if style == ("«", "»"):
            spaced = counts["« "] * 2 > counts["«"]
            rules = self._guillemets(spaced)
            opening, closing = ("« ", " »") if spaced else style
        if self._rare(STRAIGHT, usual):
            rules += [Rule(_OPENING_STRAIGHT, opening), Rule(STRAIGHT, closing)]
        for marks, content in ((OPENING, opening), (CLOSING, closing)):
            others = (mark for mark in marks if mark not in style)
            rules += [Rule(mark, content) for mark in others if self._rare(mark, usual)]
        return rules

    def _straightened(self) -> list[Rule]:
        """“so”, „so“ and « so » as "so"; the spaces inside go with the guillemets."""
        rules = []
        if self._rare("«", STRAIGHT) and self._rare("»", STRAIGHT):
            rules = [Rule(_OPENING_GUILLEMET, STRAIGHT), Rule(_CLOSING_GUILLEMET, STRAIGHT)]
        return rules + [
            Rule(mark, STRAIGHT) for mark in OPENING + CLOSING if self._rare(mark, STRAIGHT)
        ]

    def _guillemets(self, spaced: bool) -> list[Rule]:
        """The spaces inside guillemets as the data has them."""
        if not spaced:
            few = is_rare(self.counts["« "], self.counts["«"])
            return [Rule(_OPENING_GUILLEMET, "«"), Rule(_CLOSING_GUILLEMET, "»")] if few else []
        tight = self.counts["«"] - self.counts["« "]
        few = is_rare(tight, self.counts["« "])
        return [Rule(_TIGHT_OPENING, "« "), Rule(_TIGHT_CLOSING, " »")] if few else []

    def _marks(self) -> list[Rule]:
        """The space before a question mark and its like, as the data has it or not."""
        rules = []
        for mark in MARKS:
            if self._rare(f"x{mark}", f" {mark}"):
                rules.append(Rule(_SPACE_OUT[mark], f" {mark}"))
            elif self._rare(f" {mark}", f"x{mark}"):
                rules.append(Rule(_TIGHTEN[mark], mark))
        return rules
