"""regard attend for forecasters: which parts of the past a forecast comes from."""

import json
from typing import TYPE_CHECKING

from regard.cli.display import results, say
from regard.errors import UsageError

if TYPE_CHECKING:
    from regard.cli.attend import FileFlags, MapFlags
    from regard.inspect.series import SeriesMaps

BAR = 40


def check_series_flags(which: "MapFlags", files: "FileFlags", others: dict[str, bool]) -> None:
    """Options that say something about texts or images are not for series."""
    given = {
        **others,
        "--part": which.part is not None,
        "--pieces": which.pieces,
        "--read": which.read,
        "--measure": which.measure != "weights",
        "--html": files.html is not None,
    }
    for option, is_given in given.items():
        if is_given:
            raise UsageError(f"{option} is not for series; leave it out")


def attend_series(
    found: "SeriesMaps", which: "MapFlags", files: "FileFlags", as_json: bool
) -> None:
    """Show and save which parts of the past count."""
    from regard.files import replacing
    from regard.inspect.figures import save_csv
    from regard.inspect.maps import Matrix
    from regard.inspect.series_drawing import save_series_maps

    looks = bool(found.heads.size)
    if which.layer is not None and not looks:
        found.attention(which.layer)  # says that there is none
    if as_json:
        facts = {
            "series": found.name,
            "parts": found.parts,
            "steps_of_a_part": found.steps,
            "moves_if_hidden": found.hidden.tolist(),
            "ahead": found.ahead,
            "attention": found.attention(which.layer, which.head).weights if looks else [],
        }
        results(json.dumps(facts, ensure_ascii=False))
    else:
        show(found, which)
    for picture in files.picture:
        with replacing(picture) as temporary:
            save_series_maps(found, temporary, which.layer, which.head)
        say(f"Wrote {picture}")
    if files.csv is not None:
        plain = Matrix(["moves if hidden"], found.parts, [found.hidden.tolist()])
        save_csv(found.attention(which.layer, which.head) if looks else plain, files.csv)
        say(f"Wrote {files.csv}")


def show(found: "SeriesMaps", which: "MapFlags") -> None:
    from regard.evaluate.forecasts import number

    results(f"{found.name}: how far the median moves if {found.steps} steps are hidden")
    largest = float(found.hidden.max()) or 1.0
    width = max(map(len, found.parts))
    weights = []
    if found.heads.size:
        matrix = found.attention(which.layer, which.head)
        weights = [sum(row[place] for row in matrix.weights) for place in range(len(found.parts))]
    for place, part in enumerate(found.parts):
        moved = float(found.hidden[place])
        bar = "█" * round(BAR * moved / largest)
        looked = f"  {weights[place] / len(found.ahead):5.1%}" if weights else ""
        results(f"{part or 'before it begins':<{width}}{looked}  {number(moved):>10} {bar}")
    if weights:
        say("The percentage is the mean attention of the future to this part of the past.")
