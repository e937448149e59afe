"""The requests of the page, which are checked before they are answered."""

from typing import Annotated, Literal, TypeVar

from pydantic import BaseModel, ConfigDict, Field, ValidationError

from regard.errors import RequestError

# Pieces of a sentence: more is neither pleasant to look at nor quick to compute.
LONGEST = 512
# Images and texts that are compared: more would not fit on the page.
MOST_IMAGES, MOST_TEXTS = 16, 32
# A number that no step of a series exceeds.
LAST_STEP = 10**12

Ids = list[int]
# The bytes of an image as base64, row by row.
Pixels = Annotated[str, Field(max_length=4_500_000)]
Part = Literal["encoder", "decoder", "cross"]
Measure = Literal["weights", "norm"]


class Asked(BaseModel):
    """The model that is asked: a run, at a step of its training (0 for the run's own weights)."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    run: int = Field(0, ge=0)
    step: int = Field(0, ge=0)


class Look(BaseModel):
    """Heads that have to look at some pieces of the source while they predict one of the output."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    heads: str = Field(max_length=100)  # "cross.1.3", "cross.1" or "cross"
    position: int = Field(ge=0)
    pieces: Ids = Field(min_length=1, max_length=LONGEST)


class HeadsOff(Asked):
    """Heads that are switched off before the model answers."""

    off: list[str] = Field(default=[], max_length=1_000)  # like "cross.1.3"
    by: Literal["zero", "mean", "uniform"] = "zero"


class Changed(HeadsOff):
    """Changes to the model before it answers."""

    positions: bool = True
    forced: Look | None = None


class Sentence(Changed):
    text: str = Field(max_length=20_000)
    prefix: Ids = Field(default=[], max_length=LONGEST)  # pieces the output begins with
    typed: str = Field(default="", max_length=1_000)  # words that come after them
    beam_size: int = Field(5, ge=1, le=32)
    length_penalty: float = Field(1.0, ge=0, le=10)


class Pair(Changed):
    """A source and an output as pieces, both without END."""

    source: Ids = Field(max_length=LONGEST)
    output: Ids = Field(max_length=LONGEST)


class Layer(Pair):
    kind: Part
    layer: int = Field(ge=0)
    measure: Measure = "weights"


class Weight(Layer):
    head: int = Field(ge=0)
    query: int = Field(ge=0)
    key: int = Field(ge=0)


class Text(HeadsOff):
    """A text for a run that does not translate."""

    text: str = Field(max_length=20_000)
    prefix: Ids = Field(default=[], max_length=LONGEST)  # pieces that a continuation begins with
    more: int = Field(24, ge=1, le=200)  # pieces to continue a text by


class TextLayer(Text):
    layer: int = Field(ge=0)
    measure: Measure = "weights"
    kind: Part | None = None  # of the last pass over the text itself; None for that of its answer


class TextWeight(Text):
    kind: Part
    layer: int = Field(ge=0)
    head: int = Field(ge=0)
    query: int = Field(ge=0)
    key: int = Field(ge=0)


class Input(Changed):
    """What goes through a model: a source and an output for one that translates, else a text."""

    source: Ids = Field(default=[], max_length=LONGEST)
    output: Ids = Field(default=[], max_length=LONGEST)
    text: str = Field(default="", max_length=20_000)
    prefix: Ids = Field(default=[], max_length=LONGEST)
    # The place of the visitor: a row of the output or the text, and one of the source.
    row: int = Field(0, ge=0, le=LONGEST)
    col: int = Field(0, ge=0, le=LONGEST)


class InBox(Input):
    box: str = Field(max_length=200)
    head: int = Field(0, ge=0, le=1024)


class InStage(InBox):
    stage: int = Field(ge=0, le=100)


class InCell(InStage):
    """A number of a stage, by its place."""

    at: tuple[int, int]


class Samples(Asked):
    """Validation images, by their places; without any, a choice of them."""

    places: Ids = Field(default=[], max_length=MOST_IMAGES)


class Image(Asked):
    """An image as the model sees it, for a run that labels images."""

    pixels: Pixels
    label: str = Field(default="", max_length=10_000)  # that maps are about; "" is the likeliest
    hidden: Ids = Field(default=[], max_length=256)  # patches, counted row by row
    off: list[str] = Field(default=[], max_length=1_000)  # heads like "encoder.1.3"


class Described(Asked):
    """An image as the model sees it, for a run that describes images."""

    pixels: Pixels
    hidden: Ids = Field(default=[], max_length=256)
    prefix: Ids = Field(default=[], max_length=LONGEST)  # pieces that the caption begins with
    typed: str = Field(default="", max_length=1_000)  # words that come after them
    output: Ids = Field(default=[], max_length=LONGEST)  # a caption to look at, not the best
    layer: int = Field(-1, ge=-1)  # of attention; -1 is the usual map
    head: int = Field(-1, ge=-1)  # -1 is the mean of the layer


class Compared(Asked):
    """Images and texts, for a run that matches them."""

    images: list[Pixels] = Field(min_length=1, max_length=MOST_IMAGES)
    texts: list[str] = Field(min_length=1, max_length=MOST_TEXTS)


class Paired(Asked):
    pixels: Pixels
    text: str = Field(max_length=5_000)
    hidden: Ids = Field(default=[], max_length=256)


class Found(Asked):
    """A part of the names of series that are looked for."""

    text: str = Field(default="", max_length=200)


class Window(Asked):
    """A series whose past ends at a step, for a run that forecasts."""

    series: int = Field(0, ge=0)
    end: int = Field(0, ge=0, le=LAST_STEP)
    off: Ids = Field(default=[], max_length=200)  # known columns, by their place
    # The steps of the chart; the forecast is always among them.
    first: int = Field(0, ge=0, le=LAST_STEP)
    last: int = Field(0, ge=0, le=LAST_STEP)


class Looked(Window):
    layer: int = Field(-1, ge=-1)  # of attention; -1 is the mean of all
    head: int = Field(-1, ge=-1)  # -1 is the mean of the layer


class WordCount(Asked):
    """How many words a map shows."""

    count: int = Field(600, ge=2, le=5_000)


class Near(WordCount):
    word: str = Field(max_length=200)


class Length(Asked):
    length: int = Field(ge=2, le=LONGEST)


Request = TypeVar("Request", bound=Asked)


def checked(kind: type[Request], values: object) -> Request:
    try:
        return kind.model_validate(values)
    except ValidationError as error:
        first = error.errors(include_url=False, include_context=False)[0]
        where = ".".join(map(str, first["loc"])) or "request"
        raise RequestError(f"{where}: {first['msg']}; reload the page") from None
