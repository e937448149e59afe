"""The loss over the vocabulary, computed without holding all the logits at once.

At a vocabulary of 8,000 the logits are the largest activation of a small model. Here a slice of
rows is projected, turned into its loss and gradient while it is still in the cache, and dropped.

Shapes: N tokens, d features, V vocabulary.
"""

from contextlib import nullcontext
from typing import Any

import torch
import torch.nn.functional as F
from torch import Tensor
from torch.autograd.function import once_differentiable

from regard.layers.linear import fast_products
from regard.layers.precision import working_type

# Bytes of logits held at a time: small enough for the cache, large enough for fast products.
SLICE_BYTES = 8 << 20


def smoothed_cross_entropy(logits: Tensor, labels: Tensor, smoothing: float) -> Tensor:
    """The reference: summed over tokens; a share `smoothing` of each label's probability is spread
    over the vocabulary (§5.4).
    """
    return F.cross_entropy(logits, labels, label_smoothing=smoothing, reduction="sum")


def linear_cross_entropy(
    features: Tensor,
    weight: Tensor,
    labels: Tensor,
    smoothing: float = 0.0,
    bias: Tensor | None = None,
) -> Tensor:
    """smoothed_cross_entropy(features @ weightᵀ + bias, labels) for [N, d] features, a [V, d]
    weight and a [V] bias.

    It is computed in the type of the weight, whatever the type of the features; where a model
    computes in bfloat16, the products are, too.
    """
    # This is decided here because gradients are always off inside the function, and
    # needs_input_grad is true even under no_grad.
    needs_gradient = torch.is_grad_enabled() and any(
        each is not None and each.requires_grad for each in (features, weight, bias)
    )
    device = features.device.type
    exact = torch.autocast(device, enabled=False) if torch.is_autocast_enabled(device) else None
    with exact or nullcontext(), fast_products():
        total: Tensor = _LinearCrossEntropy.apply(  # type: ignore[no-untyped-call]
            features.to(working_type(weight.dtype)), weight, bias, labels, smoothing, needs_gradient
        )
    return total


def softmax_and_log(
    logits: Tensor, label: Tensor, dtype: torch.dtype | None = None
) -> tuple[Tensor, Tensor]:
    """Probabilities [N, V], and the log-probabilities of the labels [N, 1], in a type.

    The logarithm of a softmax needs one pass of exponentials instead of two, but fails where a
    probability is too small for its type. On a graphics card that check would cost a wait, so there
    log_softmax is always used.
    """
    if logits.is_cpu:
        probability = torch.softmax(logits, dim=-1, dtype=dtype)
        chosen = probability.gather(1, label)
        if bool((chosen >= torch.finfo(chosen.dtype).tiny).all()):
            return probability, chosen.log_()
    log_probability = torch.log_softmax(logits, dim=-1, dtype=dtype)
    chosen = log_probability.gather(1, label)
    return log_probability.exp_(), chosen


class _LinearCrossEntropy(torch.autograd.Function):
    """With z = Wx + b: loss = logsumexp(z) − (1 − ε) z_y − ε mean(z), whose gradient is
    softmax(z) − (1 − ε) onehot(y) − ε/V. The ε terms are linear in z, so they need no pass over V.
    """

    @staticmethod
    def forward(
        ctx: Any,
        features: Tensor,
        weight: Tensor,
        bias: Tensor | None,
        labels: Tensor,
        smoothing: float,
        needs_gradient: bool,
    ) -> Tensor:
        vocabulary, exact = weight.size(0), weight.dtype
        # The factors of products, in the type of the features; sums are in that of the weight.
        factor, offset, narrow = weight, bias, features.dtype != exact
        if narrow:
            factor = weight.to(features.dtype)
            offset = None if bias is None else bias.to(features.dtype)
        rows = max(1, SLICE_BYTES // (vocabulary * weight.element_size()))
        total = weight.new_zeros(())
        if needs_gradient:
            d_features = torch.empty_like(features)
            d_weight = torch.zeros_like(weight)
            d_bias = None if bias is None else torch.zeros_like(bias)
        for start in range(0, features.size(0), rows):
            part = features[start : start + rows]
            label = labels[start : start + rows, None]
            logits = part @ factor.T if offset is None else torch.addmm(offset, part, factor.T)
            gradient, chosen = softmax_and_log(logits, label, exact)
            total -= chosen.sum()
            if smoothing:
                # mean(log p) = mean(z) − logsumexp(z), and logsumexp(z) = z_y − log p_y.
                normaliser = logits.gather(1, label).to(exact) - chosen
                mean = (part.to(exact) @ weight.mean(0)[:, None]) - normaliser
                if bias is not None:
                    mean += bias.mean()
                total -= smoothing * (mean - chosen).sum()
            if needs_gradient:
                gradient.scatter_add_(1, label, gradient.new_full(label.shape, smoothing - 1.0))
                if d_bias is not None:
                    d_bias += gradient.sum(0)
                gradient = gradient.to(features.dtype)
                torch.mm(gradient, factor, out=d_features[start : start + rows])
                if narrow:
                    d_weight += (gradient.T @ part).to(exact)
                else:
                    d_weight.addmm_(gradient.T, part)
        if needs_gradient:
            if smoothing:
                d_features -= (smoothing * weight.mean(0)).to(features.dtype)
                d_weight -= (smoothing / vocabulary) * features.sum(0, dtype=exact)
                if d_bias is not None:
                    d_bias -= smoothing / vocabulary * features.size(0)
            ctx.save_for_backward(d_features, d_weight, d_bias)
        return total

    @staticmethod
    @once_differentiable
    def backward(
        ctx: Any, upstream: Tensor
    ) -> tuple[Tensor, Tensor, Tensor | None, None, None, None]:
        d_features, d_weight, d_bias = ctx.saved_tensors
        d_bias = None if d_bias is None else d_bias * upstream
        return d_features * upstream, d_weight * upstream, d_bias, None, None, None
