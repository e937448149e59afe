"""The linear model of a classifier in training: alone, or as the first answer beside a network."""

import time
from collections.abc import Generator, Mapping
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

from regard.configs.linear import LinearConfig, NgramConfig
from regard.data.labelled import Labelled
from regard.run import Run
from regard.sizes import read_sizes
from regard.tasks import labels
from regard.tasks.task import Description, Reason, Suggestion
from regard.training.events import Event, ExamplesReady, Note, Phase

if TYPE_CHECKING:
    from regard.evaluate.labels import HeldOutLabels
    from regard.tasks.linear import Found
    from regard.training.setup import FoundSetup, TrainingSetup

# N-grams of characters help where texts are few and short, and cost the most where they are not.
MOST_SPELLED = 5_000_000
# N-grams of a linear model, where the data is not available.
TYPICAL = 100_000
# Settings of training that a model without updates uses, too.
USED = frozenset({"steps", "metric", "threads", "device", "tensorboard"})


@dataclass(frozen=True)
class Examples:
    """Labelled texts in memory, split as training splits them, and all labels in order."""

    train: list[Labelled]
    valid: list[Labelled]
    labels: list[str]


def suggested(network: Suggestion, asked: Mapping[str, Any], characters: int) -> Suggestion:
    """The sizes of a network with those of a linear model beside it; of the linear model alone,
    where one is asked for. The texts have so many characters.
    """
    read = {"words": 3, "characters": 5 if characters <= MOST_SPELLED else 0}
    parts = "words, up to three together" + " and for parts of words" * bool(read["characters"])
    about = ("linear.words", "linear.characters", "model.words", "model.characters")
    first, *others = network.reasons
    if asked.get("kind") == "linear":
        data = {name: each for name, each in network.values["data"].items() if name != "max_length"}
        values = {"data": data, "model": {"kind": "linear", **read}, "train": {"steps": 1}}
        way = Reason(f"a linear model with weights for {parts}, which is found at once", about)
        return Suggestion(values, [first, way])
    way = Reason(f"first a linear model with weights for {parts}; then, to join it,", about)
    # A network that is slower to learn than a linear model gets half of its updates to join it.
    train = {**network.values["train"], "patience": 8}
    return Suggestion({**network.values, "linear": read, "train": train}, [first, way, *others])


def described(found: Description, recipe: Any, run: Run | None) -> Description:
    """The description of a classifier with its linear model, if it has one."""
    if not isinstance(recipe.model, LinearConfig):
        beside = recipe.linear.summary() if recipe.linear.reads else None
        return replace(found, facts={**found.facts, "first answer": beside})
    sizes = dict(read_sizes(run.model_path)) if run else {}
    facts = {**found.facts, "vocabulary": f"{sizes['inputs']:,} n-grams" if sizes else None}
    return replace(found, facts=facts, sizes=sizes or {**found.sizes, "inputs": TYPICAL})


def setup(
    units: labels.Units, run: Run, recipe: Any
) -> "Generator[Event, None, TrainingSetup | FoundSetup]":
    """The setup of a classifier, whose linear model comes first."""
    if isinstance(recipe.model, LinearConfig):
        return (yield from found_alone(units, run, recipe))
    if not recipe.linear.reads:
        return (yield from labels.setup(units, run, recipe))
    if not (linear_is_found(run) and run.has_data()):
        examples = yield from read(units, recipe)
        yield from find_beside(run, recipe.linear, examples)
    return with_linear(run, (yield from labels.setup(units, run, recipe)))


def linear_is_found(run: Run) -> bool:
    from regard.tasks import linear

    return linear.model_path(run).exists() and linear.logits_path(run).exists()


