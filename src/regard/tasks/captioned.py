"""What the tasks that learn from images with captions have in common: settings of their recipes,
the vocabulary, and the images and captions of a part of the data.
"""

from collections.abc import Callable, Generator
from typing import TYPE_CHECKING, ClassVar, Literal, Self, cast

from pydantic import Field, model_validator

from regard.checks.captions import check_captions
from regard.checks.report import Report
from regard.configs.cnn import CnnConfig
from regard.configs.lite0 import Lite0Config
from regard.configs.vit import VitConfig
from regard.errors import DataError
from regard.recipe import Recipe
from regard.run import Run
from regard.tasks import image_data, image_features
from regard.tasks.caption_data import DescribedImages, EncodedCaptions, captioned
from regard.tasks.image_sections import IMAGE_SHAPE, AugmentationSection, CaptionedImageSection
from regard.tasks.running_text import described_vocabulary
from regard.tasks.sections import TokenizerSection, check_embeddings
from regard.tasks.task import DataFlags, Description, Section
from regard.tasks.tokenizers import known_tokenizers, learn
from regard.text.tokenizer import Tokenizer, Tokenizers
from regard.training.events import Event, Note, Phase

if TYPE_CHECKING:
    from torch import Tensor

    from regard.data.caption_batches import Images
    from regard.models.captioner import Captioner
    from regard.models.clip import Clip


class CaptionedRecipe(Recipe):
    """The settings that recipes of captioning and matching have in common."""

    encoders: ClassVar = {"cnn": CnnConfig, "vit": VitConfig, "lite0": Lite0Config}
    pretrained: ClassVar = dict.fromkeys(image_features.PRETRAINED, "encoder")
    shape: ClassVar[tuple[str, ...]] = ("model", "encoder", *IMAGE_SHAPE)

    data: CaptionedImageSection
    augmentation: AugmentationSection = AugmentationSection()
    tokenizer: TokenizerSection = TokenizerSection()
    encoder: CnnConfig | VitConfig | Lite0Config = Field(
        default_factory=dict, validate_default=True
    )

    @model_validator(mode="after")
    def shows_whole_images(self) -> Self:
        if self.augmentation.cut_mix:
            raise ValueError("augmentation.cut_mix: a caption is of one image; leave it out")
        return self

    @model_validator(mode="after")
    def starts_from_words(self) -> Self:
        check_embeddings(self.data, self.tokenizer)
        return self


def vocabulary(
    run: Run, recipe: CaptionedRecipe, found: DescribedImages
) -> Generator[Event, None, Tokenizers]:
    """The run's tokenizers; the first start learns one from the captions to train on."""
    if known := known_tokenizers(run, recipe):
        return known
    yield Phase("Learning the vocabulary")
    tokenizer = learn(recipe.tokenizer, found.part("train").texts())
    learned = Tokenizers(tokenizer, tokenizer)
    run.save_tokenizers(learned)
    return learned


def images(
    run: Run,
    recipe: CaptionedRecipe,
    found: DescribedImages,
    name: str,
    looks_at: Literal["grid", "whole"],
) -> "Generator[Event, None, Images]":
    """The images of a part: pixels, or what a frozen encoder makes of them."""
    from regard.data.caption_batches import ImagePixels

    training, settings = name == "train", recipe.augmentation
    rows, pixels = found.part(name).rows, found.images.cache.pixels
    if not image_features.once(recipe.encoder, settings):
        return ImagePixels(pixels, rows, changes(settings) if training else None)
    encoder, mirrored = cast("Lite0Config", recipe.encoder), training and settings.flip
    chosen = (pixels, rows)
    return (yield from image_features.features(run, encoder, chosen, name, looks_at, mirrored))


def changes(settings: AugmentationSection) -> "Callable[[Tensor], Tensor] | None":
    """How a batch of images is changed at random."""
    from regard.data.augmentation import Augmentation, augment

    wanted = Augmentation(**settings.model_dump())
    return None if wanted == Augmentation() else lambda images: augment(images, wanted).images


def captions(
    recipe: CaptionedRecipe,
    found: DescribedImages,
    name: str,
    tokenizer: Tokenizer,
    longest: int,
    least: int = 1,
) -> Generator[Event, None, EncodedCaptions]:
    """The captions of a part that have up to `longest` pieces; `least` of them are needed."""
    encoded = found.part(name).encoded(tokenizer, longest)
    if encoded.left_out:
        yield Note(f"{encoded.left_out:,} captions of more than {longest} pieces are left out")
    if len(encoded.ids) < least:
        raise DataError(
            f"{recipe.data.shown()[0]}: too few captions ({len(encoded.ids)}); give more"
        )
    return encoded


def initialise(
    found: image_data.CachedImages,
    data: CaptionedImageSection,
    tokenizer: Tokenizer,
    model: "Captioner | Clip",
) -> str:
    """Fit the first layer to the data, or take the weights that are known; and start words from
    vectors that are known.
    """
    from regard.tasks.embeddings import from_vectors

    model.initialise(found.sample())
    take = from_vectors(data, tokenizer)
    return take(model) if take else ""


def described(
    what: str, columns: tuple[str, str, str], recipe: CaptionedRecipe, run: Run | None
) -> Description:
    data = recipe.data
    words, size = described_vocabulary(recipe, run)
    return Description(
        what=what,
        data=data.shown(),
        columns=columns,
        facts={
            "data": data.shown(),
            "images": f"{data.image_size} × {data.image_size} pixels",
            "encoder": recipe.encoder.summary(),
            "vocabulary": words,
        },
        sizes={**image_data.sizes_of(data), "inputs": size, "outputs": size},
    )


def data_section(name: str, flags: DataFlags) -> tuple[Section, str]:
    files = flags.companions.get("captions", ())
    return {**flags.files(), "captions": list(map(str, files))}, name


def check(data: CaptionedImageSection) -> Report:
    """What is to be seen on images and captions before they are trained on."""
    files = [*data.paths("train"), *data.paths("valid"), *data.caption_paths()]
    return check_captions(files, lambda: captioned(data), data.max_length)
