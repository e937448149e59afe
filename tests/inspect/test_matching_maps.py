"""What makes a text fit an image, against passes that are written out, and what is confused."""

from pathlib import Path

import numpy as np
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from PIL import Image

import regard
from regard.errors import RequestError
from regard.inspect.images.hiding import mean_colour, with_hidden
from regard.inspect.matching import both_confusions, both_ways, patches_of, worst_confusions
from regard.tasks.matcher import Matcher
from tests.captioned_runs import MATCHERS, SIZE, photo, write_matchers

TEXT = "two yellow suns"


@pytest.fixture(scope="module")
def matchers(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Matcher]:
    folders = write_matchers(tmp_path_factory.mktemp("matchers"))
    return {name: regard.load(folder) for name, folder in folders.items()}


@pytest.mark.parametrize("name", MATCHERS)
def test_words_left_out_and_patches_hidden_do_what_is_said(
    name: str, matchers: dict[str, Matcher]
) -> None:
    matcher = matchers[name]
    found = matcher.maps(photo(), TEXT)

    def similarity(pixels: np.ndarray, text: str) -> float:
        return float(matcher.similarity([pixels], [text])[0, 0])

    grid = patches_of(matcher, SIZE)
    hidden = with_hidden(photo(), grid, [9], mean_colour(matcher.model.encoder, 3))
    assert found.similarity == pytest.approx(similarity(photo(), TEXT), abs=1e-6)
    fall = found.similarity - similarity(hidden, TEXT)
    assert found.hidden.flatten()[9] == pytest.approx(fall, abs=1e-6)
    without = found.similarity - similarity(photo(), "two suns")
    assert found.without_word[1] == pytest.approx(without, abs=1e-6)
    rest = similarity(photo(), "two suns") - similarity(hidden, "two suns")
    together = found.together.reshape(3, -1)[1, 9]
    assert together == pytest.approx(fall - rest, abs=1e-6)


@pytest.mark.parametrize("name", ["mean", "largest"])
def test_shares_add_up_to_the_similarity(name: str, matchers: dict[str, Matcher]) -> None:
    found = matchers[name].maps(photo(1), TEXT)
    assert found.parts.shape == (3, *matchers[name].model.encoder.grid)
    assert found.parts.sum() + found.rest.sum() == pytest.approx(found.similarity, abs=1e-5)
    assert found.agreement is not None
    assert np.allclose(found.contrast().mean((1, 2)), 0)
    assert found.matrix(None, None).rows == ["two", "yellow", "suns"]


def test_words_of_a_bag_have_the_share_of_their_own_vector(matchers: dict[str, Matcher]) -> None:
    """What two words share with an image does not depend on their order."""
    one = matchers["mean"].maps(photo(), "red star").parts
    other = matchers["mean"].maps(photo(), "star red").parts
    assert np.allclose(one, other[::-1], atol=1e-6)


@pytest.mark.parametrize("name", ["token", "last"])
def test_without_sums_there_are_no_shares(
    name: str, matchers: dict[str, Matcher], tmp_path: Path
) -> None:
    found = matchers[name].maps(photo(), TEXT)
    assert len(found.parts) == 0
    assert found.agreement is None
    assert np.array_equal(found.shown(), found.together)
    found.save(tmp_path / "pair.png")
    with Image.open(tmp_path / "pair.png") as drawn:
        assert drawn.width > 400
    with pytest.raises(RequestError, match="no maps of heads"):
        found.panels(0, None)
    with pytest.raises(RequestError, match="the text is empty"):
        matchers[name].maps(photo(), " ")


def test_probabilities_sum_to_one_both_ways() -> None:
    of_texts, of_images = both_ways(np.array([[0.9, 0.1, 0.2], [0.3, 0.8, 0.1]]), 10.0)
    assert np.allclose(of_texts.sum(1), 1)
    assert np.allclose(of_images.sum(0), 1)
    assert of_texts.argmax(1).tolist() == [0, 1]


@given(st.integers(0, 1000), st.integers(2, 6), st.integers(2, 7))
def test_confusions_are_those_of_two_plain_loops(seed: int, images: int, texts: int) -> None:
    random = np.random.default_rng(seed)
    similarity = torch.from_numpy(random.normal(size=(images, texts)))
    right = torch.from_numpy(random.random((images, texts)) < 0.4)
    expected = []
    for row in range(images):
        own = [float(similarity[row, i]) for i in range(texts) if right[row, i]]
        other = [float(similarity[row, i]) for i in range(texts) if not right[row, i]]
        if own and other and max(other) > max(own):
            expected.append((max(other) - max(own), row))
    found = worst_confusions(similarity, right, 3)
    assert [each.query for each in found] == [row for _, row in sorted(expected, reverse=True)[:3]]
    for each in found:
        assert each.margin > 0
        assert right[each.query, each.right]
        assert not right[each.query, each.wrong]
    both = both_confusions(similarity, right, 3)
    assert both.to_texts == found
    assert {each.query for each in both.to_texts} <= set(both.images())
