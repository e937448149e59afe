"""Load a run, one verb each. Commands, the server and the page all call these."""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Self

import numpy as np

from regard.checkpoint import Run, Tokenizers
from regard.decode.contract import Hypothesis
from regard.engines import Engine
from regard.engines.native import Native
from regard.errors import RequestError
from regard.inspect.maps import Maps, attention_maps, merge_words
from regard.search import Search
from regard.text.segments import segments
from regard.text.tokenizer import END

if TYPE_CHECKING:
    from regard.models import Model


@dataclass(frozen=True)
class Translation:
    """An output with what is known of it; `score` is the mean log-probability that ranks it."""

    text: str
    score: float
    tokens: list[str]
    log_probabilities: list[float]
    finished: bool


@dataclass(frozen=True)
class Alignment:
    """[target words, source words] of attention, each row summing to at most 1."""

    source_words: list[str]
    target_words: list[str]
    weights: list[list[float]]

    def pairs(self) -> list[tuple[int, int]]:
        """(source word, target word) for each target word and the source word it looks at most."""
        return [(int(np.argmax(row)), target) for target, row in enumerate(self.weights) if row]


class Translator:
    """Sentences in one language to sentences in another."""

    def __init__(
        self, model: "Model", engine: Engine, tokenizers: Tokenizers, search: Search, limit: int
    ) -> None:
        self.model = model
        self.engine = engine
        self.tokenizers = tokenizers
        self.search = search
        # The longest source in pieces; longer texts are translated in parts.
        self.limit = limit

    @classmethod
    def load(cls, folder: Path | str, device: str = "cpu") -> Self:
        """The translator of a run folder."""
        run = Run.open(folder)
        recipe = run.recipe()
        tokenizers = run.tokenizers()
        model = run.model(tokenizers)
        try:
            model.to(device)
        except (RuntimeError, AssertionError, NotImplementedError):
            raise RequestError(f'device "{device}": not on this machine; use "cpu"') from None
        search = Search(
            beam_size=recipe.decode.beam_size,
            length_penalty=recipe.decode.length_penalty,
            max_length_ratio=recipe.decode.max_length_ratio,
            no_repeat_ngram=recipe.decode.no_repeat_ngram,
        )
        return cls(model, Native(model), tokenizers, search, recipe.data.max_length - 1)

    def translate(self, texts: Sequence[str], beam_size: int | None = None) -> list[str]:
        """The best translation of each text, in order; an empty text stays empty."""
        if isinstance(texts, str):
            raise RequestError("translate takes a list of texts; put the text in brackets")
        search = self.search if beam_size is None else replace(self.search, beam_size=beam_size)
        return [found[0].text for found in self.translations(texts, search)]

    def translations(
        self, texts: Sequence[str], search: Search, prefixes: Sequence[str] = ()
    ) -> list[list[Translation]]:
        """Up to n_best translations of each text, best first; prefixes begin the outputs."""
        if prefixes and len(prefixes) != len(texts):
            raise RequestError(f"{len(prefixes)} prefixes for {len(texts)} texts; give one each")
        parts: list[list[int]] = []
        owners: list[int] = []
        starts: list[list[int]] = []
        for owner, ids in enumerate(self.tokenizers.source.encode_batch(texts)):
            begin = self.tokenizers.target.encode(prefixes[owner]) if prefixes else []
            for part in segments(ids, self.tokenizers.source, self.limit) if ids else []:
                parts.append(part)
                owners.append(owner)
                starts.append(begin)
                begin = []
        found: list[list[list[Translation]]] = [[] for _ in texts]
        for owner, hypotheses in zip(
            owners, self.engine.search(parts, starts, search), strict=True
        ):
            found[owner].append([self._translation(each) for each in hypotheses])
        empty = [Translation("", 0.0, [], [], finished=True)]
        return [joined(results) if results else empty for results in found]

    def _translation(self, hypothesis: Hypothesis) -> Translation:
        tokenizer = self.tokenizers.target
        return Translation(
            text=tokenizer.decode(hypothesis.tokens),
            score=hypothesis.score,
            tokens=tokenizer.pieces(hypothesis.tokens),
            log_probabilities=hypothesis.log_probabilities,
            finished=hypothesis.finished,
        )

    def maps(self, source: str, output: str) -> Maps:
        """Every attention weight behind an output, by one recorded pass."""
        return attention_maps(
            self.model,
            [*self.tokenizers.source.encode(source)[: self.limit], END],
            [*self.tokenizers.target.encode(output), END],
        )

    def align(self, source: str, output: str) -> Alignment:
        """Which source words each word of an output looks at."""
        source_ids = self.tokenizers.source.encode(source)[: self.limit]
        target_ids = self.tokenizers.target.encode(output)
        weights = merge_words(
            self.maps(source, output).alignment(),
            [*self.tokenizers.target.word_of(target_ids), -1],
            [*self.tokenizers.source.word_of(source_ids), -1],
        )
        return Alignment(
            words(self.tokenizers.source.decode(source_ids)),
            words(self.tokenizers.target.decode(target_ids)),
            weights.tolist(),
        )


def words(text: str) -> list[str]:
    return text.split(" ") if text else []


def joined(parts: Sequence[list[Translation]]) -> list[Translation]:
    """The translations of a text's parts as translations of the text, rank by rank."""
    if len(parts) == 1:
        return parts[0]
    return [
        Translation(
            text=" ".join(each.text for each in ranked if each.text),
            score=sum(each.score for each in ranked) / len(ranked),
            tokens=[token for each in ranked for token in each.tokens],
            log_probabilities=[value for each in ranked for value in each.log_probabilities],
            finished=all(each.finished for each in ranked),
        )
        for ranked in zip(*parts, strict=False)
    ]
