"""Tests which differences between translators are significant, by sacreBLEU's paired tests."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from sacrebleu.metrics.base import Metric as SacreBleuMetric
from sacrebleu.significance import PairedTest, Result

from regard.evaluate.scores import Metric, check_lines, metric_of, sacrebleu_seed

METRICS: tuple[Metric, ...] = ("BLEU", "chrF")
# A difference counts as real if p is below this in both tests.
LEVEL = 0.05
# Shuffles are cheaper than resamples and sacreBLEU does ten times as many.
SHUFFLES_A_RESAMPLE = 10


@dataclass(frozen=True, slots=True)
class Difference:
    """A system's score minus the baseline's, and how often chance alone gives as much."""

    metric: Metric
    value: float
    p_bootstrap: float  # paired bootstrap resampling (Koehn 2004)
    p_randomisation: float  # paired approximate randomisation (Riezler and Maxwell 2005)

    @property
    def p(self) -> float:
        """The p-value of the more cautious test."""
        return max(self.p_bootstrap, self.p_randomisation)

    @property
    def real(self) -> bool:
        return self.value != 0 and self.p < LEVEL

    def verdict(self) -> str:
        # sacreBLEU gives two equal systems the smallest p there is.
        if self.value == 0:
            return "no difference"
        p = "p < 0.001" if self.p < 0.001 else f"p = {self.p:.3f}"
        return f"real ({p})" if self.real else f"may be chance ({p})"


def paired_differences(
    baseline: Sequence[str],
    systems: Mapping[str, Sequence[str]],
    references: Sequence[str],
    *,
    language: str | None = None,
    resamples: int = 1000,
    seed: int = 12345,
) -> dict[str, list[Difference]]:
    """For each system its differences from the baseline, in the order of `METRICS`."""
    for hypotheses in (baseline, *systems.values()):
        check_lines(hypotheses, references)
    if not systems:
        return {}
    named = [("", baseline), *systems.items()]
    trials = {"bs": resamples, "ar": SHUFFLES_A_RESAMPLE * resamples}
    with sacrebleu_seed(seed):
        bootstrap, randomisation = (
            _results(named, references, language, kind, samples) for kind, samples in trials.items()
        )
    differences: dict[str, list[Difference]] = {name: [] for name in systems}
    for metric, resampled, shuffled in zip(METRICS, bootstrap, randomisation, strict=True):
        base, *others = resampled
        for name, one, other in zip(systems, others, shuffled[1:], strict=True):
            value = float(one.score - base.score)
            difference = Difference(metric, value, _p(one), _p(other))
            differences[name].append(difference)
    return differences


def _results(
    named: list[tuple[str, Sequence[str]]],
    references: Sequence[str],
    language: str | None,
    kind: str,
    samples: int,
) -> list[list[Result]]:
    """For each metric the results of all systems, the baseline's first."""
    metrics: dict[str, SacreBleuMetric] = {name: metric_of(name, language) for name in METRICS}
    test = PairedTest(named, metrics, [references], test_type=kind, n_samples=samples)
    _, columns = test()
    # The first column holds the names.
    return [
        [each for each in column if isinstance(each, Result)]
        for column in list(columns.values())[1:]
    ]


def _p(result: Result) -> float:
    assert result.p_value is not None  # only the baseline has none
    return float(result.p_value)
