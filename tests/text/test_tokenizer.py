import json
import random
import time
import unicodedata
from collections.abc import Callable
from pathlib import Path
from typing import Any, get_args

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from regard.errors import DataError, RecipeError, RunError
from regard.text import learn, long_texts
from regard.text.tokenizer import END, PAD, SPECIALS, START, UNKNOWN, Kind, Tokenizer

KINDS: tuple[Kind, ...] = get_args(Kind)
TEXTS = [
    f"{person} {verb} {place} in {month} {year}{mark}"
    for person in ("Jane", "Le président", "Zoë", "Die Königin")
    for verb in ("visits", "n'aime pas", "verlässt (leider)")
    for place in ("l'Afrique", "Tokyo 東京", "the European Economic Area")
    for month in ("September", "août", "März")
    for year, mark in ((1999, "."), (2024, "!"))
]
TRAINED = {kind: Tokenizer.train(TEXTS, kind=kind, vocabulary_size=600) for kind in KINDS}
LOWERED = Tokenizer.train(TEXTS, vocabulary_size=600, lowercase=True)
ALL = [*TRAINED.values(), LOWERED]

each = pytest.mark.parametrize("tokenizer", ALL, ids=[*KINDS, "lowercase"])
each_kind = pytest.mark.parametrize("kind", KINDS)


def returns(tokenizer: Tokenizer, text: str) -> bool:
    return tokenizer.decode(tokenizer.encode(text)) == tokenizer.normalise(text)


@each
def test_training_text_returns_without_bytes(tokenizer: Tokenizer) -> None:
    encoded = tokenizer.encode_batch(TEXTS)
    assert tokenizer.decode_batch(encoded) == [tokenizer.normalise(text) for text in TEXTS]
    assert min(map(min, encoded)) >= 260
    assert max(map(max, encoded)) < len(tokenizer) == tokenizer.vocabulary_size <= 600


@each
def test_every_character_returns(tokenizer: Tokenizer) -> None:
    code_points = [*range(0xD800), *range(0xE000, 0x10000), *range(0x10000, 0x110000, 97)]
    for start in range(0, len(code_points), 1000):
        some = [f"a{chr(code)}b" for code in code_points[start : start + 1000]]
        assert returns(tokenizer, " ".join(some))


@each
@settings(max_examples=100, deadline=None)
@given(st.text() | st.text("ab <>/s▁_\t\n\u2028\u00a0\u0301\u0307\0é0İ日"))
def test_random_text_returns_and_is_normalised_once(tokenizer: Tokenizer, text: str) -> None:
    once = tokenizer.normalise(text)
    assert tokenizer.normalise(once) == once
    assert tokenizer.decode(tokenizer.encode(text)) == once


@given(st.text(st.characters(exclude_categories=["Cs", "Cn", "Co"])))
def test_normalised_text_is_as_unicode_says(text: str) -> None:
    dropped = "".join(
        character
        for character in text
        if not (unicodedata.category(character) == "Cc" and character not in "\t\n\v\f\r\x85")
        and character not in "\xad\ufeff"
    )
    expected = " ".join(unicodedata.normalize("NFC", dropped).split()).replace("▁", "_")
    assert TRAINED["bpe"].normalise(text) == expected


def test_lowercase() -> None:
    assert LOWERED.normalise("ÀÉ Straße İ") == "àé straße i̇"
    assert TRAINED["bpe"].normalise("ÀÉ") == "ÀÉ"


@each
@pytest.mark.parametrize(
    "text", ["</s> <pad> <0x41>", "<s><unk>", "".join(SPECIALS), "< / s >", "▁<pad>", "<0xE6>"]
)
def test_text_never_names_a_special_piece(tokenizer: Tokenizer, text: str) -> None:
    ids = tokenizer.encode(text)
    assert min(ids) > END
    assert returns(tokenizer, text)


