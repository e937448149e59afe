"""The loaded translators as language pairs, and the route from one language to another."""

import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path

from regard.engines import EngineName
from regard.errors import RequestError
from regard.serve.http.refusal import Refusal
from regard.tasks.translation.translator import Translator
from regard.text.languages import language_name

WITH_LANGUAGES = re.compile(r"([A-Za-z]{2,3}(?:[-_]\w+)?):([A-Za-z]{2,3}(?:[-_]\w+)?)=(.+)")


@dataclass(frozen=True)
class LanguagePair:
    """A translator and its two languages."""

    source: str
    target: str
    run: str
    translator: Translator


class LanguagePairs:
    """All language pairs. Where none is direct, two that share a third language are used."""

    def __init__(self, pairs: Sequence[LanguagePair]) -> None:
        self.pairs = tuple(pairs)
        self._direct: dict[tuple[str, str], LanguagePair] = {}
        for pair in pairs:
            other = self._direct.setdefault((pair.source, pair.target), pair)
            if other is not pair:
                raise RequestError(
                    f"{other.run} and {pair.run} both translate {pair.source} to {pair.target}; "
                    "serve one of them"
                )
        codes = [code for pair in pairs for code in (pair.source, pair.target)]
        self.languages = sorted(set(codes))
        self.sources = sorted({pair.source for pair in pairs})

    def targets(self, source: str) -> list[str]:
        """The languages that a language can be translated to, itself included."""
        return [code for code in self.languages if code == source or self._find(source, code)]

    def route(self, source: str, target: str) -> list[LanguagePair]:
        """The pairs that translate one after the other; none where source and target are equal."""
        if source == target:
            return []
        found = self._find(source, target)
        if not found:
            raise Refusal(
                400,
                f"{language_name(target)} ({target}) is not available as a target language "
                f"from {language_name(source)} ({source})",
            )
        return found

    def _find(self, source: str, target: str) -> list[LanguagePair]:
        if direct := self._direct.get((source, target)):
            return [direct]
        for pivot in sorted(self.languages, key=lambda code: (code != "en", code)):
            first = self._direct.get((source, pivot))
            second = self._direct.get((pivot, target))
            if first and second:
                return [first, second]
        return []


def pivot_of(route: Sequence[LanguagePair]) -> dict[str, str]:
    return {"pivot": route[0].target} if len(route) > 1 else {}


def load_pairs(
    places: Sequence[str],
    device: str,
    engine: EngineName,
    int8: bool,
    say: Callable[[str], None],
) -> LanguagePairs:
    """Load the translators of run folders. `en:de=FOLDER` names the languages of a run."""
    pairs = []
    for place in places:
        named = WITH_LANGUAGES.fullmatch(place)
        folder = Path(named[3] if named else place)
        translator = Translator.load(folder, device, engine, int8)
        codes = (named[1], named[2]) if named else translator.languages()
        if codes is None:
            raise RequestError(
                f"{folder}: does not say which languages it translates; "
                f"write them before it, like en:de={folder}"
            )
        source, target = (code.replace("_", "-").lower() for code in codes)
        if source == target:
            raise RequestError(f"{folder}: from {source} to {source} there is nothing to translate")
        pairs.append(LanguagePair(source, target, folder.resolve().name, translator))
        languages = f"{language_name(source)} → {language_name(target)}"
        say(f"  {languages}: {folder}, {type(translator.engine).__name__}")
    return LanguagePairs(pairs)
