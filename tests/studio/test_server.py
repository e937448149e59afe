"""The studio's answers: who gets one, and that they are what Python says."""

import json
import re
import shutil
import signal
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch

from regard.cli import main
from regard.errors import RunError
from regard.studio.guard import Guard, hostname
from regard.studio.metrics import read_on
from regard.studio.runs import OpenRun
from regard.tasks.translation.translator import Translator
from tests.studio.conftest import STEPS, Served, Serving

PAGE = Path(__file__).parents[2] / "src" / "regard" / "studio" / "page"
TEXT = "4 1 7"


@pytest.fixture(scope="module")
def translator(folders: dict[str, Path]) -> Translator:
    return Translator.load(folders["digits"])


@pytest.fixture(scope="module")
def best(served: Served) -> dict[str, Any]:
    """The translation of TEXT and the pair it makes."""
    lines = served.ask("/api/translate", {"text": TEXT}).body.splitlines()
    done: dict[str, Any] = json.loads(lines[-1])["done"]
    return done


def pair(best: dict[str, Any]) -> dict[str, Any]:
    return {"source": best["source"]["ids"], "output": best["outputs"][0]["ids"]}


def test_a_page_is_served_without_pytorch(folders: dict[str, Path]) -> None:
    program = f"""
import sys, asyncio
from pathlib import Path
from regard.studio.runs import OpenRun
from regard.studio.server import build_app
app = build_app([OpenRun(Path({str(folders["digits"])!r}))])
async def get(path):
    sent = []
    async def receive(): await asyncio.Event().wait()  # a visitor who stays and says nothing more
    async def send(message): sent.append(message)
    scope = {{"type": "http", "method": "GET", "path": path, "raw_path": path.encode(),
             "query_string": b"", "headers": [(b"host", b"127.0.0.1")], "http_version": "1.1",
             "scheme": "http", "root_path": "", "server": ("127.0.0.1", 1), "client": None}}
    await app(scope, receive, send)
    return sent[0]["status"]
print([asyncio.run(get(path)) for path in ("/", "/main.js", "/api/runs", "/api/metrics")])
print("torch" in sys.modules)
"""
    done = subprocess.run(
        [sys.executable, "-c", program], capture_output=True, text=True, timeout=115, check=True
    )
    assert done.stdout.splitlines() == ["[200, 200, 200, 200]", "False"]


def test_a_translation_grows_and_is_what_the_translator_says(
    served: Served, translator: Translator, best: dict[str, Any]
) -> None:
    assert best["outputs"][0]["text"] == translator.translate([TEXT])[0]
    found = translator.translations([TEXT], translator.search)[0][0]
    assert best["outputs"][0]["log_probabilities"] == pytest.approx(
        found.log_probabilities, abs=1e-5
    )
    lines = [
        json.loads(line) for line in served.ask("/api/translate", {"text": TEXT}).body.splitlines()
    ]
    lengths = [len(line["pieces"]) for line in lines[:-1]]
    assert lengths == sorted(lengths)
    assert lengths[-1] >= len(best["outputs"][0]["pieces"]) - 1
    assert served.ask("/api/translate", {"text": "  "}).json()["done"]["outputs"] == []


def test_an_output_goes_on_from_what_it_must_begin_with(
    served: Served, translator: Translator, best: dict[str, Any]
) -> None:
    wanted = translator.tokenizers.target.encode("nau")
    for values in ({"prefix": wanted}, {"typed": "nau"}):
        answer = served.ask("/api/translate", {"text": TEXT, **values}).body.splitlines()[-1]
        done = json.loads(answer)["done"]
        assert done["prefix"] == len(wanted)
        assert done["outputs"][0]["text"].startswith("nau")
        assert not best["outputs"][0]["text"].startswith("nau")


def test_what_a_token_might_have_been_is_what_python_says(
    served: Served, translator: Translator, best: dict[str, Any]
) -> None:
    trace = served.ask("/api/trace", pair(best)).json()
    expected = translator.alternatives(TEXT, best["outputs"][0]["ids"], 8)
    assert [step["token"] for step in trace["steps"]] == [each.token for each in expected]
    for step, each in zip(trace["steps"], expected, strict=True):
        assert step["log_probability"] == pytest.approx(each.log_probability, abs=1e-6)
        assert [c["piece"] for c in step["choices"]] == [c.piece for c in each.choices]
    assert trace["heads"] == {"encoder": [2], "decoder": [2, 2], "cross": [2, 2]}


