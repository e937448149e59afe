"""regard embed: a vector for each text, or for each token of it."""

import json
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray


def embed(
    run: Path,
    texts: tuple[str, ...] = (),
    /,
    *,
    backward: Path | None = None,
    out: Path | None = None,
    tokens: bool = False,
    normalise: bool = False,
    device: str = "auto",
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
    out
        Write the vectors to this .npy file, one row per text.
    tokens
        Print a vector for each token instead of their mean.
    normalise
        Scale every vector to length 1.
    device
        cpu, cuda, mps or auto.
    """
    import numpy as np

    from regard.cli.display import results, say
    from regard.cli.translate import chunks, lines
    from regard.errors import RequestError
    from regard.files import replacing
    from regard.tasks.embedder import ROWS_AT_ONCE, Embedder

    if out is not None and (tokens or out.suffix != ".npy"):
        raise RequestError(f"--out {out}: takes a name that ends in .npy, and no --tokens")
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
        if out is not None:
            kept.append(vectors)
            continue
        for text, vector in zip(chunk, vectors, strict=True):
            results(json.dumps({"text": text, "vector": vector.tolist()}, ensure_ascii=False))
    if out is not None:
        if not kept:
            raise RequestError(f"no text was given, so nothing is written to {out}")
        table = np.concatenate(kept)
        with replacing(out) as temporary:
            np.save(temporary, table, allow_pickle=False)
        say(f"Wrote {len(table):,} vectors of {table.shape[1]} numbers to {out}")


def unit(vectors: "NDArray[np.float32]", wanted: bool) -> "NDArray[np.float32]":
    import numpy as np

    if not wanted:
        return vectors
    lengths: NDArray[np.float32] = np.linalg.norm(vectors, axis=-1, keepdims=True)
    return np.divide(vectors, np.maximum(lengths, np.float32(1e-12)), dtype=np.float32)
