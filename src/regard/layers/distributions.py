"""What a model says of a number that is not known yet: p(y_t | h_t) as a normal distribution, as a
Student's t distribution with its heavier tails, or as quantiles.

Each kind takes raw parameters […, P] of a model's last product. Shapes: G levels of quantiles.
"""

import math
from collections.abc import Sequence
from functools import cache
from typing import ClassVar, Protocol

import numpy as np
import torch
import torch.nn.functional as F
from numpy.typing import NDArray
from torch import Tensor

from regard.layers.choices import Head

Floats = NDArray[np.float64]

# No width is smaller than this, so that no density is infinite.
SMALLEST_WIDTH = 1e-3
FEWEST_DEGREES = 2.1  # of freedom, so that there is a variance


class Distribution(Protocol):
    size: int  # parameters of a number

    def loss(self, parameters: Tensor, y: Tensor) -> Tensor:
        """What each number costs, […, P] and […] → […]"""

    def mean(self, parameters: Tensor) -> Tensor:
        """[…, P] → […]"""

    def quantiles(self, parameters: Tensor, levels: Sequence[float]) -> Tensor:
        """[…, P] → […, G], which never fall from a level to a higher one."""

    def sample(self, parameters: Tensor) -> Tensor:
        """A draw of each, […, P] → […]"""

    def fitted(self, values: Tensor) -> Tensor:
        """Parameters for each column of values, of which some may be missing: [N, T] → [T, P]"""


class Gaussian:
    """N(ŷ_t, σ_t²): the parameters are ŷ and what softplus makes σ of."""

    size = 2

    def loss(self, parameters: Tensor, y: Tensor) -> Tensor:
        """−log p(y)"""
        mean, width = self.split(parameters)
        z = (y - mean) / width
        return 0.5 * z.square() + width.log() + 0.5 * math.log(2 * math.pi)

    def split(self, parameters: Tensor) -> tuple[Tensor, Tensor]:
        return parameters[..., 0], F.softplus(parameters[..., 1]) + SMALLEST_WIDTH

    def mean(self, parameters: Tensor) -> Tensor:
        return parameters[..., 0]

    def quantiles(self, parameters: Tensor, levels: Sequence[float]) -> Tensor:
        mean, width = self.split(parameters)
        return mean[..., None] + width[..., None] * normal_scores(levels, parameters)

    def sample(self, parameters: Tensor) -> Tensor:
        mean, width = self.split(parameters)
        return mean + width * torch.randn_like(mean)

    def fitted(self, values: Tensor) -> Tensor:
        return centre_and_width(values)


def inverse_softplus(y: Tensor) -> Tensor:
    return y + torch.log(-torch.expm1(-y))


def centre_and_width(values: Tensor) -> Tensor:
    """The median, and what softplus makes the usual distance from it of: [N, T] → [T, 2]"""
    middle = values.nanmedian(0).values.nan_to_num(0.0)
    away = (values - middle).abs().nanmedian(0).values.nan_to_num(1.0)
    # Half of a normal distribution is within 0.6745 standard deviations.
    width = (away / 0.6745).clamp(min=2 * SMALLEST_WIDTH)
    return torch.stack((middle, inverse_softplus(width - SMALLEST_WIDTH)), -1)


class Student:
    """Student's t with a centre, a width, and degrees of freedom that say how rare the exceptions
    are; they are learned as well.
    """

    size = 3

    def loss(self, parameters: Tensor, y: Tensor) -> Tensor:
        """−log p(y)"""
        centre, width, degrees = self.split(parameters)
        z = (y - centre) / width
        half = (degrees + 1) / 2
        constant = torch.lgamma(degrees / 2) - torch.lgamma(half) + 0.5 * (math.pi * degrees).log()
        return half * torch.log1p(z.square() / degrees) + width.log() + constant

    def split(self, parameters: Tensor) -> tuple[Tensor, Tensor, Tensor]:
        centre, width, degrees = parameters.unbind(-1)
        return centre, F.softplus(width) + SMALLEST_WIDTH, F.softplus(degrees) + FEWEST_DEGREES

    def mean(self, parameters: Tensor) -> Tensor:
        return parameters[..., 0]

    def quantiles(self, parameters: Tensor, levels: Sequence[float]) -> Tensor:
        centre, width, degrees = self.split(parameters)
        scores = student_scores(degrees.detach().double().cpu().numpy(), levels)
        return centre[..., None] + width[..., None] * torch.from_numpy(scores).to(centre)

    def sample(self, parameters: Tensor) -> Tensor:
        centre, width, degrees = self.split(parameters)
        # A normal number over the root of a mean of squares of `degrees` others.
        squares = torch._standard_gamma(degrees / 2) * 2 / degrees
        return centre + width * torch.randn_like(centre) / squares.clamp(min=1e-12).sqrt()

    def fitted(self, values: Tensor) -> Tensor:
        found = centre_and_width(values)
        return torch.cat((found, torch.ones_like(found[:, :1])), -1)


