"""The models. `build` is the only list of them."""

from regard.models.transformer import Transformer, TransformerConfig

ModelConfig = TransformerConfig
Model = Transformer


def build(config: ModelConfig, source_vocabulary: int, target_vocabulary: int) -> Model:
    """A fresh model for a recipe's [model] section."""
    match config:
        case TransformerConfig():
            return Transformer(config, source_vocabulary, target_vocabulary)
