"""`regard attend` for a run that sees images."""

import json
from typing import TYPE_CHECKING, Any

from regard.cli.display import results
from regard.errors import RequestError, UsageError

if TYPE_CHECKING:
    from regard.cli.attend import FileFlags, MapFlags
    from regard.inspect.images.looked import Looked


def attend_image(found: "Looked", which: "MapFlags", files: "FileFlags", as_json: bool) -> None:
    """Show and save what a run looks at in an image."""
    shown = found.matrix(which.layer, which.head)
    if as_json:
        results(json.dumps(found.facts(), ensure_ascii=False))
    else:
        show(found, which.layer, which.head)
    from regard.inspect.figures import save_csv

    try:
        for picture in files.picture:
            found.save(picture)
        if files.csv is not None:
            save_csv(shown, files.csv)
    except OSError as error:
        raise RequestError(
            f"{error.filename}: cannot be written ({error.strerror}); choose another name"
        ) from None


def check_image_flags(which: "MapFlags", files: "FileFlags", translation: str | None) -> None:
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


def show(found: "Looked", layer: int | None, head: int | None) -> None:
    """What the model says, and small maps in the terminal."""
    from regard.cli.terminal import Terminal
    from regard.inspect.images.drawing import plain_maps, terminal_maps

    console = Terminal()

    def say(text: Any, **style: Any) -> None:
        console.print(text, no_wrap=True, overflow="ignore", crop=False, **style)

    say(found.answer())
    panels = found.panels(layer, head)
    if console.color_system is not None:
        say(terminal_maps(found.pixels, panels, console.width, found.one_scale))
    else:
        say("darker is more", style="dim")
        say(plain_maps(panels, console.width, found.one_scale))
    if layer is None:
        for line in found.remarks():
            say(line, style="dim")
