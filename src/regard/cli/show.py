"""regard show: what a run or a recipe is."""

import json
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

from cyclopts import Parameter

if TYPE_CHECKING:
    from regard.recipe import Recipe


def show(what: Path, /, *, as_json: Annotated[bool, Parameter(name="--json")] = False) -> None:
    """Sizes, parameters, scores and provenance of a run folder or a recipe.

    Parameters
    ----------
    what
        A run folder or a recipe file.
    as_json
        One object with everything.
    """
    from regard.cli.display import results
    from regard.recipe import read
    from regard.run import Run

    if what.is_dir() or what.suffix != ".toml":
        run = Run.open(what)
        recipe, info = run.recipe(), run.info()
        vocabulary = len(run.tokenizers().target) if run.has_tokenizers() else None
        labels = run.labels() if run.labels_path.exists() else []
        steps = [int(path.stem.partition("-")[2]) for path in run.checkpoints()]
    else:
        recipe, info, vocabulary, labels, steps = read(what), {}, None, [], []
    facts = gather(recipe, info, vocabulary, labels, steps)
    if as_json:
        results(json.dumps(facts, indent=2, ensure_ascii=False))
        return
    results(str(what))
    for name, value in facts.items():
        if name != "recipe" and value not in (None, [], {}):
            results(f"  {name:<14}{line(value)}")


def gather(
    recipe: "Recipe",
    info: dict[str, Any],
    vocabulary: int | None,
    labels: list[str],
    steps: list[int],
) -> dict[str, Any]:
    from regard.weights import num_parameters

    data = recipe.data
    head = recipe.labels_with
    size = vocabulary or recipe.tokenizer.vocabulary_size
    return {
        "task": recipe.task,
        "languages": info.get("languages") or data.languages,
        "data": data.builtin or data.imported or [str(path) for path in data.paths("train")],
        "model": recipe.model.summary(),
        "vocabulary": f"{'imported' if data.imported else recipe.tokenizer.kind}, "
        + (f"{size:,} pieces" if vocabulary else f"up to {size:,} pieces")
        + sides(recipe),
        "labels": labels,
        "parameters": num_parameters(recipe, size, max(2, len(labels)) if head else size),
        "updates": f"{info['step']:,}" if info else f"up to {recipe.train.steps:,}",
        "checkpoints": steps,
        "training": f"{info['seconds'] / 60:.1f} min on {info['machine']}"
        if "seconds" in info
        else None,
        "validation": info.get("validation"),
        "made by": f"regard {info['regard']}, torch {info['torch']}" if info else None,
        "recipe": recipe.model_dump(mode="json", exclude_none=True),
    }


def sides(recipe: "Recipe") -> str:
    if recipe.task != "translation":
        return ""
    return ", joint" if recipe.tokenizer.joint else " a side"


def line(value: Any) -> str:
    if isinstance(value, dict):
        return ", ".join(f"{name} {each:.2f}" for name, each in value.items() if each is not None)
    if isinstance(value, (list, tuple)):
        return ", ".join(f"{each:,}" if isinstance(each, int) else str(each) for each in value)
    return f"{value:,}" if isinstance(value, int) else str(value)
