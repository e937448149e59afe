"""Calibrates the confidence of a translator on held-out pairs."""

from collections.abc import Sequence
from contextlib import suppress
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import numpy as np

from regard.data.corpus import Pair
from regard.decode.search import Search
from regard.errors import RequestError, RunError
from regard.evaluate.reliability import Reliability, worst_found
from regard.evaluate.scores import sentence_chrf
from regard.reporter import SILENT, Reporter
from regard.run import Run
from regard.tasks.translation.confidence import GOOD, NAME, Calibration, Judged, searched
from regard.tasks.translation.heads import keep
from regard.tasks.translation.held_out import held_out_texts
from regard.tasks.translation.recipe import TranslationRecipe, recipe_of
from regard.tasks.translation.translator import Translator
from regard.training.card import replace_line

MOST_PAIRS = 1000
# With fewer, chance would decide.
LEAST_PAIRS = 100
FOLDS = 5
AT_ONCE = 250
# The beginning of the line of the card.
LINE = "- Confidence: "


@dataclass(frozen=True)
class Checks:
    """What confidence achieves on pairs it was not fitted to: how many there are, the share of good
    translations, the reliability error, and how much of the worst tenth is in the tenth with the
    lowest confidence.
    """

    pairs: int
    good: float
    reliability_error: float
    worst_found: float

    @classmethod
    def of(cls, chances: Sequence[float], quality: Sequence[float]) -> "Checks":
        good = [each >= GOOD for each in quality]
        return cls(
            len(good),
            float(np.mean(good)),
            Reliability.of(chances, good).error,
            worst_found(chances, quality),
        )

    def summary(self) -> str:
        return (
            f"reliability error {self.reliability_error:.3f} on {self.pairs:,} held-out pairs, "
            f"{self.good:.0%} of them with a chrF of at least {GOOD:.0f}; the least sure tenth "
            f"holds {self.worst_found:.0%} of the worst tenth"
        )


def calibrate(run: Run | Path | str, device: str = "cpu", reporter: Reporter = SILENT) -> Checks:
    """Measure how sure a translator may be, on held-out pairs, and keep that in the run and its
    card, where these can be written to. Training does the same at its end.

    Parameters
    ----------
    run
        A run of a translator, or its folder.
    device
        cpu, cuda, mps, or auto for the best that there is.
    reporter
        Where progress is reported.

    Returns
    -------
    Checks
        The reliability error and what else was measured, on pairs that a fit has not seen.

    Raises
    ------
    RequestError
        There are too few held-out pairs.

    Examples
    --------
    >>> import regard
    >>> regard.calibrate("runs/demo").pairs  # doctest: +SKIP
    1000
    """
    opened = run if isinstance(run, Run) else Run.open(run)
    recipe = recipe_of(opened)
    pairs = held_out_texts(opened, recipe)[:MOST_PAIRS]
    if len(pairs) < LEAST_PAIRS:
        raise RequestError(
            f"{opened.folder}: has {len(pairs):,} held-out pairs, and confidence needs at least "
            f"{LEAST_PAIRS} to be calibrated on"
        )
    translator = Translator.load(opened.folder, device, "auto")
    facts, checks = measured(translator, pairs, reporter)
    keep(opened, NAME, facts, reporter)
    with suppress(RunError):
        replace_line(opened, LINE, f"{LINE}{checks.summary()}.")
    return checks


def after_training(run: Run, recipe: TranslationRecipe, model: Any) -> list[str]:
    """Calibrate the weights that were kept; too few held-out pairs leave a run without."""
    from regard.engines.native import Native

    pairs = held_out_texts(run, recipe)[:MOST_PAIRS]
    if len(pairs) < LEAST_PAIRS:
        return []
    tokenizers, search = run.tokenizers(), Search(**recipe.decode.model_dump())
    engine = Native(model, tokenizers.target.specials)
    limit = recipe.data.max_length - 1
    translator = Translator(lambda: model, engine, tokenizers, search, limit, run.folder)
    training = model.training
    model.eval()
    facts, checks = measured(translator, pairs)
    model.train(training)
    run.save_finding(NAME, facts)
    return [f"{LINE}{checks.summary()}."]


def measured(
    translator: Translator, pairs: Sequence[Pair], reporter: Reporter = SILENT
) -> tuple[dict[str, Any], Checks]:
    """A calibration on all pairs, and what others achieve that were each fitted without a part."""
    found = []
    with reporter.progress("translated", len(pairs)) as advance:
        for start in range(0, len(pairs), AT_ONCE):
            sources = [pair.source for pair in pairs[start : start + AT_ONCE]]
            best = [ranked[0] for ranked in translator.translations(sources)]
            lengths = map(len, translator.tokenizers.source.encode_batch(sources))
            found += [
                searched(each, length, translator.tokenizers.target)
                for each, length in zip(best, lengths, strict=True)
            ]
            advance(len(sources))
    references = [pair.target for pair in pairs]
    quality = sentence_chrf([each.text for each in found], references)
    rows = [*map(Judged, found, references, quality)]
    chances = [0.0] * len(rows)
    for fold in range(FOLDS):
        fit = Calibration.of([each for at, each in enumerate(rows) if at % FOLDS != fold])
        for at in range(fold, len(rows), FOLDS):
            chances[at] = fit.confidence(rows[at].found).probability
    checks = Checks.of(chances, quality)
    return {**Calibration.of(rows).facts(), "checks": asdict(checks)}, checks
