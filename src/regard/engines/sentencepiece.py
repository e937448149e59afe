"""SentencePiece's files beside a Marian model, as tokenizers that regard keeps.

Such a model has a file for each language and ids of its own: source.spm and target.spm cut a text
into pieces, vocab.json says which piece has which id. OPUS-MT's models are saved like that.
"""

import json
import math
import unicodedata
from pathlib import Path
from typing import Any

from tokenizers import Tokenizer as Library

from regard.engines.saved import read_saved
from regard.errors import RunError
from regard.small_files import parse_json, refusing
from regard.text.foreign import class_of
from regard.text.normalise import WORD_START

LARGEST_FILE = 100_000_000
# The score of each character in a piece that only the other language has. It is worse than that of
# any way to cut a text into known pieces, so such a piece is the last resort, and short ones win.
ELSEWHERE = -100_000.0
PROBES = 2000
# Control and format characters, separators, and the replacement character.
INVISIBLE = [
    code
    for code in range(1, 0x10000)
    if unicodedata.category(chr(code)) in ("Cc", "Cf", "Zs", "Zl", "Zp") or code == 0xFFFD
]


def document_of(model: Path, vocabulary: Path) -> dict[str, Any]:
    """The tokenizer.json that cuts as the file `model` does, into pieces with the ids that the file
    `vocabulary` gives them.
    """
    processor, ids = read_model(model), read_vocabulary(vocabulary)
    pieces = sorted(ids, key=ids.__getitem__)
    if [ids[piece] for piece in pieces] != list(range(len(pieces))) or "<unk>" not in ids:
        raise RunError(
            f"{vocabulary}: its ids are not 0, 1, 2 and so on with <unk> among them; save it again"
        )
    try:
        document = cut_like(processor, ids)
        check(document, processor, ids, model)
    except (RuntimeError, ValueError) as error:
        raise RunError(f"{model}: not a SentencePiece model ({error})") from None
    return document


def cut_like(processor: Any, ids: dict[str, int]) -> dict[str, Any]:
    scores = {processor.id_to_piece(i): processor.get_score(i) for i in plain(processor)}
    if not all(map(math.isfinite, scores.values())):
        raise ValueError("its scores are not finite")
    crossing = any(WORD_START in piece[1:].rstrip(WORD_START) for piece in scores)
    return {
        "version": "1.0",
        "truncation": None,
        "padding": None,
        "added_tokens": language_codes(ids),
        "normalizer": {"type": "Sequence", "normalizers": normaliser_like(processor)},
        "pre_tokenizer": {
            "type": "Metaspace",
            "replacement": WORD_START,
            "prepend_scheme": "always",
            "split": not crossing,
        },
        "post_processor": None,
        "decoder": {
            "type": "Metaspace",
            "replacement": WORD_START,
            "prepend_scheme": "always",
            "split": True,
        },
        "model": {
            "type": "Unigram",
            "unk_id": ids["<unk>"],
            "byte_fallback": False,
            "vocab": [
                [piece, scores.get(piece, ELSEWHERE * len(piece))]
                for piece in sorted(ids, key=ids.__getitem__)
            ],
        },
    }


def plain(processor: Any) -> list[int]:
    """The ids of ordinary pieces, which texts are made of."""
    special = (processor.is_control, processor.is_unknown, processor.is_unused)
    return [i for i in range(len(processor)) if not any(test(i) for test in special)]


def language_codes(ids: dict[str, int]) -> list[dict[str, Any]]:
    """The pieces that name a language: a model of several languages writes the one whose piece
    comes before the text.
    """
    return [
        {
            "id": index,
            "content": piece,
            "single_word": False,
            "lstrip": True,
            "rstrip": True,
            "normalized": False,
            "special": False,
        }
        for piece, index in sorted(ids.items(), key=lambda entry: entry[1])
        if len(piece) > 4 and piece.startswith(">>") and piece.endswith("<<")
    ]


def normaliser_like(processor: Any) -> list[dict[str, Any]]:
    """The file's normalisation, expressed in known parts: some characters become white space, some
    are dropped, the rest get their compatible form (NFKC). White space then becomes one space.
    """
    blank, gone = [], []
    for code in INVISIBLE:
        match processor.normalize(f"a{chr(code)}b"):
            case "▁a▁b" if chr(code) != " ":
                blank.append(code)
            case "▁ab":
                gone.append(code)
    parts: list[dict[str, Any]] = [
        {"type": "Replace", "pattern": {"Regex": class_of(codes)}, "content": content}
        for codes, content in ((gone, ""), (blank, " "))
        if codes
    ]
    if processor.normalize("\N{FULLWIDTH LATIN CAPITAL LETTER A}") == "▁A":
        parts.append({"type": "NFKC"})
    return [
        *parts,
        {"type": "Strip", "strip_left": True, "strip_right": True},
        {"type": "Replace", "pattern": {"Regex": " {2,}"}, "content": " "},
    ]


def check(document: dict[str, Any], processor: Any, ids: dict[str, int], where: Path) -> None:
    """Check that our tokenizer cuts pieces, alone and several in a row, as the file does."""
    library = Library.from_str(json.dumps(document))
    words = [processor.id_to_piece(i).replace(WORD_START, " ") for i in plain(processor)]
    step = max(1, len(words) // PROBES)
    texts = ["".join(words[i : i + 1 + i % 3]) for i in range(0, len(words), step)]
    wrong = 0
    for text, encoding in zip(texts, library.encode_batch(texts), strict=True):
        expected = processor.encode(text, out_type=str)
        wrong += all(piece in ids for piece in expected) and encoding.tokens != expected
    if wrong > len(texts) / 50:
        raise RunError(
            f"{where}: this SentencePiece model cannot be expressed here ({wrong} of {len(texts)} "
            "texts are cut otherwise); only unigram models with usual settings can"
        )


def read_model(path: Path) -> Any:
    import sentencepiece

    try:
        content = read_saved(path, LARGEST_FILE)
    except OSError as error:
        raise RunError(f"{path}: cannot be read ({error.strerror})") from None
    try:
        return sentencepiece.SentencePieceProcessor(model_proto=content)
    except (RuntimeError, ValueError, OSError) as error:
        raise RunError(f"{path}: not a SentencePiece model ({error})") from None


def read_vocabulary(path: Path) -> dict[str, int]:
    try:
        content = read_saved(path)
    except FileNotFoundError:
        raise RunError(f"{path.parent}: no {path.name} here, which has the ids of pieces") from None
    except OSError as error:
        raise RunError(f"{path}: cannot be read ({error.strerror})") from None
    with refusing(RunError(f"{path}: not valid JSON; save the tokenizer again")):
        ids = parse_json(content)
    if not isinstance(ids, dict) or any(type(index) is not int for index in ids.values()):
        raise RunError(f"{path}: not a table of pieces and their ids")
    return ids
