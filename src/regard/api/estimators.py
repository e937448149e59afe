"""Classifiers and taggers with scikit-learn's verbs. scikit-learn itself is not needed.

`fit` trains a run, so all that is true of runs is true here; pipelines, cross-validation and
searches of scikit-learn work with these as with its own estimators.
"""

import inspect
import shutil
import tempfile
import weakref
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, Self

from regard.errors import RequestError
from regard.tasks.inputs import items_of

if TYPE_CHECKING:
    from numpy.typing import NDArray


class Estimator:
    """What both have in common: parameters, and a run that is trained by `fit`."""

    def __init__(
        self,
        out: Path | str | None = None,
        settings: Mapping[str, Any] | None = None,
        from_run: Path | str | None = None,
        progress: bool = False,
        device: str = "cpu",
    ) -> None:
        self.out = out
        self.settings = settings
        self.from_run = from_run
        self.progress = progress
        self.device = device

    def __repr__(self) -> str:
        given = [f"{name}={value!r}" for name, value in self.get_params().items() if value]
        return f"{type(self).__name__}({', '.join(given)})"

    def get_params(self, deep: bool = True) -> dict[str, Any]:
        """Return the parameters that it was made with.

        Parameters
        ----------
        deep
            Ignored: no parameter is an estimator.

        Returns
        -------
        dict
        """
        names = list(inspect.signature(Estimator.__init__).parameters)[1:]
        return {name: getattr(self, name) for name in names}

    def set_params(self, **params: Any) -> Self:
        """Change parameters.

        Parameters
        ----------
        **params
            By name.

        Returns
        -------
        the estimator itself

        Raises
        ------
        RequestError
            There is no such parameter.
        """
        known = self.get_params()
        for name, value in params.items():
            if name not in known:
                raise RequestError(f"there is no parameter {name!r}; there are {', '.join(known)}")
            setattr(self, name, value)
        return self

    def _fit(self, **data: Any) -> None:
        from regard.api.train import train

        folder: Path | str | None = self.out
        if folder is None:
            folder = Path(tempfile.mkdtemp(prefix="regard-"))
            weakref.finalize(self, shutil.rmtree, folder, ignore_errors=True)
        self.run_ = train(
            out=folder,
            settings=self.settings,
            from_run=self.from_run,
            progress=self.progress,
            **data,
        )
        self._loaded = None

    def _answering(self) -> Any:
        if not hasattr(self, "run_"):
            raise RequestError(f"this {type(self).__name__} is not fitted; call fit first")
        if getattr(self, "_loaded", None) is None:
            self._loaded = self.run_.load(self.device)
        return self._loaded

    def __sklearn_is_fitted__(self) -> bool:
        return hasattr(self, "run_")

    def __getstate__(self) -> dict[str, Any]:
        """A copy loads the run again; it has no run any more when a temporary folder has ended."""
        return {**vars(self), "_loaded": None}


class ClassifierEstimator(Estimator):
    """A classifier of texts with scikit-learn's verbs.

    Parameters
    ----------
    out
        The run folder. By default a temporary one, which ends with the estimator; in
        cross-validation leave it so, since each part of the data needs a run of its own.
    settings
        Settings of the recipe, like `{"train.steps": 200}`.
    from_run
        A run to start from, such as a masked language model.
    progress
        Whether to show progress.
    device
        Where to predict: cpu, cuda, mps or auto.

    Attributes
    ----------
    classes_ : numpy array
        The labels, sorted.
    run_ : Run
        The run that `fit` trained.

    Examples
    --------
    >>> import regard
    >>> texts = [f"film {n} is {word}" for n in range(40) for word in ("good", "bad")]
    >>> labels = ["pos", "neg"] * 40
    >>> classifier = regard.ClassifierEstimator(settings={"train.steps": 2})
    >>> classifier.fit(texts, labels).predict_proba(["a good film"]).shape
    (1, 2)
    """

    classes_: "NDArray[Any]"

    def fit(self, X: Sequence[str], y: Sequence[Any]) -> Self:
        """Train on texts and their labels.

        Parameters
        ----------
        X
            Texts.
        y
            A label for each, as a string or a whole number.

        Returns
        -------
        the estimator itself

        Raises
        ------
        DataError
            A text or a label is not one, or there are too few.
        """
        import numpy as np

        texts, labels = listed(X, "fit", "text"), np.asarray(listed(y, "fit", "label"))
        same_length("fit", texts=texts, labels=labels)
        self._fit(labelled=zip(texts, labels.tolist(), strict=True))
        self.classes_ = np.unique(labels)
        return self

    def predict_proba(self, X: Sequence[str]) -> "NDArray[Any]":
        """Predict the probability of each label.

        Parameters
        ----------
        X
            Texts.

        Returns
        -------
        numpy array
            [texts, labels], in the order of `classes_`.

        Raises
        ------
        RequestError
            It is not fitted.
        """
        import numpy as np

        found = self._answering().classify(listed(X, "predict", "text"))
        names = [str(each) for each in self.classes_.tolist()]
        rows = [[each.probabilities[name] for name in names] for each in found]
        return np.array(rows).reshape(len(rows), len(names))

    def predict(self, X: Sequence[str]) -> "NDArray[Any]":
        """Predict labels.

        Parameters
        ----------
        X
            Texts.

        Returns
        -------
        numpy array
            A label for each text, of the type that `fit` was given.

        Raises
        ------
        RequestError
            It is not fitted.
        """
        found = self.predict_proba(X).argmax(-1)
        return self.classes_[found]  # type: ignore[no-any-return]

    def score(self, X: Sequence[str], y: Sequence[Any]) -> float:
        """Compute the accuracy.

        Parameters
        ----------
        X
            Texts.
        y
            Their labels.

        Returns
        -------
        float
            From 0 to 1.

        Raises
        ------
        RequestError
            It is not fitted.
        """
        import numpy as np

        texts, labels = listed(X, "score", "text"), listed(y, "score", "label")
        same_length("score", texts=texts, labels=labels)
        return float((self.predict(texts) == np.asarray(labels)).mean())

    def __sklearn_tags__(self) -> Any:
        from sklearn.utils import ClassifierTags

        return tags("classifier", ClassifierTags())


