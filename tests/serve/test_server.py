"""The command: it starts, answers, finishes running requests, and says what is wrong."""

import json
import re
import signal
import subprocess
import sys
import threading
import urllib.request
from pathlib import Path

import pytest

from regard.cli import main
from regard.errors import RequestError
from regard.serve.http.metrics import Metrics
from regard.serve.server import Settings, bind, build_service, default_threads
from regard.serve.translation.pairs import LanguagePairs
from tests.serve.conftest import tiny_run


def started(*arguments: str) -> tuple["subprocess.Popen[str]", str]:
    """The process, and the address that it prints."""
    command = [sys.executable, "-m", "regard", "serve", *arguments, "--port", "0"]
    process = subprocess.Popen(command, stderr=subprocess.PIPE, text=True)
    assert process.stderr is not None
    for line in process.stderr:
        if found := re.search(r"http://[^ ]*", line):
            return process, found[0]
    raise AssertionError("the server did not start")


def fetched(address: str) -> str:
    with urllib.request.urlopen(address, timeout=60) as answer:
        return str(answer.read(), "utf-8")


@pytest.mark.timeout(400)
def test_running_requests_are_finished_before_it_stops(runs: dict[str, Path]) -> None:
    process, address = started(str(runs["fr-en"]))
    assert process.stderr is not None
    try:
        text = "the cat sleeps and a dog eats. " * 150
        body = json.dumps({"q": text, "source": "fr", "target": "en"}).encode()
        request = urllib.request.Request(
            f"{address}translate", body, {"content-type": "application/json"}
        )
        answers: list[str] = []

        def ask() -> None:
            with urllib.request.urlopen(request, timeout=100) as answer:
                answers.append(json.load(answer)["translatedText"])

        asking = threading.Thread(target=ask)
        asking.start()
        while "in_flight 2.0" not in fetched(f"{address}metrics"):
            if not asking.is_alive():
                pytest.skip("this machine answers too quickly to stop it meanwhile")
        process.send_signal(signal.SIGTERM)
        asking.join(100)
        assert process.wait(100) == 0
        assert len(answers) == 1
        log = process.stderr.read()
        assert '"route": "/translate", "status": 200' in log
        assert "Traceback" not in log
    finally:
        process.kill()
        process.wait()
        process.stderr.close()


@pytest.mark.parametrize(
    ("arguments", "sentence"),
    [
        (["no-such-run"], "no-such-run"),
        (["{run}", "{run}"], "both translate fr to en"),
        (["{run}", "--api-keys", "/no/such/file"], "there is no such file"),
        (["{run}", "--port", "70000"], "65535"),
        (["en:en={run}"], "nothing to translate"),
    ],
)
def test_what_is_wrong_is_said_in_one_sentence(
    runs: dict[str, Path],
    capsys: pytest.CaptureFixture[str],
    arguments: list[str],
    sentence: str,
) -> None:
    before = {number: signal.getsignal(number) for number in (signal.SIGTERM, signal.SIGINT)}
    words = [word.replace("{run}", str(runs["fr-en"])) for word in arguments]
    port = [] if "--port" in words else ["--port", "0"]
    try:
        with pytest.raises(SystemExit) as stop:
            main(["serve", *words, *port])
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)
    assert stop.value.code == (2 if sentence == "65535" else 1)
    error = capsys.readouterr().err.strip().splitlines()[-1]
    assert error.startswith("regard: error: ")
    assert sentence in error


def test_a_run_without_languages_is_told_how_to_name_them(tmp_path: Path) -> None:
    folder = tiny_run(tmp_path / "run", "fr", "en", 3)
    recipe = (folder / "recipe.toml").read_text()
    (folder / "recipe.toml").write_text(re.sub(r"languages = \[[^]]*\]\n", "", recipe))
    with pytest.raises(Exception, match=r"like en:de="):
        build_service(Settings((str(folder),), engine="torch"), Metrics(), lambda line: None)
    named = Settings((f"pt-BR:de={folder}",), engine="torch")
    service = build_service(named, Metrics(), lambda line: None)
    assert service.pairs.languages == ["de", "pt-br"]
    service.batcher.stop()


def test_a_port_is_held_but_not_answered_while_models_load() -> None:
    with bind("127.0.0.1", 0) as held:
        port = held.getsockname()[1]
        with pytest.raises(OSError, match=r"refused|reset"):
            urllib.request.urlopen(f"http://127.0.0.1:{port}/health", timeout=5)


def test_a_place_that_is_taken_is_named() -> None:
    with bind("127.0.0.1", 0) as taken:
        taken.listen()
        with pytest.raises(RequestError, match="cannot listen there"):
            bind("127.0.0.1", taken.getsockname()[1])
    with pytest.raises(RequestError, match="65535"):
        bind("127.0.0.1", 99999)


def test_there_is_a_thread_for_each_core_that_a_container_allows(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr("regard.serve.server.usable_cores", lambda: 3)
    assert default_threads(LanguagePairs([])) == 3


def test_the_server_loads_without_pytorch() -> None:
    code = "import sys, regard.serve.server; assert 'torch' not in sys.modules"
    subprocess.run([sys.executable, "-c", code], check=True, timeout=60)
