"""The endpoints that OpenAI's clients speak to, for language models and encoders."""

import base64
import json
import time
import uuid
from collections.abc import AsyncGenerator, AsyncIterator, Mapping
from contextlib import aclosing
from dataclasses import dataclass, replace
from itertools import accumulate
from typing import TYPE_CHECKING, Any

from regard.serve.api.libretranslate import check_characters, required, sound, truth
from regard.serve.http.refusal import Refusal
from regard.serve.language_models import written
from regard.serve.translation.service import Service

if TYPE_CHECKING:
    from regard.tasks.writer import Writer, Writing

Fields = Mapping[str, Any]
MOST_STOPS = 4


@dataclass(frozen=True)
class Completion:
    """What is asked of a language model."""

    model: str
    writer: "Writer"
    prompts: list[str]
    writing: "Writing"
    count: int
    stops: list[str]
    echo: bool
    scored: bool

    def choices(self) -> list[tuple[int, str, "Writing"]]:
        """Number, prompt and settings of every choice; each draws with a seed of its own."""
        return [
            (self.count * place + number, prompt, replace(self.writing, seed=seed))
            for place, prompt in enumerate(self.prompts)
            for number in range(self.count)
            for seed in [(self.writing.seed + number) % 2**63]
        ]


def models(service: Service) -> dict[str, Any]:
    """GET /v1/models"""
    entries = [
        {"id": name, "object": "model", "created": 0, "owned_by": "regard"}
        for name in service.language_models.names
    ]
    return {"object": "list", "data": entries}


def read_wish(service: Service, fields: Fields) -> Completion:
    model = required(fields, "model")
    writer = service.language_models.writer(model)
    prompts = read_input(service, fields, "prompt")
    limits = service.limits
    stops = fields.get("stop") or []
    stops = [stops] if isinstance(stops, str) else stops
    if not isinstance(stops, list) or not all(isinstance(each, str) and each for each in stops):
        raise Refusal(400, "stop must be a string or a list of strings")
    if len(stops) > MOST_STOPS:
        raise Refusal(400, f"stop takes at most {MOST_STOPS} strings")
    from regard.tasks.writer import Writing

    count = int(number(fields, "n", 1, 1, limits.completions))
    if count * len(prompts) > limits.completions:
        raise Refusal(400, f"at most {limits.completions} completions at once")
    echo = truth(fields.get("echo"))
    # With nothing to add, an echo with log-probabilities scores the prompt.
    fewest = 0 if echo else 1
    writing = Writing(
        max_tokens=int(number(fields, "max_tokens", 16, fewest, limits.completion_tokens)),
        temperature=number(fields, "temperature", 1.0, 0.0, 2.0),
        top_p=number(fields, "top_p", 1.0, 1e-6, 1.0),
        seed=int(number(fields, "seed", 1, 0, 2**63 - 1)),
    )
    scored = fields.get("logprobs") is not None and fields.get("logprobs") is not False
    return Completion(model, writer, prompts, writing, count, stops, echo, scored)


async def completions(service: Service, wish: Completion) -> dict[str, Any]:
    """POST /v1/completions"""
    encode = wish.writer.tokenizer.encode
    choices, total = [], 0
    for index, prompt, writing in wish.choices():
        text = "".join([piece async for piece in pieces_of(service, wish, prompt, writing)])
        tokens = len(encode(text))
        total += tokens
        choice: dict[str, Any] = {
            "index": index,
            "text": prompt + text if wish.echo else text,
            "finish_reason": "length" if tokens >= writing.max_tokens else "stop",
            "logprobs": None,
        }
        if wish.scored:
            choice["logprobs"] = await service.thread.run(log_probabilities, wish, prompt, text)
        choices.append(choice)
    read = sum(len(encode(prompt)) for prompt in wish.prompts)
    usage = {"prompt_tokens": read, "completion_tokens": total, "total_tokens": read + total}
    return {**head(wish), "choices": choices, "usage": usage}


