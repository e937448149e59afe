"""What loads a run: what it takes, how it scores itself, how it looks."""

import copy
import pickle
from collections.abc import Callable, Iterator
from html.parser import HTMLParser
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import regard
from regard import DataError, RequestError
from tests.api.conftest import PAIRS, REVIEWS, SENTENCES, TEXTS


@pytest.fixture(scope="module")
def loaded(runs: Path) -> dict[str, Any]:
    return {path.name: regard.load(path) for path in (runs / "runs").iterdir()}


VERBS: dict[str, Callable[[Any], Callable[[Any], Any]]] = {
    "demo": lambda each: each.translate,
    "book": lambda each: lambda texts: each.generate(texts, regard.Writing(max_tokens=3)),
    "masked": lambda each: each.fill,
    "reviews": lambda each: each.classify,
    "tags": lambda each: each.tag,
}
INPUT = ["one [MASK] and", "two [MASK]"]


@pytest.mark.parametrize("name", VERBS)
def test_one_text_gives_one_answer_and_several_a_list(name: str, loaded: dict[str, Any]) -> None:
    ask = VERBS[name](loaded[name])
    answers = ask(INPUT)
    assert len(answers) == 2
    assert ask(INPUT[0]) == answers[0]
    for several in (tuple(INPUT), (text for text in INPUT), np.array(INPUT), iter(INPUT)):
        assert ask(several) == answers
    assert ask([]) == []


def test_a_column_of_a_table_is_several_texts(loaded: dict[str, Any]) -> None:
    pandas, polars = pytest.importorskip("pandas"), pytest.importorskip("polars")
    for name, verb in VERBS.items():
        ask = verb(loaded[name])
        assert ask(pandas.Series(INPUT)) == ask(polars.Series(INPUT)) == ask(INPUT)


@pytest.mark.parametrize("name", VERBS)
@pytest.mark.parametrize(
    ("given", "sentence"),
    [
        (5, "not 5$"),
        (None, "not None$"),
        (b"one", "not b'one'$"),
        (["one [MASK]", 5], "5"),
        ([None], "None"),
        ({"text": ["one"]}, r"not \{'text': \['one'\]\}; take the column that holds the"),
        (Path("one.txt"), "not "),
    ],
)
def test_what_is_no_text_is_said(
    name: str, given: Any, sentence: str, loaded: dict[str, Any]
) -> None:
    with pytest.raises(RequestError, match=sentence):
        VERBS[name](loaded[name])(given)


def test_vectors_of_one_text_of_several_and_of_none(runs: Path) -> None:
    embedder = regard.Embedder.load(runs / "runs/reviews")
    several = embedder.embed(iter(["one", "two"]))
    assert several.shape == (2, 16)
    np.testing.assert_array_equal(embedder.embed("one"), several[0])
    assert embedder.embed([]).shape == (0, 16)
    with pytest.raises(RequestError, match="embed: text 1 is 5, not a text"):
        embedder.embed([5])  # type: ignore[list-item]


def test_a_translator_scores_itself_as_the_files_are_scored(runs: Path, tmp_path: Path) -> None:
    translator = regard.load(runs / "runs/demo")
    sources, references = zip(*PAIRS[:9], strict=True)
    found = translator.evaluate(iter(sources), list(references), bootstrap=50)
    for side, lines in (("fr", sources), ("en", references)):
        Path(f"test.{side}").write_text("".join(f"{line}\n" for line in lines))
    by_files = regard.evaluate_run(runs / "runs/demo", ["test.fr", "test.en"], bootstrap=50)
    assert found.scores == by_files.scores
    assert found.answers == by_files.answers == translator.translate(sources)
    bleu = found.scores[0]
    assert (bleu.name, bleu.low is not None) == ("BLEU", True)
    assert "bs:50" in bleu.signature
    with pytest.raises(RequestError, match="evaluate: 9 sources and 1 references; give one for"):
        translator.evaluate(sources, ["one"])
    with pytest.raises(RequestError, match="nothing to score"):
        translator.evaluate([], [])


