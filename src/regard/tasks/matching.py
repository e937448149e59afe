"""Matching: images and texts in one space, where what belongs together is near (CLIP)."""

from collections.abc import Generator, Mapping
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any, ClassVar, Literal, Self, cast

import numpy as np
from numpy.typing import NDArray
from pydantic import Field, model_validator

from regard.checks.report import spread
from regard.configs.bert import BertConfig
from regard.configs.clip import SharedSpaceConfig
from regard.configs.cnn import CnnConfig
from regard.configs.gpt import GPTConfig
from regard.configs.lite0 import Lite0Config
from regard.configs.recurrent import ReaderConfig
from regard.configs.vit import VitConfig
from regard.data.image_cache import ImageCache, open_cache
from regard.errors import DataError
from regard.evaluate.metrics import CHANCE, MEAN_RECALL, RECALLS
from regard.recipe import Recipe, TrainSection, parse_section
from regard.run import Run
from regard.tasks import caption_data, image_data, image_features, matching_sizes
from regard.tasks.image_sections import AugmentationSection, CaptionedImageSection
from regard.tasks.running_text import described_vocabulary
from regard.tasks.sections import TokenizerSection, check_positions
from regard.tasks.task import (
    DataFlags,
    Description,
    Evaluation,
    ScoreLine,
    Section,
    Sizes,
    Suggestion,
    Task,
    Test,
)
from regard.tasks.tokenizers import known_tokenizers, learn
from regard.text.tokenizer import Tokenizer, Tokenizers
from regard.training.events import Event, ExamplesReady, Phase

if TYPE_CHECKING:
    from torch import Tensor, nn

    from regard.data.matching_pairs import Images
    from regard.evaluate.matching import Recall
    from regard.models.clip import Clip
    from regard.tasks.embedder import Reader
    from regard.tasks.matcher import Matcher
    from regard.training.setup import TrainingSetup

AT_ONCE = 64


class MatchingTraining(TrainSection):
    """Training on batches of captions and their images."""

    batch_size: int = Field(
        default=256, ge=2, description="Captions of a batch; each is compared with all others."
    )


class MatchingRecipe(Recipe):
    """A model that compares images with texts."""

    models: ClassVar = {"recurrent": ReaderConfig, "bert": BertConfig, "gpt": GPTConfig}
    encoders: ClassVar = {"cnn": CnnConfig, "vit": VitConfig, "lite0": Lite0Config}
    pretrained: ClassVar = dict.fromkeys(image_features.PRETRAINED, "encoder")
    metrics = ("loss", *(each.name for each in RECALLS), MEAN_RECALL.name)

    task: Literal["matching"] = Field(default="matching", description="What the model is for.")
    data: CaptionedImageSection
    tokenizer: TokenizerSection = TokenizerSection()
    augmentation: AugmentationSection = AugmentationSection()
    encoder: CnnConfig | VitConfig | Lite0Config = Field(
        default_factory=dict, validate_default=True
    )
    model: ReaderConfig | BertConfig | GPTConfig = Field(
        default_factory=dict, validate_default=True
    )
    space: SharedSpaceConfig = SharedSpaceConfig()
    train: MatchingTraining = MatchingTraining()

    @model_validator(mode="after")
    def fits_together(self) -> Self:
        if not isinstance(self.model, ReaderConfig):
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
    from regard.data.matching_pairs import MatchingPairs
    from regard.evaluate.matching import HeldOutMatching
    from regard.training.setup import TrainingSetup

    image_features.check_weights(recipe.encoder)
    folder = run.training / "data"
    known = known_tokenizers(run, recipe)
    tokenizer = known.source if known else None
    if tokenizer is None or not run.has_data():
        tokenizer = yield from prepare(run, recipe, tokenizer)
    saved, cache = caption_data.saved(folder), open_cache(folder / "images")
    sources = {}
    for name, rows in saved.rows.items():
        sources[name] = yield from images_of(run, recipe, cache, name, np.array(rows))
    train, valid = (
        MatchingPairs.open(folder, name, tokenizer, sources[name]) for name in ("train", "valid")
    )
    yield ExamplesReady(len(train), len(valid), "captions", 0.0, (saved.remark,))
    batch_size, size = recipe.train.batch_size, recipe.data.image_size
    return TrainingSetup(
        sizes={**image_data.sizes_of(recipe.data), "inputs": len(tokenizer)},
        examples=train,
        batches=EqualBatches(len(train), batch_size, recipe.seed),
        objective=objectives.matching,
        held_out=HeldOutMatching(valid, saved.valid_texts, saved.names, batch_size),
        compares_rows=True,
        initialise=partial(initialise, cache, saved.rows["train"]),
        remark=f"images of {size} × {size} pixels, vocabulary {len(tokenizer):,}",
    )


