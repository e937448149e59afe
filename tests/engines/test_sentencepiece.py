"""Marian models as OPUS-MT publishes them: a SentencePiece file for each language, ids in JSON,
swish and an output bias. They become runs with the same outputs, can be trained further and can be
exported again.
"""

import io
import json
import shutil
from collections.abc import Callable
from itertools import product
from pathlib import Path
from typing import Any

import pytest
import sentencepiece
import torch
import transformers
from torch.testing import assert_close

from regard.cli import main
from regard.data.batch import batch_pairs
from regard.data.ids import IdPairs
from regard.decode.search import Search
from regard.engines.ctranslate2 import CTranslate2
from regard.engines.huggingface import export_run, import_run
from regard.errors import RegardError
from regard.run import Run
from regard.tasks.translation.translator import Translator

pytestmark = pytest.mark.filterwarnings("ignore:Recommended. pip install sacremoses")
WHO = {"le chat": "the cat", "la fille": "the girl", "un homme": "a man", "Jane": "Jane"}
DOES = {"mange": "eats", "regarde": "watches", "aime": "loves", "cherche": "looks for"}
WHAT = {"une pomme": "an apple", "le jardin": "the garden", "la mer": "the sea", "Paris": "Paris"}
PAIRS = [
    (f"{who} {does} {what}.", f"{WHO[who]} {DOES[does]} {WHAT[what]}.")
    for who, does, what in product(WHO, DOES, WHAT)
]
ODD = [
    *("", " ", "two  spaces ", "a\tb\u2028c", "x\u00adsoft", "naïf ﬁgures ½", "Ａ wide one"),
    *("日本語 is not known", "x日y", "zero\u200bwidth", "ne\u0301"),
]
SENTENCES = ["Jane mange la mer.", "le chat regarde Paris.", "un homme aime"]


def learn(texts: list[str], **settings: Any) -> bytes:
    written = io.BytesIO()
    sentencepiece.SentencePieceTrainer.train(
        sentence_iterator=iter(texts), model_writer=written, minloglevel=2, **settings
    )
    return written.getvalue()


