"""Explains a translation: its tokens, their log-probabilities and the word alignment."""

from collections.abc import Sequence
from typing import Any

from regard.errors import RequestError, RunError
from regard.machine.packages import require_torch
from regard.serve.http.refusal import Refusal
from regard.serve.one_thread import OneThread
from regard.tasks.translation.translation import Translation
from regard.tasks.translation.translator import Translator

CHANGED = "the model's folder has changed since the server loaded it, so nothing can be explained"


async def explain(
    thread: OneThread,
    sentences: Sequence[str],
    outputs: Sequence[Translation],
    aligner: Translator | None,
) -> dict[str, Any]:
    """Explain the outputs of some sentences. Without an `aligner`, the translator that read these
    sentences, the alignment is empty. Alignments are computed in one thread, since a model can
    record its attention for one caller at a time.
    """
    if aligner is not None:
        try:
            require_torch("an explanation")
        except RequestError as error:
            raise Refusal(400, str(error)) from None
    try:
        linked = await thread.run(alignment, sentences, outputs, aligner)
    except (RunError, OSError):
        raise Refusal(503, CHANGED) from None
    return {
        "tokens": [token for each in outputs for token in each.tokens],
        "logprobs": [value for each in outputs for value in each.log_probabilities],
        "alignment": linked,
    }


def alignment(
    sentences: Sequence[str], outputs: Sequence[Translation], aligner: Translator | None
) -> list[tuple[int, int]]:
    """Pairs of (source word, target word). Words are separated by white space and numbered through
    all sentences.
    """
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
