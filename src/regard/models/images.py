"""The encoders of images. `build_encoder` is the only list of them.

Each has `d_model`, `grid` (rows, columns), and `initialise(images)`, which prepares a new one for
training on data like these. Called with images [B, C, H, W] of numbers from 0 to 255, of type uint8
or float, it gives `Encoded`.
"""

from torch import Tensor

from regard.configs.cnn import CnnConfig
from regard.configs.image import ImageShape
from regard.configs.lite0 import Lite0Config
from regard.configs.mlp import MlpConfig
from regard.configs.vit import VitConfig
from regard.models.cnn import Cnn
from regard.models.lite0 import Lite0
from regard.models.mlp import Mlp
from regard.models.vit import Vit

ImageConfig = VitConfig | CnnConfig | MlpConfig | Lite0Config
ImageEncoder = Vit | Cnn | Mlp | Lite0


def build_encoder(config: ImageConfig, shape: ImageShape) -> ImageEncoder:
    """A new encoder for images of this shape."""
    match config:
        case VitConfig():
            return Vit(config, shape)
        case CnnConfig():
            return Cnn(config, shape)
        case MlpConfig():
            return Mlp(config, shape)
        case Lite0Config():
            return Lite0(config, shape)


def whole_of(encoder: ImageEncoder, images: Tensor) -> Tensor:
    """[B, C, H, W] → [B, d]: the vector of the whole image, where nobody reads the grid."""
    if isinstance(encoder, Vit):
        return encoder.whole(images)
    return encoder(images).whole  # type: ignore[no-any-return]
