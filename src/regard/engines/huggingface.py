"""Runs as folders that Hugging Face's transformers loads, and such folders as runs.

Only JSON and safetensors are read and written, and SentencePiece's files are read. Nothing is
downloaded, and no code in a folder is run.
"""

import errno
import json
from collections.abc import Mapping
from importlib.metadata import version
from pathlib import Path
from typing import Any

import torch
from safetensors import SafetensorError
from safetensors.torch import save_file
from torch import Tensor

from regard import tasks
from regard.engines import huggingface_clip, huggingface_vit
from regard.engines import settings as theirs
from regard.engines.exchange import Exported, Imported, in_words, loading, with_known_pieces
from regard.engines.renaming import stream_order, to_ours, to_theirs
from regard.engines.saved import optional_object, read_object, read_weights, tidied
from regard.engines.settings import Settings
from regard.engines.vocabulary import read_tokenizers, tokenizer_files
from regard.errors import RequestError, RunError
from regard.files import UMASK, new_folder
from regard.made_with import MadeWith
from regard.recipe import Recipe, parse
from regard.run import Run
from regard.text.tokenizer import Tokenizers
from regard.weights import check_weights, load_model, save_model, weights, without_memory

# Families of encoder-decoders, which read one language and write another.
PAIRED = ("marian", "pegasus")


def export_run(folder: Path, out: Path) -> None:
    """Write the run in `folder` to `out`, completely or not at all; `out` must be new or empty.

    Raises OSError if it cannot be written.
    """
    run = Run.open(folder)
    recipe, name = run.recipe(), out.resolve().name
    match tasks.entry(recipe.task).families:
        case ():
            exported = [entry.name for entry in tasks.TASKS.values() if entry.families]
            raise RequestError(
                f"{folder}: a run for {recipe.task} has no place at Hugging Face; "
                f"{', '.join(exported)} have"
            )
        case ("vit",):
            found = huggingface_vit.export(run, recipe, name)
        case ("clip",):
            found = huggingface_clip.export(run, recipe, name)
        case _:
            found = export_texts(run, recipe, name)
    tensors = {each: tensor.contiguous() for each, tensor in found.tensors.items()}
    with new_folder(out) as scratch:
        try:
            save_file(tensors, scratch / "model.safetensors", {"format": "pt"})
        except SafetensorError as error:
            raise OSError(errno.EIO, str(error)) from None
        (scratch / "model.safetensors").chmod(0o666 & ~UMASK)
        for file, content in {"config.json": found.config, **found.files}.items():
            (scratch / file).parent.mkdir(exist_ok=True)
            write_json(scratch / file, content)
        card = exported_card(name, folder.name, recipe, found.how)
        (scratch / "README.md").write_text(card, encoding="utf-8")


def export_texts(run: Run, recipe: Recipe, name: str) -> Exported:
    """A run that reads or writes texts, as a folder of this name."""
    tokenizers = run.tokenizers()
    config = configuration(recipe, tokenizers)
    model = load_model(run)
    tensors = to_theirs(recipe.model, weights(model))
    if config["model_type"] == "pegasus":
        tensors |= positions(model, config["max_position_embeddings"])
    files = {"generation_config.json": generation(recipe, tokenizers)}
    sides = {"": tokenizers.source}
    if tokenizers.target is not tokenizers.source:
        sides["target/"] = tokenizers.target
    for side, tokenizer in sides.items():
        written = tokenizer_files(tokenizer, config)
        files |= {f"{side}{file}": content for file, content in written.items()}
    (used,) = config["architectures"]
    how = loading(name, {"model": used, "tokenizer": "AutoTokenizer"})
    if config["model_type"] == "bert" and used != "BertModel":
        how += "\nWhat is masked is written as `tokenizer.mask_token`.\n"
    return Exported(config, tensors, files, how)


def positions(model: Any, count: int) -> dict[str, Tensor]:
    """Tables of positions, which follow from a formula; without them Pegasus prints a warning."""
    table = model.positions(0, count, torch.empty(0))[:, stream_order(model.config)]
    sides = ("encoder", "decoder")
    return {f"model.{side}.embed_positions.weight": table.clone() for side in sides}


def configuration(recipe: Recipe, tokenizers: Tokenizers) -> dict[str, Any]:
    """The contents of config.json."""
    model, specials = recipe.model, tokenizers.target.specials
    match model.kind:
        case "transformer":
            sizes = len(tokenizers.source), len(tokenizers.target)
            return theirs.marian(model, *sizes, specials)
        case "gpt":
            return theirs.gpt2(model, len(tokenizers.target), specials)
        case "bert":
            return theirs.bert(model, len(tokenizers.target), specials)
    raise RequestError(
        f'Hugging Face: has no model of kind "{model.kind}"; it takes transformer, gpt and bert'
    )


def generation(recipe: Any, tokenizers: Tokenizers) -> dict[str, Any]:
    """The contents of generation_config.json: search as the run does."""
    specials = tokenizers.target.specials
    shared = {"pad_token_id": specials.pad, "eos_token_id": specials.end}
    if recipe.model.kind != "transformer":
        return shared
    return {
        **shared,
        "decoder_start_token_id": specials.start,
        "bad_words_ids": [[index] for index in specials.never],
        "num_beams": recipe.decode.beam_size,
        "length_penalty": recipe.decode.length_penalty,
        "max_new_tokens": 2 * recipe.data.max_length,
    }


