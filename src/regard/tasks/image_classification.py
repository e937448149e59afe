"""Image classification: images to labels."""

from collections.abc import Generator, Iterable, Mapping, Sequence
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any, ClassVar, Literal, Self, cast, overload

from pydantic import Field

from regard.checks import images as checks
from regard.checks.report import Report
from regard.configs.cnn import CnnConfig
from regard.configs.lite0 import Lite0Config
from regard.configs.mlp import MlpConfig
from regard.configs.vit import VitConfig
from regard.evaluate.metrics import ACCURACY, CALIBRATION_ERROR, MACRO_F1, NEAREST_MEAN, TEMPERATURE
from regard.recipe import Recipe, parse_section
from regard.run import Run
from regard.tasks import image_data, image_features, image_sizes
from regard.tasks.classification import Classification
from regard.tasks.from_run import FromRun, temperature_of
from regard.tasks.image_inputs import ImageReader, in_parts, several
from regard.tasks.image_planning import CLASSIFICATION
from regard.tasks.image_sections import (
    IMAGE_SHAPE,
    AugmentationSection,
    LabelledImageSection,
    LabelledImageTraining,
    check_images,
)
from regard.tasks.inputs import summary
from regard.tasks.task import (
    DataFlags,
    Description,
    Evaluation,
    ImageQuestion,
    Section,
    Sizes,
    Suggestion,
    Task,
    Test,
)
from regard.training.events import Event, ExamplesReady

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray
    from torch import Tensor, nn

    from regard.inspect.images.maps import ImageMaps
    from regard.models.image_labeller import ImageLabeller
    from regard.training.setup import TrainingSetup


class ImageClassificationRecipe(Recipe):
    """A model that labels images."""

    models: ClassVar = {
        "cnn": CnnConfig,
        "vit": VitConfig,
        "mlp": MlpConfig,
        "lite0": Lite0Config,
    }
    pretrained: ClassVar = dict.fromkeys(image_features.PRETRAINED, "model")
    metrics = ("loss", "accuracy", "macro_f1")
    shape = ("model", *IMAGE_SHAPE)

    task: Literal["image-classification"] = Field(
        default="image-classification", description="What the model is for."
    )
    data: LabelledImageSection
    augmentation: AugmentationSection = AugmentationSection()
    model: CnnConfig | VitConfig | MlpConfig | Lite0Config = Field(
        default_factory=dict, validate_default=True
    )
    train: LabelledImageTraining = LabelledImageTraining()


