"""Keys, allowances, suggestions and downloads, each for itself."""

import asyncio
import gc
import json
from pathlib import Path
from typing import Any

import pytest

from regard.cli.train import DataFlags, choose
from regard.data.corpus import language_codes, read_pairs
from regard.errors import RequestError
from regard.serve.http.keys import Keys
from regard.serve.http.limits import Rates, network
from regard.serve.http.metrics import Metrics
from regard.serve.http.middleware import Outermost
from regard.serve.http.refusal import Refusal
from regard.serve.translation.files import Downloads, read_text, translated_name
from regard.serve.translation.memory import Memory


class Clock:
    now = 0.0

    def __call__(self) -> float:
        return self.now


def test_an_allowance_is_used_up_and_fills_again() -> None:
    clock = Clock()
    rates = Rates(60, clock)
    rates.spend("a", 60)
    with pytest.raises(Refusal, match="Slowdown: 60 per 1 minute") as refused:
        rates.spend("a", 5)
    assert refused.value.status == 429
    assert refused.value.retry_after_seconds == pytest.approx(5)
    rates.spend("b", 5)  # another caller has an allowance of its own
    clock.now += 5
    rates.spend("a", 5)
    with pytest.raises(Refusal):
        rates.spend("a", 1)


def test_a_refused_request_costs_nothing_and_a_large_one_can_pass() -> None:
    clock = Clock()
    rates = Rates(10, clock)
    rates.spend("a", 5)
    for _ in range(3):
        with pytest.raises(Refusal):
            rates.spend("a", 6)
    rates.spend("a", 5)
    clock.now += 60
    rates.spend("a", 1000)


def test_callers_are_forgotten_before_memory_runs_out() -> None:
    rates = Rates(10, Clock())
    for number in range(Rates.MOST_CALLERS + 50):
        rates.spend(str(number), 1)
    assert len(rates._left) == Rates.MOST_CALLERS


def test_an_ipv6_customer_is_one_caller() -> None:
    assert network("2001:db8:1:2:3::4") == network("2001:db8:1:2:ffff::1") == "2001:db8:1:2::/64"
    assert network("2001:db8:1:3::4") != network("2001:db8:1:2::4")
    assert network("::ffff:192.0.2.7") == network("192.0.2.7") == "192.0.2.7"
    assert network("testclient") == "testclient"


def test_keys_are_read_and_found(tmp_path: Path) -> None:
    path = tmp_path / "keys"
    path.write_text("# for the translators\nsecret-one weblate\n\nsecret-two\n")
    keys = Keys.read(path)
    found = keys.find("secret-one")
    assert found is not None
    assert found.name == "weblate"
    second = keys.find("secret-two")
    assert second is not None
    assert second.name == "key 2"
    assert keys.find("secret-on") is None
    assert keys.find("") is None
    assert keys.find("\ud800") is None
    assert not Keys()
    assert "secret" not in repr(found)


@pytest.mark.parametrize(
    ("content", "complaint"),
    [(b"short", "can be guessed"), (b"# nothing\n", "holds no key"), (b"\xff\xfe", "UTF-8")],
)
def test_a_file_without_good_keys_is_refused(
    tmp_path: Path, content: bytes, complaint: str
) -> None:
    path = tmp_path / "keys"
    path.write_bytes(content)
    with pytest.raises(RequestError, match=complaint):
        Keys.read(path)
    with pytest.raises(RequestError, match="cannot be read"):
        Keys.read(tmp_path / "missing")


