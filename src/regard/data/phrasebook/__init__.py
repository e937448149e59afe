"""The built-in corpus: French sentences and their English translations.

A small grammar, written for this package, draws them: people, places with their articles, months
and years, three tenses, negation, questions, adjectives on either side of the noun, passives,
joined and subordinate clauses, and what people say, in quotation marks. Every French sentence has
exactly one translation, so a model can be scored by exact match.

The variant `phrasebook-long` joins the same words and clauses into sentences of up to 60 words,
with lists and subordinate clauses. All lengths are about equally frequent, in training and in the
test.

What is held out stays held out: the English words without their punctuation decide whether a
sentence is for training, validation or test. So no source and no target of `valid` or `test` is in
`train`, not even with other punctuation. `HELD_OUT` is in none of the three, neither alone nor as
part of a sentence nor with its words in another order; but training has all its words, in similar
sentences.
"""

import hashlib
import re
from collections.abc import Callable, Iterator
from functools import cache
from typing import Literal

from regard.data.corpus import Pair
from regard.data.phrasebook.asking import (
    by_tone,
    called,
    how_many,
    how_much,
    near,
    what_kind,
    what_time,
    where,
    who_is,
)
from regard.data.phrasebook.compound import at_the_time, because, errand, which, who
from regard.data.phrasebook.descriptions import (
    age,
    birth,
    comparison,
    description,
    introduction,
    possession,
    state,
    state_question,
)
from regard.data.phrasebook.documents import built, diplomacy, handled, treaty, written
from regard.data.phrasebook.draw import Draw, wheel
from regard.data.phrasebook.everyday import ability, dealing, doing
from regard.data.phrasebook.joined import two_clauses
from regard.data.phrasebook.long import LONGEST_WORDS, long_sentence, num_words
from regard.data.phrasebook.places import Phrase
from regard.data.phrasebook.requests import order, request
from regard.data.phrasebook.scenes import having_things, looks, position
from regard.data.phrasebook.sentences import (
    journey,
    negative,
    polite,
    question_word,
    report,
    since,
    statement,
    wish,
    wish_question,
    yes_no,
)
from regard.data.phrasebook.set_phrases import learned_by_heart
from regard.data.phrasebook.small_talk import (
    calendar,
    counting,
    feeling,
    greeting,
    opened,
    opinion,
    sky,
)
from regard.data.phrasebook.speech import announced, direct, in_quotes, quoted
from regard.data.phrasebook.surroundings import existence, timetable, weather, whereabouts

Split = Literal["train", "valid", "test"]
Variant = Literal["phrasebook", "phrasebook-long"]

HELD_OUT = "Jane visite l'Afrique en septembre"
_HELD_OUT_PARTS = ("Jane visite l'Afrique", "septembre")

_SIZES: dict[Variant, dict[Split, int]] = {
    "phrasebook": {"train": 112_000, "valid": 1_000, "test": 2_000},
    "phrasebook-long": {"train": 100_000, "valid": 1_000, "test": 2_000},
}
# Shares of 1,000 buckets, a little larger than needed: sizes are exact, shares by a hash are not.
_TEST_BUCKETS, _VALID_BUCKETS = 20, 11
_SHORT_WORDS = 9
_MARKED = ("?", "!", "? »", "! »", ". »")
_UNPUNCTUATED, _EXCLAIMED, _UNCAPITALISED = 0.3, 0.05, 0.08
# In the long variant: the limit of sentences as short as plain ones, and of all sentences, in
# words.
_LIKE_PLAIN = 12
_LIMITS = tuple(min(limit, LONGEST_WORDS) for limit in range(6, 68))

Construction = Callable[[Draw], Phrase]
# Each construction with its weight.
CONSTRUCTIONS: tuple[tuple[Construction, int], ...] = (
    (statement, 26),
    (journey, 9),
    (negative, 11),
    (yes_no, 9),
    (question_word, 7),
    (wish, 6),
    (wish_question, 3),
    (report, 4),
    (because, 4),
    (at_the_time, 3),
    (errand, 2),
    (who, 2),
    (which, 2),
    (since, 2),
    (polite, 1),
    (state, 5),
    (state_question, 2),
    (description, 3),
    (comparison, 2),
    (introduction, 2),
    (whereabouts, 1),
    (existence, 2),
    (possession, 3),
    (age, 2),
    (birth, 2),
    (weather, 2),
    (timetable, 1),
    (built, 2),
    (written, 2),
    (handled, 2),
    (treaty, 6),
    (diplomacy, 3),
)
# Small sentences and small talk, which the long variant does not have, and some more journeys,
# so that they keep their share.
EVERYDAY: tuple[tuple[Construction, int], ...] = (
    (journey, 4),
    (doing, 8),
    (dealing, 7),
    (ability, 4),
    (two_clauses, 7),
    (position, 2),
    (looks, 4),
    (having_things, 3),
    (where, 2),
    (near, 1),
    (who_is, 1),
    (how_much, 1),
    (how_many, 1),
    (what_time, 1),
    (what_kind, 1),
    (called, 2),
    (by_tone, 4),
    (greeting, 2),
    (opened, 3),
    (order, 2),
    (sky, 1),
    (feeling, 2),
    (opinion, 1),
    (quoted, 1),
    (announced, 2),
    (direct, 2),
    (in_quotes, 1),
    (calendar, 1),
    (counting, 2),
    (request, 1),
)


