"""What is behind an answer, for those who ask: one request at a time, since a model records its
attention for one reader only.
"""

import asyncio
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from typing import Any

from regard.serve.refusal import Refusal
from regard.tasks import Translation, Translator

MOST_WAITING = 16


class Explainer:
    def __init__(self) -> None:
        self._thread = ThreadPoolExecutor(1, thread_name_prefix="explaining")
        self._waiting = 0

    async def explain(
        self, sentences: Sequence[str], outputs: Sequence[Translation], aligner: Translator | None
    ) -> dict[str, Any]:
        """Tokens and log-probabilities in order; words of source and output that belong together,
        counted by white space, where there is a translator that read the source itself.
        """
        if self._waiting >= MOST_WAITING:
            raise Refusal(503, "the server is busy explaining; try again", 5)
        self._waiting += 1
        try:
            loop = asyncio.get_running_loop()
            linked = await loop.run_in_executor(
                self._thread, alignment, sentences, outputs, aligner
            )
        finally:
            self._waiting -= 1
        return {
            "tokens": [token for each in outputs for token in each.tokens],
            "logprobs": [value for each in outputs for value in each.log_probabilities],
            "alignment": linked,
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
