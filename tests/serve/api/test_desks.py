"""The server answers as OPUS-CAT and Apertium do, for the programs of translators."""

import socket
from urllib.parse import quote

import pytest

from regard.serve.http.limits import Limits
from tests.serve.conftest import Live, Start

CAT = "the cat sleeps"
FR_EN = {"srcLangCode": "fr", "trgLangCode": "en"}


def expected(live: Live) -> str:
    return str(live.translator("fr", "en").translate([CAT])[0])


@pytest.mark.parametrize("root", ["/MTRestService", "/MtRestService"])
def test_opus_cats_plugins_get_their_translation(live: Live, root: str) -> None:
    asked = {"input": CAT, "tokenCode": "0", "modelTag": "", **FR_EN}
    found = live.client.get(f"{root}/TranslateJson", params=asked)
    assert (found.status_code, found.json()) == (200, {"translation": expected(live)})
    posted = live.client.post(f"{root}/TranslatePost", params=asked)
    assert posted.json() == found.json()
    assert live.client.get(f"{root}/Translate", params=asked).json() == expected(live)
    streamed = live.client.get(f"{root}/TranslateStream", params=asked)
    assert (streamed.text, streamed.headers["content-type"]) == (
        expected(live),
        "text/plain; charset=utf-8",
    )


def test_opus_cats_plugins_learn_what_there_is(live: Live) -> None:
    root = "/MTRestService"
    pairs = live.client.get(f"{root}/ListSupportedLanguagePairs", params={"tokenCode": "0"}).json()
    assert "fr-en" in pairs
    (tag,) = live.client.get(f"{root}/GetLanguagePairModelTags", params=FR_EN).json()
    tagged = live.client.get(
        f"{root}/TranslateJson", params={"input": CAT, "modelTag": tag, **FR_EN}
    )
    assert tagged.json() == {"translation": expected(live)}
    assert tag in live.client.get(f"{root}/CheckModelStatus", params=FR_EN).json()
    announced = live.client.post(f"{root}/PreOrderBatch", params=FR_EN, json=[CAT, "a dog"])
    assert announced.status_code == 200


@pytest.mark.parametrize(
    ("name", "parameters", "sentence"),
    [
        ("TranslateJson", {"input": CAT, "srcLangCode": "xx", "trgLangCode": "en"}, "xx is not"),
        ("TranslateJson", {"input": CAT}, "missing srcLangCode"),
        ("TranslateJson", {"input": CAT, "modelTag": "other", **FR_EN}, "this tag"),
        ("GetLanguagePairModelTags", {"srcLangCode": "fr"}, "missing trgLangCode"),
    ],
)
def test_opus_cats_plugins_read_why_not(
    live: Live, name: str, parameters: dict[str, str], sentence: str
) -> None:
    found = live.client.get(f"/MTRestService/{name}", params=parameters)
    assert found.status_code == 400
    assert sentence in found.json()["error"]


def test_omegats_connector_to_apertium_gets_its_translation(live: Live) -> None:
    """OmegaT writes the bar between the languages as it is, and an empty key."""
    host, port = live.client.base_url.host, live.client.base_url.port
    path = f"/translate?q={quote(CAT)}&markUnknown=no&langpair=fr|en&key="
    with socket.create_connection((host, port or 80)) as raw:
        raw.sendall(
            f"GET {path} HTTP/1.1\r\nHost: {host}:{port}\r\nConnection: close\r\n\r\n".encode()
        )
        answer = b"".join(iter(lambda: raw.recv(65536), b"")).decode()
    assert answer.startswith("HTTP/1.1 200")
    assert f'"translatedText":"{expected(live)}"' in answer
    assert '"responseStatus":200' in answer


def test_apertium_lists_pairs_and_says_why_not(live: Live) -> None:
    pairs = live.client.get("/listPairs").json()
    assert {"sourceLanguage": "fr", "targetLanguage": "en"} in pairs["responseData"]
    wrong = live.client.get("/translate", params={"q": CAT, "langpair": "fr-en"})
    assert (wrong.status_code, wrong.json()["error"]) == (
        400,
        "Invalid request: langpair must be like en|de",
    )
    marked = live.client.get(
        "/translate", params={"q": f"<b>{CAT}</b>", "langpair": "fr|en", "format": "html"}
    )
    assert "<b>" in marked.json()["responseData"]["translatedText"]


def test_their_texts_need_a_key_and_are_counted(start: Start) -> None:
    secret = "a-secret-of-the-desk"
    live = start(Limits(texts_per_minute=3), {secret: "desk"})
    asked = {"input": CAT, **FR_EN}
    path = "/MTRestService/TranslateJson"
    assert live.client.get(path, params=asked).status_code == 400
    with_key = [
        live.client.get(path, params={**asked, "tokenCode": secret}),
        live.client.get("/translate", params={"q": CAT, "langpair": "fr|en", "key": secret}),
        live.client.get(path, params={**asked, "tokenCode": secret}),
        live.client.get(path, params={**asked, "tokenCode": secret}),
    ]
    assert [each.status_code for each in with_key] == [200, 200, 200, 429]
