"""Tokenizers that came with an imported model: any tokenizer.json made of known parts.

It keeps its ids, special ones included, since the model knows these. Which ids are special is in
the post-processor: a template that names each by its role and says where it goes around a text. The
library reads the file like any other.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from itertools import islice
from typing import Any

from regard.errors import RunError, shown
from regard.text.tokenizer_json import LARGEST_VOCABULARY, LONGEST_PIECE, Specials

# Parts whose running time is linear in the length of the text, and which contain no programs.
KNOWN = {
    "normalizer": {
        *("BertNormalizer", "Lowercase", "NFC", "NFD", "NFKC", "NFKD", "Prepend", "Replace"),
        *("Sequence", "Strip", "StripAccents"),
    },
    "pre_tokenizer": {
        *("BertPreTokenizer", "ByteLevel", "Digits", "Metaspace", "Punctuation", "Sequence"),
        *("Split", "Whitespace", "WhitespaceSplit"),
    },
    "model": {"BPE", "Unigram", "WordLevel", "WordPiece"},
    "decoder": {
        *("BPEDecoder", "ByteFallback", "ByteLevel", "Fuse", "Metaspace", "Replace", "Sequence"),
        *("Strip", "WordPiece"),
    },
}
# How many parts a section may have, and those of which it may have several. Others would make a
# text longer each time, or do nothing.
MOST_PARTS = 32
SEVERAL = {"Replace", "Sequence", "Split", "Strip"}
# How many times longer the replacements of a section may make a text, one after the other; how long
# what is written before a text may be, and a prefix or suffix of pieces; how long a pattern is.
MOST_GROWTH, LONGEST_ADDED, LONGEST_PATTERN = 4, 20, 20_000
# WordPiece takes the square of this for a word.
LONGEST_WORD = 1000
MOST_ADDED = 20_000
# A special piece is found wherever it is spelled, and nothing around it matters.
PLAIN = {"single_word": False, "lstrip": False, "rstrip": False, "normalized": False}
# How CLIP cuts a text into words. In older files, the special pieces are not in it.
CLIP_PARTS = r"'s|'t|'re|'ve|'m|'ll|'d|[\p{L}]+|[\p{N}]|[^\s\p{L}\p{N}]+"
CLIP_WORDS = rf"<\|startoftext\|>|<\|endoftext\|>|{CLIP_PARTS}"
# Some patterns take for ever; these do not, nor does a class of characters.
HARMLESS = {r"\s+", " {2,}", CLIP_PARTS, CLIP_WORDS}
CLASS = re.compile(r"\[(\\x\{[0-9a-f]{1,6}\}(-\\x\{[0-9a-f]{1,6}\})?)+\]")


def adopted(
    document: dict[str, Any], specials: Specials, around: tuple[str, ...], where: str
) -> dict[str, Any]:
    """A foreign file in the form in which a run keeps it. `around` says what the model expects
    around a text: some of "start", "text" and "end".
    """
    pieces = vocabulary(document, where)
    roles = {role: index for role, index in specials._asdict().items() if index is not None}
    for role, index in roles.items():
        if index not in pieces:
            raise refused(where, f"there is no piece {index}, which is to be the {role}")
    named = {role: (pieces[index], index) for role, index in roles.items()}
    processor = template(named, around, named={role: role for role in roles})
    kept = {**document, "truncation": None, "padding": None, "post_processor": processor}
    return checked(kept, where)


def template(
    specials: Mapping[str, tuple[str, int]], around: tuple[str, ...], named: Mapping[str, str]
) -> dict[str, Any]:
    """A post-processor that puts special pieces around a text, or around two with segments 0 and 1.
    `specials` has the piece and the id of each role; `named` says what the template calls it.
    """
    single: list[dict[str, Any]] = [
        {"Sequence": {"id": "A", "type_id": 0}}
        if part == "text"
        else {"SpecialToken": {"id": named[part], "type_id": 0}}
        for part in around
    ]
    second: list[dict[str, Any]] = [{"Sequence": {"id": "B", "type_id": 1}}]
    if "end" in around:
        second.append({"SpecialToken": {"id": named["end"], "type_id": 1}})
    return {
        "type": "TemplateProcessing",
        "single": single,
        "pair": [*single, *second],
        "special_tokens": {
            named[role]: {"id": named[role], "ids": [index], "tokens": [piece]}
            for role, (piece, index) in specials.items()
        },
    }


def specials_of(document: dict[str, Any], where: str) -> Specials:
    """The special ids that the template names."""
    match document.get("post_processor"):
        case {"type": "TemplateProcessing", "special_tokens": dict(named)}:
            pass
        case _:
            raise refused(where, "it does not say which pieces are special")
    ids = {}
    for role, entry in named.items():
        match entry:
            case {"ids": [int(index)]} if role in Specials._fields and type(index) is int:
                ids[role] = index
            case _:
                raise refused(where, f"{shown(role)} is no special piece")
    if not {"pad", "start", "end"} <= ids.keys():
        raise refused(where, "it does not say which pieces pad, start and end a text")
    return Specials(**{role: ids.get(role) for role in Specials._fields})  # type: ignore[arg-type]


def checked(document: dict[str, Any], where: str) -> dict[str, Any]:
    """The document, after checking that it is safe to pass to the library."""
    pieces = vocabulary(document, where)
    for role, index in specials_of(document, where)._asdict().items():
        if index is not None and index not in pieces:
            raise refused(where, f"there is no piece {index}, which is to be the {role}")
    if sorted(pieces) != list(range(len(pieces))):
        raise refused(where, "its ids are not 0, 1, 2 and so on")
    for section, known in KNOWN.items():
        parts = list(islice(parts_of(document.get(section)), MOST_PARTS + 1))
        for part in parts:
            kind = part.get("type")
            if not isinstance(kind, str) or kind not in known:
                raise refused(where, f"its {section} has a part of type {shown(kind)}")
            match part.get("pattern"):
                case {"Regex": pattern} if not harmless(pattern):
                    raise refused(where, f"its {section} cuts by a pattern of its own")
        check_growth(parts, section, where)
    check_model(document["model"], where)
    if document.get("truncation") or document.get("padding"):
        raise refused(where, "it cuts or pads texts by itself")
    return document


def check_growth(parts: Sequence[dict[str, Any]], section: str, where: str) -> None:
    """Refuse parts that make a text much longer, or that are too many to be meant."""
    kinds = [part["type"] for part in parts if part["type"] not in SEVERAL]
    if len(parts) > MOST_PARTS or len(set(kinds)) < len(kinds):
        raise refused(where, f"its {section} has more than {MOST_PARTS} parts, or one twice")
    growth = 1.0
    for part in parts:
        match part:
            case {"type": "Replace", "pattern": {"String": str(old)}, "content": str(new)} if old:
                growth *= max(1, len(new) / len(old))
            case {"type": "Replace", "pattern": {"Regex": str()}, "content": str(new)}:
                growth *= max(1, len(new))
            case {"type": "Split", "pattern": {"Regex": str()} | {"String": str()}}:
                pass
            case {"type": "Replace" | "Split"}:
                raise refused(where, f"its {section} has a pattern that is none")
            case _ if any(
                isinstance(value, str) and len(value) > LONGEST_ADDED for value in part.values()
            ):
                raise refused(where, f"its {section} adds more than {LONGEST_ADDED} characters")
        if growth > MOST_GROWTH:
            raise refused(where, f"its {section} makes a text more than {MOST_GROWTH} times longer")


def check_model(model: Mapping[str, Any], where: str) -> None:
    """Refuse settings of a model that cost much time or give another answer each time."""
    for name in ("continuing_subword_prefix", "end_of_word_suffix", "unk_token"):
        value = model.get(name)
        if value is not None and not (isinstance(value, str) and len(value) <= LONGEST_PIECE):
            raise refused(where, f"its {name} is no piece")
    longest = model.get("max_input_chars_per_word", 1)
    if type(longest) is not int or not 0 < longest <= LONGEST_WORD:
        raise refused(where, f"it cuts words of more than {LONGEST_WORD} characters")
    if model.get("dropout"):
        raise refused(where, "it leaves out merges at random")
    merges = model.get("merges", [])
    if not isinstance(merges, list) or len(merges) > LARGEST_VOCABULARY:
        raise refused(where, "no usable merges")


def class_of(codes: Sequence[int]) -> str:
    """A pattern that matches one of these characters, given in rising order."""
    ranges: list[list[int]] = []
    for code in codes:
        if ranges and ranges[-1][1] == code - 1:
            ranges[-1][1] = code
        else:
            ranges.append([code, code])
    return "[" + "".join(f"\\x{{{first:x}}}-\\x{{{last:x}}}" for first, last in ranges) + "]"


def harmless(pattern: object) -> bool:
    return isinstance(pattern, str) and (
        pattern in HARMLESS
        or (len(pattern) <= LONGEST_PATTERN and CLASS.fullmatch(pattern) is not None)
    )


def parts_of(section: Any) -> Iterator[dict[str, Any]]:
    """A part, or the parts of a sequence."""
    if section is None:
        return
    if not isinstance(section, dict):
        yield {}
        return
    yield section
    for inner in ("normalizers", "pretokenizers", "decoders"):
        parts = section.get(inner) or []
        for part in parts if isinstance(parts, list) else [parts]:
            yield from parts_of(part)


def vocabulary(document: dict[str, Any], where: str) -> dict[int, str]:
    """Pieces by id, added ones included."""
    model, added = document.get("model"), document.get("added_tokens") or []
    entries = model.get("vocab") if isinstance(model, dict) else None
    pieces: dict[int, str] = {}
    pairs: list[tuple[Any, Any]]
    if isinstance(entries, list):
        pairs = [
            (entry[0], index) if isinstance(entry, list) and entry else ("", index)
            for index, entry in enumerate(entries)
        ]
    elif isinstance(entries, dict):
        pairs = list(entries.items())
    else:
        raise refused(where, "it has no vocabulary")
    if not isinstance(added, list) or len(added) > MOST_ADDED:
        raise refused(where, f"it has more than {MOST_ADDED} added pieces")
    if len(pairs) + len(added) > LARGEST_VOCABULARY:
        raise refused(where, f"its vocabulary has more than {LARGEST_VOCABULARY} entries")
    pairs += [
        (entry.get("content"), entry.get("id")) if isinstance(entry, dict) else ("", -1)
        for entry in added
    ]
    for piece, index in pairs:
        if not isinstance(piece, str) or not 0 < len(piece) <= LONGEST_PIECE:
            raise refused(where, f"a piece is empty or longer than {LONGEST_PIECE} characters")
        if type(index) is not int or pieces.setdefault(index, piece) != piece:
            raise refused(where, f"the id of {shown(piece)} is not its own")
    return pieces


def refused(where: str, why: str) -> RunError:
    return RunError(f"{where}: not a tokenizer that regard can use ({why})")
