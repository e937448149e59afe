"""What a frozen encoder makes of images, computed once into a file that training maps into memory.

The file holds float16 [images, views, …], nothing else. The first view is the image, the second, if
there is one, the mirrored image. It grows a block at a time, so that a start that was interrupted
continues where it was.

Shapes: B images of a batch, C channels, H rows, W columns of pixels.
"""

import os
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from regard.data.batches import Indices
from regard.errors import RunError
from regard.reporter import SILENT, Reporter

AT_ONCE = 64
BYTES = 2  # of a number


@dataclass(frozen=True)
class ImageFeatures:
    """What an encoder has made of some images, number i of image i."""

    values: NDArray[np.float16] = field(repr=False)  # [images, views, …], mapped

    def __len__(self) -> int:
        return len(self.values)

    def plain(self, rows: Indices) -> Tensor:
        """[B, …]: of the images as they are."""
        return torch.from_numpy(self.values[rows, 0]).float()

    def drawn(self, rows: Indices) -> Tensor:
        """[B, …]: of each image or its mirror image, drawn at random."""
        views = torch.randint(self.values.shape[1], (len(rows),)).numpy()
        return torch.from_numpy(self.values[rows, views]).float()


def computed(
    pixels: NDArray[np.uint8],
    rows: Indices,
    encode: Callable[[Tensor], Tensor],
    path: Path,
    mirrored: bool,
    reporter: Reporter = SILENT,
) -> ImageFeatures:
    """Encode those rows of the images [N, H, W, C] that are not in the file yet, and open it.
    `encode` takes images [B, C, H, W].
    """
    views = 2 if mirrored else 1
    shape = views, *encoded(encode, pixels[:1], views).shape[2:]
    each = BYTES * int(np.prod(shape))
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        with path.open("ab") as file, reporter.progress("images", len(rows)) as advance:
            # Blocks are always the same, since the last bits of a product depend on its size.
            done = min(len(rows), file.tell() // each)
            done = done if done == len(rows) else done // AT_ONCE * AT_ONCE
            file.truncate(done * each)
            advance(done)
            for start in range(done, len(rows), AT_ONCE):
                block = encoded(encode, pixels[rows[start : start + AT_ONCE]], views)
                file.write(block.half().numpy().tobytes())
                file.flush()
                os.fsync(file.fileno())
                advance(len(block))
        values = np.memmap(path, np.float16, "r", shape=(len(rows), *shape))
    except OSError as error:
        raise RunError(
            f"{path}: cannot be written ({error.strerror or error}); make room or choose another "
            "folder"
        ) from None
    return ImageFeatures(values)


@torch.inference_mode()
def encoded(encode: Callable[[Tensor], Tensor], pixels: NDArray[np.uint8], views: int) -> Tensor:
    """[B, views, …]"""
    images = torch.from_numpy(np.array(pixels)).permute(0, 3, 1, 2)
    found = [encode(images), *([encode(images.flip(3))] if views == 2 else [])]
    return torch.stack(found, 1)
