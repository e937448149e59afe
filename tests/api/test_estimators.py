"""Classifier and tagger under scikit-learn's verbs, and in its tools."""

import pickle
import subprocess
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from regard import ClassifierEstimator, RegardError, RequestError, Run, RunError, TaggerEstimator
from tests.api.conftest import REVIEWS, SENTENCES, TINY

TEXTS = [text for text, _ in REVIEWS]
LABELS = [label for _, label in REVIEWS]
LEARNS = {**TINY, "train.steps": 60, "train.learning_rate": 0.01, "train.warmup_steps": 5}


def test_a_classifier_learns_and_predicts() -> None:
    numbers = [1 if label == "pos" else 0 for label in LABELS]
    classifier = ClassifierEstimator(settings=LEARNS).fit(TEXTS, numbers)
    assert classifier.classes_.tolist() == [0, 1]
    assert classifier.score(TEXTS, numbers) > 0.9
    probabilities = classifier.predict_proba(np.array(TEXTS[:3]))
    np.testing.assert_allclose(probabilities.sum(1), 1, rtol=1e-5)
    found = classifier.predict(TEXTS[:3])
    assert found.dtype == np.array(numbers).dtype
    assert found.tolist() == classifier.classes_[probabilities.argmax(1)].tolist()
    assert classifier.predict([]).shape == (0,)


def test_a_tagger_learns_and_predicts() -> None:
    sentences, labels = map(list, zip(*SENTENCES, strict=True))
    tagger = TaggerEstimator(settings=LEARNS).fit(sentences, labels)
    assert tagger.classes_ == ["NOUN", "PRON", "VERB"]
    assert tagger.score(sentences, labels) > 0.9
    assert tagger.predict([["she", "reads"]]) == [["PRON", "VERB"]]


def test_the_run_folder_is_kept_or_ends_with_the_estimator(tmp_path: Path) -> None:
    kept = ClassifierEstimator(out="run", settings=TINY).fit(TEXTS, LABELS)
    assert kept.run_ == Run(Path("run"))
    again = pickle.loads(pickle.dumps(kept))
    assert again.predict(TEXTS[:2]).tolist() == kept.predict(TEXTS[:2]).tolist()
    with pytest.raises(RunError, match="holds a run on other examples"):
        ClassifierEstimator(out="run", settings=TINY).fit(TEXTS[:-1], LABELS[:-1])
    temporary = ClassifierEstimator(settings=TINY).fit(TEXTS, LABELS)
    folder = temporary.run_.folder
    assert folder.exists()
    del temporary
    assert not folder.exists()


def test_parameters_are_read_and_changed() -> None:
    tagger = TaggerEstimator(settings={"seed": 2})
    assert tagger.get_params()["settings"] == {"seed": 2}
    assert tagger.set_params(device="auto") is tagger
    assert repr(tagger) == "TaggerEstimator(settings={'seed': 2}, device='auto')"
    with pytest.raises(RequestError, match="there is no parameter 'depth'; there are out"):
        tagger.set_params(depth=3)
    with pytest.raises(RequestError, match="this TaggerEstimator is not fitted; call fit first"):
        tagger.predict([["a"]])


@pytest.mark.parametrize(
    ("texts", "labels", "sentence"),
    [
        (TEXTS, LABELS[:-1], r"fit: \d+ texts and \d+ labels; give one for each$"),
        (None, LABELS, "fit takes a text or several, not None"),
        (TEXTS, None, "fit takes a label or several, not None"),
        ("a text", ["pos"], r"fit takes a list of texts; write \['a text'\]$"),
        (
            np.zeros((5, 3)),
            LABELS[:5],
            r"example 1: the text is array\(\[0., 0., 0.\]\), not a text",
        ),
    ],
)
def test_what_cannot_be_fitted_is_said(texts: Any, labels: Any, sentence: str) -> None:
    with pytest.raises(RegardError, match=sentence):
        ClassifierEstimator(settings=TINY).fit(texts, labels)


def test_what_cannot_be_predicted_is_said() -> None:
    classifier = ClassifierEstimator(settings=TINY)
    for ask in (classifier.predict, classifier.predict_proba):
        with pytest.raises(RequestError, match="this ClassifierEstimator is not fitted"):
            ask(TEXTS)
    classifier.fit(TEXTS, LABELS)
    for ask in (classifier.predict, classifier.predict_proba):
        with pytest.raises(RequestError, match=r"predict takes a list of texts; write \['good'\]$"):
            ask("good")  # not four texts of a letter each
    with pytest.raises(RequestError, match="score: 3 texts and 2 labels; give one for each"):
        classifier.score(TEXTS[:3], LABELS[:2])


def test_a_tagger_scores_a_label_for_each_word() -> None:
    sentences, labels = map(list, zip(*SENTENCES, strict=True))
    tagger = TaggerEstimator(settings=TINY).fit(sentences, labels)
    with pytest.raises(
        RequestError, match="score: 2 sentences and 1 lists of labels; give one for each"
    ):
        tagger.score(sentences[:2], labels[:1])
    with pytest.raises(RequestError, match=r"score: \d words and 1 labels; give one for each"):
        tagger.score(sentences[:1], [labels[0][:1]])
    with pytest.raises(RequestError, match="fit: 2 sentences and 1 lists of labels"):
        TaggerEstimator(settings=TINY).fit(sentences[:2], labels[:1])


def test_scikit_learn_is_not_needed() -> None:
    code = """
import sys
sys.modules["sklearn"] = None
import regard
print(regard.ClassifierEstimator(), regard.TaggerEstimator().get_params())
assert "torch" not in sys.modules
"""
    subprocess.run([sys.executable, "-c", code], check=True, capture_output=True)


@pytest.mark.filterwarnings("ignore::DeprecationWarning")
def test_scikit_learn_takes_them_for_its_own() -> None:
    sklearn: Any = pytest.importorskip("sklearn")
    from sklearn.base import clone, is_classifier
    from sklearn.model_selection import GridSearchCV, cross_val_score
    from sklearn.pipeline import make_pipeline
    from sklearn.preprocessing import FunctionTransformer

    assert sklearn.__version__
    classifier = ClassifierEstimator(settings=TINY)
    assert is_classifier(classifier)
    assert clone(classifier).get_params() == classifier.get_params()
    scores = cross_val_score(classifier, TEXTS, LABELS, cv=2)
    assert len(scores) == 2
    assert all(0 <= score <= 1 for score in scores)
    lower = FunctionTransformer(lambda texts: [text.lower() for text in texts])
    pipeline = make_pipeline(lower, classifier).fit(TEXTS, LABELS)
    assert pipeline.predict(TEXTS[:2]).shape == (2,)
    grid = {"settings": [{**TINY, "seed": seed} for seed in (1, 2)]}
    found = GridSearchCV(classifier, grid, cv=2).fit(TEXTS, LABELS)
    assert found.best_params_["settings"]["seed"] in (1, 2)
    sentences, labels = map(list, zip(*SENTENCES, strict=True))
    assert len(cross_val_score(TaggerEstimator(settings=TINY), sentences, labels, cv=2)) == 2
