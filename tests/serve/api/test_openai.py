"""Language models and encoders, called by OpenAI's own client."""

import json
import random
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import openai
import pytest

from regard.recipe import parse
from regard.serve.http.limits import Limits
from regard.tasks.neighbours import WordVectors
from regard.training.run import train
from tests.serve.conftest import Live, Start

PROMPT = "one two"


@pytest.fixture(scope="module")
def book(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A language model of three words, hardly trained."""
    folder = tmp_path_factory.mktemp("book")
    draw = random.Random(1)
    lines = (" ".join(draw.choices(("one", "two", "three"), k=6)) for _ in range(60))
    (folder / "book.txt").write_text("\n".join(lines) + "\n", encoding="utf-8")
    sizes = {"num_layers": 1, "d_model": 16, "d_ff": 16, "num_heads": 2, "max_positions": 64}
    recipe = parse(
        {
            "task": "language-model",
            "data": {"train": [str(folder / "book.txt")], "context": 16},
            "tokenizer": {"kind": "character", "vocabulary_size": 300},
            "model": {"kind": "gpt", **sizes},
            "train": {
                "steps": 3,
                "batch_tokens": 64,
                "threads": 1,
                "processes": 1,
                "eval_sentences": 2,
            },
        },
        "test",
    )
    train(recipe, folder / "book")
    return folder / "book"


@pytest.fixture(scope="module")
def vector_run(book: Path) -> Path:
    """Vectors of the three words."""
    recipe = parse(
        {
            "task": "word-vectors",
            "data": {"train": [str(book.with_suffix(".txt"))], "min_count": 1},
            "model": {"d_model": 8},
            "train": {"steps": 3, "batch_tokens": 64, "threads": 1, "processes": 1},
        },
        "test",
    )
    train(recipe, book.with_name("words"))
    return book.with_name("words")


@pytest.fixture(scope="module")
def writing(start: Start, book: Path, vector_run: Path) -> Live:
    return start(Limits(completion_tokens=40, completions=3), more_runs=(book, vector_run))


@pytest.fixture(scope="module")
def client(writing: Live) -> Iterator[openai.OpenAI]:
    with openai.OpenAI(base_url=f"{writing.url}/v1", api_key="none", max_retries=0) as found:
        yield found


def test_models_are_listed(client: openai.OpenAI) -> None:
    assert [each.id for each in client.models.list()] == [
        *("book", "words"),
        *("fr-en", "en-fr", "en-de"),
    ]


def test_a_completion_is_what_the_writer_writes(client: openai.OpenAI, writing: Live) -> None:
    from regard.tasks.writing import Writing

    found = client.completions.create(
        model="book", prompt=PROMPT, max_tokens=12, temperature=0.7, seed=5
    )
    writer = writing.service.models.writer("book")
    expected = writer.generate(PROMPT, Writing(max_tokens=12, temperature=0.7, seed=5))
    assert found.choices[0].text == expected
    assert found.choices[0].finish_reason in ("length", "stop")
    assert found.usage is not None
    assert found.usage.prompt_tokens == len(writer.tokenizer.encode(PROMPT))


def test_a_stream_gives_the_same_text_in_pieces(client: openai.OpenAI) -> None:
    asked: dict[str, Any] = {"model": "book", "prompt": PROMPT, "max_tokens": 12, "seed": 5}
    whole = client.completions.create(**asked).choices[0].text
    pieces = [chunk.choices[0] for chunk in client.completions.create(**asked, stream=True)]
    assert "".join(piece.text for piece in pieces) == whole
    assert len(pieces) > 3
    assert pieces[-1].finish_reason == "length"


def test_a_completion_has_a_seed_of_its_own_and_says_which(client: openai.OpenAI) -> None:
    asked: dict[str, Any] = {"model": "book", "prompt": PROMPT, "max_tokens": 40}
    first, second = (client.completions.create(**asked) for _ in range(2))
    seed = first.model_dump()["seed"]
    assert seed != second.model_dump()["seed"]
    again = client.completions.create(**asked, seed=seed)
    assert again.choices[0].text == first.choices[0].text
    streamed = list(client.completions.create(**asked, seed=seed, stream=True))
    assert streamed[0].model_dump()["seed"] == seed


def test_a_model_is_described(client: openai.OpenAI) -> None:
    assert client.models.retrieve("book").id == "book"
    with pytest.raises(openai.NotFoundError, match="no such model"):
        client.models.retrieve("other")


def test_a_stream_of_completions_keeps_to_the_time_limit(
    start: Start, book: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    hurried = start(Limits(request_seconds=2), more_runs=(book,))
    writer = hurried.service.models.writer("book")

    def endless(prompt: str, writing: Any) -> Iterator[str]:
        while True:
            time.sleep(0.01)
            yield "a"

    monkeypatch.setattr(writer, "stream", endless)
    asked = {"model": "book", "prompt": PROMPT, "stream": True}
    found = hurried.post("/v1/completions", **asked).text.split("\n\n")
    *pieces, last, done, _ = found
    assert len(pieces) > 1
    assert "took too long" in json.loads(last.removeprefix("data: "))["error"]["message"]
    assert done == "data: [DONE]"
    monkeypatch.undo()
    free = hurried.post("/v1/completions", **{**asked, "stream": False})  # so is the thread
    assert free.status_code == 200


def test_an_echo_is_scored_token_by_token(client: openai.OpenAI, writing: Live) -> None:
    found = client.completions.create(
        model="book", prompt=PROMPT, max_tokens=5, echo=True, logprobs=1
    ).choices[0]
    assert found.text.startswith(PROMPT)
    assert found.logprobs is not None
    assert "".join(found.logprobs.tokens or []) == found.text
    scores = writing.service.models.writer("book").score(found.text)
    assert found.logprobs.token_logprobs == pytest.approx([s.log_probability for s in scores])
    alone = client.completions.create(
        model="book", prompt=PROMPT, max_tokens=0, echo=True, logprobs=1
    ).choices[0]
    assert (alone.text, alone.finish_reason) == (PROMPT, "length")
    assert alone.logprobs is not None
    assert alone.logprobs.token_logprobs == found.logprobs.token_logprobs[: len(PROMPT)]
    without = client.completions.create(model="book", prompt=PROMPT, max_tokens=5, logprobs=1)
    assert without.choices[0].logprobs is not None
    assert "".join(without.choices[0].logprobs.tokens or []) == without.choices[0].text


def test_several_prompts_and_choices(client: openai.OpenAI) -> None:
    found = client.completions.create(model="book", prompt=["one", "two", "three"], max_tokens=2)
    assert [choice.index for choice in found.choices] == [0, 1, 2]
    several = client.completions.create(model="book", prompt="one", n=3, max_tokens=20)
    assert len({choice.text for choice in several.choices}) > 1


def test_embeddings_come_as_numbers_and_as_base64(client: openai.OpenAI, writing: Live) -> None:
    texts = ["one two", "three"]
    expected = writing.service.models.embedder("book").embed(texts)
    # The client asks for base64 by itself, and decodes it.
    found = client.embeddings.create(model="book", input=texts)
    np.testing.assert_array_equal([each.embedding for each in found.data], expected)
    plain = client.embeddings.create(model="book", input=texts, encoding_format="float")
    np.testing.assert_allclose([each.embedding for each in plain.data], expected, rtol=1e-6)


def test_a_text_is_the_mean_of_its_word_vectors(client: openai.OpenAI, vector_run: Path) -> None:
    vectors = WordVectors.load(vector_run)
    mean = (vectors.vector("one") + vectors.vector("two")) / 2
    found = client.embeddings.create(model="words", input=["One two!", "three", "xyzzy", ""])
    given = np.array([each.embedding for each in found.data])
    np.testing.assert_allclose(given[0], mean, atol=1e-6)
    np.testing.assert_allclose(given[1], vectors.vector("three"), atol=1e-6)
    assert not given[2:].any()  # no word is known
    assert found.usage.prompt_tokens == 3
    with pytest.raises(openai.BadRequestError, match="words is no language model"):
        client.completions.create(model="words", prompt="one")


@pytest.mark.parametrize(
    ("path", "values", "status", "words"),
    [
        ("completions", {}, 400, "missing model"),
        ("completions", {"model": "other", "prompt": "a"}, 404, "there are: book"),
        ("completions", {"model": "book"}, 400, "prompt is missing"),
        ("completions", {"model": "book", "prompt": [1, 2]}, 400, "not of tokens"),
        ("completions", {"model": "book", "prompt": "a", "n": 9}, 400, "n must be a number"),
        ("completions", {"model": "book", "prompt": ["a"] * 4}, 400, "at most 3"),
        ("completions", {"model": "book", "prompt": "a", "max_tokens": 10**9}, 400, "to 40"),
        ("completions", {"model": "book", "prompt": "a", "temperature": "hot"}, 400, "temperature"),
        ("completions", {"model": "book", "prompt": "a", "stop": [""]}, 400, "stop"),
        # What looks like an image is still a prompt.
        ("completions", {"model": "book", "prompt": f"data:image/{'a' * 20_000}"}, 400, "exceeds"),
        ("embeddings", {"model": "book", "input": "a" * 20_001}, 400, "exceeds"),
        ("embeddings", {"model": "book", "input": ""}, 200, ""),
        ("embeddings", {"model": "book", "input": []}, 400, "input is missing"),
        ("embeddings", {"model": "book", "input": "a", "dimensions": 3}, 400, "dimensions"),
        ("embeddings", {"model": "book", "input": ["a", "data:image/"]}, 400, "reads texts only"),
    ],
)
def test_what_is_wrong_is_said(
    writing: Live, path: str, values: dict[str, Any], status: int, words: str
) -> None:
    found = writing.post(f"/v1/{path}", **values)
    assert found.status_code == status
    if status != 200:
        assert words in found.json()["error"]["message"]


def test_without_a_language_model_it_is_said_what_to_do(live: Live) -> None:
    found = live.post("/v1/completions", model="x", prompt="a")
    assert found.status_code == 404
    assert "start the server with the run of one" in found.json()["error"]["message"]