class ImageClassifier(FromRun):
    """Predicts the labels of images.

    `regard.load` or `ImageClassifier.load` gives one of a run folder.

    Examples
    --------
    >>> import regard
    >>> classifier = regard.load("runs/photos")
    >>> classifier.classify("cat.jpg").label  # doctest: +SKIP
    'cat'
    """

    task = "image-classification"

    def __init__(
        self,
        model: "ImageLabeller",
        labels: Sequence[str],
        reader: ImageReader,
        temperature: float = 1.0,
        folder: Path | None = None,
    ) -> None:
        self.model = model
        self.labels = list(labels)
        self.reader = reader
        self.temperature = temperature
        self.folder = folder

    def __repr__(self) -> str:
        return summary("ImageClassifier", self.folder, self.model, f"{len(self.labels)} labels")

    @classmethod
    def _of(cls, run: Run, recipe: Any, model: Any) -> Self:
        reader = ImageReader.of(recipe.data)
        return cls(model, run.labels(), reader, temperature_of(run), run.folder)

    @overload
    def classify(self, images: str | Path) -> Classification: ...
    @overload
    def classify(self, images: Iterable[Any]) -> list[Classification]: ...
    def classify(self, images: Any) -> Classification | list[Classification]:
        """Label images.

        Parameters
        ----------
        images
            An image, or several in a list or an iterator: the name of a file, an image of Pillow,
            or an array of pixels.

        Returns
        -------
        Classification or list of Classification
            One for an image, a list in the same order for several.

        Raises
        ------
        DataError
            An image cannot be read.
        """
        given, single = several(images)
        found = [
            self._classification(each)
            for part in in_parts(given)
            for each in self.probabilities(self.reader.pixels(part))
        ]
        return found[0] if single else found

    def probabilities(self, pixels: "NDArray[np.uint8]") -> "Tensor":
        """Images [B, S, S, C] as the model sees them → the probability of each label, [B, L]."""
        import torch

        from regard.evaluate.pairs import device_of

        images = torch.from_numpy(pixels).permute(0, 3, 1, 2)
        with torch.inference_mode():
            logits: Tensor = self.model(images.to(device_of(self.model)))
            return (logits.float().cpu() / self.temperature).softmax(-1)

    def maps(self, image: Any, label: str | None = None) -> "ImageMaps":
        """Look at what the model looks at in an image.

        Parameters
        ----------
        image
            The name of a file, an image of Pillow, or an array of pixels.
        label
            The label to ask about; without it, the likeliest.

        Returns
        -------
        ImageMaps

        Raises
        ------
        DataError
            The image cannot be read.
        RequestError
            The model has no such label.
        """
        from regard.inspect.images.maps import image_maps

        return image_maps(self, self.reader.square(image), label)

    def _classification(self, probabilities: "Tensor") -> Classification:
        order = probabilities.argsort(descending=True, stable=True).tolist()
        ranked = {self.labels[i]: float(probabilities[i]) for i in order}
        return Classification(next(iter(ranked)), ranked)


def build(recipe: ImageClassificationRecipe, sizes: Sizes) -> "nn.Module":
    from regard.models.image_labeller import ImageLabeller

    return ImageLabeller(recipe.model, image_data.shape_of(sizes), sizes["outputs"])


def setup(run: Run, recipe: ImageClassificationRecipe) -> "Generator[Event, None, TrainingSetup]":
    import torch

    from regard import objectives
    from regard.data.batches import EqualBatches
    from regard.evaluate import simple
    from regard.evaluate.images import HeldOutImages
    from regard.training.setup import TrainingSetup

    image_features.check_weights(recipe.model)
    images = yield from image_data.prepared(run, recipe.data, recipe.seed)
    labels, changes = run.labels(), recipe.augmentation
    train: Any = images.labelled("train", image_data.changes(changes, len(labels)))
    valid: Any = images.labelled("valid")
    if image_features.once(recipe.model, changes):
        encoder = cast("Lite0Config", recipe.model)
        train = yield from image_features.labelled(run, encoder, train, "train", changes.flip)
        valid = yield from image_features.labelled(run, encoder, valid, "valid")
    counts = torch.from_numpy(train.labels).bincount(minlength=len(labels))
    weights = (
        len(train) / (len(labels) * counts.clamp(min=1)) if recipe.train.class_weights else None
    )
    shown = ", ".join(labels[:8]) + ", …" * (len(labels) > 8)
    yield ExamplesReady(len(train), len(valid), "images", 0.0, (f"{len(labels)} labels: {shown}",))
    size = recipe.data.image_size
    return TrainingSetup(
        sizes={**image_data.sizes_of(recipe.data), "outputs": len(labels)},
        examples=train,
        batches=EqualBatches(len(train), recipe.train.batch_size, recipe.seed),
        objective=partial(
            objectives.image_label,
            label_smoothing=recipe.train.label_smoothing,
            weights=weights,
        ),
        held_out=HeldOutImages(valid, labels),
        beside=simple.nearest_mean(train, valid, len(labels)),
        initialise=partial(initialise, images),
        remark=f"images of {size} × {size} pixels",
    )


def initialise(images: image_data.CachedImages, model: "ImageLabeller") -> str:
    """Fit the first layer to the data."""
    model.initialise(images.sample())
    return ""


