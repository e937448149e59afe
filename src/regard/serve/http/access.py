"""Access to the endpoints: the key is looked for before the body is read, and every request is
counted before it is answered.
"""

import asyncio
import math
from collections.abc import Awaitable, Callable, Iterator
from contextlib import AbstractContextManager, contextmanager, nullcontext
from dataclasses import dataclass, field
from typing import Any

from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Route

from regard.serve.http.bodies import BodyBudget, Caller
from regard.serve.http.chat_messages import message_text
from regard.serve.http.free_memory import FreeMemory
from regard.serve.http.keys import Key, Keys
from regard.serve.http.limits import CALLER, Limits, RateLimiter, caller_address
from regard.serve.http.metrics import Metrics
from regard.serve.http.quotas import Usage
from regard.serve.http.refusal import Refusal, take_time
from regard.serve.http.request_fields import Reader, RequestFields, is_image
from regard.serve.http.responses import json_response

# The names under which the interfaces send their texts, and images.
TEXT_FIELDS = ("q", "text", "prompt", "input", "texts", "templates")
IMAGE_FIELD = "image"
# The names under which they send their keys; OPUS-CAT's plugins have a token instead.
KEY_FIELDS = ("api_key", "apiKey", "auth_key", "key", "tokenCode")
# A longer line counts as several texts.
USUAL_CHARACTERS = 500
# So many bytes without a key count as a text.
UNKNOWN_BYTES = 16 << 10
SEGMENTS = "/segments"
FILES = ("/translate_file", SEGMENTS, "/v2/document")
# Bytes of an archive, such as a .docx, that count as a line of a text.
ARCHIVE_BYTES = 1 << 10
# The statuses for who has asked for too much; such clients often ask again at once.
TOO_MUCH = (429, 456)
# The key under which a scope has the headers that say what is left of the rate limit.
RATE_HEADERS = "regard.rate-headers"
# The key under which a scope has the owner of the API key.
OWNER = "regard.owner"
CHARACTERS = "regard.characters"


@dataclass(frozen=True)
class Call:
    """One request as an endpoint sees it."""

    request: Request
    fields: RequestFields

    @property
    def key(self) -> Key | None:
        found: Key | None = self.request.scope.get(OWNER)
        return found


# What answers a call: with a response, or with a value to send as JSON.
Handler = Callable[[Call], Awaitable[Any]]


@dataclass(frozen=True)
class Endpoint:
    """A path and what answers it. An open endpoint asks for no key and is not rate limited; one
    that ignores the body does not read it.
    """

    path: str
    methods: tuple[str, ...]
    handler: Handler
    is_open: bool = False
    ignores_body: bool = False


