"""Classifiers of images, which are served under the names of their run folders."""

import base64
import binascii
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

from regard.errors import DataError, RequestError
from regard.run import Run
from regard.serve.http.refusal import Refusal
from regard.serve.language_models import available

if TYPE_CHECKING:
    from regard.tasks.image_classification import ImageClassifier


@dataclass
class ImageModels:
    classifiers: "dict[str, ImageClassifier]" = field(default_factory=dict)

    def add(self, folder: Path, device: str = "cpu") -> None:
        name = folder.resolve().name
        if name in self.classifiers:
            raise RequestError(f"two runs are called {name}; rename the folder of one of them")
        self.classifiers[name] = Run.open(folder).load(device)

    def classifier(self, name: Any) -> "tuple[str, ImageClassifier]":
        """The classifier of this name; without a name, the only one."""
        if not isinstance(name, str):
            raise Refusal(400, "Invalid request: model parameter must be a string")
        if not name and len(self.classifiers) == 1:
            name = next(iter(self.classifiers))
        if name not in self.classifiers:
            raise Refusal(404, f"no such image model here; {available(self.classifiers)}")
        return name, self.classifiers[name]


def image_bytes(given: Any, file: tuple[str, bytes] | None) -> bytes:
    """The content of an image: of the file of a form, of a data URL, or of base64."""
    if file is not None:
        return file[1]
    if not given or not isinstance(given, str):
        raise Refusal(400, "Invalid request: missing image parameter; give base64 or a file")
    if given.startswith("data:"):
        head, comma, given = given.partition(",")
        if not comma or not head.endswith(";base64"):
            raise Refusal(400, "Invalid request: image must be a data URL of base64")
    elif "://" in given[:20]:
        raise Refusal(400, "Invalid request: images are not fetched; send the image itself")
    try:
        return base64.b64decode(given, validate=True)
    except (binascii.Error, ValueError):
        raise Refusal(400, "Invalid request: image is not valid base64") from None


def classify(classifier: "ImageClassifier", data: bytes) -> dict[str, Any]:
    """The label and all probabilities. What an image costs is known before it is decoded."""
    try:
        found = classifier.classify([data])[0]
    except DataError as error:
        raise Refusal(400, f"Invalid request: {error}") from None
    return {"label": found.label, "probabilities": found.probabilities}
