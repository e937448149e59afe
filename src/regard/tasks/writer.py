"""Writer: continues a text, and says how likely a text is."""

import sys
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, Self, cast, overload

import torch
from torch import Tensor

from regard.decode.sample import sample
from regard.errors import RequestError
from regard.run import Run
from regard.tasks.from_run import FromRun
from regard.tasks.inputs import summary, texts_of
from regard.tasks.task import Evaluation
from regard.tasks.writing import ScoredToken, Writing
from regard.text.tokenizer import Tokenizer

if TYPE_CHECKING:
    from regard.models import LanguageModel, RecurrentLanguageModel

# A recurrent model reads a long text in parts of this many tokens.
PART = 2048
REPLACEMENT = "\N{REPLACEMENT CHARACTER}"


class Writer(FromRun):
    """A language model at work: it continues texts, and says how likely a text is.

    `regard.load` or `Writer.load` gives one of a run folder.

    Examples
    --------
    >>> import regard
    >>> writer = regard.load("runs/book")
    >>> writer.generate("The ", regard.Writing(max_tokens=3, temperature=0))
    'one'
    """

    task = "language-model"

    def __init__(
        self,
        model: "LanguageModel",
        tokenizer: Tokenizer,
        limit: int,
        backward: bool = False,
        folder: Path | None = None,
    ) -> None:
        self.model = model
        self.tokenizer = tokenizer
        # The most tokens the model sees at a time.
        self.limit = limit
        self.backward = backward
        self.folder = folder

    def __repr__(self) -> str:
        seen = "remembers all" if self.limit == sys.maxsize else f"sees {self.limit:,} tokens"
        return summary("Writer", self.folder, self.model, seen)

    @classmethod
    def _of(cls, run: Run, recipe: Any, model: Any) -> Self:
        # Positions that training never reached mean nothing; a recurrent model has none.
        limit = model.longest
        if recipe.model.kind == "gpt":
            limit = min(limit, recipe.data.context)
        backward = recipe.data.direction == "backward"
        return cls(model, run.tokenizers().source, limit, backward, run.folder)

    def stream(self, prompt: str, writing: Writing | None = None) -> Iterator[str]:
        """Continue a text, and yield the parts as they are written.

        Parameters
        ----------
        prompt
            The beginning of a text; `""` begins a new document.
        writing
            How to write; by default 200 tokens at temperature 0.8.

        Yields
        ------
        str
            A part of the continuation.

        Raises
        ------
        RequestError
            The model reads backwards, so it cannot continue a text.
        """
        (prompt,) = texts_of([prompt], "stream")
        if self.backward:
            raise RequestError(
                "this model reads backwards: it can score and embed a text, not continue it"
            )
        writing = writing or Writing()
        # After the end of a document, another one starts.
        given = self.tokenizer.encode(prompt) or [self.tokenizer.specials.end]
        waiting: list[int] = []
        for token in self._tokens(given, writing):
            waiting.append(token)
            text = self.tokenizer.decode(waiting)
            # A character may be spelled in up to four bytes.
            if not text.endswith(REPLACEMENT) or len(waiting) > 3:
                yield text
                waiting = []
        if waiting:
            yield self.tokenizer.decode(waiting)

    @overload
    def generate(self, prompt: str, writing: Writing | None = None) -> str: ...  # type: ignore[overload-overlap]
    @overload
    def generate(self, prompt: Iterable[str], writing: Writing | None = None) -> list[str]: ...
    def generate(
        self, prompt: str | Iterable[str], writing: Writing | None = None
    ) -> str | list[str]:
        """Continue a text, or several.

        Parameters
        ----------
        prompt
            The beginning of a text, or several beginnings.
        writing
            How to write; by default 200 tokens at temperature 0.8.

        Returns
        -------
        str or list of str
            What follows the beginning, without it.

        Raises
        ------
        RequestError
            The model reads backwards, or what was given is not a text.
        """
        found = ["".join(self.stream(each, writing)) for each in texts_of(prompt, "generate")]
        return found[0] if isinstance(prompt, str) else found

    def _tokens(self, given: Sequence[int], writing: Writing) -> Iterator[int]:
        """The tokens of a continuation. When the context is full, its last half is read again."""
        history, left, part = list(given), writing.max_tokens, 0
        while left > 0:
            seen = history[-max(1, self.limit // 2) :] if part else history[-(self.limit - 1) :]
            room = min(left, self.limit - len(seen))
            for token in self._continued(seen, room, writing, part):
                if token == self.tokenizer.specials.end:
                    return
                history.append(token)
                left -= 1
                yield token
            part += 1

    def _continued(self, seen: list[int], room: int, writing: Writing, part: int) -> Iterator[int]:
        specials = self.tokenizer.specials
        device = next(self.model.parameters()).device
        tokens = torch.tensor(seen, device=device)
        state: Any = self.model.start(1)
        step: Any = self.model.step
        for token in tokens[:-1]:
            _, state = step(token[None], state)
        drawn = sample(
            step,
            state,
            tokens[-1:],
            max_lengths=torch.tensor([room]),
            end=specials.end,
            filters=writing.filters(specials.never),
            seeds=[(writing.seed + part) % 2**63] if writing.temperature else None,
        )
        for next_token in drawn:
            yield int(next_token)

    def evaluate(self, texts: str | Iterable[str]) -> Evaluation:
        """Measure how well the model predicts texts that it has not learned from.

        Parameters
        ----------
        texts
            A text, or several, each a document of its own.

        Returns
        -------
        Evaluation
            Loss, perplexity and bits per character.

        Raises
        ------
        DataError
            There is no text.

        Examples
        --------
        >>> import regard
        >>> found = regard.load("runs/book").evaluate("one and two and three")
        >>> found.score("perplexity") > 1
        True
        """
        from regard.tasks.language_model import scored

        return scored(self, texts_of(texts, "evaluate"), ())

    @torch.inference_mode()
    def score(self, text: str) -> list[ScoredToken]:
        """Score every token of a text, the first as the beginning of a document.

        Parameters
        ----------
        text
            Any text; one that is longer than the model can see is read in windows.

        Returns
        -------
        list of ScoredToken
            The pieces of the text with their log-probabilities.
        """
        (text,) = texts_of([text], "score")
        ids = self.tokenizer.encode(text)
        if not ids:
            return []
        if self.backward:
            ids = ids[::-1]
        device = next(self.model.parameters()).device
        tokens = torch.tensor(ids, device=device)
        end = torch.tensor([[self.tokenizer.specials.end]], device=device)
        # The text may be the middle of a document, so only its first token is scored after END.
        found = log_probabilities(self.model(end)[0], tokens[:1])
        found += self._carried(tokens) if self.limit == sys.maxsize else self._windows(tokens)
        if self.backward:
            ids, found = ids[::-1], found[::-1]
        return [
            ScoredToken(piece, value)
            for piece, value in zip(self.tokenizer.pieces(ids), found, strict=True)
        ]

    def _windows(self, tokens: Tensor) -> list[float]:
        """Each window repeats half of the one before it, so that no token is without context."""
        found: list[float] = []
        begin = 0
        while len(found) < len(tokens) - 1:
            part = tokens[begin : begin + self.limit]
            scores = log_probabilities(self.model(part[None, :-1])[0], part[1:])
            found += scores[len(found) - begin :]
            begin = max(0, len(found) - self.limit // 2)
        return found

    def _carried(self, tokens: Tensor) -> list[float]:
        model = cast("RecurrentLanguageModel", self.model)
        found: list[float] = []
        state = None
        for begin in range(0, len(tokens) - 1, PART):
            part = tokens[begin : begin + PART + 1]
            features, state = model.continued(part[None, :-1], state)
            found += log_probabilities(model.output(features[0]), part[1:])
        return found


def log_probabilities(logits: Tensor, labels: Tensor) -> list[float]:
    """The log-probability of each label under its row of logits: [N, V], [N] → N numbers"""
    return logits.float().log_softmax(-1).gather(1, labels[:, None])[:, 0].tolist()
