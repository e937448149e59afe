"""Pictures of the importance of heads, in the terminal and as files."""

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Protocol

from regard.inspect.drawing import save_figure
from regard.inspect.heads.heads import PARTS

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.image import AxesImage
    from rich.text import Text

BAR_WIDTH = 40


class Worth(Protocol):
    """How good a model is without one head."""

    @property
    def part(self) -> str: ...
    @property
    def layer(self) -> int: ...
    @property
    def head(self) -> int: ...
    @property
    def bleu(self) -> float: ...
    @property
    def log_probability(self) -> float: ...


class Point(Protocol):
    """How good a model is with a number of heads left."""

    @property
    def kept(self) -> int: ...
    @property
    def bleu(self) -> float: ...
    @property
    def log_probability(self) -> float: ...
    @property
    def removed(self) -> Sequence[str]: ...


class Importance(Protocol):
    """The result of an ablation; see `ablation`."""

    @property
    def sentences(self) -> int: ...
    @property
    def how(self) -> str: ...
    @property
    def bleu(self) -> float: ...
    @property
    def log_probability(self) -> float: ...
    @property
    def heads(self) -> Sequence[Worth]: ...
    @property
    def curve(self) -> Sequence[Point]: ...


def terminal_importance(found: Importance) -> "Text":
    """A line for each layer, a cell for each head: the loss in BLEU and log-probability without it.

    The most important heads are coloured.
    """
    from rich.text import Text

    picture = Text()
    picture.append(f"With all {len(found.heads)} heads: BLEU {found.bleu:.1f}, ")
    picture.append(f"log-probability {found.log_probability:.4f} a piece ")
    picture.append(f"({found.sentences} validation sentences, greedy search).\n")
    picture.append(f"Lost without a head ({found.how}): BLEU and log-probability.\n")
    most = max(found.log_probability - each.log_probability for each in found.heads)
    for part in PARTS:
        own = [each for each in found.heads if each.part == part]
        for layer in sorted({each.layer for each in own}):
            picture.append(f"\n{f'{part}.{layer}':<10}", style="bold")
            for each in own:
                if each.layer == layer:
                    lost = found.log_probability - each.log_probability
                    share = lost / most if most > 0 else 0.0
                    style = "bold red" if share > 0.5 else "yellow" if share > 0.1 else ""
                    cell = f"{signed(found.bleu - each.bleu, 1)} {signed(lost, 3)}"
                    picture.append(f"{cell:>15}", style=style)
    picture.append("\n")
    if found.curve:
        picture.append("\nHeads kept, and BLEU with them\n", style="bold")
        highest = max(point.bleu for point in found.curve) or 1.0
        for point in found.curve:
            bar = "█" * round(BAR_WIDTH * point.bleu / highest)
            picture.append(f"{point.kept:>5}  {point.bleu:5.1f} ")
            picture.append(bar.ljust(BAR_WIDTH), style="cyan")
            picture.append(f"  − {', '.join(point.removed)}\n" if point.removed else "\n")
    return picture


def signed(value: float, digits: int) -> str:
    """A number with its sign: +0.3, -0.1, but 0.0 without one."""
    text = f"{value:+.{digits}f}"
    return text[1:] if not float(text) else text


def save_importance(found: Importance, path: Path) -> None:
    """Save the picture as PNG, SVG or PDF, as the ending of the name says."""
    from matplotlib.figure import Figure

    parts = [part for part in PARTS if any(each.part == part for each in found.heads)]
    columns = len(parts) + bool(found.curve)
    figure = Figure(figsize=(3.2 * columns + 0.6, 3.4), layout="constrained")
    axes = figure.subplots(1, columns, squeeze=False)[0]
    most = max(found.log_probability - each.log_probability for each in found.heads)
    for panel, part in zip(axes, parts, strict=False):
        image = draw_part(panel, found, part, most)
    figure.colorbar(image, ax=axes[len(parts) - 1], label="log-probability lost a piece")
    if found.curve:
        kept = [point.kept for point in found.curve]
        axes[-1].plot(kept, [point.bleu for point in found.curve], marker="o", markersize=3)
        axes[-1].set(xlabel="heads kept", ylabel="BLEU", ylim=(0, None), title="removed greedily")
        axes[-1].invert_xaxis()
        axes[-1].grid(color="#dddddd", linewidth=0.6)
        axes[-1].spines[["top", "right"]].set_visible(False)
    save_figure(figure, path)


def draw_part(axes: "Axes", found: Importance, part: str, most: float) -> "AxesImage":
    """Draw layers × heads, with the loss in BLEU written into each cell."""
    own = [each for each in found.heads if each.part == part]
    layers, heads = max(e.layer for e in own) + 1, max(e.head for e in own) + 1
    lost = [[float("nan")] * heads for _ in range(layers)]
    for each in own:
        lost[each.layer][each.head] = found.log_probability - each.log_probability
    image = axes.imshow(lost, cmap="Blues", vmin=0, vmax=max(most, 1e-9), aspect="auto")
    for each in own:
        dark = lost[each.layer][each.head] > 0.6 * most
        text = signed(found.bleu - each.bleu, 1)
        colour = "white" if dark else "#333333"
        axes.text(each.head, each.layer, text, ha="center", va="center", color=colour, size=8)
    axes.set(xlabel="head", ylabel="layer", title=f"{part}: BLEU lost")
    axes.set_xticks(range(heads))
    axes.set_yticks(range(layers))
    axes.tick_params(length=0)
    axes.spines[:].set_visible(False)
    return image
