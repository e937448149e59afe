"""A translation comes in pieces and then whole."""

import asyncio
import json
from typing import Any

import pytest

from regard.serve.http.limits import Limits
from tests.serve.conftest import Live, Start

CAT = "the cat sleeps"


def events(answer: Any) -> list[Any]:
    """The events of a stream without [DONE]."""
    *found, last, rest = answer.text.split("\n\n")
    assert (last, rest) == ("data: [DONE]", "")
    return [json.loads(each.removeprefix("data: ")) for each in found]


@pytest.mark.parametrize("form", ["text", "html"])
def test_a_stream_gives_the_answer_bit_by_bit_and_then_whole(live: Live, form: str) -> None:
    texts = ["the cat sleeps. a dog eats.\n\n  big red apples!\n" * 5, "", "😀", CAT]
    asked = {"q": texts, "source": "auto", "target": "de", "format": form}
    whole = live.post("/translate", **asked).json()
    answer = live.post("/translate", **asked, stream=True)
    assert answer.headers["content-type"].startswith("text/event-stream")
    *pieces, last = events(answer)
    assert last == whole
    assert [each["index"] for each in pieces] == sorted(each["index"] for each in pieces)
    for number, text in enumerate(whole["translatedText"]):
        parts = [each["text"] for each in pieces if each["index"] == number]
        assert "".join(parts) == text
        assert (len(parts) > 2) == (number == 0)  # the long one comes in several parts


def test_a_stream_that_cannot_begin_is_refused_as_ever(live: Live) -> None:
    asked = {"q": CAT, "source": "fr", "target": "en", "stream": True}
    assert live.error("/translate", **{**asked, "target": "zz"}) == (400, "zz is not supported")
    status, sentence = live.error("/translate", **asked, alternatives=1)
    assert (status, "streamed" in sentence) == (400, True)


def test_a_stream_that_takes_too_long_ends_with_a_sentence(
    start: Start, monkeypatch: pytest.MonkeyPatch
) -> None:
    hurried = start(Limits(request_seconds=2))
    best = hurried.service.batcher.best

    async def slower_each_time(translator: Any, sentences: list[str], search: Any) -> list[str]:
        await asyncio.sleep(0 if len(sentences) == 1 else 60)
        return await best(translator, sentences, search)

    monkeypatch.setattr(hurried.service.batcher, "best", slower_each_time)
    text = "a cat eats. a dog sleeps. we like apples."
    answer = hurried.post("/translate", q=text, source="fr", target="en", stream=True)
    first, last = events(answer)
    assert first["index"] == 0
    assert "took too long" in last["error"]
