"""Train sequence models on your own data, look inside them, put them to work.

The public names, in the order in which a program meets them. Each is loaded when it is
first used, so that `import regard` and `regard --help` answer at once.

>>> import regard
>>> run = regard.train(pairs=[("le chat", "the cat"), …], out="runs/fr-en")  # doctest: +SKIP
>>> run.load().translate("le chat")  # doctest: +SKIP
'the cat'
"""

from importlib import import_module
from typing import TYPE_CHECKING, Any

from regard.errors import DataError, RecipeError, RegardError, RequestError, RunError

if TYPE_CHECKING:
    from regard.api import evaluate as evaluate_run
    from regard.api import load
    from regard.api.estimators import ClassifierEstimator, TaggerEstimator
    from regard.api.train import train, training_run
    from regard.compare.runs import compare as compare_runs
    from regard.data.pair_filter import PairFilter
    from regard.decode.search import Search
    from regard.evaluate.scores import corpus_scores
    from regard.recipe import Recipe
    from regard.recipe import read as read_recipe
    from regard.run import Run
    from regard.tasks.attender import Attender
    from regard.tasks.captioner import Captioner, ImageCaption
    from regard.tasks.classification import Classification, Classifier
    from regard.tasks.embedder import Embedder
    from regard.tasks.filler import Filled, Filler
    from regard.tasks.forecast import Forecast
    from regard.tasks.forecaster import Forecaster
    from regard.tasks.image_index import Hit
    from regard.tasks.matcher import Match, Matcher
    from regard.tasks.neighbours import Neighbour, Neighbours, WordVectors
    from regard.tasks.tagging import TaggedSentence, TaggedWord, Tagger
    from regard.tasks.task import Evaluation, ScoreLine, Task
    from regard.tasks.translation.calibrating import calibrate
    from regard.tasks.translation.confidence import Confidence
    from regard.tasks.translation.documents import TranslatedFile
    from regard.tasks.translation.heads import head_importance, prune
    from regard.tasks.translation.learn import learn
    from regard.tasks.translation.looking import Alignment
    from regard.tasks.translation.translation import Translation
    from regard.tasks.translation.translator import Translator
    from regard.tasks.writer import Writer
    from regard.tasks.writing import Writing
    from regard.text.tokenizer import Tokenizer

__all__ = [  # noqa: RUF022
    "train",
    "training_run",
    "load",
    "Run",
    "Translator",
    "Translation",
    "TranslatedFile",
    "Search",
    "Alignment",
    "Confidence",
    "Writer",
    "Writing",
    "Classifier",
    "Classification",
    "ClassifierEstimator",
    "Captioner",
    "ImageCaption",
    "Tagger",
    "TaggedSentence",
    "TaggedWord",
    "TaggerEstimator",
    "Filler",
    "Filled",
    "Matcher",
    "Match",
    "Hit",
    "Forecaster",
    "Forecast",
    "WordVectors",
    "Neighbours",
    "Neighbour",
    "Embedder",
    "Attender",
    "evaluate_run",
    "Evaluation",
    "ScoreLine",
    "corpus_scores",
    "compare_runs",
    "calibrate",
    "learn",
    "head_importance",
    "prune",
    "Recipe",
    "read_recipe",
    "Task",
    "Tokenizer",
    "PairFilter",
    "RegardError",
    "RecipeError",
    "DataError",
    "RunError",
    "RequestError",
]

_HOMES = {
    "train": "regard.api.train:train",
    "training_run": "regard.api.train:training_run",
    "load": "regard.api:load",
    "Run": "regard.run:Run",
    "Translator": "regard.tasks.translation.translator:Translator",
    "Translation": "regard.tasks.translation.translation:Translation",
    "TranslatedFile": "regard.tasks.translation.documents:TranslatedFile",
    "Search": "regard.decode.search:Search",
    "Alignment": "regard.tasks.translation.looking:Alignment",
    "Writer": "regard.tasks.writer:Writer",
    "Writing": "regard.tasks.writing:Writing",
    "Classifier": "regard.tasks.classification:Classifier",
    "Classification": "regard.tasks.classification:Classification",
    "ClassifierEstimator": "regard.api.estimators:ClassifierEstimator",
    "Captioner": "regard.tasks.captioner:Captioner",
    "ImageCaption": "regard.tasks.captioner:ImageCaption",
    "Tagger": "regard.tasks.tagging:Tagger",
    "TaggedSentence": "regard.tasks.tagging:TaggedSentence",
    "TaggedWord": "regard.tasks.tagging:TaggedWord",
    "TaggerEstimator": "regard.api.estimators:TaggerEstimator",
    "Filler": "regard.tasks.filler:Filler",
    "Filled": "regard.tasks.filler:Filled",
    "Matcher": "regard.tasks.matcher:Matcher",
    "Match": "regard.tasks.matcher:Match",
    "Hit": "regard.tasks.image_index:Hit",
    "Forecaster": "regard.tasks.forecaster:Forecaster",
    "Forecast": "regard.tasks.forecast:Forecast",
    "WordVectors": "regard.tasks.neighbours:WordVectors",
    "Neighbours": "regard.tasks.neighbours:Neighbours",
    "Neighbour": "regard.tasks.neighbours:Neighbour",
    "Embedder": "regard.tasks.embedder:Embedder",
    "Attender": "regard.tasks.attender:Attender",
    "evaluate_run": "regard.api:evaluate",
    "Evaluation": "regard.tasks.task:Evaluation",
    "ScoreLine": "regard.tasks.task:ScoreLine",
    "corpus_scores": "regard.evaluate.scores:corpus_scores",
    "compare_runs": "regard.compare.runs:compare",
    "Confidence": "regard.tasks.translation.confidence:Confidence",
    "learn": "regard.tasks.translation.learn:learn",
    "calibrate": "regard.tasks.translation.calibrating:calibrate",
    "head_importance": "regard.tasks.translation.heads:head_importance",
    "prune": "regard.tasks.translation.heads:prune",
    "Recipe": "regard.recipe:Recipe",
    "read_recipe": "regard.recipe:read",
    "Task": "regard.tasks.task:Task",
    "Tokenizer": "regard.text.tokenizer:Tokenizer",
    "PairFilter": "regard.data.pair_filter:PairFilter",
}


def __getattr__(name: str) -> Any:
    if name == "__version__":
        from importlib.metadata import version

        globals()[name] = value = version("regard")
        return value
    if name not in _HOMES:
        raise AttributeError(f"module 'regard' has no attribute {name!r}")
    module, _, attribute = _HOMES[name].partition(":")
    globals()[name] = value = getattr(import_module(module), attribute)
    return value


def __dir__() -> list[str]:
    return [*__all__, "__version__"]
