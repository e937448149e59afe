"""Our tokenizers as the files that transformers keeps beside a model, and back."""

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from regard.engines import merges
from regard.engines.saved import optional_object, read_object
from regard.engines.sentencepiece import document_of
from regard.engines.settings import Settings
from regard.errors import RunError
from regard.text import foreign
from regard.text.tokenizer import SPECIALS, Specials, Tokenizer, Tokenizers
from regard.text.tokenizer_json import LARGEST_JSON

# The special pieces around a text, for each type of model.
AROUND = {
    "marian": ("text", "end"),
    "pegasus": ("text", "end"),
    "gpt2": ("text",),
    "bert": ("start", "text", "end"),
    "clip": ("start", "text", "end"),
}
# Their names for each role; the first that exists is used.
ROLES = {
    "pad": ("pad_token",),
    "unknown": ("unk_token",),
    "start": ("cls_token", "bos_token"),
    "end": ("sep_token", "eos_token"),
    "mask": ("mask_token",),
}
USUAL = {
    "marian": {"pad": "<pad>", "unknown": "<unk>", "end": "</s>"},
    "bert": {
        "pad": "[PAD]",
        "unknown": "[UNK]",
        "start": "[CLS]",
        "end": "[SEP]",
        "mask": "[MASK]",
    },
    "clip": dict.fromkeys(("pad", "unknown", "end"), "<|endoftext|>")
    | {"start": "<|startoftext|>"},
}


def tokenizer_files(tokenizer: Tokenizer, model: Mapping[str, Any]) -> dict[str, dict[str, Any]]:
    """tokenizer.json with the pieces that a model expects around a text, and the file that names
    these.
    """
    family = model["model_type"]
    specials = tokenizer.specials
    names = {
        role: tokenizer.pieces([index])[0]
        for role, index in specials._asdict().items()
        if index is not None
    }
    document = json.loads(tokenizer.to_json())
    if not document["added_tokens"]:
        document["added_tokens"] = [
            {"id": index, "content": piece, "special": True, **foreign.PLAIN}
            for index, piece in enumerate(SPECIALS)
        ]
    document["post_processor"] = foreign.template(
        {role: (names[role], index) for role, index in specials._asdict().items() if role in names},
        AROUND[family],
        named=names,
    )
    config: dict[str, Any] = {
        "tokenizer_class": "PreTrainedTokenizerFast",
        "model_max_length": model.get("max_position_embeddings", model.get("n_positions")),
        "clean_up_tokenization_spaces": False,
        # A text that spells a special piece is ordinary text, except for BERT, where people write
        # the mask.
        "split_special_tokens": family != "bert",
        "pad_token": names["pad"],
        "eos_token": names["end"],
        "bos_token": names["start"],
    }
    if "unknown" in names:
        config["unk_token"] = names["unknown"]
    if family == "bert":
        config |= {"cls_token": names["start"], "sep_token": names["end"]}
        if "mask" in names:
            config["mask_token"] = names["mask"]
    inputs = ["input_ids", *(["token_type_ids"] if family == "bert" else []), "attention_mask"]
    config["model_input_names"] = inputs
    return {"tokenizer.json": document, "tokenizer_config.json": config}


def read_tokenizers(folder: Path, settings: Settings, family: str) -> Tokenizers:
    """One tokenizer for both sides, or a second one in the folder `target`; or SentencePiece's
    files, one for each side; or the pieces and merges of CLIP.
    """
    if family == "clip" and not (folder / "tokenizer.json").is_file():
        path = folder / "merges.txt"
        found = adopt(folder, merges.document_of(folder), settings, family, str(path))
        return Tokenizers(found, found)
    if (folder / "source.spm").is_file() and not (folder / "tokenizer.json").is_file():
        own = folder / "target_vocab.json"
        vocabularies = folder / "vocab.json", own if own.is_file() else folder / "vocab.json"
        models = folder / "source.spm", folder / "target.spm"
        source, target = (
            adopt(folder, document_of(*files), settings, family, str(files[0]))
            for files in zip(models, vocabularies, strict=True)
        )
        return Tokenizers(source, target)
    source = read_tokenizer(folder, settings, family)
    if not (folder / "target" / "tokenizer.json").is_file():
        return Tokenizers(source, source)
    return Tokenizers(source, read_tokenizer(folder / "target", settings, family))


def read_tokenizer(folder: Path, settings: Settings, family: str) -> Tokenizer:
    path = folder / "tokenizer.json"
    if not path.is_file():
        raise RunError(
            f"{folder}: no tokenizer.json here; save the model's fast tokenizer into the folder"
        )
    document = read_object(path, LARGEST_JSON)
    bare = {**document, "added_tokens": [], "post_processor": None}
    try:
        return Tokenizer.from_json(json.dumps(bare), str(path))
    except RunError:
        return adopt(folder, document, settings, family, str(path))


def adopt(
    folder: Path, document: dict[str, Any], settings: Settings, family: str, where: str
) -> Tokenizer:
    """A foreign tokenizer in the form in which a run keeps it."""
    specials = special_ids(folder, document, settings, family)
    if document["model"].get("end_of_word_suffix") == merges.SUFFIX:
        document = {**document, "decoder": merges.DECODER}
    kept = foreign.adopted(document, specials, AROUND[family], where)
    return Tokenizer.from_json(json.dumps(kept, ensure_ascii=False), where)


def special_ids(folder: Path, document: Any, settings: Settings, family: str) -> Specials:
    """The special ids, from the names in the tokenizer's settings or else from the ids in the
    model's.
    """
    ids = {piece: i for i, piece in foreign.vocabulary(document, str(folder)).items()}
    named: dict[str, Any] = {}
    for file in ("special_tokens_map.json", "tokenizer_config.json"):
        try:
            named |= optional_object(folder / file)
        except RunError:
            continue
    found: dict[str, int | None] = {}
    for role, keys in ROLES.items():
        pieces = [named.get(key) for key in keys] + [USUAL.get(family, {}).get(role)]
        pieces = [piece.get("content") if isinstance(piece, dict) else piece for piece in pieces]
        found[role] = next((ids[p] for p in pieces if isinstance(p, str) and p in ids), None)
    end = found["end"] if found["end"] is not None else settings.identity("eos_token_id")
    if end is None:
        raise RunError(f"{folder}: nothing says which piece ends a text; name its eos_token")
    start = found["start"] if found["start"] is not None else settings.identity("bos_token_id")
    if family in ("marian", "pegasus"):
        start = settings.identity("decoder_start_token_id")
    pad = found["pad"] if found["pad"] is not None else settings.identity("pad_token_id")
    return Specials(
        pad=end if pad is None else pad,
        unknown=found["unknown"],
        start=end if start is None else start,
        end=end,
        mask=found["mask"],
    )
