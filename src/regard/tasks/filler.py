"""Filler: ranks what may stand where something is masked."""

import re
from collections.abc import Iterable, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, Self, cast, overload

import torch

from regard.errors import RequestError
from regard.run import Run
from regard.tasks.from_run import FromRun
from regard.tasks.inputs import summary, texts_of
from regard.tasks.task import Evaluation, Section, TextQuestion
from regard.text.tokenizer import Tokenizer

if TYPE_CHECKING:
    from regard.models import Bert

MASK, SEPARATOR = "[MASK]", "[SEP]"
# Candidates that are shown for each mask.
ALTERNATIVES = 8


@dataclass(frozen=True, repr=False)
class Candidate:
    """A piece that may stand behind a mask."""

    text: str
    probability: float

    def __repr__(self) -> str:
        return f"Candidate({self.text!r}, {self.probability:.3f})"


@dataclass(frozen=True)
class Filled:
    """A text with the likeliest piece at each mask, and the candidates of each.

    Attributes
    ----------
    text : str
        The text with the likeliest piece at each mask.
    candidates : list of list of Candidate
        For each mask what may stand there, the likeliest first.
    """

    text: str
    candidates: list[list[Candidate]]

    def _repr_html_(self) -> str:
        from html import escape

        from regard import notebook

        tables = [{each.text: each.probability for each in row} for row in self.candidates]
        return f"<p>{escape(self.text)}</p>" + "".join(map(notebook.bars, tables))


class Filler(FromRun):
    """A masked language model at work: it fills in what is missing.

    `regard.load` or `Filler.load` gives one of a run folder.

    Examples
    --------
    >>> import regard
    >>> regard.load("runs/masked").fill("one and [MASK]").text
    'one and two'
    """

    task = "masked-language-model"

    def __init__(
        self, model: "Bert", tokenizer: Tokenizer, limit: int, folder: Path | None = None
    ) -> None:
        self.model = model
        self.tokenizer = tokenizer
        # The most tokens the model has learned to see at a time.
        self.limit = limit
        self.folder = folder

    def __repr__(self) -> str:
        return summary("Filler", self.folder, self.model, f"sees {self.limit:,} tokens")

    @classmethod
    def _of(cls, run: Run, recipe: Any, model: Any) -> Self:
        tokenizer = run.tokenizers().source
        if not model.config.masked_head or tokenizer.specials.mask is None:
            raise RequestError(f"{run.folder}: this model has no head for what is masked")
        limit = min(model.longest, recipe.data.context)
        return cls(model, tokenizer, limit, run.folder)

    @overload
    def fill(self, text: str, top: int = 5) -> Filled: ...  # type: ignore[overload-overlap]
    @overload
    def fill(self, text: Iterable[str], top: int = 5) -> list[Filled]: ...
    def fill(self, text: str | Iterable[str], top: int = 5) -> Filled | list[Filled]:
        """Rank what may stand where a text says [MASK].

        Each mask is filled while the others are still hidden.

        Parameters
        ----------
        text
            A text with one or more [MASK], or several such texts.
        top
            Candidates for each mask.

        Returns
        -------
        Filled or list of Filled
            The text with the likeliest pieces, and the candidates.

        Raises
        ------
        RequestError
            There is no [MASK] in the text, or the text is too long for the model.
        """
        found = [self._filled(each, top) for each in texts_of(text, "fill")]
        return found[0] if isinstance(text, str) else found

    def evaluate(self, texts: str | Iterable[str]) -> Evaluation:
        """Measure how well the model fills in texts that it has not learned from.

        The same share of the text is hidden as in training, the same tokens each time.

        Parameters
        ----------
        texts
            A text, or several.

        Returns
        -------
        Evaluation
            Loss, perplexity and accuracy of what was hidden.

        Raises
        ------
        DataError
            There is no text.

        Examples
        --------
        >>> import regard
        >>> texts = ["one and two and three"] * 9
        >>> regard.load("runs/masked").evaluate(texts).score("perplexity") > 1
        True
        """
        from regard.tasks.masked_language_model import scored

        return scored(self, [f"{each}\n" for each in texts_of(texts, "evaluate")], ())

    @torch.inference_mode()
    def _filled(self, text: str, top: int) -> Filled:
        ids, segments = self.encode(text)
        mask = self.tokenizer.specials.mask
        places = [place for place, token in enumerate(ids) if token == mask]
        device = next(self.model.parameters()).device
        tokens = torch.tensor([ids], device=device)
        segment_ids = torch.tensor([segments], device=device) if max(segments) else None
        unpadded = torch.ones_like(tokens, dtype=torch.bool)
        features = self.model.features(tokens, unpadded, segment_ids)
        logits = self.model.output(self.model.predictions(features[0, places])).float()
        special = [index for index in self.tokenizer.specials if index is not None]
        logits[:, special] = float("-inf")
        best = logits.softmax(-1).topk(min(top, logits.size(1) - len(special)))
        found = [
            [
                Candidate(shown(piece), value)
                for piece, value in zip(self.tokenizer.pieces(row), values, strict=True)
            ]
            for row, values in zip(best.indices.tolist(), best.values.tolist(), strict=True)
        ]
        filled = text
        for candidates in found:
            filled = filled.replace(MASK, candidates[0].text, 1)
        return Filled(filled, found)

    def encode(self, text: str) -> tuple[list[int], list[int]]:
        """Encode a text like `encode_masked`; it must have a mask and not be too long."""
        if MASK not in text:
            raise RequestError(f"there is no {MASK} in the text; write it where a word is missing")
        ids, segments = encode_masked(text, self.tokenizer, self.model.config.num_segments)
        if len(ids) > self.limit:
            raise RequestError(
                f"the text has {len(ids)} tokens, the model reads {self.limit}; shorten it"
            )
        return ids, segments


def encode_masked(
    text: str, tokenizer: Tokenizer, num_segments: int
) -> tuple[list[int], list[int]]:
    """The ids of a text with its masks, and the sentence that each belongs to, by number."""
    specials = tokenizer.specials
    ids, segments = [specials.start], [0]
    for number, sentence in enumerate(text.split(SEPARATOR)):
        kind = min(number, num_segments - 1)
        before = len(ids)
        for part in re.split(f"({re.escape(MASK)})", sentence):
            ids += [cast("int", specials.mask)] if part == MASK else tokenizer.encode(part)
        ids.append(specials.end)
        segments += [kind] * (len(ids) - before)
    return ids, segments


def shown(piece: str) -> str:
    """A piece as people write it: without the mark that it begins or continues a word."""
    return piece.removeprefix("▁").removeprefix("Ġ").removeprefix("##")


def ranked(candidates: Sequence[Candidate]) -> str:
    return ", ".join(f"{each.text} {each.probability:.3f}" for each in candidates)


def look(filler: Filler, asked: TextQuestion) -> Section:
    """The candidates for each mask, and the pieces that the model read."""
    ids, _ = filler.encode(asked.text)
    found = filler.fill(asked.text, ALTERNATIVES)
    mask = filler.tokenizer.specials.mask
    pieces = [
        MASK if token == mask else piece
        for token, piece in zip(ids, filler.tokenizer.pieces(ids), strict=True)
    ]
    return {"pieces": pieces, "filled": asdict(found)}
