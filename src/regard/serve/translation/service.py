"""The service behind all interfaces: it splits, translates and explains texts."""

import asyncio
from collections import defaultdict
from collections.abc import AsyncGenerator, Sequence
from dataclasses import dataclass, field, replace
from html import escape, unescape
from typing import Any

from regard.decode.search import Search
from regard.serve.batch_metrics import BatchMetrics
from regard.serve.http.limits import Limits
from regard.serve.http.refusal import Refusal
from regard.serve.models import Models
from regard.serve.one_thread import OneThread
from regard.serve.translation.batching import Batcher
from regard.serve.translation.detection import DetectedLanguage, Detector
from regard.serve.translation.explaining import explain
from regard.serve.translation.markup import split_html
from regard.serve.translation.memory import TranslationMemory
from regard.serve.translation.pairs import LanguagePair, LanguagePairs
from regard.serve.translation.placeholders import keeps_placeholders, split_at_placeholders
from regard.serve.translation.splitting import Document, split_text
from regard.tasks.translation.translation import Translation

# Longer texts are split in a thread, so that other requests are answered meanwhile.
LONG_CHARACTERS = 2000
# How many sentences of a streamed text are translated together, after the first.
STREAMED_SENTENCES = 8


@dataclass(frozen=True)
class TranslationRequest:
    """Texts to translate, and how. `source` may be "auto"."""

    texts: list[str]
    source: str
    target: str
    is_html: bool = False
    alternatives: int = 0
    explain: bool = False
    use_memory: bool = False
    ignored_tags: frozenset[str] = frozenset()


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
    other, and the outputs of each sentence.
    """

    document: Document
    route: list[LanguagePair]
    detected: DetectedLanguage | None
    outputs: list[list[Translation]] = field(default_factory=list)


@dataclass
class Service:
    pairs: LanguagePairs
    batcher: Batcher
    detector: Detector
    limits: Limits
    metrics: BatchMetrics
    memory: TranslationMemory | None = None
    models: Models = field(default_factory=Models)
    thread: OneThread = field(default_factory=OneThread)  # for PyTorch models

    async def translate(self, request: TranslationRequest) -> list[Answer]:
        """An answer for each text, in order."""
        texts = await self.split(request)
        if request.explain or request.alternatives:
            await self._search_scored(texts, request)
            answers = [self._answer(each, request) for each in texts]
            if request.explain:
                for each, answer in zip(texts, answers, strict=True):
                    answer.extra |= await self._explain(each)
            return answers
        filled = await self._search_best(texts, request)
        return best_answers(texts, filled)

    async def stream(
        self, texts: Sequence[PendingText], request: TranslationRequest
    ) -> AsyncGenerator[tuple[int, str], None]:
        """Translate the texts one after the other, in pieces: (number of the text, next piece)."""
        for number, each in enumerate(texts):
            translations: list[str] = []
            sent, count = 0, len(each.document.sentences)
            while True:
                start = len(translations)
                group_size = STREAMED_SENTENCES if start else 1
                group = each.document.sentences[start : start + group_size]
                for pair in each.route:
                    group = await self._best(pair, group, request.use_memory)
                translations += group
                text = each.document.fill(translations, request.target)
                yield number, text[sent:]
                sent = len(text)
                if len(translations) == count:
                    break

    async def split(self, request: TranslationRequest) -> list[PendingText]:
        """Split the texts into sentences, and find a route for each text."""
        loading = request.source == "auto" and not self.detector.ready
        if loading or sum(map(len, request.texts)) > LONG_CHARACTERS:
            return await asyncio.to_thread(self._split, request)
        return self._split(request)

    def _split(self, request: TranslationRequest) -> list[PendingText]:
        texts = []
        for text in request.texts:
            detected = None
            if request.source == "auto":
                if not self.pairs.sources:
                    raise Refusal(400, "no translator is served here; serve the run of one")
                detected = self.detector.best(text, self.pairs.sources)
            source = detected.language if detected else request.source
            route = self.pairs.route(source, request.target)
            known = None
            if request.use_memory:
                known = self._known(text, source, request)
            if known is not None or not route:
                document = Document(parts=[text if known is None else known])
            elif request.is_html:
                document = split_html(text, source, request.ignored_tags)
            else:
                document = split_text(text, source)
            texts.append(PendingText(document, route, detected))
        return texts

    def _known(self, text: str, source: str, request: TranslationRequest) -> str | None:
        """The suggestion for a whole text. Suggestions are texts, never markup."""
        if self.memory is None or (request.is_html and "<" in text):
            return None
        plain = unescape(text) if request.is_html else text
        known = self.memory.find(source, request.target, plain.strip())
        return escape(known, quote=False) if known and request.is_html else known

    async def _search_best(
        self, texts: Sequence[PendingText], request: TranslationRequest
    ) -> list[str]:
        """The best translation of each text. Sentences for one pair are translated together."""
        current = [list(each.document.sentences) for each in texts]
        for hop in range(2):
            groups: dict[int, list[int]] = defaultdict(list)
            for index, each in enumerate(texts):
                if hop < len(each.route):
                    groups[id(each.route[hop])].append(index)
            for members in groups.values():
                pair = texts[members[0]].route[hop]
                together = [sentence for index in members for sentence in current[index]]
                found = iter(await self._best(pair, together, request.use_memory))
                for index in members:
                    current[index] = [next(found) for _ in current[index]]
        return [
            each.document.fill(found, request.target)
            for each, found in zip(texts, current, strict=True)
        ]

    async def _best(self, pair: LanguagePair, sentences: list[str], use_memory: bool) -> list[str]:
        """The best translation of each sentence. One that loses or invents a placeholder is
        replaced by the translation of the text between the placeholders.
        """
        known: dict[int, str] = {}
        if use_memory and self.memory:
            for row, sentence in enumerate(sentences):
                if (better := self.memory.find(pair.source, pair.target, sentence)) is not None:
                    known[row] = better
        rest = [sentence for row, sentence in enumerate(sentences) if row not in known]
        translator = pair.translator
        found = iter(await self.batcher.best(translator, rest, translator.search))
        outputs = [known[row] if row in known else next(found) for row in range(len(sentences))]
        both = enumerate(zip(sentences, outputs, strict=True))
        if lost := [row for row, (text, output) in both if not keeps_placeholders(text, output)]:
            documents = [split_at_placeholders(sentences[row], pair.source) for row in lost]
            rest = [sentence for each in documents for sentence in each.sentences]
            found = iter(await self.batcher.best(translator, rest, translator.search))
            for row, each in zip(lost, documents, strict=True):
                outputs[row] = each.fill([next(found) for _ in each.sentences], pair.target)
        return outputs

    async def _search_scored(
        self, texts: Sequence[PendingText], request: TranslationRequest
    ) -> None:
        """Find all outputs of each text with their scores. A pivot passes on its best output."""
        for each in texts:
            sentences = list(each.document.sentences)
            for pair in each.route[:-1]:
                translator = pair.translator
                sentences = await self.batcher.best(translator, sentences, translator.search)
            if each.route:
                translator = each.route[-1].translator
                search = widened(translator.search, request.alternatives + 1)
                each.outputs = await self.batcher.scored(translator, sentences, search)

    def _answer(self, each: PendingText, request: TranslationRequest) -> Answer:
        ranked = [
            each.document.fill(
                [found[min(rank, len(found) - 1)].text for found in each.outputs], request.target
            )
            for rank in range(request.alternatives + 1)
        ]
        others = list(dict.fromkeys(text for text in ranked[1:] if text != ranked[0]))
        return Answer(ranked[0], others, each.detected, pivot_of(each.route))

    async def _explain(self, each: PendingText) -> dict[str, Any]:
        """Explain a translation. With a pivot only the last step is explained, not aligned."""
        aligner = each.route[0].translator if len(each.route) == 1 else None
        best = [found[0] for found in each.outputs]
        return await explain(self.thread, each.document.sentences, best, aligner)


def best_answers(texts: Sequence[PendingText], filled: Sequence[str]) -> list[Answer]:
    return [
        Answer(text, detected=each.detected, extra=pivot_of(each.route))
        for text, each in zip(filled, texts, strict=True)
    ]


def pivot_of(route: Sequence[LanguagePair]) -> dict[str, Any]:
    return {"pivot": route[0].target} if len(route) > 1 else {}


def widened(search: Search, n_best: int) -> Search:
    return replace(search, n_best=n_best, beam_size=max(search.beam_size, n_best))
