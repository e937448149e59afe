"""The tree of a beam search: what was kept, what was pruned and why.

A search is watched through its last filter, which sees every hypothesis that is alive and the
log-probability of every next token, and changes nothing. The rules are those of `decode.beam`.
"""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Literal

import torch
from torch import Tensor

from regard.decode.contract import NEVER, Rows
from regard.decode.ranking import best

# kept: continued at the next step. pruned: not good enough. finished: an output. cut: an output
# ended by the length limit. left: still alive when the search ended.
Fate = Literal["kept", "pruned", "finished", "cut", "left"]


@dataclass(frozen=True)
class Node:
    """A token after the tokens of its parent; nodes with parent -1 begin an output."""

    id: int
    parent: int
    step: int  # the number of tokens so far, this one included
    token: int
    log_probability: float
    total: float  # the sum of log-probabilities so far
    rank: int  # among all candidates of its step, 0 the best
    fate: Fate
    why: str
    score: float | None  # of outputs: total / step ** length_penalty


@dataclass(frozen=True)
class Tree:
    nodes: list[Node]
    beam_size: int
    length_penalty: float
    pieces: list[str]  # the text of each node's token
    best: int  # the node that ends the best output

    def path(self, node: int) -> list[Node]:
        """The nodes from the first token to this one."""
        found = []
        while node >= 0:
            found.append(self.nodes[node])
            node = found[-1].parent
        return found[::-1]

    def ranked(self, length_penalty: float | None = None) -> list[Node]:
        """The outputs, best first, as another length penalty would rank them: finished ones first.

        A search with that penalty might find others; these are the outputs of this search.
        """
        penalty = self.length_penalty if length_penalty is None else length_penalty
        outputs = [
            replace(node, score=node.total / node.step**penalty)
            for node in self.nodes
            if node.fate in ("finished", "cut")
        ]
        return sorted(outputs, key=lambda node: (node.fate == "cut", -(node.score or 0.0)))


class Watch:
    """A filter that records the search of one sentence: a list entry for each step."""

    def __init__(self) -> None:
        self.prefixes: list[Tensor] = []  # [W, T]
        self.scores: list[Tensor] = []  # [W, V]

    def __call__(self, scores: Tensor, rows: Rows) -> Tensor:
        # The rows of one step may come in several blocks.
        if len(self.prefixes) and self.prefixes[-1].size(1) == rows.tokens.size(1):
            self.prefixes[-1] = torch.cat((self.prefixes[-1], rows.tokens))
            self.scores[-1] = torch.cat((self.scores[-1], scores))
        else:
            self.prefixes.append(rows.tokens.clone())
            self.scores.append(scores.clone())
        return scores


@dataclass(frozen=True)
class Rules:
    beam_size: int
    length_penalty: float
    max_length: int
    end: int


def grow(watch: Watch, rules: Rules) -> Tree:
    """The tree of a watched search, whose pieces have no text yet."""
    nodes: list[Node] = []
    front: dict[tuple[int, ...], int] = {(): -1}  # the hypotheses alive, by their tokens
    outputs = 0
    for step, (prefixes, scores) in enumerate(zip(watch.prefixes, watch.scores, strict=True), 1):
        rows = [tuple(row) for row in prefixes.tolist()]
        # Rows that only fill up a beam continue no hypothesis.
        real = [place for place, row in enumerate(rows) if row in front]
        totals = [nodes[front[rows[place]]].total if step > 1 else 0.0 for place in real]
        candidates = ranked_candidates(scores[real], totals, rules)
        next_front: dict[tuple[int, ...], int] = {}
        alive = 0
        for rank, (total, value, place, token) in enumerate(candidates):
            row = rows[real[place]]
            fate, why = judged(rank, token, step, alive, rules)
            node = Node(
                id=len(nodes),
                parent=front[row],
                step=step,
                token=token,
                log_probability=value,
                total=total,
                rank=rank,
                fate=fate,
                why=why,
                score=total / step**rules.length_penalty if fate in ("finished", "cut") else None,
            )
            nodes.append(node)
            outputs += fate in ("finished", "cut")
            if fate == "kept":
                alive += 1
                next_front[(*row, token)] = node.id
        front = next_front
    for last in front.values():
        why = f"alive when the search had its {outputs} outputs"
        nodes[last] = replace(nodes[last], fate="left", why=why)
    tree = Tree(nodes, rules.beam_size, rules.length_penalty, [], -1)
    return replace(tree, best=tree.ranked()[0].id)


def ranked_candidates(
    scores: Tensor, totals: Sequence[float], rules: Rules
) -> list[tuple[float, float, int, int]]:
    """The best 2K of a step as the search ranks them: (total, log-probability, row, token)."""
    count = 2 * rules.beam_size
    values, tokens = best(scores, count)
    sums = (torch.tensor(totals, device=scores.device)[:, None] + values).flatten()
    order = sums.topk(min(count, len(sums))).indices
    each = values.size(1)
    return [
        (
            float(sums[place]),
            float(values.flatten()[place]),
            int(place) // each,
            int(tokens.flatten()[place]),
        )
        for place in order.tolist()
        if sums[place] != NEVER
    ]


def judged(rank: int, token: int, step: int, alive: int, rules: Rules) -> tuple[Fate, str]:
    """The fate of a candidate and the reason, with `alive` better ones already kept."""
    size = rules.beam_size
    if rank < size and token == rules.end:
        return "finished", f"ends the sentence among the best {size} of its step"
    if step == rules.max_length:
        if rank < size:
            return "cut", f"the length limit of {rules.max_length} tokens ends it"
        return "pruned", f"not among the best {size} at the length limit"
    if token == rules.end:
        return "pruned", f"ends the sentence, but only as number {rank + 1}; {size} count"
    if alive < size:
        return "kept", f"number {alive + 1} of those that continue"
    return "pruned", f"{size} better ones continue"
