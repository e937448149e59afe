"""What the studio says of captions, and of images and texts that are compared."""

from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pytest

import regard
from regard.errors import RequestError
from regard.studio.captions import caption, caption_hidden
from regard.studio.images import image_samples, packed
from regard.studio.matches import confusions, match, pair
from regard.studio.requests import Asked, Compared, Described, Paired, Samples
from regard.studio.runs import OpenRun
from tests.captioned_runs import (
    CAPTIONERS,
    CAPTIONS,
    MATCHERS,
    photo,
    write_captioners,
    write_matchers,
)
from tests.studio.conftest import Served, Serving


@pytest.fixture(scope="module")
def folders(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Path]:
    folder = tmp_path_factory.mktemp("captions")
    return {**write_captioners(folder), **write_matchers(folder)}


@pytest.fixture(scope="module")
def runs(folders: dict[str, Path]) -> dict[str, OpenRun]:
    return {name: OpenRun(folder) for name, folder in folders.items()}


@pytest.fixture(scope="module")
def serving(folders: dict[str, Path]) -> Iterator[Served]:
    with Serving([folders["lstm"], folders["mean"]]) as server:
        yield server


PIXELS = packed(photo())


@pytest.mark.parametrize("name", CAPTIONERS)
def test_the_caption_is_pythons(name: str, runs: dict[str, OpenRun]) -> None:
    found = caption(runs[name], Described(pixels=PIXELS))
    captioner = regard.load(runs[name].folder)
    search = regard.Search(beam_size=5, n_best=5)
    expected = captioner.captions([photo()], search)[0]
    assert [each["text"] for each in found["outputs"]] == [each.text for each in expected]
    assert found["output"]["ids"] == expected[0].ids
    steps = [each["log_probability"] for each in found["steps"]]
    if expected[0].finished:
        assert steps == pytest.approx(expected[0].log_probabilities, abs=1e-4)
    maps = captioner.maps(photo(), expected[0].ids)
    assert found["probabilities"] == pytest.approx(maps.probabilities.tolist(), rel=1e-4)
    effects = caption_hidden(runs[name], Described(pixels=PIXELS, output=expected[0].ids))
    assert np.allclose(effects["hidden"], maps.hidden, atol=1e-6)
    assert effects["agreement"] == pytest.approx(maps.agreement, abs=1e-5)
    words = len(found["output"]["words"])
    shape = (words, *found["grid"]) if name != "whole" else (0,)
    assert np.shape(found["weights"]) == shape


def test_another_word_is_continued_from(runs: dict[str, OpenRun]) -> None:
    usual = caption(runs["lstm"], Described(pixels=PIXELS))
    other = usual["steps"][0]["choices"][1]["token"]
    found = caption(runs["lstm"], Described(pixels=PIXELS, prefix=[other]))
    assert found["output"]["ids"][0] == other
    assert found["prefix"] == 1
    typed = caption(runs["lstm"], Described(pixels=PIXELS, typed="two yellow moons"))
    assert typed["output"]["text"].startswith("two yellow moons")
    looked = caption(runs["lstm"], Described(pixels=PIXELS, output=usual["outputs"][1]["ids"]))
    assert looked["output"]["text"] == usual["outputs"][1]["text"]


def test_a_head_and_hidden_patches_change_the_maps(runs: dict[str, OpenRun]) -> None:
    run = runs["transformer"]
    usual = caption(run, Described(pixels=PIXELS))
    assert usual["heads"] == [2, 2]
    ids = usual["output"]["ids"]
    head = caption(run, Described(pixels=PIXELS, output=ids, layer=1, head=0))
    expected = regard.load(run.folder).maps(photo(), ids).heads[1][0]
    assert np.allclose(head["weights"], np.repeat(np.repeat(expected, 2, 1), 2, 2), atol=1e-6)
    assert (head["cells"], head["grid"]) == ([4, 4], [8, 8])
    hidden = caption(run, Described(pixels=PIXELS, output=ids, hidden=[3, 4]))
    assert hidden["probabilities"] != usual["probabilities"]
    assert caption(run, Described(pixels=PIXELS)) == usual


@pytest.mark.parametrize(
    ("asked", "message"),
    [
        ({"prefix": [1_000_000]}, "no piece 1000000"),
        ({"prefix": [0]}, "no piece 0"),
        ({"hidden": [1_000]}, "the image has patches"),
        ({"layer": 7}, "layers 0 to 0"),
        ({"typed": "star " * 100}, "at most 50 pieces"),
    ],
)
def test_what_a_page_cannot_mean_is_refused(
    asked: dict[str, object], message: str, runs: dict[str, OpenRun]
) -> None:
    with pytest.raises(RequestError, match=message):
        caption(runs["lstm"], Described.model_validate({"pixels": PIXELS, **asked}))
    with pytest.raises(RequestError, match="not the pixels"):
        caption(runs["lstm"], Described(pixels="AAAA"))
    with pytest.raises(RequestError, match="sees no such images"):
        caption(runs["mean"], Described(pixels=PIXELS))


