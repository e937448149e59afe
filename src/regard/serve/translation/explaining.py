"""Explains a translation: its tokens, their log-probabilities, the word alignment, and how sure it
is.
"""

from collections.abc import Sequence
from typing import Any

from regard.tasks.translation.confidence import least_sure
from regard.tasks.translation.marked import MarkedTranslation, word_pairs


def explanation(sentences: Sequence[MarkedTranslation], *, aligned: bool) -> dict[str, Any]:
    """Explain the translations of some sentences, as the model has read and written them: without
    tags. `aligned` says that these are the sentences which were asked for, and not those of
    another language on the way.
    """
    scored = [each.output.scored for each in sentences if each.output.scored]
    return {
        "tokens": [token for each in scored for token in each.tokens],
        "logprobs": [value for each in scored for value in each.log_probabilities],
        "alignment": word_pairs(sentences) if aligned else [],
    }


def confidence(sentences: Sequence[MarkedTranslation]) -> dict[str, Any] | None:
    """How sure the translations of some sentences are together; None where nothing says it."""
    scored = [each.output.scored for each in sentences if each.output.scored]
    found = least_sure([each.confidence for each in scored])
    return found.facts() if found else None
