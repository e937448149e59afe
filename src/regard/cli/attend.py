"""regard attend: what attends to what in a translation, or in a text that a model reads."""

import json
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Literal

from cyclopts import Parameter
from cyclopts.validators import Number

from regard.cli.checks import check_inputs, check_outputs, check_picture, open_run
from regard.cli.display import results
from regard.cli.options import EXPLAINED, AsJson, Device

if TYPE_CHECKING:
    from regard.inspect.alignments import Aligners
    from regard.inspect.heads.heads import Part
    from regard.inspect.maps import Maps, Matrix, Measure
    from regard.inspect.page import Shown
    from regard.tasks.attender import Attender
    from regard.tasks.translation.translator import Translator


@dataclass
class MapFlags:
    """Which map to show. Without these options, it is the one that aligns words best.

    Parameters
    ----------
    part
        cross: output to source; encoder: source to source; decoder: output to output so far.
    layer
        A layer, counted from 0.
    head
        A head of this layer, counted from 0.
    pieces
        Give each piece a row and a column, not each word.
    read
        Name a row after the piece that was read there, not after the one that is predicted.
    measure
        weights: how much a row looks at a column; norm: how large what it takes from there is, with
        rows that sum to 1.
    """

    part: Annotated[
        Literal["cross", "encoder", "decoder"] | None,
        EXPLAINED,
        Parameter(show_default="cross where there is one"),
    ] = None
    layer: Annotated[
        int | None,
        Parameter(validator=Number(gte=0), show_default="the mean of all layers"),
    ] = None
    head: Annotated[
        int | None, Parameter(validator=Number(gte=0), show_default="the mean of all heads")
    ] = None
    pieces: bool = False
    read: bool = False
    measure: Annotated[Literal["weights", "norm"], EXPLAINED] = "weights"


@dataclass
class FileFlags:
    """Files to write.

    Parameters
    ----------
    picture
        Draw the map to this file: .png, .svg or .pdf. Repeat it for more files.
    html
        Write a page with all layers and heads to this file; it needs no network.
    csv
        Write the numbers of the map to this file.
    """

    picture: tuple[Path, ...] = ()
    html: Path | None = None
    csv: Path | None = None

    def check(self) -> None:
        for picture in self.picture:
            check_picture(picture)
        check_outputs(self.html, self.csv)


def attend(
    run: Path,
    text: str = "",
    /,
    *,
    translation: str | None = None,
    label: str | None = None,
    about: Annotated[str | None, Parameter(name="--text")] = None,
    series: Annotated[tuple[Path, ...], Parameter(consume_multiple=True)] = (),
    only: str = "",
    which: Annotated[MapFlags | None, Parameter(name="*")] = None,
    files: Annotated[FileFlags | None, Parameter(name="*")] = None,
    as_json: AsJson = False,
    device: Device = "auto",
) -> None:
    """Show what attends to what in a text, or what counts in an image or a series.

    The terminal shows a heat map. A translator translates the text; other models read it. Without
    --part, --layer and --head, the map of a translator is the one that aligns words best. For an
    image, maps show which patches speak for a label, which ones each word of a caption looks at, or
    which ones make a text fit; and what happens when each of them is hidden. For a series, they
    show which parts of its past a forecast comes from. Of a classifier with a linear model, it
    shows which words of the text speak for a label.

    Parameters
    ----------
    run
        A run folder.
    text
        A sentence to translate or to read, or the name of an image file.
    translation
        A translation to look at; without it, the model's own.
    label
        The label of an image, or of a text where a linear model reads it, to ask about; without
        it, the likeliest.
    about
        For an image: the text to compare it with, or a caption to look at instead of the model's
        own.
    series
        Newer series for a forecaster; without them, the end of those that it learned from.
    only
        The name of the series to look at; without it, the first.
    as_json
        Print one JSON object: the words or pieces of rows and columns, and the map's numbers.
    """
    from regard import tasks
    from regard.errors import RequestError, UsageError
    from regard.tasks.task import ImageQuestion

    files = files or FileFlags()
    files.check()
    if which and which.head is not None and which.layer is None:
        raise UsageError(f"--head {which.head}: say of which layer, with --layer")
    task, chosen = tasks.get(open_run(run).task_name()), which or MapFlags()
    if task.attend_series is not None:
        from regard.cli.attend_series import attend_series, check_series_flags

        others = {"a text": bool(text), "--label": label is not None, "--text": about is not None}
        check_series_flags(chosen, files, {**others, "--translation": translation is not None})
        check_inputs(*series)
        attend_series(task.attend_series(run, series, only, device), chosen, files, as_json)
        return
    if series or only:
        raise UsageError(f"{run}: this run reads no series; leave --series and --only out")
    if not text.strip():
        raise UsageError("the text is empty; give a sentence to look at")
    if task.attend_image is not None:
        from regard.cli.attend_images import attend_image, check_image_flags

        check_image_flags(chosen, files, translation)
        question = ImageQuestion(label, about)
        attend_image(task.attend_image(run, Path(text), question, device), chosen, files, as_json)
        return
    if task.attend_words is not None and about is None and translation is None:
        words = task.attend_words(run, text, label, device)
        if words is not None:
            from regard.cli.attend_words import attend_words

            attend_words(words, files, as_json)
            return
    for name, given in (("label", label), ("text", about)):
        if given is not None:
            raise UsageError(f"--{name}: this run sees no images; leave it out")
    if task.attend is None:
        raise RequestError(f"{run}: runs of this task have no attention to show")
    looking, maps = task.attend(run, text, translation, device)
    if not any(map(len, (maps.encoder, maps.decoder, maps.cross))):
        raise RequestError(f"{run}: this model has no attention to look at; train one that has")
    shown, matrix = chosen_map(looking, maps, chosen)
    if as_json:
        results(json.dumps({"map": shown.name, **asdict(matrix)}, ensure_ascii=False))
    else:
        show(shown.name, matrix, " ".join(maps.labels.target_words) if len(maps.cross) else "")
    write_files(files, matrix, maps, shown, chosen.measure)


