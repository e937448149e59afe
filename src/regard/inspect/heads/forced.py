"""Making heads look only at chosen pieces of the source, to see what the model produces then.

    with forced(model, {"cross.1": {3: [0, 4]}}):

While the model predicts output piece 3, the heads of cross.1 look only at source pieces 0 and 4.
"""

from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager

import torch
from torch import nn

from regard.errors import RequestError
from regard.inspect.heads.heads import Head, attentions, choose_heads
from regard.layers.attention import CrossAttention, Forced

# The name of a head, or a pattern for several → position of the output → pieces of the source.
Looks = Mapping[str, Mapping[int, Sequence[int]]]


@contextmanager
def forced(model: nn.Module, looks: Looks) -> Iterator[list[Head]]:
    """Inside the block, these heads at these positions give all their weight to these pieces, in
    the same proportions as before, in whole passes and in searches. All other weights stay as they
    are, and so does a sentence that has none of the pieces. Nested blocks add up.
    """
    chosen = {spec: heads_to_force(model, spec) for spec in looks}
    before: list[tuple[CrossAttention, tuple[Forced, ...]]] = []
    try:
        for layer, attention in enumerate(attentions(model)["cross"]):
            if isinstance(attention, CrossAttention):
                before.append((attention, attention.forced))
                for spec, places in looks.items():
                    own = [head.head for head in chosen[spec] if head.layer == layer]
                    new = tuple(force(attention, own, *place) for place in places.items() if own)
                    attention.forced = (*attention.forced, *new)
        yield [head for heads in chosen.values() for head in heads]
    finally:
        for attention, kept in before:
            attention.forced = kept


def heads_to_force(model: nn.Module, spec: str) -> list[Head]:
    heads = choose_heads(model, [spec])
    layers = attentions(model)["cross"]
    for head in heads:
        if head.part != "cross":
            raise RequestError(f"heads {spec!r}: only cross attention can be forced; write cross.…")
        if not isinstance(layers[head.layer], CrossAttention):
            raise RequestError(
                "the attention of a recurrent model cannot be forced: it does not count positions; "
                "take a Transformer"
            )
    return heads


def force(
    attention: CrossAttention, heads: Sequence[int], position: int, keys: Sequence[int]
) -> Forced:
    if position < 0 or not keys or min(keys) < 0:
        raise RequestError(
            f"position {position}, pieces {list(keys)}: positions and pieces count from 0; name at "
            "least one piece to look at"
        )
    marked = torch.zeros(attention.num_heads, 1, 1, dtype=torch.bool)
    marked[list(heads)] = True
    return Forced(marked, position, torch.tensor(list(keys)))
