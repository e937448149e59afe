"""Sentences of two documents find their counterparts."""

import itertools
import json
import random
from pathlib import Path

import numpy as np
import pytest

from regard import cli
from regard.aligning.align import FAR, SHAPES, Band, Bead, Lengths, align, search
from regard.aligning.documents import align_documents, paragraphs
from regard.data.corpus import read_pairs
from tests.cleaning.planted import sentences


def two_sides(count: int) -> tuple[list[str], list[str]]:
    pairs = sentences(count, seed=4)
    return [pair.source for pair in pairs], [pair.target for pair in pairs]


def shapes(beads: list[Bead]) -> list[tuple[range, range]]:
    return [(bead.source, bead.target) for bead in beads]


def test_what_is_merged_and_dropped_is_found() -> None:
    sources, targets = two_sides(120)
    del targets[30]
    sources[60:62] = [" ".join(sources[60:62])]
    del sources[90]
    beads = align(sources, targets)
    found = {(tuple(bead.source), tuple(bead.target)) for bead in beads}
    assert ((30,), ()) in found
    assert ((60,), (59, 60)) in found
    assert ((), (90,)) in found
    assert sum(bead.shape == (1, 1) for bead in beads) == 116


def test_every_sentence_is_in_one_bead_and_in_order() -> None:
    chance = random.Random(1)
    sources, targets = two_sides(60)
    targets = [target for target in targets if chance.random() < 0.8]
    beads = align(sources, targets)
    assert list(itertools.chain(*(bead.source for bead in beads))) == list(range(len(sources)))
    assert list(itertools.chain(*(bead.target for bead in beads))) == list(range(len(targets)))


def test_the_banded_search_is_the_best_of_all() -> None:
    """Beside a search that tries every sequence of beads."""
    lengths = Lengths.of(["a" * n for n in (5, 30, 12, 9)], ["b" * n for n in (33, 7, 6, 14)])

    def best(row: int, column: int) -> float:
        if not row and not column:
            return 0.0
        return min(
            best(row - down, column - across)
            + float(lengths.costs((down, across), row, np.array([column]))[0])
            for down, across in SHAPES
            if row >= down and column >= across
        )

    beads = search(lengths.costs, Band.of(lengths.centres(), 10, lengths, {}))
    row = column = 0
    total = 0.0
    for bead in beads:
        row, column = row + bead.shape[0], column + bead.shape[1]
        total += float(lengths.costs(bead.shape, row, np.array([column]))[0])
    assert total == pytest.approx(best(4, 4))
    assert total < FAR


def test_one_side_without_sentences_leaves_the_other_alone() -> None:
    assert shapes(align(["a", "b"], [])) == [(range(1), range(0)), (range(1, 2), range(0))]


def test_paragraphs_hold_their_sentences_together(tmp_path: Path) -> None:
    sources, targets = two_sides(40)
    first, second = tmp_path / "a.en", tmp_path / "a.de"
    first.write_text("\n\n".join(["\n".join(sources[:20]), "\n".join(sources[20:])]))
    # A paragraph has lost its last ten sentences, the other its first ten.
    second.write_text("\n\n".join(["\n".join(targets[:10]), "\n".join(targets[30:])]))
    sides = [paragraphs(path, "en", split=False) for path in (first, second)]
    known = [(pair.source, pair.target) for pair in sentences(300, seed=5)]
    found = align_documents(sides[0], sides[1], str(first), known)
    assert found.anchored == 2
    assert [pair.place for pair in found.pairs][::19] == [f"{first}:1", f"{first}:41"]
    assert found.alone(0) == 20
    assert found.alone(1) == 0


def test_the_command_writes_a_table(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    sources, targets = two_sides(50)
    (tmp_path / "a.en").write_text("\n".join(sources))
    (tmp_path / "a.de").write_text("\n".join([*targets[:20], *targets[21:]]))
    out = tmp_path / "pairs.tsv"
    files = [str(tmp_path / name) for name in ("a.en", "a.de")]
    cli.main(["align", *files, "--out", str(out), "--json"])
    facts = json.loads(capsys.readouterr().out)
    assert facts == {"pairs": 49, "left_out": [1, 0], "paragraphs": 0}
    assert out.read_text().startswith("en\tde\n")
    found = [(pair.source, pair.target) for pair in read_pairs([out])]
    both = list(zip(sources, targets, strict=True))
    assert found == [*both[:20], *both[21:]]
    with pytest.raises(SystemExit):
        cli.main(["align", *files, "--out", str(tmp_path / "pairs.csv")])
    assert "end the name in .tsv" in capsys.readouterr().err
