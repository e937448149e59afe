"""What all interfaces of the server share: texts in, answers out."""

import asyncio
from collections import defaultdict
from collections.abc import AsyncGenerator, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

from regard.decode.search import Search
from regard.serve.http.limits import Limits
from regard.serve.http.refusal import Refusal
from regard.serve.language_models import LanguageModels
from regard.serve.one_thread import OneThread
from regard.serve.translation.batching import Batcher
from regard.serve.translation.detection import Detected, Detector
from regard.serve.translation.explaining import explain
from regard.serve.translation.files import Downloads
from regard.serve.translation.markup import html
from regard.serve.translation.memory import Memory
from regard.serve.translation.pairs import Pair, Pairs
from regard.serve.translation.placeholders import kept, marked
from regard.serve.translation.splitting import Document, plain
from regard.tasks.translation.translator import Translation

# Longer texts are taken apart in a thread, so that others are answered meanwhile.
LONG = 2000
# Sentences of a streamed text that are translated together, after the first.
STREAMED = 8


@dataclass(frozen=True)
class Wish:
    """What is asked of some texts. `source` may be "auto"."""

    texts: list[str]
    source: str
    target: str
    is_html: bool = False
    alternatives: int = 0
    explain: bool = False
    from_memory: bool = False
    ignored_tags: frozenset[str] = frozenset()


@dataclass
class Answer:
    text: str
    alternatives: list[str] = field(default_factory=list)
    detected: Detected | None = None
    extra: dict[str, Any] = field(default_factory=dict)  # pivot, explanation


@dataclass
class Sentences:
    """A text on its way: its document, the pairs it goes through, and each sentence's outputs."""

    document: Document
    route: list[Pair]
    detected: Detected | None
    outputs: list[list[Translation]] = field(default_factory=list)