@dataclass
class Access:
    """Makes the routes of all endpoints, so that no request can go around the checks."""

    limits: Limits
    keys: Keys
    rates: RateLimiter
    metrics: Metrics
    usage: Usage = field(default_factory=Usage)

    def __post_init__(self) -> None:
        self.bodies = BodyBudget(self.limits.held_bytes)
        self.reader = Reader(self.limits)
        self.memory = FreeMemory()

    def route(self, endpoint: Endpoint) -> Route:
        async def answer(request: Request) -> Response:
            request.scope["regard.route"] = endpoint.path
            try:
                return await self.answer(endpoint, request)
            except Refusal as refusal:
                if refusal.status in TOO_MUCH:
                    refusal.with_traceback(None)  # it holds what was sent
                    await take_time()
                raise

        return Route(endpoint.path, answer, methods=list(endpoint.methods))

    async def answer(self, endpoint: Endpoint, request: Request) -> Response:
        fields = self.reader.query(request)
        if endpoint.is_open:
            return await self.respond(endpoint, Call(request, fields))
        caller = self.identify(request, fields.values)
        self.rates.check(caller.name)
        with self.bodies.account(caller) as account, self.freed_after():
            body = b"" if endpoint.ignores_body else await self.reader.body(request, account)
            async with asyncio.timeout(self.limits.request_seconds):
                if body:
                    await self.reader.parse(request, body, fields, account)
                size = len(body)
                del body
                self.check(request, fields, caller, size)
                return await self.respond(endpoint, Call(request, fields))

    @contextmanager
    def freed_after(self) -> Iterator[None]:
        try:
            yield
        finally:
            self.memory.soon()

    async def respond(self, endpoint: Endpoint, call: Call) -> Response:
        with self.charged(call):
            result = await endpoint.handler(call)
        return result if isinstance(result, Response) else json_response(result)

    def charged(self, call: Call) -> AbstractContextManager[None]:
        """Count the characters of a request for the quota of its key, unless it is refused."""
        scope, key = call.request.scope, call.key
        if key is None or key.quota is None or CHARACTERS not in scope:
            return nullcontext()
        status = 456 if scope["path"].startswith("/v2/") else 429  # as DeepL's clients expect it
        return self.usage.charged(key.digest.hex(), key.quota, scope[CHARACTERS], status)

    def counted(self, call: Call, characters: int) -> AbstractContextManager[None]:
        """Count characters that are known only after the work: those of a document."""
        call.request.scope[CHARACTERS] = characters
        self.metrics.characters.inc(characters)
        return self.charged(call)

    def identify(self, request: Request, values: dict[str, Any]) -> Caller:
        """The caller, as far as the head of a request shows who it is. Where a key is required and
        cannot come later, in the body, it must be there.
        """
        address = f"address {caller_address(request.client.host)}" if request.client else "unknown"
        if not self.keys:
            return Caller(address)
        secret = key_of(request, values)
        if not secret and has_key_in_body(request):
            return Caller(address, is_known=False)
        return self.known(request, address, secret)

    def known(self, request: Request, address: str, secret: str, cost: int = 1) -> Caller:
        """The owner of a key. A refusal costs the address, so that keys cannot be tried and bodies
        not sent without end.
        """
        key = self.keys.find(secret) if secret else None
        if key is None:
            self.rates.spend(address, cost)
            if not secret:
                raise missing_key(request.url.path)
            raise Refusal(401 if expects_401(request.url.path) else 403, "Invalid API key")
        request.scope["regard.key"] = key.name
        request.scope[OWNER] = key
        return Caller(f"key {key.digest.hex()}")

    def check(self, request: Request, sent: RequestFields, caller: Caller, size: int) -> None:
        """Require the key, and count what a request asks for."""
        if not caller.is_known:
            cost = max(1, size // UNKNOWN_BYTES)
            caller = self.known(request, caller.name, key_of(request, sent.values), cost)
        CALLER.set(caller.name)
        texts = [each for each in items(sent.values, *TEXT_FIELDS) if isinstance(each, str)]
        if said := message_text(sent.values.get("messages"), "user"):
            texts.append(said)
        images = items(sent.values, IMAGE_FIELD)
        of_files = len(sent.files)
        if request.scope["regard.route"] in FILES:
            of_files = sum(self.cost_of_document(request, sent, data) for _, data in sent.files)
        if request.method in ("GET", "HEAD") and not texts:
            return  # asks for nothing that takes work
        count = max(1, sum(map(cost_of, texts)) + len(images) + of_files)
        request.scope[RATE_HEADERS] = self.rates.spend(caller.name, count)
        characters = sum(len(text) for text in texts if not is_image(text))
        request.scope[CHARACTERS] = characters
        self.metrics.characters.inc(characters)

    def cost_of_document(self, request: Request, sent: RequestFields, data: bytes) -> int:
        """A document that is only read, or comes with its translations, costs what reading costs,
        and what may be translated beside them.
        """
        reading = 1 + len(data) // UNKNOWN_BYTES
        if request.scope["regard.route"] == SEGMENTS:
            return reading
        if sent.values.get("translations"):
            return reading + self.limits.characters // USUAL_CHARACTERS
        if data.startswith(b"PK"):
            return max(1, len(data) // ARCHIVE_BYTES)
        return cost_of(data.decode("utf-8", "replace"))


def cost_of(text: str) -> int:
    """How many texts of usual length a text counts as: by its lines, or by its characters."""
    if is_image(text):
        return 1
    return max(1 + text.count("\n"), math.ceil(len(text) / USUAL_CHARACTERS))


def items(values: dict[str, Any], *names: str) -> list[Any]:
    """The values of fields that hold one or a list of them."""
    found = [values[name] for name in names if name in values]
    return [item for each in found for item in (each if isinstance(each, list) else [each])]


def key_of(request: Request, values: dict[str, Any]) -> str:
    """The key that came with a request, in any of the places where clients put it."""
    scheme, _, credentials = request.headers.get("authorization", "").partition(" ")
    if scheme.lower() in ("bearer", "deepl-auth-key") and credentials.strip():
        return credentials.strip()
    for name in KEY_FIELDS:
        if isinstance(values.get(name), str) and values[name]:
            return str(values[name])
    return ""


def has_key_in_body(request: Request) -> bool:
    """Whether the clients of an interface may put the key into the body. OpenAI's do not."""
    return request.method == "POST" and not request.url.path.startswith("/v1/")


def expects_401(path: str) -> bool:
    return path.startswith("/v1/") or path == "/metrics"


def missing_key(path: str) -> Refusal:
    status = 401 if expects_401(path) else 403 if path.startswith("/v2/") else 400
    return Refusal(status, "Please contact the server operator to get an API key")