@pytest.mark.parametrize(("kind", "layer"), [("encoder", 0), ("decoder", 1), ("cross", 1)])
def test_a_layer_is_sent_bit_by_bit(
    kind: str, layer: int, served: Served, translator: Translator, best: dict[str, Any]
) -> None:
    answer = served.ask("/api/layer", {**pair(best), "kind": kind, "layer": layer})
    shape = tuple(map(int, answer.headers["x-shape"].split(",")))
    weights = np.frombuffer(answer.body, "<f4").reshape(shape)
    maps = translator.maps(TEXT, best["outputs"][0]["ids"])
    assert np.array_equal(weights, getattr(maps, kind)[layer].numpy())


def test_a_head_that_is_off_is_off_in_all_answers_and_in_no_other(
    served: Served, translator: Translator, best: dict[str, Any]
) -> None:
    off = {"off": ["cross.0.0", "cross.1.1"]}
    before = served.ask("/api/trace", pair(best)).json()["steps"]
    for by in ("zero", "uniform", "mean"):
        asked = {**pair(best), **off, "by": by}
        steps = served.ask("/api/trace", asked).json()["steps"]
        assert steps[0]["log_probability"] != before[0]["log_probability"]
        if by != "mean":
            with translator.heads_off(off["off"], by):  # type: ignore[arg-type]
                expected = translator.alternatives(TEXT, best["outputs"][0]["ids"], 8)
            found = [step["log_probability"] for step in steps]
            assert found == pytest.approx([each.log_probability for each in expected], abs=1e-6)
    assert served.ask("/api/trace", pair(best)).json()["steps"] == before


def test_without_positions_the_order_of_the_source_is_lost(served: Served) -> None:
    def score(text: str, positions: bool) -> float:
        answer = served.ask("/api/translate", {"text": text, "positions": positions})
        return float(json.loads(answer.body.splitlines()[-1])["done"]["outputs"][0]["score"])

    assert score("4 1 7", False) == pytest.approx(score("7 4 1", False), abs=1e-5)
    assert score("4 1 7", True) != pytest.approx(score("7 4 1", True), abs=1e-5)
    answer = served.ask("/api/translate", {"run": 1, "text": TEXT, "positions": False})
    assert "counts no positions" in json.loads(answer.body)["error"]


def test_the_tree_ends_in_the_outputs_of_the_search(served: Served, best: dict[str, Any]) -> None:
    tree = served.ask("/api/tree", {"text": TEXT}).json()
    nodes = tree["nodes"]
    ends = [node for node in nodes if node["score"] is not None]
    scores = sorted((node["score"] for node in ends), reverse=True)[:5]
    assert scores == pytest.approx([each["score"] for each in best["outputs"]], abs=1e-5)
    tokens, at = [], tree["best"]
    while at >= 0:
        tokens.append(nodes[at]["token"])
        at = nodes[at]["parent"]
    assert tokens[:0:-1] == best["outputs"][0]["ids"]
    assert len(tree["pieces"]) == len(nodes)


@pytest.mark.parametrize("run", [0, 1])
def test_the_numbers_of_a_weight_lead_to_the_weight(
    run: int, served: Served, best: dict[str, Any]
) -> None:
    values = {**pair(best), "run": run, "kind": "cross", "layer": 0}
    answer = served.ask("/api/layer", values)
    shape = tuple(map(int, answer.headers["x-shape"].split(",")))
    weights = np.frombuffer(answer.body, "<f4").reshape(shape)
    found = served.ask("/api/weight", {**values, "head": 0, "query": 1, "key": 2}).json()
    assert found["weights"] == pytest.approx(weights[0, 1].tolist(), abs=1e-5)
    assert sum(found["products"]) == pytest.approx(found["dots"][2], abs=1e-4)


def test_a_checkpoint_answers_for_itself(
    served: Served, folders: dict[str, Path], best: dict[str, Any]
) -> None:
    assert served.ask("/api/runs").json()["runs"][0]["checkpoints"] == list(STEPS)

    def first(**values: Any) -> float:
        steps = served.ask("/api/trace", {**pair(best), **values}).json()["steps"]
        return float(steps[0]["log_probability"])

    assert first(step=STEPS[0]) < first(step=STEPS[1]) == first()
    refusal = served.ask("/api/trace", {**pair(best), "step": 7})
    assert refusal.status == 400
    assert "no checkpoint of step 7" in refusal.json()["error"]