def test_a_typed_byte_name_is_not_that_byte() -> None:
    assert TRAINED["bpe"].decode(TRAINED["bpe"].encode("<0x41>")) == "<0x41>"
    assert TRAINED["bpe"].decode([4 + 0x41]) == "A"


@each
def test_empty_and_blank_text(tokenizer: Tokenizer) -> None:
    assert tokenizer.encode_batch(["", " \t\u2028\0"]) == [[], []]
    assert tokenizer.decode([]) == ""


def test_lone_surrogates_are_mended() -> None:
    tokenizer = TRAINED["bpe"]
    assert tokenizer.normalise("a\ud800b") == "a\ufffdb"
    assert tokenizer.decode(tokenizer.encode("\ud83d\ude00")) == "😀"


def test_decoding_drops_special_pieces_and_stays_on_one_line() -> None:
    tokenizer = TRAINED["bpe"]
    ids = tokenizer.encode("Jane visits Tokyo")
    framed = [START, *ids[:2], PAD, *ids[2:], UNKNOWN, END, PAD]
    assert tokenizer.decode(framed) == "Jane visits Tokyo"
    line_break, nul, half_a_character = 4 + 0x0A, 4, 4 + 0xE2
    assert tokenizer.decode([*ids, line_break, nul, *ids]).count("\n") == 0
    assert tokenizer.decode([half_a_character]) == "\ufffd"


@pytest.mark.parametrize("wrong", [-1, 10_000])
def test_ids_outside_the_vocabulary_are_refused(wrong: int) -> None:
    tokenizer = TRAINED["bpe"]
    for read in (tokenizer.decode, tokenizer.pieces, tokenizer.word_of):
        with pytest.raises(RunError, match=f"no piece {wrong},"):
            read([300, wrong])


@each
def test_words_of_pieces(tokenizer: Tokenizer) -> None:
    text = "Jane n'aime pas (leider) 東京 😀 2024 !"
    ids = tokenizer.encode(text)
    words = tokenizer.word_of(ids)
    spelled = [
        tokenizer.decode([index for index, at in zip(ids, words, strict=True) if at == word])
        for word in range(max(words) + 1)
    ]
    assert spelled == tokenizer.normalise(text).split()
    assert tokenizer.word_of([START, *ids, END]) == [-1, *words, -1]


def test_words_that_only_a_model_would_write() -> None:
    tokenizer = TRAINED["word"]
    vocabulary = dict(
        zip(tokenizer.pieces(range(len(tokenizer))), range(len(tokenizer)), strict=True)
    )
    pieces = ["Afrique", "▁", "▁Jane", "▁", "J", "▁"]
    ids = [vocabulary[piece] for piece in pieces]
    assert tokenizer.decode(ids) == "Afrique Jane J"
    assert tokenizer.word_of(ids) == [0, 1, 1, 2, 2, 3]


def test_pieces_mark_word_starts() -> None:
    pieces = TRAINED["word"].pieces(TRAINED["word"].encode("Jane visits l'Afrique."))
    assert pieces == ["▁Jane", "▁visits", "▁l", "'", "Afrique", "."]
    assert TRAINED["character"].pieces(TRAINED["character"].encode("in 2")) == list("▁in▁2")


@each_kind
def test_training_repeats_itself(kind: Kind) -> None:
    again = Tokenizer.train(iter(TEXTS), kind=kind, vocabulary_size=600)
    assert again.to_json() == TRAINED[kind].to_json()
    assert again.fingerprint == TRAINED[kind].fingerprint
    assert len({tokenizer.fingerprint for tokenizer in ALL}) == len(ALL)
    # Each character is needed but seldom chosen by itself; the unigram trainer then ranks at
    # random.
    words = ["".join(map(chr, range(start, start + 3))) for start in range(0x4E00, 0x4E3C, 3)]
    texts = [f"pre{word} {word}post" for word in words] * 3
    assert len({Tokenizer.train(texts, kind=kind).to_json() for _ in range(3)}) == 1


