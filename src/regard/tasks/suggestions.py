"""Why a size was chosen, and whether it still is the one that is used."""

from collections.abc import Iterable, Mapping
from typing import Any, NamedTuple

# What sentences about the vocabulary, and about how long it takes, speak of.
PIECES = ("tokenizer.kind", "tokenizer.vocabulary_size", "tokenizer.folder")
LENGTH = ("train.steps", "train.batch_tokens", "train.patience")


class Reason(NamedTuple):
    """A sentence, and the settings that it speaks of."""

    text: str
    about: tuple[str, ...] = ()


Section = dict[str, Any]
# Sections of a recipe, and why they are so; the first sentence tells the amount of data.
Suggestion = tuple[dict[str, Section], list[Reason]]


def still_true(reasons: Iterable[Reason], asked: Mapping[str, Any]) -> list[str]:
    """The sentences that are left where some settings were asked for, by section."""
    first, *others = reasons
    left = [reason.text for reason in others if not any(given(asked, n) for n in reason.about)]
    return [first.text, *left] if left else []


def given(asked: Mapping[str, Any], name: str) -> bool:
    section, _, key = name.partition(".")
    return key in asked.get(section, {})
