"""Glossaries as DeepL's own client keeps and uses them."""

from collections.abc import Callable
from pathlib import Path

import deepl
import pytest

from regard.serve.http.limits import Limits
from tests.serve.conftest import Live, Start

FIRST, SECOND = "a key of the first", "a key of the second"
TERMS = {"dog": "Rüde", "red apples": 'Äpfel; "rote", süße'}
TEXT = "a dog eats the bone, we like big red apples!"
Clients = tuple[deepl.Translator, deepl.Translator]


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("kept") / "glossaries"


@pytest.fixture(scope="module")
def server(start: Start, folder: Path) -> Live:
    secrets = {FIRST: "first", SECOND: "second"}
    return start(secrets=secrets, glossaries=folder, limits=Limits(glossary_bytes=40_000))


@pytest.fixture
def clients(server: Live) -> Clients:
    first, second = (deepl.Translator(key, server_url=server.url) for key in (FIRST, SECOND))
    return first, second


def test_a_glossary_is_kept_used_and_deleted(clients: Clients, folder: Path) -> None:
    client, _ = clients
    pairs = {(each.source_lang, each.target_lang) for each in client.get_glossary_languages()}
    assert pairs == {("fr", "en"), ("en", "fr"), ("en", "de")}
    made = client.create_glossary("Animals", "EN", "DE", TERMS)
    assert (made.name, made.source_lang.lower(), made.target_lang.lower()) == (
        "Animals",
        "en",
        "de",
    )
    assert (made.entry_count, made.ready) == (2, True)
    assert client.get_glossary(made.glossary_id).creation_time == made.creation_time
    assert [each.glossary_id for each in client.list_glossaries()] == [made.glossary_id]
    assert client.get_glossary_entries(made) == TERMS
    found = client.translate_text(TEXT, source_lang="EN", target_lang="DE", glossary=made)
    assert not isinstance(found, list)
    for target in TERMS.values():
        assert target in found.text
    plain = client.translate_text(TEXT, source_lang="EN", target_lang="DE")
    assert not isinstance(plain, list)
    assert "Rüde" not in plain.text
    client.delete_glossary(made)
    assert client.list_glossaries() == []
    assert not [*folder.iterdir()]
    with pytest.raises(deepl.DeepLException, match="glossary not found"):
        client.get_glossary(made.glossary_id)


def test_documents_have_the_terms(clients: Clients, tmp_path: Path) -> None:
    client, _ = clients
    made = client.create_glossary("Animals", "en", "de", {"dog": "Rüde"})
    given, out = tmp_path / "a.txt", tmp_path / "out.txt"
    given.write_text(f"{TEXT}\n")
    client.translate_document_from_filepath(
        given, out, source_lang="EN", target_lang="DE", glossary=made
    )
    assert "Rüde" in out.read_text()
    client.delete_glossary(made)


def test_a_csv_is_taken_and_nobody_else_sees_it(clients: Clients) -> None:
    client, other = clients
    made = client.create_glossary_from_csv("C", "en", "fr", 'dog,"Un ""chien"""\ncat,chat\n')
    assert client.get_glossary_entries(made) == {"dog": 'Un "chien"', "cat": "chat"}
    assert other.list_glossaries() == []
    for ask in (other.get_glossary, other.get_glossary_entries, other.delete_glossary):
        with pytest.raises(deepl.DeepLException, match="glossary not found"):
            ask(made.glossary_id)
    with pytest.raises(deepl.DeepLException, match="glossary not found"):
        other.translate_text("dog", source_lang="EN", target_lang="FR", glossary=made)
    client.delete_glossary(made)


Ask = Callable[[deepl.Translator], object]


@pytest.mark.parametrize(
    ("ask", "sentence"),
    [
        (lambda c: c.create_glossary("X", "de", "en", {"a": "b"}), "Unsupported glossary source"),
        (lambda c: c.create_glossary("X", "xx", "en", {"a": "b"}), "xx is not supported"),
        (lambda c: c.create_glossary("X" * 2000, "en", "de", {"a": "b"}), "more than 1024"),
        (lambda c: c.create_glossary_from_csv("X", "en", "de", 'a,"b\n'), "entries:1: a quote"),
        (lambda c: c.create_glossary_from_csv("X", "en", "de", "a\n"), "without a translation"),
        (lambda c: c.get_glossary("notes"), "Glossary not found"),
    ],
)
def test_what_cannot_be_kept_is_said_in_a_sentence(
    clients: Clients, ask: Ask, sentence: str
) -> None:
    with pytest.raises(deepl.DeepLException, match=sentence):
        ask(clients[0])


def test_a_glossary_is_of_two_languages(server: Live, clients: Clients) -> None:
    made = clients[0].create_glossary("F", "en", "fr", {"dog": "chien"})
    headers = {"authorization": f"DeepL-Auth-Key {FIRST}"}
    sent = {"text": ["dog"], "target_lang": "DE", "glossary_id": made.glossary_id}
    for more, sentence in (
        ({"source_lang": "EN"}, "the glossary is for en to fr"),
        ({}, "glossary_id requires source_lang"),
    ):
        found = server.client.post("/v2/translate", json={**sent, **more}, headers=headers)
        assert found.status_code == 400
        assert sentence in found.json()["message"]
    clients[0].delete_glossary(made)


def test_no_id_leads_out_of_the_folder(server: Live, folder: Path) -> None:
    (folder.parent / "secret.txt").write_text("secret")
    headers = {"authorization": f"DeepL-Auth-Key {FIRST}"}
    for name in ("..%2Fsecret", "%2e%2e%2fsecret", "secret", "%00"):
        assert server.client.get(f"/v2/glossaries/{name}", headers=headers).status_code == 404
        found = server.client.delete(f"/v2/glossaries/{name}", headers=headers)
        assert found.status_code == 404
    assert (folder.parent / "secret.txt").read_text() == "secret"


def test_a_caller_has_a_part_of_the_room(clients: Clients, folder: Path) -> None:
    first, second = clients
    big = {f"word {number}": "x" * 50 for number in range(70)}
    made = [
        first.create_glossary("A", "en", "de", big),
        first.create_glossary("B", "en", "de", big),
    ]
    with pytest.raises(deepl.QuotaExceededException):
        first.create_glossary("C", "en", "de", big)
    second.delete_glossary(second.create_glossary("C", "en", "de", big))
    (folder / "notes.txt").write_text("no glossary")
    (folder / f"{made[0].glossary_id[::-1]}.txt").write_text("damaged")
    assert [each.name for each in first.list_glossaries()] == ["A", "B"]
    for each in made:
        first.delete_glossary(each)


def test_without_a_folder_there_are_none(live: Live) -> None:
    assert live.client.get("/v2/glossaries").json() == {"glossaries": []}
    sent = {"name": "A", "source_lang": "en", "target_lang": "de", "entries": "a\tb"}
    found = live.client.post("/v2/glossaries", json={**sent, "entries_format": "tsv"})
    assert (found.status_code, found.json()["message"]) == (
        403,
        "Glossaries are disabled on this server.",
    )
