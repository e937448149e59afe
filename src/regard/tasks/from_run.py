"""Objects that answer with the model of a run."""

from abc import ABC, abstractmethod
from math import isfinite
from pathlib import Path
from typing import Any, ClassVar, Self

from regard.errors import RunError
from regard.files import read_metadata
from regard.run import Run
from regard.small_files import UNEXPECTED, parse_json


class FromRun(ABC):
    """An object that answers with a run of one task."""

    task: ClassVar[str]

    @classmethod
    def load(cls, folder: Path | str, device: str = "cpu") -> Self:
        """Load a run folder.

        Parameters
        ----------
        folder
            The run folder.
        device
            cpu, cuda, mps, or auto for the best that there is.

        Returns
        -------
        An object of this class

        Raises
        ------
        RunError
            There is no run in the folder, or one of another task.
        RequestError
            The model was imported without the part that answers.
        """
        from regard.machine.devices import choose_device
        from regard.weights import load_model

        run = Run.open(folder)
        recipe = run.recipe_for(cls.task)
        return cls._of(run, recipe, load_model(run).to(choose_device(device)))

    @classmethod
    @abstractmethod
    def _of(cls, run: Run, recipe: Any, model: Any) -> Self:
        """The object of a run, its recipe and its model."""


def temperature_of(run: Run) -> float:
    """What the logits of a run are divided by, so that its probabilities are calibrated."""
    return validation_of(run).get("temperature") or 1.0


def validation_of(run: Run) -> dict[str, float]:
    """The scores of a run's weights on its validation set. Earlier versions noted them only when
    training had ended.
    """
    noted = read_metadata(run.model_path).get("validation")
    try:
        scores = run.info().get("validation", {}) if noted is None else parse_json(noted)
        found = {str(name): value for name, value in scores.items() if value is not None}
        if all(isinstance(value, int | float) and isfinite(value) for value in found.values()):
            return {name: float(value) for name, value in found.items()}
    except UNEXPECTED:
        pass
    raise RunError(f"{run.model_path}: damaged (no scores in its metadata)")
