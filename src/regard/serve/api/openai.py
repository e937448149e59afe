"""The endpoints of OpenAI, for language models, and for encoders of texts and images."""

import base64
import secrets
import time
import uuid
from collections.abc import AsyncGenerator
from contextlib import aclosing
from dataclasses import dataclass, replace
from itertools import accumulate
from typing import TYPE_CHECKING, Any

import numpy as np

from regard.serve.api.chat import pair_names
from regard.serve.api.images import check_image_count, decoded, look
from regard.serve.api.parameters import (
    Fields,
    check_characters,
    encodable,
    is_true,
    required,
)
from regard.serve.http.refusal import Refusal
from regard.serve.http.request_fields import is_image
from regard.serve.language_models import complete
from regard.serve.translation.service import Service

if TYPE_CHECKING:
    from regard.tasks.writer import Writer
    from regard.tasks.writing import Writing

MAX_STOPS = 4


@dataclass(frozen=True)
class CompletionRequest:
    """Prompts to complete, and how."""

    model: str
    writer: "Writer"
    prompts: list[str]
    writing: "Writing"
    count: int
    stops: list[str]
    echo: bool
    scored: bool

    def choices(self) -> list[tuple[int, str, "Writing"]]:
        """The number, prompt and settings of every choice. Each choice has its own seed."""
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
        for name in (*service.models.names, *pair_names(service))
    ]
    return {"object": "list", "data": entries}


def model(service: Service, name: str) -> dict[str, Any]:
    """GET /v1/models/NAME"""
    for entry in models(service)["data"]:
        if entry["id"] == name:
            found: dict[str, Any] = entry
            return found
    raise Refusal(404, "no such model here; /v1/models lists those there are")


def read_request(service: Service, fields: Fields) -> CompletionRequest:
    model = required(fields, "model")
    writer = service.models.writer(model)
    prompts = read_input(service, fields, "prompt")
    check_characters(service, sum(map(len, prompts)))
    limits = service.limits
    stops = fields.get("stop") or []
    stops = [stops] if isinstance(stops, str) else stops
    if not isinstance(stops, list) or not all(isinstance(each, str) and each for each in stops):
        raise Refusal(400, "stop must be a string or a list of strings")
    if len(stops) > MAX_STOPS:
        raise Refusal(400, f"stop takes at most {MAX_STOPS} strings")
    from regard.tasks.writing import Writing

    count = int(number(fields, "n", 1, 1, limits.completions))
    if count * len(prompts) > limits.completions:
        raise Refusal(400, f"at most {limits.completions} completions at once")
    echo = is_true(fields.get("echo"))
    # An echo without new tokens, but with log-probabilities, scores the prompt.
    min_tokens = 0 if echo else 1
    writing = Writing(
        max_tokens=int(number(fields, "max_tokens", 16, min_tokens, limits.completion_tokens)),
        temperature=number(fields, "temperature", 1.0, 0.0, 2.0),
        top_p=number(fields, "top_p", 1.0, 1e-6, 1.0),
        seed=int(number(fields, "seed", secrets.randbelow(2**31), 0, 2**63 - 1)),
    )
    scored = fields.get("logprobs") is not None and fields.get("logprobs") is not False
    return CompletionRequest(model, writer, prompts, writing, count, stops, echo, scored)


async def completions(service: Service, request: CompletionRequest) -> dict[str, Any]:
    """POST /v1/completions"""
    encode = request.writer.tokenizer.encode
    choices, total = [], 0
    for index, prompt, writing in request.choices():
        text = "".join([piece async for piece in text_pieces(service, request, prompt, writing)])
        tokens = len(encode(text))
        total += tokens
        choice: dict[str, Any] = {
            "index": index,
            "text": prompt + text if request.echo else text,
            "finish_reason": "length" if tokens >= writing.max_tokens else "stop",
            "logprobs": None,
        }
        if request.scored:
            choice["logprobs"] = await service.thread.run(log_probabilities, request, prompt, text)
        choices.append(choice)
    prompt_tokens = sum(len(encode(prompt)) for prompt in request.prompts)
    usage = {
        "prompt_tokens": prompt_tokens,
        "completion_tokens": total,
        "total_tokens": prompt_tokens + total,
    }
    return {**head(request), "choices": choices, "usage": usage}


