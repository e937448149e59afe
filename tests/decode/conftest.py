"""A toy language model whose next logits depend on every bit of the history."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from typing import Self

import pytest
import torch
from torch import Tensor

START, END = 2, 3


@dataclass
class ToyState:
    keys: Tensor  # [rows], a hash of the sentence and all tokens so far
    names: Tensor  # [rows]
    selects: list[int]

    def select(self, rows: Tensor) -> Self:
        self.selects.append(len(rows))
        return type(self)(self.keys[rows], self.names[rows], self.selects)


@dataclass
class Toy:
    """Sentences are named by numbers, so that a sentence keeps its name in any batch."""

    vocabulary: int = 6
    seed: int = 0
    end_bonus: float = 0.0
    dtype: torch.dtype = torch.float64
    rows_seen: list[int] = field(default_factory=list)
    names_seen: list[list[int]] = field(default_factory=list)
    selects: list[int] = field(default_factory=list)

    def __post_init__(self) -> None:
        generator = torch.Generator().manual_seed(self.seed)
        table = 2 * torch.randn(211, self.vocabulary, generator=generator, dtype=torch.float64)
        table[:, END] += self.end_bonus
        self.table = table.to(self.dtype)

    def start(self, names: Sequence[int]) -> tuple[ToyState, Tensor]:
        keys = torch.tensor(names, dtype=torch.long)
        return ToyState(keys, keys.clone(), self.selects), torch.full((len(names),), START)

    def step(self, tokens: Tensor, state: ToyState) -> tuple[Tensor, ToyState]:
        self.rows_seen.append(len(tokens))
        self.names_seen.append(state.names.tolist())
        keys = self.next_key(state.keys, tokens)
        return self.table[keys], ToyState(keys, state.names, self.selects)

    def next_key(self, keys: Tensor, tokens: Tensor) -> Tensor:
        return (31 * keys + 7 * tokens + 1) % len(self.table)

    def logits(self, name: int, tokens: Sequence[int]) -> Tensor:
        """The logits after each of START + tokens, without any state: [1 + tokens, V]."""
        key, rows = torch.tensor(name), []
        for token in (START, *tokens):
            key = self.next_key(key, torch.tensor(token))
            rows.append(self.table[key])
        return torch.stack(rows)

    def log_probabilities(self, name: int, tokens: Sequence[int]) -> list[float]:
        """The log-probability of each of the tokens."""
        logits = self.logits(name, tokens).to(torch.promote_types(self.dtype, torch.float32))
        table = logits.log_softmax(-1)
        return [float(table[place, token]) for place, token in enumerate(tokens)]


@pytest.fixture
def toy() -> type[Toy]:
    return Toy


@pytest.fixture(autouse=True)
def one_thread() -> Iterator[None]:
    """With tiny tensors, threads spend more time waiting for each other than they save."""
    before = torch.get_num_threads()
    torch.set_num_threads(1)
    yield
    torch.set_num_threads(before)
