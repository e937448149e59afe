"""Packages for Argos Translate and LibreTranslate, and the SentencePiece model in them."""

import io
import json
import zipfile
from pathlib import Path
from typing import Any

import pytest
import sentencepiece
import torch

from regard.engines.argos import MODEL_FILES, export_package
from regard.engines.sentencepiece_model import sentencepiece_model
from regard.errors import RequestError, RunError
from regard.recipe import parse
from regard.run import Run
from regard.text.tokenizer import RESERVED, Kind, Tokenizer, Tokenizers
from regard.text.typography import Variants
from regard.weights import build, save_model, weights

ctranslate2 = pytest.importorskip("ctranslate2", reason="needs CTranslate2")

FRENCH = [
    *("Où est la gare ?", "Elle dit : « Bonjour ! » et s’en va.", "L’été, j’ai 12 ou 13 élèves…"),
    *("Qui va là ?! Un homme.", "« Oui », dit-il ; « non », dit-elle.", "Il aime ça : le café."),
] * 60
GERMAN = [
    *("Wo ist der Bahnhof?", "Sie sagt: „Guten Tag!“ und geht.", "Wir haben 12 oder 13 Hunde..."),
    *("Wer ist da?! Ein Mann - er bellt.", "Ist das so? Ja; es ist's.", "Ein Ärger, ÜBER alles."),
] * 60
ODD = [
    *("", "   ", "Où est la gare?", '"Oui", dit-il.', 'Il dit : "Non."', "Qui?!", "Quoi ?!?"),
    *("e\u0301te\u0301", "A\u030angstrom \u212b", "tab\tand\u00a0spaces \u2009 here", "a\u00adb"),
    *(
        "\ufeffmark",
        "日本語",
        "naïve — “so” – ‘so’",
        "5 % · 1,5",
        "a_b ▁ c",
        "<s> </s> <unk> <0x41>",
    ),
    *("so (»so«) [«so»]", "x;y z ; y", "so: „so“", "😀 👩\u200d👩\u200d👧", "ẩ \u0061\u0302\u0309"),
]


def folded(texts: list[str], kind: Kind, lowercase: bool) -> Tokenizer:
    variants = Variants()
    for text in texts:
        variants.add(text)
    tokenizer = Tokenizer.train(texts, kind=kind, vocabulary_size=420, lowercase=lowercase)
    return tokenizer.folding(variants.rules())


@pytest.mark.parametrize("lowercase", [False, True])
@pytest.mark.parametrize("kind", ["bpe", "unigram"])
@pytest.mark.parametrize("texts", [FRENCH, GERMAN], ids=["french", "german"])
def test_sentencepiece_cuts_as_our_tokenizer(texts: list[str], kind: Kind, lowercase: bool) -> None:
    tokenizer = folded(texts, kind, lowercase)
    theirs = sentencepiece.SentencePieceProcessor(model_proto=sentencepiece_model(tokenizer))
    assert [theirs.id_to_piece(i) for i in range(theirs.vocab_size())] == tokenizer.vocabulary
    for text in [*FRENCH[:6], *GERMAN[:6], *ODD]:
        pieces = tokenizer.pieces(tokenizer.encode(text))
        assert theirs.encode(text, out_type=str) == pieces, text
        assert theirs.decode_pieces(pieces) == tokenizer.decode(tokenizer.encode(text)), text


@pytest.mark.parametrize("kind", ["word", "character"])
def test_other_tokenizers_are_refused(kind: Kind) -> None:
    tokenizer = Tokenizer.train(GERMAN, kind=kind, vocabulary_size=400)
    with pytest.raises(RequestError, match='"bpe" or "unigram"'):
        sentencepiece_model(tokenizer)


def make_run(folder: Path, joint: bool = True) -> Run:
    settings: dict[str, Any] = {
        "data": {"train": ["a.fr", "a.de"], "max_length": 24},
        "tokenizer": {"joint": joint},
        "model": {"encoder_layers": 1, "decoder_layers": 1, "d_model": 32, "d_ff": 48},
    }
    if not joint:
        settings["model"]["tied_embeddings"] = "none"
    recipe = parse(settings, "test")
    tokenizer = Tokenizer.train([*FRENCH, *GERMAN], vocabulary_size=420)
    other = tokenizer if joint else Tokenizer.train(GERMAN, vocabulary_size=400)
    folder.mkdir()
    run = Run(folder)
    run.save_recipe(recipe)
    run.save_tokenizers(Tokenizers(tokenizer, other))
    torch.manual_seed(1)
    sizes = {"inputs": len(tokenizer), "outputs": len(other)}
    model: Any = build(recipe, sizes)
    with torch.no_grad():
        for parameter in model.parameters():
            parameter.mul_(3)  # so that no two outputs are as good as each other, up to rounding
    save_model(run, weights(model), step=1, sizes=sizes)
    return run


def test_a_package_translates_as_the_run_does_under_the_same_search(tmp_path: Path) -> None:
    run = make_run(tmp_path / "run")
    path = tmp_path / "fr-de.argosmodel"
    export_package(run.folder, ("fr", "de"), path)
    with zipfile.ZipFile(io.BytesIO(path.read_bytes())) as package:
        package.extractall(tmp_path / "installed")
    (folder,) = (tmp_path / "installed").iterdir()
    metadata = json.loads((folder / "metadata.json").read_bytes())
    assert (metadata["from_code"], metadata["to_code"]) == ("fr", "de")
    assert (metadata["from_name"], metadata["to_name"]) == ("French", "German")
    assert {file.name for file in (folder / "model").iterdir()} <= {*MODEL_FILES}
    theirs = sentencepiece.SentencePieceProcessor(model_file=str(folder / "sentencepiece.model"))
    ours = run.tokenizers().source
    search = {"beam_size": 4, "length_penalty": 0.2, "max_decoding_length": 20}
    translator = ctranslate2.Translator(str(folder / "model"))
    for sentence in FRENCH[:6]:
        pieces = theirs.encode(sentence, out_type=str)
        assert pieces == ours.pieces(ours.encode(sentence))
        (result,) = translator.translate_batch([pieces], **search)
        known = [each for each in result.hypotheses[0] if each not in RESERVED]
        ids = [ours.vocabulary.index(each) for each in known]
        assert theirs.decode_pieces(known) == ours.decode(ids)


def test_a_package_needs_languages_and_one_vocabulary(tmp_path: Path) -> None:
    path = tmp_path / "new.argosmodel"
    with pytest.raises(RequestError, match="does not say which languages"):
        export_package(make_run(tmp_path / "unnamed").folder, None, path)
    with pytest.raises(RequestError, match="a vocabulary for each language"):
        export_package(make_run(tmp_path / "two", joint=False).folder, ("fr", "de"), path)
    with pytest.raises(RunError):
        export_package(tmp_path / "missing", ("fr", "de"), path)
    assert [each.name for each in tmp_path.iterdir() if each.is_file()] == []
