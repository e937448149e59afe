"""The stages of attention: queries, keys and values, scores, weights, and what the heads carry."""

import math

import torch
from torch import Tensor

from regard.inspect.flow.parts import At, Cell, Labels, Stage, product
from regard.inspect.flow.recording import Recording
from regard.inspect.flow.steps import dot, given, linear, mixed, softmax_cell
from regard.inspect.numbers import DotProducts, dot_products
from regard.layers.attention import CrossAttention, MultiHeadAttention


def shape_of(attention: MultiHeadAttention, recording: Recording) -> str:
    """11×128 → 4 heads × 11×32 → 11×11 → 11×128"""
    found = dot_products(attention, recording.last(attention).given)
    heads, queries, d_k = found.queries.shape
    d_model, keys = attention.out_projection.out_features, found.keys.size(1)
    word = "head" if heads == 1 else "heads"
    parts = (product(queries, d_model), f"{heads} {word} × {product(queries, d_k)}")
    return " → ".join((*parts, product(queries, keys), product(queries, d_model)))


class AttentionStages:
    """The stages of one multi-head attention, for the head that is asked for."""

    def __init__(
        self,
        attention: MultiHeadAttention,
        recording: Recording,
        sides: tuple[str, str],  # of queries and of keys
        memory: Tensor | None = None,  # [K, d], what cross-attention makes keys and values of
    ) -> None:
        self.attention = attention
        self.sides = sides
        call = recording.last(attention)
        self.x: Tensor = call.given["x"][0]
        self.memory = self.x if memory is None else memory
        self.found: DotProducts = dot_products(attention, call.given)
        self.rotated = call.given.get("rotation") is not None
        self.joined = recording.given(attention.out_projection, "x")
        self.output: Tensor = call.output[0]

    def __call__(self, at: At) -> list[Stage]:
        head = max(0, min(at.head, self.attention.num_heads - 1))
        return [
            *self.inputs(),
            *(stage for part in range(3) for stage in self.projected(head, part)),
            *self.compared(head),
            *self.carried(head),
        ]

    def inputs(self) -> list[Stage]:
        queries, keys = self.sides
        if not isinstance(self.attention, CrossAttention):
            return [given("x", "What comes in: a row for each token.", self.x, queries)]
        says = "What asks: the rows of the decoder."
        memory = "What is asked: the encoder’s output, the same for every layer."
        return [given("x", says, self.x, queries), given("memory", memory, self.memory, keys)]

    def projected(self, head: int, part: int) -> list[Stage]:
        """Queries (0), keys (1) or values (2) of a head; before and after they are rotated."""
        name, source, side, says = (
            ("q", self.x, self.sides[0], "Queries: what each token looks for."),
            ("k", self.memory, self.sides[1], "Keys: what each token offers to be found by."),
            ("v", self.memory, self.sides[1], "Values: what each token hands over when found."),
        )[part]
        width, d_k = self.attention.out_projection.in_features, self.found.keys.size(-1)
        begin = part * width + head * d_k
        rows = slice(begin, begin + d_k)
        weight = self.attention.in_projection.weight[rows]
        bias = self.attention.in_projection.bias[rows]
        turned = (self.found.queries, self.found.keys, self.found.values)[part][head]
        if not (self.rotated and part < 2):
            title = f"{name} = x · W_{name.upper()} + b"
            return [linear(title, says, source, weight, bias, turned, side)]
        plain = torch.nn.functional.linear(source, weight, bias)
        title = f"{name} = x · W_{name.upper()} + b"
        return [
            linear(title, says, source, weight, bias, plain, side),
            turned_stage(name, plain, turned, side),
        ]

    def compared(self, head: int) -> list[Stage]:
        queries, keys, _, seen = (each[head] for each in self.found)
        scale = math.sqrt(queries.size(-1))
        scores = queries @ keys.T / scale
        visible = seen.to(scores.device)

        def score(row: int, column: int) -> Cell:
            found = dot(("q", "k", "q · k"), queries[row], keys[column])
            total = found.steps[-1][1]
            ends = (("Σ", total), ("÷ √d", scale), ("=", total / scale))
            return Cell(found.names, found.lists, "", ends)

        says = "Each query is multiplied with each key; the sum is divided by √d."
        stages = [Stage("q · kᵀ / √d", says, scores, score, *self.sides)]
        hidden = scores.masked_fill(~visible, -math.inf)
        if not bool(visible.all()):
            mask = "What a token may not look at gets −∞, so that nothing of it is left below."

            def masked(row: int, column: int) -> Cell:
                own = (("score", float(scores[row, column])),)
                may = bool(visible[row, column])
                return Cell(steps=own if may else (*own, ("may not look", -math.inf)))

            stages.append(Stage("mask", mask, hidden, masked, *self.sides))
        says = "e to the power of each score, divided by the sum of its row: each row adds up to 1."
        weights = hidden.softmax(-1).nan_to_num()

        def weight(row: int, column: int) -> Cell:
            return softmax_cell(hidden[row], column, self.sides[1])

        return [*stages, Stage("softmax", says, weights, weight, *self.sides)]

    def carried(self, head: int) -> list[Stage]:
        weights = self.compared(head)[-1].values
        values = self.found.values[head]
        own = weights @ values
        says = "The mean of the values, weighted: what this head passes on."
        out = self.attention.out_projection
        joined = "The outputs of all heads side by side"
        joined += ", without those that are off." if self.attention.replaced else "."

        def beside(row: int, column: int) -> Cell:
            number, place = divmod(column, values.size(-1))
            name = f"head {number + 1}, d{place + 1}"
            return Cell(steps=((name, float(self.joined[row, column])),))

        return [
            mixed("weights · v", says, weights, values, own, self.sides[0], self.sides[1]),
            Stage("concat", joined, self.joined, beside, self.sides[0]),
            linear(
                "concat · W_O + b",
                "One matrix mixes what the heads found: this is what leaves the box.",
                *(self.joined, out.weight, out.bias, self.output, self.sides[0]),
            ),
        ]


def turned_stage(name: str, plain: Tensor, turned: Tensor, rows: Labels) -> Stage:
    """Rotary positions turn each pair of numbers by an angle that grows with the position."""

    def cell(row: int, column: int) -> Cell:
        first = column - column % 2
        pair = ((f"d{first + 1}", plain[row, first]), (f"d{first + 2}", plain[row, first + 1]))
        steps = [(each, float(value)) for each, value in pair]
        return Cell(steps=(*steps, ("turned by its position", float(turned[row, column]))))

    says = "The position: each pair of numbers is turned by an angle that grows with it."
    return Stage(f"{name}, turned", says, turned, cell, rows)
