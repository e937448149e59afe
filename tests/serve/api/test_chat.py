"""OpenAI's chat translates, called by OpenAI's own client."""

from collections.abc import Iterator
from typing import Any

import openai
import pytest

from regard.serve.http.limits import Limits
from tests.serve.conftest import Live, Start

TEXT = "the cat sleeps. a dog eats the bone."


@pytest.fixture(scope="module")
def client(live: Live) -> Iterator[openai.OpenAI]:
    with openai.OpenAI(base_url=f"{live.url}/v1", api_key="none", max_retries=0) as found:
        yield found


def translated(live: Live, source: str, target: str, text: str = TEXT) -> str:
    found = live.post("/translate", q=text, source=source, target=target)
    return str(found.json()["translatedText"])


def user(text: str) -> dict[str, Any]:
    return {"role": "user", "content": text}


@pytest.mark.parametrize("model", ["fr-en", "fr:en", "FR → EN", "fr->en", "fr_en"])
def test_the_model_names_the_pair(client: openai.OpenAI, live: Live, model: str) -> None:
    messages: Any = [user("earlier"), {"role": "assistant", "content": "x"}, user(TEXT)]
    found = client.chat.completions.create(model=model, messages=messages, temperature=0.3)
    assert found.choices[0].message.content == translated(live, "fr", "en")
    assert found.choices[0].finish_reason == "stop"
    assert found.usage is not None
    assert found.usage.prompt_tokens == 8


@pytest.mark.parametrize(
    ("instruction", "source", "target"),
    [
        ("You translate from French to English. Keep the tone.", "fr", "en"),
        ("Translate the text from English into German", "en", "de"),
        ("fr -> de", "fr", "de"),
        ("Translate everything into german.", "auto", "de"),
    ],
)
def test_the_system_message_may_name_it(
    client: openai.OpenAI, live: Live, instruction: str, source: str, target: str
) -> None:
    parts: Any = [{"type": "text", "text": TEXT}]
    messages: Any = [{"role": "system", "content": instruction}, user(parts)]
    found = client.chat.completions.create(model="gpt-4o", messages=messages)
    assert found.choices[0].message.content == translated(live, source, target)


def test_a_chat_is_streamed(client: openai.OpenAI, live: Live) -> None:
    messages: Any = [user(TEXT)]
    stream = client.chat.completions.create(
        model="fr-en", messages=messages, stream=True, stream_options={"include_usage": True}
    )
    chunks = list(stream)
    pieces = [each.choices[0].delta.content or "" for each in chunks if each.choices]
    assert "".join(pieces) == translated(live, "fr", "en")
    assert len([each for each in pieces if each]) == 2
    assert chunks[-2].choices[0].finish_reason == "stop"
    assert chunks[-1].usage is not None


def test_each_pair_is_listed(client: openai.OpenAI) -> None:
    assert [each.id for each in client.models.list()] == ["fr-en", "en-fr", "en-de"]


@pytest.mark.parametrize(
    ("values", "words"),
    [
        ({"model": "gpt-4o"}, "there are: fr-en, en-fr, en-de"),
        ({"model": "de-fr"}, "there are: fr-en"),
        ({"tools": [{"type": "function"}]}, "tools: a translator cannot do that"),
        ({"n": 2}, "n: a translator cannot do that"),
        ({"response_format": {"type": "json_object"}}, "response_format: a translator cannot"),
        ({"messages": []}, "messages is missing"),
        ({"messages": ["hello"]}, "objects with role and content"),
        ({"messages": [{"role": "system", "content": "x"}]}, "one of the role user"),
        ({"messages": [user([{"type": "image_url"}])]}, "text only"),  # type: ignore[arg-type]
        ({"messages": [user("x" * 30_000)]}, "exceeds text limit"),
    ],
)
def test_what_cannot_be_done_is_refused(live: Live, values: dict[str, Any], words: str) -> None:
    found = live.post(
        "/v1/chat/completions", **{"model": "fr-en", "messages": [user("a")]} | values
    )
    assert found.status_code == 400
    assert words in found.json()["error"]["message"]


def test_what_only_asks_for_nothing_is_ignored(live: Live) -> None:
    ignored = {"n": 1, "tools": [], "stop": None, "max_tokens": 5, "logprobs": False}
    found = live.post("/v1/chat/completions", model="fr-en", messages=[user("a")], **ignored)
    assert found.status_code == 200


def test_its_characters_are_counted(start: Start) -> None:
    live = start(Limits(texts_per_minute=3))
    before = live.metrics.total_characters()
    assert live.post("/v1/chat/completions", model="fr-en", messages=[user("abc")]).is_success
    assert live.metrics.total_characters() - before == 3
    lines = live.post("/v1/chat/completions", model="fr-en", messages=[user("a\nb\nc")])
    assert lines.status_code == 429
