"""The contents of tokenizer.json: a file the `tokenizers` library reads, in one fixed form.

Only the vocabulary varies, and which typographic variants are folded. Everything else (normaliser,
cutting, decoder) is written by this module, and compared with it when a file is read, so a foreign
or hostile file never reaches the library.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from itertools import product
from typing import Any, NamedTuple

from regard.errors import RunError
from regard.small_files import parse_json, refusing
from regard.text.normalise import WORD_START, normaliser
from regard.text.typography import Rule, read_rules

PAD, UNKNOWN, START, END = 0, 1, 2, 3
SPECIALS = ("<pad>", "<unk>", "<s>", "</s>")
RESERVED = SPECIALS + tuple(f"<0x{byte:02X}>" for byte in range(256))


class Specials(NamedTuple):
    """Ids of pieces that no text contains; the defaults are those of our own tokenizers. Since
    nothing is ever unknown to these, their unknown piece serves as the mask.
    """

    pad: int = PAD
    unknown: int | None = UNKNOWN
    start: int = START
    end: int = END
    mask: int | None = UNKNOWN

    @property
    def never(self) -> list[int]:
        """Ids that no output contains. In a foreign tokenizer END may share its id with one of
        these pieces; that id is then allowed.
        """
        others = {self.pad, self.unknown, self.start, self.mask}
        return sorted(index for index in others - {self.end} if index is not None)


LARGEST_VOCABULARY = 1_000_000
# Google's vocabulary of 262,000 pieces takes 33 MB.
LARGEST_JSON = 64 << 20
LONGEST_PIECE = 200

# White space begins a word. Every punctuation mark, symbol and digit is a part of its own, so no
# text can spell "</s>" or "<0x41>" in one piece. An unbroken run is cut after 128 characters, which
# bounds both the longest piece and the work for one word.
_ALONE = r"\p{P}\p{S}\p{Nd}"
_PARTS = f"{WORD_START}?[{_ALONE}&&[^{WORD_START}]]|{WORD_START}?[^{_ALONE}]{{1,128}}"
# In verbatim text, a line end and every further space are parts of their own, too.
_VERBATIM_PARTS = (
    rf"\n|{WORD_START}?[{_ALONE}&&[^{WORD_START}]]|{WORD_START}?[^{_ALONE}\n]{{1,128}}|{WORD_START}"
)
_MARK_SPACES = {
    "type": "Metaspace",
    "replacement": WORD_START,
    "prepend_scheme": "always",
    "split": False,
}
_CUT = {"type": "Split", "pattern": {"Regex": _PARTS}, "behavior": "Isolated", "invert": False}
_VERBATIM_MARK = {**_MARK_SPACES, "prepend_scheme": "never"}
_VERBATIM_CUT = {**_CUT, "pattern": {"Regex": _VERBATIM_PARTS}}
_DECODER_STEPS = [
    {"type": "ByteFallback"},
    {"type": "Fuse"},
    {"type": "Replace", "pattern": {"String": WORD_START}, "content": " "},
    {"type": "Strip", "content": " ", "start": 1, "stop": 0},
]


def frame(*, lowercase: bool, verbatim: bool = False, rules: Sequence[Rule] = ()) -> dict[str, Any]:
    """The whole file except its model. White space around sentences means nothing; in verbatim text
    every line end and every space is a part. The rules fold typographic variants.
    """
    steps = [_VERBATIM_MARK, _VERBATIM_CUT] if verbatim else [_MARK_SPACES, _CUT]
    decoders = _DECODER_STEPS[:-1] if verbatim else _DECODER_STEPS
    return {
        "version": "1.0",
        "truncation": None,
        "padding": None,
        "added_tokens": [],
        "normalizer": normaliser(lowercase=lowercase, verbatim=verbatim, rules=rules),
        "pre_tokenizer": {"type": "Sequence", "pretokenizers": steps},
        "post_processor": None,
        "decoder": {"type": "Sequence", "decoders": decoders},
    }


def bpe_model(
    learned: Sequence[str], merges: Sequence[Sequence[str]] = (), *, whole_words: bool = False
) -> dict[str, Any]:
    """Pieces built by merges. Without merges, a word in `whole_words` is one piece, and all others
    are spelled in characters.
    """
    return {
        "type": "BPE",
        "dropout": None,
        "unk_token": SPECIALS[UNKNOWN],
        "continuing_subword_prefix": None,
        "end_of_word_suffix": None,
        "fuse_unk": False,
        "byte_fallback": True,
        "ignore_merges": whole_words,
        "vocab": {piece: index for index, piece in enumerate((*RESERVED, *learned))},
        "merges": [list(merge) for merge in merges],
    }


def unigram_model(learned: Sequence[tuple[str, float]]) -> dict[str, Any]:
    """Pieces with their log-probabilities; the reserved ones are never chosen by score."""
    entries = [*((piece, 0.0) for piece in RESERVED), *learned]
    return {
        "type": "Unigram",
        "unk_id": UNKNOWN,
        "vocab": [list(entry) for entry in entries],
        "byte_fallback": True,
    }


def pieces_of(model: dict[str, Any]) -> list[str]:
    """The pieces in the order of their ids."""
    if model["type"] == "BPE":
        return sorted(model["vocab"], key=model["vocab"].__getitem__)
    return [piece for piece, _ in model["vocab"]]


def refusal(where: str, why: str) -> RunError:
    return RunError(f"{where}: not a tokenizer that regard wrote ({why}); restore the file")


def parse(text: str, where: str) -> dict[str, Any]:
    if len(text) > LARGEST_JSON:
        raise refusal(where, f"{len(text)} characters, more than {LARGEST_JSON}")
    with refusing(refusal(where, "not valid JSON")):
        document = parse_json(text)
    if not isinstance(document, dict):
        raise refusal(where, "no model section")
    return document


def read(document: dict[str, Any], where: str) -> dict[str, Any]:
    """Check a document; what is returned is safe to pass to the library."""
    model = document.get("model")
    if not isinstance(model, dict):
        raise refusal(where, "no model section")
    for lowercase, verbatim in product((False, True), repeat=2):
        rules = _rules_between(document.get("normalizer"), lowercase, verbatim)
        framed = frame(lowercase=lowercase, verbatim=verbatim, rules=rules)
        if document == {**framed, "model": model}:
            return {**framed, "model": _checked_model(model, where)}
    raise refusal(where, "its normaliser, cutting, decoder or added tokens are others")


def _rules_between(found: object, lowercase: bool, verbatim: bool) -> Sequence[Rule]:
    """The typographic rules among the steps of a normaliser: what it has more than one without."""
    before = 3 if lowercase else 2
    plain = len(normaliser(lowercase=lowercase, verbatim=verbatim)["normalizers"])
    match found:
        case {"normalizers": [*steps]}:
            return read_rules(steps[before : before + max(0, len(steps) - plain)]) or ()
    return ()


def _checked_model(model: dict[str, Any], where: str) -> dict[str, Any]:
    """The model, built again from its vocabulary alone."""
    vocabulary, merges = model.get("vocab"), model.get("merges")
    if model.get("type") == "Unigram":
        entries = _checked_scores(vocabulary, where)
        _check_pieces([piece for piece, _ in entries], where)
        rebuilt = unigram_model(entries[len(RESERVED) :])
    else:
        learned = _checked_ids(vocabulary, where)[len(RESERVED) :]
        _check_merges(merges, vocabulary, where)
        rebuilt = bpe_model(learned, merges or (), whole_words=model.get("ignore_merges") is True)
    if rebuilt != model:
        raise refusal(where, "its model has other settings")
    return rebuilt


def _checked_scores(vocabulary: object, where: str) -> list[tuple[str, float]]:
    if not isinstance(vocabulary, list) or len(vocabulary) > LARGEST_VOCABULARY:
        raise refusal(where, "no usable vocabulary")
    for entry in vocabulary:
        match entry:
            case [str(), float() as score] if math.isfinite(score):
                pass
            case _:
                raise refusal(where, "a vocabulary entry without a finite score")
    return [(piece, score) for piece, score in vocabulary]


def _checked_ids(vocabulary: object, where: str) -> list[str]:
    if not isinstance(vocabulary, dict) or len(vocabulary) > LARGEST_VOCABULARY:
        raise refusal(where, "no usable vocabulary")
    if not all(type(index) is int for index in vocabulary.values()):
        raise refusal(where, "ids that are not whole numbers")
    pieces: list[str] = sorted(vocabulary, key=vocabulary.__getitem__)
    if any(vocabulary[piece] != index for index, piece in enumerate(pieces)):
        raise refusal(where, "ids that are not 0, 1, 2 and so on")
    _check_pieces(pieces, where)
    return pieces


def _check_pieces(pieces: list[str], where: str) -> None:
    if tuple(pieces[: len(RESERVED)]) != RESERVED:
        raise refusal(where, "its special pieces are not in their places")
    if len(set(pieces)) != len(pieces):
        raise refusal(where, "a piece occurs twice")
    if not all(0 < len(piece) <= LONGEST_PIECE for piece in pieces):
        raise refusal(where, f"a piece is empty or longer than {LONGEST_PIECE} characters")
    try:
        "".join(pieces).encode()
    except UnicodeEncodeError:
        raise refusal(where, "a piece is not valid Unicode") from None


def _check_merges(merges: object, vocabulary: Any, where: str) -> None:
    if not isinstance(merges, list) or len(merges) > LARGEST_VOCABULARY:
        raise refusal(where, "no usable merges")
    for merge in merges:
        match merge:
            case [str(left), str(right)] if {left, right, left + right} <= vocabulary.keys():
                pass
            case _:
                raise refusal(where, "a merge of pieces that are not in the vocabulary")
