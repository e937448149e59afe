"""A recipe: one TOML file = one experiment. The schema is closed; an unknown key is an error."""

import difflib
import reprlib
import tomllib
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Annotated, Any, Literal, get_args

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

from regard.errors import RecipeError
from regard.models import (
    BertConfig,
    GPTConfig,
    HeadConfig,
    ModelConfig,
    ReaderConfig,
    RecurrentConfig,
    RecurrentLanguageModelConfig,
    TransformerConfig,
)

Task = Literal[
    "translation", "language-model", "masked-language-model", "classification", "tagging"
]
Metric = Literal["loss", "bleu", "chrf", "accuracy", "macro_f1", "span_f1"]
Share = Annotated[float, Field(ge=0, lt=1)]
# What a task may be done by; the first is meant where a recipe does not say.
MODELS: dict[str, dict[str, type[BaseModel]]] = {
    "translation": {"transformer": TransformerConfig, "recurrent": RecurrentConfig},
    "language-model": {"gpt": GPTConfig, "recurrent": RecurrentLanguageModelConfig},
    "masked-language-model": {"bert": BertConfig},
    "classification": {"bert": BertConfig, "recurrent": ReaderConfig},
    "tagging": {"bert": BertConfig, "recurrent": ReaderConfig},
}
METRICS: dict[str, tuple[Metric, ...]] = {
    "translation": ("loss", "bleu", "chrf"),
    "language-model": ("loss",),
    "masked-language-model": ("loss", "accuracy"),
    "classification": ("loss", "accuracy", "macro_f1"),
    "tagging": ("loss", "accuracy", "span_f1"),
}
# Tasks that give labels rather than text, and those that read text without sentences.
LABELLING = ("classification", "tagging")
RUNNING_TEXT = ("language-model", "masked-language-model")


class Section(BaseModel):
    model_config = ConfigDict(
        frozen=True, extra="forbid", validate_default=True, allow_inf_nan=False
    )


class DataSection(Section):
    """Where the data is. Relative names start at `folder`, which starts where you are."""

    builtin: Literal["phrasebook", "phrasebook-long"] | None = None
    # The folder of a model that was imported, whose data regard has not seen.
    imported: str | None = None
    folder: str = "."
    train: tuple[str, ...] = ()
    valid: tuple[str, ...] = ()
    languages: tuple[str, str] | None = None
    # Without `valid`, this share of the pairs is held out, at most `held_out_pairs`.
    held_out_share: float = Field(default=0.05, gt=0, lt=0.5)
    held_out_pairs: int = Field(default=2000, ge=1)
    # In pieces. Longer pairs, and pairs whose sides differ by more than the ratio, are dropped.
    max_length: int = Field(default=256, ge=2, le=100_000)
    max_ratio: float = Field(default=4.0, gt=1)
    # Tokens that a language model reads at a time.
    context: int = Field(default=256, ge=2, le=100_000)
    # Which way a language model reads; one of each makes contextual vectors (Peters et al. 2018).
    direction: Literal["forward", "backward"] = "forward"
    # Of these, a masked language model hides so many, whole words at a time if asked.
    masked_share: float = Field(default=0.15, gt=0, lt=1)
    whole_words: bool = False
    # Its embeddings begin with which tokens stand within so many of each other; 0 = with chance.
    counted_window: int = Field(default=0, ge=0, le=100)
    # Vectors of words to begin with, in the text form of Word2Vec and GloVe or Word2Vec's binary.
    embeddings: str = ""
    # The column with the labels: its name, or its number from 1; without, the usual one.
    label: str | int = ""

    @model_validator(mode="after")
    def one_corpus(self) -> "DataSection":
        if [bool(self.train), self.builtin is not None, self.imported is not None].count(True) != 1:
            raise ValueError(
                "name either the training files (train) or a built-in corpus (builtin)"
            )
        return self

    def paths(self, name: Literal["train", "valid"]) -> list[Path]:
        if self.imported is not None:
            raise RecipeError(
                "data.imported: what an imported model learned from is not here; "
                "write a recipe that names your own data (data.train)"
            )
        return [Path(self.folder, file) for file in getattr(self, name)]


