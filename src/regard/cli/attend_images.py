"""`regard attend` for a run that sees images."""

import json
from pathlib import Path
from typing import TYPE_CHECKING, Any

from regard.cli.display import results
from regard.errors import RequestError, UsageError

if TYPE_CHECKING:
    from regard.cli.attend import FileFlags, MapFlags
    from regard.inspect.images.maps import ImageMaps, Map

MOST_LABELS = 5


def attend_image(found: "ImageMaps", which: "MapFlags", files: "FileFlags", as_json: bool) -> None:
    """Show and save the maps of an image."""
    from regard.inspect.images.drawing import main_map

    main = main_map(found)
    shown = main[1] if main else found.hidden
    if which.layer is not None:
        shown = found.head(which.layer, which.head)
    if as_json:
        results(json.dumps(facts(found), ensure_ascii=False))
    else:
        show(found, which.layer, which.head)
    save_image_files(found, files.picture, files.csv, shown)


def check_flags(which: "MapFlags", files: "FileFlags", translation: str | None) -> None:
    """Options that say something about texts are not for images."""
    given = {
        "--translation": translation is not None,
        "--part": which.part is not None,
        "--pieces": which.pieces,
        "--read": which.read,
        "--measure": which.measure != "weights",
        "--html": files.html is not None,
    }
    for option, is_given in given.items():
        if is_given:
            raise UsageError(f"{option} is for texts, and this run sees images; leave it out")


def show(found: "ImageMaps", layer: int | None, head: int | None) -> None:
    """The likeliest labels and small maps in the terminal."""
    from rich.console import Console

    from regard.inspect.images.drawing import plain_map, terminal_maps

    console = Console(highlight=False)

    def say(text: Any, **style: Any) -> None:
        console.print(text, markup=False, no_wrap=True, overflow="ignore", crop=False, **style)

    for label, share in list(found.probabilities.items())[:MOST_LABELS]:
        say(f"{share:6.1%}  {label}", style="bold" if label == found.label else "")
    say("")
    if layer is not None:
        name = f"layer {layer}" + ("" if head is None else f", head {head}")
        say(f"{name}; darker is more", style="dim")
        say(plain_map(found.head(layer, head)))
        return
    if console.color_system is not None:
        say(terminal_maps(found))
    else:
        for name, values in (*found.maps.items(), ("patches hidden", found.hidden)):
            say(f"{name}; darker is more")
            say(plain_map(values))
    for line in sentences(found):
        say(line, style="dim")


def sentences(found: "ImageMaps") -> list[str]:
    """What the maps show, in words."""
    patch = int(found.hidden.argmax())
    row, column = divmod(patch, found.hidden.shape[1])
    fall = 100 * float(found.hidden.flat[patch])
    lines = [
        f"Hiding the patch in row {row + 1}, column {column + 1} changes the probability of "
        f"{found.label} most: {-fall:+.1f} points."
        if fall > 0
        else f"No single patch makes {found.label} less likely when it is hidden."
    ]
    return lines + [
        f"{name}: {value:+.2f} is its rank correlation with what hiding each patch does."
        for name, value in found.agreement.items()
    ]


def facts(found: "ImageMaps") -> dict[str, Any]:
    return {
        "label": found.label,
        "probabilities": found.probabilities,
        "maps": {name: each.tolist() for name, each in found.maps.items()},
        "heads": [layer.tolist() for layer in found.heads],
        "hidden": found.hidden.tolist(),
        "agreement": found.agreement,
    }


def save_image_files(
    found: "ImageMaps", pictures: tuple[Path, ...], table: Path | None, shown: "Map"
) -> None:
    from regard.inspect.figures import save_csv
    from regard.inspect.images.drawing import save_maps
    from regard.inspect.maps import Matrix

    rows, columns = (list(map(str, range(1, each + 1))) for each in shown.shape)
    try:
        for picture in pictures:
            save_maps(found, picture)
        if table is not None:
            save_csv(Matrix(rows, columns, shown.tolist()), table)
    except OSError as error:
        raise RequestError(
            f"{error.filename}: cannot be written ({error.strerror}); choose another name"
        ) from None
