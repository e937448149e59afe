"""A recipe: one TOML file = one experiment.

Each task has a schema of its own, a subclass of `Recipe`. Schemas are closed: a setting that would
do nothing for the task is an error. Nothing here loads PyTorch.
"""

import reprlib
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path
from types import MappingProxyType
from typing import Annotated, Any, ClassVar, Literal, Self, TypeVar

import tomli_w
from pydantic import (
    BaseModel,
    ConfigDict,
    Field,
    ValidationError,
    ValidationInfo,
    field_validator,
    model_validator,
)

from regard import tasks
from regard.errors import RecipeError
from regard.recipe_errors import certain, explain
from regard.recipe_format import override as override
from regard.recipe_format import read_values, with_pretrained, without_other_tasks

Share = Annotated[float, Field(ge=0, lt=1)]


class Section(BaseModel):
    """A table of a recipe."""

    model_config = ConfigDict(
        frozen=True, extra="forbid", validate_default=True, allow_inf_nan=False
    )
    # Settings that a started run may change: they do not change what an update does.
    changeable: ClassVar[frozenset[str]] = frozenset()
    # Settings that decide what trained weights answer; with others, they are not used.
    deciding: ClassVar[frozenset[str]] = frozenset()

    def resolved(self) -> Self:
        """The section with paths that mean the same from every folder."""
        return self

    def check(self, recipe: "Recipe") -> None:
        """Check the files that the section of a recipe names, without reading them."""


class TrainSection(Section):
    """The paper's optimizer is the default (§5.3); `*_every` and `*_steps` count updates."""

    changeable = frozenset(
        {
            *("steps", "eval_every", "save_every", "log_every", "tensorboard", "keep", "average"),
            *("metric", "patience", "max_skipped", "device", "precision", "threads", "processes"),
            "parallel",
        }
    )

    steps: int = Field(default=100_000, ge=1, description="Updates until training ends.")
    from_run: str = Field(
        default="", description="A finished run to start from: its weights, as far as they fit."
    )
    accumulate: int = Field(default=1, ge=1, description="Batches that make one update.")
    optimizer: Literal["adam", "adamw", "muon", "rowwise"] = Field(
        default="adam",
        description="How gradients become updates; rowwise has one moment for each row.",
    )
    learning_rate: float = Field(default=7e-4, gt=0, description="The highest learning rate.")
    schedule: Literal["inverse_sqrt", "cosine", "linear", "constant"] = Field(
        default="inverse_sqrt", description="How the learning rate falls after the warm-up."
    )
    warmup_steps: int = Field(
        default=4000, ge=0, description="Updates over which the learning rate rises."
    )
    final_learning_rate: float = Field(
        default=0.0, ge=0, description="The learning rate at the end of cosine and linear."
    )
    adam_betas: tuple[Share, Share] = Field(
        default=(0.9, 0.98), description="How slowly Adam's two moments change."
    )
    adam_epsilon: float = Field(
        default=1e-9, gt=0, description="Small number that keeps Adam from dividing by 0."
    )
    weight_decay: float = Field(
        default=0.0, ge=0, description="How strongly matrices are pulled towards 0."
    )
    clip_norm: float = Field(default=1.0, ge=0, description="The longest gradient; 0 for no limit.")
    eval_every: int = Field(default=1000, ge=1, description="Updates between validations.")
    save_every: int = Field(default=1000, ge=1, description="Updates between checkpoints.")
    keep: int = Field(default=3, ge=1, description="Checkpoints that are kept.")
    average: int = Field(
        default=3,
        ge=1,
        description="Last checkpoints averaged at the end; used if they score better.",
    )
    moving_average: float = Field(
        default=0.0, ge=0, lt=1, description="Decay of a moving average of the weights; 0 = none."
    )
    metric: str = Field(
        default="loss", description="The score that decides which weights are kept."
    )
    patience: int = Field(
        default=0,
        ge=0,
        description="Validations without improvement until training ends; 0 = never.",
    )
    max_skipped: int = Field(
        default=20, ge=1, description="Updates in a row that may fail to be finite."
    )
    log_every: int = Field(default=50, ge=1, description="Updates between lines of the log.")
    device: str = Field(default="auto", description="cpu, cuda, mps, or auto for the best.")
    precision: Literal["auto", "float32", "bfloat16"] = Field(
        default="auto",
        description="Numbers to compute in; auto is bfloat16 where that is fast, measured on CPUs.",
    )
    processes: int = Field(
        default=0,
        ge=0,
        le=1024,
        description="Processes that share each update; 0 = as many as pay off.",
    )
    threads: int = Field(
        default=0, ge=0, description="Threads of each process; 0 = as many as there are cores."
    )
    parallel: Literal["ddp", "fsdp"] = Field(
        default="ddp", description="Whether each process holds a copy of the model, or a part."
    )
    tensorboard: bool = Field(default=False, description="Whether to write TensorBoard's files.")

    @model_validator(mode="after")
    def fits_together(self) -> Self:
        average, keep = self.average, self.keep
        if average > keep:
            raise ValueError(f"average = {average} needs keep to be as large, it is {keep}")
        if self.optimizer == "muon" and self.parallel == "fsdp":
            raise ValueError("optimizer = 'muon' needs whole matrices: take parallel = 'ddp'")
        return self

    def resolved(self) -> Self:
        from_run = str(Path(self.from_run).resolve()) if self.from_run else ""
        return self.model_copy(update={"from_run": from_run})

    @property
    def update_tokens(self) -> int:
        """The size of an update, which decides whether several processes pay off; 0 = unknown."""
        return 0


