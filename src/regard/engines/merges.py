"""CLIP's tokenizer, whose pieces are bytes that were merged: its two files as a tokenizer.json.

`vocab.json` has the pieces with their ids, `merges.txt` the pairs of pieces in the order in which
they are merged. How texts are cut before that is always the same.
"""

from pathlib import Path
from typing import Any

from regard.engines.saved import read_object, read_saved
from regard.errors import RunError
from regard.text.foreign import CLIP_WORDS, PLAIN
from regard.text.tokenizer_json import LARGEST_JSON

# Ends the last piece of a word.
SUFFIX = "</w>"
START, END = "<|startoftext|>", "<|endoftext|>"
# From pieces to text; transformers does the same, but not within its file.
DECODER = {
    "type": "Sequence",
    "decoders": [
        {"type": "ByteLevel", "add_prefix_space": True, "trim_offsets": True, "use_regex": True},
        {"type": "Replace", "pattern": {"String": SUFFIX}, "content": " "},
        {"type": "Strip", "content": " ", "start": 0, "stop": 1},
    ],
}


def document_of(folder: Path) -> dict[str, Any]:
    """The tokenizer.json that CLIP's two files stand for."""
    merges = read_merges(folder / "merges.txt")
    vocabulary = read_object(folder / "vocab.json")
    special = [
        {"id": vocabulary[piece], "content": piece, "special": True, **PLAIN}
        for piece in (START, END)
        if piece in vocabulary
    ]
    byte_level = {"type": "ByteLevel", "add_prefix_space": False, "trim_offsets": True}
    return {
        "version": "1.0",
        "truncation": None,
        "padding": None,
        "added_tokens": special,
        "normalizer": {
            "type": "Sequence",
            "normalizers": [
                {"type": "NFC"},
                {"type": "Replace", "pattern": {"Regex": r"\s+"}, "content": " "},
                {"type": "Lowercase"},
            ],
        },
        "pre_tokenizer": {
            "type": "Sequence",
            "pretokenizers": [
                {
                    "type": "Split",
                    "pattern": {"Regex": CLIP_WORDS},
                    "behavior": "Removed",
                    "invert": True,
                },
                {**byte_level, "use_regex": True},
            ],
        },
        "post_processor": None,
        "decoder": DECODER,
        "model": {
            "type": "BPE",
            "dropout": None,
            "unk_token": END,
            "continuing_subword_prefix": "",
            "end_of_word_suffix": SUFFIX,
            "fuse_unk": False,
            "byte_fallback": False,
            "ignore_merges": False,
            "vocab": vocabulary,
            "merges": merges,
        },
    }


def read_merges(path: Path) -> list[list[str]]:
    """Pairs of pieces, one in each line after the first, which may name the version."""
    try:
        lines = read_saved(path, LARGEST_JSON).decode().split("\n")
    except FileNotFoundError:
        raise RunError(
            f"{path.parent}: no tokenizer.json here, and no vocab.json with merges.txt; save the "
            "model's fast tokenizer into the folder"
        ) from None
    except OSError as error:
        raise RunError(f"{path}: cannot be read ({error.strerror})") from None
    except UnicodeDecodeError:
        raise RunError(f"{path}: not valid UTF-8; save the tokenizer again") from None
    merges = [line.rstrip("\r").split(" ") for line in lines if line.strip()]
    if merges and merges[0][0] == "#version:":
        del merges[0]
    if wrong := next((n for n, pair in enumerate(merges, 1) if len(pair) != 2), None):
        raise RunError(f"{path}: merge {wrong} is no pair of pieces; save the tokenizer again")
    return merges
