"""Train sequence models on your own data, look inside them, put them to work.

The public names, in the order of the flow. Each is loaded when it is first used, so that
`import regard` and `regard --help` answer at once.
"""

from importlib import import_module
from typing import TYPE_CHECKING, Any

from regard.errors import DataError, RecipeError, RegardError, RequestError, RunError

if TYPE_CHECKING:
    from regard.api import evaluate as evaluate_run
    from regard.api import load
    from regard.compare.runs import compare as compare_runs
    from regard.data.pair_filter import PairFilter
    from regard.decode.search import Search
    from regard.evaluate.scores import corpus_scores
    from regard.recipe import Recipe
    from regard.recipe import read as read_recipe
    from regard.run import Run
    from regard.tasks.attender import Attender
    from regard.tasks.classification import Classifier
    from regard.tasks.embedder import Embedder
    from regard.tasks.filler import Filler
    from regard.tasks.tagging import Tagger
    from regard.tasks.task import Evaluation, Task
    from regard.tasks.translation.heads import head_importance, prune
    from regard.tasks.translation.looking import Alignment
    from regard.tasks.translation.translator import Translation, Translator
    from regard.tasks.writer import Writer, Writing
    from regard.text.tokenizer import Tokenizer
    from regard.training.run import train, training_run

__all__ = [  # noqa: RUF022
    "Recipe",
    "read_recipe",
    "Task",
    "PairFilter",
    "Tokenizer",
    "train",
    "training_run",
    "Run",
    "load",
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
    "evaluate_run",
    "Evaluation",
    "corpus_scores",
    "compare_runs",
    "head_importance",
    "prune",
    "RegardError",
    "RecipeError",
    "DataError",
    "RunError",
    "RequestError",
]

_HOMES = {
    "Recipe": "regard.recipe:Recipe",
    "read_recipe": "regard.recipe:read",
    "Task": "regard.tasks.task:Task",
    "PairFilter": "regard.data.pair_filter:PairFilter",
    "Tokenizer": "regard.text.tokenizer:Tokenizer",
    "train": "regard.training.run:train",
    "training_run": "regard.training.run:training_run",
    "Run": "regard.run:Run",
    "load": "regard.api:load",
    "Translator": "regard.tasks.translation.translator:Translator",
    "Search": "regard.decode.search:Search",
    "Translation": "regard.tasks.translation.translator:Translation",
    "Alignment": "regard.tasks.translation.looking:Alignment",
    "Writer": "regard.tasks.writer:Writer",
    "Writing": "regard.tasks.writer:Writing",
    "Classifier": "regard.tasks.classification:Classifier",
    "Tagger": "regard.tasks.tagging:Tagger",
    "Filler": "regard.tasks.filler:Filler",
    "Embedder": "regard.tasks.embedder:Embedder",
    "Attender": "regard.tasks.attender:Attender",
    "evaluate_run": "regard.api:evaluate",
    "Evaluation": "regard.tasks.task:Evaluation",
    "corpus_scores": "regard.evaluate.scores:corpus_scores",
    "compare_runs": "regard.compare.runs:compare",
    "head_importance": "regard.tasks.translation.heads:head_importance",
    "prune": "regard.tasks.translation.heads:prune",
}


def __getattr__(name: str) -> Any:
    if name not in _HOMES:
        raise AttributeError(f"module 'regard' has no attribute {name!r}")
    module, _, attribute = _HOMES[name].partition(":")
    globals()[name] = value = getattr(import_module(module), attribute)
    return value


def __dir__() -> list[str]:
    return __all__