@pytest.mark.parametrize(
    ("path", "values", "sentence"),
    [
        ("/api/trace", {"source": [5], "output": [10**6]}, "no piece 1000000"),
        ("/api/trace", {"source": [2], "output": []}, "no piece 2"),
        ("/api/trace", {"source": [5] * 513, "output": []}, "source"),
        ("/api/trace", {"source": [5]}, "output"),
        ("/api/trace", {"source": [5], "output": [], "more": 1}, "more"),
        ("/api/trace", {"source": [5], "output": [], "run": 9}, "no run 10"),
        ("/api/trace", {"source": [5], "output": [], "off": ["cross.7.7"]}, "no such head"),
        ("/api/layer", {"source": [5], "output": [], "kind": "cross", "layer": 7}, "2 layers"),
        ("/api/translate", {"text": "1", "beam_size": 1000}, "beam_size"),
        ("/api/nothing", {}, "nothing called nothing"),
        ("/api/trace", b"{", "not valid JSON"),
        ("/api/trace", b"[" * 100_000, "not valid JSON"),
        ("/api/trace", b" " * (2 << 20), "too large"),
    ],
)
def test_a_wrong_question_gets_one_sentence(
    path: str, values: Any, sentence: str, served: Served
) -> None:
    answer = served.ask(path, values)
    assert answer.status == 400
    assert sentence in answer.json()["error"]


def test_another_page_gets_no_answer(served: Served) -> None:
    """Neither by a name of its own for this machine, nor by a form, nor by a script."""
    own = f"127.0.0.1:{served.port}"
    for host in ("evil.example", f"evil.example:{served.port}", "127.0.0.1.evil.example", ""):
        assert served.ask("/", headers={"Host": host}).status == 421
    for host in (own, f"localhost:{served.port}", f"[::1]:{served.port}"):
        assert served.ask("/", headers={"Host": host}).status == 200
    assert served.ask("/api/trace", {}, {"Origin": "http://evil.example"}).status == 403
    assert served.ask("/api/trace", {}, {"Origin": "null"}).status == 403
    form = served.ask("/api/trace", {}, {"Content-Type": "text/plain"})
    assert (form.status, "not JSON" in form.json()["error"]) == (400, True)


def test_every_answer_carries_a_strict_policy(served: Served) -> None:
    for path in ("/", "/main.js", "/api/runs", "/nothing"):
        headers = served.ask(path).headers
        policy = headers["content-security-policy"]
        assert "default-src 'none'" in policy
        assert "unsafe" not in policy
        assert "http" not in policy
        assert headers["x-content-type-options"] == "nosniff"


def test_elsewhere_a_token_is_needed(folders: dict[str, Path]) -> None:
    with Serving([folders["digits"]], host="0.0.0.0", token="secret-ü") as served:
        assert served.ask("/").status == 401
        assert served.ask("/api/runs").status == 401
        assert served.ask("/?token=wrong").status == 401
        first = served.ask("/?token=secret-%C3%BC")
        assert (first.status, first.headers["location"]) == (303, "/")
        cookie = first.headers["set-cookie"]
        assert "httponly" in cookie.lower()
        assert "samesite=strict" in cookie.lower()
        assert served.ask("/api/runs", headers={"Cookie": cookie.split(";")[0]}).status == 200
        assert served.ask("/api/runs", headers={"Authorization": "Bearer wrong"}).status == 401
        held = {"Authorization": "Bearer secret-ü".encode().decode("latin-1")}
        assert served.ask("/api/runs", headers=held).status == 200


def test_the_name_in_a_host_header() -> None:
    assert hostname("LocalHost:80") == "localhost"
    assert hostname("[::1]:80") == "::1"
    assert hostname("") == ""
    assert Guard(None, "0.0.0.0", "x").names is None  # type: ignore[arg-type]


def test_a_log_is_read_on_from_where_it_was(tmp_path: Path) -> None:
    log = tmp_path / "log.jsonl"
    assert read_on(tmp_path, 0) == {"events": [], "cursor": 0, "anew": False, "more": False}
    log.write_bytes(b'{"step": 1}\n{"step": 2}\nnot json\n{"step": 3}\n{"ste')
    first = read_on(tmp_path, 0)
    assert [event["step"] for event in first["events"]] == [1, 2, 3]
    with log.open("ab") as file:
        file.write(b'p": 4}\n')
    second = read_on(tmp_path, first["cursor"])
    assert ([event["step"] for event in second["events"]], second["anew"]) == ([4], False)
    # Gone on from an earlier checkpoint: shorter, and no line ends at the old place.
    log.write_bytes(b'{"step": 1}\n{"step": 22222}\n')
    third = read_on(tmp_path, first["cursor"])
    assert ([event["step"] for event in third["events"]], third["anew"]) == ([1, 22222], True)


