"""What a translator needs of its run folder, for PyTorch or for CTranslate2.

With CTranslate2, PyTorch and its model are loaded when they are needed for the first time.
"""

from collections.abc import Callable
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

from regard.decode.search import Search
from regard.engines import Engine, EngineName
from regard.engines.ctranslate2 import CTranslate2, fingerprint
from regard.engines.package import graphics_cards
from regard.errors import RequestError, RunError
from regard.run import Run
from regard.text.tokenizer import Tokenizers

if TYPE_CHECKING:
    from regard.models import Model


class Loaded(NamedTuple):
    """A model, what searches with it, and the search and longest source of its recipe."""

    model: "Callable[[], Model]"
    engine: Engine
    tokenizers: Tokenizers
    search: Search
    limit: int
    folder: Path


def loaded(
    folder: Path,
    device: str,
    engine: EngineName,
    int8: bool,
    cores: int = 0,
    shortlist: bool = False,
) -> Loaded:
    """The translator of a folder, with the engine that was asked for, or with the one that can do
    what was asked for. CTranslate2 uses all cores, unless there is a number of them.
    """
    if engine == "torch":
        if shortlist:
            raise RequestError("engine torch: has no shortlists; use ctranslate2")
        if int8:
            raise RequestError("engine torch: has no int8; use ctranslate2 or leave int8 out")
        return with_torch(folder, device)
    Run(folder).check_links()
    slow = cache(lambda: with_torch(folder, device))
    otherwise = (lambda: slow().engine) if engine == "auto" else None
    try:
        if device not in ("auto", "cpu") or (engine == device == "auto" and graphics_cards()):
            raise RequestError(
                f"engine ctranslate2: runs on the CPU, not on {device}; "
                "use --engine torch or --device cpu"
            )
        found = fingerprint(Run(folder))
        fast = CTranslate2.of_run(
            folder, int8=int8, shortlist=shortlist, otherwise=otherwise, cores=cores
        )
    except RequestError as error:
        if int8:
            raise RequestError(f"{error}; int8 is CTranslate2's alone, leave it out") from None
        if engine == "ctranslate2" or shortlist:
            raise
        return slow()
    except OSError:
        return slow()  # which says what the folder lacks
    return Loaded(
        lambda: unchanged(slow, folder, found),
        fast,
        fast.tokenizers,
        fast.defaults,
        fast.longest_source,
        folder,
    )


def with_torch(folder: Path, device: str) -> Loaded:
    from regard.engines.aligner import Aligner
    from regard.engines.native import Native
    from regard.machine.devices import choose_device
    from regard.weights import load_model

    run = Run.open(folder)
    recipe = run.recipe_for("translation")
    tokenizers = run.tokenizers()
    model: Any = load_model(run).to(choose_device(device))
    search = Search(**recipe.decode.model_dump())
    aligner = Aligner.of_run(run, getattr(recipe.model, "decoder_layers", 1))
    engine = Native(model, tokenizers.target.specials, aligner)
    limit = recipe.data.max_length - 1
    return Loaded(lambda: model, engine, tokenizers, search, limit, run.folder)


def unchanged(load: Callable[[], Loaded], folder: Path, found: str) -> "Model":
    """The model in PyTorch, if the folder still holds the one that was loaded for translating."""
    model = load().model()
    try:
        same = fingerprint(Run(folder)) == found
    except OSError:
        same = False
    if not same:
        raise RunError(f"{folder}: holds another model than was loaded from it; load it again")
    return model
