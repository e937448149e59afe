"""N-grams of words and characters as numbers, which stand for them without a vocabulary.

A number has 40 bits of a hash that is the same on every machine. Capitals are read as small
letters, and each sign that is not part of a word is a word of its own.
"""

import re
from collections.abc import Iterator, Sequence
from hashlib import blake2b
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

Hashes = NDArray[np.uint64]
Integers = NDArray[np.int64]

WORD = re.compile(r"\w+|[^\w\s]")
KEY_BITS = 40
# The most texts whose numbers fit beside a key.
MOST_TEXTS = 1 << (63 - KEY_BITS)
# N-grams of characters are of two at least; a single one says next to nothing.
FEWEST_CHARACTERS = 2
# Odd numbers whose bits look random, which SplitMix64 uses, too.
MULTIPLIER, MIXER = np.uint64(0x9E3779B97F4A7C15), np.uint64(0xBF58476D1CE4E5B9)
HALF = np.uint64(32)


class NgramSets(NamedTuple):
    """Which n-grams occur in which texts: a pair for each, sorted by text and then by key."""

    texts: Integers
    keys: Integers


class Occurrence(NamedTuple):
    """An n-gram in a text: its key, and where it begins and ends."""

    key: int
    begin: int
    end: int


class WordHashes(dict[str, int]):
    """The hash of each word, computed when it is met for the first time."""

    def __missing__(self, word: str) -> int:
        found = blake2b(word.encode("utf-8", "surrogatepass"), digest_size=8).digest()
        self[word] = number = int.from_bytes(found, "little")
        return number


def ngram_sets(texts: Sequence[str], words: int, characters: int) -> NgramSets:
    """The n-grams of up to `words` words and of up to `characters` characters in each text."""
    lowered = [lowercase(text) for text in texts]
    packed = [np.zeros(0, np.int64)]
    if words:
        packed += in_texts(word_hashes(lowered), 1, words)
    if characters >= FEWEST_CHARACTERS:
        packed += in_texts(character_hashes(lowered), FEWEST_CHARACTERS, characters)
    found = np.concatenate(packed)
    found.sort()
    found = found[np.diff(found, prepend=-1) > 0]
    return NgramSets(found >> KEY_BITS, found & ((1 << KEY_BITS) - 1))


def occurrences(text: str, words: int, characters: int) -> Iterator[Occurrence]:
    """Every n-gram of a text, with its place."""
    lowered = lowercase(text)
    if words:
        places = [match.span() for match in WORD.finditer(lowered)]
        yield from placed(word_hashes([lowered])[0], places, 1, words)
    if characters >= FEWEST_CHARACTERS:
        places = [(place, place + 1) for place in range(len(lowered))]
        hashes = character_hashes([lowered])[0]
        yield from placed(hashes, places, FEWEST_CHARACTERS, characters)


def lowercase(text: str) -> str:
    """The text in small letters, each where the capital was."""
    lowered = text.lower()
    if len(lowered) != len(text):  # İ becomes two
        lowered = "".join(letter.lower()[0] for letter in text)
    return lowered


def word_hashes(texts: Sequence[str]) -> list[Hashes]:
    known = WordHashes()
    found = map(WORD.findall, texts)
    return [np.fromiter(map(known.__getitem__, each), np.uint64, len(each)) for each in found]


def character_hashes(texts: Sequence[str]) -> list[Hashes]:
    """Not those of words, so that one letter is not the word of that letter."""
    encoded = (re.sub(r"\s", " ", text).encode("utf-32-le", "surrogatepass") for text in texts)
    return [mixed(np.frombuffer(each, np.uint32).astype(np.uint64)) for each in encoded]


def in_texts(hashes: Sequence[Hashes], fewest: int, most: int) -> Iterator[Integers]:
    """For each length, the n-grams with the numbers of their texts in the upper bits."""
    sizes = [len(each) for each in hashes]
    texts = np.repeat(np.arange(len(hashes)), sizes)
    joined = np.concatenate([*hashes, np.zeros(0, np.uint64)])
    for length, keys in runs(joined, fewest, most):
        first, last = texts[: len(keys)], texts[length - 1 :]
        inside = first == last
        yield (first[inside] << KEY_BITS) | keys[inside]


def placed(
    hashes: Hashes, places: Sequence[tuple[int, int]], fewest: int, most: int
) -> Iterator[Occurrence]:
    for length, keys in runs(hashes, fewest, most):
        for first, key in enumerate(keys.tolist()):
            yield Occurrence(key, places[first][0], places[first + length - 1][1])


def runs(hashes: Hashes, fewest: int, most: int) -> Iterator[tuple[int, Integers]]:
    """For each length, the keys of all runs of that length."""
    found = hashes
    for length in range(1, min(most, len(hashes)) + 1):
        if length > 1:
            found = mixed(found[:-1] * MULTIPLIER + hashes[length - 1 :])
        if length >= fewest:
            yield length, (found >> np.uint64(64 - KEY_BITS)).astype(np.int64)


def mixed(numbers: Hashes) -> Hashes:
    """Numbers whose upper bits depend on all bits."""
    numbers = (numbers ^ (numbers >> HALF)) * MIXER
    return numbers ^ (numbers >> HALF)
