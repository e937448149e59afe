"""How drawn figures become files."""

import warnings
from pathlib import Path
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from matplotlib.figure import Figure

# Fonts with letters that matplotlib's own lacks, as systems install them.
OTHER_FONTS = (
    *("Noto Sans CJK JP", "Noto Sans CJK SC", "Source Han Sans", "WenQuanYi Zen Hei"),
    *("Hiragino Sans", "PingFang SC", "Yu Gothic", "Microsoft YaHei", "Arial Unicode MS"),
    *("Noto Sans Arabic", "Noto Sans Hebrew", "Noto Sans Devanagari", "Noto Sans Thai"),
)


def save_figure(figure: "Figure", path: Path, **options: Any) -> None:
    """Save a figure as PNG, SVG or PDF, as the ending of the name says. One warning names all
    letters that no installed font has.
    """
    from matplotlib.font_manager import get_font_names
    from matplotlib.text import Text

    installed = set(get_font_names())
    fonts = ["DejaVu Sans", *(name for name in OTHER_FONTS if name in installed)]
    for text in figure.findobj(Text):
        text.set_fontfamily(fonts)
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        figure.savefig(path, dpi=160, **options)
    missing = [each for each in caught if "missing from font" in str(each.message)]
    for other in caught:
        if other not in missing:
            warnings.warn_explicit(other.message, other.category, other.filename, other.lineno)
    letters = {chr(int(str(each.message).split()[1])) for each in missing}
    if letters:
        warnings.warn(
            f"{path}: no installed font has {' '.join(sorted(letters))}; install one that has, "
            "such as Noto Sans CJK, and draw again",
            stacklevel=2,
        )


def literal(text: str) -> str:
    """Escape dollar signs, which would begin a formula."""
    return text.replace("$", r"\$")
