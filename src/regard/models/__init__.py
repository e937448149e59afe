"""The models. `build` is the only list of them."""

from torch import nn

from regard.configs.bert import BertConfig
from regard.configs.gpt import GPTConfig
from regard.configs.head import HeadConfig
from regard.configs.letters import LettersConfig
from regard.configs.linear import LinearConfig
from regard.configs.recurrent import ReaderConfig, RecurrentConfig, RecurrentLanguageModelConfig
from regard.configs.transformer import TransformerConfig
from regard.models.bert import Bert
from regard.models.gpt import GPT
from regard.models.labeller import Labeller
from regard.models.linear import Linear
from regard.models.reader import Reader
from regard.models.recurrent import Recurrent
from regard.models.recurrent_language_model import RecurrentLanguageModel
from regard.models.transformer import Transformer

__all__ = [
    "GPT",
    "Bert",
    "BertConfig",
    "GPTConfig",
    "HeadConfig",
    "Labeller",
    "LanguageModel",
    "Linear",
    "LinearConfig",
    "Model",
    "ModelConfig",
    "Reader",
    "ReaderConfig",
    "Recurrent",
    "RecurrentConfig",
    "RecurrentLanguageModel",
    "RecurrentLanguageModelConfig",
    "Transformer",
    "TransformerConfig",
    "build",
]

ModelConfig = (
    TransformerConfig
    | RecurrentConfig
    | GPTConfig
    | RecurrentLanguageModelConfig
    | BertConfig
    | ReaderConfig
    | LinearConfig
)
# Models that translate, and models that continue a text.
Model = Transformer | Recurrent
LanguageModel = GPT | RecurrentLanguageModel


def build(
    config: ModelConfig,
    inputs: int,
    outputs: int,
    head: HeadConfig | None = None,
    letters: LettersConfig | None = None,
) -> nn.Module:
    """A new model for a recipe's [model] section. It reads a vocabulary of `inputs` tokens and
    predicts one of `outputs` tokens or labels; labels if the recipe has a [head].
    A labeller may read the letters of words, too.
    """
    match config:
        case TransformerConfig():
            return Transformer(config, inputs, outputs)
        case RecurrentConfig():
            return Recurrent(config, inputs, outputs)
        case GPTConfig():
            return GPT(config, outputs)
        case RecurrentLanguageModelConfig():
            return RecurrentLanguageModel(config, outputs)
        case LinearConfig():
            return Linear(config, inputs, outputs)
        case BertConfig() | ReaderConfig() if head is not None:
            return Labeller(config, head, inputs, outputs, letters)
        case BertConfig():
            return Bert(config, outputs)
        case ReaderConfig():
            return Reader(config, inputs)
