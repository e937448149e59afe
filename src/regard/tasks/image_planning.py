"""The planning functions of tasks that see images."""

from dataclasses import replace
from functools import partial
from typing import Any

from regard.configs.image import ImageShape
from regard.configs.image_work import captioner_parts, clip_parts, encoder_part, labels_part
from regard.configs.work import Part, Work
from regard.data.image_files import TRAIN, VALID
from regard.planning.task_planning import DataFacts, Sizes, TaskPlanning
from regard.reporter import Reporter
from regard.run import Run
from regard.tasks import caption_data, image_data, image_features
from regard.tasks.label_sizes import LABELS
from regard.tasks.measuring import (
    FULL,
    SAMPLE,
    assumed_sizes,
    count_words,
    pieces_of_a_word,
    text_facts,
)
from regard.tasks.tokenizers import learn
from regard.text.tokenizer import Tokenizers

# A start and an end stand around a text that is matched, and an end after a caption.
AROUND, END = 2, 1
# Pieces of a word of a caption, where the vocabulary is not learned yet: most words are frequent.
PIECES = 1.1
# The longest of many texts, to which the others are filled up, beside the mean.
LONGEST = 2
# The shortest captions beside the mean.
SHORT = 2.5


def shape_of(data: Any) -> ImageShape:
    return ImageShape(data.image_size, data.image_size, data.channels)


def encoded_before(recipe: Any) -> bool:
    """Whether images are encoded once, before training."""
    encoder = getattr(recipe, "encoder", recipe.model)
    return image_features.once(encoder, recipe.augmentation)


def remark(recipe: Any) -> str:
    return ", images encoded once before training" * encoded_before(recipe)


def learned_images(splits: list[str], count: int, data: Any) -> float:
    """How many of the images are left for training."""
    kept = sum(split in ("", TRAIN) for split in splits) if splits else count
    if VALID in splits:
        return kept
    share = min(data.held_out_share, data.held_out_images / max(1, kept))
    return float(kept * (1 - share))


def image_facts(recipe: Any, home: Run | None, reporter: Reporter) -> DataFacts:
    """The number of labels and of images."""
    data, found = recipe.data, DataFacts(Sizes(0, LABELS), vocabulary_known=True)
    files = [*data.paths("train"), *data.paths("valid"), *filter(None, [data.labels_path()])]
    if data.builtin or all(file.exists() for file in files):
        images = image_data.labelled_images(data)
        sizes, count = Sizes(0, len(images.classes)), sum(map(bool, images.labels))
        tokens = learned_images(images.splits, count, data)
        return replace(found, sizes=sizes, labels_known=True, tokens=tokens)
    if home is not None and home.labels_path.exists() and home.recipe().task == recipe.task:
        return replace(found, sizes=Sizes(0, len(home.labels())), labels_known=True)
    return found


def image_work(recipe: Any, share: float, sizes: Sizes) -> Work:
    images = recipe.train.batch_size * share
    return Work(images, images, 1, 1)


def classifier_parts(recipe: Any, sizes: Sizes, work: Work, mixed: bool) -> list[Part]:
    images, labels = work.source_tokens, sizes.outputs
    if encoded_before(recipe):
        return [labels_part(recipe.model.d_model, images, labels)]
    return [encoder_part(recipe.model, shape_of(recipe.data), images, mixed, labels)]


CLASSIFICATION = TaskPlanning(
    facts=image_facts,
    work=image_work,
    padded_work=image_work,
    counted_tokens=lambda recipe, work: work.source_tokens,
    examples="images",
    batch=lambda recipe, images: f"{images:,.0f} images",
    remark=remark,
    parts=classifier_parts,
    has_lengths=False,
    has_labels=True,
)


def measured(recipe: Any, found: DataFacts, tokenizers: Tokenizers | None) -> DataFacts:
    """The number of captions to learn from, and their mean length without what stands around."""
    data = recipe.data
    if not all(path.exists() for path in (*data.caption_paths(), *data.paths("valid"))):
        return found
    captions = caption_data.captioned(data)
    splits = captions.splits
    learned = [
        each.text for each in captions.captions if not splits or splits[each.image] in ("", TRAIN)
    ]
    images = sum(map(bool, captions.by_image))
    each = len(captions) / images
    word = PIECES
    if tokenizers is not None:
        word = pieces_of_a_word(tokenizers.source, learned[:SAMPLE])
    length = word * sum(map(count_words, learned)) / max(1, len(learned))
    count = each * learned_images(splits, images, data)
    sizes = replace(found.sizes, sentence=min(length, data.max_length), word=word)
    return replace(found, sizes=sizes, tokens=count)


def learned(recipe: Any) -> Tokenizers:
    texts = (each.text for each in caption_data.captioned(recipe.data).captions)
    tokenizer = learn(recipe.tokenizer, texts)
    return Tokenizers(tokenizer, tokenizer)


def caption_work(full: float, shorter: float, recipe: Any, share: float, sizes: Sizes) -> Work:
    """Each image counts as one token of the source; it comes again with each of its captions."""
    tokens, length = full * recipe.train.batch_tokens * share, sizes.sentence / shorter + END
    return Work(tokens / length, tokens, 1, length)


def captioning_facts(recipe: Any, home: Run | None, reporter: Reporter) -> DataFacts:
    found = caption_facts(recipe, home, reporter)
    if found.tokens is None:
        return found
    return replace(found, tokens=found.tokens * (1 + found.sizes.sentence + END))


def parts_of_captioner(recipe: Any, sizes: Sizes, work: Work, mixed: bool) -> list[Part]:
    return captioner_parts(
        recipe.encoder,
        recipe.model,
        shape_of(recipe.data),
        sizes.outputs,
        work,
        mixed,
        encoded_before(recipe),
    )


caption_facts = text_facts(measured, learned, assumed_sizes)
CAPTIONING = TaskPlanning(
    facts=captioning_facts,
    work=partial(caption_work, FULL, 1.0),
    # A batch of short captions has more images, which take most of the memory.
    padded_work=partial(caption_work, 1.0, SHORT),
    counted_tokens=lambda recipe, work: work.source_tokens + work.target_tokens,
    examples="captions",
    batch=lambda recipe, tokens: f"{tokens:,.0f} tokens",
    remark=remark,
    parts=parts_of_captioner,
    gradient_beside=True,
)


def matching_work(recipe: Any, share: float, sizes: Sizes) -> Work:
    length = min(LONGEST * sizes.sentence + AROUND, recipe.data.max_length)
    tokens = recipe.train.batch_size * share * length
    return Work(tokens, tokens, length, length)


def parts_of_matcher(recipe: Any, sizes: Sizes, work: Work, mixed: bool) -> list[Part]:
    return clip_parts(
        recipe.encoder,
        recipe.model,
        recipe.space,
        shape_of(recipe.data),
        work,
        mixed,
        encoded_before(recipe),
    )


MATCHING = TaskPlanning(
    facts=caption_facts,
    work=matching_work,
    padded_work=matching_work,
    counted_tokens=lambda recipe, work: work.source_tokens / work.source_length,
    examples="captions",
    batch=lambda recipe, captions: f"{captions:,.0f} captions",
    remark=remark,
    parts=parts_of_matcher,
    compares_rows=True,
)
