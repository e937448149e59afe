"""The answers of the studio, recorded: each under its question."""

import base64
import hashlib
import json
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any

from regard.studio.requests import checked
from regard.studio.runs import OpenRun
from regard.studio.server import questions, tensors

Values = dict[str, Any]


def plain(value: Any) -> Any:
    """A question without what is usual: `page/recorded.js` does the same with what is asked."""
    if isinstance(value, dict):
        found = {name: plain(each) for name, each in sorted(value.items())}
        return {name: each for name, each in found.items() if each is not None} or None
    if isinstance(value, list | tuple):
        return [each if plain(each) is None else plain(each) for each in value] or None
    if isinstance(value, float) and value.is_integer():
        value = int(value)
    return value or None


def key_of(question: str, values: Values) -> str:
    body = json.dumps(plain(values), ensure_ascii=False, separators=(",", ":"))
    return f"{question} {body}"


@dataclass
class Recorder:
    """Asks a run as its page would, and keeps what it says."""

    run: OpenRun
    answers: dict[str, Any] = field(default_factory=dict)

    def ask(self, question: str, values: Values) -> Any:
        kind, answer = questions()[question]
        found = answer(self.run, checked(kind, values))
        self.answers[key_of(question, values)] = found
        return found

    def tensor(self, question: str, values: Values) -> None:
        """Numbers as they are in memory, as the server sends them."""
        kind, answer = tensors()[question]
        found = answer(self.run, checked(kind, values))
        data = found.numpy().astype("<f4").tobytes()
        # Heads of a layer share what comes in and what goes out, so it is kept once.
        name = f"#{hashlib.sha256(data).hexdigest()[:16]}"
        self.answers[name] = base64.b64encode(data).decode()
        self.answers[key_of(question, values)] = {"shape": list(found.shape), "data": name}


def pair_answers(recorder: Recorder, text: str) -> tuple[Values, Values]:
    """Everything about a sentence and its translation but the inside of the model's boxes."""
    from regard.studio.endpoints import translate
    from regard.studio.requests import Sentence

    run = recorder.run
    described = run.describe()
    usual = {
        "text": text,
        "beam_size": described["beam_size"],
        "length_penalty": described["length_penalty"],
    }
    said = translate(run, checked(Sentence, usual), lambda pieces: None)
    recorder.answers[key_of("translate", usual)] = said
    pair = {"source": said["source"]["ids"], "output": said["outputs"][0]["ids"]}
    trace = recorder.ask("trace", pair)
    for kind, counts in trace["heads"].items():
        for layer in range(len(counts)):
            for measure in ("weights", "norm"):
                asked = {**pair, "kind": kind, "layer": layer, "measure": measure}
                recorder.tensor("layer", asked)
    recorder.ask("tree", usual)
    return pair, trace


# The products behind every weight of a map are recorded if it has at most this many.
MOST_WEIGHTS = 400


def weight_answers(recorder: Recorder, pair: Values, trace: Values) -> None:
    """The numbers of the head that aligns best."""
    counts = trace["heads"].get("cross", [])
    if not counts:
        return
    named = [each for each in trace["aligners"] if each["head"] is not None]
    layer = named[0]["layer"] if named else max(0, len(counts) - 2)
    head = {"kind": "cross", "layer": layer, "head": named[0]["head"] if named else 0}
    keys = len(pair["source"]) + 1
    few = keys * (len(pair["output"]) + 1) <= MOST_WEIGHTS
    for query in range(len(pair["output"]) + 1):
        asked = {**pair, **head, "query": query}
        weights = recorder.ask("weight", {**asked, "key": 0})["weights"]
        for key in range(keys) if few else [weights.index(max(weights))]:
            recorder.ask("weight", {**asked, "key": key})


def figure_answers(recorder: Recorder, asked: Values, rows: int, columns: int = 0) -> Values:
    """The figure of the model for every token; `recorded.js` puts rows and columns together."""
    first: Values = recorder.ask("model", asked)
    for row in range(1, rows):
        recorder.ask("model", {**asked, "row": row})
    for column in range(1, columns):
        recorder.ask("model", {**asked, "col": column})
    return first


def inside_answers(recorder: Recorder, asked: Values, figure: Values) -> None:
    """What happens in every box, for every head."""
    for box in boxes(figure):
        for head in range(max(1, box["heads"])):
            each = {**asked, "box": box["name"], "head": head}
            for row in range(rows_of(figure, box)):
                at = {**each, "row": row} if box["name"] == "output" else each
                stages = recorder.ask("model_box", at)["stages"]
                for number in range(len(stages)):
                    recorder.tensor("model_stage", {**at, "stage": number})


def boxes(figure: Values) -> Iterator[Values]:
    return (box for stack in figure["stacks"] for box in stack["boxes"])


def rows_of(figure: Values, box: Values) -> int:
    """Only the last box depends on the row that is looked at."""
    return len(figure["labels"][box["side"]]) if box["name"] == "output" else 1
