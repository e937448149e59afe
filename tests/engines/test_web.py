"""The page that translates in a browser: its tokenizer, its Transformer, and itself."""

import json
import shutil
import subprocess
import time
from pathlib import Path
from typing import Any

import pytest
import torch

from regard.cli import main
from regard.decode.search import Search
from regard.engines.web import PAGE, export_page
from regard.engines.web.tokenizer import javascript
from regard.errors import RequestError
from regard.recipe import parse
from regard.run import Run
from regard.tasks.translation.translator import Translator
from regard.text.tokenizer import Kind, Tokenizer, Tokenizers
from regard.text.typography import Variants
from regard.weights import build, save_model, weights
from tests.studio.browser import browser

TEXTS = [
    *("Où est la gare ?", "Elle dit : « Bonjour ! » et s’en va.", "L’été, j’ai 12 ou 13 élèves…"),
    *("Wer ist da?! Ein Mann - er bellt.", "Ist das so? Ja; es ist's.", "Ein Ärger, ÜBER alles."),
] * 60
ODD = [
    *("", "   ", "e\u0301te\u0301 A\u030a", "tab\tand\u00a0spaces \u2009 here", "a\u00adb \ufeffc"),
    *(
        "日本語 😀",
        "naïve — “so” – ‘so’",
        "a_b ▁ c",
        "<s> </s> <unk> <0x41>",
        "x;y z ; y",
        "\x85 \x01",
    ),
]
RUN = """
const fs = require("fs"), vm = require("vm");
const [folder, texts] = JSON.parse(fs.readFileSync(0, "utf8"));
for (const name of ["tokenizer", "transformer", "translator", "model"]) {
  vm.runInThisContext(fs.readFileSync(`${folder}/${name}.js`, "utf8"), name);
}
const { Translator, model } = globalThis.regard;
const translator = new Translator(model);
const found = texts.map((text) => [translator.source.encode(text), translator.translate(text)]);
console.log(JSON.stringify(found));
"""
CONFIGS: dict[str, dict[str, Any]] = {
    "pre": {"norm": "pre", "output_bias": True},
    "swiglu": {
        "norm": "pre",
        "normalisation": "rms",
        "activation": "swiglu",
        "positions": "rotary",
    },
    "untied": {"tied_embeddings": "none", "activation": "gelu", "positions": "learned"},
    "tanh": {"tied_embeddings": "output", "activation": "gelu_tanh"},
    "quick": {"activation": "quick_gelu", "cross_heads": [1, 2]},
}
GREEDY = Search(beam_size=1, max_length_ratio=0.5)
needs_node = pytest.mark.skipif(shutil.which("node") is None, reason="node is not installed")


def make_run(folder: Path, kind: Kind = "bpe", lowercase: bool = False, **model: Any) -> Path:
    settings = {
        "data": {"train": ["a.fr", "a.de"], "max_length": 60},
        "tokenizer": {"kind": kind},
        "model": {
            "encoder_layers": 1,
            "decoder_layers": 2,
            "d_model": 16,
            "d_ff": 24,
            "num_heads": 2,
            "max_positions": 64,
            **model,
        },
        "decode": {"max_length_ratio": 0.5},
    }
    recipe = parse(settings, "test")
    plain = Tokenizer.train(TEXTS, kind=kind, vocabulary_size=400, lowercase=lowercase)
    variants = Variants()
    for text in TEXTS:
        variants.add(text)
    source, target = plain.folding(variants.rules()), plain
    folder.mkdir(parents=True)
    run = Run(folder)
    run.save_recipe(recipe)
    run.save_tokenizers(Tokenizers(source, target))
    sizes = {"inputs": len(source), "outputs": len(target)}
    torch.manual_seed(1)
    made: Any = build(recipe, sizes)
    with torch.no_grad():
        for parameter in made.parameters():
            parameter.mul_(3)  # so that no two outputs are as good as each other, up to rounding
    save_model(run, weights(made), step=1, sizes=sizes)
    return folder


def in_node(page: Path, texts: list[str]) -> list[tuple[list[int], str]]:
    done = subprocess.run(
        ["node", "-e", RUN],
        input=json.dumps([str(page), texts]),
        capture_output=True,
        text=True,
        check=True,
        timeout=120,
    )
    return [(ids, text) for ids, text in json.loads(done.stdout)]


