"""Text to ids and back.

Nothing is ever unknown: a character outside the vocabulary is spelled in bytes. Ids 0 to 3 are
the special pieces, the next 256 are the bytes, then come the learned pieces. No text encodes to a
special piece; batches and models add these.

A tokenizer that came with an imported model keeps its own ids, and knows which are special.
"""

from __future__ import annotations

import hashlib
import json
import os
import re
from bisect import bisect_right
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any, Literal, NamedTuple, Self, get_args

import tokenizers

from regard.errors import DataError, RecipeError, RunError
from regard.small_files import read_small
from regard.text.long_texts import is_long, parts
from regard.text.normalise import WORD_START, scalar_values
from regard.text.tokenizer_json import (
    END,
    LARGEST_JSON,
    LARGEST_VOCABULARY,
    PAD,
    RESERVED,
    SPECIALS,
    START,
    UNKNOWN,
    Specials,
    bpe_model,
    frame,
    parse,
    pieces_of,
    read,
    refusal,
)
from regard.text.typography import Rule

__all__ = [
    "END",
    "PAD",
    "SPECIALS",
    "START",
    "UNKNOWN",
    "Kind",
    "Specials",
    "Tokenizer",
    "Tokenizers",
]

# With its own threads the library prints a warning at every later fork; set this to use them.
os.environ.setdefault("TOKENIZERS_PARALLELISM", "false")

Kind = Literal["bpe", "unigram", "word", "character"]
SMALLEST_VOCABULARY = 300


