"""Images in; labels, captions, matches and vectors out; nothing that costs more than an image."""

import base64
import io
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import openai
import pytest
from PIL import Image

from regard.cli import main
from regard.decode.search import Search
from regard.errors import RequestError
from regard.serve.http.limits import Limits
from regard.tasks.captioner import Captioner
from regard.tasks.image_classification import ImageClassifier
from regard.tasks.matcher import Matcher
from tests.cli.test_attend_images import LABELS
from tests.data import odd_images
from tests.serve.conftest import Live, Start, write_image_run

TEXTS = ["the cat", "a big dog", "red apples"]
KEY = "a-key-of-the-gallery"


@pytest.fixture(scope="module")
def live(start: Start, image_runs: dict[str, Path]) -> Live:
    limits = Limits(texts_per_minute=10**6, images=4, texts=8, characters=200)
    return start(limits, more_runs=tuple(image_runs.values()))


@pytest.fixture(scope="module")
def client(live: Live) -> Iterator[openai.OpenAI]:
    with openai.OpenAI(base_url=f"{live.url}/v1", api_key="none", max_retries=0) as found:
        yield found


def photo(seed: int = 1, side: int = 20) -> bytes:
    pixels = np.random.default_rng(seed).integers(0, 256, (side, 30, 3), np.uint8)
    file = io.BytesIO()
    Image.fromarray(pixels).save(file, "PNG")
    return file.getvalue()


def text(data: bytes) -> str:
    return base64.b64encode(data).decode()


def url(data: bytes) -> str:
    return f"data:image/png;base64,{text(data)}"


def ways(live: Live, path: str, name: str, **values: Any) -> list[Any]:
    """The answers to the same image, sent in every way."""
    form = {"model": name, **values}
    answers = [
        live.post(path, image=text(photo()), **values),
        live.post(path, image=[url(photo())], model=name, **values),
        live.client.post(path, files={"file": ("a.png", photo())}, data=form),
        live.client.post(path, files={"image": ("a.png", photo())}, data=form),
        live.client.post(path, data={"image": base64.encodebytes(photo()).decode(), **form}),
    ]
    assert [each.status_code for each in answers] == [200] * len(answers)
    return [each.json() for each in answers]


def test_an_image_is_labelled_however_it_is_sent(live: Live, image_runs: dict[str, Path]) -> None:
    expected = ImageClassifier.load(image_runs["cnn"]).classify([photo()])[0]
    for found in ways(live, "/classify", "cnn"):
        assert (found["model"], found["label"]) == ("cnn", expected.label)
        assert set(found["probabilities"]) == set(LABELS)
        assert found["probabilities"] == pytest.approx(expected.probabilities)


def test_an_image_is_described_however_it_is_sent(live: Live, image_runs: dict[str, Path]) -> None:
    captioner = Captioner.load(image_runs["captions"])
    (expected,) = captioner.captions([photo()], Search(beam_size=4, n_best=3))
    for found in ways(live, "/caption", "captions", beam_size=4, n_best=3):
        assert found["model"] == "captions"
        captions = [found, *found["alternatives"]]
        assert [each["caption"] for each in captions] == [each.text for each in expected]
        assert [each["score"] for each in captions] == pytest.approx([e.score for e in expected])
    usual = live.post("/caption", image=text(photo())).json()
    assert (usual["caption"], usual["alternatives"]) == (captioner.caption([photo()])[0], [])


def test_texts_are_matched_however_the_image_is_sent(
    live: Live, image_runs: dict[str, Path]
) -> None:
    matcher = Matcher.load(image_runs["gallery"])
    expected = matcher.match([photo()], TEXTS, ["a {}", "{} and {}"])[0]
    for found in ways(live, "/match", "gallery", texts=TEXTS, templates=["a {}", "{} and {}"]):
        assert found["model"] == "gallery"
        (best,) = found["matches"]
        assert best["text"] == expected.text
        assert best["probabilities"] == pytest.approx(expected.probabilities)
        assert best["similarities"] == pytest.approx(expected.similarities)


def test_several_images_are_matched_in_their_order(live: Live, image_runs: dict[str, Path]) -> None:
    photos = [photo(1), photo(2), photo(3)]
    expected = Matcher.load(image_runs["gallery"]).match(photos, TEXTS)
    form = {"texts": TEXTS}
    answers = [
        live.post("/match", image=[url(photos[0]), *map(text, photos[1:])], texts=TEXTS),
        live.client.post("/match", files=[("file", ("a.png", each)) for each in photos], data=form),
    ]
    for answer in answers:
        found = answer.json()["matches"]
        assert len(found) == 3
        for one, other in zip(found, expected, strict=True):
            assert one["similarities"] == pytest.approx(other.similarities, abs=1e-6)


