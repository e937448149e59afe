"""The metrics of validation: their names, and which direction is better."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass


@dataclass(frozen=True)
class Metric:
    name: str  # in run.json, log.jsonl and train.metric
    title: str  # as people read it
    decimals: int = 2
    higher_is_better: bool = True

    def better(self, new: float, old: float | None) -> bool:
        """Whether a value beats an earlier one; None is no value."""
        if old is None:
            return True
        return new > old if self.higher_is_better else new < old

    def shown(self, value: float) -> str:
        return f"{value:.{self.decimals}f}"


LOSS = Metric("loss", "loss", 3, higher_is_better=False)
PERPLEXITY = Metric("perplexity", "perplexity", 2, higher_is_better=False)
BITS_PER_CHARACTER = Metric("bits_per_character", "bits/character", 3, higher_is_better=False)
BLEU = Metric("bleu", "BLEU", 1)
CHRF = Metric("chrf", "chrF", 1)
CIDER = Metric("cider", "CIDEr-D", 1)
SHUFFLED_CIDER = Metric("shuffled_cider", "CIDEr-D with images shuffled", 1)
ACCURACY = Metric("accuracy", "accuracy")
MACRO_F1 = Metric("macro_f1", "macro-F1")
SPAN_F1 = Metric("span_f1", "span F1")
NEXT_SENTENCE_ACCURACY = Metric("next_sentence_accuracy", "next-sentence accuracy")
TEMPERATURE = Metric("temperature", "temperature")
CALIBRATION_ERROR = Metric("calibration_error", "calibration error", higher_is_better=False)
COPIED_BLEU = Metric("copied_bleu", "BLEU of the sources themselves", 1)
COUNTED_PAIRS = Metric(
    "counted_pairs", "perplexity by counts of pairs of tokens", 2, higher_is_better=False
)
FREQUENT_TOKEN = Metric("frequent_token", "always the most frequent token")
NEAREST_MEAN = Metric("nearest_mean", "the label with the nearest mean image")
FREQUENT_LABELS = Metric("frequent_labels", "the most frequent label of each word")
FREQUENT_LABELS_F1 = Metric("frequent_labels_f1", "their span F1")
# What a result stands beside: simpler ways to the same answers, and the parts of a combination.
MOST_FREQUENT = Metric("most_frequent", "always the most frequent label")
LINEAR_ACCURACY = Metric("linear_accuracy", "linear model alone")
NETWORK_ACCURACY = Metric("network_accuracy", "network alone")
# The factors of their logits in the answer.
NETWORK_WEIGHT = Metric("network_weight", "weight of the network")
LINEAR_WEIGHT = Metric("linear_weight", "weight of the linear model")
# Share of queries with a right answer among the first 1, 5 and 10, and the mean of all six.
RANKS = (1, 5, 10)
RECALLS = (
    *(Metric(f"image_to_text_{k}", f"image→text R@{k}", 1) for k in RANKS),
    *(Metric(f"text_to_image_{k}", f"text→image R@{k}", 1) for k in RANKS),
)
MEAN_RECALL = Metric("mean_recall", "mean recall", 1)
CHANCE = Metric("chance", "by chance", 1)
# Of forecasts; the errors are in the units of the data.
FORECASTS = {
    metric.name: metric
    for metric in (
        Metric("mae", "MAE", 4, higher_is_better=False),
        Metric("mse", "MSE", 4, higher_is_better=False),
        Metric("mase", "MASE", 3, higher_is_better=False),
        Metric("mape", "MAPE, %", 2, higher_is_better=False),
        Metric("wql", "WQL", 4, higher_is_better=False),
        Metric("crps", "CRPS", 4, higher_is_better=False),
        Metric("coverage_80", "80 % coverage", 1),
    )
}


def format_scores(scores: Mapping[str, float | None], metrics: Iterable[Metric]) -> list[str]:
    """The scores that have a value, as people read them: BLEU 31.2, chrF 55.0"""
    known = {metric.name: metric for metric in metrics}
    found = []
    for name, value in scores.items():
        if value is not None:
            metric = known.get(name, Metric(name, name.replace("_", " ")))
            found.append(f"{metric.title} {metric.shown(value)}")
    return found