def test_a_long_log_comes_in_parts(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("regard.studio.metrics.MOST_BYTES", 30)
    lines = [f'{{"step": {number}}}\n' for number in range(10, 20)]
    (tmp_path / "log.jsonl").write_text("".join(lines))
    cursor, steps, more = 0, [], True
    while more:
        found = read_on(tmp_path, cursor)
        cursor, more = found["cursor"], found["more"]
        steps += [event["step"] for event in found["events"]]
    assert steps == list(range(10, 20))


def test_what_is_no_run_is_said_at_once(tmp_path: Path, folders: dict[str, Path]) -> None:
    with pytest.raises(RunError, match="no such run folder"):
        OpenRun(tmp_path / "missing")
    with pytest.raises(RunError, match="not a run folder"):
        OpenRun(tmp_path)
    shutil.copy(folders["digits"] / "recipe.toml", tmp_path)
    run = OpenRun(tmp_path)
    run.begin()
    assert (run.status, "no trained weights" in run.problem) == ("failed", True)
    (tmp_path / "model.safetensors").write_bytes(b"damaged")
    run.begin()
    until = time.monotonic() + 60
    while run.status == "loading" and time.monotonic() < until:
        time.sleep(0.01)
    assert (run.status, "model.safetensors" in run.problem) == ("failed", True)
    assert run.describe()["kind"] == "transformer"


def test_the_page_makes_no_markup_of_text_and_asks_nobody_else() -> None:
    files = [path for path in PAGE.rglob("*") if path.suffix in (".js", ".html", ".css", ".svg")]
    assert len(files) > 20
    forbidden = re.compile(
        r"innerHTML|outerHTML|insertAdjacentHTML|document\.write|\beval\(|new Function|srcdoc"
        r"|createContextualFragment|parseFromString|@import|javascript:"
    )
    for path in files:
        text = path.read_text("utf-8")
        assert not forbidden.search(text), path
        addresses = set(re.findall(r"(?:https?:)?//[\w.]+\.\w+[^\s\"'`)]*", text))
        assert addresses <= {
            "http://www.w3.org/2000/svg",
            "http://www.w3.org/1998/Math/MathML",
        }, path


def test_a_model_asked_by_many_at_once_answers_each(served: Served, best: dict[str, Any]) -> None:
    from concurrent.futures import ThreadPoolExecutor

    def total(off: list[str]) -> float:
        steps = served.ask("/api/trace", {**pair(best), "off": off}).json()["steps"]
        return float(sum(step["log_probability"] for step in steps))

    kinds = [[], ["cross.0.0"], [], ["encoder"], ["cross.0.0"], []]
    with ThreadPoolExecutor(6) as pool:
        found = list(pool.map(total, kinds))
    assert found[0] == found[2] == found[5] != found[1] == found[4]
    assert torch.get_num_threads() >= 1


def test_the_command_prints_where_the_page_is(folders: dict[str, Path]) -> None:
    command = [sys.executable, "-m", "regard", "studio", str(folders["digits"]), "--port", "0"]
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True) as it:
        assert it.stdout is not None
        port = int(re.fullmatch(r"http://127\.0\.0\.1:(\d+)/\n", it.stdout.readline())[1])  # type: ignore[index]
        assert b"regard studio" in Served(port).ask("/").body
        it.send_signal(signal.SIGINT)
        assert it.wait(60) == 0


@pytest.mark.parametrize(
    ("words", "sentence"),
    [
        (["nowhere"], "no such run folder"),
        (["RUN", "--port", "99999"], "--port. Must be <= 65535"),
        (["RUN", "--host", "0.0.0.0", "--token", ""], "--token that is not empty"),
        (["RUN", "--host", "192.0.2.1", "--port", "0"], "cannot be listened at"),
    ],
)
def test_a_studio_that_cannot_open_says_why(
    words: list[str], sentence: str, folders: dict[str, Path], capsys: pytest.CaptureFixture[str]
) -> None:
    with pytest.raises(SystemExit) as stop:
        main(["studio", *(str(folders["digits"]) if word == "RUN" else word for word in words)])
    assert stop.value.code == (2 if sentence.startswith("--") else 1)
    assert sentence in capsys.readouterr().err


