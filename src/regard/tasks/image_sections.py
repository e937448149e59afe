"""Sections of the recipes of tasks that see images. They load without PyTorch."""

from pathlib import Path
from typing import Literal

from pydantic import Field

from regard.data.lines import check_data_file, check_place
from regard.recipe import Section, TrainSection
from regard.tasks.sections import FilesSection, ImportableSection, WordsSection

Fit = Literal["crop", "squeeze", "pad"]
# Settings of images that the weights of a model are made for.
IMAGE_SHAPE = ("data.image_size", "data.channels", "data.fit")


class ImageSection(FilesSection):
    """Images: folders, or .npz archives of arrays."""

    deciding = frozenset({"image_size", "channels", "fit"})

    image_size: int = Field(
        default=64, ge=8, le=1024, description="Side of the square that the model sees, in pixels."
    )
    channels: Literal[1, 3] = Field(default=3, description="3 for colours, 1 for shades of grey.")
    fit: Fit = Field(default="crop", description="How an image that is no square becomes one.")
    held_out_images: int = Field(
        default=5000, ge=1, description="Most images that are held out for validation."
    )

    def check_files(self) -> None:
        for path in (*self.paths("train"), *self.paths("valid")):
            check_images(path)


class LabelledImageSection(ImportableSection, ImageSection):
    """Images with a label each."""

    builtin: Literal["shapes"] | None = Field(
        default=None, description="Images that regard draws itself, instead of files."
    )
    labels: str = Field(
        default="",
        description="A table of file names and labels; without it, the folder is the label.",
    )

    def named(self) -> bool:
        ways = bool(self.train), self.builtin is not None, self.imported is not None
        return ways.count(True) == 1

    def shown(self) -> str | list[str]:
        return self.builtin or super().shown()

    def labels_path(self) -> Path | None:
        return Path(self.folder, self.labels) if self.labels else None

    def check_files(self) -> None:
        super().check_files()
        if path := self.labels_path():
            check_data_file(path)


class CaptionedImageSection(ImageSection, WordsSection):
    """Images with one or several captions each."""

    held_out_images: int = Field(
        default=1000, ge=1, description="Most images that are held out for validation."
    )
    captions: tuple[str, ...] = Field(
        default=(),
        description="Tables of file names and captions; without them, a text beside each image.",
    )
    caption: str | int = Field(
        default="", description="The column of the captions: a name, or a number from 1."
    )
    max_length: int = Field(
        default=50, ge=2, le=10_000, description="Longest caption in pieces; others are left out."
    )

    def caption_paths(self) -> list[Path]:
        return [Path(self.folder, file) for file in self.captions]

    def check_files(self) -> None:
        super().check_files()
        for path in self.caption_paths():
            if not path.is_dir():
                check_data_file(path)
        self.check_vectors()


class MatchedImageSection(ImportableSection, CaptionedImageSection):
    """The same for a model that compares images with texts."""


class AugmentationSection(Section):
    """How training changes images at random, so that it never sees the same one twice."""

    shift: int = Field(default=4, ge=0, le=512, description="Most pixels that an image is moved.")
    flip: bool = Field(default=True, description="Whether every other image is mirrored.")
    cut_out: int = Field(
        default=0, ge=0, le=1024, description="Side of a square that is hidden, in pixels."
    )
    cut_mix: float = Field(
        default=0.0, ge=0, le=1, description="Share of batches that mix parts of two images."
    )
    brightness: float = Field(
        default=0.0, ge=0, lt=1, description="How much brightness and contrast vary."
    )


class ImageTraining(TrainSection):
    """Training on batches of images."""

    batch_size: int = Field(default=128, ge=1, description="Images of a batch.")
    label_smoothing: float = Field(
        default=0.1, ge=0, lt=1, description="Probability that training gives to wrong labels."
    )


class LabelledImageTraining(ImageTraining):
    class_weights: bool = Field(
        default=False, description="Whether rare labels count as much as frequent ones."
    )


def check_images(path: Path) -> None:
    """Check that a folder, an archive or a file of images is there."""
    if not path.is_dir():
        check_place(path)
