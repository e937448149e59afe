"""Attention by the fastest way of the device, without its weights.

Shapes: B sentences, h heads, Q queries, K keys, d_k the width of a head.
"""

import torch
import torch.nn.functional as F
from torch import Tensor

# On CPUs PyTorch's fused kernel multiplies the small matrices of each head one by one, and in
# bfloat16 each of them costs it more than the product: up to so many keys, plain products of all
# heads together are up to ten times as fast.
MOST_PLAIN_KEYS = 256


def fast_attention(
    query: Tensor,
    key: Tensor,
    value: Tensor,
    mask: Tensor | None = None,
    causal: bool = False,
    dropout: float = 0.0,
) -> Tensor:
    """[B, h, Q, d_k] and twice [B, h, K, d_k] → [B, h, Q, d_k]. True in a mask: may attend. Every
    query has to be allowed to attend to something.
    """
    narrow = query.dtype == torch.bfloat16 and query.device.type == "cpu"
    if not narrow or key.size(-2) > MOST_PLAIN_KEYS:
        return F.scaled_dot_product_attention(
            query, key, value, attn_mask=mask, dropout_p=dropout, is_causal=causal
        )
    scores = (query * query.size(-1) ** -0.5) @ key.transpose(-2, -1)
    if causal:
        mask = torch.ones(scores.shape[-2:], dtype=torch.bool).tril()
    if mask is not None:
        scores = scores + torch.zeros(mask.shape, dtype=scores.dtype).masked_fill_(
            ~mask, torch.finfo(scores.dtype).min
        )
    weights = scores.softmax(-1)  # PyTorch computes it in float32 inside
    return (F.dropout(weights, dropout) if dropout else weights) @ value