def test_images_are_offered_with_their_captions(runs: dict[str, OpenRun]) -> None:
    found = image_samples(runs["mean"], Samples())["samples"]
    assert [each["label"] for each in found] == CAPTIONS
    assert found[1]["texts"] == [CAPTIONS[1], f"{CAPTIONS[1]} again"]
    some = image_samples(runs["mean"], Samples(places=[2]))["samples"]
    assert some == [found[2]]
    with pytest.raises(RequestError, match="no validation image 9"):
        image_samples(runs["mean"], Samples(places=[9]))
    assert runs["mean"].describe()["views"] == ["match", "training", "map", "blocks"]


def test_the_table_of_similarities_is_pythons(runs: dict[str, OpenRun]) -> None:
    images = [photo(0), photo(1)]
    found = match(runs["mean"], Compared(images=[packed(each) for each in images], texts=CAPTIONS))
    matcher = regard.load(runs["mean"].folder)
    assert np.allclose(found["similarity"], matcher.similarity(images, CAPTIONS), atol=1e-6)
    shares = [each.probabilities for each in matcher.match(images, CAPTIONS)]
    for row, expected in zip(found["of_texts"], shares, strict=True):
        assert dict(zip(CAPTIONS, row, strict=True)) == pytest.approx(expected, abs=1e-6)
    assert np.allclose(np.sum(found["of_images"], 0), 1)


@pytest.mark.parametrize("name", MATCHERS)
def test_a_pair_has_the_maps_of_python(name: str, runs: dict[str, OpenRun]) -> None:
    found = pair(runs[name], Paired(pixels=PIXELS, text="a red star"))
    expected = regard.load(runs[name].folder).maps(photo(), "a red star")
    assert found["similarity"] == pytest.approx(expected.similarity)
    for key in ("hidden", "together", "without_word"):
        assert np.allclose(found[key], getattr(expected, key), atol=1e-6)
    assert len(found["parts"]) == len(expected.parts)
    if found["parts"]:
        assert np.shape(found["parts"]) == (3, *found["grid"])
    hidden = pair(runs[name], Paired(pixels=PIXELS, text="a red star", hidden=[5]))
    fall = found["similarity"] - hidden["similarity"]
    assert fall == pytest.approx(np.ravel(found["hidden"])[5], abs=1e-6)
    with pytest.raises(RequestError, match="the text is empty"):
        pair(runs[name], Paired(pixels=PIXELS, text=" "))


def test_confusions_name_images_and_texts(runs: dict[str, OpenRun]) -> None:
    found = confusions(runs["mean"], Asked())
    assert (found["images"], found["texts"]) == (3, 6)
    matcher = regard.load(runs["mean"].folder)
    for each in found["to_texts"]:
        texts = [each["right_text"], each["wrong_text"]]
        own = matcher.similarity([photo(each["image"])], texts)[0]
        assert own.tolist() == pytest.approx([each["right"], each["wrong"]], abs=1e-5)
        assert each["wrong"] > each["right"]
        assert each["right_text"].startswith(CAPTIONS[each["image"]])
    for each in found["to_images"]:
        assert each["text"].startswith(CAPTIONS[each["right_image"]])
        assert each["wrong_image"] != each["right_image"]
    assert found["to_texts"] or found["to_images"]
    assert confusions(runs["mean"], Asked()) is found


def test_the_server_answers(serving: Served) -> None:
    answer = serving.ask("/api/caption", {"pixels": PIXELS})
    assert answer.status == 200
    assert answer.json()["outputs"]
    ids = answer.json()["output"]["ids"]
    effects = serving.ask("/api/caption_hidden", {"pixels": PIXELS, "output": ids})
    assert len(effects.json()["hidden"]) == len(answer.json()["output"]["words"])
    found = serving.ask("/api/match", {"run": 1, "images": [PIXELS], "texts": ["a star", "b"]})
    assert np.shape(found.json()["similarity"]) == (1, 2)
    assert serving.ask("/api/pair", {"run": 1, "pixels": PIXELS, "text": "a"}).status == 200
    refused = serving.ask("/api/match", {"run": 1, "images": [], "texts": ["a"]})
    assert refused.status == 400
    assert "images" in refused.json()["error"]
    wrong = serving.ask("/api/caption", {"run": 1, "pixels": PIXELS})
    assert "sees no such images" in wrong.json()["error"]
