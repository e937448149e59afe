"""Writes a lesson: the page, its modules and its answers, as one file that needs no server."""

import base64
import gzip
import json
import re
from collections.abc import Sequence
from html import escape
from pathlib import Path
from typing import Any

from regard import tasks
from regard.errors import RequestError
from regard.files import write_file
from regard.studio.lesson.recorder import (
    Recorder,
    Values,
    figure_answers,
    inside_answers,
    key_of,
    pair_answers,
    weight_answers,
)
from regard.studio.metrics import read_on
from regard.studio.runs import OpenRun
from regard.studio.server import PAGE
from regard.studio.tour import BUILT_IN, read_tour
from regard.tasks.neighbours import has_words

# Views whose questions can be answered beforehand.
VIEWS = ("translate", "text", "model", "alignment", "heads", "numbers", "beam", "map", "training")
VIEWS_WITHOUT_A_MODEL = ("blocks",)
VIEWS_OF_POSITIONS = "positions"
NEEDS_A_PAIR = ("numbers", "positions")
LENGTH_OF_POSITIONS, WORDS = 48, 600
# A file that is sent by mail or put on a page for a class.
LARGEST = 3_000_000
MOST_TEXTS, LONGEST_TEXT = 10, 2_000
SPECIFIER = re.compile(r'(from|import)\s+"\.{1,2}/(?:[\w/]*/)?([\w]+)\.js"')


def publish(run: OpenRun, texts: Sequence[str], path: Path, tour: Path = BUILT_IN) -> str:
    """Write the lesson, and say what is in it."""
    entry = tasks.entry(run.task)
    if not {"translate", "text"} & set(entry.views):
        raise RequestError(f"{run.folder}: only runs that read or write text can be published")
    texts = list(dict.fromkeys(texts)) or held_out(run)
    if not texts:
        raise RequestError("there is no sentence to publish; give one or more with --text")
    if len(texts) > MOST_TEXTS:
        raise RequestError(f"{len(texts)} texts: a lesson has at most {MOST_TEXTS}")
    for text in texts:
        if not text.strip() or len(text) > LONGEST_TEXT:
            raise RequestError(f"--text {text[:40]!r}: give 1 to {LONGEST_TEXT:,} characters")
    recorder = Recorder(run)
    translates = "translate" in entry.views
    record = translated if translates else looked_at
    examples, inside = [], []
    for text in texts:
        example, asked, figure = record(recorder, text)
        examples.append(example)
        inside.append((asked, figure))
    record_run(recorder, examples, translates)
    recorder.answers[key_of("tour", {})] = read_tour(tour)
    page = assembled(recorder)
    unfolded = 0
    # The inside of boxes takes most of the room, so it is added while there is some.
    for asked, figure in inside:
        before = dict(recorder.answers)
        inside_answers(recorder, asked, figure)
        larger = assembled(recorder)
        if len(larger) > LARGEST:
            recorder.answers = before
            break
        page, unfolded = larger, unfolded + 1
    write_file(path, page)
    size = f"{len(page) / 1e6:.1f} MB"
    boxes = f", {unfolded} with every box of the model" if unfolded < len(texts) else ""
    return f"{path}: {len(texts)} sentences{boxes}, {size}"


def held_out(run: OpenRun) -> list[str]:
    return [each["source"] for each in run.describe()["examples"][:3] if each.get("source")]


def translated(recorder: Recorder, text: str) -> tuple[Values, Values, Values]:
    pair, trace = pair_answers(recorder, text)
    weight_answers(recorder, pair, trace)
    figure = figure_answers(recorder, pair, len(pair["output"]) + 1, len(pair["source"]) + 1)
    return {"source": text, "reference": trace["output"]["text"], "output": ""}, pair, figure


def looked_at(recorder: Recorder, text: str) -> tuple[Values, Values, Values]:
    asked = {"text": text}
    found = recorder.ask("text", asked)
    heads = {"": found["heads"], **recorder.ask("text_trace", asked)["heads"]}
    for kind, counts in heads.items():
        of_kind = {**asked, "kind": kind} if kind else asked
        for layer in range(len(counts)):
            for measure in ("weights", "norm"):
                recorder.tensor("text_layer", {**of_kind, "layer": layer, "measure": measure})
    figure = figure_answers(recorder, asked, 1)
    rows = len(figure["labels"]["text"])
    figure_answers(recorder, asked, rows)
    return {"source": text, "reference": "", "output": ""}, asked, figure


