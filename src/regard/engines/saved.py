"""What transformers saved in a folder: settings and weights, each tensor once."""

import re
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from safetensors import SafetensorError, safe_open
from torch import Tensor

from regard.errors import RunError
from regard.files import HEADER_BYTES
from regard.small_files import (
    LARGEST,
    open_regular,
    parse_json,
    read_small,
    real_folder,
    refusing,
)

# What a file may contain besides the weights: tables that follow from the sizes.
BESIDE = re.compile(
    r"model\.(en|de)coder\.embed_positions\.weight|.*\.attn\.(masked_)?bias"
    r"|bert\.embeddings\.(position|token_type)_ids|(text|vision)_model\.embeddings\.position_ids"
    # Parts of ViT that a classifier does not use.
    r"|vit\.pooler\.dense\.(weight|bias)|vit\.embeddings\.mask_token"
)
PREFIXES = {"gpt2": ("transformer.", "lm_head."), "bert": ("bert.", "cls.")}


def read_weights(folder: Path) -> dict[str, Tensor]:
    path = folder / "model.safetensors"
    if not path.is_file():
        if (folder / "model.safetensors.index.json").is_file():
            raise RunError(f"{folder}: the weights are in several files; save them as one first")
        if any(folder.glob("*.bin")) or any(folder.glob("*.pt")):
            raise RunError(
                f"{folder}: the weights are pickled, and opening a pickle can run anything; "
                "save them as model.safetensors first, where you trust them"
            )
        raise RunError(
            f"{folder}: no model.safetensors here; name a folder that transformers saved"
        )
    try:
        path = saved_file(path)
        with open_regular(path) as file:
            if int.from_bytes(file.read(8), "little") > HEADER_BYTES:
                raise RunError(
                    f"{path}: damaged or not a safetensors file (its header is too long)"
                )
        with safe_open(path, framework="pt") as file:
            return {name: file.get_tensor(name) for name in file.keys()}  # noqa: SIM118
    except OSError as error:
        raise RunError(f"{path}: cannot be read ({error.strerror or error})") from None
    except SafetensorError as error:
        raise RunError(f"{path}: damaged or not a safetensors file ({error})") from None


def tidied(
    found: Mapping[str, Tensor], config: Mapping[str, Any], where: Path
) -> dict[str, Tensor]:
    """Each tensor once, under the name that transformers gives it today."""
    family = config["model_type"]
    tensors = {
        name.replace(".gamma", ".weight").replace(".beta", ".bias"): tensor
        for name, tensor in found.items()
    }
    if family in PREFIXES and not any(name.startswith(PREFIXES[family][0]) for name in tensors):
        first, head = PREFIXES[family]
        tensors = {
            name if name.startswith(head) else first + name: tensor
            for name, tensor in tensors.items()
        }
    tensors = {name: tensor for name, tensor in tensors.items() if not BESIDE.fullmatch(name)}
    # Every Marian model is saved with an output bias, which is mostly all zeros.
    if "final_logits_bias" in tensors and not bool(tensors["final_logits_bias"].any()):
        del tensors["final_logits_bias"]
    for name, first in repeated(config).items():
        if name in tensors:
            tensor = tensors.pop(name)
            if not tensors.setdefault(first, tensor).equal(tensor):
                raise RunError(f"{where}: {name} is not {first}, though the settings say so")
    return tensors


def repeated(config: Mapping[str, Any]) -> dict[str, str]:
    """Names under which a file may repeat a tensor."""
    tied = config.get("tie_word_embeddings", True)
    match config["model_type"]:
        case "marian" | "pegasus" if config.get("share_encoder_decoder_embeddings", True):
            inner = [f"model.{side}.embed_tokens.weight" for side in ("encoder", "decoder")]
            return dict.fromkeys([*inner, "lm_head.weight"], "model.shared.weight")
        case "marian" if tied:
            return {"lm_head.weight": "model.decoder.embed_tokens.weight"}
        case "gpt2" if tied:
            return {"lm_head.weight": "transformer.wte.weight"}
        case "bert":
            return {
                "cls.predictions.decoder.weight": "bert.embeddings.word_embeddings.weight",
                "cls.predictions.decoder.bias": "cls.predictions.bias",
            }
    return {}


def saved_file(path: Path) -> Path:
    """The file itself. Hugging Face keeps what it downloads in `blobs`, and links in
    `snapshots/REVISION` lead there; no other link is followed.
    """
    blobs = path.parent.parent.parent / "blobs"
    if path.parent.parent.name == "snapshots" and path.is_symlink() and real_folder(blobs):
        target = path.parent / path.readlink()
        if target.parent.resolve() == blobs.resolve():
            return target
    return path


def read_saved(path: Path, limit: int = LARGEST) -> bytes:
    """The content of a file that transformers saved."""
    return read_small(saved_file(path), limit)


def read_object(path: Path, limit: int = LARGEST) -> dict[str, Any]:
    """The object in a JSON file that transformers saved."""
    try:
        content = read_saved(path, limit)
    except FileNotFoundError:
        raise RunError(
            f"{path.parent}: no {path.name} here; name a folder that transformers saved"
        ) from None
    except OSError as error:
        raise RunError(f"{path}: cannot be read ({error.strerror})") from None
    with refusing(RunError(f"{path}: not valid JSON; save the model again")):
        values = parse_json(content)
    if not isinstance(values, dict):
        raise RunError(f"{path}: not an object of settings; save the model again")
    return values


def optional_object(path: Path) -> dict[str, Any]:
    """The object in a JSON file; an empty one if there is no such file."""
    return read_object(path) if path.exists() or path.is_symlink() else {}
