"""Measures how important the attention heads of a translator are, and removes heads."""

from dataclasses import asdict, replace
from itertools import islice
from pathlib import Path
from typing import Any

from regard.configs.parameters import num_parameters
from regard.errors import RequestError, RunError
from regard.files import write_file
from regard.inspect.heads.ablation import Bench, CurvePoint, Importance, greedy_curve
from regard.inspect.heads.heads import How, choose_heads, heads_of
from regard.inspect.heads.pruning import without_heads
from regard.machine.devices import choose_device
from regard.made_with import MadeWith
from regard.reporter import SILENT, Reporter
from regard.run import Run, commands_for
from regard.tasks.translation.held_out import held_out_pairs
from regard.tasks.translation.pairs import bounds, fitting
from regard.tasks.translation.recipe import recipe_of
from regard.weights import load_model, save_model


def head_importance(
    run: Run | Path | str,
    *,
    sentences: int = 100,
    how: How = "zero",
    curve: bool = False,
    device: str = "cpu",
    reporter: Reporter = SILENT,
) -> Importance:
    """Measure what a translator loses without each of its attention heads.

    The result is saved in the run as heads.json, and read from there the next time.

    Parameters
    ----------
    run
        A run, or its folder.
    sentences
        Validation sentences to measure on.
    how
        `"zero"` makes a head contribute nothing, `"mean"` always its mean.
    curve
        Whether heads are also removed one after the other, the least important first.
    reporter
        Where progress is reported.

    Returns
    -------
    Importance
        The loss in BLEU and in log-probability, for each head.

    Raises
    ------
    RequestError
        The model has no attention.

    Examples
    --------
    >>> import regard
    >>> found = regard.head_importance("runs/demo", sentences=4)
    >>> found.sentences
    4
    """
    run = run if isinstance(run, Run) else Run.open(run)
    kept = run.finding("heads")
    found, bench = Importance.from_json(kept) if kept else None, None
    if found is None or (found.sentences, found.how) != (sentences, how):
        bench = bench_of(run, sentences, how, device)
        found = measure_heads(bench, sentences, reporter)
        keep(run, "heads", asdict(found), reporter)
    if curve and not found.curve:
        found = with_curve(bench or bench_of(run, sentences, how, device), found, reporter)
        keep(run, "heads", asdict(found), reporter)
    return found


def keep(run: Run, name: str, found: dict[str, Any], reporter: Reporter) -> None:
    """Save a measurement in the run's folder, if that can be written to."""
    try:
        run.save_finding(name, found)
    except RunError:
        reporter.say(f"{run.folder}: what was measured cannot be kept there")


def bench_of(run: Run, sentences: int, how: How, device: str) -> Bench:
    recipe, tokenizers = recipe_of(run), run.tokenizers()
    model: Any = load_model(run).to(choose_device(device))
    if not heads_of(model):
        raise RequestError(f"{run.folder}: this model has no attention, so no heads to switch off")
    pairs = fitting(held_out_pairs(recipe), tokenizers, bounds(recipe))
    return Bench(model, tokenizers, list(islice(pairs, sentences)), how)


def measure_heads(bench: Bench, sentences: int, reporter: Reporter) -> Importance:
    everything = heads_of(bench.model)
    found = []
    with reporter.progress("heads switched off", len(everything)) as advance:
        bleu, log_probability = bench.bleu(), bench.log_probability()
        for head in everything:
            found.append(bench.without(head))
            advance(1)
    return Importance(sentences, bench.how, bleu, log_probability, found)


def with_curve(bench: Bench, found: Importance, reporter: Reporter) -> Importance:
    points: list[CurvePoint] = []
    left = len(found.heads)
    with reporter.progress("heads removed", left) as advance:
        for point in greedy_curve(bench):
            points.append(point)
            advance(left - point.kept)
            left = point.kept
    return replace(found, curve=points)


def prune(
    run: Path | str,
    out: Path | str,
    keep: str | int,
    sentences: int = 100,
    device: str = "cpu",
    reporter: Reporter = SILENT,
) -> Run:
    """Write a smaller run without the attention heads that matter least.

    Parameters
    ----------
    run
        The folder of a Transformer that translates.
    out
        The folder of the smaller run, which must not be there yet.
    keep
        How many heads to keep, like `"50%"` or 12.
    sentences
        Validation sentences that the importance of heads is measured on.
    reporter
        Where progress is reported.

    Returns
    -------
    Run
        The smaller run.

    Raises
    ------
    RequestError
        The model has no heads to remove, or `keep` is not a number of heads.
    RunError
        The folder is not empty.

    Examples
    --------
    >>> import regard
    >>> smaller = regard.prune("runs/demo", "runs/smaller", "50%")  # doctest: +SKIP
    """
    old, new = Run.open(run), Run(Path(out))
    recipe, tokenizers = recipe_of(old), old.tokenizers()
    if recipe.model.kind != "transformer":
        raise RequestError(
            f"{run}: a {recipe.model.kind} model has no heads to remove; name a Transformer"
        )
    if new.folder.exists() and (not new.folder.is_dir() or any(new.folder.iterdir())):
        raise RunError(f"{out}: is there already and not empty; choose another folder")
    model: Any = load_model(old)
    count, layers = len(heads_of(model)), len({(h.part, h.layer) for h in heads_of(model)})
    wanted = number_of(keep, count, layers)
    found = head_importance(old, sentences=sentences, curve=True, device=device, reporter=reporter)
    names = [name for point in found.curve for name in point.removed][: count - wanted]
    counts, tensors = without_heads(model, choose_heads(model, names) if names else [])
    update = {f"{part}_heads": each for part, each in counts.items()}
    smaller = recipe.model_copy(update={"model": recipe.model.model_copy(update=update)})
    try:
        new.folder.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise RunError(f"{out}: cannot be made ({error.strerror}); choose another --out") from None
    info = old.info()
    sizes = {"inputs": len(tokenizers.source), "outputs": len(tokenizers.target)}
    before, after = (num_parameters(each, sizes) for each in (recipe, smaller))
    new.save_tokenizers(tokenizers)
    new.save_recipe(smaller)
    save_model(new, tensors, info.get("step", 0), sizes, MadeWith.of(new, smaller))
    write_card(new, run, found, wanted)
    facts = {"parameters": after, "pruned_from": str(run), "heads": wanted}
    new.save_info({**{key: value for key, value in info.items() if key != "format"}, **facts})
    reporter.say(f"Wrote {out}: {wanted} of {count} heads, {after:,} of {before:,} parameters.")
    return new


def number_of(keep: str | int, count: int, layers: int) -> int:
    """The number of heads that "50%" or "12" means, out of `count`."""
    text = str(keep).strip()
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


def write_card(new: Run, old: Path | str, found: Importance, kept: int) -> None:
    point = min(found.curve, key=lambda point: abs(point.kept - kept))
    text = f"""# {new.folder.name}

{old} with {kept} of its {len(found.heads)} attention heads; the others were removed by
`regard prune`, those first that were missed least on {found.sentences} validation sentences.

- Validation, greedy search: BLEU {found.bleu:.1f} with all heads,
  {point.bleu:.1f} with {point.kept}.
- `recipe.toml` says how many heads each layer has left; the weights cannot be trained further.

    {commands_for(new.recipe(), new.folder)[0]}
"""
    write_file(new.folder / "README.md", text.encode("utf-8", "replace"))
