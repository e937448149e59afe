"""What the data of a recipe tells a plan, as far as it is on this machine."""

from dataclasses import dataclass, replace
from itertools import islice

from regard.checkpoint import Run
from regard.data.texts import count_characters, read_documents
from regard.plan import Sizes
from regard.recipe import LABELLING, DataSection, Recipe
from regard.text.tokenizer import Tokenizer, Tokenizers
from regard.training import label_lesson, prepare, text_lesson
from regard.work import AROUND, PIECES, words_of

# A piece is about so many characters, where the vocabulary is yet to be learned; where it is known,
# so many lines or examples are cut to see.
CHARACTERS, SAMPLE = 4, 2000


@dataclass(frozen=True)
class Found:
    """Sizes, whether the vocabulary is known or only how large it may become, and the tokens of one
    pass over the training data, as training counts them.
    """

    sizes: Sizes
    vocabulary_known: bool = False
    labels_known: bool = False
    tokens: float | None = None


def look(recipe: Recipe, home: Run | None) -> Found:
    """`home` is the run that the recipe was found in."""
    if home is not None and not same_data(recipe, home):
        home = None
    files = recipe.data.paths("train")
    here = all(file.exists() for file in files)
    found = Found(Sizes.assumed(recipe))
    tokenizers = known_tokenizers(recipe, home, here)
    if tokenizers is not None:
        inputs, outputs = map(len, tokenizers)
        outputs = found.sizes.outputs if recipe.task in LABELLING else outputs
        sizes = replace(found.sizes, inputs=inputs, outputs=outputs)
        found = replace(found, sizes=sizes, vocabulary_known=True)
    if here:
        found = measured(recipe, found, tokenizers)
    if home is not None and home.labels_path.exists():
        sizes = replace(found.sizes, outputs=len(home.labels()))
        found = replace(found, sizes=sizes, labels_known=True)
    return found


def measured(recipe: Recipe, found: Found, tokenizers: Tokenizers | None) -> Found:
    """The length of a sentence, the number of labels, and how much there is of it all."""
    match recipe.task:
        case "translation":
            return measured_pairs(recipe, found, tokenizers)
        case "classification" | "tagging":
            return measured_labels(recipe, found, tokenizers)
        case _:
            return replace(found, tokens=text_tokens(recipe, tokenizers))


def text_tokens(recipe: Recipe, tokenizers: Tokenizers | None) -> float:
    data = recipe.data
    characters = count_characters(read_documents(data.paths("train")))
    learned = characters * (1 if data.valid else 1 - data.held_out_share)
    if tokenizers is None:
        return learned / CHARACTERS
    sample = [text for text in islice(read_documents(data.paths("train")), SAMPLE) if text]
    pieces = sum(map(len, tokenizers.source.encode_batch(sample)))
    return learned * pieces / max(1, count_characters(sample))


def measured_pairs(recipe: Recipe, found: Found, tokenizers: Tokenizers | None) -> Found:
    pairs = prepare.survey(prepare.corpus(recipe.data))
    if not pairs.pairs:
        return found
    word = PIECES
    if tokenizers is not None:
        sample = list(islice(prepare.corpus(recipe.data), SAMPLE))
        sides = [pair.source for pair in sample], [pair.target for pair in sample]
        word = sum(map(pieces_of_a_word, tokenizers, sides)) / 2
    length = 1 + word * pairs.words / (2 * pairs.pairs)
    tokens = 2 * length * pairs.pairs * learned_share(recipe.data, pairs.pairs)
    return replace(found, sizes=replace(found.sizes, sentence=length, word=word), tokens=tokens)


def measured_labels(recipe: Recipe, found: Found, tokenizers: Tokenizers | None) -> Found:
    data, word = recipe.data, PIECES
    labels: set[str] = set()
    sample: list[str] = []
    count = words = 0
    for example in label_lesson.read_labelled(recipe.task, data.paths("train"), data.label):
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
    each = 1 if recipe.task == "classification" else words_of(length, word)
    tokens = count * (length + each) * learned_share(data, count)
    known = replace(found.sizes, outputs=max(2, len(labels)), sentence=length, word=word)
    return replace(found, sizes=known, labels_known=True, tokens=tokens)


def count_words(text: str) -> int:
    return text.count(" ") + 1


def pieces_of_a_word(tokenizer: Tokenizer, texts: list[str]) -> float:
    pieces = sum(map(len, tokenizer.encode_batch(texts)))
    return pieces / max(1, sum(map(count_words, texts)))


def learned_share(data: DataSection, examples: int) -> float:
    """What is left to learn from when some are held out."""
    if data.valid or data.builtin:
        return 1.0
    return 1 - min(data.held_out_share, data.held_out_pairs / examples)


def same_data(recipe: Recipe, home: Run) -> bool:
    """Whether the vocabulary and labels of the run are those of the recipe."""

    def of(each: Recipe) -> tuple[object, ...]:
        return each.task, each.tokenizer, each.data.folder, each.data.train, each.data.label

    return of(home.recipe()) == of(recipe)


def known_tokenizers(recipe: Recipe, home: Run | None, here: bool) -> Tokenizers | None:
    """Those of the run itself, of one that the recipe names, or of the characters of the data,
    which are soon counted.
    """
    if home is not None and home.has_tokenizers():
        return home.tokenizers()
    if recipe.train.from_run:
        return Run.open(recipe.train.from_run).tokenizers()
    given = prepare.given_tokenizers(recipe)
    if given is None and here and recipe.tokenizer.kind == "character":
        return characters_of(recipe)
    return given


def characters_of(recipe: Recipe) -> Tokenizers:
    if recipe.task == "translation":
        count = sum(1 for _ in prepare.corpus(recipe.data))
        return prepare.learn_tokenizers(recipe, prepare.Split.of(recipe, count))
    if recipe.task in LABELLING:
        learned = label_lesson.learn(recipe, label_lesson.LabelSplit.of(recipe))
    else:
        split = text_lesson.TextSplit.of(recipe.data)
        learned = text_lesson.learn(recipe, split, verbatim=recipe.task == "language-model")
    return Tokenizers(learned, learned)
