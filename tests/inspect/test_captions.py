"""What a captioner looks at, against single passes that are written out."""

from pathlib import Path

import numpy as np
import pytest
import torch
from PIL import Image

import regard
from regard.errors import RequestError
from regard.inspect.captions import (
    SAME_MAPS,
    WordMaps,
    batch_of,
    grid_attention,
    patches_of,
    usual_weights,
    word_heads,
    word_maps,
    word_probabilities,
)
from regard.inspect.images.hiding import cut_grid, mean_colour, over_patches, with_hidden
from regard.tasks.captioner import Captioner
from tests.captioned_runs import CAPTIONS, SIZE, photo, write_captioners


@pytest.fixture(scope="module")
def captioners(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Captioner]:
    folders = write_captioners(tmp_path_factory.mktemp("captioners"))
    return {name: regard.load(folder) for name, folder in folders.items()}


def log_probability(captioner: Captioner, pixels: np.ndarray, ids: list[int]) -> list[float]:
    """Of each piece, one step after the other, as a search takes them."""
    state = captioner.model.start(torch.from_numpy(pixels[None]).permute(0, 3, 1, 2))
    found, last = [], captioner.tokenizer.specials.start
    with torch.inference_mode():
        for each in ids:
            logits, state = captioner.model.step(torch.tensor([last]), state)
            found.append(float(logits[0].double().log_softmax(-1)[each]))
            last = each
    return found


@pytest.mark.parametrize("name", ["lstm", "transformer", "whole"])
def test_words_have_the_probability_of_their_pieces(
    name: str, captioners: dict[str, Captioner]
) -> None:
    captioner = captioners[name]
    ids = captioner.tokenizer.encode("two yellow suns")  # of which one has several pieces
    found = captioner.maps(photo(), ids)
    assert found.words == ["two", "yellow", "suns"]
    owners = captioner.tokenizer.word_of(ids)
    expected = np.zeros(3)
    for word, value in zip(owners, log_probability(captioner, photo(), ids), strict=True):
        expected[word] += value
    assert len(ids) > 3
    assert np.allclose(found.probabilities, np.exp(expected), rtol=1e-3)


@pytest.mark.parametrize("name", ["lstm", "transformer", "whole"])
def test_a_hidden_patch_does_to_a_word_what_is_said(
    name: str, captioners: dict[str, Captioner]
) -> None:
    captioner = captioners[name]
    ids = captioner.tokenizer.encode(CAPTIONS[0])
    found = captioner.maps(photo(), ids)
    grid = patches_of(captioner, SIZE)
    assert found.hidden.shape == (5, *grid)
    colour = mean_colour(captioner.model.encoder, 3)
    changed = with_hidden(photo(), grid, [7], colour)
    then = captioner.maps(changed, ids).probabilities
    assert np.allclose(found.hidden.reshape(5, -1)[:, 7], found.probabilities - then, atol=1e-6)
    beside = word_maps(captioner, photo(), ids, [7])
    assert np.allclose(beside.probabilities, then, atol=1e-6)
    assert np.allclose(beside.hidden.reshape(5, -1)[:, 7], 0, atol=1e-6)
    with pytest.raises(RequestError, match="the image has patches 0 to"):
        word_maps(captioner, photo(), ids, [10_000])


def test_attention_is_a_share_and_heads_are_averaged(captioners: dict[str, Captioner]) -> None:
    found = captioners["transformer"].maps(
        photo(), captioners["transformer"].tokenizer.encode("a red")
    )
    assert [each.shape for each in found.heads] == [(2, 2, 4, 4)] * 2
    for each in (found.weights, *(head for layer in found.heads for head in layer)):
        assert np.allclose(each.sum((1, 2)), 1, atol=1e-5)
    # The layer before the last one, as for translations.
    assert np.allclose(found.weights, found.heads[0].mean(0))
    assert np.array_equal(found.shown(1, 0), found.heads[1][0])
    assert np.allclose(found.shown(1), found.heads[1].mean(0))
    with pytest.raises(RequestError, match="layers 0 to 1"):
        found.shown(2)
    with pytest.raises(RequestError, match="heads 0 to 1"):
        found.shown(0, 2)


def test_a_model_without_attention_is_looked_into_by_hiding(
    captioners: dict[str, Captioner], tmp_path: Path
) -> None:
    captioner = captioners["whole"]
    found = captioner.maps(photo(), captioner.tokenizer.encode("a red star"))
    assert found.weights.shape[0] == 0
    assert found.agreement == []
    assert (found.warning, found.difference) == ("", 0)
    assert found.facts()["weights"] == []
    assert np.array_equal(found.shown(), found.hidden)
    with pytest.raises(RequestError, match="as a whole"):
        found.shown(0)
    found.save(tmp_path / "words.png")
    with Image.open(tmp_path / "words.png") as drawn:
        assert drawn.width > 300
    with pytest.raises(RequestError, match="empty"):
        captioner.maps(photo(), [])


def test_an_empty_caption_has_no_words(captioners: dict[str, Captioner]) -> None:
    for captioner in captioners.values():
        maps = grid_attention(captioner.model, batch_of(photo()[None]), [], captioner.tokenizer)
        assert usual_weights(maps, [], captioner).shape[0] == 0
        assert all(each.shape[1] == 0 for each in word_heads(maps, [], captioner))
        assert word_probabilities(captioner, photo()[None], []).shape == (1, 0)


def test_maps_that_do_not_differ_are_warned_of() -> None:
    def of(weights: np.ndarray) -> WordMaps:
        zeros = np.zeros((len(weights), 2, 2))
        return WordMaps(["a"] * len(weights), weights, photo(), zeros[:, 0, 0], zeros)

    same = np.full((3, 2, 2), 0.25)
    assert of(same).difference == 0
    assert "every word" in of(same).warning
    assert of(same[:1]).warning == ""
    apart = np.zeros((2, 2, 2))
    apart[0, 0, 0] = apart[1, 1, 1] = 1
    assert of(apart).difference == pytest.approx(0.5)
    assert of(apart).difference > SAME_MAPS
    assert of(apart).warning == ""


def test_few_cells_are_cut_into_patches() -> None:
    assert cut_grid((3, 3), 96) == (6, 6)
    assert cut_grid((1, 1), 96) == (5, 5)
    assert cut_grid((8, 8), 64) == (8, 8)
    assert cut_grid((24, 24), 96) == (16, 16)
    assert cut_grid((2, 2), 4) == (4, 4)
    cells = torch.arange(4.0).view(1, 2, 2)
    assert over_patches(cells, (4, 4))[0].tolist() == [[0, 0, 1, 1]] * 2 + [[2, 2, 3, 3]] * 2
