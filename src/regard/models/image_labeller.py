"""Labels for images: an encoder, and a projection of the vector of the whole image.

Shapes: B images, C channels, H × W pixels, L labels, d d_model.
"""

from torch import Tensor, nn

from regard.configs.image import ImageShape
from regard.layers.dropout import Dropout
from regard.models.images import ImageConfig, build_encoder, whole_of


class ImageLabeller(nn.Module):
    def __init__(self, config: ImageConfig, shape: ImageShape, labels: int) -> None:
        super().__init__()
        self.config = config
        self.encoder = build_encoder(config, shape)
        self.dropout = Dropout(config.dropout)
        self.output = nn.Linear(config.d_model, labels)
        nn.init.normal_(self.output.weight, std=0.02)
        nn.init.zeros_(self.output.bias)

    def initialise(self, images: Tensor) -> None:
        """Prepare a new model for training on data like these images [N, C, H, W]."""
        self.encoder.initialise(images)

    def features(self, images: Tensor) -> Tensor:
        """[B, C, H, W] → [B, d]: what the encoder makes of the whole image. `output` turns it into
        logits, after dropout. What a frozen encoder has made of images stays as it is.
        """
        return images if images.ndim == 2 else whole_of(self.encoder, images)

    def forward(self, images: Tensor) -> Tensor:
        """Logits [B, L]"""
        features = self.dropout(self.features(images))
        return self.output(features.to(self.output.weight.dtype))  # type: ignore[no-any-return]
