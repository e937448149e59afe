"""Counts the parameters of a model from its settings. A test counts those of the models, too."""

from collections.abc import Mapping
from typing import Any

from pydantic import BaseModel

from regard.configs.bert import BertConfig
from regard.configs.captioner import RecurrentCaptionerConfig, TransformerCaptionerConfig
from regard.configs.clip import BagConfig
from regard.configs.cnn import CnnConfig
from regard.configs.gpt import GPTConfig
from regard.configs.image import ImageShape, total_parameters
from regard.configs.linear import LinearConfig
from regard.configs.lite0 import Lite0Config
from regard.configs.mlp import MlpConfig
from regard.configs.recurrent import (
    GATES,
    ReaderConfig,
    RecurrentConfig,
    RecurrentLanguageModelConfig,
)
from regard.configs.series import (
    SeriesConfig,
    SeriesLinearConfig,
    SeriesRecurrentConfig,
    SeriesSizes,
)
from regard.configs.series_work import HEADS, patches_of
from regard.configs.stack import OneStack
from regard.configs.transformer import TransformerConfig
from regard.configs.vit import VitConfig
from regard.configs.word_vectors import TwoTables

EncoderConfig = CnnConfig | VitConfig | MlpConfig | Lite0Config


def count_parameters(config: BaseModel, inputs: int, outputs: int, labelled: bool = False) -> int:
    """The number of parameters of a model that reads a vocabulary of `inputs` tokens and predicts
    one of `outputs` tokens, or labels if it is `labelled`; 0 for a model that is not known here.
    """
    match config:
        case TransformerConfig():
            return transformer(config, inputs, outputs)
        case RecurrentConfig():
            return recurrent(config, inputs, outputs)
        case GPTConfig():
            return gpt(config, outputs)
        case RecurrentLanguageModelConfig():
            tables = (1 if config.tied_embeddings else 2) * outputs * config.d_model
            return tables + layers(config.cell, config.d_model, config.d_model, config.num_layers)
        case BertConfig() if labelled:
            return headless(config, inputs) + linear(config.d_model, outputs)
        case BertConfig():
            return bert(config, outputs)
        case ReaderConfig():
            d = config.d_model
            read = encoder(config.cell, d, config.num_layers, config.bidirectional)
            return inputs * d + read + labelled * linear(d, outputs)
        case LinearConfig():
            return linear(inputs, outputs)
        case TwoTables():
            return 2 * inputs * config.d_model
    return 0


def num_parameters(recipe: Any, sizes: Mapping[str, int]) -> int:
    """The number of parameters of a recipe's model; see `count_parameters`."""
    inputs, outputs = sizes.get("inputs", 0), sizes.get("outputs", 0)
    model, encoder = recipe.model, getattr(recipe, "encoder", None)
    if isinstance(model, SeriesConfig):
        data = recipe.data
        found = SeriesSizes(data.context, data.horizon, sizes.get("known", 0), data.season)
        return forecaster(model, found)
    if encoder is None and not isinstance(model, EncoderConfig):
        count = count_parameters(model, inputs, outputs, hasattr(recipe, "head"))
        letters = getattr(recipe, "letters", None)
        return count + (letters.parameters(model.d_model) if letters else 0)
    data = recipe.data
    shape = ImageShape(data.image_size, data.image_size, data.channels)
    if encoder is None:
        return image_encoder(model, shape) + linear(model.d_model, outputs)
    width: int = encoder.d_model
    if space := getattr(recipe, "space", None):
        projections: int = (width + model.d_model) * space.width + 1
        return image_encoder(encoder, shape) + reader(model, inputs) + projections
    reading: int = linear(width, model.d_model) + 2 * model.d_model
    return image_encoder(encoder, shape) + reading + captioner(model, outputs)


def num_frozen(recipe: Any) -> int:
    """How many of the parameters are not learned, so that they have no gradients and moments."""
    encoder = getattr(recipe, "encoder", recipe.model)
    if not isinstance(encoder, Lite0Config) or not encoder.frozen:
        return 0
    return total_parameters(encoder.layers(ImageShape(0, 0, 0)))


def image_encoder(config: EncoderConfig, shape: ImageShape) -> int:
    count = total_parameters(config.layers(shape))
    if isinstance(config, VitConfig):
        positions = config.tokens(shape) * (config.positions == "learned")
        count += (positions + (config.pooling == "token")) * config.d_model + stack(config)
    return count


def reader(config: BaseModel, vocabulary: int) -> int:
    """The part of a matcher that reads texts, which predicts nothing."""
    match config:
        case BagConfig():
            return vocabulary * config.d_model
        case GPTConfig():
            return gpt(config.model_copy(update={"tied_embeddings": True}), vocabulary)
        case BertConfig():
            return headless(config, vocabulary)
    return count_parameters(config, vocabulary, 0)