@pytest.mark.parametrize("kind", ["encoder", "decoder", "cross"])
def test_what_weights_carry_is_sent_for_each_head_and_for_all_together(
    kind: Any, served: Served, translator: Translator, best: dict[str, Any]
) -> None:
    answer = served.ask("/api/layer", {**pair(best), "kind": kind, "layer": 0, "measure": "norm"})
    shape = tuple(map(int, answer.headers["x-shape"].split(",")))
    found = np.frombuffer(answer.body, "<f4").reshape(shape)
    maps = translator.maps(TEXT, best["outputs"][0]["ids"])
    for sent, head in zip(found, (0, 1, None), strict=True):
        assert np.array_equal(sent, maps.weights(kind, 0, head, "norm").numpy())


def test_heads_that_have_to_look_somewhere_do_so_in_all_answers_and_in_no_other(
    served: Served, translator: Translator, best: dict[str, Any]
) -> None:
    ids = best["outputs"][0]["ids"]
    before = served.ask("/api/trace", pair(best)).json()["steps"]
    forced = {"forced": {"heads": "cross", "position": 1, "pieces": [0, 2]}}
    answer = served.ask("/api/translate", {"text": TEXT, **forced, "prefix": ids[:1]})
    said = json.loads(answer.body.splitlines()[-1])["done"]["outputs"][0]
    steps = served.ask("/api/trace", {**pair(best), **forced}).json()["steps"]
    layer = served.ask("/api/layer", {**pair(best), **forced, "kind": "cross", "layer": 1})
    shape = tuple(map(int, layer.headers["x-shape"].split(",")))
    row = np.frombuffer(layer.body, "<f4").reshape(shape)[:, 1]
    weight = {"kind": "cross", "layer": 1, "head": 0, "query": 1, "key": 2}
    found = served.ask("/api/weight", {**pair(best), **forced, **weight}).json()
    tree = served.ask("/api/tree", {"text": TEXT, **forced, "prefix": ids[:1]}).json()
    source = translator.tokenizers.source.encode(TEXT)
    with translator.forced({"cross": {1: [0, 2]}}):
        expected = translator.alternatives(TEXT, ids, 8)
        searched = translator.engine.search([source], [ids[:1]], translator.search)[0][0]
        weights = translator.maps(TEXT, ids).cross[1, :, 1].numpy()
    assert (said["ids"], said["ids"][:1]) == (searched.tokens, ids[:1])
    assert said["score"] == pytest.approx(searched.score, abs=1e-5)
    assert [step["log_probability"] for step in steps] == pytest.approx(
        [each.log_probability for each in expected], abs=1e-5
    )
    assert steps[0]["log_probability"] == before[0]["log_probability"]
    assert steps[1]["log_probability"] != before[1]["log_probability"]
    assert np.array_equal(row, weights)
    assert not row[:, [1, *range(3, row.shape[1])]].any()
    assert found["weights"] == pytest.approx(row[0].tolist(), abs=1e-5)
    assert max(node["score"] or -99 for node in tree["nodes"]) >= said["score"] - 1e-5
    assert served.ask("/api/trace", pair(best)).json()["steps"] == before


@pytest.mark.parametrize(
    ("forced", "run", "sentence"),
    [
        ({"heads": "cross", "position": 0, "pieces": [99]}, 0, "let go of it"),
        ({"heads": "cross", "position": 0, "pieces": [-1]}, 0, "count from 0"),
        ({"heads": "cross", "position": 0, "pieces": []}, 0, "forced.pieces"),
        ({"heads": "cross", "position": -1, "pieces": [0]}, 0, "forced.position"),
        ({"heads": "cross.9", "position": 0, "pieces": [0]}, 0, "no such head"),
        ({"heads": "encoder", "position": 0, "pieces": [0]}, 0, "only cross attention"),
        ({"heads": "cross", "position": 0, "pieces": [0]}, 1, "does not count positions"),
    ],
)
def test_what_cannot_be_forced_is_said(
    forced: dict[str, Any], run: int, sentence: str, served: Served, best: dict[str, Any]
) -> None:
    asked = {**pair(best), "run": run, "forced": forced}
    answer = served.ask("/api/trace", asked)
    assert (answer.status, sentence in answer.json()["error"]) == (400, True)
    grown = served.ask("/api/translate", {"text": TEXT, "run": run, "forced": forced})
    assert sentence in json.loads(grown.body.splitlines()[-1])["error"]