def test_a_classifier_and_a_tagger_score_themselves(loaded: dict[str, Any]) -> None:
    texts, labels = zip(*REVIEWS[:20], strict=True)
    found = loaded["reviews"].evaluate(texts, labels)
    right = [each.label for each in loaded["reviews"].classify(texts)]
    accuracy = 100 * np.mean([a == b for a, b in zip(right, labels, strict=True)])
    assert found.score("accuracy") == pytest.approx(accuracy)
    assert found.answers == right
    with pytest.raises(RequestError, match="there is no score 'BLEU'; there are accuracy"):
        found.score("BLEU")
    with pytest.raises(DataError, match="label 'x' is none of the run's"):
        loaded["reviews"].evaluate(["a"], ["x"])
    sentences, tags = zip(*SENTENCES[:5], strict=True)
    tagged = loaded["tags"].evaluate(sentences, tags)
    assert 0 <= tagged.score("accuracy") <= 100
    assert tagged.headline == "5 sentences"
    with pytest.raises(RequestError, match="sentence 1: 3 words and 1 labels; give one for each"):
        loaded["tags"].evaluate(sentences[:1], [["X"]])


def test_language_models_score_themselves(loaded: dict[str, Any], runs: Path) -> None:
    Path("t.txt").write_text("one and two\n")
    written = loaded["book"].evaluate(["one and two\n"])
    assert written.scores == regard.evaluate_run(runs / "runs/book", ["t.txt"]).scores
    Path("m.txt").write_text("".join(f"{text}\n" for text in TEXTS[:9]))
    filled = loaded["masked"].evaluate(TEXTS[:9])
    assert filled.scores == regard.evaluate_run(runs / "runs/masked", ["m.txt"]).scores
    for name in ("book", "masked"):
        with pytest.raises(DataError, match="evaluate: there is no text"):
            loaded[name].evaluate([])


def test_everything_says_what_it_is(loaded: dict[str, Any], runs: Path) -> None:
    where = str(runs / "runs")
    texts = {name: repr(each).replace(where, "runs") for name, each in loaded.items()}
    assert texts == {
        "demo": "Translator('runs/demo': fr → en, 9,376 parameters, beam 5)",
        "book": "Writer('runs/book': sees 16 tokens, 6,448 parameters)",
        "masked": "Filler('runs/masked': sees 16 tokens, 7,387 parameters)",
        "vectors": "WordVectors('runs/vectors': 5 words, 160 parameters)",
        "reviews": "Classifier('runs/reviews': 2 labels, 6,498 parameters)",
        "tags": "Tagger('runs/tags': 3 labels, 6,387 parameters)",
        "load": "Forecaster('runs/load': 6 steps ahead from 504, 3,052 parameters)",
    }
    run = regard.Run(runs / "runs/demo")
    assert repr(run) == f"Run('{where}/demo': translation, 4 updates)"
    assert repr(regard.Run("nowhere")) == "Run('nowhere': not started)"  # type: ignore[arg-type]
    examples = Path(where, "demo", "training", "examples", "train.jsonl")
    assert repr(run.recipe()) == f"Recipe(translation: {examples}, transformer, 4 updates)"
    assert str(run.recipe()) == (run.folder / "recipe.toml").read_text("utf-8")


def test_results_are_short_in_print() -> None:
    found = regard.Classification("pos", {"pos": 0.98765, "neg": 0.01235})
    assert repr(found) == "Classification('pos', 0.988)"
    assert repr([regard.TaggedWord("a", "X", 0.5)]) == "[TaggedWord('a', 'X', 0.500)]"
    translation = regard.Translation("the cat", -0.25, ["the", "▁cat"], [-0.1, -0.4], True)
    assert repr(translation) == "Translation('the cat', score -0.250)"
    alignment = regard.Alignment(["le", "chat"], ["the", "cat"], [[0.9, 0.1], [0.2, 0.8]])
    assert repr(alignment) == "Alignment(le–the chat–cat)"
    assert repr(regard.Alignment(["le"], ["the"], [[0.0]])) == "Alignment(no attention)"
    scores = [regard.ScoreLine("BLEU", 43.21, 41.0, 45.0, "nrefs:1"), regard.ScoreLine("TER", 9)]
    evaluation = regard.Evaluation("5 sentences", scores)
    assert repr(evaluation) == "Evaluation(5 sentences: BLEU 43.21 [41.00, 45.00], TER 9.00)"
    assert str(evaluation).splitlines()[1:3] == [
        "BLEU               43.21  [41.00, 45.00]",
        "                 nrefs:1",
    ]


