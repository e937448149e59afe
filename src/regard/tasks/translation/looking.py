"""Looking inside a translator: its attention, what else it considered, and what it says without
some of its heads. PyTorch is loaded where it is needed.
"""

from abc import ABC, abstractmethod
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from regard.decode.search import Search
from regard.engines import Engine
from regard.errors import RequestError
from regard.text.seen_words import SeenWords
from regard.text.tokenizer import Tokenizers

if TYPE_CHECKING:
    from torch import Tensor

    from regard.inspect.alignments import Aligners, HeadScore
    from regard.inspect.alternatives import Position
    from regard.inspect.heads.forced import Looks
    from regard.inspect.heads.heads import Head, How
    from regard.inspect.maps import MapLabels, Maps
    from regard.inspect.numbers import Numbers
    from regard.inspect.tree import Tree
    from regard.models import Model
    from regard.tasks.translation.translation import Translation


@dataclass(frozen=True, repr=False)
class Alignment:
    """Which source words each word of a translation looks at.

    Attributes
    ----------
    source_words : list of str
    target_words : list of str
    weights : list of list of float
        [target words, source words] of attention, each row summing to at most 1.
    name : str
        Which map it is: a head, or a mean of heads.
    """

    source_words: list[str]
    target_words: list[str]
    weights: list[list[float]]
    name: str = ""

    def __repr__(self) -> str:
        words = [f"{self.source_words[s]}–{self.target_words[t]}" for s, t in self.pairs()]
        return f"Alignment({' '.join(words) or 'no attention'})"

    def _repr_html_(self) -> str:
        from regard import notebook

        return notebook.grid(self.source_words, self.target_words, self.weights)

    def pairs(self) -> list[tuple[int, int]]:
        """Take the source word that each target word looks at most.

        Returns
        -------
        list of (source word, target word)
            As numbers from 0; none for a model without attention.
        """
        rows = enumerate(self.weights)
        return [(int(np.argmax(row)), target) for target, row in rows if any(row)]


class LooksInside(ABC):
    """What a translator shows of itself."""

    engine: Engine
    tokenizers: Tokenizers
    search: Search
    limit: int
    folder: Path | None

    @property
    @abstractmethod
    def model(self) -> "Model":
        """The model in PyTorch, loaded when it is first looked into."""

    def _ids(self, source: str, output: str | Sequence[int]) -> tuple[list[int], list[int]]:
        """Both sides without END. Ids give an output exactly; its text may be cut differently."""
        ids = self.tokenizers.target.encode(output) if isinstance(output, str) else [*output]
        return self.tokenizers.source.encode(source)[: self.limit], ids

    def maps(self, source: str, output: str | Sequence[int]) -> "Maps":
        """Record every attention weight behind a translation, by one pass.

        Parameters
        ----------
        source
            A sentence.
        output
            Its translation, as a text or as ids.

        Returns
        -------
        Maps
            The weights as `encoder`, `decoder` and `cross`.
        """
        from regard.inspect.maps import attention_maps

        source_ids, output_ids = self._ids(source, output)
        specials = self.tokenizers.target.specials
        maps = attention_maps(
            self.model, [*source_ids, specials.end], [*output_ids, specials.end], specials.start
        )
        return replace(maps, labels=labels(self.tokenizers, source, source_ids, output_ids))

    @cached_property
    def _seen_words(self) -> SeenWords | None:
        from regard.run import Run

        return SeenWords.load(Run(self.folder).source_words_path) if self.folder else None

    def unseen_words(self, text: str) -> list[str]:
        """The words of a text that were never seen in training; none in a run that does not know
        them, such as one of an earlier version.
        """
        return self._seen_words.unseen(text) if self._seen_words else []

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

    @abstractmethod
    def translations(self, texts: Iterable[str]) -> "list[list[Translation]]": ...

    def align(self, source: str, output: str | Sequence[int] | None = None) -> Alignment:
        """Show which source words each word of a translation looks at.

        Parameters
        ----------
        source
            A sentence.
        output
            Its translation, as a text or as ids; by default, the translator's own.

        Returns
        -------
        Alignment
            By the head, or mean of heads, that aligns best, or by the mean of a layer where that
            was not measured.
        """
        if output is None:
            output = self.translations([source])[0][0].ids
        from regard.inspect.alignments import first_map

        maps = self.maps(source, output)
        first = first_map(self.aligners, len(maps.cross))
        matrix = maps.matrix("cross", first.layer, first.head, first.reading, words=True)
        return Alignment(matrix.columns, matrix.rows, matrix.weights, first.name)

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
        """Every number behind one weight of a head like `"cross.1.3"`."""
        from regard.inspect.heads.heads import choose_heads
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
        from regard.inspect.heads.heads import heads_off

        with heads_off(self.model, heads, how, means) as chosen, self._with_its_model():
            yield chosen

    @contextmanager
    def forced(self, looks: "Looks") -> "Iterator[list[Head]]":
        """Inside the block heads look where they have to, whatever the engine:
        `{"cross.1": {3: [0, 4]}}` makes the heads of cross.1 look at the source pieces 0 and 4
        alone while the model predicts output piece 3, all counted from 0.
        """
        from regard.inspect.heads.forced import forced

        with forced(self.model, looks) as chosen, self._with_its_model():
            yield chosen

    @contextmanager
    def _with_its_model(self) -> Iterator[None]:
        """Search with PyTorch: no other engine knows what was done to the model."""
        from regard.engines.native import Native

        engine = self.engine
        aligner = getattr(engine, "aligner", None)
        self.engine = Native(self.model, self.tokenizers.target.specials, aligner)
        try:
            yield
        finally:
            self.engine = engine


def labels(
    tokenizers: Tokenizers, text: str, source_ids: Sequence[int], output_ids: Sequence[int]
) -> "MapLabels":
    """For ids without END. Source words are those of the text as it was typed."""
    from regard.inspect.maps import MapLabels

    source, target = tokenizers
    specials = target.specials
    source_words, source_word = source.typed_words(text, source_ids)
    target_word = target.word_of(output_ids)
    return MapLabels(
        source=source.pieces([*source_ids, specials.end]),
        source_word=[*source_word, -1],
        source_words=source_words,
        predicts=target.pieces([*output_ids, specials.end]),
        predicts_word=[*target_word, -1],
        read=target.pieces([specials.start, *output_ids]),
        read_word=[-1, *target_word],
        target_words=words(target.decode(output_ids)),
    )


def words(text: str) -> list[str]:
    return text.split(" ") if text else []
