"""Objects that answer with the model of a run."""

from abc import ABC, abstractmethod
from pathlib import Path
from typing import Any, ClassVar, Self

from regard.run import Run


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
    return float(run.info().get("validation", {}).get("temperature") or 1.0)
