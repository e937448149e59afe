"""Which images are for learning and which for validation."""

from collections.abc import Iterator
from dataclasses import dataclass

from regard.data.corpus import held_out
from regard.data.image_cache import ImageCache
from regard.data.image_files import TEST, VALID, ImageList
from regard.tasks.image_sections import ImageSection


@dataclass(frozen=True)
class Split:
    """The images to learn from and to validate on, by their numbers in the list."""

    train: list[int]
    valid: list[int]
    duplicates: int  # images of the one that are also in the other
    new_labels: tuple[str, ...]  # that only validation has

    @classmethod
    def of(cls, images: ImageList, cache: ImageCache, data: ImageSection, seed: int) -> "Split":
        """As folders and files say; else a hash of an image decides, so that copies stay
        together.
        """
        usable = [i for i in range(len(images)) if cache.readable[i]]
        if images.labels:
            usable = [i for i in usable if images.labels[i]]
        splits = images.splits or [""] * len(images)
        learned = [i for i in usable if splits[i] not in (VALID, TEST)]
        valid = [i for i in usable if splits[i] == VALID]
        if not valid:
            share = min(data.held_out_share, data.held_out_images / max(1, len(learned)))
            away = {i for i in learned if held_out(str(cache.digests[i]), seed, share)}
            valid, learned = sorted(away), [i for i in learned if i not in away]
        if not valid or not learned:
            raise data.too_few([str(cache.digests[i]) for i in usable], "images")
        digests = {int(cache.digests[i]) for i in learned}
        both = sum(int(cache.digests[i]) in digests for i in valid)
        labels = {images.labels[i] for i in learned} if images.labels else set()
        new = {images.labels[i] for i in valid} - labels if images.labels else set()
        return cls(learned, valid, both, tuple(sorted(new)))

    def remarks(self) -> Iterator[str]:
        if self.duplicates:
            yield (
                f"{self.duplicates:,} of {len(self.valid):,} validation images are also learned, "
                "so scores on them are too good"
            )
        if self.new_labels:
            names = ", ".join(self.new_labels[:8]) + ", …" * (len(self.new_labels) > 8)
            yield f"only in the validation data, so never learned: {names}"
