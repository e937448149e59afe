"""Matching: images and texts in one space, where what belongs together is near (CLIP)."""

from collections.abc import Callable, Generator, Mapping
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any, ClassVar, Literal, Self, cast

import numpy as np
from pydantic import Field, model_validator

from regard.configs.bert import BertConfig
from regard.configs.clip import BagConfig, SharedSpaceConfig
from regard.configs.cnn import CnnConfig
from regard.configs.gpt import GPTConfig
from regard.configs.lite0 import Lite0Config
from regard.configs.recurrent import ReaderConfig
from regard.configs.vit import VitConfig
from regard.data.lines import check_file
from regard.errors import DataError
from regard.evaluate.metrics import CHANCE, MEAN_RECALL, RECALLS
from regard.recipe import Recipe, TrainSection, parse_section
from regard.run import Run
from regard.tasks import caption_data, image_data, image_features, matching_sizes
from regard.tasks.image_sections import AugmentationSection, CaptionedImageSection, check_images
from regard.tasks.running_text import described_vocabulary
from regard.tasks.sections import TokenizerSection, check_positions
from regard.tasks.task import (
    DataFlags,
    Description,
    Evaluation,
    Section,
    Sizes,
    Suggestion,
    Task,
    Test,
)
from regard.tasks.tokenizers import known_tokenizers, learn
from regard.text.tokenizer import Tokenizer, Tokenizers
from regard.training.events import Event, ExamplesReady, Note, Phase

if TYPE_CHECKING:
    from torch import Tensor, nn

    from regard.data.caption_batches import Images
    from regard.data.matching_pairs import MatchingPairs
    from regard.models.clip import Clip
    from regard.tasks.embedder import Reader
    from regard.tasks.matcher import Matcher
    from regard.training.setup import TrainingSetup


class MatchingTraining(TrainSection):
    """Training on batches of captions and their images."""

    batch_size: int = Field(
        default=256, ge=2, description="Captions of a batch; each is compared with all others."
    )


class MatchingRecipe(Recipe):
    """A model that compares images with texts."""

    models: ClassVar = {
        "bag": BagConfig,
        "recurrent": ReaderConfig,
        "bert": BertConfig,
        "gpt": GPTConfig,
    }
    encoders: ClassVar = {"cnn": CnnConfig, "vit": VitConfig, "lite0": Lite0Config}
    pretrained: ClassVar = dict.fromkeys(image_features.PRETRAINED, "encoder")
    metrics = ("loss", *(each.name for each in RECALLS), MEAN_RECALL.name)

    task: Literal["matching"] = Field(default="matching", description="What the model is for.")
    data: CaptionedImageSection
    augmentation: AugmentationSection = AugmentationSection()
    tokenizer: TokenizerSection = TokenizerSection()
    encoder: CnnConfig | VitConfig | Lite0Config = Field(
        default_factory=dict, validate_default=True
    )
    model: BagConfig | ReaderConfig | BertConfig | GPTConfig = Field(
        default_factory=dict, validate_default=True
    )
    space: SharedSpaceConfig = SharedSpaceConfig()
    train: MatchingTraining = MatchingTraining()

    @model_validator(mode="after")
    def fits_together(self) -> Self:
        if isinstance(self.model, BertConfig | GPTConfig):
            check_positions(self.model.max_positions, self.data.max_length, "data.max_length")
        if self.augmentation.cut_mix:
            raise ValueError("augmentation.cut_mix: a caption is of one image; leave it out")
        return self


def build(recipe: MatchingRecipe, sizes: Sizes) -> "nn.Module":
    from regard.models.clip import Clip

    shape = image_data.shape_of(sizes)
    return Clip(recipe.encoder, recipe.model, recipe.space, shape, sizes["inputs"])


def setup(run: Run, recipe: MatchingRecipe) -> "Generator[Event, None, TrainingSetup]":
    from regard import objectives
    from regard.data.batches import EqualBatches
    from regard.evaluate.matching import HeldOutMatching
    from regard.training.setup import TrainingSetup

    image_features.check_weights(recipe.encoder)
    found = yield from caption_data.prepared(run, recipe.data, recipe.seed)
    tokenizer = yield from tokenizer_of(run, recipe, found)
    train = yield from pairs(run, recipe, found, "train", tokenizer)
    valid = yield from pairs(run, recipe, found, "valid", tokenizer)
    names = found.part("valid").names
    remark = f"{len(found.part('train').names):,} and {len(names):,} images"
    yield ExamplesReady(len(train), len(valid), "captions", 0.0, (remark,))
    batch_size, size = recipe.train.batch_size, recipe.data.image_size
    return TrainingSetup(
        sizes={**image_data.sizes_of(recipe.data), "inputs": len(tokenizer)},
        examples=train,
        batches=EqualBatches(len(train), batch_size, recipe.seed),
        objective=objectives.matching,
        held_out=HeldOutMatching(valid, names, batch_size),
        compares_rows=True,
        initialise=partial(initialise, found.images),
        remark=f"images of {size} × {size} pixels, vocabulary {len(tokenizer):,}",
    )


