"""Sizes for labelled text, each with its reason, and the planning functions for it."""

from collections.abc import Mapping
from dataclasses import replace
from functools import partial
from typing import Any, NamedTuple

from regard.configs.work import Work
from regard.planning.task_planning import PIECES as PIECES_OF_A_WORD
from regard.planning.task_planning import DataFacts, Sizes, TaskPlanning
from regard.recipe import Recipe, parse_section
from regard.tasks.labels import LabellingRecipe, LabelSplit, Units, learned_tokenizer
from regard.tasks.measuring import (
    FULL,
    SAMPLE,
    count_words,
    learned_share,
    pieces_of_a_word,
    text_facts,
)
from regard.tasks.sections import LabelledSection
from regard.tasks.suggestions import LENGTH, PIECES, paces, window
from regard.tasks.task import Reason, Section, Suggestion
from regard.text.tokenizer import Tokenizers

# The number of labels, where the data is not available.
LABELS = 16
# A text that is labelled has a start and an end around its pieces.
AROUND = 2


def suggest(
    units: Units, schema: type[Recipe], data: Section, asked: Mapping[str, Any], preset: str
) -> Suggestion:
    section = parse_section(schema, "data", data, "command line")
    return suggest_for(units, section, data, asked, amount_of(units, section))


class Amount(NamedTuple):
    """How much labelled text there is."""

    examples: int
    words: int
    characters: int


def amount_of(units: Units, section: LabelledSection) -> Amount:
    count = words = characters = 0
    for example in units.read(section.paths("train"), section.label, section.text):
        count += 1
        words += sum(map(count_words, example.units))
        characters += sum(map(len, example.units))
    return Amount(count, words, characters)


def suggest_for(
    units: Units,
    section: LabelledSection,
    data: Section,
    asked: Mapping[str, Any],
    amount: Amount,
) -> Suggestion:
    count, words, _ = amount
    few = count <= 50_000
    passes = 15 if few else 6
    max_length = window(section, "max_length", 256, asked)
    model, rates, shape = (
        bert_for_labels(few, max_length) if asked.get("kind") == "bert" else reader_for_labels(few)
    )
    vocabulary = max(400, min(16_000, words // 20))
    batch_tokens = 4096 if words > 500_000 else 1024
    batches = max(1, round(1.4 * words / batch_tokens))
    steps = max(200, min(passes * batches, 100_000))
    train = {"batch_tokens": batch_tokens, "label_smoothing": 0.0, "patience": 5, "average": 1}
    paced = paces(steps, min(200, steps // 10), max(25, steps // 15))
    values = {
        "data": {"max_length": max_length, **data},
        "tokenizer": {"vocabulary_size": vocabulary},
        "model": model,
        "train": {**paced, **train, "metric": "accuracy", **rates},
    }
    pieces = f"vocabulary of up to {vocabulary:,} pieces: each is then met often enough"
    length = f"{steps:,} updates, {passes} passes at most: fewer when validation stops getting"
    reasons = [
        Reason(f"{count:,} {units.name}, {words:,} words: so"),
        shape,
        Reason(f"{pieces} to be learned", PIECES),
        Reason(f"{length} better", LENGTH),
    ]
    return Suggestion(values, reasons)


def reader_for_labels(few: bool) -> tuple[Section, Section, Reason]:
    d_model, dropout = (128, 0.5) if few else (256, 0.3)
    shape = f"a bidirectional LSTM of width {d_model}, dropout {dropout}: it needs the least data"
    about = ("model.d_model", "model.dropout", "model.cell", "model.bidirectional")
    model = {"kind": "recurrent", "d_model": d_model, "dropout": dropout}
    return model, {"learning_rate": 2e-3}, Reason(shape, about)


def bert_for_labels(few: bool, max_length: int) -> tuple[Section, Section, Reason]:
    layers, d_model, d_ff, heads, dropout, rate = (
        (2, 128, 256, 4, 0.3, 1e-3) if few else (4, 256, 1024, 8, 0.2, 5e-4)
    )
    model = {
        "kind": "bert",
        "num_layers": layers,
        "d_model": d_model,
        "d_ff": d_ff,
        "num_heads": heads,
        "dropout": dropout,
        "max_positions": max_length,
        "num_segments": 1,
    }
    rates = {"optimizer": "adamw", "learning_rate": rate, "weight_decay": 0.01}
    shape = f"a Transformer encoder, {layers} layers of width {d_model}, dropout {dropout}"
    return model, rates, Reason(shape, ("model.num_layers", "model.d_model", "model.dropout"))


def planning(units: Units) -> TaskPlanning:
    return TaskPlanning(
        facts=text_facts(partial(measured, units), partial(learned, units), assumed_sizes),
        work=partial(work, units),
        padded_work=padded_work,
        counted_tokens=lambda recipe, work: work.source_tokens + work.target_tokens,
        examples=units.name,
        batch=lambda recipe, tokens: f"{tokens:,.0f} tokens",
        remark=lambda recipe: ", padding included",
        has_labels=True,
    )


def assumed_sizes(recipe: LabellingRecipe) -> Sizes:
    return Sizes(recipe.tokenizer.vocabulary_size, LABELS)


def learned(units: Units, recipe: LabellingRecipe) -> Tokenizers:
    tokenizer = learned_tokenizer(recipe, LabelSplit.of(units, recipe))
    return Tokenizers(tokenizer, tokenizer)


def measured(
    units: Units, recipe: LabellingRecipe, found: DataFacts, tokenizers: Tokenizers | None
) -> DataFacts:
    """The number of labels, the length of a text, and the tokens of one pass."""
    data, word = recipe.data, PIECES_OF_A_WORD
    labels: set[str] = set()
    sample: list[str] = []
    count = words = 0
    for example in units.read(data.paths("train"), data.label, data.text):
        count += 1
        words += sum(map(count_words, example.units))
        labels.update(example.labels)
        if count <= SAMPLE:
            sample.append(" ".join(example.units))
    if not count:
        return found
    if tokenizers is not None:
        word = pieces_of_a_word(tokenizers.source, sample)
    length = min(AROUND + word * words / count, data.max_length)
    each = 1 if units.whole_text else words_of(length, word)
    tokens = count * (length + each) * learned_share(data, count)
    known = replace(found.sizes, outputs=max(2, len(labels)), sentence=length, word=word)
    return replace(found, sizes=known, labels_known=True, tokens=tokens)


def words_of(sentence: float, pieces: float) -> float:
    """The words of a labelled text that has this many tokens."""
    return max(1.0, (sentence - AROUND) / pieces)


def work(units: Units, recipe: LabellingRecipe, share: float, sizes: Sizes) -> Work:
    full, sentence = FULL * recipe.train.batch_tokens * share, sizes.sentence
    if units.whole_text:
        return Work(full, full / sentence, sentence, sentence)
    return Work(full, full * words_of(sentence, sizes.word) / sentence, sentence, sentence)


def padded_work(recipe: LabellingRecipe, share: float, sizes: Sizes) -> Work:
    full = recipe.train.batch_tokens * share
    return Work(full, full, sizes.sentence, sizes.sentence)