def show(name: str, matrix: "Matrix", words: str) -> None:
    """The map in the terminal, under the translation that it belongs to."""
    from regard.cli.terminal import Terminal
    from regard.inspect.figures import terminal_matrix

    console = Terminal()
    if words:
        console.print(words, soft_wrap=True)
    console.print(f"{name}\n", style="dim")
    console.print(
        terminal_matrix(matrix.columns, matrix.rows, matrix.weights),
        no_wrap=True,
        overflow="ignore",
        crop=False,
    )


def chosen_map(
    looking: "Translator | Attender", maps: "Maps", which: MapFlags
) -> "tuple[Shown, Matrix]":
    """The map, where it is among all maps, and what it is called."""
    from regard.inspect.heads.heads import choose_heads
    from regard.inspect.page import Shown

    part, layer, head = which.part or first_part(maps), which.layer, which.head
    reading: Literal["read", "predicts"] = "read" if which.read else "predicts"
    spec = ".".join("*" if each is None else str(each) for each in (part, layer, head))
    choose_heads(looking.model, [spec])  # says so if there is none
    if which.part is None and layer is None and head is None and part == "cross":
        from regard.inspect.alignments import first_map

        first = first_map(aligners_of(looking), len(maps.cross))
        layer, head, reading, name = first.layer, first.head, first.reading, first.name
    elif head is None:
        name = f"the mean of {part}" + ("" if layer is None else f".{layer}")
    else:
        name = f"{part}.{layer}.{head}"
    if which.measure == "norm":
        name = f"what is carried by {name}"
    matrix = maps.matrix(part, layer, head, reading, not which.pieces, which.measure)
    return Shown(part, layer, head, reading, name), matrix


def aligners_of(looking: "Translator | Attender") -> "Aligners | None":
    return getattr(looking, "aligners", None)


def first_part(maps: "Maps") -> "Part":
    return "cross" if len(maps.cross) else "encoder" if len(maps.encoder) else "decoder"


def write_files(
    files: FileFlags, matrix: "Matrix", maps: "Maps", shown: "Shown", measure: "Measure"
) -> None:
    from regard.errors import RequestError
    from regard.inspect.figures import save_csv, save_matrix
    from regard.inspect.page import save_page

    try:
        for picture in files.picture:
            save_matrix(matrix, picture)
        if files.csv is not None:
            save_csv(matrix, files.csv)
        if files.html is not None:
            save_page(maps, shown, files.html, measure)
    except OSError as error:
        raise RequestError(
            f"{error.filename}: cannot be written ({error.strerror}); choose another name"
        ) from None
