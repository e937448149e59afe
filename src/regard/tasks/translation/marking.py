"""What a translator does with texts that have marks, and with the terms of a glossary: it keeps
them.
"""

from abc import ABC, abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from pathlib import Path
from typing import Self

from regard.decode.hypothesis import Hypothesis
from regard.decode.search import Search
from regard.engines import Engine, Stopped, never
from regard.tasks.translation.corrections import Remembers, known_or
from regard.tasks.translation.marked import (
    MarkedTranslation,
    Output,
    Written,
    joined,
    placing_of,
    ranked_translations,
    translated,
    word_pairs,
)
from regard.tasks.translation.memories import Aids, with_memory
from regard.tasks.translation.parts import Parts, parts_of
from regard.tasks.translation.translation import Translation
from regard.tasks.translation.translation import joined as joined_translations
from regard.text.documents.document import Code
from regard.text.documents.sentences import marked, unmarked
from regard.text.formatted import Format, FormattedText, formatted
from regard.text.glossary import NO_TERMS, Glossary, terms_of
from regard.text.marks import Mark, MarkedText
from regard.text.memory import Match
from regard.text.terms import TermUse
from regard.text.tokenizer import Tokenizers


@dataclass(frozen=True)
class Split:
    """A text of a format, its sentences as a translator takes them, and what their marks are."""

    text: FormattedText
    sentences: list[MarkedText]
    codes: list[dict[Mark, Code]]

    @classmethod
    def of(cls, text: str, form: Format, language: str, glossary: Glossary = NO_TERMS) -> Self:
        """A plain text is one sentence, as long as it may be."""
        split = formatted(text, form, None if form == "text" else language)
        given = [marked(sentence) for sentence in split.sentences]
        sentences = [glossary.mark(each) for each, _ in given]
        return cls(split, sentences, [codes for _, codes in given])

    @property
    def is_plain(self) -> bool:
        """Whether there is nothing to keep."""
        return not any(each.marks for each in self.sentences)

    def filled(self, found: Sequence[MarkedTranslation], target: str) -> str:
        """The text with its sentences translated."""
        pairs = zip(found, self.codes, strict=True)
        return self.text.fill([unmarked(each.text, codes) for each, codes in pairs], target)

    def ranked(
        self, found: Sequence[Sequence[MarkedTranslation]], target: str
    ) -> list[Translation]:
        """The translations of the text by rank. A sentence with fewer has its last one again."""
        return [
            self.translation([each[min(rank, len(each) - 1)] for each in found], target)
            for rank in range(max(map(len, found), default=1))
        ]

    def translation(self, found: Sequence[MarkedTranslation], target: str) -> Translation:
        """The translations of the sentences as one of the text."""
        scored = [each.output.scored for each in found if each.output.scored]
        whole = Translation("", 0.0, [], [], finished=True)
        if scored:
            (whole,) = joined_translations([[each] for each in scored])
        return replace(
            whole,
            text=self.filled(found, target),
            marks=placing_of(found) if any(self.codes) else None,
            alignment=word_pairs(found),
            terms=[term for each in found for term in each.terms],
        )


@dataclass(frozen=True)
class TranslatedText:
    """The translation of a text, and what became of its terms, or the text of a memory that it was
    taken from.
    """

    text: str
    terms: Sequence[TermUse] = ()
    match: Match | None = None

    @classmethod
    def taken(cls, match: Match) -> Self:
        return cls(match.target, match=match)


