"""Load a run, one verb each. Commands, the server and the page all call these."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Self

import numpy as np
import torch

from regard.checkpoint import Run, Tokenizers
from regard.data.batch import batch_sources
from regard.decode import filters
from regard.decode.beam import beam
from regard.decode.contract import Filter, Hypothesis
from regard.decode.sample import collect
from regard.errors import RequestError
from regard.inspect.maps import Maps, attention_maps, merge_words
from regard.text.segments import segments
from regard.text.tokenizer import END, PAD, START, UNKNOWN

if TYPE_CHECKING:
    from regard.models import Model

# Source pieces, padding included, that are translated together for each hypothesis of the beam.
BATCH_PIECES = 4096
# Sentences, and hypotheses of all of them, that are translated together.
BATCH_SENTENCES, BATCH_HYPOTHESES = 128, 1024


@dataclass(frozen=True)
class Search:
    """How to look for an output. A beam, unless a temperature asks for sampling."""

    beam_size: int = 5
    n_best: int = 1
    length_penalty: float = 1.0
    max_length_ratio: float = 2.0
    min_length: int = 0
    no_repeat_ngram: int = 0
    temperature: float | None = None
    top_k: int = 0
    top_p: float = 1.0
    seed: int = 1

    def __post_init__(self) -> None:
        checks = {
            "beam_size must be from 1 to 1000": 1 <= self.beam_size <= 1000,
            "n_best must be from 1 to 1000": 1 <= self.n_best <= 1000,
            "length_penalty must be from 0 to 10": 0 <= self.length_penalty <= 10,
            "max_length_ratio must be above 0 and at most 100": 0 < self.max_length_ratio <= 100,
            "min_length must be from 0 to 100000": 0 <= self.min_length <= 100_000,
            "no_repeat_ngram must not be negative": self.no_repeat_ngram >= 0,
            "temperature must be from 0.001 to 100": self.temperature is None
            or 0.001 <= self.temperature <= 100,
            "top_k must not be negative": self.top_k >= 0,
            "top_p must be above 0 and at most 1": 0 < self.top_p <= 1,
            "top_k and top_p need a temperature": self.temperature is not None
            or (self.top_k == 0 and self.top_p == 1.0),
            "n_best must not be larger than beam_size": self.temperature is not None
            or self.n_best <= self.beam_size,
            "seed must be from 0 to 2^63 - 1": 0 <= self.seed < 2**63,
        }
        for sentence, holds in checks.items():
            if not holds:
                raise RequestError(f"{sentence}; see `regard translate --help`")

    def filters(self) -> list[Filter]:
        """In the order they apply: what may be said at all, then how boldly it is drawn."""
        chosen = [filters.forbid([PAD, UNKNOWN, START])]
        if self.min_length:
            chosen.append(filters.min_length(self.min_length, END))
        if self.no_repeat_ngram:
            chosen.append(filters.no_repeat_ngram(self.no_repeat_ngram))
        if self.temperature is not None:
            chosen.append(filters.temperature(self.temperature))
        if self.top_k:
            chosen.append(filters.top_k(self.top_k))
        if self.top_p < 1:
            chosen.append(filters.top_p(self.top_p))
        return chosen


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

    def __init__(self, model: "Model", tokenizers: Tokenizers, search: Search, limit: int) -> None:
        self.model = model
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
        return cls(model, tokenizers, search, recipe.data.max_length - 1)

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
        for owner, hypotheses in zip(owners, self._search(parts, starts, search), strict=True):
            found[owner].append([self._translation(each) for each in hypotheses])
        empty = [Translation("", 0.0, [], [], finished=True)]
        return [joined(results) if results else empty for results in found]

    def _search(
        self, parts: list[list[int]], starts: list[list[int]], search: Search
    ) -> list[list[Hypothesis]]:
        """Hypotheses of each part, searched in batches of like length, given in order."""
        results: list[list[Hypothesis]] = [[] for _ in parts]
        copies = search.beam_size if search.temperature is None else search.n_best
        most = min(BATCH_SENTENCES, max(1, BATCH_HYPOTHESES // copies))
        for rows in batches_by_length([len(part) + 1 for part in parts], BATCH_PIECES, most):
            found = self._search_batch(
                [parts[row] for row in rows], [starts[row] for row in rows], search
            )
            for row, hypotheses in zip(rows, found, strict=True):
                results[row] = hypotheses
        return results

    @torch.inference_mode()
    def _search_batch(
        self, parts: list[list[int]], starts: list[list[int]], search: Search
    ) -> list[list[Hypothesis]]:
        device = next(self.model.parameters()).device
        source, mask = batch_sources([np.array([*part, END]) for part in parts])
        source, mask = source.to(device), mask.to(device)
        copies = 1 if search.temperature is None else search.n_best
        state = self.model.start(source, mask)
        # Each limit follows from its own source, so that no sentence depends on its neighbours.
        limits = [
            min(
                self.model.longest,
                len(start) + int(search.max_length_ratio * (len(part) + 1)) + 20,
            )
            for part, start in zip(parts, starts, strict=True)
        ]
        chosen = search.filters()
        if copies > 1:
            rows = torch.arange(len(parts), device=device).repeat_interleave(copies)
            state = state.select(rows)
        if any(starts):
            repeated = [start for start in starts for _ in range(copies)]
            chosen.insert(0, filters.forced_prefix(repeated))
        first = torch.full((len(parts) * copies,), START, device=device)
        max_lengths = torch.tensor(limits, device=device).repeat_interleave(copies)
        if search.temperature is None:
            return beam(
                self.model.step,
                state,
                first,
                max_lengths=max_lengths,
                beam_size=search.beam_size,
                n_best=search.n_best,
                length_penalty=search.length_penalty,
                end=END,
                filters=chosen,
            )
        seeds = [search.seed + copy for _ in parts for copy in range(copies)]
        drawn = collect(
            self.model.step,
            state,
            first,
            max_lengths=max_lengths,
            end=END,
            filters=chosen,
            seeds=seeds,
        )
        groups = [drawn[i : i + copies] for i in range(0, len(drawn), copies)]
        return [sorted(group, key=lambda each: -each.score) for group in groups]

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


def batches_by_length(lengths: Sequence[int], pieces: int, most: int) -> Iterator[list[int]]:
    """Rows of like length together, longest first: at most `most` of them, and at most `pieces`
    pieces with padding.
    """
    order = sorted(range(len(lengths)), key=lambda row: -lengths[row])
    start = 0
    while start < len(order):
        count = max(1, min(most, pieces // lengths[order[start]]))
        yield order[start : start + count]
        start += count


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
