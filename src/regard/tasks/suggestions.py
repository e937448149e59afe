"""Suggests sizes that fit the data, for several tasks, and drops reasons that no longer hold."""

from collections.abc import Iterable, Mapping
from typing import Any

from regard.run import Run
from regard.tasks.task import Reason, Section, Suggestion, Task

# The settings that reasons about the vocabulary, and about the length of training, refer to.
PIECES = ("tokenizer.kind", "tokenizer.vocabulary_size", "tokenizer.folder")
LENGTH = ("train.steps", "train.batch_tokens", "train.patience")


def paces(steps: int, warmup_steps: int, every: int) -> Section:
    """The settings for the length of training, and for how often it validates and saves."""
    return {
        "steps": steps,
        "schedule": "cosine",
        "final_learning_rate": 1e-5,
        "warmup_steps": warmup_steps,
        "eval_every": every,
        "save_every": every,
    }


def window(section: Any, name: str, suggested: int, model: Mapping[str, Any]) -> int:
    """The tokens to read at a time: as the user says, or else no more than there are positions."""
    if name in section.model_fields_set:
        return int(getattr(section, name))
    positions = model.get("max_positions")
    return min(suggested, max(2, positions)) if isinstance(positions, int) else suggested


def recipe_rate(task: Task) -> float:
    """The rate of a recipe that says nothing of it."""
    rate: float = task.recipe.model_fields["train"].default.learning_rate
    return rate


def suggest_from(task: Task, from_run: str, data: Section) -> Suggestion:
    """Sizes for a model that starts with the model and the tokenizer of a run."""
    run: Any = Run.open(from_run).recipe()
    images, kinds = images_of(run, task.recipe.shape)
    found = task.suggest({**images, **data}, kinds, "")
    values, tuning = found.values, task.fine_tuning
    tokenizer = " and tokenizer" if values.pop("tokenizer", None) else ""
    for name in task.recipe.shape:
        values.pop(name, None)
    values["data"].pop("cooccurrence_window", None)
    model, train = run.model, values["train"]
    steps = max(100, train["steps"] // tuning.shorter)
    every = max(25, steps // 10)
    train |= {"steps": steps, "warmup_steps": steps // 10, "eval_every": every, "save_every": every}
    usual = train.get("learning_rate", recipe_rate(task))
    slow = tuning.rate / model.d_model if hasattr(model, "d_model") else usual / 10
    train["learning_rate"] = float(f"{slow:.1g}")
    positions = getattr(model, "max_positions", None)
    for name in {"max_length", "context"} & values["data"].keys():
        values["data"][name] = min(values["data"][name], positions or values["data"][name])
    kept = f"the model{tokenizer} of {from_run}, learning slowly, so that what it knows stays"
    reasons = [
        found.reasons[0],
        Reason(kept, ("train.learning_rate",)),
        Reason(f"{steps:,} updates: much is known already", LENGTH),
    ]
    return Suggestion(values, reasons)


def images_of(run: Any, shape: Iterable[str]) -> tuple[Section, Section]:
    """How the model of a run sees images, as a [data] section, and the kinds of its parts, which
    images are changed for; nothing where it sees none.
    """
    names = [each.removeprefix("data.") for each in shape if each.startswith("data.")]
    images = {name: getattr(run.data, name) for name in names if hasattr(run.data, name)}
    if not images:
        return {}, {}
    encoder = {"encoder": {"kind": run.encoder.kind}} if hasattr(run, "encoder") else {}
    return images, {"kind": run.model.kind, **encoder}


def still_true(reasons: Iterable[Reason], asked: Mapping[str, Any]) -> list[str]:
    """The reasons about settings that the user has not chosen; `asked` has those, by section."""
    first, *others = reasons
    left = [reason.text for reason in others if not any(given(asked, n) for n in reason.about)]
    return [first.text, *left] if left else []


def given(asked: Mapping[str, Any], name: str) -> bool:
    section, _, key = name.partition(".")
    return key in asked.get(section, {})
