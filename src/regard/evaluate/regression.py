"""Logistic regression."""

import numpy as np
import numpy.typing as npt

Floats = npt.NDArray[np.float64]

STEPS = 12
RIDGE = 1.0


def regression(rows: Floats, labels: Floats) -> Floats:
    """The weight of each column by Newton's method, with a penalty on large weights. Rows whose
    weighted sum is positive are more likely than not to have the label 1.
    """
    weights = np.zeros(rows.shape[1])
    penalty = RIDGE * np.eye(len(weights))
    for _ in range(STEPS):
        likely = chances(rows @ weights)
        slope = rows.T @ (labels - likely) - penalty @ weights
        curve = (rows * (likely * (1 - likely))[:, None]).T @ rows + penalty
        weights = weights + np.linalg.solve(curve, slope)
    return weights


def chances(sums: Floats) -> Floats:
    """The logistic function."""
    found: Floats = 1 / (1 + np.exp(-np.clip(sums, -30, 30)))
    return found
