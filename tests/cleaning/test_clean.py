"""Pairs are sorted into good ones and noise, by what is learned from them."""

import json
import random
from collections.abc import Iterable
from pathlib import Path

import pytest

from regard import cli
from regard.cleaning.clean import Cleaner
from regard.cleaning.files import write_sorted
from regard.data.corpus import Pair, read_pairs
from tests.cleaning.planted import sentences

COUNT = 1200


def reasons(pairs: list[Pair], languages: tuple[str, str] = ("xx", "yy")) -> dict[str, str]:
    cleaner = Cleaner.learned(pairs, languages)
    return {pair.place: reason for pair, reason in cleaner.judged(pairs) if reason}


def with_targets(pairs: list[Pair], rows: Iterable[int], targets: Iterable[str]) -> set[str]:
    """Give some pairs other targets, and return their places."""
    changed = set()
    for row, target in zip(rows, targets, strict=True):
        pairs[row] = Pair(pairs[row].source, target, pairs[row].place)
        changed.add(pairs[row].place)
    return changed


def test_pairs_that_do_not_fit_are_found_and_good_ones_are_kept() -> None:
    pairs = sentences(COUNT)
    assert len(reasons(pairs)) <= 0.01 * COUNT
    rows = random.Random(1).sample(range(COUNT), 150)
    wrong = with_targets(pairs, rows[:100], [pairs[row].target for row in [*rows[1:100], rows[0]]])
    cut = with_targets(
        pairs, rows[100:], [" ".join(pairs[row].target.split()[:3]) for row in rows[100:]]
    )
    found = reasons(pairs)
    assert len(found.keys() & wrong) >= 0.95 * len(wrong)
    assert len(found.keys() & cut) >= 0.5 * len(cut)  # so few pairs teach a rough dictionary
    assert len(found.keys() - wrong - cut) <= 0.02 * COUNT


def test_a_shifted_stretch_says_where_the_targets_are() -> None:
    pairs = sentences(COUNT)
    rows = range(600, 660)
    shifted = with_targets(pairs, rows, [pairs[row - 1].target for row in rows])
    found = reasons(pairs)
    below = [place for place in shifted if found.get(place) == "fits the target 1 line below"]
    assert len(below) >= 0.9 * len(shifted)


def test_repetitions_are_dropped_once_they_were_met() -> None:
    pairs = sentences(20)
    first = pairs[0]
    pairs += [
        Pair(first.source, first.target, "again"),
        Pair(first.source.upper() + "!", first.target, "almost"),
        Pair(first.source, first.target.replace("il ", "la "), "other"),
    ]
    assert reasons(pairs) == {"again": "duplicate", "almost": "near duplicate"}


def test_the_same_pairs_have_the_same_reasons_again() -> None:
    pairs = sentences(COUNT)
    with_targets(pairs, range(10, 60), [pairs[row + 70].target for row in range(10, 60)])
    assert reasons(pairs) == reasons(pairs)


def test_kept_and_dropped_pairs_are_written(tmp_path: Path) -> None:
    pairs = [(Pair("a\nb", "c", "m.tmx:1"), None), (Pair("d\te", "f", "m.tmx:2"), "lengths")]
    tally, files = write_sorted(pairs, tmp_path / "out", ("en", "de"))
    assert (tally.kept, tally.dropped) == (1, 1)
    assert [(pair.source, pair.target) for pair in read_pairs(files)] == [("a b", "c")]
    dropped = (tmp_path / "out/dropped.tsv").read_text("utf-8")
    assert dropped == "place\treason\tsource\ttarget\nm.tmx:2\tlengths\td e\tf\n"


def test_the_command_writes_a_folder(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    rows = [f"{pair.source}\t{pair.target}\n" for pair in sentences(30)]
    path = tmp_path / "a.tsv"
    path.write_text("".join([*rows, rows[3], "empty\t\n"]), "utf-8")
    out = tmp_path / "clean"
    cli.main(["clean", str(path), "--out", str(out)])
    shown = capsys.readouterr()
    assert "kept 30 of 32 pairs (93.8 %)" in shown.out
    assert "dropped 1: duplicate" in shown.out
    assert "too few pairs to learn a dictionary" in shown.err
    assert sorted(each.name for each in out.iterdir()) == [
        *("dropped.tsv", "kept.source", "kept.target")
    ]
    with pytest.raises(SystemExit):
        cli.main(["clean", str(path), "--out", str(out)])
    assert "is there already and not empty" in capsys.readouterr().err
    cli.main(["clean", str(path), "--out", str(tmp_path / "b"), "--json"])
    facts = json.loads(capsys.readouterr().out)
    assert (facts["kept"], facts["dropped"]) == (30, {"duplicate": 1, "empty target": 1})
