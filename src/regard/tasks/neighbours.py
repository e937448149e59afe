"""WordVectors: which words of a run are alike, by the vectors that it has for them."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any, Self

import numpy as np
from numpy.typing import NDArray

from regard.errors import RequestError, RunError, shown
from regard.run import Run
from regard.sizes import check_size
from regard.tasks.inputs import summary
from regard.text.normalise import WORD_START
from regard.text.tokenizer import Tokenizer
from regard.text.word_vocabulary import (
    WordVocabulary,
    find_word,
    similar_spellings,
    vocabulary_file,
)

if TYPE_CHECKING:
    from torch import nn

# Before pieces that continue a word, where a vocabulary has pieces of words.
CONTINUES = "…"
SIGNS = ("+", "-", "−")


@dataclass(frozen=True, repr=False)
class Neighbour:
    """A word and how similar it is to what was asked for.

    Attributes
    ----------
    word : str
    similarity : float
        The cosine of the angle between the vectors: 1 in the same direction, 0 at a right angle.
    """

    word: str
    similarity: float

    def __repr__(self) -> str:
        return f"Neighbour({self.word!r}, {self.similarity:.3f})"


class Neighbours(list[Neighbour]):
    """Words, the most similar first: a list that a notebook shows as bars."""

    def _repr_html_(self) -> str:
        from regard import notebook

        return notebook.bars({each.word: max(0.0, each.similarity) for each in self})


class WordVectors:
    """The vectors of a run's words, which are close where words are used alike.

    `regard.load` gives one of a run of word vectors. `WordVectors.load` gives one of any run that
    has a vocabulary: then they are the embeddings of its words, or of pieces of words.

    Examples
    --------
    >>> import regard
    >>> vectors = regard.load("runs/vectors")
    >>> vectors.vector("one").shape
    (16,)
    >>> len(vectors.neighbours("one", 2))
    2
    """

    def __init__(
        self,
        model: "nn.Module",
        words: Sequence[str],
        ids: Sequence[int] | None = None,
        folder: Path | None = None,
    ) -> None:
        """`ids` are the rows of the words in the model's table; without them, row i is word i."""
        self.model = model
        self.words = list(words)
        self.folder = folder
        self._rows = ids
        self._ids = {word: number for number, word in enumerate(self.words)}

    def __repr__(self) -> str:
        count = f"{len(self.words):,} words"
        return summary("WordVectors", self.folder, self.model, count)

    @classmethod
    def load(cls, folder: Path | str, device: str = "cpu") -> Self:
        """Load the vectors of a run folder.

        Parameters
        ----------
        folder
            The run folder: of word vectors, or of any task that reads or writes text. Of a
            translator, the vectors are those of its source.
        device
            cpu, cuda, mps, or auto for the best that there is.

        Returns
        -------
        WordVectors

        Raises
        ------
        RunError
            There is no run in the folder, or one without words.
        """
        from regard.machine.devices import choose_device
        from regard.weights import load_model

        run = Run.open(folder)
        words, ids = named_rows(run)
        model = load_model(run).to(choose_device(device))
        if ids is None:  # each row is a word
            check_size(run.folder, len(words), "words", len(embedding_table(model)))
        return cls(model, words, ids, run.folder)

    @cached_property
    def vectors(self) -> NDArray[np.float32]:
        """All vectors, [words, d], in the order of `words`. Their mean is subtracted: it is in
        every vector, so it says nothing about any.
        """
        table = embedding_table(self.model)
        table = table if self._rows is None else table[np.asarray(self._rows)]
        return np.asarray(table - table.mean(0), np.float32)

    @cached_property
    def units(self) -> NDArray[np.float32]:
        """The vectors with length 1."""
        lengths = np.linalg.norm(self.vectors, axis=1, keepdims=True)
        return np.asarray(self.vectors / np.maximum(lengths, 1e-12), np.float32)

    def __contains__(self, word: object) -> bool:
        return isinstance(word, str) and find_word(word, self._ids) is not None

    def place(self, word: str) -> int:
        """The number of a word in `words`. Capitals matter only where it is there in both cases."""
        if not isinstance(word, str):
            raise RequestError(f"{shown(word)}: not a word; give a string")
        word = word.strip()
        found = find_word(word, self._ids)
        if found is None:
            found = find_word(CONTINUES + word, self._ids)
        if found is not None:
            return found
        if len(word.split()) > 1:
            raise RequestError(f"{word!r}: a vector belongs to one word; give one, without spaces")
        close = similar_spellings(word, self.words)
        meant = f"; did you mean {', '.join(close)}?" if close else ""
        raise RequestError(f"{word!r}: not one of the {len(self.words):,} words of this run{meant}")

    def vector(self, word: str) -> NDArray[np.float32]:
        """The vector of a word.

        Parameters
        ----------
        word
            A word of the run.

        Returns
        -------
        numpy array
            [d]

        Raises
        ------
        RequestError
            The run has no such word.
        """
        return np.array(self.vectors[self.place(word)])

    def similarity(self, first: str, second: str) -> float:
        """How alike two words are.

        Parameters
        ----------
        first, second
            Two words of the run.

        Returns
        -------
        float
            The cosine of the angle between their vectors.

        Raises
        ------
        RequestError
            The run does not have one of them.
        """
        return float(self.units[self.place(first)] @ self.units[self.place(second)])

    def neighbours(self, query: str, count: int = 10) -> Neighbours:
        """Find the words that are most similar to a word, or to a sum of words.

        Parameters
        ----------
        query
            A word, or words with `+` and `-` between spaces: `"king - man + woman"`.
        count
            How many words to find; those of the query are left out.

        Returns
        -------
        Neighbours
            A list of `Neighbour`, the most similar first.

        Raises
        ------
        RequestError
            The run does not have one of the words, or the query is not of that form.
        """
        terms = [(sign, self.place(word)) for sign, word in terms_of(query)]
        total = sum(sign * self.units[place] for sign, place in terms)
        return self.nearest(np.asarray(total), [place for _, place in terms], count)

    def analogy(self, first: str, second: str, third: str, count: int = 10) -> Neighbours:
        """Complete an analogy: `first` is to `second` as `third` is to what?

        Parameters
        ----------
        first, second, third
            Words of the run: `analogy("man", "king", "woman")` asks for the queen.
        count
            How many words to find.

        Returns
        -------
        Neighbours
            The neighbours of second - first + third.

        Raises
        ------
        RequestError
            The run does not have one of the words.
        """
        return self.neighbours(f"{second} - {first} + {third}", count)

    def nearest(
        self, vector: NDArray[np.float32], without: Iterable[int], count: int
    ) -> Neighbours:
        """The words nearest to a vector, but for some."""
        similarity = self.units @ (vector / max(1e-12, float(np.linalg.norm(vector))))
        similarity[list(without)] = -np.inf
        count = max(0, min(count, int(np.isfinite(similarity).sum())))
        best = np.argsort(-similarity, kind="stable")[:count]
        return Neighbours(Neighbour(self.words[each], float(similarity[each])) for each in best)


