"""What both searches do with rows: rank their tokens, and close the gaps when rows finish."""

import torch
from torch import Tensor


def best(scores: Tensor, count: int) -> tuple[Tensor, Tensor]:
    """Like `scores.topk(count)`, in a fraction of the time on a CPU when the vocabulary is large.

    The vocabulary is stacked in eight strips, so that column j holds tokens j, j + strip, ... The
    best `count` tokens are in the `count` columns with the best maxima, and a column-wise maximum
    is a fast pass.
    """
    strip = scores.shape[1] // 8
    if strip <= max(count, 32):
        return scores.topk(min(count, scores.shape[1]))
    _, columns = best(scores[:, : 8 * strip].unflatten(1, (8, strip)).amax(1), count)
    offsets = torch.arange(0, 8 * strip, strip, device=scores.device)
    ids = (columns[:, None, :] + offsets[:, None]).flatten(1)
    if 8 * strip < scores.shape[1]:
        tail = torch.arange(8 * strip, scores.shape[1], device=scores.device)
        ids = torch.cat((ids, tail.expand(len(scores), -1)), 1)
    values, order = scores.gather(1, ids).topk(count)
    return values, ids.gather(1, order)


def closed_up(staying: Tensor) -> Tensor:
    """The places of the rows that stay, [places] of bool -> [staying]. The last of them fill the
    gaps, so that most rows keep their place.
    """
    count = int(staying.sum())
    places = torch.arange(count, device=staying.device)
    places[~staying[:count]] = count + staying[count:].nonzero()[:, 0]
    return places
