"""The worker of a real server: it crashes, is started again, and never outlives the server."""

import json
import os
import shutil
import signal
import threading
from collections import Counter
from pathlib import Path
from typing import Any

import pytest

from regard.serve.priority import NICENESS
from tests.serve.conftest import tiny_run
from tests.serve.worker.conftest import Begin, is_running, until

LONG = "the cat sleeps and a dog eats. " * 300
OLD_RUNS = Path(__file__).resolve().parents[2] / "old_runs"


@pytest.mark.timeout(400)
def test_a_crash_is_answered_and_the_worker_is_started_again(
    begin: Begin, runs: dict[str, Path]
) -> None:
    server = begin(str(runs["fr-en"]), "--quiet")
    status, before, _ = server.translate()
    assert status == 200
    first = server.worker()
    answers: list[Any] = []
    asking = threading.Thread(target=lambda: answers.append(server.translate(LONG)))
    asking.start()
    until(lambda: "in_flight 2.0" in server.ask("metrics")[1] or answers, "a running request")
    os.kill(first, signal.SIGSEGV)
    asking.join(60)
    assert server.ask("health")[0] == 200
    server.wait_for(r"The worker was ended by SIGSEGV; it is started again now")
    if answers[0][0] != 200:  # else this machine had answered before the signal came
        assert answers[0][0] == 503
        assert json.loads(answers[0][1])["error"].startswith("the worker ended while it answered")
        assert answers[0][2]["retry-after"] == "1"
    server.wait_for("The worker answers again")
    assert server.worker() != first
    assert server.translate()[:2] == (200, before)
    assert server.ask("ready")[0] == 200
    assert "regard_worker_ends_total 1.0" in server.ask("metrics")[1]
    os.kill(server.worker(), signal.SIGKILL)
    server.wait_for("The worker was ended by SIGKILL; it is started again in 1 s")
    status, told, headers = server.ask("ready")
    assert (status, told) == (
        503,
        '{"error":"the models are being loaded again; try again"}',
    )
    assert int(headers["retry-after"]) >= 1
    assert server.translate()[0] == 503
    assert server.ask("health")[0] == 200
    assert "regard_worker_ends_total 2.0" in server.ask("metrics")[1]
    server.wait_for("The worker answers again")
    assert server.translate()[:2] == (200, before)
    assert "Traceback" not in server.everything()


@pytest.mark.timeout(400)
@pytest.mark.parametrize("ready", [True, False], ids=["serving", "loading"])
def test_a_worker_does_not_outlive_its_server(
    begin: Begin, runs: dict[str, Path], ready: bool
) -> None:
    server = begin(str(runs["fr-en"]), ready=ready)
    worker = server.worker()
    server.process.kill()
    until(lambda: not is_running(worker), "the end of the worker")


@pytest.mark.timeout(400)
@pytest.mark.parametrize("ready", [True, False], ids=["serving", "loading"])
@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_signals_to_all_processes_end_both_in_order(
    begin: Begin, runs: dict[str, Path], ready: bool, number: signal.Signals
) -> None:
    server = begin(str(runs["fr-en"]), ready=ready)
    worker = server.worker()
    if ready:
        os.kill(worker, number)  # as a service manager does
        assert server.translate()[0] == 200
    os.killpg(server.process.pid, number)  # as a terminal does
    assert server.process.wait(60) == 0, server.everything()
    until(lambda: not is_running(worker), "the end of the worker")
    assert "Traceback" not in server.everything()


