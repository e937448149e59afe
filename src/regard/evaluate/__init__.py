"""How good the output is."""

from regard.evaluate.scores import METRICS, Metric, Score, bleu, chrf, corpus_scores

__all__ = ["METRICS", "Metric", "Score", "bleu", "chrf", "corpus_scores"]
