"""The box of a recurrent decoder's attention over the encoder's states."""

import torch
from torch import Tensor

from regard.inspect.flow.parts import At, Box, Cell, Stage, product
from regard.inspect.flow.recording import Recording
from regard.inspect.flow.steps import dot, given, linear, mixed, softmax_cell
from regard.layers.state_attention import AdditiveAttention, DotAttention, NoAttention

SIDES = ("target", "source")


def attention_box(
    recording: Recording,
    attention: AdditiveAttention | DotAttention | NoAttention,
    name: str,
    states: Tensor,
    last: Tensor,
    steps: int,
) -> Box:
    """States [S, d] of the source, the last of them [d], and how many steps there are."""
    if isinstance(attention, NoAttention):
        return context_box(name, last, steps)
    calls = recording.calls[attention]
    queries = torch.cat([call.given["query"][0] for call in calls])
    output = torch.cat([call.output[0] for call in calls])

    def stages(at: At) -> list[Stage]:
        before = isinstance(attention, AdditiveAttention)
        asks = "before its step" if before else "after its step"
        scored, scores = score_stages(attention, queries, states)
        weights = scores.softmax(-1)
        return [
            given("s", f"What asks: the decoder’s state {asks}.", queries, "target"),
            given("h", "What is asked: the encoder’s states.", states, "source"),
            *scored,
            Stage(
                "softmax",
                "e to the power of each score, divided by the sum of its row.",
                weights,
                lambda row, column: softmax_cell(scores[row], column, "source"),
                *SIDES,
            ),
            mixed(
                "weights · h",
                "The mean of the encoder’s states, weighted: the context of the step.",
                *(weights, states, output, "target", "source"),
            ),
        ]

    title = "Additive attention" if isinstance(attention, AdditiveAttention) else "Dot attention"
    sizes = (product(*queries.shape), product(len(queries), len(states)), product(*output.shape))
    return Box(
        name,
        title,
        " → ".join(sizes),
        "target",
        output,
        stages,
        layer=None,
        part="cross",
        reads="source",
    )


def score_stages(
    attention: AdditiveAttention | DotAttention, queries: Tensor, states: Tensor
) -> tuple[list[Stage], Tensor]:
    if isinstance(attention, DotAttention):
        scores = queries @ states.T

        def product_cell(row: int, column: int) -> Cell:
            return dot(("s", "h", "s · h"), queries[row], states[column])

        says = "Each state of the decoder is multiplied with each of the encoder."
        return [Stage("s · hᵀ", says, scores, product_cell, *SIDES)], scores
    query, key = attention.query_projection, attention.key_projection
    asked, offered = query(queries), key(states)
    weight = attention.score.weight[0].detach()
    scores = (asked[:, None] + offered).tanh() @ weight

    def score(row: int, column: int) -> Cell:
        squashed = (asked[row] + offered[column]).tanh()
        return dot(("tanh(W s + U h)", "v", "product"), squashed, weight)

    says = "Both are added, squashed by tanh and weighted by v: a small network scores each pair."
    return [
        linear("W s", "What the state asks.", queries, query.weight, None, asked, "target"),
        linear(
            "U h + b",
            "What each source position offers.",
            *(states, key.weight, key.bias, offered, "source"),
        ),
        Stage("v · tanh(W s + U h)", says, scores, score, *SIDES),
    ], scores


def context_box(name: str, last: Tensor, steps: int) -> Box:
    """Without attention every step reads the same vector: the whole sentence in one state."""
    output = last.expand(steps, -1)

    def stages(at: At) -> list[Stage]:
        says = "The encoder’s last state, the same at every step: all that is known of the source."
        return [given("h", says, output, "target")]

    shape = f"1×{len(last)} → {product(*output.shape)}"
    return Box(name, "Context", shape, "target", output, stages, reads="source")