def prepare(
    run: Run, recipe: MatchingRecipe, tokenizer: Tokenizer | None
) -> Generator[Event, None, Tokenizer]:
    """Decode the images, learn the vocabulary unless there is one, and encode the captions."""
    from regard.data.matching_pairs import write_pairs

    folder = run.training / "data"
    found = yield from caption_data.read(run, recipe.data, recipe.seed)
    if tokenizer is None:
        yield Phase("Learning the vocabulary")
        tokenizer = learn(recipe.tokenizer, (text for _, text in found.captions("train")))
        run.save_tokenizers(Tokenizers(tokenizer, tokenizer))
    yield Phase("Encoding the captions")
    caption_data.save(folder, found)
    for name in ("valid", "train"):
        captions = found.captions(name)
        write_pairs(captions, tokenizer, folder, name, recipe.data.max_length)
    return tokenizer


def images_of(
    run: Run, recipe: MatchingRecipe, cache: ImageCache, name: str, rows: NDArray[np.int64]
) -> "Generator[Event, None, Images]":
    """The images of a set as pixels, or as what a frozen encoder makes of them."""
    from regard.data.augmentation import Augmentation, augment
    from regard.data.matching_pairs import EncodedImages, PixelImages

    changes = recipe.augmentation
    if image_features.once(recipe.encoder, changes):
        encoder = cast("Lite0Config", recipe.encoder)
        mirrored = changes.flip and name == "train"
        found = yield from image_features.features(
            run, encoder, (cache.pixels, rows), name, "whole", mirrored
        )
        return EncodedImages(found, rows)
    wanted = Augmentation(**changes.model_dump())
    if wanted == Augmentation():
        return PixelImages(cache.pixels)

    def change(images: "Tensor") -> "Tensor":
        return augment(images, wanted).images

    return PixelImages(cache.pixels, change)


def initialise(cache: ImageCache, rows: list[int], model: "Clip") -> str:
    """Fit the first layer to the images to learn from."""
    import torch

    sample = sorted(spread(rows, image_data.SAMPLE))
    model.initialise(torch.from_numpy(cache.pixels[sample]).permute(0, 3, 1, 2))
    return ""


def load(folder: Path | str, device: str = "cpu") -> "Matcher":
    from regard.tasks.matcher import Matcher

    return Matcher.load(folder, device)


def reader(run: Run, device: str) -> "Reader":
    from regard.tasks.matcher import reader_of

    return reader_of(load(run.folder, device))


def evaluate(run: Run, test: Test) -> Evaluation:
    """Recall both ways on images and captions that it has not seen, beside chance."""
    import torch

    from regard.evaluate.matching import belong, recall

    recipe = run.recipe_for("matching")
    matcher = load(run.folder, test.device)
    found = caption_data.test_captions(test.without_search().files, recipe.data)
    wanted = sorted({each.image for each in found.captions})
    vectors, images = [], []
    with test.reporter.progress("reading images", len(wanted)) as advance:
        for start in range(0, len(wanted), AT_ONCE):
            part = wanted[start : start + AT_ONCE]
            made, read, problems = matcher.vectors_of_list(found.images, part)
            vectors.append(made)
            images += read
            for each in problems:
                test.reporter.say(each)
            advance(len(part))
    readable = set(images)
    captions = [each for each in found.captions if each.image in readable]
    if len(images) < 2:
        raise DataError(f"{test.files[0]}: {len(images)} images with captions; give at least 2")
    with test.reporter.progress("reading captions", 0):
        texts = matcher.embed_texts([each.text for each in captions])
    numbers: dict[str, int] = {}
    own = np.array([each.image for each in captions])
    same = np.array([numbers.setdefault(each.text, len(numbers)) for each in captions])
    similarity = torch.from_numpy(np.concatenate(vectors) @ texts.T)
    scores = recall(similarity, belong(own, same, np.array(images)))
    return evaluation(scores, f"{len(images):,} images, {len(captions):,} captions")


def evaluation(found: "Recall", headline: str) -> Evaluation:
    lines = [
        ScoreLine(f"{way} R@{k}{end}", shares[k])
        for way, values, chance in (
            ("image→text", found.to_texts, found.chance_to_texts),
            ("text→image", found.to_images, found.chance_to_images),
        )
        for k in values
        for end, shares in (("", values), (" by chance", chance))
    ]
    lines += [
        ScoreLine("mean recall", found.mean),
        ScoreLine("mean recall by chance", found.chance),
    ]
    scores = {line.name: line.value for line in lines}
    return Evaluation(headline, lines, facts={"data": headline, "scores": scores})


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
    found = caption_data.captioned_images(section)
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
    check_test=caption_data.check_test,
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
