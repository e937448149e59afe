"""Stages that many boxes have: a linear map, a sum, a norm, a function of each number."""

import torch
from torch import Tensor, nn

from regard.inspect.flow.parts import Cell, Labels, Stage, numbers


def given(name: str, says: str, values: Tensor, rows: Labels) -> Stage:
    """What comes in, which nothing here has computed."""
    return Stage(name, says, values, lambda row, column: as_it_came(values, row, column), rows)


def as_it_came(values: Tensor, row: int, column: int) -> Cell:
    return Cell(steps=(("as it came in", float(values[row, column])),))


def linear(
    name: str,
    says: str,
    x: Tensor,
    weight: Tensor,
    bias: Tensor | None,
    values: Tensor,
    rows: Labels,
) -> Stage:
    """x [R, in] times a weight [out, in] is `values` [R, out], as the model computed them."""

    def cell(row: int, column: int) -> Cell:
        own = None if bias is None else bias[column]
        return dot(("x", "w", "x · w"), x[row], weight[column], own)

    return Stage(name, says, values, cell, rows)


def bias_of(layer: nn.Module) -> Tensor | None:
    """The bias of a module, if it has one."""
    found = layer._parameters.get("bias")
    return None if found is None else found.detach()


def dot(
    names: tuple[str, str, str], one: Tensor, other: Tensor, bias: Tensor | None = None
) -> Cell:
    products = one.detach().double() * other.detach().double()
    total = float(products.sum())
    steps = [("Σ", total)]
    if bias is not None:
        steps += [("+ b", float(bias)), ("=", total + float(bias))]
    return Cell(names, (numbers(one), numbers(other), numbers(products)), "", tuple(steps))


def added(name: str, says: str, parts: dict[str, Tensor], values: Tensor, rows: Labels) -> Stage:
    """The sum of matrices of the same shape."""

    def cell(row: int, column: int) -> Cell:
        found = {each: float(part[row, column]) for each, part in parts.items()}
        return Cell(steps=(*found.items(), ("=", sum(found.values()))))

    return Stage(name, says, values, cell, rows)


def scaled(name: str, says: str, x: Tensor, factor: float, rows: Labels) -> Stage:
    def cell(row: int, column: int) -> Cell:
        own = float(x[row, column])
        return Cell(steps=(("x", own), ("× √d", factor), ("=", own * factor)))

    return Stage(name, says, x * factor, cell, rows)


def applied(name: str, says: str, x: Tensor, values: Tensor, function: str, rows: Labels) -> Stage:
    """A function of each number."""

    def cell(row: int, column: int) -> Cell:
        return Cell(steps=(("x", float(x[row, column])), (function, float(values[row, column]))))

    return Stage(name, says, values, cell, rows)


def normalised(norm: nn.Module, x: Tensor, values: Tensor, rows: Labels) -> Stage:
    """Layer normalisation, or RMSNorm, over the numbers of each row."""
    if isinstance(norm, nn.RMSNorm):
        says = "Each row is divided by its root mean square, then multiplied by what was learned."
        return Stage("rms norm", says, values, lambda r, c: of_rms(norm, x[r], c), rows)
    says = "Each row gets mean 0 and variance 1, then the scale and shift that were learned."
    cell = lambda r, c: of_layer_norm(norm, x[r], c)  # noqa: E731
    return Stage("norm", says, values, cell, rows)


def of_layer_norm(norm: nn.Module, row: Tensor, column: int) -> Cell:
    assert isinstance(norm, nn.LayerNorm)
    own = row.double()
    mean, variance = own.mean(), own.var(unbiased=False)
    even = (own - mean) / (variance + norm.eps).sqrt()
    value = even[column]
    steps = [
        ("x", own[column]),
        ("mean μ", mean),
        ("variance σ²", variance),
        ("(x − μ) / √(σ² + ε)", value),
    ]
    if norm.elementwise_affine:
        value = value * norm.weight[column].double()
        steps.append(("× γ", norm.weight[column]))
    if (bias := bias_of(norm)) is not None:
        value = value + bias[column].double()
        steps.append(("+ β", bias[column]))
    steps.append(("=", value))
    named = tuple((name, float(each)) for name, each in steps)
    return Cell(("x",), (numbers(row),), "", named)


def of_rms(norm: nn.RMSNorm, row: Tensor, column: int) -> Cell:
    own = row.double()
    size = (own.square().mean() + (norm.eps or 0)).sqrt()
    weight = norm.weight[column].double() if norm.elementwise_affine else torch.ones(())
    value = own[column] / size * weight
    steps = (("x", own[column]), ("√(mean of x²)", size), ("× γ", weight), ("=", value))
    return Cell(("x",), (numbers(row),), "", tuple((n, float(each)) for n, each in steps))


def mixed(
    name: str,
    says: str,
    weights: Tensor,
    vectors: Tensor,
    values: Tensor,
    rows: Labels,
    over: Labels,
) -> Stage:
    """Weights [R, K] times vectors [K, C]: a weighted sum over what is labelled by `over`."""

    def cell(row: int, column: int) -> Cell:
        found = dot(("weight", "v", "weight · v"), weights[row], vectors[:, column])
        return Cell(found.names, found.lists, over, found.steps)

    return Stage(name, says, values, cell, rows)


def softmax_cell(scores: Tensor, at: int, labels: Labels) -> Cell:
    """Scores [K] → the cell of one weight; what may not be attended to is −∞."""
    own = scores.double()
    largest = own.max()
    exponentials = (own - largest).exp().nan_to_num()
    total = exponentials.sum()
    share = exponentials[at] / total if float(total) else total
    steps = (
        ("largest score", float(largest)),
        ("e to (score − largest)", float(exponentials[at])),
        ("÷ Σ", float(total)),
        ("=", float(share)),
    )
    return Cell(("score", "e to it"), (numbers(own), numbers(exponentials)), labels, steps)
