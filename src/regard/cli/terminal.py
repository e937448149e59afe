"""The console of all commands. Whatever is drawn on it may come from a stranger."""

from collections.abc import Iterable

from rich.console import Console, ConsoleOptions, RenderableType
from rich.segment import Segment

from regard.errors import visible


class Terminal(Console):
    """Shows texts as they are, but for what would steer the terminal: no markup, no emoji codes, no
    control characters. Colours come from styles alone.
    """

    def __init__(self, *, stderr: bool = False, soft_wrap: bool = False) -> None:
        super().__init__(
            emoji=False, highlight=False, markup=False, stderr=stderr, soft_wrap=soft_wrap
        )

    def render(
        self, renderable: RenderableType, options: ConsoleOptions | None = None
    ) -> Iterable[Segment]:
        """What is drawn of an object."""
        for segment in super().render(renderable, options):
            yield segment if segment.control else segment._replace(text=visible(segment.text))