def test_the_openai_client_gets_vectors_of_images_among_texts(
    client: openai.OpenAI, image_runs: dict[str, Path]
) -> None:
    matcher = Matcher.load(image_runs["gallery"])
    given = [url(photo(1)), "the cat", "a dog", url(photo(2)), url(photo(3)), "apples"]
    texts = matcher.embed_texts(["the cat", "a dog", "apples"])
    images = matcher.embed_images([photo(1), photo(2), photo(3)])
    expected = [images[0], texts[0], texts[1], images[1], images[2], texts[2]]
    found = client.embeddings.create(model="gallery", input=given)
    assert [each.index for each in found.data] == list(range(6))
    np.testing.assert_allclose([each.embedding for each in found.data], expected, atol=1e-6)
    alone = client.embeddings.create(model="gallery", input=given[0], encoding_format="float")
    np.testing.assert_allclose(alone.data[0].embedding, images[0], atol=1e-6)
    assert (alone.usage.prompt_tokens, found.usage.prompt_tokens > 0) == (0, True)
    listed = [each.id for each in client.models.list()]
    assert listed[:3] == ["captions", "gallery", "cnn"]  # then the pairs of languages
    with pytest.raises(openai.BadRequestError, match="cut off"):
        client.embeddings.create(model="gallery", input=url(photo()[:200]))
    with pytest.raises(openai.NotFoundError, match="there are: gallery"):
        client.embeddings.create(model="other", input="a")


IMAGE = {"image": text(photo())}
MATCH = {**IMAGE, "texts": TEXTS}


@pytest.mark.parametrize(
    ("path", "values", "status", "message"),
    [
        *(
            (path, values, status, message)
            for path, others in (("/classify", {}), ("/caption", {}), ("/match", {"texts": TEXTS}))
            for values, status, message in (
                (others, 400, "missing image"),
                ({**others, "image": 3}, 400, "missing image"),
                ({**others, "image": []}, 400, "missing image"),
                ({**others, "image": [[text(photo())]]}, 400, "missing image"),
                ({**others, "image": "%%%"}, 400, "image is not valid base64"),
                ({**others, "image": "data:image/png,abc"}, 400, "data URL of base64"),
                ({**others, "image": "https://example.org/a.png"}, 400, "not fetched"),
                ({**others, "image": text(b"<html>")}, 400, "web page"),
                ({**others, **IMAGE, "model": "other"}, 404, "there are: "),
                ({**others, **IMAGE, "model": ["cnn"]}, 400, "must be a string"),
                ({**others, "image": "A" * 5_000_000}, 413, "longer than"),
            )
        ),
        ("/classify", {**IMAGE, "model": "captions"}, 400, "captions is no classifier of images; "),
        ("/caption", {**IMAGE, "model": "gallery"}, 400, "is no captioner; there are: captions"),
        ("/match", {**MATCH, "model": "cnn"}, 400, "cnn is no matcher; there are: gallery"),
        ("/classify", {"image": [text(photo())] * 2}, 400, "one image at a time"),
        ("/caption", {"image": [text(photo())] * 2}, 400, "one image at a time"),
        ("/caption", {**IMAGE, "n_best": 0}, 400, "whole number from 1 to 11"),
        ("/caption", {**IMAGE, "n_best": 12}, 400, "whole number from 1 to 11"),
        ("/caption", {**IMAGE, "n_best": True}, 400, "whole number"),
        ("/caption", {**IMAGE, "n_best": 5, "beam_size": 4}, 400, "larger than beam_size"),
        ("/caption", {**IMAGE, "beam_size": 21}, 400, "from 1 to 20"),
        ("/caption", {**IMAGE, "beam_size": 1.5}, 400, "whole number"),
        ("/caption", {**IMAGE, "beam_size": "five"}, 400, "whole number"),
        ("/match", IMAGE, 400, "missing texts"),
        ("/match", {**IMAGE, "texts": []}, 400, "missing texts"),
        ("/match", {**IMAGE, "texts": ["a", ""]}, 400, "list of strings"),
        ("/match", {**IMAGE, "texts": ["a", ["b"]]}, 400, "list of strings"),
        ("/match", {**IMAGE, "texts": ["a", "b", "a"]}, 400, "the same text twice"),
        ("/match", {**IMAGE, "texts": [str(n) for n in range(9)]}, 400, "at most 8 texts"),
        ("/match", {**IMAGE, "texts": [str(n) for n in range(10_000)]}, 400, "at most 8 texts"),
        ("/match", {**MATCH, "templates": ["a {}"] * 3}, 400, "at most 8 texts"),
        ("/match", {**IMAGE, "texts": ["a" * 201]}, 400, "exceeds text limit (200)"),
        ("/match", {**IMAGE, "texts": ["a" * 20], "templates": "{}" * 11}, 400, "request (220)"),
        ("/match", {**IMAGE, "texts": ["a"], "templates": "b" * 200 + "{}"}, 400, "request (201)"),
        ("/match", {**MATCH, "templates": "a photo"}, 400, "a template without {}"),
        ("/match", {**MATCH, "templates": {"a": "{}"}}, 400, "list of strings"),
        ("/match", {**MATCH, "image": [text(photo())] * 5}, 400, "at most 4 images"),
        ("/match", {**MATCH, "image": [text(photo()), "%"]}, 400, "image 2 is not valid base64"),
        ("/match", {**MATCH, "image": [text(photo()), text(photo()[:200])]}, 400, "image 2: the"),
    ],
)
def test_what_cannot_be_answered_is_refused_in_a_sentence(
    live: Live, path: str, values: dict[str, object], status: int, message: str
) -> None:
    found, sentence = live.error(path, **values)
    assert (found, message in sentence) == (status, True), sentence


