"""regard embed: a vector for each text, or for each token of it."""

import json
from pathlib import Path
from typing import TYPE_CHECKING

from regard.cli.options import Device

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray


def embed(
    run: Path,
    texts: tuple[str, ...] = (),
    /,
    *,
    backward: Path | None = None,
    output: Path | None = None,
    tokens: bool = False,
    normalise: bool = False,
    device: Device = "auto",
) -> None:
    """Turn texts into vectors, with a run of any task.

    The output is one JSON object per text, or one .npy file for all of them.

    Parameters
    ----------
    run
        A run folder of any task. A translator's encoder reads the texts.
    texts
        Texts to embed; without any, the lines of standard input.
    backward
        For a recurrent language model: a run that reads backwards, so that a vector depends on
        both sides of a token.
    output
        Write the vectors to this .npy file, one row per text.
    tokens
        Print a vector for each token instead of their mean.
    normalise
        Scale every vector to length 1.
    """
    from regard.cli.checks import check_outputs, open_run
    from regard.cli.display import results, say
    from regard.cli.translate import chunks, lines
    from regard.errors import RequestError, UsageError
    from regard.files import replacing

    if output is not None and (tokens or output.suffix != ".npy"):
        raise UsageError(f"--output {output}: takes a name that ends in .npy, and no --tokens")
    check_outputs(output)
    for folder in (run, backward):
        if folder is not None:
            open_run(folder)
    import numpy as np

    from regard.tasks.embedder import ROWS_AT_ONCE, Embedder

    embedder = Embedder.load(run, device, backward)
    kept = []
    for chunk in chunks(texts or lines(), ROWS_AT_ONCE):
        if tokens:
            for text in chunk:
                pieces, found = embedder.tokens(text)
                facts = {"text": text, "tokens": pieces, "vectors": unit(found, normalise).tolist()}
                results(json.dumps(facts, ensure_ascii=False))
            continue
        vectors = unit(embedder.embed(chunk), normalise)
        if output is not None:
            kept.append(vectors)
            continue
        for text, vector in zip(chunk, vectors, strict=True):
            results(json.dumps({"text": text, "vector": vector.tolist()}, ensure_ascii=False))
    if output is not None:
        if not kept:
            raise RequestError(f"no text was given, so nothing is written to {output}")
        table = np.concatenate(kept)
        with replacing(output) as temporary:
            np.save(temporary, table, allow_pickle=False)
        say(f"Wrote {len(table):,} vectors of {table.shape[1]} numbers to {output}")


def unit(vectors: "NDArray[np.float32]", wanted: bool) -> "NDArray[np.float32]":
    import numpy as np

    if not wanted:
        return vectors
    lengths: NDArray[np.float32] = np.linalg.norm(vectors, axis=-1, keepdims=True)
    return np.divide(vectors, np.maximum(lengths, np.float32(1e-12)), dtype=np.float32)
