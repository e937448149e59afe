"""The public names: exactly these, each where it says, none loaded before it is used."""

import pkgutil
import subprocess
import sys
from importlib.metadata import version

import regard

NAMES = [
    *("train", "training_run", "load", "Run"),
    *("Translator", "Translation", "TranslatedFile", "Search", "Alignment", "Confidence"),
    *("Writer", "Writing"),
    *("Classifier", "Classification", "ClassifierEstimator"),
    *("Captioner", "ImageCaption"),
    *("Tagger", "TaggedSentence", "TaggedWord", "TaggerEstimator"),
    *("Filler", "Filled", "Matcher", "Match", "Hit"),
    *("Forecaster", "Forecast", "WordVectors"),
    *("Neighbours", "Neighbour", "Embedder", "Attender"),
    *("evaluate_run", "Evaluation", "ScoreLine", "corpus_scores"),
    *("compare_runs", "calibrate", "learn", "head_importance", "prune"),
    *("Recipe", "read_recipe", "Task", "Tokenizer", "PairFilter"),
    *("RegardError", "RecipeError", "DataError", "RunError", "RequestError"),
]


def test_all_is_the_list() -> None:
    assert regard.__all__ == NAMES
    assert dir(regard) == sorted([*NAMES, "__version__"])
    assert regard.__version__ == version("regard")


def test_every_name_resolves_and_is_documented() -> None:
    for name in NAMES:
        assert getattr(regard, name).__doc__, name


def test_train_is_the_function_even_after_its_package_was_imported() -> None:
    code = "import regard.training.run, regard; assert callable(regard.train), regard.train"
    subprocess.run([sys.executable, "-c", code], check=True)


def test_no_name_is_that_of_a_module() -> None:
    """Importing `regard.evaluate.scores` makes `regard.evaluate` the package, whatever it was."""
    assert not {module.name for module in pkgutil.iter_modules(regard.__path__)} & set(NAMES)


def test_names_are_loaded_when_they_are_used() -> None:
    code = "import sys, regard; assert not {'torch', 'numpy', 'pydantic'} & set(sys.modules)"
    subprocess.run([sys.executable, "-c", code], check=True)


def test_an_unknown_name_is_an_attribute_error() -> None:
    assert not hasattr(regard, "Trainer")


def test_every_error_is_a_regard_error() -> None:
    for name in ("RecipeError", "DataError", "RunError", "RequestError"):
        assert issubclass(getattr(regard, name), regard.RegardError)