def captioner(
    config: RecurrentCaptionerConfig | TransformerCaptionerConfig, vocabulary: int
) -> int:
    """The decoder of a captioner."""
    d = config.d_model
    embeddings = (1 if config.tied_embeddings else 2) * vocabulary * d
    if isinstance(config, TransformerCaptionerConfig):
        inner = feed_forward(d, config.d_ff, config.activation)
        return embeddings + config.num_layers * (2 * attention(d, d) + inner + 6 * d) + 2 * d
    written = layers(config.cell, 2 * d, d, config.num_layers)
    looking = (2 * d * d + 2 * d) * (config.attention == "additive")
    return embeddings + written + looking + linear(d, config.state_parts * d) + linear(3 * d, d)


def forecaster(config: SeriesConfig, sizes: SeriesSizes) -> int:
    head = HEADS[config.head]
    if isinstance(config, SeriesLinearConfig):
        explained = sizes.known
        return explained + linear(sizes.context, sizes.horizon) + head * sizes.horizon
    d, size = config.d_model, config.patch_size
    direct = config.forecast == "direct"
    # A forecast of many steps starts from a linear map, one of the next patch from the last season.
    start = linear(sizes.context, sizes.horizon) if direct else size
    ends = linear(size * (2 + sizes.known), d) + linear(d, size * head) + start
    if isinstance(config, SeriesRecurrentConfig):
        ahead = patches_of(config, sizes).predicted * d * direct
        return ends + ahead + layers(config.cell, d, d, config.num_layers)
    positions = sizes.context // size + -(-sizes.horizon // size)
    return ends + positions * d + stack(config)


def linear(inputs: int, outputs: int) -> int:
    """A product with a bias."""
    return (inputs + 1) * outputs


def attention(d_model: int, width: int) -> int:
    """Queries, keys, values and the output of heads that are so wide together."""
    return linear(d_model, 3 * width) + linear(width, d_model)


def feed_forward(d_model: int, d_ff: int, activation: str) -> int:
    return linear(d_model, (2 if activation == "swiglu" else 1) * d_ff) + linear(d_ff, d_model)


def transformer(config: TransformerConfig, inputs: int, outputs: int) -> int:
    d = config.d_model
    norm = d if config.normalisation == "rms" else 2 * d
    inner = feed_forward(d, config.d_ff, config.activation) + norm
    blocks = sum(
        attention(d, heads * config.d_k) + norm + inner for heads in config.heads("encoder")
    )
    for heads, cross in zip(config.heads("decoder"), config.heads("cross"), strict=True):
        blocks += attention(d, heads * config.d_k) + attention(d, cross * config.d_k)
        blocks += 2 * norm + inner
    ends = 2 * norm * (config.norm == "pre") + outputs * config.output_bias
    positions = config.max_positions * d * (config.positions == "learned")
    return tables(config.tied_embeddings, d, inputs, outputs) + positions + blocks + ends


def tables(tied: str, d_model: int, inputs: int, outputs: int) -> int:
    """The embeddings of both sides and the output's weight, some of which may be the same."""
    return d_model * {"all": outputs, "output": inputs + outputs}.get(tied, inputs + 2 * outputs)


def stack(config: OneStack) -> int:
    d = config.d_model
    block = attention(d, d) + feed_forward(d, config.d_ff, config.activation) + 4 * d
    return config.num_layers * block + 2 * d


def gpt(config: GPTConfig, vocabulary: int) -> int:
    positions = config.max_positions * (config.positions == "learned")
    tables = (1 if config.tied_embeddings else 2) * vocabulary
    return (tables + positions) * config.d_model + stack(config)


def bert(config: BertConfig, vocabulary: int) -> int:
    d = config.d_model
    total = (vocabulary + config.num_segments + config.max_positions) * d + stack(config)
    total += linear(d, d) * config.pooler + linear(d, 2) * config.next_sentence
    return total + (linear(d, d) + 2 * d + vocabulary) * config.masked_head


def headless(config: BertConfig, vocabulary: int) -> int:
    """A BERT that only reads."""
    plain = {"masked_head": False, "pooler": False, "next_sentence": False}
    return bert(config.model_copy(update=plain), vocabulary)


def layer(cell: str, inputs: int, states: int) -> int:
    """A recurrent layer; PyTorch's have two biases."""
    return GATES[cell] * states * (inputs + states + 2)


def layers(cell: str, inputs: int, d_model: int, count: int) -> int:
    return layer(cell, inputs, d_model) + (count - 1) * layer(cell, d_model, d_model)


def encoder(cell: str, d_model: int, count: int, bidirectional: bool) -> int:
    directions = 2 if bidirectional else 1
    return count * directions * layer(cell, d_model, d_model // directions)


def recurrent(config: RecurrentConfig, inputs: int, outputs: int) -> int:
    d = config.d_model
    reads_more = config.attention != "dot" or config.input_feeding
    read = encoder(config.cell, d, config.encoder_layers, config.bidirectional)
    written = layers(config.cell, 2 * d if reads_more else d, d, config.decoder_layers)
    parts = config.decoder_layers * (2 if config.cell == "lstm" else 1)
    ends = linear(d, parts * d) + linear(3 * d, d)
    ends += (2 * d * d + 2 * d) * (config.attention == "additive")
    return tables(config.tied_embeddings, d, inputs, outputs) + read + written + ends