def record_run(recorder: Recorder, examples: list[Values], translates: bool) -> None:
    """What the page asks about the run itself."""
    run = recorder.run
    described = run.describe()
    views = [
        each
        for each in (*VIEWS, *VIEWS_WITHOUT_A_MODEL, VIEWS_OF_POSITIONS)
        if each in described["views"]
    ]
    if not translates:
        views = [each for each in views if each not in NEEDS_A_PAIR]
    if has_words(_run(run)):
        recorder.ask("word_map", {"count": WORDS})
    if translates:
        recorder.ask("importance", {})
        with run.opened() as found:
            counts = getattr(found.model.config, "positions", None) not in (None, "rotary")
        if counts:
            length = min(LENGTH_OF_POSITIONS, found.model.longest)
            recorder.ask("positions", {"length": length})
        else:
            views = [each for each in views if each != VIEWS_OF_POSITIONS]
    described |= {
        "status": "ready",
        "finished": True,
        "views": [each for each in described["views"] if each in views],
        "checkpoints": [],
        "examples": examples,
        "folder": run.folder.name,
    }
    recorder.answers[key_of("runs", {})] = {"runs": [described]}
    recorder.answers[key_of("metrics", {})] = all_metrics(run.folder)


def _run(run: OpenRun) -> Any:
    from regard.run import Run

    return Run(run.folder)


def all_metrics(folder: Path) -> Values:
    events: list[Any] = []
    found = read_on(folder, 0)
    while True:
        events += found["events"]
        if not found["more"]:
            return {"events": events, "cursor": found["cursor"], "anew": False, "more": False}
        found = read_on(folder, found["cursor"])


def assembled(recorder: Recorder) -> bytes:
    """The page with everything in it."""
    data = json.dumps(recorder.answers, ensure_ascii=False, separators=(",", ":"))
    packed = base64.b64encode(gzip.compress(data.encode(), 9, mtime=0)).decode()
    page = (PAGE / "index.html").read_text("utf-8")
    styles = "".join((PAGE / name).read_text("utf-8") for name in linked(page))
    page = re.sub(r'\s*<link rel="stylesheet"[^>]*>', "", page)
    page = re.sub(r'\s*<script type="module"[^>]*></script>', "", page)
    icon = data_url("image/svg+xml", (PAGE / "icon.svg").read_bytes())
    page = page.replace('"icon.svg"', f'"{icon}"')
    command = f"regard studio {recorder.run.folder.name}"
    banner = (
        '<p class="lesson-note" role="note">A recording: its sentences can be looked at from all '
        f"sides. Anything else needs the model: <code>{escape(command)}</code></p>"
    )
    scripts = (
        f'<script type="importmap">{json.dumps({"imports": modules()})}</script>\n'
        f'<script type="application/octet-stream" id="answers">{packed}</script>\n'
        '<script type="module">import "regard/main.js";</script>\n'
    )
    page = page.replace("</head>", f"<style>{styles}</style>\n</head>")
    page = page.replace("<main>", f"<main>\n{banner}")
    return page.replace("</body>", f"{scripts}</body>").encode()


def linked(page: str) -> list[str]:
    return re.findall(r'<link rel="stylesheet" href="([\w.]+)"', page)


def modules() -> dict[str, str]:
    """Every module of the page under a name of its own, as an address that is its own content. A
    page that comes from a disk may not load a module beside it.
    """
    found = {}
    for path in sorted(PAGE.rglob("*.js")):
        inner = path.parent.name
        name = path.name if path.parent == PAGE else f"{inner}/{path.name}"
        found[f"regard/{name}"] = data_url("text/javascript", named(path).encode())
    # The answers are in the file, so they are not asked for.
    found["regard/api.js"] = found["regard/recorded.js"]
    return found


def named(path: Path) -> str:
    """A module whose imports are by name, since its address leads nowhere."""

    def bare(found: re.Match[str]) -> str:
        target = (path.parent / re.search(r'"([^"]+)"', found[0])[1]).resolve()  # type: ignore[index]
        return f'{found[1]} "regard/{target.relative_to(PAGE.resolve()).as_posix()}"'

    return SPECIFIER.sub(bare, path.read_text("utf-8"))


def data_url(kind: str, data: bytes) -> str:
    return f"data:{kind};base64,{base64.b64encode(data).decode()}"