def tokenizer_of(
    run: Run, recipe: MatchingRecipe, found: caption_data.DescribedImages
) -> Generator[Event, None, Tokenizer]:
    if known := known_tokenizers(run, recipe):
        return known.source
    yield Phase("Learning the vocabulary")
    tokenizer = learn(recipe.tokenizer, found.part("train").texts())
    run.save_tokenizers(Tokenizers(tokenizer, tokenizer))
    return tokenizer


def pairs(
    run: Run,
    recipe: MatchingRecipe,
    found: caption_data.DescribedImages,
    name: str,
    tokenizer: Tokenizer,
) -> "Generator[Event, None, MatchingPairs]":
    """The captions of a part, with its images: pixels, or what a frozen encoder makes of them."""
    from regard.data.caption_batches import ImagePixels
    from regard.data.matching_pairs import MatchingPairs

    part, pixels = found.part(name), found.images.cache.pixels
    training = name == "train"
    change = changes(recipe.augmentation) if training else None
    images: Images = ImagePixels(pixels, part.rows, change)
    if image_features.once(recipe.encoder, recipe.augmentation):
        images = yield from image_features.features(
            run,
            cast("Lite0Config", recipe.encoder),
            (pixels, part.rows),
            name,
            "whole",
            training and recipe.augmentation.flip,
        )
    room = recipe.data.max_length - 2
    owners = np.repeat(np.arange(len(part.captions)), [len(each) for each in part.captions])
    texts, ids = part.texts(), tokenizer.encode_batch(part.texts())
    kept = [place for place, each in enumerate(ids) if len(each) <= room]
    if left := len(ids) - len(kept):
        yield Note(f"captions of more than {room} pieces are left out: {left:,}")
    if len(kept) < 2:
        raise DataError(f"{recipe.data.shown()[0]}: too few captions ({len(kept)}); give more")
    return MatchingPairs(
        images,
        owners[kept].astype(np.int64),
        [texts[place] for place in kept],
        [ids[place] for place in kept],
        tokenizer.specials,
    )


def changes(settings: AugmentationSection) -> "Callable[[Tensor], Tensor] | None":
    from regard.data.augmentation import Augmentation, augment

    wanted = Augmentation(**settings.model_dump())
    return None if wanted == Augmentation() else lambda images: augment(images, wanted).images


def initialise(images: image_data.CachedImages, model: "Clip") -> str:
    """Fit the first layer to the data, or take the weights that are known."""
    model.initialise(images.sample())
    return ""


def load(folder: Path | str, device: str = "cpu") -> "Matcher":
    from regard.tasks.matcher import Matcher

    return Matcher.load(folder, device)


def reader(run: Run, device: str) -> "Reader":
    from regard.tasks.matcher import reader_of

    return reader_of(load(run.folder, device))


def evaluate(run: Run, test: Test) -> Evaluation:
    from regard.tasks.matching_evaluation import evaluate

    return evaluate(run, test)


def check_test(path: Path) -> None:
    """Check that images, or a file of captions, are there."""
    check_images(path) if caption_data.is_images(path) else check_file(path)


def describe(recipe: MatchingRecipe, run: Run | None) -> Description:
    data = recipe.data
    vocabulary, size = described_vocabulary(recipe, run)
    pixels = f"{data.image_size} × {data.image_size} pixels"
    return Description(
        what="A model that matches images and texts",
        data=data.shown(),
        columns=("image", "text", "its caption"),
        facts={"data": data.shown(), "images": pixels, "vocabulary": vocabulary},
        sizes={**image_data.sizes_of(data), "inputs": size},
    )


def data_section(flags: DataFlags) -> tuple[Section, str]:
    return {**flags.files(), "captions": list(map(str, flags.companions["captions"]))}, "matching"


def suggest(data: Section, asked: Mapping[str, Any], preset: str) -> Suggestion:
    section = parse_section(MatchingRecipe, "data", data, "command line")
    found = caption_data.captioned(section)
    facts = image_data.look_at(replace(found.images, splits=found.splits))
    return matching_sizes.suggest(facts, found, data, asked)


TASK = Task(
    name="matching",
    recipe=MatchingRecipe,
    build=build,
    setup=setup,
    load=load,
    evaluate=evaluate,
    test_files="data",
    check_test=check_test,
    metrics=(*RECALLS, MEAN_RECALL, CHANCE),
    describe=describe,
    commands=lambda recipe: (
        'regard match {run} photo.jpg "a dog" "a cat"',
        'regard search {run} --images photos "a dog on a beach"',
        "regard evaluate {run} --data photos captions.tsv",
    ),
    data_section=data_section,
    suggest=suggest,
    reader=reader,
    unit="captions",
)