class TaggerEstimator(Estimator):
    """A tagger of words with scikit-learn's verbs.

    Parameters
    ----------
    out, settings, from_run, progress, device
        As for `ClassifierEstimator`.

    Attributes
    ----------
    classes_ : list of str
        The labels, sorted.
    run_ : Run
        The run that `fit` trained.

    Examples
    --------
    >>> import regard
    >>> sentences, labels = [["she", "reads"]] * 80, [["PRON", "VERB"]] * 80
    >>> tagger = regard.TaggerEstimator(settings={"train.steps": 2, "data.held_out_share": 0.4})
    >>> tagger.get_params()["device"]
    'cpu'
    """

    classes_: list[str]

    def fit(self, X: Sequence[Sequence[str]], y: Sequence[Sequence[Any]]) -> Self:
        """Train on sentences and the labels of their words.

        Parameters
        ----------
        X
            Sentences as lists of words.
        y
            The labels of each sentence's words.

        Returns
        -------
        the estimator itself

        Raises
        ------
        DataError
            There are not as many labels as words, or too few sentences.
        """
        sentences, labels = listed(X, "fit", "sentence"), listed(y, "fit", "list of labels")
        same_length("fit", sentences=sentences, lists_of_labels=labels)
        self._fit(tagged=zip(sentences, labels, strict=True))
        self.classes_ = self.run_.labels()
        return self

    def predict(self, X: Sequence[Sequence[str]]) -> list[list[str]]:
        """Predict the labels of words.

        Parameters
        ----------
        X
            Sentences as lists of words.

        Returns
        -------
        list of list of str
            A label for each word.

        Raises
        ------
        RequestError
            It is not fitted.
        """
        sentences = listed(X, "predict", "sentence")
        return [[word.label for word in each] for each in self._answering().tag(sentences)]

    def score(self, X: Sequence[Sequence[str]], y: Sequence[Sequence[Any]]) -> float:
        """Compute the share of words with the right label.

        Parameters
        ----------
        X
            Sentences as lists of words.
        y
            The labels of their words.

        Returns
        -------
        float
            From 0 to 1.

        Raises
        ------
        RequestError
            It is not fitted.
        """
        sentences, labels = listed(X, "score", "sentence"), listed(y, "score", "list of labels")
        same_length("score", sentences=sentences, lists_of_labels=labels)
        for words, row in zip(sentences, labels, strict=True):
            same_length("score", words=words, labels=row)
        true = [str(label) for row in labels for label in row]
        found = [label for row in self.predict(sentences) for label in row]
        return sum(map(str.__eq__, found, true)) / max(1, len(true))

    def __sklearn_tags__(self) -> Any:
        return tags(None, None)


def listed(given: Any, verb: str, unit: str) -> list[Any]:
    """What scikit-learn calls X or y, as a list. One text is not several of a letter each."""
    if isinstance(given, str):
        raise RequestError(f"{verb} takes a list of {unit}s; write {[given]!r}")
    return items_of(given, verb, unit)


def same_length(verb: str, **given: Any) -> None:
    (first, ones), (second, others) = given.items()
    if len(ones) != len(others):
        raise RequestError(
            f"{verb}: {len(ones):,} {first} and {len(others):,} {second.replace('_', ' ')}; "
            "give one for each"
        )


def tags(kind: str | None, classifier: Any) -> Any:
    """What scikit-learn asks of an estimator; only scikit-learn calls this."""
    from sklearn.utils import InputTags, Tags, TargetTags

    return Tags(
        estimator_type=kind,
        target_tags=TargetTags(required=True),
        classifier_tags=classifier,
        input_tags=InputTags(two_d_array=False, string=True),
    )