def evaluate(run: Run, test: Test) -> Evaluation:
    """Accuracy, F1 and calibration on images of which the labels are known."""
    import numpy as np
    import torch

    from regard.evaluate.labels import accuracy, calibration_error, confusion, macro_f1
    from regard.tasks.labelling import label_evaluation, with_unknown

    recipe = run.recipe_for("image-classification")
    classifier = ImageClassifier.load(run.folder, test.device)
    images = image_data.test_images(test.without_search().files, recipe.data)
    names = with_unknown(set(images.labels), classifier.labels, test)
    rows, true, kept = [], [], []
    numbers = range(len(images))
    for pixels, read in classifier.reader.read_all(images, numbers, "classifying", test.reporter):
        rows.append(classifier.probabilities(pixels))
        true += [names.index(images.labels[i]) for i in read]
        kept += [(images.names[i], each) for i, each in zip(read, pixels, strict=True)]
    probabilities, labels = torch.cat(rows).double(), torch.tensor(true)
    found = probabilities.argmax(-1)
    table = confusion(found.numpy(), labels.numpy(), len(names))
    scores = {
        "accuracy": accuracy(found.numpy(), labels.numpy()),
        "macro-F1": macro_f1(table),
        "calibration error": calibration_error(probabilities, labels),
        "most frequent label": 100 * float(np.bincount(labels.numpy()).max()) / len(labels),
    }
    right = (found == labels).numpy().astype(float).reshape(-1, 1)
    answers = [f"{names[label]}\t{name}" for label, (name, _) in zip(found, kept, strict=True)]
    examples: dict[tuple[int, int], NDArray[np.uint8]] = {}
    for place, (_, pixels) in zip(zip(true, found.tolist(), strict=True), kept, strict=True):
        examples.setdefault(place, pixels)
    count = f"{len(labels)} images"
    result = label_evaluation(test, count, scores, right, names, table, answers)
    return replace(result, images=examples)


def attend_image(folder: Path, image: Path, question: ImageQuestion, device: str) -> "ImageMaps":
    label = question.only("label").label
    return ImageClassifier.load(folder, device).maps(image, label)


def describe(recipe: ImageClassificationRecipe, run: Run | None) -> Description:
    data = recipe.data
    labels = run.labels() if run is not None and run.labels_path.exists() else []
    size = f"{data.image_size} × {data.image_size} pixels"
    return Description(
        what="A classifier of images",
        data=data.shown(),
        columns=("image", "label", "true label"),
        facts={"data": data.shown(), "images": size, "labels": labels},
        sizes={**image_data.sizes_of(data), "outputs": max(2, len(labels))},
    )


def data_section(flags: DataFlags) -> tuple[Section, str]:
    section = flags.files()
    if tables := flags.companions.get("labelled"):
        section["labels"] = str(tables[0])
    return section, "image-classification"


def suggest(data: Section, asked: Mapping[str, Any], preset: str) -> Suggestion:
    section = parse_section(ImageClassificationRecipe, "data", data, "command line")
    images = image_data.labelled_images(section)
    facts = image_data.look_at(images)
    return image_sizes.suggest_classifier(facts, len(images.classes), data, asked)


def check(data: LabelledImageSection) -> Report:
    """What is to be seen on the images before they are trained on."""
    return checks.check_images(
        [*data.paths("train"), *data.paths("valid")], lambda: image_data.labelled_images(data)
    )


TASK = Task(
    name="image-classification",
    recipe=ImageClassificationRecipe,
    build=build,
    setup=setup,
    load=ImageClassifier.load,
    evaluate=evaluate,
    test_files="data",
    check_test=check_images,
    gives_labels=True,
    metrics=(ACCURACY, MACRO_F1, TEMPERATURE, CALIBRATION_ERROR, NEAREST_MEAN),
    describe=describe,
    commands=lambda recipe: (
        "regard classify {run} photo.jpg",
        "regard attend {run} photo.jpg --picture maps.png",
        "regard evaluate {run} --data test/",
    ),
    data_section=data_section,
    suggest=suggest,
    planning=CLASSIFICATION,
    check=check,
    attend_image=attend_image,
    unit="images",
)
