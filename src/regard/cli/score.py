"""regard score: how likely a language model holds a text."""

import json
import math
import sys
from itertools import chain
from pathlib import Path
from typing import TYPE_CHECKING

from regard.cli.lines import FileFlags, Files, batches, is_typed, whole_text
from regard.cli.options import AsJson, Device

if TYPE_CHECKING:
    from regard.tasks.writer import Writer


def score(
    run: Path,
    /,
    *texts: str,
    lines: bool = False,
    files: Files = None,
    as_json: AsJson = False,
    device: Device = "auto",
) -> None:
    """Show how likely a text is to a language model, token by token.

    Each token has its log-probability; the last line is about the whole text.

    Parameters
    ----------
    run
        A run folder of a language model.
    texts
        Texts to score; without any, all of --input or of standard input as one text.
    lines
        Without texts: score every line as a text of its own, as it comes.
    as_json
        Print one JSON object per text: tokens, log-probabilities, perplexity, bits per character.
    """
    from regard.cli.checks import open_run
    from regard.errors import UsageError

    open_run(run, "score")
    files = files or FileFlags()
    files.check(texts)
    if lines and texts:
        raise UsageError("--lines is for a file or a pipe; leave it out for texts")
    from regard.tasks.writer import Writer

    writer = Writer.load(run, device)
    by_line = lines or is_typed(texts, files)
    with files.answers():
        whole = () if texts or by_line else (whole_text(files.input),)
        for text in whole or chain.from_iterable(batches(texts, files, 1)):
            show_score(writer, text, as_json, by_line)
            sys.stdout.flush()


def show_score(writer: "Writer", text: str, as_json: bool, by_line: bool) -> None:
    from regard.cli.display import results
    from regard.errors import RequestError

    scored = writer.score(text)
    if not scored:
        if not by_line:
            raise RequestError("the text to score is empty; give some words or lines")
        results("{}" if as_json else "")
        return
    values = [each.log_probability for each in scored]
    total = sum(values)
    characters = max(1, len(writer.tokenizer.normalise(text)))
    summary = {
        "log_probability": total,
        "perplexity": math.exp(min(100.0, -total / len(values))),
        "bits_per_character": -total / math.log(2) / characters,
    }
    if as_json:
        tokens = [each.piece for each in scored]
        facts = {"text": text, "tokens": tokens, "log_probabilities": values, **summary}
        results(json.dumps(facts, ensure_ascii=False))
        return
    for each in scored:
        shown = each.piece.replace("\n", "\\n").replace("\t", "\\t")
        results(f"{each.log_probability:9.4f}\t{shown}")
    results(
        f"{len(values):,} tokens, log-probability {total:.2f}, perplexity "
        f"{summary['perplexity']:.2f}, {summary['bits_per_character']:.3f} bits/character"
    )
