"""Matching: images and texts in one space, where what belongs together is near (CLIP)."""

from collections.abc import Generator, Mapping
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any, ClassVar, Literal, Self

from pydantic import Field, model_validator

from regard.configs.bert import BertConfig
from regard.configs.clip import BagConfig, SharedSpaceConfig
from regard.configs.gpt import GPTConfig
from regard.configs.recurrent import ReaderConfig
from regard.data.lines import check_file
from regard.errors import RequestError
from regard.evaluate.metrics import CHANCE, MEAN_RECALL, RECALLS
from regard.recipe import TrainSection, parse_section
from regard.run import Run
from regard.tasks import caption_data, captioned, image_data, image_features, matching_sizes
from regard.tasks.captioned import CaptionedRecipe
from regard.tasks.image_planning import MATCHING
from regard.tasks.image_sections import MatchedImageSection, check_images
from regard.tasks.sections import check_positions
from regard.tasks.task import (
    Description,
    Evaluation,
    ImageQuestion,
    Section,
    Sizes,
    Suggestion,
    Task,
    Test,
)
from regard.text.tokenizer import Tokenizer
from regard.training.events import Event, ExamplesReady

if TYPE_CHECKING:
    from torch import nn

    from regard.data.matching_pairs import MatchingPairs
    from regard.inspect.matching import PairMaps
    from regard.tasks.embedder import Reader
    from regard.tasks.matcher import Matcher
    from regard.training.setup import TrainingSetup


class MatchingTraining(TrainSection):
    """Training on batches of captions and their images."""

    batch_size: int = Field(
        default=256, ge=2, description="Captions of a batch; each is compared with all others."
    )


class MatchingRecipe(CaptionedRecipe):
    """A model that compares images with texts."""

    models: ClassVar = {
        "bag": BagConfig,
        "recurrent": ReaderConfig,
        "bert": BertConfig,
        "gpt": GPTConfig,
    }
    metrics = ("loss", *(each.name for each in RECALLS), MEAN_RECALL.name)
    shape = (*CaptionedRecipe.shape, "space", "data.max_length")

    task: Literal["matching"] = Field(default="matching", description="What the model is for.")
    data: MatchedImageSection
    model: BagConfig | ReaderConfig | BertConfig | GPTConfig = Field(
        default_factory=dict, validate_default=True
    )
    space: SharedSpaceConfig = SharedSpaceConfig()
    train: MatchingTraining = MatchingTraining()

    @model_validator(mode="after")
    def fits_together(self) -> Self:
        if isinstance(self.model, BertConfig | GPTConfig):
            check_positions(self.model.max_positions, self.data.max_length, "data.max_length")
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
    tokenizer = (yield from captioned.vocabulary(run, recipe, found)).source
    train = yield from pairs(run, recipe, found, "train", tokenizer)
    valid = yield from pairs(run, recipe, found, "valid", tokenizer)
    names = found.part("valid").names
    remark = f"{len(found.part('train').names):,} and {len(names):,} images"
    yield ExamplesReady(len(train), len(valid), "captions", 0.0, (remark,))
    batch_size, size = recipe.train.batch_size, recipe.data.image_size
    return TrainingSetup(
        sizes={**image_data.sizes_of(recipe.data), "inputs": len(tokenizer)},
        examples=train,
        batches=EqualBatches(len(train), batch_size, recipe.seed, train.mean_length()),
        objective=objectives.matching,
        held_out=HeldOutMatching(valid, names, batch_size),
        compares_rows=True,
        initialise=partial(captioned.initialise, found.images, recipe.data, tokenizer),
        remark=f"images of {size} × {size} pixels, vocabulary {len(tokenizer):,}",
    )


def pairs(
    run: Run,
    recipe: MatchingRecipe,
    found: caption_data.DescribedImages,
    name: str,
    tokenizer: Tokenizer,
) -> "Generator[Event, None, MatchingPairs]":
    """The captions of a part, with its images."""
    from regard.data.matching_pairs import MatchingPairs

    images = yield from captioned.images(run, recipe, found, name, "whole")
    # A start and an end token stand around a text.
    longest = recipe.data.max_length - 2
    encoded = yield from captioned.captions(recipe, found, name, tokenizer, longest, least=2)
    return MatchingPairs(images, encoded.owners, encoded.texts, encoded.ids, tokenizer.specials)


def load(folder: Path | str, device: str = "cpu") -> "Matcher":
    from regard.tasks.matcher import Matcher

    return Matcher.load(folder, device)


def reader(run: Run, device: str) -> "Reader":
    from regard.tasks.matcher import reader_of

    return reader_of(load(run.folder, device))


def attend_image(folder: Path, image: Path, question: ImageQuestion, device: str) -> "PairMaps":
    if (text := question.only("text").text) is None:
        raise RequestError('say which text to compare the image with, like --text "a dog"')
    return load(folder, device).maps(image, text)


def evaluate(run: Run, test: Test) -> Evaluation:
    from regard.tasks.matching_evaluation import evaluate

    return evaluate(run, test)


def check_test(path: Path) -> None:
    """Check that images, or a file of captions, are there."""
    check_images(path) if caption_data.is_images(path) else check_file(path)


def describe(recipe: MatchingRecipe, run: Run | None) -> Description:
    columns = ("image", "text", "its caption")
    return captioned.described("A model that matches images and texts", columns, recipe, run)


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
    draws_scores=True,
    metrics=(*RECALLS, MEAN_RECALL, CHANCE),
    describe=describe,
    commands=lambda recipe: (
        'regard match {run} photo.jpg "a dog" "a cat"',
        'regard attend {run} photo.jpg --text "a dog" --picture words.png',
        'regard search {run} --images photos "a dog on a beach"',
        "regard evaluate {run} --data photos captions.tsv",
    ),
    data_section=partial(captioned.data_section, "matching"),
    suggest=suggest,
    attend_image=attend_image,
    check=captioned.check,
    planning=MATCHING,
    reader=reader,
    unit="captions",
)
