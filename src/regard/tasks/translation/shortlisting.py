"""Learns a shortlist from the pairs that a translator was trained on: IBM Model 1 on pieces."""

from collections import Counter
from pathlib import Path

import numpy as np

from regard.data.dictionary import Table, Text
from regard.data.ids import IdPairs
from regard.engines.shortlist import NAME, Shortlist
from regard.errors import RequestError
from regard.reporter import SILENT, Reporter
from regard.run import Run
from regard.tasks.translation.heads import keep
from regard.tasks.translation.recipe import recipe_of
from regard.text.tokenizer import Tokenizers

# Target pieces for each source piece, and the most frequent ones for every sentence.
CANDIDATES, ALWAYS = 30, 200
# Pairs of pieces that are learned from, a minute of work; more data says little more.
MOST_LINKS = 12_000_000


def learn_shortlist(run: Path | str | Run, reporter: Reporter = SILENT) -> Shortlist:
    """Learn which pieces translate which from a run's training pairs, and keep that in the run.

    Parameters
    ----------
    run
        A run of a translator with its training data, or its folder.
    reporter
        Where progress is reported.

    Returns
    -------
    Shortlist
        The candidates of every source piece that was met.

    Raises
    ------
    RequestError
        The encoded pairs were deleted, or a piece of the vocabulary holds a space.
    """
    opened = run if isinstance(run, Run) else Run.open(run)
    recipe_of(opened)
    if not opened.has_data():
        raise RequestError(
            f"{opened.folder}: its encoded pairs are no longer in training/data, and a shortlist "
            "is learned from them; train again, or translate without one"
        )
    tokenizers = opened.tokenizers()
    if any(" " in piece or "\t" in piece for side in tokenizers for piece in side.vocabulary):
        raise RequestError(
            f"{opened.folder}: pieces of this vocabulary hold spaces, which the shortlists of "
            "CTranslate2 cannot name; translate without one"
        )
    reporter.say("Aligning pieces by IBM Model 1 …")
    pairs = IdPairs.open(opened.training / "data", "train")
    found = learned(texts_of(pairs), tokenizers)
    keep(opened, NAME, found.finding(), reporter)
    return found


def texts_of(pairs: IdPairs) -> list[tuple[Text, Text]]:
    """The pairs, evenly from the whole corpus, as pieces without END."""
    links = pairs.source_lengths.astype(np.int64) * pairs.target_lengths
    every = max(1, -(-int(links.sum()) // MOST_LINKS))
    rows = np.arange(0, len(pairs), every)
    return [
        (tuple(map(str, source[:-1].tolist())), tuple(map(str, target[:-1].tolist())))
        for source, target in zip(*pairs.sides(rows), strict=True)
    ]


def learned(texts: list[tuple[Text, Text]], tokenizers: Tokenizers) -> Shortlist:
    """For each source piece those that it often becomes, by the models of both directions."""
    chances: dict[int, Counter[int]] = {}
    forward = Table.learned(texts)
    backward = Table.learned([(target, source) for source, target in texts])
    for table, turned in ((forward, False), (backward, True)):
        given, words = ([*each] for each in (table.given, table.words))
        heads, tails = np.divmod(table.keys, max(1, len(words)))
        for head, tail, chance in zip(heads, tails, table.values, strict=True):
            if head == 0 or tail == 0:
                continue  # the piece that stands for none
            one, other = int(given[head]), int(words[tail])
            source, target = (other, one) if turned else (one, other)
            best = chances.setdefault(source, Counter())
            best[target] = max(best[target], chance)
    candidates = {
        source: [target for target, _ in found.most_common(CANDIDATES)]
        for source, found in sorted(chances.items())
    }
    if tokenizers.source is tokenizers.target:
        # Names are often copied, piece by piece.
        for source in range(len(tokenizers.source)):
            candidates.setdefault(source, []).append(source)
    frequent = Counter(int(piece) for _, text in texts for piece in text)
    always = [piece for piece, _ in frequent.most_common(ALWAYS)]
    common = set(always)
    return Shortlist(
        len(texts),
        always,
        {
            source: [target for target in dict.fromkeys(found) if target not in common]
            for source, found in sorted(candidates.items())
        },
    )
