"""Learning a vocabulary from normalised texts, with the trainers of the `tokenizers` library."""

from __future__ import annotations

import json
import random
from collections import Counter
from collections.abc import Iterable
from typing import Any

import tokenizers
from tokenizers import models, trainers

from regard.text.normalise import WORD_START
from regard.text.tokenizer_json import (
    SPECIALS,
    UNKNOWN,
    bpe_model,
    frame,
    unigram_model,
)

# Learning looks at this much of a large corpus: more changes the vocabulary very little, and all of
# it is held in memory.
MOST_TEXTS = 500_000
LONGEST_TEXT = 2_000


def sample(texts: Iterable[str]) -> list[str]:
    """All texts, or an even, repeatable choice of MOST_TEXTS of them (reservoir sampling)."""
    chance = random.Random(0)
    kept: list[str] = []
    for seen, text in enumerate(texts):
        if seen < MOST_TEXTS:
            kept.append(text[:LONGEST_TEXT])
        elif (place := chance.randrange(seen + 1)) < MOST_TEXTS:
            kept[place] = text[:LONGEST_TEXT]
    return kept


def learn_bpe(texts: list[str], room: int, verbatim: bool = False) -> dict[str, Any]:
    alphabet = _alphabet(texts, room // 2)
    trainer = trainers.BpeTrainer(
        vocab_size=room,
        min_frequency=2,
        show_progress=False,
        # Both are given, because the library breaks ties at the limit at random.
        initial_alphabet=alphabet,
        limit_alphabet=len(alphabet),
        max_token_length=64,
    )
    library = _cutter(models.BPE(), verbatim)
    learned = _run(library, trainer, _without_rare(texts, alphabet))
    pieces = sorted(learned["vocab"], key=learned["vocab"].__getitem__)
    return bpe_model(pieces, learned["merges"])


def learn_unigram(texts: list[str], room: int, verbatim: bool = False) -> dict[str, Any]:
    alphabet = _alphabet(texts, room // 2)
    trainer = trainers.UnigramTrainer(
        vocab_size=room + 1,
        show_progress=False,
        special_tokens=[SPECIALS[UNKNOWN]],
        unk_token=SPECIALS[UNKNOWN],
    )
    library = _cutter(models.Unigram(), verbatim)
    learned = _run(library, trainer, _without_rare(texts, alphabet))
    scores = {piece: score for piece, score in learned["vocab"] if piece != SPECIALS[UNKNOWN]}
    # The library adds numbers in a random order, and gives the characters that it needs but did not
    # choose random ranks, in steps of 0.0001 from the lowest score. Flattening both makes learning
    # repeatable.
    lowest = min(scores.values())
    ladder = lowest + 0.0001 * (len(alphabet) + 1)
    rounded = {
        piece: round(lowest if len(piece) == 1 and score < ladder else score, 3)
        for piece, score in scores.items()
    }
    return unigram_model(sorted(rounded.items(), key=lambda entry: (-entry[1], entry[0])))


def learn_words(texts: list[str], room: int, verbatim: bool = False) -> dict[str, Any]:
    """The most frequent words, and the characters that spell all others."""
    alphabet = _alphabet(texts, room // 4)
    cutter = _cutter(models.BPE(), verbatim).pre_tokenizer
    counts = Counter(part for text in texts for part, _ in cutter.pre_tokenize_str(text))
    for character in alphabet:
        del counts[character]
    words = _most_frequent(counts, room - len(alphabet))
    return bpe_model([*alphabet, *words], whole_words=True)


def learn_characters(texts: list[str], room: int, verbatim: bool = False) -> dict[str, Any]:
    return bpe_model(_alphabet(texts, room))


def _alphabet(texts: Iterable[str], limit: int) -> list[str]:
    """The most frequent characters, the mark of a word start first."""
    counts: Counter[str] = Counter()
    for text in texts:
        counts.update(text)
    del counts[" "]
    return [WORD_START, *_most_frequent(counts, limit - 1)]


def _most_frequent(counts: Counter[str], limit: int) -> list[str]:
    return sorted(counts, key=lambda entry: (-counts[entry], entry))[:limit]


def _without_rare(texts: list[str], alphabet: list[str]) -> Iterable[str]:
    """Replace rare characters by gaps between words, so that nothing is learned across them."""
    known = {" ", *alphabet}
    rare = {character for text in texts for character in set(text) - known}
    gaps = str.maketrans(dict.fromkeys(rare, " "))
    return (text.translate(gaps) for text in texts) if rare else texts


def _cutter(model: models.Model, verbatim: bool) -> tokenizers.Tokenizer:
    """A tokenizer of the library with the given model, which cuts normalised text as ours does."""
    framed = frame(lowercase=False, verbatim=verbatim)
    document = {**framed, "normalizer": None, "model": bpe_model([])}
    library = tokenizers.Tokenizer.from_str(json.dumps(document))
    library.model = model
    return library


def _run(
    library: tokenizers.Tokenizer, trainer: trainers.Trainer, texts: Iterable[str]
) -> dict[str, Any]:
    library.train_from_iterator(texts, trainer=trainer)
    learned: dict[str, Any] = json.loads(library.to_str())["model"]
    return learned


LEARN = {
    "bpe": learn_bpe,
    "unigram": learn_unigram,
    "word": learn_words,
    "character": learn_characters,
}