class TokenizerSection(Section):
    kind: Literal["bpe", "unigram", "word", "character"] = "bpe"
    vocabulary_size: int = Field(default=8000, ge=264, le=1_000_000)
    # One vocabulary for both languages, or one each of that size.
    joint: bool = True
    lowercase: bool = False
    # A folder whose tokenizer is taken instead of learning one; it starts at `data.folder`.
    folder: str | None = None


class TrainSection(Section):
    """The paper's optimizer is the default (§5.3); `*_every` and `*_steps` count updates."""

    steps: int = Field(default=100_000, ge=1)
    # A finished run to begin from: its tokenizer, and its weights as far as they fit.
    from_run: str = ""
    # Rows × longest sentence of a batch, on each side; `accumulate` batches make one update.
    batch_tokens: int = Field(default=4096, ge=1)
    accumulate: int = Field(default=1, ge=1)
    optimizer: Literal["adam", "adamw"] = "adam"
    learning_rate: float = Field(default=7e-4, gt=0)
    schedule: Literal["inverse_sqrt", "cosine", "linear", "constant"] = "inverse_sqrt"
    warmup_steps: int = Field(default=4000, ge=0)
    final_learning_rate: float = Field(default=0.0, ge=0)
    adam_betas: tuple[Share, Share] = (0.9, 0.98)
    adam_epsilon: float = Field(default=1e-9, gt=0)
    weight_decay: float = Field(default=0.0, ge=0)
    clip_norm: float = Field(default=1.0, ge=0)
    label_smoothing: float = Field(default=0.1, ge=0, lt=1)
    eval_every: int = Field(default=1000, ge=1)
    eval_sentences: int = Field(default=500, ge=0)
    save_every: int = Field(default=1000, ge=1)
    keep: int = Field(default=3, ge=1)
    # The last `average` kept checkpoints are averaged at the end and used if they score better.
    average: int = Field(default=3, ge=1)
    moving_average: float = Field(default=0.0, ge=0, lt=1)
    metric: Metric = "loss"
    patience: int = Field(default=0, ge=0)
    max_skipped: int = Field(default=20, ge=1)
    log_every: int = Field(default=50, ge=1)
    device: str = "auto"
    precision: Literal["auto", "float32", "bfloat16"] = "auto"
    # Processes on this machine that share each update, and threads of each; 0 = as pays off.
    processes: int = Field(default=0, ge=0, le=1024)
    threads: int = Field(default=0, ge=0)
    # How several processes hold the model: a copy each, or sharded where it does not fit.
    parallel: Literal["ddp", "fsdp"] = "ddp"
    tensorboard: bool = False

    @model_validator(mode="after")
    def averages_what_it_keeps(self) -> "TrainSection":
        if self.average > self.keep:
            raise ValueError(
                f"average = {self.average} needs keep to be as large, it is {self.keep}"
            )
        return self


class DecodeSection(Section):
    beam_size: int = Field(default=5, ge=1, le=1000)
    length_penalty: float = Field(default=1.0, ge=0, le=10)
    # An output may be this many times as long as its source, and 20 pieces more.
    max_length_ratio: float = Field(default=2.0, gt=0, le=100)
    no_repeat_ngram: int = Field(default=0, ge=0)


