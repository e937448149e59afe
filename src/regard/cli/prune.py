"""regard prune: a run with fewer heads."""

from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from regard.evaluate.ablation import CurvePoint, Importance
    from regard.run import Run


def prune(run: Path, /, *, keep: str, out: Path, sentences: int = 100) -> None:
    """Write a smaller run without the heads that are missed least.

    Which these are is measured on validation sentences, as `regard heads RUN --curve` does, or
    taken from what it measured. Every layer keeps at least one head.

    Parameters
    ----------
    run
        A run folder.
    keep
        How many heads are left: 50% or a number.
    out
        The folder of the new run.
    sentences
        How many validation sentences to measure on.
    """
    from regard.cli.display import say
    from regard.cli.heads import measured
    from regard.errors import RequestError, RunError
    from regard.inspect.heads import choose_heads, heads_of
    from regard.inspect.pruning import without_heads
    from regard.run import Run, commands_for
    from regard.weights import num_parameters

    old, new = Run.open(run), Run(out)
    recipe, tokenizers = old.recipe_for("translation"), old.tokenizers()
    if recipe.model.kind != "transformer":
        raise RequestError(
            f"{run}: a {recipe.model.kind} model has no heads to remove; name a Transformer"
        )
    if out.exists() and (not out.is_dir() or any(out.iterdir())):
        raise RunError(f"{out}: is there already and not empty; choose another folder")
    model = old.model(tokenizers)
    count, layers = len(heads_of(model)), len({(h.part, h.layer) for h in heads_of(model)})
    wanted = number_of(keep, count, layers)
    found = measured(old, sentences, "zero", curve=True)
    names = removed(found, count - wanted)
    gone = choose_heads(model, names) if names else []
    counts, tensors = without_heads(model, gone)
    update = {f"{part}_heads": each for part, each in counts.items()}
    smaller = recipe.model_copy(update={"model": recipe.model.model_copy(update=update)})
    try:
        out.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise RunError(f"{out}: cannot be made ({error.strerror}); choose another --out") from None
    info = old.info()
    before, after = (
        num_parameters(each, len(tokenizers.source), len(tokenizers.target))
        for each in (recipe, smaller)
    )
    new.save_tokenizers(tokenizers)
    new.save_model(tensors, info.get("step", 0))
    new.save_recipe(smaller)
    write_card(new, run, found, wanted)
    facts = {"parameters": after, "pruned_from": str(run), "heads": wanted}
    new.save_info({**{key: value for key, value in info.items() if key != "format"}, **facts})
    say(f"Wrote {out}: {wanted} of {count} heads, {after:,} of {before:,} parameters.")
    say(f"Compare: {commands_for(smaller, out)[1]}")


def number_of(keep: str, count: int, layers: int) -> int:
    """50% or 12 of so many heads."""
    from regard.errors import RequestError

    text = keep.strip()
    try:
        wanted = round(float(text[:-1]) / 100 * count) if text.endswith("%") else int(text)
    except (ValueError, OverflowError):
        raise RequestError(f"--keep {keep}: not a number of heads; write 50% or 12") from None
    if not layers <= wanted <= count:
        raise RequestError(
            f"--keep {keep}: that is {wanted} of {count} heads; keep from {layers}, one for each "
            f"layer, to {count}"
        )
    return wanted


def removed(found: "Importance", count: int) -> list[str]:
    """The first so many heads of the curve."""
    return [name for point in found.curve for name in point.removed][:count]


def nearest(found: "Importance", kept: int) -> "CurvePoint":
    return min(found.curve, key=lambda point: abs(point.kept - kept))


def write_card(new: "Run", old: Path, found: "Importance", kept: int) -> None:
    from regard.files import write_file

    point = nearest(found, kept)
    text = f"""# {new.folder.name}

{old} with {kept} of its {len(found.heads)} attention heads; the others were removed by
`regard prune`, those first that were missed least on {found.sentences} validation sentences.

- Validation, greedy search: BLEU {found.bleu:.1f} with all heads,
  {point.bleu:.1f} with {point.kept}.
- `recipe.toml` says how many heads each layer has left; the weights cannot be trained further.

    regard translate {new.folder} "…"
"""
    write_file(new.folder / "README.md", text.encode("utf-8", "replace"))