async def streamed(
    service: Service, request: CompletionRequest
) -> AsyncGenerator[dict[str, Any], None]:
    """POST /v1/completions with `stream`: the pieces of each completion."""
    shared = head(request)

    def piece_of(index: int, text: str, finish: str | None = None) -> dict[str, Any]:
        choice = {"index": index, "text": text, "finish_reason": finish, "logprobs": None}
        return {**shared, "choices": [choice]}

    for index, prompt, writing in request.choices():
        if request.echo:
            yield piece_of(index, prompt)
        text = ""
        async with aclosing(text_pieces(service, request, prompt, writing)) as pieces:
            async for piece in pieces:
                text += piece
                yield piece_of(index, piece)
        tokens = len(request.writer.tokenizer.encode(text))
        yield piece_of(index, "", "length" if tokens >= writing.max_tokens else "stop")


def text_pieces(
    service: Service, request: CompletionRequest, prompt: str, writing: "Writing"
) -> AsyncGenerator[str, None]:
    return service.thread.stream(lambda: complete(request.writer, prompt, writing, request.stops))


def head(request: CompletionRequest) -> dict[str, Any]:
    return {
        "id": f"cmpl-{uuid.uuid4().hex}",
        "object": "text_completion",
        "created": int(time.time()),
        "model": request.model,
        "seed": request.writing.seed,
    }


def log_probabilities(request: CompletionRequest, prompt: str, text: str) -> dict[str, Any]:
    """The log-probabilities of the tokens of a completion, and of its prompt where it is echoed."""
    tokenizer = request.writer.tokenizer
    whole = prompt + text
    ids = tokenizer.encode(whole)
    lengths = [len(tokenizer.decode(ids[:end])) for end in range(len(ids) + 1)]
    # Bytes that are not yet a whole character may decode to more characters than it is.
    offsets = list(accumulate(reversed(lengths), min))[::-1]
    scores = request.writer.score(whole)
    shift = 0 if request.echo else len(prompt)
    rows = [
        (whole[start:end], score.log_probability, start - shift)
        for start, end, score in zip(offsets, offsets[1:], scores, strict=False)
        if request.echo or end > len(prompt)
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
    embedder = service.models.embedder(model)
    given = read_input(service, fields, "input")
    form = fields.get("encoding_format") or "float"
    if form not in ("float", "base64"):
        raise Refusal(400, "encoding_format must be float or base64")
    if fields.get("dimensions") is not None:
        raise Refusal(400, "dimensions cannot be chosen; leave them out")
    places = [place for place, each in enumerate(given) if is_image(each)]
    check_images(service, model, len(places))
    images = decoded([given[place] for place in places])
    texts = [each for each in given if not is_image(each)]
    check_characters(service, sum(map(len, texts)))
    vectors = await service.thread.run(embedder.embed, texts)
    if images:
        _, matcher = service.models.matcher(model)
        seen = await look(service, matcher.reader, images, matcher.embed_images)
        before = [place - number for number, place in enumerate(places)]  # texts before each image
        vectors = np.insert(vectors, before, seen, axis=0)
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
    """A text or a list of texts, of which not too many are accepted."""
    given = fields.get(key)
    texts = [given] if isinstance(given, str) else given
    if not isinstance(texts, list) or not texts:
        raise Refusal(400, f"{key} is missing; give a string or a list of strings")
    if not all(isinstance(text, str) for text in texts):
        raise Refusal(400, f"{key} must be a string or a list of strings, not of tokens")
    if len(texts) > service.limits.texts:
        raise Refusal(400, f"{key} takes at most {service.limits.texts} texts")
    return [encodable(text) for text in texts]


def check_images(service: Service, model: str, count: int) -> None:
    """Refuse images that a model does not read, or too many of them."""
    if count and not service.models.embedder(model).reads_images:
        others = service.models.available("matches")
        raise Refusal(400, f"{model} reads texts only; for images take a matcher ({others})")
    check_image_count(service, count)


def number(fields: Fields, key: str, default: float, minimum: float, maximum: float) -> float:
    """A number within bounds, or the default."""
    given = fields.get(key)
    if given is None:
        return default
    if (
        isinstance(given, bool)
        or not isinstance(given, int | float)
        or not minimum <= given <= maximum
    ):
        raise Refusal(400, f"{key} must be a number from {minimum:g} to {maximum:g}")
    return given
