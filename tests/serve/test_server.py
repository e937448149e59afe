"""The command: it starts, answers, finishes running requests, and says what is wrong."""

import base64
import json
import math
import re
import signal
import subprocess
import sys
import threading
import urllib.error
import urllib.request
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import pytest

from regard.cli import main
from regard.errors import RequestError
from regard.serve.http.limits import Limits
from regard.serve.listeners import bind
from regard.serve.loading import build_service, default_threads
from regard.serve.settings import Settings
from regard.serve.translation.pairs import LanguagePairs
from tests.data import odd_images
from tests.serve.conftest import tiny_run

BOMBS = [
    *("largest.png", "huge.png", "texts.png", "wrong-texts.png", "frames.gif", "frames.webp"),
    *("tile.tif", "strip.tif"),
]


def started(*arguments: str) -> tuple["subprocess.Popen[str]", str, list[str]]:
    """The process, the address that it prints, and the lines before."""
    command = [sys.executable, "-m", "regard", "serve", *arguments, "--port", "0"]
    process = subprocess.Popen(command, stderr=subprocess.PIPE, text=True)
    assert process.stderr is not None
    said = []
    for line in process.stderr:
        if found := re.search(r"http://[^ ]*", line):
            return process, found[0], said
        said.append(line.rstrip())
    raise AssertionError("the server did not start")


def fetched(address: str) -> str:
    with urllib.request.urlopen(address, timeout=60) as answer:
        return str(answer.read(), "utf-8")


@pytest.mark.timeout(400)
def test_running_requests_are_finished_before_it_stops(runs: dict[str, Path]) -> None:
    process, address, _ = started(str(runs["fr-en"]))
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


def test_signals_without_a_meaning_and_an_unread_log_do_not_stop_it(runs: dict[str, Path]) -> None:
    process, address, _ = started(str(runs["fr-en"]))
    try:
        for number in (signal.SIGUSR1, signal.SIGUSR2):
            process.send_signal(number)
        # A pipe holds 64 KiB, which these lines fill.
        with ThreadPoolExecutor(8) as pool:
            answers = list(pool.map(fetched, [f"{address}languages"] * 600))
        assert len(answers) == 600
        process.send_signal(signal.SIGTERM)
        assert process.wait(100) == 0
    finally:
        process.kill()
        process.wait()
        assert process.stderr is not None
        process.stderr.close()


def processor_seconds(address: str) -> float:
    """The processor time of a server and its worker."""
    used = re.findall(r"process_cpu_seconds_total (\d\S*)", fetched(f"{address}metrics"))
    assert len(used) == 2
    return sum(map(float, used))


class MostMemory:
    """The most memory that a server and its worker have within a block, in megabytes, without the
    pages of files that are there before it: the system takes and gives those as it likes.
    """

    def __init__(self, process: "subprocess.Popen[str]") -> None:
        children = Path(f"/proc/{process.pid}/task").glob("*/children")
        (worker,) = [each for path in children for each in path.read_text().split()]
        self._folders = [Path(f"/proc/{pid}") for pid in (process.pid, worker)]
        self.megabytes = 0.0

    def _now(self, name: str) -> int:
        said = [
            re.search(rf"{name}:\s+(\d+) kB", (f / "status").read_text()) for f in self._folders
        ]
        return sum(int(each[1]) for each in said if each)

    def __enter__(self) -> "MostMemory":
        for folder in self._folders:
            (folder / "clear_refs").write_text("5")  # the system counts the most from now on
        self._files = self._now("RssFile")
        return self

    def __exit__(self, *_: object) -> None:
        self.megabytes = (self._now("VmHWM") - self._files) / 1000


def asked(address: str, path: str, **values: Any) -> tuple[int, Any]:
    headers = {"content-type": "application/json"}
    request = urllib.request.Request(address + path, json.dumps(values).encode(), headers)
    try:
        with urllib.request.urlopen(request, timeout=60) as answer:
            return answer.status, json.load(answer)
    except urllib.error.HTTPError as error:
        with error:
            return error.code, json.load(error)


@pytest.mark.timeout(400)
def test_translators_and_other_models_are_served_together_and_a_bomb_costs_them_little(
    runs: dict[str, Path], image_runs: dict[str, Path], series_runs: dict[str, Path]
) -> None:
    folders = [*map(str, (*image_runs.values(), series_runs["rows"], runs["fr-en"]))]
    process, address, said = started(*folders, "--quiet")
    try:
        assert said == [
            f"  French → English: {runs['fr-en']}, CTranslate2",
            f"  captions: {image_runs['captions']}, /caption",
            f"  gallery: {image_runs['gallery']}, /v1/embeddings and /match",
            f"  cnn: {image_runs['cnn']}, /classify",
            f"  rows: {series_runs['rows']}, /forecast",
        ]
        assert asked(address, "forecast", series=[1.0, 2.0, 3.0])[0] == 200
        assert asked(address, "translate", q="the cat", source="fr", target="en")[0] == 200
        small = odd_images.saved(odd_images.scene(), "PNG")
        # The first image loads what images need.
        largest = odd_images.black(math.isqrt(Limits().pixels))
        bombs = {name: odd_images.bombs()[name] for name in BOMBS}
        sent = {"small.png": small, "largest served.png": largest, **bombs}
        baseline = 0.0
        for name, data in sent.items():
            text = base64.b64encode(data).decode()
            several = [text] * (16 if name.startswith("largest") else 1)
            for path, values in (
                ("caption", {"image": text}),
                ("classify", {"image": text}),
                ("match", {"image": several, "texts": ["a", "b"]}),
                ("v1/embeddings", {"model": "gallery", "input": f"data:image/x;base64,{text}"}),
            ):
                before = processor_seconds(address)
                with MostMemory(process) as memory:
                    status, answer = asked(address, path, **values)
                after, most = processor_seconds(address), memory.megabytes
                if name == "small.png":  # by then all models are loaded
                    baseline = most
                assert status in (200, 400), (name, path, answer)
                # A fifth of a second on most machines; many times that if all pixels were decoded.
                assert after - before < 10, (name, path)
                assert most - baseline < 300, (name, path)
    finally:
        process.kill()
        process.wait()
        assert process.stderr is not None
        log = process.stderr.read()
        process.stderr.close()
    assert "Traceback" not in log


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
        build_service(Settings((str(folder),), engine="torch"), lambda line: None)
    named = Settings((f"pt-BR:de={folder}",), engine="torch")
    service = build_service(named, lambda line: None)
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
    monkeypatch.setattr("regard.serve.loading.usable_cores", lambda: 3)
    assert default_threads(LanguagePairs([])) == 3


def test_the_server_loads_without_pytorch() -> None:
    code = "import sys, regard.serve.server; assert 'torch' not in sys.modules"
    subprocess.run([sys.executable, "-c", code], check=True, timeout=60)
