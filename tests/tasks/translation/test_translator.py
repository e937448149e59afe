"""The translator of a run: order, independence of neighbours, and every way to search."""

import math
import random
import time
from dataclasses import replace
from pathlib import Path

import pytest
import torch

from regard.decode.search import Search
from regard.engines.native import Native, batches_by_length
from regard.errors import RequestError, RunError
from regard.run import Run
from regard.tasks.translation.translation import Translation, joined
from regard.tasks.translation.translator import Translator
from regard.text.tokenizer import END, START
from tests.tasks.translation.conftest import LETTERS, sentences, translated


@pytest.fixture(scope="module")
def translator(folder: Path) -> Translator:
    return Translator.load(folder)


@pytest.fixture(scope="module")
def texts() -> list[str]:
    return sentences(60, seed=2)


def test_it_has_learned_the_language(translator: Translator, texts: list[str]) -> None:
    right = [
        output == translated(text)
        for text, output in zip(texts, translator.translate(texts), strict=True)
    ]
    assert sum(right) >= 0.9 * len(texts)


def test_order_is_kept_and_empty_stays_empty(translator: Translator, texts: list[str]) -> None:
    mixed = ["", *texts[:20], " ", *texts[20:30], "\t", ""]
    outputs = translator.translate(mixed)
    alone = dict(zip(texts, translator.translate(texts), strict=True))
    assert outputs == [alone.get(text, "") for text in mixed]
    assert translator.translate([]) == []
    assert translator.translations([""], Search(n_best=3)) == [[Translation("", 0.0, [], [], True)]]


@pytest.mark.parametrize(
    "search",
    [
        Search(),
        Search(beam_size=1),
        Search(beam_size=4, n_best=4, no_repeat_ngram=2),
        Search(temperature=1.5, seed=9),
        Search(temperature=1.0, top_k=5, top_p=0.9, n_best=3),
    ],
    ids=str,
)
def test_a_sentence_alone_is_the_sentence_among_others(
    translator: Translator, texts: list[str], search: Search
) -> None:
    together = translator.translations(texts, search)
    shuffled = list(reversed(texts))
    backwards = translator.translations(shuffled, search)[::-1]
    alone = [translator.translations([text], search)[0] for text in texts]
    for found in (backwards, alone):
        assert [[each.text for each in row] for row in found] == (
            [[each.text for each in row] for row in together]
        )
        for row, expected in zip(found, together, strict=True):
            assert [each.score for each in row] == pytest.approx(
                [each.score for each in expected], abs=1e-4
            )


def test_n_best_is_sorted_and_distinct(translator: Translator, texts: list[str]) -> None:
    for row in translator.translations(texts, Search(beam_size=6, n_best=4)):
        assert len(row) == 4
        assert len({tuple(each.tokens) for each in row}) == 4
        scores = [each.score for each in row]
        assert scores == sorted(scores, reverse=True)
    best = translator.translate(texts, beam_size=6)
    assert best == [
        row[0].text for row in translator.translations(texts, Search(beam_size=6, n_best=4))
    ]


def test_a_score_is_the_mean_of_its_log_probabilities(
    translator: Translator, texts: list[str]
) -> None:
    for row in translator.translations(texts[:10], Search(n_best=2)):
        for each in row:
            assert each.finished
            assert len(each.log_probabilities) == len(each.tokens) + 1  # END counts
            assert all(value <= 0 for value in each.log_probabilities)
            mean = sum(each.log_probabilities) / len(each.log_probabilities)
            assert each.score == pytest.approx(mean, abs=1e-5)


def test_samples_follow_their_seed(translator: Translator, texts: list[str]) -> None:
    search = Search(temperature=3.0, n_best=2, seed=5)
    first = translator.translations(texts, search)
    assert translator.translations(texts, search) == first
    other = translator.translations(texts, replace(search, seed=50))
    assert [row[0].text for row in other] != [row[0].text for row in first]
    # The drawings of a text are not one drawing twice.
    assert any(row[0].text != row[1].text for row in first)
    assert all(row[0].score >= row[1].score for row in first)


def test_a_low_temperature_is_greedy_and_greedy_is_a_beam_of_one(
    translator: Translator, texts: list[str]
) -> None:
    beam = translator.translate(texts, beam_size=1)
    for search in (Search(temperature=1e-3), Search(temperature=2.0, top_k=1)):
        drawn = translator.translations(texts, search)
        assert [row[0].text for row in drawn] == beam
    tokens = translator.tokenizers.source.encode(texts[0])
    source = torch.tensor([[*tokens, END]])
    output = [START]
    with torch.inference_mode():
        while output[-1] != END:
            logits = translator.model(
                source, torch.ones_like(source, dtype=torch.bool), torch.tensor([output])
            )
            output.append(int(logits[0, -1].argmax()))
    assert translator.tokenizers.target.decode(output[1:-1]) == beam[0]


