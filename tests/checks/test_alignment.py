"""Shifts are found by what translations share, and nothing is found by chance."""

import random

from regard.checks.alignment import Stretch, align

ENDS = ".?!"


def translated(count: int, seed: int = 0) -> tuple[list[str], list[str]]:
    """Lines of letters and lines of other letters that are about as long."""
    chance = random.Random(seed)
    lengths = [chance.randint(3, 60) for _ in range(count)]
    sources = ["a" * n + chance.choice(ENDS) for n in lengths]
    noisy = [max(1, round(n * chance.uniform(0.85, 1.4))) for n in lengths]
    return sources, ["b" * n + each[-1] for n, each in zip(noisy, sources, strict=True)]


def test_lines_in_place_are_not_called_shifted() -> None:
    for seed in range(30):
        found = align([Stretch(0, *translated(300, seed))])
        assert found.shifts == ()
        assert not found.unrelated
        assert found.correlation > 0.8


def test_a_shift_by_some_lines_is_found_both_ways() -> None:
    sources, targets = translated(400)
    for offset in (-3, -2, -1, 1, 2, 3):
        moved = [targets[(i - offset) % 400] for i in range(400)]
        (shift,) = align([Stretch(0, sources, moved)]).shifts
        assert shift.offset == offset
        assert shift.first < 5
        assert shift.last > 394


def test_a_part_that_is_shifted_is_located() -> None:
    sources, targets = translated(900)
    moved = [*targets[:300], "b" * 17, *targets[300:599], *targets[600:]]
    (shift,) = align([Stretch(1000, sources, moved)]).shifts
    assert shift.offset == 1
    assert abs(shift.first - 1300) < 8
    assert abs(shift.last - 1599) < 8


def test_lines_of_another_order_are_unrelated() -> None:
    sources, targets = translated(600)
    random.Random(1).shuffle(targets)
    found = align([Stretch(0, sources, targets)])
    assert found.unrelated
    assert found.shifts == ()


def test_files_that_are_sorted_by_length_are_in_place() -> None:
    sources, targets = translated(600)
    pairs = sorted(zip(sources, targets, strict=True), key=lambda pair: len(pair[0]))
    found = align([Stretch(0, [p[0] for p in pairs], [p[1] for p in pairs])])
    assert found.shifts == ()


def test_names_align_lines_of_one_length() -> None:
    chance = random.Random(2)
    names = ["".join(chance.choices("KLMNOPRST", k=6)) for _ in range(400)]
    sources = [f"Das ist {name} aus Rom" for name in names]
    targets = [f"Qui est {name} de Rome" for name in names]
    assert align([Stretch(0, sources, targets)]).shifts == ()
    (shift,) = align([Stretch(0, sources, [*targets[1:], targets[0]])]).shifts
    assert shift.offset == -1


def test_too_little_to_tell_is_told_nothing_of() -> None:
    sources, targets = translated(30)
    found = align([Stretch(0, sources, targets[::-1])])
    assert (found.lines, found.shifts, found.unrelated) == (0, (), False)
    assert not align([Stretch(0, ["a"] * 500, ["b"] * 500)]).shifts
