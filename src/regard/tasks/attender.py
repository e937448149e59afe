"""Attender: the attention of a language model or an encoder to its own text."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal, Self

import torch

from regard.errors import RequestError
from regard.inspect.maps import MapLabels, Maps, recorded_maps
from regard.machine.devices import choose_device
from regard.run import Run
from regard.tasks.filler import MASK, SEPARATOR, encode_masked
from regard.tasks.inputs import summary
from regard.text.tokenizer import Tokenizer
from regard.weights import load_model

if TYPE_CHECKING:
    from torch import nn

# How a model uses a text: it writes it token by token, reads it with its masks, or reads it for a
# labeller.
Use = Literal["writes", "fills", "labels"]


USES: dict[str, Use] = {
    "language-model": "writes",
    "masked-language-model": "fills",
    "classification": "labels",
    "tagging": "labels",
}


@dataclass(frozen=True)
class TextPass:
    """A pass of a model over a text: what it reads, and how it is run.

    A model that writes has read a mark before the first piece, and predicts one piece after the
    last: it has one place more than `ids`. Other models have a place for each of `ids`, marks of
    start and end included, whose word is -1.
    """

    ids: list[int]
    word_of: list[int]
    words: list[str]
    places: int
    read: Callable[[], None]


class Attender:
    """Shows the attention of a model to its own text, for every task but translation.

    Examples
    --------
    >>> import regard
    >>> attender = regard.Attender.load("runs/reviews")
    >>> attender.maps("a fine film").encoder.dim()  # layers, heads, pieces, pieces
    4
    """

    def __init__(
        self, model: "nn.Module", tokenizer: Tokenizer, use: Use, folder: Path | None = None
    ) -> None:
        self.model = model
        self.tokenizer = tokenizer
        self.use = use
        self.folder = folder

    def __repr__(self) -> str:
        return summary("Attender", self.folder, self.model, f"{self.use} text")

    @classmethod
    def load(cls, folder: Path | str, device: str = "cpu") -> Self:
        """Load the attender of a run folder.

        Parameters
        ----------
        folder
            The run folder.
        device
            cpu, cuda, mps, or auto for the best that there is.

        Returns
        -------
        Attender

        Raises
        ------
        RunError
            There is no run in the folder, or one of a translator, which has `Translator.maps`.
        """
        run = Run.open(folder)
        run.recipe_for(*USES)
        return cls.of(run, USES[run.task_name()], device)

    @classmethod
    def of(cls, run: Run, use: Use, device: str) -> Self:
        """The attender of a run whose model uses texts in this way."""
        model = load_model(run).to(choose_device(device))
        return cls(model, run.tokenizers().source, use, run.folder)

    def maps(self, text: str) -> Maps:
        """Record all attention weights of one pass over a text.

        Parameters
        ----------
        text
            A text that is not empty.

        Returns
        -------
        Maps
            A language model looks back only, and has its weights as `decoder`; other models have
            them as `encoder`.

        Raises
        ------
        RequestError
            The text is empty, or too long for the model.
        """
        if not self.tokenizer.encode(text):
            raise RequestError("the text is empty; give a sentence to look at")
        return self._written(text) if self.use == "writes" else self._read(text)

    def _written(self, text: str) -> Maps:
        ids = self.tokenizer.encode(text)
        seen = [self.tokenizer.specials.end, *ids[:-1]]  # as if the text began a document
        maps = self._maps(seen)
        word, words = words_of(self.tokenizer, ids)
        labels = MapLabels(
            predicts=self.tokenizer.pieces(ids),
            predicts_word=word,
            read=self.tokenizer.pieces(seen),
            read_word=[-1, *word[:-1]],
            target_words=words,
        )
        return replace(maps, labels=labels)

    def _read(self, text: str) -> Maps:
        ids, segments = self._whole(text)
        maps = self._maps(ids, segments)
        word, words = words_of(self.tokenizer, ids)
        labels = MapLabels(source=self.tokenizer.pieces(ids), source_word=word, source_words=words)
        return replace(maps, labels=labels)

    def _whole(self, text: str) -> tuple[list[int], list[int] | None]:
        """The ids of a text with its marks, as an encoder reads it, and their segments."""
        specials = self.tokenizer.specials
        if self.use == "fills" and (MASK in text or SEPARATOR in text):
            model: Any = self.model
            return encode_masked(text, self.tokenizer, model.config.num_segments)
        return [specials.start, *self.tokenizer.encode(text), specials.end], None

    def whole_pass(self, text: str, prefix: Sequence[int] = ()) -> TextPass:
        """The pass over a text; for a model that writes, over the pieces after it as well."""
        if self.use == "writes":
            ids = [*self.tokenizer.encode(text), *prefix]
            seen, segments = [self.tokenizer.specials.end, *ids], None
        else:
            seen, segments = self._whole(text)
            ids = seen
        word, words = words_of(self.tokenizer, ids)
        return TextPass(ids, word, words, len(seen), self._reading(seen, segments))

    def _maps(self, ids: list[int], segments: list[int] | None = None) -> Maps:
        return recorded_maps(self.model, self._reading(ids, segments), len(ids), len(ids))

    def _reading(self, ids: list[int], segments: list[int] | None) -> Callable[[], None]:
        model: Any = self.model
        if len(ids) > model.longest:
            raise RequestError(
                f"the text has {len(ids)} tokens, the model reads {model.longest}; shorten it"
            )
        device = next(model.parameters()).device
        tokens = torch.tensor([ids], device=device)
        mask = torch.ones_like(tokens, dtype=torch.bool)
        segment_ids = None if segments is None else torch.tensor([segments], device=device)

        def read() -> None:
            if self.use == "writes":
                model.features(tokens)
            elif self.use == "fills":
                model.features(tokens, mask, segment_ids)
            else:
                model.reader.features(tokens, mask)

        return read


def words_of(tokenizer: Tokenizer, ids: Sequence[int]) -> tuple[list[int], list[str]]:
    """The word of each piece by number, and the words; a mask is a word, start and end are not."""
    places: list[int] = []
    words: list[list[int]] = []
    found = tokenizer.word_of(ids)
    masked = [token == tokenizer.specials.mask for token in ids]
    for place, token in enumerate(ids):
        if found[place] < 0 and not masked[place]:
            places.append(-1)
            continue
        if not place or found[place] != found[place - 1] or masked[place]:
            words.append([])
        words[-1].append(token)
        places.append(len(words) - 1)
    special = set(tokenizer.specials)
    return places, [
        MASK if special & set(word) else tokenizer.decode(word).strip() for word in words
    ]


def attend(
    use: Use, folder: Path, text: str, output: str | None, device: str = "cpu"
) -> tuple[Attender, Maps]:
    """The attention of a model to a text that it reads or writes."""
    if output is not None:
        raise RequestError(f"{folder}: only a translator has outputs; leave --translation out")
    attender = Attender.of(Run.open(folder), use, device)
    return attender, attender.maps(text)


attend_writer = partial(attend, "writes")
attend_filler = partial(attend, "fills")
attend_labeller = partial(attend, "labels")
