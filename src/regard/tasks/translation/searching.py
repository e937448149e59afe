"""The translations of plain texts, as the search of an engine finds them. Long texts are translated
in parts, and what a run was taught is answered from there.
"""

from abc import ABC
from collections.abc import Iterable, Sequence

from regard.decode.hypothesis import Hypothesis
from regard.decode.search import Search
from regard.engines import Engine, Stopped, never
from regard.tasks.inputs import texts_of
from regard.tasks.translation.confidence import SaysHowSure
from regard.tasks.translation.corrections import Remembers, known_or
from regard.tasks.translation.looking import LooksInside
from regard.tasks.translation.parts import Parts, parts_of
from regard.tasks.translation.translation import Translation, joined, of_source
from regard.text.tokenizer import Tokenizers


class Searches(LooksInside, Remembers, SaysHowSure, ABC):
    """Translates plain texts."""

    engine: Engine
    tokenizers: Tokenizers
    search: Search
    # The longest source in pieces; longer texts are translated in parts.
    limit: int

    def texts(
        self,
        texts: Sequence[str],
        search: Search,
        prefixes: Sequence[str] = (),
        stopped: Stopped = never,
    ) -> list[str]:
        """The best translation of each text, and nothing else about it: the quickest way."""
        if self.corrections and not prefixes:
            return known_or(
                texts, self._corrected_text, lambda rest: self._texts(rest, search, (), stopped)
            )
        return self._texts(texts, search, prefixes, stopped)

    def _texts(
        self, texts: Sequence[str], search: Search, prefixes: Sequence[str], stopped: Stopped
    ) -> list[str]:
        parts = parts_of(texts, prefixes, self.tokenizers, self.limit)
        outputs = self.engine.best(parts.sources, parts.prefixes, search, stopped)
        found: list[list[str]] = [[] for _ in texts]
        decoded = self.tokenizers.target.decode_batch(outputs)
        for owner, text in zip(parts.owners, decoded, strict=True):
            if text:
                found[owner].append(text)
        return [" ".join(each) for each in found]

    def _scored(
        self, texts: Sequence[str], parts: Parts, hypotheses: Sequence[Sequence[Hypothesis]]
    ) -> list[list[Translation]]:
        """The translations of each text, given the hypotheses of its parts."""
        found: list[list[list[Translation]]] = [[] for _ in texts]
        unseen = [*map(self.unseen_words, texts)]
        target = self.tokenizers.target
        for source, owner, ranked in zip(parts.sources, parts.owners, hypotheses, strict=True):
            results = of_source(unseen[owner], [Translation.of(each, target) for each in ranked])
            found[owner].append([self._with_confidence(each, len(source)) for each in results])
        empty = Translation("", 0.0, [], [], finished=True)
        return [
            joined(results) if results else of_source(words, [empty])
            for words, results in zip(unseen, found, strict=True)
        ]

    def translations(
        self,
        texts: Iterable[str],
        search: Search | None = None,
        prefixes: Sequence[str] = (),
        stopped: Stopped = never,
    ) -> list[list[Translation]]:
        """Translate texts, and tell all that is known of the translations.

        Parameters
        ----------
        texts
            Several texts.
        search
            How to search, such as Search(beam_size=5, n_best=3); by default, as the recipe says.
        prefixes
            A beginning for the translation of each text.
        stopped
            A function that ends the search when it returns True.

        Returns
        -------
        list of list of Translation
            Up to n_best translations of each text, the best first.

        Raises
        ------
        RequestError
            What was given is not a text, or there are not as many prefixes as texts.
        """
        given = texts_of(texts, "translations")
        if self.corrections and not prefixes:
            return known_or(
                given,
                self.corrected,
                lambda rest: self._translations(rest, search or self.search, (), stopped),
            )
        return self._translations(given, search or self.search, prefixes, stopped)

    def _translations(
        self, given: Sequence[str], search: Search, prefixes: Sequence[str], stopped: Stopped
    ) -> list[list[Translation]]:
        parts = parts_of(given, prefixes, self.tokenizers, self.limit)
        found = self.engine.search(parts.sources, parts.prefixes, search, stopped)
        return self._scored(given, parts, found)
