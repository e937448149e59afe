"""Whether weights translate better than others: corrections, and old text."""

from collections.abc import Sequence
from dataclasses import asdict, dataclass
from typing import Any

from regard.data.corpus import Pair
from regard.evaluate.scores import bleu, chrf
from regard.run import Run
from regard.tasks.translation.translator import Translator

# What the old text may lose, in BLEU. The old weights were chosen by the same text, which therefore
# loses more than text that is new to both.
MAY_LOSE = 1.0


@dataclass(frozen=True)
class Scores:
    """BLEU and chrF of the corrections that were held out, and of old text."""

    new_bleu: float
    new_chrf: float
    old_bleu: float
    old_chrf: float


@dataclass(frozen=True)
class Verdict:
    """What was learned: how many corrections and old pairs from, how many of each the scores are
    of, these before and after, how far the weights after are on the way from the old ones to the
    new, and what the old text may lose.
    """

    corrections: int
    old_pairs: int
    new_judged: int
    old_judged: int
    before: Scores
    after: Scores
    way: float
    may_lose: float = MAY_LOSE

    @property
    def kept(self) -> bool:
        """Whether these weights are better."""
        one, other = self.before, self.after
        better = other.new_chrf > one.new_chrf and other.new_bleu >= one.new_bleu
        return better and other.old_bleu >= one.old_bleu - self.may_lose

    def facts(self) -> dict[str, Any]:
        return {**asdict(self), "kept": self.kept}

    def summary(self) -> str:
        """A line for the card."""
        one, other = self.before, self.after
        return (
            f"learned from {self.corrections:,}; BLEU {other.new_bleu:.1f} on others (before: "
            f"{one.new_bleu:.1f}), {other.old_bleu:.1f} on old text (before: {one.old_bleu:.1f})."
        )

    def __str__(self) -> str:
        one, other = self.before, self.after
        kinds = {
            f"corrections held out ({self.new_judged})": (
                *(one.new_bleu, other.new_bleu),
                *(one.new_chrf, other.new_chrf),
            ),
            f"old text ({self.old_judged})": (
                *(one.old_bleu, other.old_bleu),
                *(one.old_chrf, other.old_chrf),
            ),
        }
        lines = [f"{'':<28}{'BLEU before':>12}{'after':>8}{'chrF before':>13}{'after':>8}"]
        for name, (first, second, third, fourth) in kinds.items():
            lines.append(f"{name:<28}{first:>12.2f}{second:>8.2f}{third:>13.2f}{fourth:>8.2f}")
        lines.append(self.sentence())
        return "\n".join(lines)

    def sentence(self) -> str:
        if self.kept:
            return (
                f"The new weights are kept, {self.way:.0%} of the way from the old ones; `--undo` "
                "takes them back."
            )
        lost = self.before.old_bleu - self.after.old_bleu
        reason = (
            f"the old text would lose {lost:.2f} BLEU, more than {self.may_lose:g}"
            if self.after.new_chrf > self.before.new_chrf
            else "they translate corrections that were held out no better"
        )
        return f"The old weights stay: {reason}. The corrections are remembered."


def scores_of(run: Run, new: Sequence[Pair], old: Sequence[Pair]) -> Scores:
    found = []
    for pairs in (new, old):
        outputs = outputs_of(run, pairs)
        references = [pair.target for pair in pairs]
        found += [bleu(outputs, references), chrf(outputs, references)]
    return Scores(*found)


def outputs_of(run: Run, pairs: Sequence[Pair]) -> list[str]:
    """What the model itself makes of the sources, whatever the run was taught."""
    translator = Translator.load(run.folder, device="auto", engine="auto")
    translator.corrections = None
    return translator.texts([pair.source for pair in pairs], translator.search)
