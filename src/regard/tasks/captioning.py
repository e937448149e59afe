"""Captioning: images to sentences."""

from collections.abc import Generator, Mapping
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any, ClassVar, Literal

import numpy as np
from pydantic import Field

from regard.configs.captioner import RecurrentCaptionerConfig, TransformerCaptionerConfig
from regard.data.image_files import TEST, VALID
from regard.evaluate.metrics import BLEU, CIDER, PERPLEXITY, SHUFFLED_CIDER
from regard.recipe import Section, parse_section
from regard.run import Run
from regard.tasks import caption_data, caption_sizes, captioned, image_data, image_features
from regard.tasks.captioned import CaptionedRecipe
from regard.tasks.image_planning import CAPTIONING
from regard.tasks.image_sections import check_images
from regard.tasks.sections import SampledTraining
from regard.tasks.task import (
    Description,
    Evaluation,
    ImageQuestion,
    Sizes,
    Suggestion,
    Task,
    Test,
)
from regard.tasks.task import Section as Values
from regard.text.tokenizer import Tokenizer
from regard.training.events import Event, ExamplesReady

if TYPE_CHECKING:
    from torch import nn

    from regard.data.caption_batches import CaptionedImages
    from regard.evaluate.validation import HeldOut
    from regard.inspect.captions import WordMaps
    from regard.tasks.captioner import Captioner
    from regard.training.setup import TrainingSetup


class CaptionTraining(SampledTraining):
    eval_sentences: int = Field(
        default=500, ge=0, description="Validation images that are described; 0 for none."
    )


class CaptionSearch(Section):
    """The settings of the search for captions."""

    beam_size: int = Field(
        default=5, ge=1, le=1000, description="Hypotheses that the search keeps alive."
    )
    length_penalty: float = Field(
        default=1.0,
        ge=0,
        le=10,
        description="Scores are divided by the length to this power: more prefers longer outputs.",
    )
    no_repeat_ngram: int = Field(
        default=0, ge=0, description="Length of sequences that may not be repeated; 0 = any may."
    )


class CaptioningRecipe(CaptionedRecipe):
    """A model that describes images."""

    models: ClassVar = {
        "recurrent": RecurrentCaptionerConfig,
        "transformer": TransformerCaptionerConfig,
    }
    metrics = ("loss", "bleu", "cider")

    task: Literal["captioning"] = Field(default="captioning", description="What the model is for.")
    model: RecurrentCaptionerConfig | TransformerCaptionerConfig = Field(
        default_factory=dict, validate_default=True
    )
    train: CaptionTraining = CaptionTraining()
    decode: CaptionSearch = CaptionSearch()


def build(recipe: CaptioningRecipe, sizes: Sizes) -> "nn.Module":
    from regard.models.captioner import Captioner

    shape = image_data.shape_of(sizes)
    return Captioner(recipe.encoder, recipe.model, shape, sizes["outputs"])


def setup(run: Run, recipe: CaptioningRecipe) -> "Generator[Event, None, TrainingSetup]":
    from regard import objectives
    from regard.evaluate.captions import HeldOutCaptions, batches_of
    from regard.training.setup import TrainingSetup

    image_features.check_weights(recipe.encoder)
    found = yield from caption_data.prepared(run, recipe.data, recipe.seed)
    tokenizer = (yield from captioned.vocabulary(run, recipe, found)).target
    train = yield from examples(run, recipe, found, "train", tokenizer)
    valid = yield from examples(run, recipe, found, "valid", tokenizer)
    batch_tokens = recipe.train.batch_tokens
    batches = batches_of(train, batch_tokens, recipe.seed)
    yield ExamplesReady(len(train), len(valid), "captions", batches.padding())
    held_out, described = found.part("valid"), recipe.train.eval_sentences
    size = recipe.data.image_size
    return TrainingSetup(
        sizes={**image_data.sizes_of(recipe.data), "outputs": len(tokenizer)},
        examples=train,
        batches=batches,
        objective=partial(objectives.caption, label_smoothing=recipe.train.label_smoothing),
        held_out=HeldOutCaptions(
            valid,
            held_out.names[:described],
            held_out.captions[:described],
            tokenizer,
            batch_tokens,
            recipe.data.max_length,
        ),
        initialise=partial(captioned.initialise, found.images, recipe.data, tokenizer),
        remark=f"images of {size} × {size} pixels, vocabulary {len(tokenizer):,}",
    )


def examples(
    run: Run,
    recipe: CaptioningRecipe,
    found: caption_data.DescribedImages,
    name: str,
    tokenizer: Tokenizer,
) -> "Generator[Event, None, CaptionedImages]":
    """The captions of a part, with its images."""
    from regard.data.caption_batches import CaptionedImages

    images = yield from captioned.images(run, recipe, found, name, recipe.model.looks_at)
    longest = recipe.data.max_length
    encoded = yield from captioned.captions(recipe, found, name, tokenizer, longest)
    specials = tokenizer.specials
    ids = [[*each, specials.end] for each in encoded.ids]
    return CaptionedImages(images, encoded.owners, ids, specials.start)


def load(folder: Path, device: str) -> "Captioner":
    from regard.tasks.captioner import Captioner

    return Captioner.load(folder, device)


def evaluate(run: Run, test: Test) -> Evaluation:
    from regard.tasks.caption_evaluation import evaluate

    return evaluate(run, test)


def attend_image(folder: Path, image: Path, question: ImageQuestion, device: str) -> "WordMaps":
    """The maps of a caption that is given, or of the model's own."""
    text, captioner = question.only("text").text, load(folder, device)
    ids = None if text is None else captioner.tokenizer.encode(text)
    return captioner.maps(image, ids)


def after_training(
    run: Run, recipe: CaptioningRecipe, model: "nn.Module", held_out: "HeldOut"
) -> list[str]:
    from regard.tasks.caption_evaluation import controls

    return controls(model, held_out)


def describe(recipe: CaptioningRecipe, run: Run | None) -> Description:
    columns = ("image", "caption", "a caption of a person")
    return captioned.described("A model that describes images", columns, recipe, run)


def suggest(data: Values, asked: Mapping[str, Any], preset: str) -> Suggestion:
    section = parse_section(CaptioningRecipe, "data", data, "command line")
    found = caption_data.captioned(section)
    splits = found.splits or [""] * len(found.images)
    learned = [split not in (VALID, TEST) for split in splits]
    captions = [each.text for each in found.captions if learned[each.image]]
    images = len(np.unique([each.image for each in found.captions if learned[each.image]]))
    facts = image_data.look_at(found.images)
    return caption_sizes.suggest_captioner(facts, images, captions, data, asked)


TASK = Task(
    name="captioning",
    recipe=CaptioningRecipe,
    build=build,
    setup=setup,
    load=load,
    evaluate=evaluate,
    test_files="data",
    check_test=check_images,
    searches=True,
    metrics=(PERPLEXITY, BLEU, CIDER, SHUFFLED_CIDER),
    describe=describe,
    commands=lambda recipe: (
        "regard caption {run} photo.jpg",
        "regard attend {run} photo.jpg --picture words.png",
        "regard evaluate {run} --data test/ captions.tsv",
    ),
    after_training=after_training,
    measures="the captions with the images shuffled",
    data_section=partial(captioned.data_section, "captions"),
    suggest=suggest,
    attend_image=attend_image,
    check=captioned.check,
    planning=CAPTIONING,
)
