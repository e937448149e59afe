"""Sizes of word vectors, each with its reason, and the work of training them."""

from typing import Any

from regard.configs.word_vectors import block_length
from regard.configs.work import Part, Work, part_of
from regard.data.texts import count_characters, read_documents
from regard.planning.task_planning import DataFacts, Sizes, TaskPlanning
from regard.reporter import Reporter
from regard.run import Run
from regard.tasks.running_text import TextSplit
from regard.tasks.suggestions import LENGTH
from regard.tasks.task import Reason, Section, Suggestion
from regard.text.word_vocabulary import WordVocabulary, vocabulary_file

# Characters of a word and what follows it, where the text is not read to count them; the share of
# words that stay.
CHARACTERS, KEPT = 6, 0.55
# Characters of a text that is read to count its words before training.
SHORT_TEXT = 50_000_000
# Look-ups and the gradients of tables take more time than products: it is as if vectors were
# shorter by this factor.
NARROWER = 10
# Up to this many words of text: numbers of a vector, least count, words of a batch, passes.
SIZES = (
    (300_000, 64, 2, 4096, 30),
    (3_000_000, 128, 5, 16384, 8),
    (10**15, 128, 5, 32768, 5),
)


def suggest_for_words(data: Section, section: Any) -> Suggestion:
    words = count_words(section)
    d_model, min_count, batch, passes = next(row[1:] for row in SIZES if words <= row[0])
    if "min_count" in section.model_fields_set:
        min_count = section.min_count
    steps = max(200, min(passes * words // batch, 200_000))
    every = max(20, steps // 10)
    values: dict[str, Section] = {
        "data": {"min_count": min_count, **data},
        "model": {"d_model": d_model},
        "train": {
            "steps": steps,
            "batch_tokens": batch,
            "eval_every": every,
            "save_every": every,
        },
    }
    seen = f"from neighbours up to {section.window} words away"
    amount = f"{steps:,} updates of {batch:,} words: {steps * batch / max(1, words):.0f} passes"
    reasons = [
        Reason(f"about {words:,} words: so"),
        Reason(f"vectors of {d_model} numbers, {seen}", ("model.d_model",)),
        Reason(f"words that occur {min_count} times or more", ("data.min_count",)),
        Reason(f"{amount} over the text", LENGTH),
    ]
    return Suggestion(values, reasons)


def count_words(data: Any) -> int:
    """About how many words there are."""
    return characters_of(data) // CHARACTERS


def characters_of(data: Any) -> int:
    return count_characters(read_documents(data.paths("train"), data.text))


def learned_words(data: Any, split: TextSplit) -> WordVocabulary:
    """The words of the text to learn from."""
    texts = (text for text in split.train() if text is not None)
    return WordVocabulary.learned(texts, data.lowercase, data.min_count, data.vocabulary_size)


def known_words(run: Run | None) -> int:
    """How many words a run has; 0 if that is not known yet."""
    if run is None or not vocabulary_file(run.folder).exists():
        return 0
    return len(WordVocabulary.load(vocabulary_file(run.folder)))


def facts(recipe: Any, home: Run | None, reporter: Reporter) -> DataFacts:
    """The number of words that have vectors, and of all words of the text."""
    data, known = recipe.data, known_words(home)
    if not all(path.exists() for path in data.paths("train")):
        size = known or data.vocabulary_size
        return DataFacts(Sizes(size, size), vocabulary_known=bool(known))
    characters = characters_of(data)
    if not known and characters <= SHORT_TEXT:
        reporter.say("Counting the words")
        known = len(learned_words(data, TextSplit.of(data)))
    size = known or data.vocabulary_size
    tokens = float(characters // CHARACTERS)
    return DataFacts(Sizes(size, size), vocabulary_known=bool(known), tokens=tokens)


def work(recipe: Any, share: float, sizes: Sizes) -> Work:
    words = share * KEPT * recipe.train.batch_tokens
    return Work(words, 0.0, block_length(recipe.data.window), 0.0)


def parts(recipe: Any, sizes: Sizes, work: Work, mixed: bool) -> list[Part]:
    part = part_of(recipe.model, 0, work, mixed)
    return [part._replace(width=max(1, part.width // NARROWER))]


PLANNING = TaskPlanning(
    facts=facts,
    work=work,
    padded_work=work,
    counted_tokens=lambda recipe, work: work.source_tokens / KEPT,
    examples="text",
    batch=lambda recipe, tokens: f"{tokens:,.0f} words",
    parts=parts,
    inputs="words",
    has_lengths=False,
)
