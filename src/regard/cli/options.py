"""Options that several commands have, under one name and with one explanation."""

import re
from pathlib import Path
from typing import Annotated, Any, Literal

from cyclopts import Parameter
from cyclopts.validators import Number

HEADS = re.compile(r"(cross|encoder|decoder|\*)(\.(\d+|\*)){0,2}")
DEVICES = re.compile(r"auto|(cpu|cuda|mps|xpu)(:\d+)?")


def shown_default(value: Any) -> str | None:
    """A default as a person would type it; None where there is nothing to type."""
    if value is None or isinstance(value, bool) or value in ((), ""):
        return None
    return f"{value:g}" if isinstance(value, float) else str(value)


def check_device(type_: Any, name: str) -> None:
    if not DEVICES.fullmatch(name):
        raise ValueError("Write cpu, cuda, cuda:1, mps or auto.")


def check_heads(type_: Any, patterns: str | None) -> None:
    """cross.1.3, encoder.0, decoder.*.2, cross"""
    for pattern in (patterns or "").split(",") if patterns is not None else []:
        if not HEADS.fullmatch(pattern.strip()):
            raise ValueError("Write part.layer.head, like cross.1.3, encoder.0 or decoder.*.2.")


# A setting that is left as the run's recipe has it.
OF_RUN = Parameter(show_default="the run's setting")
EXPLAINED = Parameter(show_choices=False)  # the text names the choices
AT_LEAST_1 = Parameter(validator=Number(gte=1))

AsJson = Annotated[bool, Parameter(name="--json")]
Device = Annotated[
    str,
    Parameter(
        validator=check_device,
        help="The device to compute on: cpu, cuda, mps, or auto, the fastest one that is here.",
    ),
]
Engine = Annotated[
    Literal["auto", "torch", "ctranslate2"],
    EXPLAINED,
    Parameter(
        help="The engine that searches: torch, ctranslate2, or auto, which prefers ctranslate2."
    ),
]
Int8 = Annotated[
    bool,
    Parameter(
        help="Only with ctranslate2: calculate with 8-bit numbers, which is faster and changes "
        "some words."
    ),
]
BeamSize = Annotated[
    int | None,
    OF_RUN,
    AT_LEAST_1,
    Parameter(help="Hypotheses kept at each step; 1 is greedy search."),
]
LengthPenalty = Annotated[
    float | None,
    OF_RUN,
    Parameter(help="0 prefers short outputs; 1 compares the mean over tokens."),
]
HeadsHow = Annotated[
    Literal["zero", "mean", "uniform"],
    EXPLAINED,
    Parameter(
        help="The output of a head that is off: zero; mean, its average over validation sentences; "
        "uniform, the mean of everything it may attend to."
    ),
]
Heads = Annotated[str | None, Parameter(validator=check_heads)]
Source = Annotated[
    Path | None, Parameter(help="Sentences to translate, one per line; .gz works, too.")
]
Reference = Annotated[Path | None, Parameter(help="Their translations, line by line.")]
Sentences = Annotated[int, AT_LEAST_1, Parameter(help="Measure on this many validation sentences.")]
Port = Annotated[int, Parameter(validator=Number(gte=0, lte=65535))]
Settings = Annotated[tuple[str, ...], Parameter(name="--set")]
