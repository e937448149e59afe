"""The service behind all interfaces: it splits, translates and explains texts."""

import asyncio
from collections import defaultdict
from collections.abc import AsyncGenerator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Any, Literal

from regard.decode.search import Search
from regard.errors import DataError
from regard.serve.batch_metrics import BatchMetrics
from regard.serve.http.limits import Limits
from regard.serve.http.refusal import Refusal
from regard.serve.models import Models
from regard.serve.one_thread import OneThread
from regard.serve.translation.batching import Batcher
from regard.serve.translation.detection import DetectedLanguage, Detector
from regard.serve.translation.explaining import confidence, explanation
from regard.serve.translation.files import unfinished
from regard.serve.translation.glossaries import Glossaries
from regard.serve.translation.memory import Known, TranslationMemory
from regard.serve.translation.pairs import LanguagePair, LanguagePairs, pivot_of
from regard.tasks.translation.marked import MarkedTranslation, without_marks
from regard.text.documents.document import Code, Document, Pieces, as_text
from regard.text.documents.sentences import marked, unmarked
from regard.text.documents.tags import NO_TAGS, Tags
from regard.text.formatted import Format, FormattedText, formatted, of_segment
from regard.text.glossary import NO_TERMS, Glossary
from regard.text.marks import Mark
from regard.text.memory import Memory

# Longer texts are split in a thread, so that other requests are answered meanwhile.
LONG_CHARACTERS = 2000
# How many sentences of a streamed text are translated together, after the first.
STREAMED_SENTENCES = 8


@dataclass(frozen=True)
class TranslationRequest:
    """Texts to translate, and how. `source` may be "auto"; `tags` says what tags with some names
    are. A `glossary` is for source and target, which then have a translator of their own.
    """

    texts: list[str]
    source: str
    target: str
    form: Format | Literal["segment"] = "text"
    alternatives: int = 0
    explain: bool = False
    confidence: bool = False
    use_memory: bool = False
    tags: Tags = NO_TAGS
    glossary: Glossary = NO_TERMS


@dataclass
class Answer:
    """The translation of one text."""

    text: str
    alternatives: list[str] = field(default_factory=list)
    detected: DetectedLanguage | None = None
    extra: dict[str, Any] = field(default_factory=dict)  # pivot, explanation


@dataclass
class PendingText:
    """A text that is being translated: its sentences, the pairs that translate them one after the
    other, and the last of these pairs' translations of each sentence, with what their marks are.
    """

    text: FormattedText
    route: list[LanguagePair]
    detected: DetectedLanguage | None
    outputs: list[list[MarkedTranslation]] = field(default_factory=list)
    codes: list[dict[Mark, Code]] = field(default_factory=list)