class Recipe(Section):
    """One experiment: what is learned, from what, how large, how long."""

    task: Task = "translation"
    seed: int = Field(default=1, ge=0, lt=2**63)
    data: DataSection
    tokenizer: TokenizerSection = TokenizerSection()
    # Made of plain values by `of_the_task`, which knows the task.
    model: ModelConfig = Field(default_factory=dict, validate_default=True)
    head: HeadConfig = HeadConfig()
    train: TrainSection = TrainSection()
    decode: DecodeSection = DecodeSection()

    @field_validator("model", mode="before")
    @classmethod
    def of_the_task(cls, model: Any, info: ValidationInfo) -> Any:
        kinds = MODELS[info.data.get("task", "translation")]
        if isinstance(model, BaseModel):
            values: Any = model.model_dump()
        else:
            values = model
        if not isinstance(values, Mapping):
            return kinds[next(iter(kinds))].model_validate(values)
        kind = values.get("kind", next(iter(kinds)))
        if kind not in kinds:
            known = " or ".join(f"'{each}'" for each in kinds)
            raise ValueError(f"kind = {reprlib.repr(kind)}: input should be {known}")
        return kinds[kind].model_validate(values)

    @model_validator(mode="after")
    def fits_together(self) -> "Recipe":
        if self.data.embeddings and self.tokenizer.kind != "word":
            raise ValueError('data.embeddings are of words; set tokenizer.kind = "word"')
        if self.data.counted_window:
            check_counted(self)
        if self.train.metric not in METRICS[self.task]:
            known = ", ".join(METRICS[self.task])
            raise ValueError(f"train.metric = '{self.train.metric}': {self.task} has {known}")
        match self.model:
            case TransformerConfig() | RecurrentConfig():
                check_pairs(self)
            case GPTConfig() if self.model.positions == "learned":
                check_positions(self.model.max_positions, self.data.context, "data.context")
            case BertConfig() if self.task in LABELLING:
                check_positions(self.model.max_positions, self.data.max_length, "data.max_length")
            case BertConfig():
                check_positions(self.model.max_positions, self.data.context, "data.context")
        return self

    @property
    def labels_with(self) -> HeadConfig | None:
        """The head, if the task gives labels."""
        return self.head if self.task in LABELLING else None


def check_positions(max_positions: int, longest: int, setting: str) -> None:
    if longest > max_positions:
        raise ValueError(
            f"{setting} = {longest} is longer than model.max_positions = {max_positions}"
        )


def check_counted(recipe: Recipe) -> None:
    if recipe.task != "masked-language-model":
        raise ValueError(f"data.counted_window is for a masked-language-model, not {recipe.task}")
    for setting, given in (
        ("data.embeddings", recipe.data.embeddings),
        ("train.from_run", recipe.train.from_run),
    ):
        if given:
            raise ValueError(
                f"data.counted_window and {setting}: a model begins with one of them; leave one "
                "out (data.counted_window=0)"
            )


def check_pairs(recipe: Recipe) -> None:
    assert isinstance(recipe.model, TransformerConfig | RecurrentConfig)
    for name in ("train", "valid"):
        if len(getattr(recipe.data, name)) > 2:
            raise ValueError(f"data: {name} takes two files, or one .tsv or .jsonl")
    if recipe.model.tied_embeddings == "all" and not recipe.tokenizer.joint:
        raise ValueError(
            'model.tied_embeddings = "all" needs tokenizer.joint = true; '
            'use tied_embeddings = "output" with one vocabulary a language'
        )
    if isinstance(recipe.model, TransformerConfig):
        check_transformer(recipe.model, recipe.data.max_length)


def check_transformer(model: TransformerConfig, max_length: int) -> None:
    if model.d_model % model.num_heads:
        raise ValueError(
            f"model.d_model {model.d_model} is not a multiple of model.num_heads {model.num_heads}"
        )
    d_k = model.d_model // model.num_heads
    if model.positions == "rotary" and d_k % 2:
        raise ValueError(
            'model.positions = "rotary" turns pairs of numbers, and a head of model.d_model / '
            f"model.num_heads = {d_k} is odd"
        )
    if model.positions == "learned" and model.max_positions < max_length + 1:
        raise ValueError("model.max_positions must be larger than data.max_length")


def parse(values: Mapping[str, Any], where: str) -> Recipe:
    """A recipe from plain values; every complaint names the key."""
    try:
        return Recipe.model_validate(values)
    except ValidationError as error:
        raise RecipeError(f"{where}: {explain(error, values)}") from None


class DataAlone(Section):
    data: DataSection


def parse_data(values: Any, where: str) -> DataSection:
    """The [data] section alone, before the rest of a recipe is known."""
    try:
        return DataAlone.model_validate({"data": values}).data
    except ValidationError as error:
        raise RecipeError(f"{where}: {explain(error, {'data': values})}") from None