async def streamed(service: Service, wish: Completion) -> AsyncIterator[bytes]:
    """The same as events, a piece at a time."""
    shared = head(wish)

    def event(index: int, text: str, finish: str | None = None) -> bytes:
        choice = {"index": index, "text": text, "finish_reason": finish, "logprobs": None}
        return f"data: {json.dumps({**shared, 'choices': [choice]})}\n\n".encode()

    for index, prompt, writing in wish.choices():
        if wish.echo:
            yield event(index, prompt)
        text = ""
        async with aclosing(pieces_of(service, wish, prompt, writing)) as pieces:
            async for piece in pieces:
                text += piece
                yield event(index, piece)
        tokens = len(wish.writer.tokenizer.encode(text))
        yield event(index, "", "length" if tokens >= writing.max_tokens else "stop")
    yield b"data: [DONE]\n\n"


def pieces_of(
    service: Service, wish: Completion, prompt: str, writing: "Writing"
) -> AsyncGenerator[str, None]:
    return service.thread.stream(lambda: written(wish.writer, prompt, writing, wish.stops))


def head(wish: Completion) -> dict[str, Any]:
    return {
        "id": f"cmpl-{uuid.uuid4().hex}",
        "object": "text_completion",
        "created": int(time.time()),
        "model": wish.model,
    }


def log_probabilities(wish: Completion, prompt: str, text: str) -> dict[str, Any]:
    """Of the tokens of prompt and text together; of the prompt only where it is echoed."""
    tokenizer = wish.writer.tokenizer
    whole = prompt + text
    ids = tokenizer.encode(whole)
    lengths = [len(tokenizer.decode(ids[:end])) for end in range(len(ids) + 1)]
    # Bytes that are not yet a character may show as more signs than the character will.
    offsets = list(accumulate(reversed(lengths), min))[::-1]
    scores = wish.writer.score(whole)
    shift = 0 if wish.echo else len(prompt)
    rows = [
        (whole[start:end], score.log_probability, start - shift)
        for start, end, score in zip(offsets, offsets[1:], scores, strict=False)
        if wish.echo or end > len(prompt)
    ]
    return {
        "tokens": [token for token, _, _ in rows],
        "token_logprobs": [value for _, value, _ in rows],
        "text_offset": [max(0, offset) for _, _, offset in rows],
        "top_logprobs": None,
    }


async def embeddings(service: Service, fields: Fields) -> dict[str, Any]:
    """POST /v1/embeddings"""
    model = required(fields, "model")
    embedder = service.language_models.embedder(model)
    texts = read_input(service, fields, "input")
    form = fields.get("encoding_format") or "float"
    if form not in ("float", "base64"):
        raise Refusal(400, "encoding_format must be float or base64")
    if fields.get("dimensions") is not None:
        raise Refusal(400, "dimensions cannot be chosen; leave them out")
    vectors = await service.thread.run(embedder.embed, texts)
    data = []
    for index, row in enumerate(vectors):
        shown = base64.b64encode(row.astype("<f4").tobytes()).decode()
        vector = shown if form == "base64" else row.tolist()
        data.append({"object": "embedding", "index": index, "embedding": vector})
    tokenizer = embedder.readers[0].tokenizer
    tokens = sum(len(tokenizer.encode(text)) for text in texts)
    usage = {"prompt_tokens": tokens, "total_tokens": tokens}
    return {"object": "list", "data": data, "model": model, "usage": usage}


def read_input(service: Service, fields: Fields, key: str) -> list[str]:
    """A text or a list of them, within the limits."""
    given = fields.get(key)
    texts = [given] if isinstance(given, str) else given
    if not isinstance(texts, list) or not texts:
        raise Refusal(400, f"{key} is missing; give a string or a list of strings")
    if not all(isinstance(text, str) for text in texts):
        raise Refusal(400, f"{key} must be a string or a list of strings, not of tokens")
    if len(texts) > service.limits.texts:
        raise Refusal(400, f"{key} takes at most {service.limits.texts} texts")
    check_characters(service, sum(map(len, texts)))
    return [sound(text) for text in texts]


def number(fields: Fields, key: str, default: float, least: float, most: float) -> float:
    """A number within its bounds, or the default."""
    given = fields.get(key)
    if given is None:
        return default
    if isinstance(given, bool) or not isinstance(given, int | float) or not least <= given <= most:
        raise Refusal(400, f"{key} must be a number from {least:g} to {most:g}")
    return given
