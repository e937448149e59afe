"""The learning rate as a pure function of the update's number, which starts at 1."""

import math

from regard.recipe import TrainSection


def learning_rate(step: int, train: TrainSection) -> float:
    """A linear warm-up to the peak, then the decay of the schedule.

    With inverse_sqrt this is the paper's d^-½ · min(step^-½, step · warmup^-1.5) (§5.3), scaled so
    that `learning_rate` is the peak.
    """
    peak, final, warmup = train.learning_rate, train.final_learning_rate, train.warmup_steps
    if step <= warmup:
        return peak * step / warmup
    done = (step - warmup) / max(1, train.steps - warmup)
    match train.schedule:
        case "inverse_sqrt":
            return max(final, peak * math.sqrt(max(1, warmup) / step))
        case "cosine":
            return final + (peak - final) * 0.5 * (1 + math.cos(math.pi * min(1.0, done)))
        case "linear":
            return final + (peak - final) * max(0.0, 1 - done)
        case "constant":
            return peak