def test_engines_agree(folder: Path, translator: Translator, texts: list[str]) -> None:
    pytest.importorskip("ctranslate2", reason="needs the extra `fast`")
    fast = Translator.load(folder, engine="ctranslate2")
    search = Search(n_best=3, length_penalty=0.8)
    for found, expected in zip(
        fast.translations(texts, search), translator.translations(texts, search), strict=True
    ):
        assert [each.tokens for each in found] == [each.tokens for each in expected]
        for one, other in zip(found, expected, strict=True):
            assert one.score == pytest.approx(other.score, abs=1e-4)
            assert one.log_probabilities == pytest.approx(other.log_probabilities, abs=1e-4)
    assert fast.translate(texts) == translator.translate(texts)


@pytest.mark.parametrize("search", [Search(n_best=2), Search(temperature=1.0, n_best=2)], ids=str)
def test_a_forced_prefix_begins_the_output(translator: Translator, search: Search) -> None:
    texts, prefixes = ["b e.", "a c.", "d."], ["PP", "", "AA OO"]
    rows = translator.translations(texts, search, prefixes)
    for row, prefix in zip(rows, prefixes, strict=True):
        assert all(each.text.startswith(prefix) for each in row)
    free = translator.translations(texts, search)
    assert [each.text for each in rows[1]] == [each.text for each in free[1]]
    with pytest.raises(RequestError, match="2 prefixes for 3 texts"):
        translator.translations(texts, search, prefixes[:2])


def test_no_ngram_twice(translator: Translator) -> None:
    text = "a a a a a a."
    for row in translator.translations([text], Search(no_repeat_ngram=1, n_best=5)):
        for each in row:
            assert len(set(each.tokens)) == len(each.tokens)


def test_length_limits(translator: Translator) -> None:
    (row,) = translator.translations(["a b."], Search(min_length=9))
    assert len(row[0].tokens) >= 9
    (row,) = translator.translations(
        ["a b."], Search(temperature=50.0, max_length_ratio=0.5, seed=3, n_best=20)
    )
    assert all(len(each.tokens) <= 0.5 * 4 + 20 for each in row)
    assert not all(each.finished for each in row)


def test_a_text_of_two_thousand_words_is_translated_in_parts(
    translator: Translator, texts: list[str]
) -> None:
    draw = random.Random(3)
    parts = [" ".join(sorted(draw.sample(LETTERS, 7))) + "." for _ in range(300)]
    # As if nothing longer had been learned: each sentence is a part of its own.
    careful = Translator(
        lambda: translator.model,
        translator.engine,
        translator.tokenizers,
        translator.search,
        limit=8,
    )
    endless = "a b c d " * 500  # nowhere to cut but between words
    started = time.process_time()
    outputs = careful.translate([texts[0], " ".join(parts), texts[1], endless, texts[2]])
    assert time.process_time() - started < 100
    assert outputs[::2] == careful.translate(texts[:3])
    assert outputs[1] == " ".join(careful.translate(parts))
    assert len(outputs[1].split()) > 1900
    assert outputs[3].startswith(careful.translate(["a b c d a b c d"])[0])


def test_a_word_without_end_does_not_hurt_its_neighbours(translator: Translator) -> None:
    """Letters never seen fall to bytes: some hundred parts of the longest length."""
    outputs = translator.translate(["a.", "ж" * 3000, "b c."])
    assert outputs[::2] == translator.translate(["a.", "b c."])


def test_parts_are_joined_rank_by_rank() -> None:
    def translation(text: str, score: float, finished: bool = True) -> Translation:
        return Translation(text, score, text.split(), [score], finished)

    parts = [
        [translation("a b", -1.0), translation("a", -2.0)],
        [translation("", -3.0)],
        [translation("c", -2.0, finished=False), translation("d", -9.0)],
    ]
    (only,) = joined(parts)
    assert (only.text, only.score, only.finished) == ("a b c", -2.0, False)
    assert only.tokens == ["a", "b", "c"]


def test_batches_have_like_lengths_and_a_bound() -> None:
    draw = random.Random(0)
    lengths = [draw.randint(1, 300) for _ in range(500)] + [9000]
    batches = list(batches_by_length(lengths, 4096, 128))
    assert sorted(row for batch in batches for row in batch) == list(range(501))
    for batch in batches:
        cells = len(batch) * max(lengths[row] for row in batch)
        assert cells <= 4096 or len(batch) == 1
        assert len(batch) <= 128


# Alignment


def test_alignment_rows_are_words_and_shares(translator: Translator, texts: list[str]) -> None:
    for text in texts[:20]:
        output = translator.translate([text])[0]
        alignment = translator.align(text, output)
        assert alignment.source_words == text.split()
        assert alignment.target_words == output.split()
        assert len(alignment.weights) == len(alignment.target_words)
        for row in alignment.weights:
            assert len(row) == len(alignment.source_words)
            assert all(weight >= 0 for weight in row)
            assert 0 <= sum(row) <= 1 + 1e-5
        assert [target for _, target in alignment.pairs()] == list(range(len(output.split())))


