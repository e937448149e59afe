"""Paths: a series continued patch by patch, each drawn from what the model says of it.

B windows, S paths of each, R = B * S rows, P steps of a patch, D parameters of a value.
"""

from collections.abc import Callable

import torch
from torch import Tensor

from regard.decode.contract import StateT, Step


@torch.no_grad()
def draw_paths(
    step: Step[StateT],
    state: StateT,
    last: Tensor,
    draw: Callable[[Tensor], Tensor],
    patches: int,
    paths: int,
) -> Tensor:
    """Continue each window by as many patches, several times: [B, S, patches * P].

    The windows have been read up to their `last` patch [B, P]. `draw` turns parameters [R, P, D]
    into values [R, P], which the next step reads.
    """
    rows = torch.arange(len(last), device=last.device).repeat_interleave(paths)
    parameters, state = step(last, state)
    parameters, state = parameters[rows], state.select(rows)
    drawn = [draw(parameters)]
    for _ in range(patches - 1):
        parameters, state = step(drawn[-1], state)
        drawn.append(draw(parameters))
    return torch.cat(drawn, 1).unflatten(0, (len(last), paths))  # type: ignore[no-any-return]