class Recipe(Section):
    """One experiment: what is learned, from what, how large, how long.

    Each task has a subclass with sections of its own; Recipe(task=…, …) makes one of that task.
    A recipe cannot be changed. `print` shows it as TOML.

    Raises
    ------
    RecipeError
        A setting is unknown or wrong.

    Examples
    --------
    >>> import regard
    >>> recipe = regard.Recipe(task="translation", data={"builtin": "phrasebook"})
    >>> recipe
    Recipe(translation: phrasebook, transformer, 100,000 updates)
    >>> recipe.data.held_out_share
    0.05
    """

    # The models that the task can use, by `kind`; the first is the default.
    models: ClassVar[Mapping[str, type[BaseModel]]] = MappingProxyType({})
    # The same for a section [encoder], where a task has one beside its model.
    encoders: ClassVar[Mapping[str, type[BaseModel]]] = MappingProxyType({})
    # Encoders that `train.from_run` may name instead of a run, and the section that they are of.
    pretrained: ClassVar[Mapping[str, str]] = MappingProxyType({})
    # Sections and settings that weights are made for: a training that starts from a run takes them
    # from it.
    shape: ClassVar[tuple[str, ...]] = ("model",)
    # Here whole sections: but for dropout, which only training knows, all that a model is.
    deciding = frozenset({"task", "model", "linear", "letters", "head", "encoder", "space"})
    # The scores that `train.metric` may name.
    metrics: ClassVar[tuple[str, ...]] = ("loss",)

    task: str = Field(description="What the model is for.")
    seed: int = Field(
        default=1, ge=0, lt=2**63, description="Every random choice follows from this number."
    )
    model: Any = Field(default_factory=dict, validate_default=True, description="The model.")
    train: TrainSection = TrainSection()

    def __new__(cls, **values: Any) -> "Recipe":
        """The schema of the task, where none was chosen; pydantic and copies give no values."""
        found = schema_of(values, "recipe") if cls is Recipe and values else cls
        return super().__new__(found)

    def __init__(self, **values: Any) -> None:
        try:
            super().__init__(**values)
        except ValidationError as error:
            raise RecipeError(f"recipe: {explain(error, values, type(self))}") from None

    # So that validation of plain values does not come through here.
    __init__.__pydantic_base_init__ = True  # type: ignore[attr-defined]

    def __repr__(self) -> str:
        data: Any = getattr(self, "data", None)
        shown = data.shown() if hasattr(data, "shown") else ""
        facts = [
            ", ".join(shown) if isinstance(shown, list) else shown,
            str(getattr(self.model, "kind", "")),
            f"{self.train.steps:,} updates",
        ]
        return f"Recipe({self.task}: {', '.join(fact for fact in facts if fact)})"

    def __str__(self) -> str:
        return to_toml(self)

    @classmethod
    def kinds(cls, section: str) -> Mapping[str, type[BaseModel]]:
        """The schemas of a section by `kind`; none for a section that has no kinds."""
        return {"model": cls.models, "encoder": cls.encoders}.get(section, {})

    @model_validator(mode="before")
    @classmethod
    def starts_from_an_encoder(cls, values: Any) -> Any:
        """`train.from_run = "lite0"` is short for the kind of a section."""
        return with_pretrained(values, cls.pretrained) if isinstance(values, Mapping) else values

    @field_validator("model", "encoder", mode="before", check_fields=False)
    @classmethod
    def of_a_known_kind(cls, model: Any, info: ValidationInfo) -> Any:
        """The settings of the model or encoder, checked by the schema of its kind."""
        kinds = cls.kinds(info.field_name or "")
        if not kinds:
            return model
        values = model.model_dump() if isinstance(model, BaseModel) else model
        if not isinstance(values, Mapping):
            return kinds[next(iter(kinds))].model_validate(values)
        kind = values.get("kind", next(iter(kinds)))
        if not isinstance(kind, str) or kind not in kinds:
            known = " or ".join(f"'{each}'" for each in kinds)
            raise ValueError(f"kind = {reprlib.repr(kind)}: give {known}")
        return kinds[kind].model_validate(values)

    @model_validator(mode="after")
    def metric_is_measured(self) -> Self:
        """Check that the task has the score that decides which weights are kept."""
        if self.train.metric not in self.metrics:
            known = ", ".join(self.metrics)
            raise ValueError(f"train.metric = '{self.train.metric}': {self.task} has {known}")
        return self

    def sections(self) -> Iterator[tuple[str, Section]]:
        """The tables of this recipe but for the model's, by name."""
        for name in type(self).model_fields:
            if isinstance(value := getattr(self, name), Section):
                yield name, value

    def resolved(self) -> Self:
        """The recipe with paths that mean the same from every folder."""
        return self.model_copy(
            update={name: section.resolved() for name, section in self.sections()}
        )

    def check_files(self) -> None:
        """Check the files that the recipe names, without reading them."""
        for _, section in self.sections():
            section.check(self)

    def changeable_settings(self) -> set[str]:
        """Settings by dotted name that a started run may change."""
        return {f"{name}.{key}" for name, section in self.sections() for key in section.changeable}


