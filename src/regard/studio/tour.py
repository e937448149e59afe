"""Tours: steps that set the page, ask for one action or number, and check it."""

import re
from pathlib import Path
from typing import Annotated, Any, Literal
from urllib.parse import parse_qsl

from pydantic import BaseModel, ConfigDict, Field, ValidationError, model_validator

from regard import tasks
from regard.errors import RequestError
from regard.small_files import UNEXPECTED, read_json, read_small

BUILT_IN = Path(__file__).parent / "lectures.json"
STATE = Path(__file__).parent / "page" / "state.js"
LARGEST = 1 << 20
# Numbers that a page knows of its run and its sentence.
Fact = Literal["pieces", "output pieces", "layers", "heads", "width", "head width", "beam size"]
Text = Annotated[str, Field(min_length=1, max_length=2_000)]


class Part(BaseModel):
    model_config = ConfigDict(extra="forbid", frozen=True)


class Number(Part):
    """Asks for a number."""

    question: Text
    number: float | None = None
    fact: Fact | None = None
    within: float = Field(0.005, ge=0)

    @model_validator(mode="after")
    def one_of_both(self) -> "Number":
        if (self.number is None) == (self.fact is None):
            raise ValueError("give either a number or a fact")
        return self


class Choice(Part):
    """Asks for one of a few answers, counted from 0."""

    question: Text
    options: Annotated[list[Text], Field(min_length=2, max_length=6)]
    right: int = Field(ge=0)

    @model_validator(mode="after")
    def there_is_one(self) -> "Choice":
        if self.right >= len(self.options):
            last = len(self.options) - 1
            raise ValueError(f"right is {self.right}, and the options are 0 to {last}")
        return self


class Action(Part):
    """Asks for something to be done, after which the page's link has these values; * is any other
    than before.
    """

    question: Text
    state: Annotated[dict[str, str], Field(min_length=1)]


class Step(Part):
    title: Text
    text: Text
    link: str = Field(default="", max_length=4_000)  # "view=heads&layer=1"
    only: list[str] = Field(default=[], max_length=10)  # models: "transformer", "rotary"
    ask: Number | Choice | Action | None = None
    after: str = Field(default="", max_length=2_000)  # what is said to the right answer


class Tour(Part):
    title: Text
    steps: Annotated[list[Step], Field(min_length=1, max_length=60)]


def read_tour(path: Path = BUILT_IN) -> dict[str, Any]:
    """A checked tour, as the page takes it."""
    try:
        values = read_json(path, LARGEST)
    except OSError as error:
        raise RequestError(f"{path}: cannot be read ({error.strerror}); give a tour") from None
    except UNEXPECTED as error:
        raise RequestError(f"{path}: not JSON ({error}); give a tour") from None
    try:
        tour = Tour.model_validate(values)
    except ValidationError as error:
        first = error.errors(include_url=False, include_context=False)[0]
        raise RequestError(f"{path}: {place(first['loc'])}: {first['msg']}") from None
    for number, step in enumerate(tour.steps, start=1):
        if problem := problem_of(step):
            raise RequestError(f"{path}: step {number}: {problem}")
    return tour.model_dump()


def place(loc: tuple[int | str, ...]) -> str:
    """Where in the file: ("steps", 2, "ask", "right") is "step 3, ask.right"."""
    if len(loc) > 1 and loc[0] == "steps" and isinstance(loc[1], int):
        rest = ".".join(str(each) for each in loc[2:])
        return f"step {loc[1] + 1}" + (f", {rest}" if rest else "")
    return ".".join(map(str, loc)) or "the file"


def problem_of(step: Step) -> str:
    """What is wrong with the names in a step."""
    known, views = states(), set(VIEWS)
    given = dict(parse_qsl(step.link.removeprefix("#"), keep_blank_values=True))
    wanted = step.ask.state if isinstance(step.ask, Action) else {}
    for name in (*given, *wanted):
        if name not in known:
            return f"a link has no {name!r}; it has {', '.join(sorted(known))}"
    for found in (given.get("view"), wanted.get("view")):
        if found not in (None, "*") and found not in views:
            return f"there is no view {found!r}; there are {', '.join(sorted(views))}"
    return ""


VIEWS = {"map", "blocks", *(view for entry in tasks.TASKS.values() for view in entry.views)}


def states() -> set[str]:
    """The names that a link of the page may have."""
    text = read_small(STATE).decode()
    block = text[text.index("DEFAULTS = ") : text.index("});")]
    return set(re.findall(r"^  (\w+): ", block, re.MULTILINE))
