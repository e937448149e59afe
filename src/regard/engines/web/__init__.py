"""A translator as a page that translates in a browser, without a server or a network.

The page is plain HTML and JavaScript. The weights and the tokenizers are one script, model.js, so
that the page also works when it is opened from a disk, where browsers load no other files.
"""

import base64
import json
from importlib import resources
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from regard import made_with
from regard.configs.transformer import TransformerConfig
from regard.engines.web.tokenizer import tokenizer_of
from regard.errors import RequestError
from regard.files import new_folder, read_arrays
from regard.run import Run

PAGE = (
    *("index.html", "style.css", "tokenizer.js", "transformer.js", "translator.js"),
    "page.js",
)
MODEL = "model.js"


def export_page(folder: Path, codes: tuple[str, str] | None, path: Path, int8: bool) -> None:
    """Write the run in `folder`, which translates these languages, as a page in `path`."""
    run = Run.open(folder)
    recipe: Any = run.recipe()
    if not isinstance(recipe.model, TransformerConfig):
        raise RequestError(
            f"{folder}: a page has a Transformer that translates, not a model of kind "
            f'"{recipe.model.kind}"'
        )
    model = {"languages": list(codes or ("", "")), **contents(run, recipe, int8)}
    with new_folder(path) as scratch:
        for name in PAGE:
            (scratch / name).write_bytes(page_file(name))
        script = f"globalThis.regard.model = {json.dumps(model, ensure_ascii=False)};\n"
        (scratch / MODEL).write_text(script, encoding="utf-8")


def contents(run: Run, recipe: Any, int8: bool) -> dict[str, Any]:
    """What the page knows of a run."""
    tokenizers, config = run.tokenizers(), recipe.model
    source, target = (tokenizer_of(each, run.folder) for each in tokenizers)
    run.require_weights()
    tensors, metadata = read_arrays(run.model_path)
    made_with.check(run, metadata)
    specials = tokenizers.target.specials
    return {
        "config": {**config.model_dump(), "d_k": config.d_k},
        "search": {
            "ratio": recipe.decode.max_length_ratio,
            "limit": recipe.data.max_length - 1,
            "longest": config.max_positions if config.positions == "learned" else None,
        },
        "specials": {
            "start": specials.start,
            "end": specials.end,
            "never": list(specials.never),
        },
        "source": source,
        "target": None if target == source else target,
        "tensors": {name: packed(array, int8) for name, array in tensors.items()},
    }


def page_file(name: str) -> bytes:
    return (resources.files("regard.engines.web") / "page" / name).read_bytes()


def packed(array: npt.NDArray[Any], int8: bool) -> dict[str, Any]:
    """A tensor in base64; with `int8`, a matrix has whole numbers, and a scale for each row."""
    values = array.astype("<f4")
    found: dict[str, Any] = {"shape": list(array.shape)}
    if int8 and array.ndim == 2:
        scales = np.maximum(np.abs(values).max(1), 1e-12) / 127
        values = np.rint(values / scales[:, None]).astype("i1")
        found["scales"] = text_of(scales.astype("<f4"))
    return {**found, "data": text_of(values)}


def text_of(array: npt.NDArray[Any]) -> str:
    return base64.b64encode(array.tobytes()).decode()