@dataclass
class Service:
    pairs: LanguagePairs
    batcher: Batcher
    detector: Detector
    limits: Limits
    metrics: BatchMetrics
    memory: TranslationMemory | None = None
    memories: Mapping[tuple[str, str], Memory] = field(default_factory=dict)
    glossaries: Glossaries | None = None
    models: Models = field(default_factory=Models)
    thread: OneThread = field(default_factory=OneThread)  # for PyTorch models
    # One document at a time is in memory.
    reading: asyncio.Semaphore = field(default_factory=lambda: asyncio.Semaphore(1))

    @cached_property
    def known(self) -> Known:
        return Known(self.memory, self.memories)

    async def translate(self, request: TranslationRequest) -> list[Answer]:
        """An answer for each text, in order."""
        texts = await self.split(request)
        if request.explain or request.alternatives or request.confidence:
            await self._search_scored(texts, request)
            answers = [self._answer(each, request) for each in texts]
            for each, answer in zip(texts, answers, strict=True):
                best = [found[0] for found in each.outputs]
                if request.explain:
                    answer.extra |= explanation(best, aligned=len(each.route) == 1)
                if request.confidence:
                    answer.extra["confidence"] = confidence(best)
            return answers
        filled = await self._search_best(texts, request)
        return best_answers(texts, filled)

    async def stream(
        self, texts: Sequence[PendingText], request: TranslationRequest
    ) -> AsyncGenerator[tuple[int, str], None]:
        """Translate the texts one after the other, in pieces: (number of the text, next piece)."""
        for number, each in enumerate(texts):
            translations: list[Pieces] = []
            sentences = each.text.sentences
            sent, count = 0, len(sentences)
            while True:
                start = len(translations)
                group_size = STREAMED_SENTENCES if start else 1
                group = sentences[start : start + group_size]
                for pair in each.route:
                    group = await self._best(pair, group, request)
                translations += group
                text = each.text.fill(translations, request.target)
                yield number, text[sent:]
                sent = len(text)
                if len(translations) == count:
                    break

    async def source_of(self, document: Document, source: str) -> str:
        """The language of a document, which is detected if it is "auto"."""
        if source != "auto":
            return source
        text = " ".join(unfinished(document).values())
        return (await asyncio.to_thread(self._detected, text)).language

    def _detected(self, text: str) -> DetectedLanguage:
        if not self.pairs.sources:
            raise Refusal(400, "no translator is served here; serve the run of one")
        return self.detector.best(text, self.pairs.sources)

    async def split(self, request: TranslationRequest) -> list[PendingText]:
        """Split the texts into sentences, and find a route for each text."""
        loading = request.source == "auto" and not self.detector.ready
        if loading or sum(map(len, request.texts)) > LONG_CHARACTERS:
            return await asyncio.to_thread(self._split, request)
        return self._split(request)

    def _split(self, request: TranslationRequest) -> list[PendingText]:
        if request.form == "segment":
            return self._segments(request)
        texts = []
        for text in request.texts:
            detected = None
            if request.source == "auto":
                detected = self._detected(text)
            source = detected.language if detected else request.source
            route = self.pairs.route(source, request.target)
            known = None
            if request.use_memory:
                known = self.known.whole(text, source, request.target, request.form != "text")
            if known is not None or not route:
                split = FormattedText([text if known is None else known], as_text)
            else:
                split = formatted(text, request.form, source, request.tags)
            texts.append(PendingText(split, route, detected))
        return texts

    def _segments(self, request: TranslationRequest) -> list[PendingText]:
        """The texts are segments of a document, whose language is known."""
        if request.source == "auto":
            raise Refusal(400, "Invalid request: a segment needs the language of its document")
        route = self.pairs.route(request.source, request.target)
        try:
            found = [of_segment(text, request.source) for text in request.texts]
        except DataError as error:
            raise Refusal(400, f"Invalid request: {error}") from None
        return [PendingText(each, route, None) for each in found]

    async def _search_best(
        self, texts: Sequence[PendingText], request: TranslationRequest
    ) -> list[str]:
        """The best translation of each text. Sentences for one pair are translated together."""
        current = [each.text.sentences for each in texts]
        for hop in range(2):
            groups: dict[int, list[int]] = defaultdict(list)
            for index, each in enumerate(texts):
                if hop < len(each.route):
                    groups[id(each.route[hop])].append(index)
            for members in groups.values():
                pair = texts[members[0]].route[hop]
                together = [sentence for index in members for sentence in current[index]]
                found = iter(await self._best(pair, together, request))
                for index in members:
                    current[index] = [next(found) for _ in current[index]]
        return [
            each.text.fill(found, request.target)
            for each, found in zip(texts, current, strict=True)
        ]

    async def _best(
        self, pair: LanguagePair, sentences: Sequence[Pieces], request: TranslationRequest
    ) -> list[Pieces]:
        """The best translation of each sentence, with its tags and placeholders."""
        known: dict[int, Pieces] = {}
        if request.use_memory:
            for row, sentence in enumerate(sentences):
                better = self.known.sentence(pair.source, pair.target, sentence)
                if better is not None:
                    known[row] = better
        rest = [sentence for row, sentence in enumerate(sentences) if row not in known]
        found = iter(await self.translated(pair, rest, request.glossary))
        return [known[row] if row in known else next(found) for row in range(len(sentences))]

    async def translated(
        self, pair: LanguagePair, sentences: Sequence[Pieces], glossary: Glossary = NO_TERMS
    ) -> list[Pieces]:
        """The best translation of each sentence by the model of a pair."""
        given = [marked(sentence) for sentence in sentences]
        texts, translator = [text for text, _ in given], pair.translator
        if glossary:
            texts = await asyncio.to_thread(lambda: [*map(glossary.mark, texts)])
        if any(text.marks for text in texts):
            found = await self.batcher.marked(translator, texts, translator.search)
        else:
            plain = [text.written for text in texts]
            outputs = await self.batcher.best(translator, plain, translator.search)
            found = [*map(without_marks, texts, outputs)]
        return [unmarked(each.text, codes) for each, (_, codes) in zip(found, given, strict=True)]

    async def _search_scored(
        self, texts: Sequence[PendingText], request: TranslationRequest
    ) -> None:
        """Find all outputs of each text with their scores. A pivot passes on its best output."""
        for each in texts:
            sentences = each.text.sentences
            for pair in each.route[:-1]:
                sentences = await self.translated(pair, sentences)
            if each.route:
                translator = each.route[-1].translator
                search = widened(translator.search, request.alternatives + 1)
                given = [marked(sentence) for sentence in sentences]
                each.codes = [codes for _, codes in given]
                each.outputs = await self.batcher.scored(
                    translator, [text for text, _ in given], search, request.explain
                )

    def _answer(self, each: PendingText, request: TranslationRequest) -> Answer:
        def ranked(rank: int) -> str:
            found = [
                unmarked(outputs[min(rank, len(outputs) - 1)].text, codes)
                for outputs, codes in zip(each.outputs, each.codes, strict=True)
            ]
            return each.text.fill(found, request.target)

        best, *others = map(ranked, range(request.alternatives + 1))
        different = list(dict.fromkeys(text for text in others if text != best))
        return Answer(best, different, each.detected, pivot_of(each.route))


def best_answers(texts: Sequence[PendingText], filled: Sequence[str]) -> list[Answer]:
    return [
        Answer(text, detected=each.detected, extra=pivot_of(each.route))
        for text, each in zip(filled, texts, strict=True)
    ]


def widened(search: Search, n_best: int) -> Search:
    return replace(search, n_best=n_best, beam_size=max(search.beam_size, n_best))
