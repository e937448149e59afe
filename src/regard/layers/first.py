"""The first position of a self-attention alone, for models that read nothing else of a last block.

Shapes: B sequences of T positions, h heads of width d_k, d d_model.
"""

import torch
import torch.nn.functional as F
from torch import Tensor

from regard.layers.attention import SelfAttention


def attend_first(attention: SelfAttention, x: Tensor) -> Tensor:
    """[B, T, d] → [B, d]: what `attention(x)[:, 0]` is, without a mask.

    One query is multiplied with the weights of the keys, and a mean of the positions with those of
    the values, so no position is projected but the first.
    """
    heads, width = attention.num_heads, attention.out_projection.in_features
    d_k = width // heads
    to_query, to_key, to_value = attention.in_projection.weight.to(x.dtype).chunk(3)
    biases = attention.in_projection.bias.to(x.dtype).chunk(3)
    query_bias, _, value_bias = biases  # a key's changes no weight
    query = F.linear(x[:, 0], to_query, query_bias).unflatten(1, (heads, d_k))
    asked = torch.bmm(query.transpose(0, 1), to_key.unflatten(0, (heads, d_k)))  # [h, B, d]
    scores = torch.bmm(asked.transpose(0, 1), x.transpose(1, 2)) * d_k**-0.5  # [B, h, T]
    weights = F.dropout(scores.softmax(-1), attention.dropout, attention.training)
    seen = torch.bmm(weights, x).transpose(0, 1)  # [h, B, d]
    values = torch.bmm(seen, to_value.unflatten(0, (heads, d_k)).transpose(1, 2)).transpose(0, 1)
    values = values + weights.sum(-1, keepdim=True) * value_bias.unflatten(0, (heads, d_k))
    return attention.out_projection(values.flatten(1))  # type: ignore[no-any-return]
