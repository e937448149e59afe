"""Our tokenizers as SentencePiece models, for programs that read nothing else.

SentencePiece normalises by a table: what it finds, longest first, becomes something else. Our own
normaliser has rules that look around, so the table is made by asking it: each entry is what it
makes of some characters in the middle of a text.
"""

import io
import json
import re
import struct
import tempfile
import unicodedata
from collections.abc import Iterable, Iterator, Sequence
from itertools import product
from pathlib import Path

import sentencepiece

from regard.errors import RequestError
from regard.text.normalise import WORD_START
from regard.text.tokenizer import Tokenizer
from regard.text.tokenizer_json import END, PAD, RESERVED, SPECIALS, START, UNKNOWN
from regard.text.typography import (
    APOSTROPHES,
    DASHES,
    DOTS,
    ELLIPSIS,
    HYPHENS,
    MARKS,
    QUOTES,
    SPACES,
)

# Types of pieces in SentencePiece's format, and the fields of its messages.
NORMAL, NO_TEXT, CONTROL, BYTE = 1, 2, 3, 6
PIECES = 1
PIECE, SCORE, TYPE = 1, 2, 3
VARINT, FIXED64, LENGTH, FIXED32 = 0, 1, 2, 5
# Pieces that the library wants to learn from something: 256 bytes, the special ones, some more.
SMALLEST = 300


def sentencepiece_model(tokenizer: Tokenizer) -> bytes:
    """A SentencePiece model that cuts as the tokenizer does."""
    model = json.loads(tokenizer.to_json())["model"]
    kind = model["type"].lower()
    whole_words = model.get("ignore_merges") is True or (kind == "bpe" and not model["merges"])
    if tuple(tokenizer.vocabulary[: len(RESERVED)]) != RESERVED or whole_words:
        raise RequestError(
            "SentencePiece cuts only as the tokenizers do that regard learns with "
            'tokenizer.kind = "bpe" or "unigram"; this one is of another kind'
        )
    scores = dict(model["vocab"]) if kind == "unigram" else None
    written = io.BytesIO()
    with tempfile.TemporaryDirectory() as folder:
        table = Path(folder, "table.tsv")
        table.write_text("".join(table_lines(tokenizer)), encoding="ascii")
        sentencepiece.SentencePieceTrainer.train(
            sentence_iterator=iter([SPECIALS[UNKNOWN]]),
            model_writer=written,
            model_type=kind,
            vocab_size=SMALLEST,
            hard_vocab_limit=False,
            byte_fallback=True,
            normalization_rule_tsv=str(table),
            pad_id=PAD,
            unk_id=UNKNOWN,
            bos_id=START,
            eos_id=END,
            minloglevel=2,
        )
    settings = b"".join(raw for number, raw in fields_of(written.getvalue()) if number != PIECES)
    return b"".join(pieces_of(tokenizer.vocabulary, scores)) + settings


def pieces_of(pieces: Sequence[str], scores: dict[str, float] | None) -> Iterator[bytes]:
    """The messages of all pieces. Merges are tried in the order in which they were learned, which
    is that of the pieces.
    """
    for index, piece in enumerate(pieces):
        learned = index >= len(RESERVED)
        score = 0.0 if not learned else scores[piece] if scores else float(len(RESERVED) - index)
        special = NO_TEXT if index == UNKNOWN else CONTROL if index < len(SPECIALS) else BYTE
        message = (
            field(PIECE, piece.encode())
            + varint(SCORE << 3 | FIXED32)
            + struct.pack("<f", score)
            + varint(TYPE << 3 | VARINT)
            + varint(NORMAL if learned else special)
        )
        yield field(PIECES, message)


def table_lines(tokenizer: Tokenizer) -> Iterator[str]:
    """The table as the library reads it: characters, a tab, what they become, in hexadecimal."""
    return (f"{code_points(found)}\t{code_points(made)}\n" for found, made in table(tokenizer))