class Quantiles:
    """A number for each of some levels, which assumes no shape (Koenker and Bassett 1978)."""

    levels: ClassVar = (
        *(0.025, 0.05, 0.1, 0.2, 0.25, 0.3, 0.4, 0.5),
        *(0.6, 0.7, 0.75, 0.8, 0.9, 0.95, 0.975),
    )
    size = len(levels)

    def loss(self, parameters: Tensor, y: Tensor) -> Tensor:
        """The mean over levels of the loss that the quantile of a level minimises, doubled: about
        the continuous ranked probability score.
        """
        levels = torch.tensor(self.levels).to(parameters)
        above = y[..., None] - parameters
        return 2 * torch.maximum(levels * above, (levels - 1) * above).mean(-1)

    def mean(self, parameters: Tensor) -> Tensor:
        """The mean of the quantiles at levels that are equally far apart."""
        even = tuple((i + 0.5) / 20 for i in range(20))
        return self.quantiles(parameters, even).mean(-1)

    def quantiles(self, parameters: Tensor, levels: Sequence[float]) -> Tensor:
        """Between the levels of the model, and beyond them, quantiles are on a straight line with
        those of the normal distribution.
        """
        found = parameters.sort(-1).values
        known = normal_scores(self.levels, found)
        wanted = normal_scores(levels, found)
        below = torch.searchsorted(known, wanted).clamp(1, self.size - 1) - 1
        share = (wanted - known[below]) / (known[below + 1] - known[below])
        return torch.lerp(found[..., below], found[..., below + 1], share)

    def sample(self, parameters: Tensor) -> Tensor:
        found = parameters.sort(-1).values
        known = normal_scores(self.levels, found)
        wanted = torch.randn_like(found[..., 0])
        below = torch.searchsorted(known, wanted.contiguous()).clamp(1, self.size - 1) - 1
        share = (wanted - known[below]) / (known[below + 1] - known[below])
        ends = found.gather(-1, torch.stack((below, below + 1), -1))
        return torch.lerp(ends[..., 0], ends[..., 1], share)

    def fitted(self, values: Tensor) -> Tensor:
        levels = torch.tensor(self.levels).to(values)
        found: Tensor = values.nanquantile(levels, dim=0).nan_to_num(0.0)
        return found.T


DISTRIBUTIONS: dict[Head, Distribution] = {
    "gaussian": Gaussian(),
    "student": Student(),
    "quantiles": Quantiles(),
}


def normal_scores(levels: Sequence[float], like: Tensor) -> Tensor:
    """Quantiles of the standard normal distribution."""
    found: Tensor = torch.special.ndtri(torch.tensor(levels, dtype=torch.float64))
    return found.to(like)


# Degrees of freedom whose quantiles are computed; those between are interpolated.
DEGREES = np.geomspace(2, 1000, 200)


def student_scores(degrees: Floats, levels: Sequence[float]) -> Floats:
    """Quantiles of Student's t for each number of degrees of freedom, […] → […, G]."""
    table = student_table(tuple(levels))
    places = np.log(np.clip(degrees, DEGREES[0], DEGREES[-1]))
    found = [np.interp(places, np.log(DEGREES), column) for column in table.T]
    return np.stack(found, -1)


@cache
def student_table(levels: tuple[float, ...]) -> Floats:
    """The quantiles for all DEGREES, [200, G]. With t = √ν tan θ the density is cos^(ν−1) θ, whose
    integral is added up.
    """
    angles = np.linspace(-np.pi / 2, np.pi / 2, 4001)
    rows = []
    for degrees in DEGREES:
        density = np.cos(angles).clip(0) ** (degrees - 1)
        reached = np.concatenate(([0.0], ((density[1:] + density[:-1]) / 2).cumsum()))
        places = np.interp(levels, reached / reached[-1], angles)
        rows.append(np.sqrt(degrees) * np.tan(places))
    return np.array(rows)
