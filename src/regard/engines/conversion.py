"""Converts a run's model to the format of CTranslate2.

The folder is complete: weights, vocabularies, our tokenizer files, and `regard.json`, which says
where it came from and how to search.
"""

import json
from dataclasses import asdict
from importlib.metadata import version
from pathlib import Path
from typing import Any

from regard import made_with, tasks
from regard.configs.transformer import TransformerConfig
from regard.engines.aligner import Aligner
from regard.engines.ctranslate2 import FACTS, LAYOUT, fingerprint
from regard.engines.shortlist import Shortlist
from regard.errors import RequestError
from regard.files import new_folder, read_arrays
from regard.run import Run

# CTranslate2 looks up sinusoidal positions in a table, which needs a fixed length.
POSITIONS = 4096
# What can be done with a run that CTranslate2 cannot hold.
WITH_TORCH = "translate and serve it with --engine torch"


def convert(folder: Path, path: Path, int8: bool = False) -> None:
    """Write the run in `folder` to `path`, which must not exist or be empty: all of it or nothing.

    Raises OSError where it cannot be written.
    """
    # CTranslate2's own module of specifications loads PyTorch where it is installed.
    from regard.engines.specification import check, specification

    run = Run.open(folder)
    translating = [name for name, entry in tasks.TASKS.items() if "translations" in entry.serves]
    recipe: Any = run.recipe_for(*translating)
    if not isinstance(recipe.model, TransformerConfig):
        raise RequestError(
            f'{folder}: CTranslate2 runs no model of kind "{recipe.model.kind}", '
            f"only a Transformer; {WITH_TORCH}"
        )
    tokenizers = run.tokenizers()
    if recipe.model.pruned:
        raise RequestError(
            f"{folder}: some layers have lost heads, and CTranslate2 wants as many in each; "
            f"{WITH_TORCH}"
        )
    if any(tokenizer.specials.unknown is None for tokenizer in tokenizers):
        raise RequestError(
            f"{folder}: CTranslate2 wants a piece for what is unknown, and the imported tokenizer "
            f"has none; {WITH_TORCH}"
        )
    run.require_weights()
    tensors, metadata = read_arrays(run.model_path)
    made_with.check(run, metadata)
    check(tensors, recipe.model, tokenizers, run.model_path)
    positions = max(POSITIONS, recipe.data.max_length)
    if recipe.model.positions == "learned":
        positions = recipe.model.max_positions
    shortlist = Shortlist.of_run(run)
    aligner = Aligner.of_run(run, recipe.model.decoder_layers)
    spec = specification(tensors, recipe.model, tokenizers, positions, aligner)
    spec.validate()
    spec.optimize(quantization="int8" if int8 else None)
    facts = {
        "layout": LAYOUT,
        "run": str(folder),
        "fingerprint": fingerprint(run),
        "made_by": f"regard {version('regard')}, ctranslate2 {version('ctranslate2')}",
        "longest_source": recipe.data.max_length - 1,
        "positions": None if recipe.model.positions == "rotary" else positions,
        "positions_end": recipe.model.positions == "learned",
        "alignment": asdict(aligner),
        "search": recipe.decode.model_dump(),
    }
    with new_folder(path) as scratch:
        spec.save(str(scratch))
        Run(scratch).save_tokenizers(tokenizers)
        if shortlist is not None:
            shortlist.write(scratch, tokenizers)
        (scratch / FACTS).write_text(json.dumps(facts, indent=2) + "\n", encoding="utf-8")
