"""How long sentences take to translate, learned from those that were."""

# A batch takes about so long, so that who comes meanwhile does not wait for long.
SLICE_SECONDS = 0.02
# So many sentences with so much work a batch may always have: they are hardly more than one. The
# work is that of characters times beam, for four sentences of 180 characters.
LEAST_TOGETHER = 4
LEAST_WORK = 4000.0
# Before anything was translated: the search for one hypothesis of one character.
USUAL_SECONDS = 1.5e-5


class Pace:
    """The seconds for a unit of work, a moving average."""

    def __init__(self) -> None:
        self._seconds = USUAL_SECONDS

    def learn(self, work: float, seconds: float) -> None:
        """Hear how long some work took. What took much longer than usual says little: the machine
        may have had other work.
        """
        usual = self._seconds
        self._seconds += 0.3 * (min(max(seconds / work, usual / 2), usual * 2) - usual)

    def fits(self, count: int, work: float) -> bool:
        """Whether this number of sentences with this much work fits into a slice of time."""
        is_little = count <= LEAST_TOGETHER and work <= LEAST_WORK
        return is_little or work * self._seconds <= SLICE_SECONDS