@each_kind
@pytest.mark.parametrize(
    "texts", [["a"], ["日"], ["x" * 100_000], ["\0", "b"], [chr(c) for c in range(0x4E00, 0x9000)]]
)
def test_any_training_text_will_do(kind: Kind, texts: list[str]) -> None:
    tokenizer = Tokenizer.train(texts, kind=kind, vocabulary_size=300)
    assert len(tokenizer) <= 300
    assert returns(tokenizer, "any text 日本 at all")
    assert Tokenizer.from_json(tokenizer.to_json()).fingerprint == tokenizer.fingerprint


def test_large_corpora_are_sampled_evenly(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(learn, "MOST_TEXTS", 100)
    chosen = learn.sample(str(number) for number in range(10_000))
    assert len(set(chosen)) == 100
    assert 20 <= sum(int(text) < 5000 for text in chosen) <= 80
    assert chosen == learn.sample(str(number) for number in range(10_000))


def test_settings_that_cannot_be() -> None:
    with pytest.raises(RecipeError, match=r"vocabulary_size: 200 .* choose from 300"):
        Tokenizer.train(TEXTS, vocabulary_size=200)
    with pytest.raises(RecipeError, match="'wordpiece'; choose from bpe, unigram"):
        Tokenizer.train(TEXTS, kind="wordpiece")  # type: ignore[arg-type]
    with pytest.raises(DataError, match="texts are empty"):
        Tokenizer.train(["", " \0"])


@pytest.mark.parametrize("kind", ["bpe", "unigram"])  # words and characters run as bpe does
@pytest.mark.parametrize("unit", ["a", "(", "a ", "1", "\u0301", "日", "▁", "</s>", "\u2028", "an"])
def test_long_input_costs_linear_time(kind: Kind, unit: str) -> None:
    tokenizer = TRAINED[kind]
    text = unit * (200_000 // len(unit))
    started = time.process_time()
    ids = tokenizer.encode(text)
    # A quadratic cost would take minutes; the usual one takes a fifth of a second.
    assert time.process_time() - started < 20
    assert tokenizer.decode(ids) == tokenizer.normalise(text)


@pytest.mark.parametrize("verbatim", [False, True])
@each_kind
def test_a_long_text_is_encoded_in_parts_to_the_same_ids(
    kind: Kind, verbatim: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    tokenizer = Tokenizer.train(TEXTS, kind=kind, vocabulary_size=400, verbatim=verbatim)
    draw = random.Random(3)
    words = " ".join(TEXTS).split()
    text = " ".join("".join(draw.choices(words, k=draw.randint(1, 3))) for _ in range(300))
    whole = tokenizer.encode_batch([text, "short"])
    monkeypatch.setattr(long_texts, "LONGEST_PART", 100)
    assert len(list(long_texts.parts(text))) > 30
    assert "".join(long_texts.parts(text)) == text
    assert tokenizer.encode_batch([text, "short"]) == whole


def test_a_long_word_is_cut_and_nothing_is_lost(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(long_texts, "LONGEST_PART", 10)
    for text in ("x" * 95, "", "x" * 10, f"a {'x' * 30} b", " " * 25, f"{'x' * 25} "):
        found = list(long_texts.parts(text))
        assert "".join(found) == text
        assert max(map(len, found)) <= 10


@each
def test_saved_and_loaded(tokenizer: Tokenizer, tmp_path: Path) -> None:
    path = tmp_path / "tokenizer.json"
    path.write_text(tokenizer.to_json(), encoding="utf-8")
    loaded = Tokenizer.load(path)
    assert loaded.fingerprint == tokenizer.fingerprint
    assert loaded.encode_batch(TEXTS) == tokenizer.encode_batch(TEXTS)


def damage(key: str, value: Any) -> Callable[[dict[str, Any]], None]:
    return lambda document: document.update({key: value})


def damage_model(key: str, value: Any) -> Callable[[dict[str, Any]], None]:
    return lambda document: document["model"].update({key: value})


def damage_vocabulary(**entries: Any) -> Callable[[dict[str, Any]], None]:
    return lambda document: document["model"]["vocab"].update(entries)


def swap_specials(document: dict[str, Any]) -> None:
    document["model"]["vocab"].update({"<pad>": 1, "<unk>": 0})


def slow_pattern(document: dict[str, Any]) -> None:
    document["pre_tokenizer"]["pretokenizers"][1]["pattern"] = {"Regex": "(a+)+$"}


ADDED_TOKEN = {"id": 0, "content": "a", "special": True}
HOSTILE = [
    damage("added_tokens", [ADDED_TOKEN]),
    damage("truncation", {"max_length": 1}),
    damage("post_processor", {"type": "ByteLevel"}),
    damage("normalizer", None),
    damage("unknown", 1),
    damage("model", None),
    damage("model", []),
    damage("version", "2.0"),
    slow_pattern,
    swap_specials,
    damage_model("type", "WordLevel"),
    damage_model("dropout", 0.5),
    damage_model("byte_fallback", False),
    damage_model("vocab", {}),
    damage_model("vocab", [["a", 0.0]]),
    damage_model("merges", None),
    damage_model("merges", [7]),
    damage_model("merges", [["a"]]),
    damage_model("merges", [["a", "nowhere"]]),
    damage_model("merges", [[["a"], "b"]]),
    damage_model("extra", "x"),
    damage_vocabulary(new=10_000),
    damage_vocabulary(new=-1),
    damage_vocabulary(new=300),
    damage_vocabulary(new=2.5),
    damage_vocabulary(new=True),
    damage_vocabulary(new="7"),
    damage_vocabulary(**{"x" * 1000: len(TRAINED["bpe"])}),
    damage_vocabulary(**{"": len(TRAINED["bpe"])}),
    damage_vocabulary(**{"\ud800": len(TRAINED["bpe"])}),
]


@pytest.mark.parametrize("harm", HOSTILE)
def test_a_hostile_file_is_refused_in_a_sentence(harm: Callable[[dict[str, Any]], None]) -> None:
    document = json.loads(TRAINED["bpe"].to_json())
    harm(document)
    with pytest.raises(RunError, match=r"^run/tokenizer.json: not a tokenizer that regard "):
        Tokenizer.from_json(json.dumps(document), "run/tokenizer.json")


@pytest.mark.parametrize(
    "vocabulary",
    [
        [["a", -1.0]],
        lambda good: [*good, ["new", float("nan")]],
        lambda good: [*good, ["new", "1"]],
        lambda good: [*good, ["new"]],
        lambda good: [*good, good[-1]],
        lambda good: dict(good),
    ],
)
def test_hostile_scores_are_refused(vocabulary: Any) -> None:
    document = json.loads(TRAINED["unigram"].to_json())
    good = document["model"]["vocab"]
    document["model"]["vocab"] = vocabulary(good) if callable(vocabulary) else vocabulary
    with pytest.raises(RunError, match="not a tokenizer that regard wrote"):
        Tokenizer.from_json(json.dumps(document))


@pytest.mark.parametrize(
    "text", ["", "{", "[]", "null", "{}", "[" * 100_000, "1" * 5000, '{"model": {}}', "\ud800"]
)
def test_what_is_no_document_is_refused(text: str) -> None:
    with pytest.raises(RunError, match=r"^tokenizer.json: not a tokenizer that regard wrote"):
        Tokenizer.from_json(text)


def test_unreadable_files(tmp_path: Path) -> None:
    with pytest.raises(RunError, match=r"none.json: the tokenizer cannot be read \(No such file"):
        Tokenizer.load(tmp_path / "none.json")
    with pytest.raises(RunError, match="cannot be read"):
        Tokenizer.load(tmp_path)
    (tmp_path / "latin.json").write_bytes(b"\xff{}")
    with pytest.raises(RunError, match="not valid UTF-8"):
        Tokenizer.load(tmp_path / "latin.json")
