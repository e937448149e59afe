"""Ranking compared with a full sort, and closing gaps compared with its definition."""

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

from regard.decode.ranking import best, closed_up


@pytest.mark.parametrize("width", [1, 7, 64, 264, 265, 403, 2111, 20_000])
@pytest.mark.parametrize("count", [1, 2, 10, 300])
def test_the_best_are_those_of_a_sort(width: int, count: int) -> None:
    generator = torch.Generator().manual_seed(width + count)
    scores = torch.randn(5, width, generator=generator)
    values, ids = best(scores, count)
    expected = scores.sort(dim=1, descending=True)
    assert torch.equal(values, expected.values[:, :count])
    assert torch.equal(ids, expected.indices[:, :count])


def test_what_is_impossible_comes_last() -> None:
    scores = torch.full((2, 2000), float("-inf"))
    scores[0, 1999], scores[1, [3, 1003, 1500]] = 1.0, torch.tensor([1.0, 3.0, 2.0])
    values, ids = best(scores, 4)
    assert ids[0, 0] == 1999
    assert ids[1, :3].tolist() == [1003, 1500, 3]
    assert (values[0, 1:] == float("-inf")).all()


@given(st.lists(st.booleans(), max_size=20))
def test_those_who_stay_close_up_and_move_only_into_gaps(staying: list[bool]) -> None:
    places = closed_up(torch.tensor(staying, dtype=torch.bool)).tolist()
    assert sorted(places) == [place for place, stays in enumerate(staying) if stays]
    for place, old in enumerate(places):
        assert old == place or not staying[place]