def exported_card(name: str, run: str, recipe: Recipe, how: str) -> str:
    return f"""# {name}

Exported by regard {version("regard")} from the run {run} for {recipe.task}:
{in_words(recipe)}.

{how}"""


def import_run(folder: Path, out: Path) -> Recipe:
    """Make a run from what transformers saved in `folder`."""
    config = read_object(folder / "config.json")
    family = str(config.get("model_type"))
    task = tasks.for_family(family)
    if task is None:
        known = [each for entry in tasks.TASKS.values() for each in entry.families]
        raise RequestError(
            f"{folder}: a model of type {family[:40]!r} cannot be imported, only {', '.join(known)}"
        )
    settings = Settings(config, folder / "config.json")
    tensors = tidied(read_weights(folder), config, folder / "model.safetensors")
    read = {"vit": huggingface_vit.read, "clip": huggingface_clip.read}.get(family, read_texts)
    found = read(folder, task.name, settings, tensors)
    parameters = checked_parameters(found, folder)
    with new_folder(out) as scratch:
        write_run(Run(scratch), found, folder, out.resolve().name, parameters)
    return found.recipe


def checked_parameters(found: Imported, folder: Path) -> int:
    """The number of parameters, after checking that the tensors are those of the recipe's model."""
    try:
        model = without_memory(found.recipe, found.sizes)
    except (ValueError, RuntimeError, OverflowError) as error:
        raise RunError(f"{folder / 'config.json'}: no such model can be built ({error})") from None
    check_weights(model, found.tensors, folder / "model.safetensors")
    return sum(parameter.numel() for parameter in model.parameters())


def write_run(run: Run, found: Imported, folder: Path, name: str, parameters: int) -> None:
    """Write what was imported from a folder as the run of this name."""
    run.save_recipe(found.recipe)
    if found.tokenizers:
        run.save_tokenizers(found.tokenizers)
    if found.labels:
        run.save_labels(found.labels)
    made_with = MadeWith.of(run, found.recipe)
    save_model(run, found.tensors, step=0, sizes=found.sizes, made_with=made_with)
    facts = {"task": found.recipe.task, "imported_from": str(folder), "parameters": parameters}
    made_by = {"regard": version("regard"), "torch": torch.__version__}
    run.save_info({**made_by, **facts, "step": 0})
    card = imported_card(name, folder, found, parameters)
    (run.folder / "README.md").write_text(card, encoding="utf-8")


def read_texts(
    folder: Path, task: str, settings: Settings, tensors: Mapping[str, Tensor]
) -> Imported:
    """A model that reads or writes texts, as transformers saved it."""
    family = settings.values["model_type"]
    match family:
        case "marian" | "pegasus":
            model = theirs.from_marian(settings, tensors)
        case "gpt2":
            model = theirs.from_gpt2(settings)
        case _:
            model = theirs.from_bert(settings, tensors)
    tokenizers = read_tokenizers(folder, settings, family)
    values: dict[str, Any] = {
        "task": task,
        "data": {"imported": str(folder), "context": model.get("max_positions")},
        "model": model,
    }
    if family in PAIRED:
        values |= {
            "data": {"imported": str(folder), **reading(folder, settings)},
            "tokenizer": {"joint": tokenizers.joint},
            "decode": searching(folder, settings),
        }
    recipe = parse(values, str(folder / "config.json"))
    ours = to_ours(recipe.model, tensors, folder / "model.safetensors")
    return Imported(
        recipe,
        with_known_pieces(ours, tokenizers, folder),
        {"inputs": len(tokenizers.source), "outputs": len(tokenizers.target)},
        tokenizers,
    )


def reading(folder: Path, settings: Settings) -> dict[str, Any]:
    """The [data] section: how much the model reads at a time, and its languages."""
    limits: dict[str, Any] = {
        "max_length": min(512, settings.whole("max_position_embeddings", 1024))
    }
    found = optional_object(folder / "tokenizer_config.json")
    languages = [found.get("source_lang"), found.get("target_lang")]
    if all(isinstance(code, str) and code for code in languages):
        limits["languages"] = languages
    return limits


def searching(folder: Path, settings: Settings) -> dict[str, Any]:
    """The [decode] section, as far as the model's files contain search settings."""
    given = {**settings.values, **optional_object(folder / "generation_config.json")}
    names = {"beam_size": "num_beams", "length_penalty": "length_penalty"}
    return {ours: given[theirs] for ours, theirs in names.items() if given.get(theirs) is not None}


def imported_card(name: str, folder: Path, found: Imported, parameters: int) -> str:
    kept = "\n- The tokenizer keeps its own pieces and ids." if found.tokenizers else ""
    return f"""# {name}

Imported by regard {version("regard")} from `{folder.resolve().name}`, in the form of
Hugging Face's transformers; nothing was trained here. What it was trained on, by whom and under
which licence, its own card says.

- Model: {in_words(found.recipe)};
  {parameters:,} parameters.
- Task: {found.recipe.task}.{kept}
"""


def write_json(path: Path, content: Mapping[str, Any]) -> None:
    path.write_text(json.dumps(content, indent=2, ensure_ascii=False) + "\n", encoding="utf-8")
