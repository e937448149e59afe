"""The models. `build` is the only list of them."""

from regard.models.bert import Bert, BertConfig
from regard.models.gpt import GPT, GPTConfig
from regard.models.recurrent import Recurrent, RecurrentConfig
from regard.models.transformer import Transformer, TransformerConfig

__all__ = [
    "GPT",
    "Bert",
    "BertConfig",
    "GPTConfig",
    "Model",
    "ModelConfig",
    "Recurrent",
    "RecurrentConfig",
    "Transformer",
    "TransformerConfig",
    "build",
]

ModelConfig = TransformerConfig | RecurrentConfig
Model = Transformer | Recurrent


def build(config: ModelConfig, source_vocabulary: int, target_vocabulary: int) -> Model:
    """A fresh model for a recipe's [model] section."""
    match config:
        case TransformerConfig():
            return Transformer(config, source_vocabulary, target_vocabulary)
        case RecurrentConfig():
            return Recurrent(config, source_vocabulary, target_vocabulary)