def test_a_word_looks_at_the_word_it_translates(translator: Translator, texts: list[str]) -> None:
    hits = total = 0
    for text in texts[:30]:
        alignment = translator.align(text, translated(text))
        hits += sum(source == target for source, target in alignment.pairs())
        total += len(alignment.target_words)
    assert hits >= 0.8 * total


@pytest.mark.parametrize(
    ("source", "output"),
    [("a b.", ""), ("", "AA!"), ("", ""), ("a  b", "AA   BB"), ("ж a", "ж ")],
)
def test_any_two_texts_can_be_aligned(translator: Translator, source: str, output: str) -> None:
    alignment = translator.align(source, output)
    assert alignment.source_words == source.split()
    assert alignment.target_words == output.split()
    assert len(alignment.weights) == len(alignment.target_words)
    assert all(len(row) == len(alignment.source_words) for row in alignment.weights)
    assert len(alignment.pairs()) == (len(output.split()) if source else 0)


# What cannot be asked


@pytest.mark.parametrize(
    "wrong",
    [
        {"beam_size": 0},
        {"beam_size": 1001},
        {"n_best": 0},
        {"n_best": 6},
        {"n_best": 1001, "temperature": 1.0},
        {"length_penalty": -0.1},
        {"length_penalty": math.nan},
        {"length_penalty": math.inf},
        {"max_length_ratio": 0.0},
        {"max_length_ratio": math.inf},
        {"max_length_ratio": 1e9},
        {"min_length": -1},
        {"min_length": 10**9},
        {"no_repeat_ngram": -1},
        {"temperature": 0.0},
        {"temperature": -1.0},
        {"temperature": math.nan},
        {"temperature": math.inf},
        {"temperature": 1e-300},
        {"top_k": -1, "temperature": 1.0},
        {"top_k": 5},
        {"top_p": 0.5},
        {"top_p": 0.0, "temperature": 1.0},
        {"top_p": 1.1, "temperature": 1.0},
        {"seed": -1},
        {"seed": 2**63},
    ],
    ids=str,
)
def test_what_cannot_be_searched_is_refused(wrong: dict[str, float]) -> None:
    with pytest.raises(RequestError) as raised:
        Search(**wrong)  # type: ignore[arg-type]
    assert next(iter(wrong)) in str(raised.value)


@pytest.mark.parametrize(
    "search",
    [
        Search(temperature=0.001, top_p=0.01),
        Search(temperature=100.0, top_p=1.0, seed=2**63 - 1),
        Search(beam_size=300, n_best=300),
        Search(temperature=1.0, n_best=1000),
        Search(length_penalty=10.0, max_length_ratio=100.0, beam_size=2),
        Search(no_repeat_ngram=50),
    ],
    ids=str,
)
def test_the_edges_of_what_can_be_asked(translator: Translator, search: Search) -> None:
    rows = translator.translations(["a b.", "c"], search)
    assert all(1 <= len(row) <= search.n_best for row in rows)
    assert all(math.isfinite(each.score) for row in rows for each in row)


def test_one_text_gives_one_translation(translator: Translator) -> None:
    assert [translator.translate("a b.")] == translator.translate(["a b."])


# Loading


def test_loading_what_is_no_run(tmp_path: Path, folder: Path) -> None:
    with pytest.raises(RunError, match="no such run folder"):
        Translator.load(tmp_path / "nowhere")
    with pytest.raises(RunError, match="not a run folder"):
        Translator.load(tmp_path)
    with pytest.raises(RequestError, match='device "moon"'):
        Translator.load(folder, device="moon")


def test_the_recipe_says_how_to_search(folder: Path, translator: Translator) -> None:
    decode = Run(folder).recipe().decode
    assert translator.search == Search(
        beam_size=decode.beam_size,
        length_penalty=decode.length_penalty,
        max_length_ratio=decode.max_length_ratio,
        no_repeat_ngram=decode.no_repeat_ngram,
    )
    assert not translator.model.training


def test_learned_positions_end_where_they_end(folder: Path) -> None:
    """Nothing longer than the table of positions is read or said."""
    from regard.models import build

    run = Run(folder)
    config = run.recipe().model.model_copy(update={"positions": "learned", "max_positions": 30})
    tokenizers = run.tokenizers()
    torch.manual_seed(0)
    model = build(config, *map(len, tokenizers)).eval()
    translator = Translator(lambda: model, Native(model), tokenizers, Search(beam_size=2), limit=23)
    outputs = translator.translations(["a b c d e f g h i j k l m n o p."], Search(min_length=90))
    assert 0 < len(outputs[0][0].tokens) <= 30
