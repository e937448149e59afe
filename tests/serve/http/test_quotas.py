"""Quotas of keys: counted, kept over a restart, given back, and new in the next period."""

from datetime import UTC, datetime
from pathlib import Path

import pytest

from regard.errors import RequestError
from regard.serve.http.keys import Keys
from regard.serve.http.quotas import Quota, Usage
from regard.serve.http.refusal import Refusal
from tests.serve.conftest import Start

DAILY, MONTHLY = Quota(100, "day"), Quota(1000, "month")


class Calendar:
    def __init__(self) -> None:
        self.now = datetime(2026, 12, 31, 23, 59, 30, tzinfo=UTC)

    def __call__(self) -> datetime:
        return self.now


def test_a_quota_is_used_up_and_the_next_period_has_a_new_one() -> None:
    calendar = Calendar()
    usage = Usage(clock=calendar)
    usage.spend("a", DAILY, 60)
    usage.spend("b", DAILY, 100)
    with pytest.raises(Refusal, match=r"100 characters a day, of which 40 are left") as refused:
        usage.spend("a", DAILY, 41)
    assert refused.value.retry_after_seconds == 30
    assert "2027-01-01 at 00:00 UTC" in str(refused.value)
    usage.spend("a", DAILY, 40)
    usage.give_back("a", DAILY, 30)
    assert usage.used("a", DAILY) == 70
    usage.spend("c", MONTHLY, 999)
    calendar.now = datetime(2027, 1, 1, tzinfo=UTC)
    assert usage.used("a", DAILY) == 0
    usage.spend("a", DAILY, 100)
    usage.spend("c", MONTHLY, 1000)
    calendar.now = datetime(2027, 1, 2, tzinfo=UTC)
    assert usage.used("c", MONTHLY) == 1000


def test_what_is_used_outlives_a_restart(tmp_path: Path) -> None:
    path = tmp_path / "usage.json"
    usage = Usage(path)
    usage.spend("a", DAILY, 60)
    usage.save()
    assert path.stat().st_mode & 0o777 == 0o600
    assert Usage(path).used("a", DAILY) == 60
    assert [each.name for each in tmp_path.iterdir()] == ["usage.json"]


@pytest.mark.parametrize("content", ["", "[]", '{"a": 1}', '{"a": {"period": "2026"}}', "\xff"])
def test_a_damaged_file_is_named(tmp_path: Path, content: str) -> None:
    path = tmp_path / "usage.json"
    path.write_text(content, "latin-1")
    with pytest.raises(RequestError, match=r"usage\.json: not a file of used characters"):
        Usage(path)


def test_a_file_that_cannot_be_written_is_named(tmp_path: Path) -> None:
    with pytest.raises(RequestError, match="cannot be written here"):
        Usage(tmp_path / "nowhere" / "usage.json")


def test_a_key_may_have_a_quota(tmp_path: Path) -> None:
    path = tmp_path / "keys"
    path.write_text(
        "secret-one big customer 5000/day\nsecret-two 70/month\nsecret-three either/or\n"
    )
    keys = Keys.read(path)
    found = [keys.find(f"secret-{name}") for name in ("one", "two", "three")]
    assert [(each.name, each.quota) for each in found if each] == [
        ("big customer", Quota(5000, "day")),
        ("key 2", Quota(70, "month")),
        ("either/or", None),
    ]
    for wrong in ("500k/month", "500/week", "5.000/day"):
        path.write_text(f"secret-one weblate {wrong}\n")
        with pytest.raises(RequestError, match="keys:1: a quota is written like 500000/month"):
            Keys.read(path)


def test_characters_are_counted_for_answers_only(start: Start, tmp_path: Path) -> None:
    live = start(secrets={"the-key-one": "one", "the-key-two": "two"}, quota=Quota(10, "month"))
    ours = {"source": "en", "target": "en", "api_key": "the-key-one"}
    headers = {"authorization": "DeepL-Auth-Key the-key-one"}

    def used() -> tuple[int, int]:
        found = live.client.get("/v2/usage", headers=headers).json()
        return found["character_count"], found["character_limit"]

    assert used() == (0, 10)
    assert live.post("/translate", q="six...", **ours).status_code == 200
    assert used() == (6, 10)
    assert live.post("/translate", q="a", **{**ours, "target": "zz"}).status_code == 400
    assert used() == (6, 10)
    refused = live.post("/translate", q="five.", **ours)
    assert refused.status_code == 429
    assert refused.json()["error"].startswith("Quota exceeded: 10 characters a month, of which 4")
    assert int(refused.headers["retry-after"]) > 0
    deepl = {"text": ["five."], "source_lang": "EN", "target_lang": "DE"}
    assert live.client.post("/v2/translate", json=deepl, headers=headers).status_code == 456
    assert live.post("/translate", q="five.", **{**ours, "api_key": "the-key-two"}).is_success


def test_a_document_counts_with_the_characters_that_are_translated(start: Start) -> None:
    live = start(secrets={"the-key-one": "one"}, quota=Quota(8, "month"))
    ours = {"source": "en", "target": "de", "api_key": "the-key-one"}
    headers = {"authorization": "DeepL-Auth-Key the-key-one"}

    def send(text: bytes) -> int:
        file = {"file": ("a.txt", text)}
        return live.client.post("/translate_file", data=ours, files=file).status_code

    def used() -> int:
        return int(live.client.get("/v2/usage", headers=headers).json()["character_count"])

    assert send(b"\n   six...   \n1\n") == 200
    assert used() == 6
    assert send(b"six...") == 429
    assert used() == 6