def table(tokenizer: Tokenizer) -> Iterable[tuple[str, str]]:
    """What becomes what. Longer entries are there only where shorter ones would do something
    else, since what an entry takes cannot begin the next one.
    """
    letters = "".join(piece for piece in tokenizer.vocabulary if len(piece) == 1)
    made = {
        **{each: tokenizer.normalise(f"a{each}a")[1:-1] for each in candidates(tokenizer)},
        **{each: tokenizer.normalise(f"{each}a")[:-1] for each in opening(letters)},
    }
    kept: dict[str, str] = {}
    for found in sorted(made, key=lambda each: (len(each), each)):
        if applied(kept, found) != made[found]:
            kept[found] = made[found]
    # The library wants no entry that changes nothing.
    return ((found, into) for found, into in kept.items() if found != into)


def applied(table: dict[str, str], text: str) -> str:
    """What a table makes of a text: the longest entry first, and one space for several."""
    made, at = "", 0
    while at < len(text):
        ends = range(min(len(text), at + 4), at, -1)
        end = next((end for end in ends if text[at:end] in table), at + 1)
        made += table.get(text[at:end], text[at:end])
        at = end
    return re.sub(" +", " ", made)


def code_points(text: str) -> str:
    return " ".join(f"{ord(each):X}" for each in text)


def candidates(tokenizer: Tokenizer) -> Iterator[str]:
    """What a normaliser may change, wherever it stands."""
    yield from map(chr, range(1, 0x20))
    yield WORD_START
    for code in range(0x7F, 0x110000):
        character = chr(code)
        category = unicodedata.category(character)
        if category in ("Cn", "Co", "Cs"):
            continue
        if category[0] in "CZ" or unicodedata.normalize("NFC", character) != character:
            yield character
        yield from composed(character)
    if tokenizer.lower_cases:
        yield from (chr(code) for code in range(0x110000) if chr(code).lower() != chr(code))
    yield from typographic()


def composed(character: str) -> Iterator[str]:
    """The ways to write an accented letter as several characters. Hangul has 11,172 syllables,
    which nobody writes in parts.
    """
    parts = unicodedata.normalize("NFD", character)
    if len(parts) == 1 or 0xAC00 <= ord(character) <= 0xD7A3:
        return
    if unicodedata.normalize("NFC", parts) == character:
        yield parts
        if len(parts) == 3:
            yield unicodedata.normalize("NFC", parts[:2]) + parts[2]


def typographic() -> Iterator[str]:
    """Marks with and without spaces around them."""
    yield from (*APOSTROPHES, *HYPHENS, *DASHES, *QUOTES, *SPACES, ELLIPSIS, DOTS, *MARKS)
    for space, mark in product(SPACES, MARKS + QUOTES):
        yield space + mark
        yield mark + space
        yield from (space + mark + after for after in SPACES)
        yield from (mark + space + quote for quote in QUOTES)
    for first, second in product(MARKS, MARKS):
        yield first + second
        yield from (first + second + third for third in MARKS)
    yield from (bracket + quote for bracket, quote in product("([", QUOTES))


def opening(letters: str) -> Iterator[str]:
    """Quotation marks before a letter, which open at the beginning of a text as elsewhere."""
    both = sorted({*letters, *filter(lambda each: len(each) == 1, map(str.upper, letters))})
    return (quote + letter for quote, letter in product(QUOTES, both) if letter.isalnum())


def varint(number: int) -> bytes:
    """A whole number as protocol buffers write it: 7 bits in each byte, the lowest first."""
    written = bytearray()
    while number > 0x7F:
        written.append(number & 0x7F | 0x80)
        number >>= 7
    return bytes([*written, number])


def field(number: int, content: bytes) -> bytes:
    return varint(number << 3 | LENGTH) + varint(len(content)) + content


def fields_of(message: bytes) -> Iterable[tuple[int, bytes]]:
    """The number of each field of a message, and the field as it is written."""
    at = 0
    while at < len(message):
        start = at
        key, at = read_varint(message, at)
        match key & 7:
            case 0:
                _, at = read_varint(message, at)
            case 1:
                at += 8
            case 2:
                length, at = read_varint(message, at)
                at += length
            case _:
                at += 4
        yield key >> 3, message[start:at]


def read_varint(message: bytes, at: int) -> tuple[int, int]:
    number = shift = 0
    while True:
        byte = message[at]
        number |= (byte & 0x7F) << shift
        at, shift = at + 1, shift + 7
        if byte < 0x80:
            return number, at
