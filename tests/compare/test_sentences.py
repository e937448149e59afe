"""Runs share held-out sentences only if all that decides about these is the same."""

from typing import Any

import pytest

from regard.compare.sentences import held_out_by
from regard.recipe import Recipe, parse

FILES = {"folder": "pairs", "train": ["a.en", "a.fr"]}
VALID = {**FILES, "valid": ["b.en", "b.fr"]}


def recipe(data: dict[str, Any], **values: Any) -> Recipe:
    return parse({"data": data, **values}, "test")


@pytest.mark.parametrize(
    ("one", "other", "same"),
    [
        (recipe(FILES), recipe(FILES, train={"steps": 9}, model={"kind": "recurrent"}), True),
        (recipe(FILES), recipe({**FILES, "folder": "./pairs"}), True),
        (recipe(FILES), recipe({**FILES, "folder": "other"}), False),
        (recipe(FILES), recipe(FILES, seed=2), False),
        (recipe(FILES), recipe({**FILES, "held_out_pairs": 7}), False),
        (recipe(FILES), recipe(VALID), False),
        (recipe(VALID), recipe(VALID, seed=2), True),
        (recipe({"builtin": "phrasebook"}), recipe({"builtin": "phrasebook"}, seed=2), True),
        (recipe({"builtin": "phrasebook"}), recipe({"builtin": "phrasebook-long"}), False),
    ],
)
def test_what_decides_the_held_out_pairs(one: Recipe, other: Recipe, same: bool) -> None:
    assert (held_out_by(one) == held_out_by(other)) == same
