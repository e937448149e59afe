"""Captioning: images to sentences."""

from collections.abc import Generator, Mapping
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any, ClassVar, Literal, cast

import numpy as np
from pydantic import Field

from regard.configs.captioner import RecurrentCaptionerConfig, TransformerCaptionerConfig
from regard.configs.cnn import CnnConfig
from regard.configs.lite0 import Lite0Config
from regard.configs.vit import VitConfig
from regard.data.image_files import TEST, VALID
from regard.evaluate.metrics import BLEU, CIDER, PERPLEXITY, SHUFFLED_CIDER
from regard.recipe import Recipe, Section, parse_section
from regard.run import Run
from regard.tasks import caption_data, caption_sizes, image_data, image_features
from regard.tasks.image_sections import AugmentationSection, CaptionedImageSection, check_images
from regard.tasks.sections import SampledTraining, TokenizerSection
from regard.tasks.task import (
    DataFlags,
    Description,
    Evaluation,
    Sizes,
    Suggestion,
    Task,
    Test,
)
from regard.tasks.task import Section as Values
from regard.tasks.tokenizers import known_tokenizers, learn
from regard.text.tokenizer import Tokenizer, Tokenizers
from regard.training.events import Event, ExamplesReady, Note, Phase

if TYPE_CHECKING:
    from torch import Tensor, nn

    from regard.data.caption_batches import CaptionedImages, Images
    from regard.evaluate.validation import HeldOut
    from regard.models.captioner import Captioner as CaptionerModel
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


class CaptioningRecipe(Recipe):
    """A model that describes images."""

    encoders: ClassVar = {"cnn": CnnConfig, "vit": VitConfig, "lite0": Lite0Config}
    models: ClassVar = {
        "recurrent": RecurrentCaptionerConfig,
        "transformer": TransformerCaptionerConfig,
    }
    pretrained: ClassVar = dict.fromkeys(image_features.PRETRAINED, "encoder")
    metrics = ("loss", "bleu", "cider")

    task: Literal["captioning"] = Field(default="captioning", description="What the model is for.")
    data: CaptionedImageSection
    augmentation: AugmentationSection = AugmentationSection()
    tokenizer: TokenizerSection = TokenizerSection()
    encoder: CnnConfig | VitConfig | Lite0Config = Field(
        default_factory=dict, validate_default=True
    )
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
    tokenizer = yield from tokenizer_of(run, recipe, found)
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
        initialise=partial(initialise, found.images),
        remark=f"images of {size} × {size} pixels, vocabulary {len(tokenizer):,}",
    )


def tokenizer_of(
    run: Run, recipe: CaptioningRecipe, found: caption_data.DescribedImages
) -> Generator[Event, None, Tokenizer]:
    if known := known_tokenizers(run, recipe):
        return known.target
    yield Phase("Learning the vocabulary")
    tokenizer = learn(recipe.tokenizer, found.part("train").texts())
    run.save_tokenizers(Tokenizers(tokenizer, tokenizer))
    return tokenizer


def examples(
    run: Run,
    recipe: CaptioningRecipe,
    found: caption_data.DescribedImages,
    name: str,
    tokenizer: Tokenizer,
) -> "Generator[Event, None, CaptionedImages]":
    """The captions of a part, with its images: pixels, or what a frozen encoder makes of them."""
    from regard.data.caption_batches import ImagePixels

    training = name == "train"
    part, pixels = found.part(name), found.images.cache.pixels
    images: Images = ImagePixels(
        pixels, part.rows, changes(recipe.augmentation) if training else None
    )
    if image_features.once(recipe.encoder, recipe.augmentation):
        images = yield from image_features.features(
            run,
            cast("Lite0Config", recipe.encoder),
            (pixels, part.rows),
            name,
            recipe.model.looks_at,
            training and recipe.augmentation.flip,
        )
    encoded, left = part.encoded(tokenizer, images, recipe.data.max_length, training)
    if left:
        yield Note(f"{left:,} captions of more than {recipe.data.max_length} pieces are left out")
    return encoded


def changes(settings: AugmentationSection) -> Any:
    """How images are changed at random, the same for every caption of one batch."""
    change = image_data.changes(settings.model_copy(update={"cut_mix": 0.0}), 1)
    if change is None:
        return None

    def changed(images: "Tensor") -> "Tensor":
        return change(images, images)[0]

    return changed


def initialise(images: image_data.CachedImages, model: "CaptionerModel") -> str:
    """Fit the first layer to the data, or take the weights that are known."""
    model.initialise(images.sample())
    return ""


def load(folder: Path, device: str) -> "Captioner":
    from regard.tasks.captioner import Captioner

    return Captioner.load(folder, device)


def evaluate(run: Run, test: Test) -> Evaluation:
    from regard.tasks.caption_evaluation import evaluate

    return evaluate(run, test)


def after_training(
    run: Run, recipe: CaptioningRecipe, model: "nn.Module", held_out: "HeldOut"
) -> list[str]:
    from regard.tasks.caption_evaluation import controls

    return controls(model, held_out)


def describe(recipe: CaptioningRecipe, run: Run | None) -> Description:
    data, tokenizer = recipe.data, recipe.tokenizer
    known = run.tokenizers().target if run is not None and run.has_tokenizers() else None
    count = len(known) if known else tokenizer.vocabulary_size
    size = f"{data.image_size} × {data.image_size} pixels"
    return Description(
        what="A model that describes images",
        data=data.shown(),
        columns=("image", "caption", "a caption of a person"),
        facts={
            "data": data.shown(),
            "images": size,
            "encoder": recipe.encoder.summary(),
            "vocabulary": f"{tokenizer.kind}, {'' if known else 'up to '}{count:,} pieces",
        },
        sizes={**image_data.sizes_of(data), "outputs": count},
    )


def data_section(flags: DataFlags) -> tuple[Values, str]:
    files = flags.companions.get("captions", ())
    return {**flags.files(), "captions": list(map(str, files))}, "captions"


def suggest(data: Values, asked: Mapping[str, Any], preset: str) -> Suggestion:
    section = parse_section(CaptioningRecipe, "data", data, "command line")
    found = caption_data.captioned(section)
    splits = found.splits or [""] * len(found.images)
    learned = [split not in (VALID, TEST) for split in splits]
    captions = sum(learned[each.image] for each in found.captions)
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
        "regard evaluate {run} --data test/ captions.tsv",
    ),
    after_training=after_training,
    measures="the captions with the images shuffled",
    data_section=data_section,
    suggest=suggest,
)
