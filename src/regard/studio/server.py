"""The studio over HTTP: the page, and the questions it asks."""

import asyncio
import json
import threading
from collections.abc import AsyncIterator, Callable, Sequence
from pathlib import Path
from typing import Any

from starlette.applications import Starlette
from starlette.concurrency import run_in_threadpool
from starlette.middleware import Middleware
from starlette.requests import Request
from starlette.responses import JSONResponse, Response, StreamingResponse
from starlette.routing import Mount, Route
from starlette.staticfiles import StaticFiles

from regard.errors import RegardError, RequestError
from regard.studio.guard import Guard
from regard.studio.metrics import read_on
from regard.studio.requests import (
    Asked,
    Compared,
    Described,
    Found,
    Image,
    InBox,
    InCell,
    Input,
    InStage,
    Layer,
    Length,
    Looked,
    Near,
    Pair,
    Paired,
    Samples,
    Sentence,
    Text,
    TextLayer,
    TextWeight,
    Weight,
    Window,
    WordCount,
    checked,
)
from regard.studio.runs import OpenRun
from regard.studio.tour import BUILT_IN, read_tour

PAGE = Path(__file__).parent / "page"
LARGEST_BODY = 1 << 20
# Of the pixels that a model sees, as text; and of an image file that a visitor gives.
LARGEST_PIXELS = 5 << 20
LARGEST_FILE = 16_000_000
WITH_PIXELS = ("image", "caption", "caption_hidden", "match", "pair")


def build_app(
    runs: Sequence[OpenRun], host: str = "127.0.0.1", token: str = "", tour: Path = BUILT_IN
) -> Starlette:
    """The whole application. Nothing here loads PyTorch before a page asks for a model."""
    routes = [
        Route("/api/runs", described, methods=["GET"]),
        Route("/api/metrics", metrics, methods=["GET"]),
        Route("/api/tour", toured, methods=["GET"]),
        Route("/api/translate", translated, methods=["POST"]),
        Route("/api/layer", layer, methods=["POST"]),
        Route("/api/text_layer", layer, methods=["POST"]),
        Route("/api/model_stage", layer, methods=["POST"]),
        Route("/api/square", squared, methods=["POST"]),
        Route("/api/{question}", answered, methods=["POST"]),
        Mount("/", StaticFiles(directory=PAGE, html=True)),
    ]
    app = Starlette(
        routes=routes,
        middleware=[Middleware(Guard, host=host, token=token)],
        exception_handlers={RegardError: refused},
    )
    app.state.runs = list(runs)
    app.state.tour = tour
    return app


async def refused(request: Request, error: Exception) -> Response:
    return JSONResponse({"error": str(error)}, 400)


def run_of(request: Request, number: int) -> OpenRun:
    runs: list[OpenRun] = request.app.state.runs
    if number >= len(runs):
        raise RequestError(f"there is no run {number + 1}; reload the page")
    return runs[number]


async def body(request: Request) -> object:
    """The JSON of a request. Other types are refused, since forms of other pages can send them."""
    if request.headers.get("content-type", "").partition(";")[0].strip() != "application/json":
        raise RequestError("the request is not JSON; send application/json")
    most = LARGEST_PIXELS if request.path_params.get("question") in WITH_PIXELS else LARGEST_BODY
    data = await content(request, most, "the request is too large; send at most a megabyte")
    try:
        return json.loads(data)
    except (ValueError, RecursionError):
        raise RequestError("the request is not valid JSON") from None


async def content(request: Request, most: int, problem: str) -> bytes:
    """The bytes of a request, which is refused as soon as it is known to be too large."""
    said = request.headers.get("content-length", "0")
    if said.isdecimal() and int(said) > most:
        raise RequestError(problem)
    chunks, size = [], 0
    async for chunk in request.stream():
        chunks.append(chunk)
        size += len(chunk)
        if size > most:
            raise RequestError(problem)
    return b"".join(chunks)


async def squared(request: Request) -> Response:
    """An image file in, the pixels that the model sees out. The type is one that forms of other
    pages cannot send.
    """
    if request.headers.get("content-type", "") != "application/octet-stream":
        raise RequestError("send an image as application/octet-stream")
    number = request.query_params.get("run", "0")
    run = run_of(request, int(number) if number.isdecimal() else 0)
    megabytes = LARGEST_FILE // 1_000_000
    problem = f"the image has more than {megabytes} MB; save it smaller"
    data = await content(request, LARGEST_FILE, problem)

    def work() -> dict[str, Any]:
        from regard.studio.images import square

        return square(run, data)

    return JSONResponse(await run_in_threadpool(work))


async def described(request: Request) -> Response:
    """Describe all runs. Models load only when the page asks with "begin", after it is painted."""
    runs: list[OpenRun] = request.app.state.runs
    if "begin" in request.query_params:
        for run in runs:
            run.begin()
    return JSONResponse({"runs": [await run_in_threadpool(run.describe) for run in runs]})