S = TypeVar("S", bound=BaseModel)


def schema_of(values: Mapping[str, Any], where: str) -> type[Recipe]:
    """The schema of the task that these values name."""
    name = values.get("task", tasks.DEFAULT)
    if not isinstance(name, str):
        raise RecipeError(
            f"{where}: task = {reprlib.repr(name)}: give one of {', '.join(tasks.TASKS)}"
        )
    try:
        tasks.entry(name)
    except RecipeError as error:
        raise RecipeError(f"{where}: {error}") from None
    return tasks.get(name).recipe


def parse(values: Mapping[str, Any], where: str) -> Recipe:
    """A recipe from plain values; every error names the key."""
    return validated(schema_of(values, where), values, where)


def validated(schema: type[S], values: Mapping[str, Any], where: str) -> S:
    try:
        return schema.model_validate(values)
    except ValidationError as error:
        raise RecipeError(f"{where}: {explain(error, values, schema)}") from None


def check_settings(values: Mapping[str, Any], where: str) -> None:
    """Refuse keys and values that are wrong whatever the rest of the recipe will be."""
    schema = schema_of(values, where)
    try:
        schema.model_validate(values)
    except ValidationError as error:
        if wrong := certain(error, values, schema):
            raise RecipeError(f"{where}: {wrong}") from None


def parse_section(schema: type[Recipe], name: str, values: Any, where: str) -> Any:
    """Parse one section alone, before the rest of a recipe is known."""
    section: Any = schema.model_fields[name].annotation
    try:
        return section.model_validate(values)
    except ValidationError as error:
        raise RecipeError(
            f"{where}: {explain(error, {'task': '', name: values}, schema, (name,))}"
        ) from None


def read(path: Path | str, settings: Iterable[str] = ()) -> Recipe:
    """Read a recipe from a TOML file.

    Parameters
    ----------
    path
        The file, or the name of a recipe that comes with regard.
    settings
        Settings that override the file, each like `"train.steps=2000"`.

    Returns
    -------
    Recipe
        Of the task that the file names.

    Raises
    ------
    RecipeError
        There is no such file, or a setting is unknown or wrong.

    Examples
    --------
    >>> import regard
    >>> regard.read_recipe("demo", ["train.steps=100"])
    Recipe(translation: phrasebook, transformer, 100 updates)
    """
    path = Path(path)
    return from_file(read_values(path), str(path), settings)


def from_file(values: Mapping[str, Any], where: str, settings: Iterable[str] = ()) -> Recipe:
    """A recipe from the values of a file, which an earlier version may have written."""
    schema = schema_of(override(values, settings), where)
    # Settings from the command line are never dropped: they have an effect or are refused.
    values = override(without_other_tasks(values, schema), settings)
    return validated(schema, values, where)


def to_toml(recipe: Recipe) -> str:
    """The whole recipe, defaults written out, so that a later default never changes an old run."""
    return tomli_w.dumps(recipe.model_dump(mode="json", exclude_none=True))