def test_every_key_is_compared(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    path = tmp_path / "keys"
    path.write_text("first-secret\nsecond-secret\nthird-secret\n")
    keys = Keys.read(path)
    compared: list[bytes] = []

    def compare(left: bytes, right: bytes) -> bool:
        compared.append(left)
        return left == right

    monkeypatch.setattr("hmac.compare_digest", compare)
    assert keys.find("first-secret")
    assert len(compared) == 3


def test_suggestions_are_pairs_to_train_on(tmp_path: Path) -> None:
    memory = Memory(tmp_path, 10_000)
    memory.add("en", "de", "line\nbreak \u2028 \ud800", "Zeile")
    memory.add("en", "de", "cat", "Hund")
    memory.add("en", "de", "cat", "Katze")
    path = tmp_path / "suggestions.en-de.jsonl"
    assert [pair.target for pair in read_pairs([path])] == ["Zeile", "Hund", "Katze"]
    assert language_codes([path]) == ("en", "de")
    recipe, _ = choose(None, DataFlags(pairs=(path,)), None, tmp_path / "run", ())
    assert recipe.data.languages == ("en", "de")
    again = Memory(tmp_path, 10_000)
    assert again.find("en", "de", "cat") == memory.find("en", "de", "cat") == "Katze"
    assert again.find("de", "en", "cat") is None


def test_suggestions_end_before_the_disk_does(tmp_path: Path) -> None:
    memory = Memory(tmp_path, 200)
    memory.add("en", "de", "cat", "Katze")
    with pytest.raises(Refusal, match="full"):
        memory.add("en", "de", "x" * 300, "y")
    assert memory.find("en", "de", "x" * 300) is None


def test_a_damaged_file_of_suggestions_is_named(tmp_path: Path) -> None:
    (tmp_path / "suggestions.en-de.jsonl").write_text(json.dumps({"source": "a"}) + "\n")
    with pytest.raises(RequestError, match=r"suggestions.en-de.jsonl:1: not a suggestion"):
        Memory(tmp_path, 10_000)


def test_downloads_expire_and_make_room() -> None:
    clock = Clock()
    downloads = Downloads(100, clock)
    first = downloads.keep("a.txt", b"x" * 60)
    second = downloads.keep("b.txt", b"y" * 60)
    assert downloads.fetch(second).name == "b.txt"
    with pytest.raises(Refusal, match="no longer"):
        downloads.fetch(first)
    clock.now += 3600
    with pytest.raises(Refusal):
        downloads.fetch(second)


@pytest.mark.parametrize(
    ("given", "expected"),
    [
        ("report.TXT", "report_de.txt"),
        ("../../etc/passwd.txt", "passwd_de.txt"),
        ("C:\\x\\a b.html", "a_b_de.html"),
        ('"; evil\r\n.txt', "evil_de.txt"),
        ("é.txt", "text_de.txt"),
        ("...txt", "text_de.txt"),
        ("x" * 500 + ".txt", "x" * 80 + "_de.txt"),
    ],
)
def test_a_download_has_a_harmless_name(given: str, expected: str) -> None:
    assert translated_name(given, "de") == expected


@pytest.mark.parametrize(
    ("name", "data", "complaint"),
    [
        ("a.exe", b"x", "file format not supported"),
        ("a", b"x", "file format not supported"),
        ("a.txt", b"", "empty file"),
        ("a.txt", b"\xff", "not UTF-8"),
    ],
)
def test_a_file_that_cannot_be_read_is_refused(name: str, data: bytes, complaint: str) -> None:
    with pytest.raises(Refusal, match=complaint):
        read_text(name, data)
    assert read_text("A.HTML", b"\xef\xbb\xbf<p>") == ("<p>", True)


def test_a_refusal_leaves_nothing_to_collect() -> None:
    """A traceback that holds its own frame would wait for the collector, who stops everyone."""

    async def refusing(scope: Any, receive: Any, send: Any) -> None:
        raise Refusal(503, "the server is busy; try again", 1)

    async def nothing(*message: Any) -> None:
        return None

    app = Outermost(refusing, Metrics(), None)
    scope = {"type": "http", "method": "POST", "path": "/translate", "headers": []}
    gc.collect()
    gc.disable()
    try:
        asyncio.run(app(scope, nothing, nothing))  # type: ignore[arg-type]
        left = [each for each in gc.get_objects() if type(each) is Refusal]
    finally:
        gc.enable()
    assert not left
