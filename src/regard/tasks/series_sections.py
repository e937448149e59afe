"""Sections of the recipes of tasks that learn from series. They load without PyTorch."""

from typing import Annotated, Any, Literal, Self

from pydantic import BeforeValidator, Field, model_validator

from regard.recipe import TrainSection
from regard.tasks.sections import FilesSection


def columns(given: Any) -> Any:
    """ "a,b" names two columns, and 3 is the third one."""
    if isinstance(given, str):
        return tuple(filter(None, (each.strip() for each in given.split(","))))
    return (given,) if isinstance(given, int) else given


Columns = Annotated[tuple[str | int, ...], BeforeValidator(columns)]


class SeriesSection(FilesSection):
    """Tables of series, and how much of them a model reads and forecasts."""

    deciding = frozenset(
        {
            *("target", "time", "id", "known", "every", "zone", "dates"),
            *("calendar", "horizon", "context", "season"),
        }
    )

    target: Columns = Field(
        default=(), description="Columns to forecast: names, or numbers from 1; () looks for them."
    )
    time: Columns = Field(default=(), description="The column of times, or a date and a time.")
    id: Columns = Field(default=(), description="The columns that tell series apart.")
    known: Columns = Field(
        default=(), description="Columns that are known in advance, such as holidays."
    )
    every: str = Field(default="", description="A longer step, of which means are taken: 1h.")
    zone: str = Field(default="", description="The place whose clock times are on: Europe/Berlin.")
    dates: str = Field(default="", description="What 01/02/2024 means, such as day-first.")
    calendar: Literal["none", "week", "year"] = Field(
        default="week", description="What the model knows of times: the day and week, or the year."
    )
    horizon: int = Field(default=24, ge=1, le=100_000, description="Steps to forecast.")
    context: int = Field(default=168, ge=1, le=1_000_000, description="Steps of the past to read.")
    season: int = Field(
        default=1, ge=1, le=1_000_000, description="Steps after which values come again; 1 if not."
    )
    held_out_share: float = Field(
        default=0.1, gt=0, lt=0.5, description="Last share of the time, held out for validation."
    )

    @model_validator(mode="after")
    def splits_by_time(self) -> Self:
        if self.valid:
            raise ValueError(
                "valid: series are validated on the last part of their time; put later rows into "
                "the training files and set held_out_share"
            )
        return self


class SeriesTraining(TrainSection):
    """Training on batches of windows."""

    batch_size: int = Field(default=128, ge=1, description="Windows of a batch.")
