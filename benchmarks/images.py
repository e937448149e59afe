"""Measures how fast images are read, beside Pillow, and learned from, beside Hugging Face.

    python -m benchmarks.images reading                    # 8,000 drawn JPEGs of 500 × 375 pixels
    python -m benchmarks.images reading --width 96 --height 96
    python -m benchmarks.images reading --images photos/   # your own
    python -m benchmarks.images training                   # a Vision Transformer, in both

*reading* fills a cache. Both read the same files and make the same squares, on as many threads as
there are cores. Pillow only opens, scales and converts; regard also checks what an image would
cost, hashes it, and writes pixels and records to the disk. They take turns, and the best round of
each counts. The last line is a second start, which reads no image.

*training* is described in `benchmarks.image_training`.
"""

import argparse
import io
import tempfile
import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import numpy as np
from PIL import Image

from benchmarks import image_training
from regard.data.image_cache import build
from regard.data.image_files import ImageList, find_images
from regard.machine.cores import usable_cores

ROUNDS, SIZE = 3, 64


def draw(folder: Path, count: int, width: int, height: int) -> None:
    """Blurred noise with a little grain: such JPEGs are about as large as those of photographs."""
    random = np.random.default_rng(1)
    for number in range(count):
        coarse = random.integers(0, 256, (height // 12 + 2, width // 12 + 2, 3), np.uint8)
        image = Image.fromarray(coarse).resize((width, height), Image.Resampling.BICUBIC)
        grain = random.normal(0, 6, (height, width, 1))
        pixels = np.clip(np.asarray(image) + grain, 0, 255).astype(np.uint8)
        Image.fromarray(pixels).save(folder / f"{number}.jpg", quality=85)


def with_pillow(images: ImageList) -> None:
    block = np.empty((len(images), SIZE, SIZE, 3), np.uint8)

    def read(number: int) -> None:
        content = images.read(number)
        assert isinstance(content, bytes)
        with Image.open(io.BytesIO(content)) as image:
            image.draft("RGB", (SIZE, SIZE))
            small = image.convert("RGB").resize((SIZE, SIZE), reducing_gap=2.0)
            block[number] = np.asarray(small)

    with ThreadPoolExecutor(usable_cores()) as pool:
        list(pool.map(read, range(len(images)), chunksize=8))


def measure_reading(asked: argparse.Namespace) -> None:
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        source = asked.images or folder / "images"
        if not asked.images:
            source.mkdir()
            draw(source, asked.count, asked.width, asked.height)
        images = find_images([source])
        best: dict[str, tuple[float, float]] = {}
        for turn in range(ROUNDS):
            cache = folder / f"cache-{turn}"
            for who, work in (
                ("Pillow", lambda: with_pillow(images)),
                ("regard", lambda cache=cache: build(images, cache, SIZE, "squeeze", 3)),
                ("second start", lambda cache=cache: build(images, cache, SIZE, "squeeze", 3)),
            ):
                before = time.perf_counter(), time.process_time()
                work()
                spent = time.perf_counter() - before[0], time.process_time() - before[1]
                best[who] = min(best.get(who, spent), spent)
        print(f"{len(images):,} images, {usable_cores()} threads, best of {ROUNDS} rounds")
        for who, (seconds, processor) in best.items():
            print(f"{who:<13}{seconds:7.2f} s, {processor:7.2f} s of processor time")
        for what, place in (("time", 0), ("processor time", 1)):
            print(f"regard reads at {best['Pillow'][place] / best['regard'][place]:.2f} ×"
                  f" Pillow's rate by {what}")  # fmt: skip


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    commands = parser.add_subparsers(dest="what", required=True)
    reading = commands.add_parser("reading", help="beside Pillow")
    reading.add_argument("--images", type=Path, help="a folder, or an .npz archive")
    reading.add_argument("--count", type=int, default=8000)
    reading.add_argument("--width", type=int, default=500)
    reading.add_argument("--height", type=int, default=375)
    training = commands.add_parser("training", help="beside Hugging Face's ViT")
    training.add_argument("--rounds", type=int, default=7)
    training.add_argument("--steps", type=int, default=20, help="updates of a round")
    asked = parser.parse_args()
    if asked.what == "training":
        image_training.measure(asked.rounds, asked.steps)
    else:
        measure_reading(asked)


if __name__ == "__main__":
    main()
