"""Train sequence models on your own data, look inside them, put them to work.

The public names, in the order of the flow. Each is loaded when it is first used, so that
`import regard` and `regard --help` answer at once.
"""

from importlib import import_module
from typing import TYPE_CHECKING, Any

from regard.errors import DataError, RecipeError, RegardError, RequestError, RunError

if TYPE_CHECKING:
    from regard.checkpoint import Run
    from regard.evaluate.scores import corpus_scores
    from regard.recipe import Recipe
    from regard.recipe import read as read_recipe
    from regard.search import Search
    from regard.tasks import Alignment, Translation, Translator
    from regard.text.tokenizer import Tokenizer
    from regard.text_tasks.attender import Attender
    from regard.text_tasks.embedder import Embedder
    from regard.text_tasks.filler import Filler
    from regard.text_tasks.labelling import Classifier, Tagger
    from regard.text_tasks.writer import Writer, Writing
    from regard.training.run import train, training_run

__all__ = [  # noqa: RUF022
    "Recipe",
    "read_recipe",
    "Tokenizer",
    "train",
    "training_run",
    "Run",
    "Translator",
    "Search",
    "Translation",
    "Alignment",
    "Writer",
    "Writing",
    "Classifier",
    "Tagger",
    "Filler",
    "Embedder",
    "Attender",
    "corpus_scores",
    "RegardError",
    "RecipeError",
    "DataError",
    "RunError",
    "RequestError",
]

_HOMES = {
    "Recipe": "regard.recipe:Recipe",
    "read_recipe": "regard.recipe:read",
    "Tokenizer": "regard.text.tokenizer:Tokenizer",
    "train": "regard.training.run:train",
    "training_run": "regard.training.run:training_run",
    "Run": "regard.checkpoint:Run",
    "Translator": "regard.tasks:Translator",
    "Search": "regard.search:Search",
    "Translation": "regard.tasks:Translation",
    "Alignment": "regard.tasks:Alignment",
    "Writer": "regard.text_tasks.writer:Writer",
    "Writing": "regard.text_tasks.writer:Writing",
    "Classifier": "regard.text_tasks.labelling:Classifier",
    "Tagger": "regard.text_tasks.labelling:Tagger",
    "Filler": "regard.text_tasks.filler:Filler",
    "Embedder": "regard.text_tasks.embedder:Embedder",
    "Attender": "regard.text_tasks.attender:Attender",
    "corpus_scores": "regard.evaluate.scores:corpus_scores",
}


def __getattr__(name: str) -> Any:
    if name not in _HOMES:
        raise AttributeError(f"module 'regard' has no attribute {name!r}")
    module, _, attribute = _HOMES[name].partition(":")
    globals()[name] = value = getattr(import_module(module), attribute)
    return value


def __dir__() -> list[str]:
    return __all__
