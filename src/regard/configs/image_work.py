"""Formulas for the parameters, the arithmetic and the memory of models that see images.

docs/scale.md says what the formulas were checked against.
"""

from regard.configs.captioner import RecurrentCaptionerConfig, TransformerCaptionerConfig
from regard.configs.clip import SharedSpaceConfig
from regard.configs.cnn import CnnConfig
from regard.configs.image import ImageShape
from regard.configs.lite0 import Lite0Config
from regard.configs.mlp import MlpConfig
from regard.configs.vit import VitConfig
from regard.configs.work import HasWork, Part, Work, loss_flops, part_of

EncoderConfig = CnnConfig | VitConfig | MlpConfig | Lite0Config
DecoderConfig = RecurrentCaptionerConfig | TransformerCaptionerConfig
# A convolution takes about this share of the time that a Transformer's layer of no work takes.
SHORT = 0.2
# Filters of one channel are slow: it is as if all layers of EfficientNet were so narrow.
LITE0_WIDTH = 26


def encoder_part(
    config: EncoderConfig,
    shape: ImageShape,
    images: float,
    mixed: bool,
    labels: int = 0,
    grid: bool = False,
) -> Part:
    """An encoder for a number of images, and the projection on labels if there are any. `grid`:
    somebody reads what it makes of the parts of an image, too.
    """
    layers = config.layers(shape)
    first, *others = (layer.products for layer in layers)
    kept = 2 if mixed else 4
    flops, depth = 4.0 * first + 6.0 * sum(others), SHORT * len(layers)
    numbers: float = sum(layer.kept_bytes(kept) for layer in layers)
    # The last non-linearity keeps its result, or what comes after it does.
    numbers += kept * config.d_model * cells(config, shape)
    width = config.d_model
    match config:
        case CnnConfig():
            flops -= 2.0 * first  # only its bias is learned
        case VitConfig():
            stack = config.blocks(config.tokens(shape), mixed, grid)
            flops, numbers = flops + stack[0], numbers + stack[1]
            depth += config.num_layers
        case MlpConfig():
            depth = config.num_layers
        case Lite0Config():
            width = LITE0_WIDTH
            if config.frozen:
                flops, numbers = 2.0 * (first + sum(others)), 0
    loss = loss_flops(config.d_model, labels, images)
    return Part(width, depth, flops * images, loss, numbers * images)


def labels_part(d_model: int, images: float, labels: int) -> Part:
    """The projection on labels alone, of images that are encoded."""
    return Part(d_model, SHORT, 0.0, loss_flops(d_model, labels, images), 4.0 * d_model * images)


def cells(config: EncoderConfig, shape: ImageShape) -> int:
    """Places of the grid that an encoder makes of an image."""
    if isinstance(config, VitConfig):
        return max(1, config.cells(shape))
    last = config.layers(shape)[-1]
    return max(1, last.pooled or last.written)  # a model of no place is refused when it is built


def captioner_parts(
    encoder: EncoderConfig,
    config: DecoderConfig,
    shape: ImageShape,
    vocabulary: int,
    work: Work,
    mixed: bool,
    encoded: bool,
) -> list[Part]:
    """An encoder and a decoder, where `work` counts each image as one token of the source. The
    encoder does nothing where images are `encoded` before.
    """
    images, grid = work.source_tokens, cells(encoder, shape)
    seen = images * grid
    looked_at = grid if config.looks_at == "grid" else 1
    looking = Work(images * looked_at, work.target_tokens, looked_at, work.target_length)
    decoder = part_of(config, vocabulary, looking, mixed)
    kept = 2 if mixed else 4
    both = encoder.d_model * config.d_model
    reading = (4.0 if encoded else 6.0) * both * (seen + images)
    numbers = (kept * encoder.d_model + (kept + 4) * config.d_model) * (seen + images)
    decoder = decoder._replace(
        flops=decoder.flops + reading, kept_bytes=decoder.kept_bytes + numbers
    )
    if encoded:
        return [decoder]
    return [encoder_part(encoder, shape, images, mixed, grid=True), decoder]


def clip_parts(
    encoder: EncoderConfig,
    text: HasWork,
    space: SharedSpaceConfig,
    shape: ImageShape,
    work: Work,
    mixed: bool,
    encoded: bool,
) -> list[Part]:
    """An encoder and a reader, where `work` has the texts as its source; each is of one image. What
    is compared is counted as a loss.
    """
    rows = work.source_tokens / work.source_length
    reader = part_of(text, 0, work, mixed)
    projections = (4.0 if encoded else 6.0) * encoder.d_model + 6.0 * text.d_model
    compared = 12.0 * rows * rows * space.width
    kept = 2 if mixed else 4
    numbers = rows * kept * (encoder.d_model + text.d_model) + 16 * rows * (rows + space.width)
    reader = reader._replace(
        flops=reader.flops + projections * rows * space.width,
        loss_flops=compared,
        kept_bytes=reader.kept_bytes + numbers,
    )
    return [reader] if encoded else [encoder_part(encoder, shape, rows, mixed), reader]