def pairs(split: Split, variant: Variant = "phrasebook") -> Iterator[Pair]:
    """The pairs of one split, the same ones in the same order every time."""
    for number, (source, target) in enumerate(_corpus(variant)[split], start=1):
        yield Pair(source, target, f"{variant}/{split}:{number}")


def _sentence(text: str, mark: str) -> str:
    return text[0].upper() + text[1:] + mark


def _finish(draw: Draw, said: Phrase) -> Phrase:
    """Add a capital and a full stop, except to some short statements, as people type them."""
    bare = said.fr.count(" ") < _SHORT_WORDS and draw.chance(_UNPUNCTUATED)
    mark = "" if bare or said.fr.endswith(_MARKED) else "."
    return Phrase(_sentence(said.fr, mark), _sentence(said.en, mark))


def _typed(draw: Draw, said: Phrase) -> Phrase:
    """The same, with some exclamations, and some sentences without a capital."""
    finished = _finish(draw, said)
    if finished.fr.endswith(".") and said.fr.count(" ") < _SHORT_WORDS and draw.chance(_EXCLAIMED):
        finished = Phrase(f"{finished.fr[:-1]} !", f"{finished.en[:-1]}!")
    # With a name in front, nobody could tell.
    if said.fr[0].islower() and draw.chance(_UNCAPITALISED):
        return Phrase(said.fr[0] + finished.fr[1:], said.en[0] + finished.en[1:])
    return finished


def _bare(text: str) -> str:
    """The words alone."""
    return " ".join(re.findall(r"\w+", text.casefold()))


def _split_of(text: str) -> Split:
    bucket = int.from_bytes(hashlib.sha256(text.encode()).digest()[:4]) % 1000
    if bucket < _TEST_BUCKETS:
        return "test"
    return "valid" if bucket < _TEST_BUCKETS + _VALID_BUCKETS else "train"


def _is_held_out(source: str) -> bool:
    text = source.casefold()
    return all(part.casefold() in text for part in _HELD_OUT_PARTS)


def _said(draw: Draw, variant: Variant, constructions: tuple[Construction, ...]) -> Phrase:
    if variant == "phrasebook":
        return draw.one(constructions)(draw)
    limit = draw.one(_LIMITS)
    if limit < _LIKE_PLAIN:
        return draw.one(constructions)(draw)
    said = long_sentence(draw, limit)
    # A first clause with long lists may already be longer than the limit.
    return said if num_words(said.fr) <= LONGEST_WORDS else _said(draw, variant, constructions)


@cache
def _corpus(variant: Variant) -> dict[Split, list[Phrase]]:
    draw, sizes = Draw(variant), _SIZES[variant]
    short = variant == "phrasebook"
    constructions = wheel(*CONSTRUCTIONS, *EVERYDAY) if short else wheel(*CONSTRUCTIONS)
    by_heart = list(learned_by_heart()) if short else []
    # Nothing that is learned by heart is asked in the test, in any spelling.
    known = {_bare(text) for phrase in by_heart for text in phrase}
    seen: set[str] = set()
    translations: dict[str, str] = {}
    corpus: dict[Split, list[Phrase]] = {"train": [], "valid": [], "test": []}
    while any(len(corpus[split]) < size for split, size in sizes.items()):
        said = _said(draw, variant, constructions)
        phrase = _typed(draw, said) if short else _finish(draw, said)
        if phrase.fr in seen or _is_held_out(phrase.fr):
            continue
        # Only the long variant's commas count: with them it was split before there was small talk.
        text = _bare(phrase.en) if short else phrase.en.rstrip(" .?!").casefold()
        if short:
            source = _bare(phrase.fr)
            # The same words may be a statement and a question; the corpus has one of them.
            if {source, text} & known or translations.setdefault(source, text) != text:
                continue
        seen.add(phrase.fr)
        split = _split_of(text)
        if len(corpus[split]) < sizes[split]:
            corpus[split].append(phrase)
    corpus["train"] += by_heart
    return corpus