async def toured(request: Request) -> Response:
    """The tour, read anew each time: its author may be writing it."""
    return JSONResponse(await run_in_threadpool(read_tour, request.app.state.tour))


async def metrics(request: Request) -> Response:
    try:
        run, after = (int(request.query_params.get(name, "0")) for name in ("run", "after"))
    except ValueError:
        raise RequestError("run and after are whole numbers; reload the page") from None
    found = await run_in_threadpool(read_on, run_of(request, abs(run)).folder, after)
    return JSONResponse(found)


Answer = Callable[[OpenRun, Any], dict[str, Any]]


def questions() -> dict[str, tuple[type[Asked], Answer]]:
    """The questions by name, each with its schema and its answer, which needs PyTorch."""
    from regard.studio import captions, endpoints, images, matches, model, texts, words
    from regard.studio.series import series_forecast, series_names, series_overview, series_past
    from regard.studio.series_scores import series_scores

    return {
        "text": (Text, texts.text),
        "text_trace": (Text, texts.text_trace),
        "text_weight": (TextWeight, texts.text_weight),
        "image": (Image, images.image),
        "image_samples": (Samples, images.image_samples),
        "image_positions": (Asked, images.image_positions),
        "caption": (Described, captions.caption),
        "caption_hidden": (Described, captions.caption_hidden),
        "match": (Compared, matches.match),
        "pair": (Paired, matches.pair),
        "confusions": (Asked, matches.confusions),
        "series_names": (Found, series_names),
        "series_overview": (Window, series_overview),
        "series_forecast": (Window, series_forecast),
        "series_past": (Looked, series_past),
        "series_scores": (Asked, series_scores),
        "word_map": (WordCount, words.word_map),
        "near": (Near, words.near),
        "model": (Input, model.outline),
        "model_box": (InBox, model.opened_box),
        "model_cell": (InCell, model.cell),
        "trace": (Pair, endpoints.trace),
        "weight": (Weight, endpoints.weight),
        "tree": (Sentence, endpoints.tree),
        "positions": (Length, endpoints.positions),
        "importance": (Asked, endpoints.importance),
    }


async def answered(request: Request) -> Response:
    name, values = request.path_params["question"], await body(request)

    def work() -> dict[str, Any]:
        found = questions().get(name)
        if found is None:
            raise RequestError(f"there is nothing called {name} to ask for; reload the page")
        kind, answer = found
        asked = checked(kind, values)
        return answer(run_of(request, asked.run), asked)

    return JSONResponse(await run_in_threadpool(work))


async def layer(request: Request) -> Response:
    """Numbers of a layer as they are in memory: float32, little-endian, row by row."""
    values = await body(request)

    def work() -> tuple[bytes, list[int]]:
        kind, answer = tensors()[request.url.path.rpartition("/")[2]]
        asked = checked(kind, values)
        found = answer(run_of(request, asked.run), asked)
        return found.numpy().astype("<f4").tobytes(), list(found.shape)

    data, shape = await run_in_threadpool(work)
    headers = {"X-Shape": ",".join(map(str, shape))}
    return Response(data, media_type="application/octet-stream", headers=headers)


def tensors() -> dict[str, tuple[type[Asked], Callable[[OpenRun, Any], Any]]]:
    """The questions that are answered with a tensor."""
    from regard.studio import endpoints, model, texts

    return {
        "layer": (Layer, endpoints.layer),
        "text_layer": (TextLayer, texts.text_layer),
        "model_stage": (InStage, model.stage),
    }


class Left(Exception):
    """The page no longer waits for the answer."""


async def translated(request: Request) -> Response:
    """Lines of JSON: the best hypothesis as it grows, then everything about the outputs."""
    asked = checked(Sentence, await body(request))
    run = run_of(request, asked.run)
    return StreamingResponse(translation_lines(run, asked), media_type="application/x-ndjson")


async def translation_lines(run: OpenRun, asked: Sentence) -> AsyncIterator[bytes]:
    loop, lines = asyncio.get_running_loop(), asyncio.Queue[dict[str, Any]]()
    left = threading.Event()

    def send(line: dict[str, Any]) -> None:
        if left.is_set():
            raise Left
        loop.call_soon_threadsafe(lines.put_nowait, line)

    def work() -> None:
        from regard.studio.endpoints import translate

        try:
            send({"done": translate(run, asked, lambda pieces: send({"pieces": pieces}))})
        except Left:
            pass
        except RegardError as error:
            send({"error": str(error)})

    task = asyncio.ensure_future(run_in_threadpool(work))
    # An empty line ends the loop below, so that `await task` raises any other error.
    task.add_done_callback(lambda _: lines.put_nowait({}))
    try:
        while line := await lines.get():
            yield json.dumps(line, ensure_ascii=False).encode() + b"\n"
            if "pieces" not in line:
                break
        await task
    finally:
        left.set()
