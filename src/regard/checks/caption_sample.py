"""Images with captions as a check reads them, and a sample to look at closely."""

from dataclasses import dataclass, replace
from functools import cached_property

from regard.checks.images import SeenImages
from regard.checks.languages import Languages, languages_of
from regard.checks.report import Example
from regard.checks.sample import Blocks
from regard.data.captions import Caption, CaptionList
from regard.data.image_files import ImageList


@dataclass(frozen=True)
class Captions:
    """Captions that were read, and what a look at some of their images has found."""

    found: CaptionList
    seen: SeenImages
    name: str  # of the file
    max_length: int

    @property
    def total(self) -> int:
        return len(self.found)

    @cached_property
    def images(self) -> ImageList:
        return replace(self.found.images, splits=self.found.splits)

    @cached_property
    def with_captions(self) -> int:
        return sum(map(bool, self.found.by_image))

    @cached_property
    def sample(self) -> list[Caption]:
        blocks: Blocks[Caption] = Blocks()
        for caption in self.found.as_read:
            blocks.add(caption)
        return list(blocks)

    @cached_property
    def languages(self) -> Languages:
        return languages_of((each.text, each.place) for each in self.sample)

    def example(self, caption: Caption) -> Example:
        return Example(caption.place, (self.images.names[caption.image], caption.text))