def read(units: labels.Units, recipe: Any) -> Generator[Event, None, Examples]:
    yield Phase("Reading the labelled text")
    data = recipe.data
    known = list(units.read(data.paths("train"), data.label, data.text))
    split = labels.LabelSplit(units, data, recipe.seed, labels.held_out_share(data, len(known)))
    if data.valid:
        train, valid = known, list(split.read("valid"))
    else:
        train = [each for each in known if not split.holds_out(each)]
        valid = [each for each in known if split.holds_out(each)]
    _, names = labels.checked_labels(split, train, valid)
    return Examples(train, valid, names)


def found_alone(units: labels.Units, run: Run, recipe: Any) -> "Generator[Event, None, FoundSetup]":
    from regard.evaluate.labels import HeldOutTexts
    from regard.training.setup import FoundSetup

    started = time.perf_counter()
    examples = yield from read(units, recipe)
    data = recipe.data
    files = [*data.paths("train"), *data.paths("valid")]
    yield from map(Note, units.remarks(files, data.label, data.text))
    run.save_labels(examples.labels)
    names = ", ".join(examples.labels[:8]) + ", …" * (len(examples.labels) > 8)
    remark = f"{len(examples.labels)} labels: {names}"
    count = len(examples.train), len(examples.valid)
    yield ExamplesReady(*count, units.name, 0.0, (remark,))
    found = yield from find(recipe.model, examples)
    texts = [each.units[0] for each in examples.valid]
    held_out = HeldOutTexts(texts, numbers(examples, examples.valid), examples.labels)
    sizes = {"inputs": len(found.model.keys), "outputs": len(examples.labels)}
    return FoundSetup(sizes, found.model, held_out, time.perf_counter() - started)


def find(config: NgramConfig, examples: Examples) -> "Generator[Event, None, Found]":
    from regard.tasks import linear

    yield Phase("Finding the linear model")
    train, valid = (
        ([each.units[0] for each in part], numbers(examples, part))
        for part in (examples.train, examples.valid)
    )
    return linear.find(config, train, valid, len(examples.labels))


def numbers(examples: Examples, part: list[Labelled]) -> Any:
    import torch

    place = {label: number for number, label in enumerate(examples.labels)}
    return torch.tensor([place[each.labels[0]] for each in part])


def find_beside(run: Run, config: NgramConfig, examples: Examples) -> Generator[Event, None, None]:
    """Find the linear model, save it, and say how good it is."""
    from regard.evaluate.labels import accuracy, most_frequent
    from regard.tasks import linear

    started = time.perf_counter()
    found = yield from find(config, examples)
    linear.save(run, found)
    true = numbers(examples, examples.valid).numpy()
    score = accuracy(found.logits.argmax(-1).numpy(), true)
    yield Note(
        f"first answer: a linear model of {len(found.model.keys):,} n-grams, found in "
        f"{time.perf_counter() - started:.0f} s, labels {score:.2f} % of {len(true):,} held-out "
        f"texts correctly (always the most frequent label: {most_frequent(true):.2f} %)"
    )


def with_linear(run: Run, setup: "TrainingSetup") -> "TrainingSetup":
    """The setup of a network that is judged by what it and the linear model answer together."""
    from regard.tasks import linear

    held_out: HeldOutLabels = setup.held_out  # type: ignore[assignment]
    logits = linear.load_logits(run, len(held_out.ids), setup.sizes["outputs"])
    return replace(setup, held_out=replace(held_out, linear=logits), answers_at_once=True)


def refuse_unused(recipe: Any) -> None:
    """Refuse settings that a linear model alone does not have."""
    for name, section in (("train", recipe.train), ("tokenizer", recipe.tokenizer)):
        plain = type(section)()
        for key in type(section).model_fields:
            unused = getattr(section, key) != getattr(plain, key)
            if unused and not (name == "train" and key in USED):
                raise ValueError(
                    f"{name}.{key} is for a network; leave it out of a linear model, which is "
                    "found directly"
                )
    if recipe.train.steps != 1:
        raise ValueError("train.steps: a linear model is found at once; set it to 1")
    if recipe.linear.reads:
        raise ValueError(
            "linear.words is for a linear model beside a network; set model.words instead"
        )
