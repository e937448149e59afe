"""Clients by other people work with the server."""

import json
import os
import shutil
import subprocess
from pathlib import Path

import pytest

from tests.serve.conftest import Live, Start

KEY = "a-key-of-some-length"
TEXT = "the cat sleeps"
# Named before the tests get a cache of their own.
CLIENTS = Path(os.environ.get("XDG_CACHE_HOME", Path.home() / ".cache"), "regard", "npm-clients")
NPM = ["translate@3.1.0", "libretranslate@1.0.1", "deepl-node@1.28.0"]


@pytest.fixture(scope="module")
def locked(start: Start) -> Live:
    """A server that requires a key, as the real services do."""
    live = start(secrets={KEY: "tests"})
    live.client.headers["authorization"] = f"Bearer {KEY}"
    return live


def expected(live: Live, text: str = TEXT, source: str = "en", target: str = "fr") -> str:
    return live.translator(source, target).translate([text])[0]


def test_libretranslatepy(locked: Live) -> None:
    from libretranslatepy import LibreTranslateAPI

    client = LibreTranslateAPI(locked.url, KEY)
    assert client.translate(TEXT, "en", "fr") == expected(locked)
    assert {each["code"] for each in client.languages()} == {"de", "en", "fr"}
    assert client.detect("Le chat dort dans la maison.")[0]["language"] == "fr"


def test_deep_translator(locked: Live) -> None:
    from deep_translator import LibreTranslator
    from deep_translator.exceptions import AuthorizationException

    client = LibreTranslator("en", "fr", api_key=KEY, custom_url=f"{locked.url}/")
    assert client.translate(TEXT) == expected(locked)
    assert client.translate_batch([TEXT, "a dog"])[1] == expected(locked, "a dog")
    with pytest.raises(AuthorizationException):
        LibreTranslator("en", "fr", api_key="wrong-key", custom_url=f"{locked.url}/").translate("a")


def test_deepl(locked: Live) -> None:
    import deepl

    client = deepl.DeepLClient(KEY, server_url=locked.url, send_platform_info=False)
    one = client.translate_text("Le chat dort dans la maison.", target_lang="EN-GB")
    assert one.text == expected(locked, "Le chat dort dans la maison.", "fr", "en")
    assert one.detected_source_lang == "FR"
    assert one.billed_characters == 28
    several = client.translate_text([TEXT, "a dog"], source_lang="EN", target_lang="DE")
    assert [each.text for each in several] == [
        expected(locked, TEXT, "en", "de"),
        expected(locked, "a dog", "en", "de"),
    ]
    kept = client.translate_text(
        f"<p>{TEXT} <x>keep</x></p>",
        source_lang="EN",
        target_lang="FR",
        tag_handling="xml",
        ignore_tags=["x"],
    )
    assert kept.text == f"<p>{expected(locked)} <x>keep</x></p>"
    assert {each.code for each in client.get_target_languages()} == {"DE", "EN", "FR"}
    assert {each.code for each in client.get_source_languages()} == {"EN", "FR"}
    usage = client.get_usage()
    assert usage.character.count > 0
    assert not usage.any_limit_reached
    with pytest.raises(deepl.AuthorizationException):
        deepl.DeepLClient("wrong-key", server_url=locked.url).translate_text("a", target_lang="DE")


def test_deepl_translates_a_document(locked: Live, tmp_path: Path) -> None:
    import deepl

    given, out = tmp_path / "a.srt", tmp_path / "b.srt"
    given.write_text(f"1\n00:00:01,000 --> 00:00:02,000\n{TEXT}\n")
    client = deepl.DeepLClient(KEY, server_url=locked.url, send_platform_info=False)
    status = client.translate_document_from_filepath(given, out, source_lang="EN", target_lang="FR")
    assert status.done
    assert status.billed_characters == len(TEXT)
    assert out.read_text() == given.read_text().replace(TEXT, expected(locked))
    with pytest.raises(deepl.DeepLException, match="format not supported"):
        client.translate_document_upload(b"x", filename="a.exe", target_lang="FR")
    gone = deepl.DocumentHandle("unknown", "unknown")
    with pytest.raises(deepl.DeepLException, match="no such file"):
        client.translate_document_get_status(gone)


