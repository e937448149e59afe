"""Translator: sentences in one language to sentences in another.

PyTorch is loaded where it is needed, so that another engine starts at once.
"""

from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field, replace
from functools import cache, cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple, Self

import numpy as np

from regard.decode.hypothesis import Hypothesis
from regard.decode.search import Search
from regard.engines import Engine, EngineName, Stopped, never
from regard.engines.ctranslate2 import CTranslate2, graphics_cards
from regard.errors import RequestError, RunError
from regard.text.segments import segments
from regard.text.tokenizer import Tokenizers

if TYPE_CHECKING:
    from torch import Tensor

    from regard.inspect.alignments import Aligners, HeadScore
    from regard.inspect.alternatives import Position
    from regard.inspect.forced import Looks
    from regard.inspect.heads import Head, How
    from regard.inspect.maps import MapLabels, Maps
    from regard.inspect.numbers import Numbers
    from regard.inspect.tree import Tree
    from regard.models import Model


@dataclass(frozen=True)
class Translation:
    """An output with what is known of it; `score` is the mean log-probability that ranks it."""

    text: str
    score: float
    tokens: list[str]
    log_probabilities: list[float]
    finished: bool
    ids: list[int] = field(default_factory=list)  # of the tokens


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
        folder: Path | None = None,
    ) -> None:
        self._model = model
        self.engine = engine
        self.tokenizers = tokenizers
        self.search = search
        # The longest source in pieces; longer texts are translated in parts.
        self.limit = limit
        self.folder = folder

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
        return cls(
            lambda: slow().model,
            fast,
            fast.tokenizers,
            fast.defaults,
            fast.longest_source,
            Path(folder),
        )

    @classmethod
    def _with_torch(cls, folder: Path | str, device: str) -> Self:
        from regard.engines.native import Native
        from regard.machine.devices import choose_device
        from regard.run import Run
        from regard.weights import load_model

        run = Run.open(folder)
        recipe = run.recipe_for("translation")
        tokenizers = run.tokenizers()
        model: Any = load_model(run).to(choose_device(device))
        search = Search(**recipe.decode.model_dump())
        engine = Native(model, tokenizers.target.specials)
        limit = recipe.data.max_length - 1
        return cls(lambda: model, engine, tokenizers, search, limit, run.folder)

    def languages(self) -> tuple[str, str] | None:
        """The languages that the run names, or its recipe, or the names of its training files."""
        from regard.run import Run

        if self.folder is None:
            return None
        run = Run(self.folder)
        with suppress(RunError):  # a damaged run.json leaves it to the recipe
            match run.info().get("languages"):
                case [str(source), str(target)]:
                    return source, target
        codes: tuple[str, str] | None = run.recipe_for("translation").data.codes()
        return codes

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
            ids=hypothesis.tokens,
        )

    def _ids(self, source: str, output: str | Sequence[int]) -> tuple[list[int], list[int]]:
        """Both sides without END. An output is exact by its ids: its text may be spelled anew."""
        ids = self.tokenizers.target.encode(output) if isinstance(output, str) else [*output]
        return self.tokenizers.source.encode(source)[: self.limit], ids

    def maps(self, source: str, output: str | Sequence[int]) -> "Maps":
        """Every attention weight behind an output, by one recorded pass."""
        from regard.inspect.maps import attention_maps

        source_ids, output_ids = self._ids(source, output)
        specials = self.tokenizers.target.specials
        maps = attention_maps(
            self.model, [*source_ids, specials.end], [*output_ids, specials.end], specials.start
        )
        return replace(maps, labels=labels(self.tokenizers, source_ids, output_ids))

    @cached_property
    def aligners(self) -> "Aligners | None":
        """The heads by how well they align words, where that was measured."""
        from regard.inspect.alignments import Aligners
        from regard.run import Run

        found = Run(self.folder).finding("alignment") if self.folder else None
        return Aligners.from_json(found) if found else None

    @property
    def aligner(self) -> "HeadScore | None":
        """The single head that aligns best."""
        return self.aligners.best_head if self.aligners else None

    def align(self, source: str, output: str | Sequence[int]) -> Alignment:
        """Which source words each word of an output looks at: by the head, or mean of heads, that
        aligns best, or by the mean of a layer where that was not measured.
        """
        maps = self.maps(source, output)
        if self.aligners is None:
            matrix = maps.matrix("cross", max(0, len(maps.cross) - 2), words=True)
        else:
            best = self.aligners.best
            matrix = maps.matrix("cross", best.layer, best.head, best.reading, words=True)
        return Alignment(matrix.columns, matrix.rows, matrix.weights)

    def alternatives(
        self, source: str, output: str | Sequence[int], k: int = 5
    ) -> "list[Position]":
        """What else might have come at each place of an output, END included, by one pass."""
        import torch

        from regard.data.batch import batch_pairs
        from regard.inspect.alternatives import alternatives

        source_ids, output_ids = self._ids(source, output)
        specials = self.tokenizers.target.specials
        tokens = [*output_ids, specials.end]
        batch = batch_pairs([[*source_ids, specials.end]], [tokens], specials.start)
        batch = batch.to(next(self.model.parameters()).device)
        with torch.inference_mode():
            logits = self.model(batch.source, batch.source_mask, batch.target)[0]
        target = self.tokenizers.target
        return alternatives(logits, tokens, target.vocabulary, k)

    def tree(self, source: str, search: Search | None = None, prefix: str = "") -> "Tree":
        """The beam search for a sentence with all that it considered; it finds what a search that
        is not watched finds.
        """
        from regard.engines.native import Native
        from regard.inspect.tree import Rules, Watch, grow

        search = search or self.search
        if search.temperature is not None:
            raise RequestError("a tree is of a beam search; leave the temperature out")
        source_ids, prefix_ids = self._ids(source, prefix)
        if not source_ids:
            raise RequestError("the text is empty; give a sentence to search for")
        specials = self.tokenizers.target.specials
        engine, watch = Native(self.model, specials), Watch()
        engine.watched(source_ids, prefix_ids, search, watch)
        limit = engine.max_length(source_ids, prefix_ids, search)
        tree = grow(watch, Rules(search.beam_size, search.length_penalty, limit, specials.end))
        tokens = [node.token for node in tree.nodes]
        return replace(tree, pieces=self.tokenizers.target.pieces(tokens))

    def numbers(
        self, source: str, output: str | Sequence[int], head: str, query: int, key: int
    ) -> "Numbers":
        """Every number behind one weight of a head like "cross.1.3"."""
        from regard.inspect.heads import choose_heads
        from regard.inspect.numbers import numbers

        chosen = choose_heads(self.model, [head])
        if len(chosen) != 1:
            raise RequestError(
                f"heads {head!r}: names {len(chosen)} heads; name one like cross.0.1"
            )
        source_ids, output_ids = self._ids(source, output)
        specials = self.tokenizers.target.specials
        ids = [*source_ids, specials.end], [*output_ids, specials.end]
        return numbers(self.model, *ids, chosen[0], query, key, specials.start)

    @contextmanager
    def heads_off(
        self,
        heads: "Sequence[str | Head]",
        how: "How" = "zero",
        means: "Mapping[Head, Tensor] | None" = None,
    ) -> "Iterator[list[Head]]":
        """Inside the block this translator works without these heads, whatever its engine."""
        from regard.inspect.heads import heads_off

        with heads_off(self.model, heads, how, means) as chosen, self._with_its_model():
            yield chosen

    @contextmanager
    def forced(self, looks: "Looks") -> "Iterator[list[Head]]":
        """Inside the block heads look where they have to, whatever the engine:
        {"cross.1": {3: [0, 4]}} makes the heads of cross.1 look at the source pieces 0 and 4 alone
        while the model predicts output piece 3, all counted from 0.
        """
        from regard.inspect.forced import forced

        with forced(self.model, looks) as chosen, self._with_its_model():
            yield chosen

    @contextmanager
    def _with_its_model(self) -> Iterator[None]:
        """Search with PyTorch: no other engine knows what was done to the model."""
        from regard.engines.native import Native

        engine = self.engine
        self.engine = Native(self.model, self.tokenizers.target.specials)
        try:
            yield
        finally:
            self.engine = engine


def labels(
    tokenizers: Tokenizers, source_ids: Sequence[int], output_ids: Sequence[int]
) -> "MapLabels":
    """For ids without END."""
    from regard.inspect.maps import MapLabels

    source, target = tokenizers
    specials = target.specials
    target_word = target.word_of(output_ids)
    return MapLabels(
        source=source.pieces([*source_ids, specials.end]),
        source_word=[*source.word_of(source_ids), -1],
        source_words=words(source.decode(source_ids)),
        predicts=target.pieces([*output_ids, specials.end]),
        predicts_word=[*target_word, -1],
        read=target.pieces([specials.start, *output_ids]),
        read_word=[-1, *target_word],
        target_words=words(target.decode(output_ids)),
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
            ids=[token for each in ranked for token in each.ids],
        )
        for ranked in zip(*parts, strict=False)
    ]