class Tokenizer:
    """Cuts text into pieces and turns these into ids, and back.

    It is made by `train`, `from_json` or `load`.

    Examples
    --------
    >>> from regard import Tokenizer
    >>> tokenizer = Tokenizer.train(["the cat sat on the mat"] * 20, vocabulary_size=300)
    >>> tokenizer.decode(tokenizer.encode("the cat"))
    'the cat'
    >>> tokenizer
    Tokenizer(282 pieces)
    """

    def __repr__(self) -> str:
        return f"Tokenizer({len(self):,} pieces)"

    def __init__(self, document: dict[str, Any]) -> None:
        self._json = json.dumps(document, ensure_ascii=False)
        self._library = tokenizers.Tokenizer.from_str(self._json)
        self._foreign = document["post_processor"] is not None
        self.specials = Specials()
        if not self._foreign:
            self._pieces = pieces_of(document["model"])
        else:
            from regard.text import foreign  # most tokenizers are our own

            self.specials = foreign.specials_of(document, "tokenizer.json")
            self._pieces = [piece for _, piece in sorted(foreign.vocabulary(document, "").items())]
            # A text that spells a special piece is still a text.
            self._library.encode_special_tokens = True

    @classmethod
    def train(
        cls,
        texts: Iterable[str],
        *,
        kind: Kind = "bpe",
        vocabulary_size: int = 8000,
        lowercase: bool = False,
        verbatim: bool = False,
    ) -> Self:
        """Learn the pieces of a language from texts.

        Parameters
        ----------
        texts
            Texts to learn from.
        kind
            What a piece is: `"bpe"` and `"unigram"` cut words, `"word"` and `"character"` do not.
        vocabulary_size
            The most pieces; fewer are learned if the texts do not have that many.
        lowercase
            Whether capitals are read as small letters.
        verbatim
            Whether lines and spaces are kept as they are, for running text.

        Returns
        -------
        Tokenizer

        Raises
        ------
        RecipeError
            There is no such kind, or the size is out of range.
        DataError
            The texts are empty.
        """
        if kind not in get_args(Kind):
            choices = ", ".join(get_args(Kind))
            raise RecipeError(f"tokenizer.kind: no kind is called {kind!r}; choose from {choices}")
        if not SMALLEST_VOCABULARY <= vocabulary_size <= LARGEST_VOCABULARY:
            raise RecipeError(
                f"tokenizer.vocabulary_size: {vocabulary_size} is out of range (4 special pieces"
                f" and 256 bytes are always in); choose from {SMALLEST_VOCABULARY}"
                f" to {LARGEST_VOCABULARY}"
            )
        from regard.text.learn import LEARN, sample  # whoever only translates learns nothing

        framed = frame(lowercase=lowercase, verbatim=verbatim)
        blank = cls({**framed, "model": bpe_model([])})
        normalised = sample(texts)
        for place, text in enumerate(normalised):  # in place: there may be half a million
            normalised[place] = blank.normalise(text)
        if not any(map(str.strip, normalised)):
            raise DataError("tokenizer: the training texts are empty; give some text to learn from")
        model = LEARN[kind](normalised, vocabulary_size - len(RESERVED), verbatim)
        return cls({**framed, "model": model})

    def folding(self, rules: Sequence[Rule]) -> Self:
        """The same vocabulary behind a normaliser that also folds typographic variants."""
        if not rules:
            return self
        framed = frame(lowercase=self.lower_cases, verbatim=self.keeps_lines, rules=rules)
        return type(self)({**framed, "model": json.loads(self._json)["model"]})

    @classmethod
    def from_json(cls, text: str, where: str = "tokenizer.json") -> Self:
        """Read what `to_json` wrote; anything else is refused."""
        document = parse(text, where)
        if document.get("post_processor") is None:
            document = read(document, where)
        else:
            from regard.text import foreign

            document = foreign.checked(document, where)
        try:
            return cls(document)
        except Exception as error:  # the library raises nothing more precise
            raise refusal(where, str(error)) from None
        except BaseException as error:
            if type(error).__name__ != "PanicException":  # of the library, which is no Exception
                raise
            raise refusal(where, str(error)) from None

    @classmethod
    def load(cls, path: Path, limit: int = LARGEST_JSON) -> Self:
        """Read the tokenizer.json of a run folder, of up to so many bytes."""
        try:
            content = read_small(path, limit)
        except OSError as error:
            raise RunError(
                f"{path}: the tokenizer cannot be read ({error.strerror}); check the run folder"
            ) from None
        try:
            return cls.from_json(content.decode(), str(path))
        except UnicodeDecodeError:
            raise refusal(str(path), "not valid UTF-8") from None

    def to_json(self) -> str:
        """The tokenizer as JSON, which `from_json` reads."""
        return self._json

    @property
    def fingerprint(self) -> str:
        """A hash of everything in it."""
        return hashlib.sha256(self._json.encode()).hexdigest()

    @property
    def vocabulary(self) -> Sequence[str]:
        """All pieces, in the order of their ids."""
        return self._pieces

    @property
    def vocabulary_size(self) -> int:
        """The number of pieces."""
        return len(self._pieces)

    def __len__(self) -> int:
        return len(self._pieces)

    def normalise(self, text: str) -> str:
        """The normalised spelling of a text; decoding an encoded text returns it."""
        normaliser = self._library.normalizer
        mended = scalar_values(text)
        return mended if normaliser is None else str(normaliser.normalize_str(mended))

    @property
    def lower_cases(self) -> bool:
        """Whether capitals become lower case."""
        return self.normalise("A") == "a"

    @property
    def keeps_lines(self) -> bool:
        """Whether it keeps the lines of running text; other tokenizers turn a text into one
        line.
        """
        return "\n" in self.decode(self.encode("a\nb"))

    def encode(self, text: str) -> list[int]:
        """The ids of a text, without special ones."""
        return self.encode_batch([text])[0]

    def encode_batch(self, texts: Sequence[str]) -> list[list[int]]:
        """The ids of each text, in order; quicker than one after the other."""
        mended = [scalar_values(text) for text in texts]
        if any(map(is_long, mended)):
            return [
                [index for part in parts(text) for index in self._encode_batch([part])[0]]
                for text in mended
            ]
        return self._encode_batch(mended)

    def _encode_batch(self, texts: Sequence[str]) -> list[list[int]]:
        try:
            encodings = self._library.encode_batch_fast(texts, add_special_tokens=False)
        except Exception as error:  # the library raises nothing more precise
            raise RunError(f"tokenizer: cannot cut this text into pieces ({error})") from None
        rows = [encoding.ids for encoding in encodings]
        unknown = self.specials.unknown
        if not self._foreign or unknown is None:
            return rows
        # Some kinds of vocabulary find their special pieces in a text that spells them.
        special = set(self.specials)
        return [[unknown if index in special else index for index in row] for row in rows]

    def decode(self, ids: Sequence[int]) -> str:
        """The text of ids."""
        return self.decode_batch([ids])[0]

    def decode_batch(self, batch: Sequence[Sequence[int]]) -> list[str]:
        """Normalised text. Unless the tokenizer is verbatim it is always one line, whatever bytes a
        model has produced.
        """
        special = set(self.specials)
        plain = [[index for index in self._known(ids) if index not in special] for ids in batch]
        try:
            texts: list[str] = self._library.decode_batch(plain)
        except Exception as error:  # the library raises nothing more precise
            raise RunError(f"tokenizer: cannot join these pieces ({error})") from None
        return texts if self._foreign else [self.normalise(text) for text in texts]

    def pieces(self, ids: Sequence[int]) -> list[str]:
        """The pieces as they are stored: `"▁"` marks a word start, `"<0xE2>"` is a byte."""
        return [self._pieces[index] for index in self._known(ids)]

    def word_of(self, ids: Sequence[int]) -> list[int]:
        """The index of the word that each piece belongs to, -1 for a special piece."""
        words = []
        word, started = 0, False
        special = set(self.specials)
        for index, piece in zip(ids, self.pieces(ids), strict=True):
            if index in special:
                words.append(-1)
                continue
            if self.begins_word(piece) and started:
                word, started = word + 1, False
            started = started or piece != WORD_START
            words.append(word)
        return words

    def typed_words(self, text: str, ids: Sequence[int]) -> tuple[list[str], list[int]]:
        """The words of a text as it was typed, and which of them each of its first ids belongs to:
        normalising may join or part words.
        """
        if self._foreign:
            return self.decode(ids).split(), self.word_of(ids)
        mended = scalar_values(text)
        encoding = self._library.encode(mended, add_special_tokens=False)
        starts = [match.start() for match in re.finditer(r"\S+", mended)]
        owners = []
        for _, end in encoding.offsets[: len(ids)]:
            owner = bisect_right(starts, end - 1) - 1
            # White space that is a piece of its own begins the next word.
            owner += mended[end - 1 : end].isspace()
            owners.append(min(max(owner, 0), len(starts) - 1))
        return mended.split(), owners

    def places(self, text: str) -> list[tuple[int, int]]:
        """Where each piece of an encoded text begins and ends in it."""
        mended = scalar_values(text)
        encoding = self._library.encode(mended, add_special_tokens=False)
        return [(start, end) for start, end in encoding.offsets]

    def places_of(self, ids: Sequence[int], text: str) -> list[tuple[int, int]]:
        """Where each piece begins and ends in the text that these ids decode to."""
        if self.encode(text) == [*ids]:
            return self.places(text)
        # A model may cut a word in another way than we do: its pieces are where the word is.
        words = [match.span() for match in re.finditer(r"\S+", text)]
        return [words[word] if 0 <= word < len(words) else (0, 0) for word in self.word_of(ids)]

    def begins_word(self, piece: str) -> bool:
        """Whether white space comes before a piece; foreign tokenizers mark it in their own
        ways.
        """
        model: Any = self._library.model
        if isinstance(model, tokenizers.models.WordPiece):
            return not piece.startswith(model.continuing_subword_prefix)
        return piece.startswith((WORD_START, "Ġ") if self._foreign else WORD_START)

    def _known(self, ids: Sequence[int]) -> list[int]:
        known = [int(index) for index in ids]
        for index in (min(known, default=0), max(known, default=0)):
            if not 0 <= index < len(self._pieces):
                raise RunError(
                    f"tokenizer: there is no piece {index}, the vocabulary has"
                    f" {len(self._pieces)}; use the tokenizer that the model was trained with"
                )
        return known


class Tokenizers(NamedTuple):
    """A tokenizer for each side. With a joint vocabulary both are the same object, unless they came
    with a model that cuts each language by its own rules.
    """

    source: Tokenizer
    target: Tokenizer

    @property
    def joint(self) -> bool:
        """Whether an id means the same piece on both sides."""
        return self.source is self.target or self.source.vocabulary == self.target.vocabulary

    @classmethod
    def load(cls, folder: Path, limit: int = LARGEST_JSON) -> Tokenizers:
        joint = folder / "tokenizer.json"
        if joint.exists() or not (folder / "source.tokenizer.json").exists():
            tokenizer = Tokenizer.load(joint, limit)
            return cls(tokenizer, tokenizer)
        return cls(
            Tokenizer.load(folder / "source.tokenizer.json", limit),
            Tokenizer.load(folder / "target.tokenizer.json", limit),
        )