def terms_of(query: str) -> list[tuple[int, str]]:
    """[(1, "king"), (-1, "man"), (1, "woman")] for "king - man + woman"."""
    if not isinstance(query, str):
        raise RequestError(f"{shown(query)}: give a word, or words with + and - between them")
    terms: list[tuple[int, str]] = []
    sign = 1
    awaits = True
    for part in query.split():
        if part in SIGNS and not (awaits and terms):
            sign, awaits = (1 if part == "+" else -1), True
        elif awaits:
            terms.append((sign, part))
            awaits = False
        else:
            raise RequestError(
                f"{query!r}: + or - is missing before {part!r}; write king - man + woman"
            )
    if awaits:
        raise RequestError(f"{query!r}: a word is missing; write king, or king - man + woman")
    return terms


def queries_of(parts: Iterable[str]) -> list[str]:
    """The queries of a command line, whose words come one by one: king - man + woman is one, and
    king queen are two.
    """
    queries: list[str] = []
    joins = False
    for part in " ".join(parts).split():
        operator = part in SIGNS
        if queries and (operator or joins):
            queries[-1] += f" {part}"
        else:
            queries.append(part)
        joins = operator
    return queries


def analogy_of(question: str) -> str:
    """king - man + woman for "man king woman": what is to woman as king is to man."""
    words = question.split()
    if any(word in SIGNS for word in words):
        return question
    if len(words) != 3:
        raise RequestError(f"{question!r}: an analogy has three words, like man king woman")
    first, second, third = words
    return f"{second} - {first} + {third}"


def has_words(run: Run) -> bool:
    """Whether a run has a vocabulary, so that its model has vectors of words."""
    return vocabulary_file(run.folder).exists() or run.has_tokenizers()


def named_rows(run: Run) -> tuple[list[str], list[int] | None]:
    """The words of a run, and the rows of its embeddings that belong to them."""
    if vocabulary_file(run.folder).exists():
        return list(WordVocabulary.load(vocabulary_file(run.folder)).words), None
    if not run.has_tokenizers():
        raise RunError(f"{run.folder}: this run has no words, so it has no vectors of words")
    return named_pieces(run.tokenizers().source)


def named_pieces(tokenizer: Tokenizer) -> tuple[list[str], list[int]]:
    """The pieces of a vocabulary as people write them, and their ids. A piece that continues a word
    is marked, unless characters are the pieces.
    """
    special = {*tokenizer.specials}
    pieces = [
        (number, piece)
        for number, piece in enumerate(tokenizer.vocabulary)
        if number not in special and not (piece.startswith("<0x") and len(piece) == 6)
    ]
    characters = max((len(piece) for _, piece in pieces), default=0) <= 2
    names: dict[str, int] = {}
    for number, piece in pieces:
        plain = piece.removeprefix("##").lstrip(f"{WORD_START}Ġ")
        begins = tokenizer.begins_word(piece)
        mark = "" if begins or characters else CONTINUES
        name = f"{mark}{plain}" if plain.strip() else piece.replace("\n", "⏎").replace(" ", "␣")
        names.setdefault(name, number)
    return list(names), list(names.values())


def embedding_table(model: Any) -> NDArray[np.float32]:
    from regard.tasks.embeddings import embedding_of

    table: NDArray[np.float32] = embedding_of(model).weight.detach().float().cpu().numpy()
    return table
