"""OpenAI's chat as a translator: the last message of the user is translated.

A translator is no chat model. What would need one is refused with a sentence, and what only tunes
one, such as the temperature, changes nothing.
"""

import re
import time
import uuid
from collections.abc import AsyncGenerator
from contextlib import aclosing
from typing import Any

from regard.serve.api.parameters import Fields, check_characters, encodable, is_true, required
from regard.serve.http.chat_messages import check_text_only, message_text
from regard.serve.http.refusal import Refusal
from regard.serve.translation.service import Service, TranslationRequest
from regard.text.languages import language_name

# Fields that ask for what a translator cannot do, and the values that ask for nothing.
IMPOSSIBLE: dict[str, tuple[Any, ...]] = {
    "tools": ([],),
    "functions": ([],),
    "response_format": ({"type": "text"},),
    "logprobs": (False,),
    "n": (1,),
    "stop": ([], ""),
    "modalities": (["text"],),
    "audio": (),
}


def pair_names(service: Service) -> list[str]:
    """The names under which a chat finds each pair: fr-en."""
    return [f"{pair.source}-{pair.target}" for pair in service.pairs.pairs]


def read_chat(service: Service, fields: Fields) -> TranslationRequest:
    """What a chat asks to translate."""
    model, messages = required(fields, "model"), fields.get("messages")
    check_text_only(messages)
    for name, harmless in IMPOSSIBLE.items():
        if fields.get(name) is not None and fields[name] not in harmless:
            raise Refusal(400, f"{name}: a translator cannot do that; leave it out")
    text = message_text(messages, "user")
    if not text:
        raise Refusal(400, "messages must have one of the role user, which is translated")
    check_characters(service, len(text))
    instruction = message_text(messages, "system") or message_text(messages, "developer")
    found = named_pair(service, model) or described_pair(service, instruction)
    if found is None:
        names = ", ".join(pair_names(service)[:20]) or "none, since no translator is served here"
        raise Refusal(
            400,
            "name the languages in model, like fr-en, or in the system message, like: Translate "
            f"from French to English; there are: {names}",
        )
    source, target = found
    if source != "auto":
        service.pairs.route(source, target)  # refuses what cannot be translated
    return TranslationRequest([encodable(text)], source, target)


def named_pair(service: Service, model: str) -> tuple[str, str] | None:
    """The pair that a name like fr-en, fr:en or auto-en means."""
    wanted = re.sub(r"\s*(->|→|:|_)\s*", "-", model.strip().lower())
    for source in (*service.pairs.sources, "auto"):
        for target in service.pairs.languages:
            if source != target and wanted == f"{source}-{target}":
                return source, target
    return None


def described_pair(service: Service, text: str) -> tuple[str, str] | None:
    """The pair that a sentence describes: `from French to English`, `fr to en`, `into German`.
    Without a source, the language of each text is detected.
    """
    languages = service.pairs.languages
    names = {language_name(code).lower(): code for code in reversed(languages)}
    codes = {code: code for code in languages}
    for known in (names, codes):
        words = "|".join(map(re.escape, sorted(known, key=len, reverse=True)))
        between = rf"\b({words})\b\W*(?:to|into|in|→|->|-|:)\s*\b({words})\b"
        if found := re.search(between, text[:2000], re.IGNORECASE):
            source, target = (known[each.lower()] for each in found.groups())
            return source, target
    words = "|".join(map(re.escape, sorted(names, key=len, reverse=True)))
    if found := re.search(rf"\b(?:to|into|in)\s+({words})\b", text[:2000], re.IGNORECASE):
        return "auto", names[found[1].lower()]
    return None


async def chat(service: Service, fields: Fields) -> dict[str, Any]:
    """POST /v1/chat/completions"""
    request = read_chat(service, fields)
    (answer,) = await service.translate(request)
    message = {"role": "assistant", "content": answer.text, "refusal": None}
    choice = {"index": 0, "message": message, "logprobs": None, "finish_reason": "stop"}
    head = chat_head(fields, "chat.completion")
    return {**head, "choices": [choice], "usage": usage(request, answer.text)}


async def chat_streamed(service: Service, fields: Fields) -> AsyncGenerator[dict[str, Any], None]:
    """POST /v1/chat/completions with `stream`: the pieces. A request that cannot be answered is
    refused before the first piece.
    """
    request = read_chat(service, fields)
    texts = await service.split(request)
    head = chat_head(fields, "chat.completion.chunk")
    options = fields.get("stream_options")
    counted = isinstance(options, dict) and is_true(options.get("include_usage"))

    def delta(finish: str | None = None, **values: str) -> dict[str, Any]:
        choice = {"index": 0, "delta": values, "logprobs": None, "finish_reason": finish}
        return {**head, "choices": [choice]}

    async def chunks() -> AsyncGenerator[dict[str, Any], None]:
        whole = ""
        yield delta(role="assistant", content="")
        async with aclosing(service.stream(texts, request)) as pieces:
            async for _, piece in pieces:
                whole += piece
                yield delta(content=piece)
        yield delta("stop")
        if counted:
            yield {**head, "choices": [], "usage": usage(request, whole)}

    return chunks()


def chat_head(fields: Fields, kind: str) -> dict[str, Any]:
    return {
        "id": f"chatcmpl-{uuid.uuid4().hex}",
        "object": kind,
        "created": int(time.time()),
        "model": fields["model"],
    }


def usage(request: TranslationRequest, answer: str) -> dict[str, int]:
    """Words, which are what a client can know of tokens here."""
    read, written = len(request.texts[0].split()), len(answer.split())
    return {
        "prompt_tokens": read,
        "completion_tokens": written,
        "total_tokens": read + written,
    }