@pytest.mark.timeout(400)
def test_everything_that_answers_does_so_through_the_worker(
    begin: Begin, runs: dict[str, Path]
) -> None:
    book = OLD_RUNS / "language-model-gpt"
    server = begin(str(runs["fr-en"]), str(book), "--quiet")
    asked: dict[str, Any] = {"model": book.name, "prompt": "the", "max_tokens": 5, "seed": 3}
    _, whole, _ = server.ask("v1/completions", **asked)
    _, events, headers = server.ask("v1/completions", **asked, stream=True)
    assert headers["content-type"].startswith("text/event-stream")
    pieces = [json.loads(line[6:]) for line in events.splitlines() if line.startswith("data: {")]
    text = "".join(each["choices"][0]["text"] for each in pieces)
    assert text == json.loads(whole)["choices"][0]["text"] != ""
    _, explained, _ = server.ask(
        "translate", q="the cat", source="fr", target="en", explain=True, alternatives=2
    )
    assert set(json.loads(explained)["regard"]) == {"tokens", "logprobs", "alignment"}
    half = server.ask("translate", q="a \ud800 cat", source="fr", target="en")
    assert half[0] == 200
    refused = server.ask("v1/completions", model="none", prompt="a")
    assert refused[0] == 404
    assert json.loads(refused[1])["error"]["message"].startswith("no such language model here")
    assert server.ask("v1/models")[0] == 200
    assert "/translate" in json.loads(server.ask("spec")[1])["paths"]
    assert "Traceback" not in server.everything()


@pytest.mark.timeout(400)
def test_runs_and_keys_are_reloaded_while_requests_run(
    begin: Begin, runs: dict[str, Path], tmp_path: Path
) -> None:
    folder, keys = tmp_path / "run", tmp_path / "keys"
    shutil.copytree(runs["fr-en"], folder)
    newer = tiny_run(tmp_path / "newer", "fr", "en", seed=77)
    keys.write_text("the-first-key weblate\n")
    server = begin(str(folder), "--api-keys", str(keys), "--quiet")

    def translated(key: str, text: str = "the cat sleeps") -> tuple[int, str]:
        return server.ask("translate", q=text, source="fr", target="en", api_key=key)[:2]

    status, before = translated("the-first-key")
    assert status == 200
    long_before: list[Any] = []
    asking = threading.Thread(target=lambda: long_before.append(translated("the-first-key", LONG)))
    asking.start()
    # Its characters are counted when its key has been checked.
    counted = f"regard_characters_total {len('the cat sleeps' + LONG)}.0"
    until(
        lambda: counted in server.ask("metrics?api_key=the-first-key")[1] or long_before,
        "a running request",
    )
    shutil.rmtree(folder)
    newer.rename(folder)
    keys.write_text("the-second-key weblate\n")
    server.process.send_signal(signal.SIGHUP)
    server.wait_for("Reloaded the runs in")
    asking.join(100)
    assert long_before[0][0] == 200
    assert translated("the-first-key")[0] == 403
    status, after = translated("the-second-key")
    assert status == 200
    assert after != before
    until(lambda: len(server.workers()) == 1, "the end of the old worker")

    keys.write_text("short\n")
    weights = folder / "model.safetensors"
    weights.write_bytes(weights.read_bytes()[:-100])
    server.process.send_signal(signal.SIGHUP)
    server.wait_for(r"The keys were not reloaded, and the ones before stay: .*keys:1: a key of 5")
    server.wait_for("The runs were not reloaded, and the models loaded before answer: .*run")
    assert translated("the-second-key") == (200, after)
    assert len(server.workers()) == 1
    assert "Traceback" not in server.everything()


@pytest.mark.timeout(400)
def test_what_computes_gives_way_to_the_event_loops(begin: Begin, runs: dict[str, Path]) -> None:
    server = begin(str(runs["fr-en"]), "--quiet")
    assert server.translate()[0] == 200
    worker, usual = server.worker(), os.getpriority(os.PRIO_PROCESS, server.process.pid)
    threads = {int(each.name) for each in Path(f"/proc/{worker}/task").iterdir()} - {worker}
    assert os.getpriority(os.PRIO_PROCESS, worker) == usual  # its main thread, the event loop
    found = Counter(os.getpriority(os.PRIO_PROCESS, each) for each in threads)
    assert found[min(19, usual + NICENESS)] >= 2  # those of the batcher and of CTranslate2
    assert os.getsid(worker) == worker  # Ctrl-C is for the server
