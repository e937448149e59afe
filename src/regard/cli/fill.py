"""regard fill: what may stand where something is masked."""

import json
import sys
from itertools import chain
from pathlib import Path
from typing import Annotated

from regard.cli.lines import FileFlags, Files, batches, is_typed
from regard.cli.options import AT_LEAST_1, AsJson, Device


def fill(
    run: Path,
    /,
    *texts: str,
    n_best: Annotated[int, AT_LEAST_1] = 5,
    files: Files = None,
    as_json: AsJson = False,
    device: Device = "auto",
) -> None:
    """Fill in what is masked in a text.

    Write [MASK] where something is missing, and [SEP] between two sentences.

    Parameters
    ----------
    run
        A run folder of a masked language model.
    texts
        Texts to fill in; without any, the lines of --input or of standard input, as they come.
    n_best
        Show this many candidates for each mask.
    as_json
        Print one JSON object per text: the filled text, the candidates and their probabilities.
    """
    from dataclasses import asdict

    from regard.cli.checks import open_run
    from regard.cli.display import results, say
    from regard.errors import RequestError

    open_run(run, "fill")
    files = files or FileFlags()
    files.check(texts)
    from regard.tasks.filler import Filler, ranked

    filler = Filler.load(run, device)
    with files.answers():
        given = chain.from_iterable(batches(texts, files, 1))
        for number, text in enumerate(given, start=1):
            if not texts and not text.strip():
                results("{}" if as_json else "")
                sys.stdout.flush()
                continue
            try:
                found = filler.fill(text, n_best)
            except RequestError as error:
                if not is_typed(texts, files):
                    raise RequestError(f"text {number}: {error}") from None
                say(str(error))
                continue
            if as_json:
                results(json.dumps({"source": text, **asdict(found)}, ensure_ascii=False))
            else:
                results(found.text)
                for candidates in found.candidates:
                    results(f"  {ranked(candidates)}")
            sys.stdout.flush()