@pytest.fixture(scope="module")
def opus(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("theirs") / "opus-mt-fr-en"
    folder.mkdir()
    pieces = ["</s>", "<unk>"]
    for side, texts in zip(("source", "target"), zip(*PAIRS, strict=True), strict=True):
        model = learn(list(texts), vocab_size=60, hard_vocab_limit=False)
        (folder / f"{side}.spm").write_bytes(model)
        processor = sentencepiece.SentencePieceProcessor(model_proto=model)
        pieces += [processor.id_to_piece(i) for i in range(3, len(processor))]
    pieces = [*dict.fromkeys(pieces), ">>eng<<", ">>deu<<", "<pad>"]
    (folder / "vocab.json").write_text(json.dumps({p: i for i, p in enumerate(pieces)}))
    languages = {"source_lang": "fr", "target_lang": "en"}
    (folder / "tokenizer_config.json").write_text(json.dumps(languages))
    marian(len(pieces)).save_pretrained(folder)
    return folder


def marian(vocabulary: int) -> Any:
    sizes = {"ffn_dim": 48, "attention_heads": 4, "layers": 2}
    sides = product(("encoder", "decoder"), sizes.items())
    config = transformers.MarianConfig(
        **{f"{side}_{name}": size for side, (name, size) in sides},
        vocab_size=vocabulary,
        d_model=32,
        activation_function="swish",
        scale_embedding=True,
        max_position_embeddings=64,
        pad_token_id=vocabulary - 1,
        decoder_start_token_id=vocabulary - 1,
        eos_token_id=0,
        forced_eos_token_id=None,
    )
    model = transformers.MarianMTModel(config)
    torch.manual_seed(4)
    with torch.no_grad():
        for name, parameter in model.named_parameters():
            if parameter.requires_grad:
                gain = "norm" in name and name.endswith("weight")
                parameter.normal_(mean=float(gain), std=0.25)
        model.final_logits_bias.normal_(std=2)
    model.generation_config.bad_words_ids = [[1], [vocabulary - 1]]
    model.generation_config.num_beams = 3
    return model.eval()


@pytest.fixture(scope="module")
def run(opus: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("ours") / "run"
    main(["import", str(opus), "--out", str(folder)])
    return folder


def test_texts_are_cut_as_marian_cuts_them(opus: Path, run: Path) -> None:
    theirs = transformers.MarianTokenizer.from_pretrained(opus)
    tokenizers = Run(run).tokenizers()
    last = len(tokenizers.source) - 1
    assert tokenizers.joint
    assert tokenizers.source.specials == (last, 1, last, 0, None)
    sources, targets = map(list, zip(*PAIRS, strict=True))
    for text in [*sources, *(f">>deu<< {text}" for text in sources[:9]), *ODD, *targets]:
        assert tokenizers.source.encode(text) == theirs(text).input_ids[:-1], text
    for text in [*targets, *ODD, *sources]:
        ids = tokenizers.target.encode(text)
        assert ids == theirs(text_target=text).input_ids[:-1], text
        said = theirs.decode(ids, skip_special_tokens=True)
        assert tokenizers.target.decode(ids).strip() == said
    # To them these would be END and padding.
    assert not {0, last} & {*tokenizers.source.encode("</s> is a text, <pad> too")}


@torch.no_grad()
def assert_says_the_same(run: Path, theirs: Any, tokenizer: Any) -> None:
    translator = Translator.load(run)
    inputs = tokenizer(SENTENCES, padding=True, return_tensors="pt")
    rows = [[*ids, 0] for ids in translator.tokenizers.source.encode_batch(SENTENCES)]
    start = translator.tokenizers.target.specials.start
    batch = batch_pairs(rows, [[7, 9, 5, 0]] * len(rows), start)
    expected = theirs(**inputs, decoder_input_ids=batch.target).logits
    mine = translator.model(batch.source, batch.source_mask, batch.target)
    assert_close(mine, expected, rtol=0, atol=1e-4)
    said = theirs.generate(**inputs, num_beams=1, do_sample=False, max_new_tokens=15)
    found = translator.translations(SENTENCES, Search(beam_size=1))
    for (ours,), row in zip(found, said[:, 1:].tolist(), strict=True):
        assert ours.ids[:15] == (row[: row.index(0)] if 0 in row else row)
    assert len({each.text for (each,) in found}) > 1


def test_logits_and_translations_are_those_of_marian(opus: Path, run: Path) -> None:
    theirs = transformers.MarianMTModel.from_pretrained(opus)
    assert_says_the_same(run, theirs, transformers.MarianTokenizer.from_pretrained(opus))


def test_the_recipe_says_what_is_known(run: Path) -> None:
    recipe = Run(run).recipe()
    assert recipe.data.languages == ("fr", "en")
    assert recipe.decode.beam_size == 3
    assert recipe.model.activation == "swish"
    assert recipe.model.output_bias
    assert recipe.tokenizer.joint


def test_ctranslate2_finds_the_same(run: Path) -> None:
    slow, fast = Translator.load(run), Translator.load(run, engine="ctranslate2")
    assert isinstance(fast.engine, CTranslate2)
    search = Search(beam_size=3, n_best=2)
    for ours, theirs in zip(
        slow.translations(SENTENCES, search), fast.translations(SENTENCES, search), strict=True
    ):
        # Otherwise the pieces that no output contains would get some of the probability.
        assert [each.ids for each in ours] == [each.ids for each in theirs]
        assert [each.score for each in ours] == pytest.approx([e.score for e in theirs], abs=1e-4)


def test_it_can_be_exported_and_imported_again(opus: Path, run: Path, tmp_path: Path) -> None:
    export_run(run, tmp_path / "back")
    theirs, loading = transformers.AutoModelForSeq2SeqLM.from_pretrained(
        tmp_path / "back", output_loading_info=True
    )
    assert not any(loading.values())
    tokenizer = transformers.AutoTokenizer.from_pretrained(tmp_path / "back")
    assert_says_the_same(run, theirs, tokenizer)
    import_run(tmp_path / "back", tmp_path / "again")
    first, again = Run(run), Run(tmp_path / "again")
    assert again.recipe().model == first.recipe().model
    for ours, theirs in zip(first.tokenizers(), again.tokenizers(), strict=True):
        assert ours.encode_batch([*SENTENCES, *ODD]) == theirs.encode_batch([*SENTENCES, *ODD])
        assert ours.vocabulary == theirs.vocabulary
    assert Translator.load(again.folder).translate(SENTENCES) == Translator.load(run).translate(
        SENTENCES
    )


def test_it_learns_more(run: Path, tmp_path: Path) -> None:
    for side, texts in zip(("fr", "en"), zip(*PAIRS, strict=True), strict=True):
        (tmp_path / f"mine.{side}").write_text("".join(f"{text}\n" for text in texts))
    settings = {
        "train.steps": 300,
        "train.warmup_steps": 5,
        "train.learning_rate": 0.003,
        "train.eval_every": 150,
        "train.label_smoothing": 0.0,
        "model.dropout": 0.0,
        "train.threads": 1,
        "train.processes": 1,
        "data.held_out_share": 0.2,
    }
    files = [str(tmp_path / "mine.fr"), str(tmp_path / "mine.en")]
    changes = [word for name, value in settings.items() for word in ("--set", f"{name}={value}")]
    arguments = ["train", "--pairs", *files, "--from", str(run), *changes]
    main([*arguments, "--out", str(tmp_path / "mine")])
    data = IdPairs.open(tmp_path / "mine" / "training" / "data", "train", start=5)
    source, target = PAIRS[0]
    encode = Run(run).tokenizers()
    assert [*encode.source.encode(source), 0] in [data.source(i).tolist() for i in range(len(data))]
    assert [*encode.target.encode(target), 0] in [data.target(i).tolist() for i in range(len(data))]
    batch = data.batch(torch.arange(3).numpy())
    assert batch.target[:, 0].tolist() == [5, 5, 5]
    assert batch.tokens == int(batch.source_mask.sum() + batch.label_mask.sum())
    sources, targets = map(list, zip(*PAIRS, strict=True))
    learned = Translator.load(tmp_path / "mine")
    outputs = learned.translate(sources, beam_size=1)
    assert sum(a == b for a, b in zip(outputs, targets, strict=True)) > 48
    aligned = learned.align(*PAIRS[0])
    assert aligned.pairs()


def bpe(folder: Path) -> None:
    """Train on words that have much in common, so that the order of merges matters."""
    texts = ["".join(letters) for letters in product("abc", "de", "abe", "ced", "abc")]
    model = learn(texts, vocab_size=120, hard_vocab_limit=False, model_type="bpe")
    (folder / "source.spm").write_bytes(model)
    processor = sentencepiece.SentencePieceProcessor(model_proto=model)
    pieces = ["</s>", "<unk>", *(processor.id_to_piece(i) for i in range(3, len(processor)))]
    (folder / "vocab.json").write_text(json.dumps({p: i for i, p in enumerate([*pieces, "<pad>"])}))


def renumbered(folder: Path) -> None:
    ids = json.loads((folder / "vocab.json").read_text())
    (folder / "vocab.json").write_text(json.dumps({piece: 2 * i for piece, i in ids.items()}))


def garbled(folder: Path) -> None:
    """One byte of a piece is no longer part of a character."""
    content = (folder / "source.spm").read_bytes()
    at = content.index("▁".encode())
    (folder / "source.spm").write_bytes(content[:at] + b"\xff" + content[at + 1 :])


HARMS: dict[str, Callable[[Path], object]] = {
    "source.spm: not a SentencePiece model": lambda f: (f / "source.spm").write_bytes(b"spm"),
    "source.spm: not a SentencePiece model .'utf-8'": garbled,
    "target.spm: cannot be read": lambda f: (f / "target.spm").unlink(),
    "source.spm: this SentencePiece model cannot be expressed here": bpe,
    "no vocab.json here": lambda f: (f / "vocab.json").unlink(),
    "vocab.json: not a table of pieces": lambda f: (f / "vocab.json").write_text("[]"),
    "vocab.json: not valid JSON": lambda f: (f / "vocab.json").write_text("{"),
    "vocab.json: its ids are not 0, 1, 2": renumbered,
}


@pytest.mark.parametrize("complaint", HARMS)
def test_files_that_cannot_be_read_are_refused_in_a_sentence(
    opus: Path, tmp_path: Path, complaint: str
) -> None:
    folder = Path(shutil.copytree(opus, tmp_path / "theirs"))
    HARMS[complaint](folder)
    with pytest.raises(RegardError, match=f"^{folder}.*{complaint}") as error:
        import_run(folder, tmp_path / "run")
    assert "\n" not in str(error.value)
    assert sorted(path.name for path in tmp_path.iterdir()) == ["theirs"]