def test_weblates_requests_to_deepl(locked: Live) -> None:
    """Its backend asks for languages, for glossaries before each unit, and for the text."""
    headers = {"authorization": f"DeepL-Auth-Key {KEY}"}
    sources, targets = (
        {
            each["language"]
            for each in locked.client.get(
                "/v2/languages", params={"type": kind}, headers=headers
            ).json()
        }
        for kind in ("source", "target")
    )
    assert ("EN" in sources, "DE" in targets) == (True, True)
    pairs = locked.client.get("/v2/glossary-language-pairs", headers=headers)
    assert (pairs.status_code, pairs.json()) == (200, {"supported_languages": []})
    assert locked.client.get("/v2/glossaries", headers=headers).json() == {"glossaries": []}
    sent = {
        "text": [TEXT],
        "source_lang": "EN",
        "target_lang": "DE",
        "formality": "default",
        "tag_handling": "xml",
        "ignore_tags": ["x"],
    }
    found = locked.client.post("/v2/translate", json=sent, headers=headers).json()
    assert found["translations"][0]["text"] == expected(locked, target="de")


def test_weblates_requests_to_libretranslate(locked: Live) -> None:
    assert "de" in {each["code"] for each in locked.client.get("/languages").json()}
    sent = {"api_key": KEY, "q": [TEXT], "source": "en", "target": "de"}
    found = locked.client.post("/translate", json=sent).json()
    assert found["translatedText"] == [expected(locked, target="de")]


@pytest.fixture(scope="module")
def node_modules() -> Path:
    """The packages of npm, installed once into a cache; without npm or a network, none."""
    if not shutil.which("npm") or not shutil.which("node"):
        pytest.skip("npm and node are not installed")
    CLIENTS.mkdir(parents=True, exist_ok=True)
    if not all((CLIENTS / "node_modules" / name.partition("@")[0]).is_dir() for name in NPM):
        try:
            subprocess.run(
                ["npm", "install", "--no-audit", "--no-fund", "--prefix", str(CLIENTS), *NPM],
                check=True,
                capture_output=True,
                timeout=100,
            )
        except (subprocess.SubprocessError, OSError) as error:
            pytest.skip(f"npm could not install the clients ({error})")
    return CLIENTS


def node(folder: Path, script: str) -> object:
    path = folder / "client.mjs"
    path.write_text(script)
    done = subprocess.run(
        ["node", str(path)], cwd=folder, capture_output=True, text=True, timeout=60, check=False
    )
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout)


def test_npm_translate(locked: Live, node_modules: Path) -> None:
    script = f"""
import translate from "translate";
translate.engine = "libre";
translate.url = "{locked.url}/translate";
translate.key = "{KEY}";
console.log(JSON.stringify(await translate("{TEXT}", {{ from: "en", to: "fr" }})));
"""
    assert node(node_modules, script) == expected(locked)


def test_npm_libretranslate(locked: Live, node_modules: Path) -> None:
    script = f"""
import {{ translate }} from "libretranslate";
const asked = {{ query: "{TEXT}", source: "en", target: "fr" }};
const found = await translate({{ ...asked, apiurl: "{locked.url}", apiKey: "{KEY}" }});
console.log(JSON.stringify(found));
"""
    assert node(node_modules, script) == expected(locked)


def test_npm_deepl(locked: Live, node_modules: Path) -> None:
    script = f"""
import * as deepl from "deepl-node";
const client = new deepl.DeepLClient("{KEY}", {{ serverUrl: "{locked.url}" }});
const found = await client.translateText(["{TEXT}", "a dog"], "en", "fr");
console.log(JSON.stringify(found.map((each) => each.text)));
"""
    assert node(node_modules, script) == [expected(locked), expected(locked, "a dog")]
