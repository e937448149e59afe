"""regard attend: what attends to what in a translation, or in a text that a model reads."""

from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Literal

from cyclopts import Parameter

if TYPE_CHECKING:
    from regard.inspect.alignments import Aligners
    from regard.inspect.heads.heads import Head, Part
    from regard.inspect.maps import Maps, Matrix, Measure
    from regard.tasks.attender import Attender
    from regard.tasks.translation.translator import Translator


@dataclass
class MapFlags:
    """Which map to show. By default it is the one that aligns words best.

    Parameters
    ----------
    part
        cross: output to source; encoder: source to source; decoder: output to output so far.
    layer
        A layer, counted from 0; by default, the mean of all layers.
    head
        A head, counted from 0; by default, the mean of all heads.
    pieces
        Give each piece a row and a column, not each word.
    read
        Name a row after the piece that was read there, not after the one that is predicted.
    measure
        weights: how much a row looks at a column; norm: how large what it takes from there is, with
        rows that sum to 1.
    """

    part: Literal["cross", "encoder", "decoder"] | None = None
    layer: int | None = None
    head: int | None = None
    pieces: bool = False
    read: bool = False
    measure: Literal["weights", "norm"] = "weights"


@dataclass
class FileFlags:
    """Files to write.

    Parameters
    ----------
    html
        Write a page with all layers and heads to this file; it needs no network.
    svg
        Draw the map to this file.
    png
        Write the map to this file as a picture.
    csv
        Write the numbers of the map to this file.
    """

    html: Path | None = None
    svg: Path | None = None
    png: Path | None = None
    csv: Path | None = None


def attend(
    run: Path,
    text: str,
    /,
    *,
    output: str | None = None,
    which: Annotated[MapFlags | None, Parameter(name="*")] = None,
    files: Annotated[FileFlags | None, Parameter(name="*")] = None,
) -> None:
    """Show what attends to what in a translation or in a text.

    The terminal shows a heat map. A translator translates the text; other models read it.

    Parameters
    ----------
    run
        A run folder.
    text
        A sentence to translate, or to read.
    output
        A translation to look at instead of the model's own.
    """
    from rich.console import Console

    from regard import tasks
    from regard.errors import RequestError
    from regard.inspect.figures import terminal_matrix
    from regard.run import Run

    if not text.strip():
        raise RequestError("the text is empty; give a sentence to look at")
    look = tasks.get(Run.open(run).task_name()).attend
    if look is None:
        raise RequestError(f"{run}: runs of this task have no attention to show")
    looking, maps = look(run, text, output)
    if not any(map(len, (maps.encoder, maps.decoder, maps.cross))):
        raise RequestError(f"{run}: this model has no attention to look at; train one that has")
    chosen = which or MapFlags()
    name, matrix = chosen_map(looking, maps, chosen)
    console = Console(highlight=False)
    if len(maps.cross):
        console.print(" ".join(maps.labels.target_words), markup=False, soft_wrap=True)
    console.print(f"{name}\n", style="dim", markup=False)
    console.print(
        terminal_matrix(matrix.columns, matrix.rows, matrix.weights),
        no_wrap=True,
        overflow="ignore",
        crop=False,
    )
    shown = first_head(looking, maps, chosen)
    write_files(files or FileFlags(), matrix, maps, shown, chosen.measure)


def chosen_map(
    looking: "Translator | Attender", maps: "Maps", which: MapFlags
) -> tuple[str, "Matrix"]:
    """The map with what it is called."""
    from regard.errors import RequestError
    from regard.inspect.heads.heads import choose_heads

    aligners = aligners_of(looking)
    best = aligners.best if aligners else None
    part, layer, head = which.part or first_part(maps), which.layer, which.head
    reading: Literal["read", "predicts"] = "read" if which.read else "predicts"
    spec = ".".join("*" if each is None else str(each) for each in (part, layer, head))
    choose_heads(looking.model, [spec])  # says so if there is none
    if which.part is None and layer is None and head is None and part == "cross":
        if best is None:
            layer = max(0, len(maps.cross) - 2)
            name = f"the mean of cross.{layer}; `regard inspect alignment` finds what aligns best"
        else:
            layer, head, reading = best.layer, best.head, best.reading
            name = f"{best.name()}, which aligns best ({best})"
    elif head is None:
        name = f"the mean of {part}" + ("" if layer is None else f".{layer}")
    elif layer is None:
        raise RequestError(f"--head {head}: say of which layer, with --layer")
    else:
        name = f"{part}.{layer}.{head}"
    if which.measure == "norm":
        name = f"what is carried by {name}"
    return name, maps.matrix(part, layer, head, reading, not which.pieces, which.measure)


def aligners_of(looking: "Translator | Attender") -> "Aligners | None":
    return getattr(looking, "aligners", None)


def first_part(maps: "Maps") -> "Part":
    return "cross" if len(maps.cross) else "encoder" if len(maps.encoder) else "decoder"


def first_head(looking: "Translator | Attender", maps: "Maps", which: MapFlags) -> "Head":
    """The head that a page with all of them opens with."""
    from regard.inspect.heads.heads import Head

    aligners = aligners_of(looking)
    unsaid = which.part is None and which.layer is None and which.head is None
    if unsaid and aligners and (best := aligners.best_head) is not None:
        return Head("cross", best.layer or 0, best.head or 0)
    return Head(which.part or first_part(maps), which.layer or 0, which.head or 0)


def write_files(
    files: FileFlags, matrix: "Matrix", maps: "Maps", shown: "Head", measure: "Measure"
) -> None:
    from regard.errors import RequestError
    from regard.inspect.figures import save_csv, save_matrix
    from regard.inspect.page import save_page

    for path, ending in ((files.svg, ".svg"), (files.png, ".png")):
        if path is not None and path.suffix != ending:
            raise RequestError(
                f"{path}: --{ending[1:]} writes such a file; end the name in {ending}"
            )
    try:
        for picture in (files.svg, files.png):
            if picture is not None:
                save_matrix(matrix, picture)
        if files.csv is not None:
            save_csv(matrix, files.csv)
        if files.html is not None:
            save_page(maps, shown, files.html, measure)
    except OSError as error:
        raise RequestError(
            f"{error.filename}: cannot be written ({error.strerror}); choose another name"
        ) from None
