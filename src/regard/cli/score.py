"""regard score: how likely a language model holds a text."""

import json
import math
from pathlib import Path

from regard.cli.options import AsJson, Device


def score(
    run: Path,
    texts: tuple[str, ...] = (),
    /,
    *,
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
        Texts to score; without any, all of standard input as one text.
    as_json
        Print one JSON object per text: tokens, log-probabilities, perplexity, bits per character.
    """
    from regard.cli.checks import open_run
    from regard.cli.display import results
    from regard.cli.translate import whole_lines
    from regard.errors import RequestError

    open_run(run, "score")
    from regard.tasks.writer import Writer

    writer = Writer.load(run, device)
    for text in texts or ("".join(whole_lines()).replace("\r\n", "\n"),):
        scored = writer.score(text)
        if not scored:
            raise RequestError("the text to score is empty; give some words or lines")
        values = [each.log_probability for each in scored]
        total = sum(values)
        summary = {
            "log_probability": total,
            "perplexity": math.exp(min(100.0, -total / len(values))),
            "bits_per_character": -total
            / math.log(2)
            / max(1, len(writer.tokenizer.normalise(text))),
        }
        if as_json:
            tokens = [each.piece for each in scored]
            facts = {"text": text, "tokens": tokens, "log_probabilities": values, **summary}
            results(json.dumps(facts, ensure_ascii=False))
            continue
        for each in scored:
            shown = each.piece.replace("\n", "\\n").replace("\t", "\\t")
            results(f"{each.log_probability:9.4f}\t{shown}")
        results(
            f"{len(values):,} tokens, log-probability {total:.2f}, perplexity "
            f"{summary['perplexity']:.2f}, {summary['bits_per_character']:.3f} bits/character"
        )
