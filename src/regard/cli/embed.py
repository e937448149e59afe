"""regard embed: a vector for each text or image, or for each token of a text."""

import json
import sys
from collections.abc import Iterable
from pathlib import Path
from typing import TYPE_CHECKING

from regard.cli.lines import FileFlags, Files, batches
from regard.cli.options import Device
from regard.data.image_files import is_image_name
from regard.machine import memory

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    from regard.tasks.embedder import Embedder


def embed(
    run: Path,
    /,
    *texts: str,
    backward: Path | None = None,
    files: Files = None,
    tokens: bool = False,
    normalise: bool = False,
    device: Device = "auto",
) -> None:
    """Turn texts or images into vectors, with a run of any task.

    The output is one JSON object per text. If the name of --output ends in .npy, that file holds
    one row per text. A run that matches images and texts takes both: names of image files are
    images.

    Parameters
    ----------
    run
        A run folder of any task. A translator's encoder reads the texts.
    texts
        Texts or image files to embed; without any, the lines of --input or of standard input, as
        they come.
    backward
        For a recurrent language model: a run that reads backwards, so that a vector depends on
        both sides of a token.
    tokens
        Print a vector for each token instead of their mean.
    normalise
        Scale every vector to length 1.
    """
    from regard.cli.checks import open_run
    from regard.errors import UsageError

    files = files or FileFlags()
    table = files.output if files.output and files.output.suffix == ".npy" else None
    if table and tokens:
        raise UsageError(f"--output {table}: has one row per text; leave --tokens out")
    for folder in (run, backward):
        if folder is not None:
            open_run(folder)
    files.check(texts)
    from regard.tasks.embedder import ROWS_AT_ONCE, Embedder

    memory.keep_big_buffers()
    embedder = Embedder.load(run, device, backward)
    given = batches(texts, files, ROWS_AT_ONCE)
    if table:
        write_table(table, (unit(vectors_of(embedder, batch), normalise) for batch in given))
        return
    with files.answers():
        for batch in given:
            show(embedder, batch, tokens, normalise)
            sys.stdout.flush()


def show(embedder: "Embedder", batch: list[str], tokens: bool, normalise: bool) -> None:
    from regard.cli.display import results

    if tokens:
        for text in batch:
            pieces, found = embedder.tokens(text)
            facts = {"text": text, "tokens": pieces, "vectors": unit(found, normalise).tolist()}
            results(json.dumps(facts, ensure_ascii=False))
        return
    vectors = unit(vectors_of(embedder, batch), normalise)
    for text, vector in zip(batch, vectors, strict=True):
        key = "image" if embedder.reads_images and is_image_name(text) else "text"
        results(json.dumps({key: text, "vector": vector.tolist()}, ensure_ascii=False))


def vectors_of(embedder: "Embedder", batch: list[str]) -> "NDArray[np.float32]":
    """The vectors of texts, and of images where the run reads them."""
    images = [i for i, each in enumerate(batch) if embedder.reads_images and is_image_name(each)]
    if not images:
        return embedder.embed(batch)
    vectors = embedder.embed(["" if i in images else each for i, each in enumerate(batch)])
    vectors[images] = embedder.embed_images([batch[i] for i in images])
    return vectors


def write_table(path: Path, vectors: "Iterable[NDArray[np.float32]]") -> None:
    import numpy as np

    from regard.cli.display import say
    from regard.errors import RequestError
    from regard.files import replacing

    kept = list(vectors)
    if not kept:
        raise RequestError(f"no text was given, so nothing is written to {path}")
    table = np.concatenate(kept)
    with replacing(path) as temporary:
        np.save(temporary, table, allow_pickle=False)
    say(f"Wrote {len(table):,} vectors of {table.shape[1]} numbers to {path}")


def unit(vectors: "NDArray[np.float32]", wanted: bool) -> "NDArray[np.float32]":
    import numpy as np

    if not wanted:
        return vectors
    lengths: NDArray[np.float32] = np.linalg.norm(vectors, axis=-1, keepdims=True)
    return np.divide(vectors, np.maximum(lengths, np.float32(1e-12)), dtype=np.float32)
