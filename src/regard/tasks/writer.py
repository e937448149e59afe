"""Writer: continues a text, and says how likely a text is."""

import sys
from collections.abc import Iterator, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, Self, cast

import torch
from torch import Tensor

from regard.decode import filters
from regard.decode.sample import sample
from regard.errors import RequestError
from regard.inspect.alternatives import alternatives
from regard.machine.devices import choose_device
from regard.run import Run
from regard.tasks.task import Section, TextQuestion
from regard.text.tokenizer import Tokenizer
from regard.weights import load_model

if TYPE_CHECKING:
    from regard.decode.contract import Filter
    from regard.models import LanguageModel, RecurrentLanguageModel

# A recurrent model reads a long text in parts of this many tokens.
PART = 2048
# Pieces of a text that are looked at, and tokens that are shown beside the one that was taken.
LONGEST_SHOWN, ALTERNATIVES = 512, 8
REPLACEMENT = "\N{REPLACEMENT CHARACTER}"


@dataclass(frozen=True)
class Writing:
    """The settings to continue a text. Temperature 0 takes the likeliest token at each step."""

    max_tokens: int = 200
    temperature: float = 0.8
    top_k: int = 0
    top_p: float = 1.0
    seed: int = 1

    def __post_init__(self) -> None:
        checks = {
            "max_tokens must be from 0 to 1000000": 0 <= self.max_tokens <= 1_000_000,
            "temperature must be 0, or from 0.001 to 100": self.temperature == 0
            or 0.001 <= self.temperature <= 100,
            "top_k must not be negative": self.top_k >= 0,
            "top_p must be above 0 and at most 1": 0 < self.top_p <= 1,
            "seed must be from 0 to 2^63 - 1": 0 <= self.seed < 2**63,
        }
        for sentence, holds in checks.items():
            if not holds:
                raise RequestError(f"{sentence}; see `regard generate --help`")

    def filters(self, never: Sequence[int]) -> "list[Filter]":
        """The filters of the tokens, in the order they apply."""
        chosen = [filters.forbid(never)]
        if self.temperature:
            chosen.append(filters.temperature(self.temperature))
        if self.top_k:
            chosen.append(filters.top_k(self.top_k))
        if self.top_p < 1:
            chosen.append(filters.top_p(self.top_p))
        return chosen


@dataclass(frozen=True)
class ScoredToken:
    """A piece of a text and its log-probability given all before it that the model can see."""

    piece: str
    log_probability: float


class Writer:
    """A language model at work."""

    def __init__(
        self, model: "LanguageModel", tokenizer: Tokenizer, limit: int, backward: bool = False
    ) -> None:
        self.model = model
        self.tokenizer = tokenizer
        # The most tokens the model sees at a time.
        self.limit = limit
        self.backward = backward

    @classmethod
    def load(cls, folder: Path | str, device: str = "cpu") -> Self:
        """The writer of a run folder."""
        run = Run.open(folder)
        recipe = run.recipe_for("language-model")
        tokenizer = run.tokenizers().source
        model = load_model(run).to(choose_device(device))
        language_model = cast("LanguageModel", model)
        # Positions that training never reached mean nothing; a recurrent model has none.
        limit = language_model.longest
        if recipe.model.kind == "gpt":
            limit = min(limit, recipe.data.context)
        return cls(language_model, tokenizer, limit, recipe.data.direction == "backward")

    def stream(self, prompt: str, writing: Writing | None = None) -> Iterator[str]:
        """The continuation of a prompt, in parts as they are written."""
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

    def generate(self, prompt: str, writing: Writing | None = None) -> str:
        """The continuation of a prompt."""
        return "".join(self.stream(prompt, writing))

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

    @torch.inference_mode()
    def score(self, text: str) -> list[ScoredToken]:
        """The score of every token of a text, the first as the beginning of a document."""
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


@torch.inference_mode()
def look(writer: Writer, asked: TextQuestion) -> Section:
    """The continuation of a text, with the alternatives at each place of it."""
    if writer.backward:
        raise RequestError("this model reads backwards: it cannot continue a text")
    tokenizer = writer.tokenizer
    specials = tokenizer.specials
    size = len(tokenizer)
    given = [*tokenizer.encode(asked.text), *(each for each in asked.prefix if 0 <= each < size)]
    longest = min(LONGEST_SHOWN, writer.limit) - 1
    if len(given) >= longest:
        raise RequestError(f"the text has {len(given)} pieces, at most {longest} can be looked at")
    room = max(1, min(asked.more, longest - len(given)))
    written: list[int] = []
    likeliest = Writing(max_tokens=room, temperature=0)
    for token in writer._continued(given or [specials.end], room, likeliest, part=0):
        if token == specials.end:
            break
        written.append(token)
    ids = [*given, *written]
    if not ids:
        raise RequestError("the model ends the text at once; give it a beginning")
    end = torch.tensor([[specials.end]])
    # As in writing: the first token follows END, the others follow the tokens before them.
    logits = [writer.model(end)[0]]
    if len(ids) > 1:
        logits.append(writer.model(torch.tensor([ids[:-1]]))[0])
    pieces = tokenizer.pieces(range(size))
    found = alternatives(torch.cat(logits)[: len(ids)], ids, pieces, ALTERNATIVES)
    return {
        # The last pass reads all pieces but the last, which nothing follows.
        "pieces": tokenizer.pieces(ids[:-1] or ids),
        "ids": ids,
        "steps": [asdict(each) for each in found],
        "given": len(given),
    }
