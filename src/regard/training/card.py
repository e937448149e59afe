"""What a finished run says of itself: run.json for programs, README.md for people."""

import platform
from importlib.metadata import version

import torch

from regard.checkpoint import Run, commands_for
from regard.evaluate.validation import told
from regard.files import write_file
from regard.inspect.alignments import Aligners
from regard.recipe import Recipe
from regard.training.events import Finished
from regard.training.prepare import languages
from regard.training.state import TrainingState

# How lines of the card begin.
ALIGNMENT, RECIPE = "- Alignment: ", "- `recipe.toml`"
# What the samples of a validation are called.
COLUMNS = {
    "translation": ("source", "output", "reference"),
    "language-model": ("beginning", "as it goes on", "as the text goes on"),
    "masked-language-model": ("text", "filled in", "as it was"),
    "classification": ("text", "label", "true label"),
    "tagging": ("sentence", "tags", "true tags"),
}


def write(
    run: Run,
    recipe: Recipe,
    finished: Finished,
    state: TrainingState,
    aligners: Aligners | None,
) -> None:
    """The card first: it is run.json that says a run is finished."""
    validation, progress = finished.validation, state.progress
    parameters = sum(parameter.numel() for parameter in state.model.parameters())
    page = text(run, recipe, finished, parameters)
    write_file(run.folder / "README.md", page.encode("utf-8", "replace"))
    if aligners is not None:
        name_aligners(run, aligners)
    codes = languages(recipe.data) if recipe.task == "translation" else None
    info = {
        "regard": version("regard"),
        "torch": torch.__version__,
        "machine": f"{platform.machine()}, {torch.get_num_threads()} threads",
        "task": recipe.task,
        "languages": list(codes) if codes else None,
        "parameters": parameters,
        "step": finished.step,
        "seconds": round(finished.seconds, 1),
        "tokens": progress.tokens,
        "skipped_updates": progress.skipped,
        "averaged_checkpoints": finished.averaged,
        "stopped_early": finished.early,
        "stale_validations": progress.stale,
        "validation": {"loss": validation.loss, **validation.scores},
    }
    run.save_info(info)


def text(run: Run, recipe: Recipe, finished: Finished, parameters: int) -> str:
    """The model card."""
    validation = finished.validation
    sources = recipe.data.builtin or ", ".join(map(str, recipe.data.paths("train")))
    columns = COLUMNS[recipe.task]
    weights = (
        f"the average of the last {finished.averaged} checkpoints"
        if finished.averaged
        else f"those of step {validation.step:,}"
    )
    examples = "\n".join(
        f"| {cell(s.source)} | {cell(s.output)} | {cell(s.reference)} |" for s in validation.samples
    )
    commands = "\n".join(f"    {line}" for line in commands_for(recipe, run.folder))
    return f"""# {run.folder.name}

{what(recipe)}, trained by regard {version("regard")} on: {sources}.

- Model: {recipe.model.summary()};
  {parameters:,} parameters.
- Training: {finished.step:,} updates in {finished.seconds / 60:.1f} minutes;
  the weights are {weights}.
- Validation: {", ".join([f"loss {validation.loss:.3f}", *told(validation.scores)])}.
- `recipe.toml` repeats the run; `log.jsonl` holds what happened.

| {" | ".join(columns)} |
|---|---|---|
{examples}

It knows what its training data showed it. Check what it says before you rely on it.

{commands}
"""


def name_aligners(run: Run, aligners: Aligners) -> None:
    """Say in the card which head aligns best, in place of what it said before."""
    path = run.folder / "README.md"
    try:
        lines = path.read_text("utf-8").split("\n")
    except (OSError, UnicodeDecodeError):
        return  # a card that a person has removed or rewritten is theirs
    kept = [line for line in lines if not line.startswith(ALIGNMENT)]
    place = next((i for i, line in enumerate(kept) if line.startswith(RECIPE)), None)
    if place is not None:
        kept.insert(place, f"{ALIGNMENT}{aligners.summary()}.")
        write_file(path, "\n".join(kept).encode())


def what(recipe: Recipe) -> str:
    match recipe.task:
        case "translation":
            codes = languages(recipe.data)
            between = f"{codes[0]} → {codes[1]}" if codes else "the two languages of its pairs"
            return f"A translator for {between}"
        case "language-model":
            if recipe.data.direction == "backward":
                return "A language model that reads a text backwards"
            return "A language model that continues a text"
        case "masked-language-model":
            return "A masked language model that fills in what is missing"
        case "classification":
            return "A classifier of texts"
        case "tagging":
            return "A tagger of words"


def cell(text: str) -> str:
    return text.replace("|", "\\|").replace("\n", " ")
