"""What is behind an answer, for those who ask."""

from collections.abc import Sequence
from typing import Any

from regard.serve.one_thread import OneThread
from regard.tasks.translation.translator import Translation, Translator


async def explain(
    thread: OneThread,
    sentences: Sequence[str],
    outputs: Sequence[Translation],
    aligner: Translator | None,
) -> dict[str, Any]:
    """Tokens and log-probabilities in order; words of source and output that belong together,
    counted by white space, where there is a translator that read the source itself. In one thread,
    since a model records its attention for one reader only.
    """
    return {
        "tokens": [token for each in outputs for token in each.tokens],
        "logprobs": [value for each in outputs for value in each.log_probabilities],
        "alignment": await thread.run(alignment, sentences, outputs, aligner),
    }


def alignment(
    sentences: Sequence[str], outputs: Sequence[Translation], aligner: Translator | None
) -> list[tuple[int, int]]:
    """(source word, target word), counted through all sentences."""
    pairs: list[tuple[int, int]] = []
    source_words = target_words = 0
    for sentence, output in zip(sentences, outputs, strict=True):
        if aligner is None or not output.text:
            continue
        linked = aligner.align(sentence, output.text)
        pairs += [(each + source_words, other + target_words) for each, other in linked.pairs()]
        source_words += len(linked.source_words)
        target_words += len(linked.target_words)
    return pairs
