"""The public names: exactly these, each where it says, none loaded before it is used."""

import subprocess
import sys

import regard

NAMES = [
    *("Recipe", "read_recipe", "Tokenizer", "train", "training_run", "Run"),
    *("Translator", "Search", "Translation", "Alignment"),
    *(
        "Writer",
        "Writing",
        "Classifier",
        "Tagger",
        "Filler",
        "Embedder",
        "Attender",
        "corpus_scores",
    ),
    *("RegardError", "RecipeError", "DataError", "RunError", "RequestError"),
]


def test_all_is_the_list() -> None:
    assert regard.__all__ == NAMES
    assert dir(regard) == sorted(NAMES)


def test_every_name_resolves_and_is_documented() -> None:
    for name in NAMES:
        assert getattr(regard, name).__doc__, name


def test_train_is_the_function_even_after_its_package_was_imported() -> None:
    code = "import regard.training.run, regard; assert callable(regard.train), regard.train"
    subprocess.run([sys.executable, "-c", code], check=True)


def test_an_unknown_name_is_an_attribute_error() -> None:
    assert not hasattr(regard, "Trainer")


def test_every_error_is_a_regard_error() -> None:
    for name in ("RecipeError", "DataError", "RunError", "RequestError"):
        assert issubclass(getattr(regard, name), regard.RegardError)