class KeepsMarks(Remembers, ABC):
    """Translates texts with marks."""

    engine: Engine
    tokenizers: Tokenizers
    search: Search
    limit: int

    folder: Path | None

    @cached_property
    def reads_terms(self) -> bool:
        """Whether the model has learned from sources with words of the target language."""
        from regard.run import Run

        if self.folder is None:
            return False
        return bool(Run(self.folder).recipe_for("translation").data.terms)

    @abstractmethod
    def languages(self) -> tuple[str, str] | None: ...

    @abstractmethod
    def texts(self, texts: Sequence[str], search: Search) -> list[str]: ...

    @abstractmethod
    def translations(self, texts: Sequence[str], search: Search) -> list[list[Translation]]: ...

    @abstractmethod
    def _scored(
        self, texts: Sequence[str], parts: Parts, hypotheses: Sequence[Sequence[Hypothesis]]
    ) -> list[list[Translation]]: ...

    def in_format(
        self, texts: Sequence[str], form: Format, search: Search, glossary: Glossary = NO_TERMS
    ) -> list[TranslatedText]:
        """The best translation of each text as it is written, with its tags and placeholders."""
        source, target = self.languages() or ("", "")
        split = [Split.of(text, form, source, glossary) for text in texts]
        without = [row for row, each in enumerate(split) if form == "text" and each.is_plain]
        plain = self.texts([texts[row] for row in without], search)
        results = dict(zip(without, map(TranslatedText, plain), strict=True))
        rest = [row for row in range(len(texts)) if row not in results]
        given = [text for row in rest for text in split[row].sentences]
        found = iter(self.marked(given, search))
        for row in rest:
            some = [next(found) for _ in split[row].sentences]
            terms = [term for each in some for term in each.terms]
            results[row] = TranslatedText(split[row].filled(some, target), terms)
        return [results[row] for row in range(len(texts))]

    def translations_in_format(
        self, texts: Sequence[str], form: Format, search: Search, glossary: Glossary = NO_TERMS
    ) -> list[list[Translation]]:
        """The translations of each text as they are written, and all that is known of them."""
        source, target = self.languages() or ("", "")
        split = [Split.of(text, form, source, glossary) for text in texts]
        without = [row for row, each in enumerate(split) if form == "text" and each.is_plain]
        alone = self.translations([texts[row] for row in without], search)
        plain = dict(zip(without, alone, strict=True))
        rest = [each for row, each in enumerate(split) if row not in plain]
        sentences = [text for each in rest for text in each.sentences]
        found = iter(self.marked_translations(sentences, search, aligned=True))
        filled = iter([each.ranked([next(found) for _ in each.sentences], target) for each in rest])
        return [plain[row] if row in plain else next(filled) for row in range(len(texts))]

    def helped(
        self, texts: Sequence[str], form: Format, search: Search, aids: Aids
    ) -> list[TranslatedText]:
        """The best translation of each text, with terms, or as the memory has it."""
        return with_memory(
            aids.memory,
            texts,
            lambda rest: self.in_format(rest, form, search, aids.glossary),
            TranslatedText.taken,
        )

    def translations_helped(
        self, texts: Sequence[str], form: Format, search: Search, aids: Aids
    ) -> list[list[Translation]]:
        """The same with all that is known of the translations, and with the most similar text of
        the memory.
        """

        def translate(rest: Sequence[str]) -> list[list[Translation]]:
            found = self.translations_in_format(rest, form, search, aids.glossary)
            if aids.memory is None:
                return found
            matches = [aids.memory.best(text, aids.min_match) for text in rest]
            return [
                [replace(each, match=match) for each in ranked]
                for ranked, match in zip(found, matches, strict=True)
            ]

        return with_memory(aids.memory, texts, translate, lambda match: [Translation.taken(match)])

    def marked(
        self,
        texts: Sequence[MarkedText],
        search: Search | None = None,
        stopped: Stopped = never,
    ) -> list[MarkedTranslation]:
        """Translate texts with marks, which are in the translations exactly as in the texts.

        Parameters
        ----------
        texts
            Texts as `regard.text.protect.protect` gives them.
        search
            How to search; by default, as the recipe says.
        stopped
            A function that ends the search when it returns True.

        Returns
        -------
        list of MarkedTranslation
            One for each text; `str` gives it as it is written.
        """

        def translate(plain: Sequence[str], aligned: Sequence[bool]) -> list[Output]:
            parts = parts_of(plain, (), self.tokenizers, self.limit)
            best = self.engine.best(parts.sources, parts.prefixes, search or self.search, stopped)
            ranked = self._outputs(plain, aligned, parts, [[ids] for ids in best])
            return [output for output, *_ in ranked]

        def others(rest: Sequence[MarkedText]) -> list[MarkedTranslation]:
            normalise = self.tokenizers.target.normalise
            return translated(rest, translate, normalise, self._reads_terms_of(rest))

        return known_or(texts, self._corrected_marks, others) if self.corrections else others(texts)

    def marked_translations(
        self,
        texts: Sequence[MarkedText],
        search: Search | None = None,
        stopped: Stopped = never,
        aligned: bool = False,
    ) -> list[list[MarkedTranslation]]:
        """Translate texts with marks, and tell all that is known of the translations.

        Parameters
        ----------
        texts
            Texts as `regard.text.protect.protect` gives them.
        search
            How to search, such as Search(beam_size=5, n_best=3); by default, as the recipe says.
        stopped
            A function that ends the search when it returns True.
        aligned
            Record the attention of every output, and not only where marks need it.

        Returns
        -------
        list of list of MarkedTranslation
            Up to n_best translations of each text, the best first.
        """

        def translate(plain: Sequence[str], needed: Sequence[bool]) -> list[list[Output]]:
            parts = parts_of(plain, (), self.tokenizers, self.limit)
            found = self.engine.search(
                parts.sources, parts.prefixes, search or self.search, stopped
            )
            ids = [[each.tokens for each in hypotheses] for hypotheses in found]
            wanted = [aligned or need for need in needed]
            outputs = self._outputs(plain, wanted, parts, ids)
            scored = self._scored(plain, parts, found)
            return [
                [replace(output, scored=of) for output, of in zip(*ranked, strict=True)]
                for ranked in zip(outputs, scored, strict=True)
            ]

        def others(rest: Sequence[MarkedText]) -> list[list[MarkedTranslation]]:
            normalise = self.tokenizers.target.normalise
            return ranked_translations(rest, translate, normalise, self._reads_terms_of(rest))

        def known(text: MarkedText) -> list[MarkedTranslation] | None:
            found = self._corrected_marks(text)
            return None if found is None else [found]

        return known_or(texts, known, others) if self.corrections else others(texts)

    def _reads_terms_of(self, texts: Sequence[MarkedText]) -> bool:
        return any(map(terms_of, texts)) and self.reads_terms

    def _outputs(
        self,
        texts: Sequence[str],
        aligned: Sequence[bool],
        parts: Parts,
        found: Sequence[Sequence[list[int]]],
    ) -> list[list[Output]]:
        """The outputs of each text by rank, given those of its parts as ids, with the attention
        behind them where it is asked for.
        """
        source, target = self.tokenizers
        wanted = [
            (row, rank)
            for row, owner in enumerate(parts.owners)
            for rank in range(len(found[row]) if aligned[owner] else 0)
        ]
        attention = dict(
            zip(
                wanted,
                self.engine.attention(
                    [parts.sources[row] for row, _ in wanted],
                    [found[row][rank] for row, rank in wanted],
                ),
                strict=True,
            )
        )
        written: list[list[list[Written]]] = [[] for _ in texts]
        places = [source.places(texts[row]) if aligned[row] else [] for row in range(len(texts))]
        decoded = iter(target.decode_batch([ids for ranked in found for ids in ranked]))
        for row, owner in enumerate(parts.owners):
            count = len(parts.sources[row])
            here, places[owner] = places[owner][:count], places[owner][count:]
            written[owner].append([])
            for rank, ids in enumerate(found[row]):
                text = next(decoded)
                weights = attention.get((row, rank))
                there = target.places_of(ids, text) if aligned[owner] else []
                written[owner][-1].append(Written(here, text, there, weights))
        return [
            [joined(ranked) for ranked in zip(*each, strict=False)] or [Output("")]
            for each in written
        ]
