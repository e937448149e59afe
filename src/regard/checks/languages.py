"""The languages of texts, by vote: a short line says little, many lines say it reliably."""

import re
from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import cache
from typing import Any

from regard.checks.report import spread
from regard.text.languages import base_code, language_name

# Lines are joined until they are this long; a shorter text is no evidence.
CHARACTERS, LONGEST = 80, 400
MOST_VOTES = 500
# Of many lines, runs of neighbours are read.
MOST_LINES, RUN = 6000, 20
# Fewer votes than these, or a smaller share of them, name no language; a language that somebody
# has named is contradicted if it has a smaller share still.
LEAST_VOTES, LEAST_SHARE, CONTRADICTED = 8, 0.5, 0.3
# Another language counts as part of a text from this many votes and this share on.
LEAST_OTHER, LEAST_OTHER_SHARE = 8, 0.04

NOISE = re.compile(r"\w+://\S+|<[^>]*>|\{[^}]*\}|%\S+|&\w+;|\\\w|\d+")
# Languages that are taken for each other, or of which one is written like the other.
ALIKE = tuple(
    frozenset(group.split())
    for group in (
        *(
            "no nb nn da",
            "hr sr bs sl",
            "cs sk",
            "id ms jv su min",
            "pt gl mwl",
            "es gl an ext ast ca",
        ),
        *("zh yue wuu", "ar arz ary", "hi mr ne sa", "de lb nds", "nl af fy li", "en pcm sco"),
        *("fr wa gcf gcr ht oc", "it vec lij sc co", "bg mk", "tr az crh tk", "xh zu", "kk ky"),
        *("fa ps tg", "qu ay", "ca oc", "ru be uk bg", "fi et", "sv da no nb nn", "tl fil bcl"),
        *("uz uzs", "ku sdh", "st nso tn", "rw rn", "lv ltg", "gn gug", "he hbo", "el grc"),
    )
)


@dataclass(frozen=True)
class Passage:
    """Neighbouring lines with enough text to tell the language of, from the first one on."""

    language: str
    place: str
    text: str


@dataclass(frozen=True)
class Languages:
    """The languages of the passages of a text."""

    passages: tuple[Passage, ...]

    def ranked(self) -> list[tuple[str, int]]:
        return Counter(each.language for each in self.passages).most_common()

    @property
    def main(self) -> str | None:
        """The language of most of the text, if there is enough of it to tell."""
        if len(self.passages) < LEAST_VOTES:
            return None
        language, votes = self.ranked()[0]
        near = sum(count for other, count in self.ranked() if alike(other, language))
        return language if near > LEAST_SHARE * len(self.passages) and 2 * votes > near else None

    def share(self, language: str) -> float:
        """The share of a language and of those that are like it."""
        near = sum(count for other, count in self.ranked() if alike(other, language))
        return near / max(1, len(self.passages))

    def others(self) -> list[str]:
        """Languages of parts of the text."""
        main = self.main
        if main is None:
            return []
        least = max(LEAST_OTHER, LEAST_OTHER_SHARE * len(self.passages))
        return [
            language
            for language, votes in self.ranked()
            if votes >= least and not alike(language, main)
        ]

    def within(self, language: str) -> list[Passage]:
        return [each for each in self.passages if each.language == language]

    def are_not(self, code: str) -> bool:
        """Whether the text is clearly in another language than the code says."""
        main, known = self.main, base_code(code)
        if main is None or known not in known_codes() or alike(main, known):
            return False
        return self.share(known) < CONTRADICTED

    def __str__(self) -> str:
        if self.main is None:
            return "not enough text to tell" if len(self.passages) < LEAST_VOTES else "mixed"
        return f"{language_name(self.main)} ({100 * self.share(self.main):.0f} %)"


def alike(one: str, other: str) -> bool:
    first, second = base_code(one), base_code(other)
    return first == second or any(first in group and second in group for group in ALIKE)


def languages_of(lines: Iterable[tuple[str, str]]) -> Languages:
    """The languages of lines, each with its place."""
    found = []
    for text, place in spread(passages(thinned(list(lines))), MOST_VOTES):
        # Capitals alone are seldom seen by the model.
        language = identifier().classify(text.lower() if text.isupper() else text)[0]
        if language != "zxx":  # no language
            found.append(Passage(language, place, text))
    return Languages(tuple(found))


def thinned(lines: Sequence[tuple[str, str]]) -> list[tuple[str, str]]:
    """Enough of many lines, in runs of neighbours that are evenly spread."""
    starts = range(0, len(lines), RUN)
    if len(lines) <= MOST_LINES:
        return list(lines)
    return [line for i in spread(starts, MOST_LINES // RUN) for line in lines[i : i + RUN]]


def passages(lines: Iterable[tuple[str, str]]) -> Sequence[tuple[str, str]]:
    """Lines joined to passages, without what is of no language."""
    found: list[tuple[str, str]] = []
    text, start = "", ""
    for line, place in lines:
        words = " ".join(NOISE.sub(" ", line[:LONGEST]).split())
        if not words:
            continue
        text, start = (f"{text} {words}", start) if text else (words, place)
        if len(text.encode()) >= CHARACTERS:
            found.append((text, start))
            text = ""
    return found


@cache
def identifier() -> Any:
    from py3langid.langid import MODEL_FILE, LanguageIdentifier

    return LanguageIdentifier.from_model_file(MODEL_FILE, norm_probs=False)


@cache
def known_codes() -> frozenset[str]:
    return frozenset(map(str, identifier().labels)) | {"nb", "fil"}
