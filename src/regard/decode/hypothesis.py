"""What a search gives back, whatever engine searched. It loads without PyTorch."""

from dataclasses import dataclass


@dataclass(frozen=True)
class Hypothesis:
    """One output. The score is comparable between outputs of one sentence: higher is better."""

    tokens: list[int]  # without START and END
    log_probabilities: list[float]  # one for each token, and one for END when finished
    score: float
    finished: bool  # False when the length limit cut it off
