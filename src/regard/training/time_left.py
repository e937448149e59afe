"""Foresees how long a training still takes, with its validations and the phase after them."""

from regard.recipe import TrainSection

# The share of a new measurement in the time of an update.
NEW = 0.05


class TimeLeft:
    """The first figures are measured by trial; each update and each validation corrects them.
    `closing` is the number of validations' time that follows the last update's own.
    """

    def __init__(
        self, train: TrainSection, update_seconds: float, validation_seconds: float, closing: int
    ) -> None:
        self.train = train
        self.update_seconds = update_seconds
        self.validation_seconds = validation_seconds
        self.closing = closing

    def note_update(self, seconds: float) -> None:
        before = self.update_seconds or seconds
        self.update_seconds = (1 - NEW) * before + NEW * seconds

    def note_validation(self, seconds: float) -> None:
        # A model writes shorter outputs as it learns to end them, so only the last one counts.
        self.validation_seconds = seconds

    def seconds(self, step: int) -> float:
        """From after an update to the end of the run."""
        updates = max(0, self.train.steps - step)
        validations = validations_between(step, self.train) + self.closing
        return updates * self.update_seconds + validations * self.validation_seconds


def validations_between(step: int, train: TrainSection) -> int:
    """How many validations there are from after an update to the last one."""
    last, every = train.steps, train.eval_every
    if step >= last:
        return 0
    return last // every - step // every + (last % every > 0)