def read(path: Path | str, settings: Iterable[str] = ()) -> Recipe:
    """A TOML file, with `key.path=value` settings laid over it."""
    path = Path(path)
    try:
        with path.open("rb") as file:
            values = tomllib.load(file)
    except FileNotFoundError:
        raise RecipeError(
            f"{path}: no such recipe; `regard train --help` shows the ways to start"
        ) from None
    except OSError as error:
        raise RecipeError(f"{path}: cannot be read ({error.strerror}); check the path") from None
    except (tomllib.TOMLDecodeError, UnicodeDecodeError) as error:
        raise RecipeError(f"{path}: not valid TOML ({error}); mend that line") from None
    return parse(override(values, settings), str(path))


def override(values: Mapping[str, Any], settings: Iterable[str]) -> dict[str, Any]:
    """`train.steps=2000` → {"train": {"steps": 2000}}; values are TOML, bare words are strings."""
    result: dict[str, Any] = {
        key: dict(value) if isinstance(value, Mapping) else value for key, value in values.items()
    }
    for setting in settings:
        name, equals, text = setting.partition("=")
        *sections, key = name.strip().split(".")
        if not equals or not all((*sections, key)) or len(sections) > 1:
            raise RecipeError(f"--set {setting}: not a setting; write it like train.steps=2000")
        inner = result.setdefault(sections[0], {}) if sections else result
        if not isinstance(inner, dict):
            raise RecipeError(f"--set {setting}: {sections[0]} is not a section of the recipe")
        inner[key] = toml_value(text.strip())
    return result


def toml_value(text: str) -> Any:
    try:
        return tomllib.loads(f"value = {text}")["value"]
    except tomllib.TOMLDecodeError:
        return text


def to_toml(recipe: Recipe) -> str:
    """The whole recipe, defaults written out, so that a later default never changes an old run."""
    return tomli_w.dumps(recipe.model_dump(mode="json", exclude_none=True))


def explain(error: ValidationError, values: Mapping[str, Any]) -> str:
    """The first complaint in one sentence."""
    first = error.errors(include_url=False)[0]
    location = first["loc"]
    key = ".".join(str(part) for part in location)
    more = f" ({error.error_count() - 1} more)" if error.error_count() > 1 else ""
    if first["type"] == "extra_forbidden":
        return f"unknown key {key}{suggestion(location, values)}{more}"
    if first["type"] == "missing":
        return f"{key} is missing{more}"
    message = first["msg"].removeprefix("Value error, ")
    if first["type"] == "value_error":
        dot = "." if message.startswith("kind = ") else ": "
        return (f"{key}{dot}{message}" if key else message) + more
    return f"{key} = {reprlib.repr(first['input'])}: {message[0].lower()}{message[1:]}{more}"


def suggestion(location: tuple[int | str, ...], values: Mapping[str, Any]) -> str:
    """The nearest key people may have meant, in the same section or in another."""
    *sections, wrong = map(str, location)
    kinds = MODELS[values.get("task", "translation")]
    section = section_at(sections, kinds, values)
    close = difflib.get_close_matches(wrong, section.model_fields, n=1)
    if close:
        return f"; did you mean {'.'.join([*sections, close[0]])}?"
    if sections == ["model"]:
        for kind, model in kinds.items():
            if wrong in model.model_fields:
                return f'; it is for model.kind = "{kind}"'
    for name, field in Recipe.model_fields.items():
        known = [field.annotation, *get_args(field.annotation)]
        if any(wrong in getattr(each, "model_fields", {}) for each in known):
            return f"; did you mean {name}.{wrong}?"
    return f"; known here: {', '.join(section.model_fields)}"


def section_at(
    sections: list[str], kinds: Mapping[str, type[BaseModel]], values: Mapping[str, Any]
) -> type[BaseModel]:
    """The part of the schema that a complaint is about."""
    match sections:
        case []:
            return Recipe
        case ["model"]:
            return kinds[values.get("model", {}).get("kind", next(iter(kinds)))]
    section: Any = Recipe.model_fields[sections[0]].annotation
    return section  # type: ignore[no-any-return]