@dataclass
class Service:
    pairs: Pairs
    batcher: Batcher
    detector: Detector
    limits: Limits
    downloads: Downloads
    memory: Memory | None = None
    language_models: LanguageModels = field(default_factory=LanguageModels)
    thread: OneThread = field(default_factory=OneThread)  # of what PyTorch does

    async def translate(self, wish: Wish) -> list[Answer]:
        """An answer for each text, in order."""
        texts = await self.take_apart(wish)
        if wish.explain or wish.alternatives:
            await self._search_scored(texts, wish)
            answers = [self._answer(each, wish) for each in texts]
            if wish.explain:
                for each, answer in zip(texts, answers, strict=True):
                    answer.extra |= await self._explain(each)
            return answers
        filled = await self._search_best(texts, wish)
        return answers_of(texts, filled)

    async def stream(
        self, texts: Sequence[Sentences], wish: Wish
    ) -> AsyncGenerator[tuple[int, str], None]:
        """The texts one after the other, bit by bit: a text's number and what comes next of it."""
        for number, each in enumerate(texts):
            translations: list[str] = []
            shown, count = 0, len(each.document.sentences)
            while True:
                start = len(translations)
                group = each.document.sentences[start : start + (STREAMED if start else 1)]
                for pair in each.route:
                    group = await self._best(pair, group, wish.from_memory)
                translations += group
                text = each.document.fill(translations, wish.target)
                yield number, text[shown:]
                shown = len(text)
                if len(translations) == count:
                    break

    async def take_apart(self, wish: Wish) -> list[Sentences]:
        loading = wish.source == "auto" and not self.detector.ready
        if loading or sum(map(len, wish.texts)) > LONG:
            return await asyncio.to_thread(self._take_apart, wish)
        return self._take_apart(wish)

    def _take_apart(self, wish: Wish) -> list[Sentences]:
        texts = []
        for text in wish.texts:
            detected = None
            if wish.source == "auto":
                if not self.pairs.sources:
                    raise Refusal(400, "no translator is served here; serve the run of one")
                detected = self.detector.best(text, self.pairs.sources)
            source = detected.language if detected else wish.source
            route = self.pairs.route(source, wish.target)
            known = None
            if wish.from_memory and self.memory:
                known = self.memory.find(source, wish.target, text.strip())
            if known is not None or not route:
                document = Document(parts=[text if known is None else known])
            elif wish.is_html:
                document = html(text, source, wish.ignored_tags)
            else:
                document = plain(text, source)
            texts.append(Sentences(document, route, detected))
        return texts

    async def _search_best(self, texts: Sequence[Sentences], wish: Wish) -> list[str]:
        """Each text in its best translation; sentences of one pair go together."""
        current = [list(each.document.sentences) for each in texts]
        for hop in range(2):
            groups: dict[int, list[int]] = defaultdict(list)
            for index, each in enumerate(texts):
                if hop < len(each.route):
                    groups[id(each.route[hop])].append(index)
            for members in groups.values():
                pair = texts[members[0]].route[hop]
                together = [sentence for index in members for sentence in current[index]]
                found = iter(await self._best(pair, together, wish.from_memory))
                for index in members:
                    current[index] = [next(found) for _ in current[index]]
        return [
            each.document.fill(found, wish.target)
            for each, found in zip(texts, current, strict=True)
        ]

    async def _best(self, pair: Pair, sentences: list[str], from_memory: bool) -> list[str]:
        known: dict[int, str] = {}
        if from_memory and self.memory:
            for row, sentence in enumerate(sentences):
                if (better := self.memory.find(pair.source, pair.target, sentence)) is not None:
                    known[row] = better
        rest = [sentence for row, sentence in enumerate(sentences) if row not in known]
        translator = pair.translator
        found = iter(await self.batcher.best(translator, rest, translator.search))
        outputs = [known[row] if row in known else next(found) for row in range(len(sentences))]
        pairs = enumerate(zip(sentences, outputs, strict=True))
        if lost := [row for row, (sentence, output) in pairs if not kept(sentence, output)]:
            documents = [marked(sentences[row], pair.source) for row in lost]
            rest = [sentence for each in documents for sentence in each.sentences]
            found = iter(await self.batcher.best(translator, rest, translator.search))
            for row, each in zip(lost, documents, strict=True):
                outputs[row] = each.fill([next(found) for _ in each.sentences], pair.target)
        return outputs

    async def _search_scored(self, texts: Sequence[Sentences], wish: Wish) -> None:
        """Every output with its scores. A text goes through its first pair by its best outputs."""
        for each in texts:
            sentences = list(each.document.sentences)
            for pair in each.route[:-1]:
                translator = pair.translator
                sentences = await self.batcher.best(translator, sentences, translator.search)
            if each.route:
                translator = each.route[-1].translator
                search = wider(translator.search, wish.alternatives + 1)
                each.outputs = await self.batcher.scored(translator, sentences, search)

    def _answer(self, each: Sentences, wish: Wish) -> Answer:
        ranked = [
            each.document.fill(
                [found[min(rank, len(found) - 1)].text for found in each.outputs], wish.target
            )
            for rank in range(wish.alternatives + 1)
        ]
        others = list(dict.fromkeys(text for text in ranked[1:] if text != ranked[0]))
        return Answer(ranked[0], others, each.detected, pivot_of(each.route))

    async def _explain(self, each: Sentences) -> dict[str, Any]:
        """Through a third language only the last step is explained, without an alignment."""
        aligner = each.route[0].translator if len(each.route) == 1 else None
        best = [found[0] for found in each.outputs]
        return await explain(self.thread, each.document.sentences, best, aligner)


def answers_of(texts: Sequence[Sentences], filled: Sequence[str]) -> list[Answer]:
    return [
        Answer(text, detected=each.detected, extra=pivot_of(each.route))
        for text, each in zip(filled, texts, strict=True)
    ]


def pivot_of(route: Sequence[Pair]) -> dict[str, Any]:
    return {"pivot": route[0].target} if len(route) > 1 else {}


def wider(search: Search, n_best: int) -> Search:
    return replace(search, n_best=n_best, beam_size=max(search.beam_size, n_best))
