"""What else a model could have produced at each place of an output."""

from collections.abc import Sequence
from dataclasses import dataclass

import torch
from torch import Tensor


@dataclass(frozen=True)
class Choice:
    token: int
    piece: str
    probability: float


@dataclass(frozen=True)
class Position:
    """The possible tokens at one place of an output, given all tokens before it."""

    token: int
    piece: str
    log_probability: float
    rank: int  # of the token that was produced; 0 is the likeliest
    entropy: float  # in bits
    choices: list[Choice]  # the likeliest, best first


def alternatives(
    logits: Tensor, tokens: Sequence[int], pieces: Sequence[str], k: int
) -> list[Position]:
    """`logits` [T, V] predict the T tokens; `pieces` are the texts of all V pieces."""
    known = logits.double().log_softmax(-1)
    entropies = -(known.exp() * known).nan_to_num().sum(-1) / torch.log(torch.tensor(2.0))
    values, ids = known.topk(min(k, known.size(-1)))
    own = known.gather(1, torch.tensor(tokens, device=known.device)[:, None])
    ranks = (known > own).sum(-1).tolist()
    return [
        Position(
            token=token,
            piece=pieces[token],
            log_probability=float(own[place]),
            rank=ranks[place],
            entropy=float(entropies[place]),
            choices=[
                Choice(each, pieces[each], float(value.exp()))
                for each, value in zip(ids[place].tolist(), values[place], strict=True)
            ],
        )
        for place, token in enumerate(tokens)
    ]
