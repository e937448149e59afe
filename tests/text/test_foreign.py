"""Tokenizers that others made keep their ids, and nothing unknown reaches the library."""

import json
from collections.abc import Callable
from typing import Any

import pytest
import tokenizers
from tokenizers import decoders, models, normalizers, pre_tokenizers

from regard.errors import RunError
from regard.text.foreign import adopted
from regard.text.segments import segments
from regard.text.tokenizer import Specials, Tokenizer

PIECES = ["[PAD]", "a", "##b", "b", "[UNK]", "[CLS]", "[SEP]", "[MASK]", "c", ".", "[", "]", "sep"]
SPECIALS = Specials(pad=0, unknown=4, start=5, end=6, mask=7)


def document() -> Any:
    library = tokenizers.Tokenizer(
        models.WordPiece({piece: index for index, piece in enumerate(PIECES)}, unk_token="[UNK]")
    )
    library.normalizer = normalizers.BertNormalizer(lowercase=True)
    library.pre_tokenizer = pre_tokenizers.BertPreTokenizer()
    library.decoder = decoders.WordPiece()
    library.add_special_tokens(["[SEP]", "[CLS]", "[MASK]"])
    library.enable_truncation(3)
    library.enable_padding()
    return json.loads(library.to_str())


def wrapped(values: Any) -> Tokenizer:
    kept = adopted(values, SPECIALS, ("start", "text", "end"), "t.json")
    return Tokenizer.from_json(json.dumps(kept), "t.json")


def test_a_foreign_tokenizer_keeps_its_ids_and_knows_the_special_ones() -> None:
    tokenizer = wrapped(document())
    assert tokenizer.specials == SPECIALS
    assert len(tokenizer) == len(PIECES)
    ids = tokenizer.encode("AB c b c . a")
    assert ids == [1, 2, 8, 3, 8, 9, 1]
    assert tokenizer.pieces(ids) == ["a", "##b", "c", "b", "c", ".", "a"]
    assert tokenizer.decode([5, *ids, 6, 0]) == "ab c b c. a"
    assert tokenizer.word_of([5, *ids[:3], 6]) == [-1, 0, 0, 1, -1]
    again = Tokenizer.from_json(tokenizer.to_json())
    assert (again.specials, again.encode("ab")) == (SPECIALS, [1, 2])


def test_a_text_that_spells_a_special_piece_is_a_text() -> None:
    assert wrapped(document()).encode("[SEP]") == [10, 12, 11]


def test_the_library_reads_the_file_and_puts_the_special_pieces_around() -> None:
    library = tokenizers.Tokenizer.from_str(wrapped(document()).to_json())
    assert library.encode("a b c a").ids == [5, 1, 3, 8, 1, 6]
    pair = library.encode("a", "b")
    assert (pair.ids, pair.type_ids) == ([5, 1, 6, 3, 6], [0, 0, 0, 1, 1])


def test_long_texts_are_cut_between_words() -> None:
    tokenizer = wrapped(document())
    ids = tokenizer.encode("ab ab ab ab")
    assert segments(ids, tokenizer, 5) == [ids[:4], ids[4:]]


def test_every_special_piece_but_the_end_is_never_produced() -> None:
    assert SPECIALS.never == [0, 4, 5, 7]
    assert Specials().never == [0, 1, 2]
    assert Specials(pad=9, unknown=9, start=9, end=9, mask=None).never == []


def changing(section: str, value: Any) -> Callable[[Any], None]:
    return lambda values: values.__setitem__(section, value)


@pytest.mark.parametrize(
    ("harm", "complaint"),
    [
        (changing("normalizer", {"type": "Precompiled"}), "normalizer has a part of type"),
        (changing("normalizer", "x"), "normalizer has a part of type None"),
        (
            changing("pre_tokenizer", {"type": "Sequence", "pretokenizers": [{"type": "Odd"}]}),
            "pre_tokenizer has a part of type 'Odd'",
        ),
        (
            changing("pre_tokenizer", {"type": "Split", "pattern": {"Regex": "(a|a)*"}}),
            "cuts by a pattern of its own",
        ),
        (changing("model", {"type": "WordPiece"}), "it has no vocabulary"),
        (changing("model", {"type": "Odd", "vocab": {}}), "no piece 0"),
        (lambda values: values["model"]["vocab"].update(x=40), "ids are not 0, 1, 2"),
        (lambda values: values["model"]["vocab"].update(x=3), "is not its own"),
        (lambda values: values["model"]["vocab"].update(x="3"), "is not its own"),
        (lambda values: values["model"]["vocab"].update({"": 13}), "a piece is empty"),
        (lambda values: values["added_tokens"].append(5), "a piece is empty"),
    ],
)
def test_what_is_not_known_is_refused_in_a_sentence(
    harm: Callable[[Any], None], complaint: str
) -> None:
    values = document()
    harm(values)
    with pytest.raises(
        RunError, match=f"^t.json: not a tokenizer that regard can use .*{complaint}"
    ):
        wrapped(values)


@pytest.mark.parametrize(
    "template",
    [
        {"type": "BertProcessing", "sep": ["[SEP]", 6], "cls": ["[CLS]", 5]},
        {"type": "TemplateProcessing", "single": [], "pair": [], "special_tokens": {}},
        {"type": "TemplateProcessing", "special_tokens": {"odd": {"ids": [1]}}},
        {"type": "TemplateProcessing", "special_tokens": {"end": {"ids": [True]}}},
    ],
)
def test_a_file_that_does_not_name_its_special_pieces_is_refused(template: Any) -> None:
    values = json.loads(wrapped(document()).to_json())
    values["post_processor"] = template
    with pytest.raises(RunError, match=r"^t.json: not a tokenizer that regard can use"):
        Tokenizer.from_json(json.dumps(values), "t.json")
