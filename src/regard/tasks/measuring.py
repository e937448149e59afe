"""Measures a recipe's text for a plan, as far as it is on this machine: lengths and amounts."""

from collections.abc import Callable
from dataclasses import replace
from typing import Any

from regard.planning.task_planning import DataFacts, Sizes
from regard.reporter import Reporter
from regard.run import Run
from regard.tasks.tokenizers import given_tokenizers
from regard.text.tokenizer import Tokenizer, Tokenizers

# The share of a batch's table that holds real tokens.
FULL = 0.92
# Where the vocabulary is known, this many lines or examples are encoded to measure them.
SAMPLE = 2000
LONG_TO_READ = 1e8  # bytes

Measure = Callable[[Any, DataFacts, Tokenizers | None], DataFacts]


def text_facts(
    measure: Measure,
    learn: Callable[[Any], Tokenizers],
    assumed: Callable[[Any], Sizes],
) -> Callable[[Any, Run | None, Reporter], DataFacts]:
    """The `facts` of a task that reads text. `learn` makes the tokenizers of the recipe's text."""

    def facts(recipe: Any, home: Run | None, reporter: Reporter) -> DataFacts:
        if home is not None and not same_data(recipe, home):
            home = None
        files = recipe.data.paths("train")
        here = all(file.exists() for file in files)
        if here and sum(file.stat().st_size for file in files) > LONG_TO_READ:
            reporter.say("Reading the data …")
        found = DataFacts(assumed(recipe))
        tokenizers = known_tokenizers(recipe, home)
        # The characters of a text are quickly counted.
        if tokenizers is None and here and recipe.tokenizer.kind == "character":
            tokenizers = learn(recipe)
        if tokenizers is not None:
            found = with_vocabulary(found, tokenizers, labelled=hasattr(recipe, "head"))
        if here:
            found = measure(recipe, found, tokenizers)
        if home is not None and home.labels_path.exists():
            sizes = replace(found.sizes, outputs=len(home.labels()))
            found = replace(found, sizes=sizes, labels_known=True)
        return found

    return facts


def with_vocabulary(found: DataFacts, tokenizers: Tokenizers, labelled: bool) -> DataFacts:
    inputs, outputs = map(len, tokenizers)
    outputs = found.sizes.outputs if labelled else outputs
    return replace(
        found,
        sizes=replace(found.sizes, inputs=inputs, outputs=outputs),
        vocabulary_known=True,
    )


def assumed_sizes(recipe: Any) -> Sizes:
    """Sizes where nothing is known: the vocabulary as large as it may become."""
    vocabulary = recipe.tokenizer.vocabulary_size
    return Sizes(vocabulary, vocabulary)


def same_data(recipe: Any, home: Run) -> bool:
    """Whether the run has the vocabulary and labels of the recipe."""

    def sources(each: Any) -> tuple[object, ...]:
        data = each.data
        return each.task, each.tokenizer, data.folder, data.train, getattr(data, "label", "")

    return sources(home.recipe()) == sources(recipe)


def known_tokenizers(recipe: Any, home: Run | None) -> Tokenizers | None:
    """The tokenizers of the run itself, or of one that the recipe names."""
    if home is not None and home.has_tokenizers():
        return home.tokenizers()
    return given_tokenizers(recipe)


def count_words(text: str) -> int:
    return text.count(" ") + 1


def pieces_of_a_word(tokenizer: Tokenizer, texts: list[str]) -> float:
    """The mean number of pieces that make a word."""
    pieces = sum(map(len, tokenizer.encode_batch(texts)))
    return pieces / max(1, sum(map(count_words, texts)))


def learned_share(data: Any, examples: int) -> float:
    """The share of the examples that is left for training when some are held out."""
    if data.valid or getattr(data, "builtin", None):
        return 1.0
    return float(1 - min(data.held_out_share, data.held_out_pairs / examples))