@pytest.mark.parametrize(
    ("given", "message"),
    [
        ([url(photo())] * 5, "at most 4 images"),
        (["a"] * 9, "at most 8 texts"),
        ([url(photo()), [1, 2]], "not of tokens"),
        ([[url(photo())]], "not of tokens"),
        ("data:image/png,abc", "data URL of base64"),
        (["a", url(b"PK\x03\x04")], "unpack it"),
        ([url(photo()), "data:image/png;base64,%"], "image 2 is not valid base64"),
    ],
)
def test_vectors_of_what_is_no_image_are_refused(live: Live, given: Any, message: str) -> None:
    answer = live.post("/v1/embeddings", model="gallery", input=given)
    assert answer.status_code == 400
    assert message in answer.json()["error"]["message"]


def test_the_characters_of_an_image_are_not_those_of_a_text(live: Live) -> None:
    before = live.metrics.total_characters()
    image = photo(side=200)
    assert len(image) > 200  # more than the limit of characters
    answer = live.post("/v1/embeddings", model="gallery", input=[url(image), "a dog"])
    assert answer.status_code == 200
    live.post("/match", image=text(image), texts=TEXTS)
    assert live.metrics.total_characters() - before == len("a dog") + sum(map(len, TEXTS))


def test_a_bad_image_is_refused_with_the_sentence_of_the_command(
    live: Live, image_runs: dict[str, Path], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    found = odd_images.refused()
    bad = {name: found[name][0] for name in ("page.jpg", "cut.png", "bomb.png", "photo.heic")}
    for name, data in bad.items():
        (tmp_path / name).write_bytes(data)
    with pytest.raises(SystemExit):
        main(["caption", str(image_runs["captions"]), *(str(tmp_path / name) for name in bad)])
    printed = capsys.readouterr().err.strip().splitlines()
    for (name, data), line in zip(bad.items(), printed, strict=True):
        sentence = line.removeprefix(f"regard: error: {tmp_path / name}: ")
        for path in ("/caption", "/match", "/classify"):
            answer = live.client.post(path, files={"file": (name, data)}, data={"texts": TEXTS})
            assert answer.status_code == 400
            assert answer.json() == {"error": f"Invalid request: image: {sentence}"}


def test_a_server_without_such_a_model_says_so(start: Start, image_runs: dict[str, Path]) -> None:
    served = start()
    for path, values in (("/classify", {}), ("/caption", {}), ("/match", {"texts": TEXTS})):
        status, sentence = served.error(path, image=text(photo()), **values)
        assert (status, "start the server with the run of one" in sentence) == (404, True)


def test_one_of_several_models_must_be_named(
    start: Start, image_runs: dict[str, Path], tmp_path: Path
) -> None:
    recurrent = {"kind": "recurrent", "d_model": 16}
    other = write_image_run(tmp_path / "others", "captioning", recurrent)
    served = start(more_runs=(image_runs["captions"], other))
    status, sentence = served.error("/caption", **IMAGE)
    assert (status, "there are: captions, others" in sentence) == (400, True)
    for name in ("captions", "others"):
        assert served.post("/caption", **IMAGE, model=name).json()["model"] == name
    with pytest.raises(RequestError, match="two runs are called captions"):
        served.service.models.add(image_runs["captions"])


def test_keys_and_rates_hold_for_images(start: Start, image_runs: dict[str, Path]) -> None:
    served = start(
        Limits(texts_per_minute=12), secrets={KEY: "us"}, more_runs=tuple(image_runs.values())
    )
    bearer = {"authorization": f"Bearer {KEY}"}

    def sent(path: str, **values: Any) -> int:
        return served.client.post(path, json=values, headers=bearer).status_code

    for path, values in (("/caption", IMAGE), ("/match", MATCH), ("/classify", IMAGE)):
        assert served.error(path, **values)[0] == 400
        assert served.error(path, **values, api_key="a-wrong-key")[0] == 403
    assert sent("/caption", **IMAGE) == 200  # 1
    assert sent("/match", image=[text(photo())] * 2, texts=TEXTS) == 200  # 6
    assert sent("/v1/embeddings", model="gallery", input=["a", "b", url(photo())]) == 200  # 9
    # Another name for texts does not hide them.
    assert sent("/v1/embeddings", model="gallery", input=["a", "b"], q="a") == 200  # 12
    assert sent("/caption", **IMAGE) == 429
    counted = served.metrics.text().decode()
    assert 'regard_requests_total{route="/caption",status="200"} 1.0' in counted
    assert 'regard_requests_total{route="/match",status="403"} 1.0' in counted