class Page(HTMLParser):
    """The tags and texts of a page; a tag that is not closed is an error."""

    def __init__(self, html: str) -> None:
        super().__init__()
        self.open: list[str] = []
        self.tags: set[str] = set()
        self.text = ""
        self.feed(html)
        self.close()
        assert not self.open

    def handle_starttag(self, tag: str, attrs: Any) -> None:
        self.open.append(tag)
        self.tags.add(tag)

    def handle_endtag(self, tag: str) -> None:
        assert self.open.pop() == tag

    def handle_data(self, data: str) -> None:
        self.text += data


BAD = "<script>alert('&amp;')</script>"


def views() -> Iterator[Any]:
    yield regard.Classification(BAD, {BAD: 0.9, "b": 0.1})
    yield regard.TaggedSentence([regard.TaggedWord(BAD, "X", 0.5), regard.TaggedWord("b", BAD, 1)])
    yield regard.Filled(BAD, [])
    yield regard.Translation(BAD, -0.1, [BAD], [-0.1], finished=True)
    yield regard.Alignment([BAD], ["b"], [[0.5]])
    yield regard.Alignment(["b"], [BAD], [[0.5]])
    yield regard.Evaluation(BAD, [regard.ScoreLine("a", 1.0)])
    yield regard.Evaluation("a", [regard.ScoreLine(BAD, 1.0, 0.0, 2.0, "nrefs:1")])
    yield regard.Run(Path(BAD))


@pytest.mark.parametrize("view", list(views()), ids=lambda view: type(view).__name__)
def test_what_a_notebook_shows_is_escaped(view: Any) -> None:
    page = Page(view._repr_html_())
    assert "script" not in page.tags
    assert "alert('&amp;')" in page.text or "alert(\\'&amp;\\')" in page.text


def test_an_evaluation_is_a_table_without_empty_columns() -> None:
    table = regard.Evaluation("5 texts", [regard.ScoreLine("accuracy", 50.0)])._repr_html_()
    assert Page(table).text == "5 textsscorevalueaccuracy50.00"


def test_a_run_shows_its_figures(runs: Path) -> None:
    text = Page(regard.Run(runs / "runs/demo")._repr_html_()).text
    assert "parameters9,376" in text
    assert "validation loss" in text


def test_a_translator_aligns_its_own_translation(loaded: dict[str, Any]) -> None:
    translator = loaded["demo"]
    own = translator.translations(["le chat 7"])[0][0].ids
    assert translator.align("le chat 7") == translator.align("le chat 7", own)


def test_a_wrong_recipe_is_our_error_and_a_right_one_can_be_copied() -> None:
    with pytest.raises(regard.RecipeError, match=r"unknown key data\.trian; did you mean data\.tr"):
        regard.Recipe(data={"trian": ["a.en", "a.de"]})
    with pytest.raises(regard.RecipeError, match="nope: there is no such task"):
        regard.Recipe(task="nope")
    recipe = regard.Recipe(task="tagging", data={"train": ["a.conll"]}, seed=3)
    assert type(recipe).__name__ == "TaggingRecipe"
    assert pickle.loads(pickle.dumps(recipe)) == copy.deepcopy(recipe) == copy.copy(recipe)
    assert copy.deepcopy(recipe) == recipe
    assert recipe.model_copy(update={"seed": 4}).seed == 4


def test_a_run_is_named_by_a_folder(runs: Path) -> None:
    for ask in (regard.load, regard.Run.open, regard.evaluate_run):
        with pytest.raises(RequestError, match=r"^None: give the name of a run folder$"):
            ask(None)  # type: ignore[operator]


def test_one_file_may_be_named_alone_and_sentences_speak_python(runs: Path) -> None:
    Path("test.tsv").write_text("".join(f"{label}\t{text}\n" for text, label in REVIEWS))
    assert (
        regard.evaluate_run(runs / "runs/reviews", "test.tsv", bootstrap=0).score("accuracy") >= 0
    )
    Path("test.fr").write_text("a b\n")
    with pytest.raises(DataError, match=r"one file of plain text holds no pairs; give the file"):
        regard.evaluate_run(runs / "runs/demo", "test.fr")


def test_one_run_alone_is_not_several_and_a_number_of_heads_is_one(runs: Path) -> None:
    with pytest.raises(RequestError, match=r"runs/demo: give several run folders in a list$"):
        regard.compare_runs("runs/demo")
    with pytest.raises(RequestError, match=r"keep 0: that is 0 of \d+ heads; keep from"):
        regard.prune(runs / "runs/demo", Path("smaller"), keep=0)
