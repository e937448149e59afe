"""The scores of each run, and how its translations compare with those of the first run."""

from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from typing import Any

from regard.compare.sentences import TestSet
from regard.configs.parameters import num_parameters
from regard.evaluate.lengths import Bin, length_bins, scores_by_length
from regard.evaluate.scores import Metric, Score, corpus_scores
from regard.evaluate.significance import Difference, paired_differences
from regard.run import Run
from regard.tasks.translation.looking import Alignment


@dataclass(frozen=True)
class Measured:
    """One run on the test sentences. The costs of training are None until it is finished."""

    name: str
    folder: str
    model: str
    parameters: int
    updates: int | None
    training_seconds: float | None
    training_tokens: int | None  # source and target pieces that were read
    machine: str | None
    scores: tuple[Score, ...]
    by_length: Mapping[Metric, list[float]]  # a score for each bin
    differences: tuple[Difference, ...]  # from the first run; none for itself

    @property
    def tokens_per_second(self) -> float | None:
        if not self.training_tokens or not self.training_seconds:
            return None
        return self.training_tokens / self.training_seconds

    def score(self, metric: Metric) -> Score:
        return next(score for score in self.scores if score.name == metric)


@dataclass(frozen=True)
class Look:
    """A run's translation of one sentence, and where its attention was."""

    name: str
    translation: str
    alignment: Alignment


@dataclass(frozen=True)
class Comparison:
    """Runs on the same sentences; the others are compared with the first."""

    test: str
    sentences: int
    metrics: tuple[Metric, ...]
    curves: tuple[Metric, ...]  # of `by_length`, the most telling first
    bins: tuple[Bin, ...]
    runs: tuple[Measured, ...]


def compare(
    runs: Mapping[str, Run],
    translations: Mapping[str, Sequence[str]],
    test: TestSet,
    resamples: int = 1000,
) -> Comparison:
    """Compare runs; `translations` has, by name, each run's translations of all test sources."""
    metrics: tuple[Metric, ...] = ("BLEU", "chrF", "exact") if test.builtin else ("BLEU", "chrF")
    curves: tuple[Metric, ...] = ("exact", "BLEU") if test.builtin else ("BLEU",)
    language, references = test.target_language, test.references
    bins = length_bins(test.sources, test.source_language)
    first, *others = runs
    differences = paired_differences(
        translations[first],
        {name: translations[name] for name in others},
        references,
        language=language,
        resamples=resamples,
    )
    measured = tuple(
        Measured(
            name=name,
            **facts(run),
            scores=tuple(
                corpus_scores(
                    translations[name],
                    references,
                    metrics=metrics,
                    bootstrap=resamples,
                    language=language,
                )
            ),
            by_length={
                metric: scores_by_length(bins, translations[name], references, metric, language)
                for metric in curves
            },
            differences=tuple(differences.get(name, ())),
        )
        for name, run in runs.items()
    )
    return Comparison(test.name, len(references), metrics, curves, tuple(bins), measured)


def facts(run: Run) -> dict[str, Any]:
    recipe, info = run.recipe(), run.info()
    source, target = map(len, run.tokenizers())
    return {
        "folder": str(run.folder),
        "model": recipe.model.summary(),
        "parameters": num_parameters(recipe, {"inputs": source, "outputs": target}),
        "updates": info.get("step"),
        "training_seconds": info.get("seconds"),
        "training_tokens": info.get("tokens"),
        "machine": info.get("machine"),
    }


def as_json(comparison: Comparison) -> dict[str, Any]:
    """A comparison as plain values for programs; a bin has its size instead of its rows."""
    facts = asdict(comparison)
    for each in facts["bins"]:
        each["sentences"] = len(each.pop("rows"))
    for values, run in zip(facts["runs"], comparison.runs, strict=True):
        values["tokens_per_second"] = run.tokens_per_second
        for difference, known in zip(values["differences"], run.differences, strict=True):
            difference["real"], difference["verdict"] = known.real, known.verdict()
    return facts