@needs_node
@pytest.mark.parametrize("kind", ["bpe", "unigram", "word", "character"])
def test_the_page_cuts_texts_as_the_run_does(tmp_path: Path, kind: Kind) -> None:
    run = make_run(tmp_path / "run", kind, lowercase=kind == "bpe")
    export_page(run, ("fr", "de"), tmp_path / "page", int8=False)
    texts = [*TEXTS[:6], *ODD]
    ours = Run(run).tokenizers().source.encode_batch(texts)
    assert [ids for ids, _ in in_node(tmp_path / "page", texts)] == ours


@needs_node
@pytest.mark.parametrize("config", CONFIGS)
def test_the_page_translates_as_the_run_does(tmp_path: Path, config: str) -> None:
    run = make_run(tmp_path / "run", **CONFIGS[config])
    export_page(run, ("fr", "de"), tmp_path / "page", int8=False)
    translator = Translator.load(run)
    expected = translator.texts(TEXTS[:6], GREEDY)
    assert len(set(expected)) > 3
    assert [text for _, text in in_node(tmp_path / "page", TEXTS[:6])] == expected


@needs_node
def test_whole_numbers_are_a_quarter_and_nearly_the_same(tmp_path: Path) -> None:
    run = make_run(tmp_path / "run", d_model=64, d_ff=128)
    for name, int8 in (("whole", True), ("real", False)):
        export_page(run, None, tmp_path / name, int8)
    sizes = [(tmp_path / name / "model.js").stat().st_size for name in ("whole", "real")]
    assert sizes[0] < sizes[1] / 2
    assert all(text for _, text in in_node(tmp_path / "whole", TEXTS[:2]))


def test_what_a_page_cannot_do_is_refused(tmp_path: Path) -> None:
    recurrent = make_run(tmp_path / "transformer")
    recipe = parse(
        {
            "data": {"train": ["a.fr", "a.de"]},
            "model": {"kind": "recurrent", "d_model": 16},
        },
        "test",
    )
    Run(recurrent).save_recipe(recipe)
    with pytest.raises(RequestError, match='not a model of kind "recurrent"'):
        export_page(recurrent, None, tmp_path / "page", int8=False)
    assert not (tmp_path / "page").exists()


def test_rules_are_written_for_javascript() -> None:
    assert javascript(r"[\x{00}-\x{FEFF}]") == r"[\u{00}-\u{FEFF}]"
    assert javascript(r"(?<!\w)«\s{0,9}") == r"(?<![\p{L}\p{M}\p{N}\p{Pc}])«\p{White_Space}{0,9}"
    assert javascript(r"[^\s\w?]") == r"[^\p{White_Space}\p{L}\p{M}\p{N}\p{Pc}?]"


def test_the_command_writes_a_folder_that_needs_nothing_else(tmp_path: Path) -> None:
    run = make_run(tmp_path / "run")
    page = tmp_path / "page"
    main(["export", str(run), "--to", "web", "--out", str(page)])
    assert {each.name for each in page.iterdir()} == {*PAGE, "model.js"}
    for name in PAGE:
        text = (page / name).read_text("utf-8")
        assert "http" not in text.replace("http-equiv", "")
        assert "innerHTML" not in text


def test_the_page_translates_from_a_disk(tmp_path: Path) -> None:
    pytest.importorskip("selenium", reason="selenium is not installed")
    found = browser()
    if found is None:
        pytest.skip("chromium and its driver are missing: python tests/studio/browser.py")
    from selenium.webdriver import Chrome
    from selenium.webdriver.chrome.options import Options
    from selenium.webdriver.chrome.service import Service

    run = make_run(tmp_path / "run")
    export_page(run, ("fr", "de"), tmp_path / "page", int8=False)
    translator = Translator.load(run)
    expected = translator.texts(["Où est la gare ?"], GREEDY)[0]
    options = Options()
    options.binary_location = found[0]
    for argument in ("--headless=new", "--no-sandbox", "--disable-dev-shm-usage", "--disable-gpu"):
        options.add_argument(argument)
    options.set_capability("goog:loggingPrefs", {"performance": "ALL", "browser": "ALL"})
    driver = Chrome(options=options, service=Service(found[1]))
    try:
        driver.get((tmp_path / "page" / "index.html").as_uri())
        driver.find_element("id", "text").send_keys("Où est la gare ?\n\n")
        until = time.monotonic() + 60
        output = driver.find_element("id", "translation")
        while output.get_property("textContent") != f"{expected}\n\n":
            assert time.monotonic() < until
            time.sleep(0.05)
        assert driver.title == "French → German"
        assert driver.get_log("browser") == []
        for each in driver.get_log("performance"):
            message = json.loads(each["message"])["message"]
            if message["method"] == "Network.requestWillBeSent":
                assert message["params"]["request"]["url"].startswith(("file:", "data:"))
    finally:
        driver.quit()
