"""Load a run, one verb each. Commands, the server and the page all call these.

PyTorch is loaded where it is needed, so that another engine starts at once.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple, Self

import numpy as np

from regard.engines import Engine, EngineName, Stopped, never
from regard.engines.ctranslate2 import CTranslate2, graphics_cards
from regard.errors import RequestError
from regard.hypothesis import Hypothesis
from regard.search import Search
from regard.text.segments import segments
from regard.text.tokenizer import Tokenizers

if TYPE_CHECKING:
    from regard.inspect.maps import Maps
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
        """(source word, target word) for each target word and the source word it looks at most;
        none for a model without attention.
        """
        rows = enumerate(self.weights)
        return [(int(np.argmax(row)), target) for target, row in rows if any(row)]


class Parts(NamedTuple):
    """Texts as an engine takes them: a long one in several parts."""

    sources: list[list[int]]
    owners: list[int]  # which text a part is of
    prefixes: list[list[int]]


class Translator:
    """Sentences in one language to sentences in another."""

    def __init__(
        self,
        model: "Callable[[], Model]",
        engine: Engine,
        tokenizers: Tokenizers,
        search: Search,
        limit: int,
    ) -> None:
        self._model = model
        self.engine = engine
        self.tokenizers = tokenizers
        self.search = search
        # The longest source in pieces; longer texts are translated in parts.
        self.limit = limit

    @classmethod
    def load(
        cls,
        folder: Path | str,
        device: str = "cpu",
        engine: EngineName = "torch",
        int8: bool = False,
    ) -> Self:
        """The translator of a run folder. `int8` is quicker, and CTranslate2's alone."""
        if engine == "torch":
            if int8:
                raise RequestError("engine torch: has no int8; use ctranslate2 or leave int8 out")
            return cls._with_torch(folder, device)
        slow = cache(lambda: cls._with_torch(folder, device))
        otherwise = (lambda: slow().engine) if engine == "auto" else None
        try:
            if device not in ("auto", "cpu") or (engine == device == "auto" and graphics_cards()):
                raise RequestError(
                    f"engine ctranslate2: runs on the CPU, not on {device}; use --engine torch"
                )
            fast = CTranslate2.of_run(Path(folder), int8=int8, otherwise=otherwise)
        except RequestError:
            if engine == "ctranslate2":
                raise
            return slow()
        except OSError:
            return slow()  # which says what the folder lacks
        return cls(lambda: slow().model, fast, fast.tokenizers, fast.defaults, fast.longest_source)

    @classmethod
    def _with_torch(cls, folder: Path | str, device: str) -> Self:
        from regard.checkpoint import Run
        from regard.engines.native import Native
        from regard.machine import choose_device

        run = Run.open(folder)
        recipe = run.recipe_for("translation")
        tokenizers = run.tokenizers()
        model = run.model(tokenizers).to(choose_device(device))
        search = Search(**recipe.decode.model_dump())
        engine = Native(model, tokenizers.target.specials)
        return cls(lambda: model, engine, tokenizers, search, recipe.data.max_length - 1)

    @property
    def model(self) -> "Model":
        return self._model()

    def translate(self, texts: Sequence[str], beam_size: int | None = None) -> list[str]:
        """The best translation of each text, in order; an empty text stays empty."""
        if isinstance(texts, str):
            raise RequestError("translate takes a list of texts; put the text in brackets")
        search = self.search if beam_size is None else replace(self.search, beam_size=beam_size)
        return self.texts(texts, search)

    def texts(
        self,
        texts: Sequence[str],
        search: Search,
        prefixes: Sequence[str] = (),
        stopped: Stopped = never,
    ) -> list[str]:
        """The best translation of each text, and nothing else about it: the quickest way."""
        parts = self._parts(texts, prefixes)
        outputs = self.engine.best(parts.sources, parts.prefixes, search, stopped)
        found: list[list[str]] = [[] for _ in texts]
        decoded = self.tokenizers.target.decode_batch(outputs)
        for owner, text in zip(parts.owners, decoded, strict=True):
            if text:
                found[owner].append(text)
        return [" ".join(each) for each in found]

    def translations(
        self,
        texts: Sequence[str],
        search: Search,
        prefixes: Sequence[str] = (),
        stopped: Stopped = never,
    ) -> list[list[Translation]]:
        """Up to n_best translations of each text, best first; prefixes begin the outputs."""
        parts = self._parts(texts, prefixes)
        searched = self.engine.search(parts.sources, parts.prefixes, search, stopped)
        found: list[list[list[Translation]]] = [[] for _ in texts]
        for owner, hypotheses in zip(parts.owners, searched, strict=True):
            found[owner].append([self._translation(each) for each in hypotheses])
        empty = [Translation("", 0.0, [], [], finished=True)]
        return [joined(results) if results else empty for results in found]

    def _parts(self, texts: Sequence[str], prefixes: Sequence[str]) -> Parts:
        if prefixes and len(prefixes) != len(texts):
            raise RequestError(f"{len(prefixes)} prefixes for {len(texts)} texts; give one each")
        parts = Parts([], [], [])
        for owner, ids in enumerate(self.tokenizers.source.encode_batch(texts)):
            begin = self.tokenizers.target.encode(prefixes[owner]) if prefixes else []
            for part in segments(ids, self.tokenizers.source, self.limit) if ids else []:
                parts.sources.append(part)
                parts.owners.append(owner)
                parts.prefixes.append(begin)
                begin = []
        return parts

    def _translation(self, hypothesis: Hypothesis) -> Translation:
        tokenizer = self.tokenizers.target
        return Translation(
            text=tokenizer.decode(hypothesis.tokens),
            score=hypothesis.score,
            tokens=tokenizer.pieces(hypothesis.tokens),
            log_probabilities=hypothesis.log_probabilities,
            finished=hypothesis.finished,
        )

    def maps(self, source: str, output: str) -> "Maps":
        """Every attention weight behind an output, by one recorded pass."""
        from regard.inspect.maps import attention_maps

        specials = self.tokenizers.target.specials
        return attention_maps(
            self.model,
            [*self.tokenizers.source.encode(source)[: self.limit], specials.end],
            [*self.tokenizers.target.encode(output), specials.end],
            specials.start,
        )

    def align(self, source: str, output: str) -> Alignment:
        """Which source words each word of an output looks at."""
        from regard.inspect.maps import merge_words

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
