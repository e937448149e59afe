"""regard attend: which source words each word of a translation looks at."""

from pathlib import Path


def attend(
    run: Path, text: str, /, *, output: str | None = None, picture: Path | None = None
) -> None:
    """Show the alignment matrix of a translation in the terminal.

    Parameters
    ----------
    run
        A run folder.
    text
        A sentence to translate.
    output
        A translation to look at instead of the model's own.
    picture
        A file to draw the matrix to, by its ending: .png, .svg or .pdf.
    """
    from rich.console import Console

    from regard.errors import RequestError
    from regard.inspect.figures import save_matrix, terminal_matrix
    from regard.tasks import Translator

    if not text.strip():
        raise RequestError("the text is empty; give a sentence to look at")
    if picture is not None and picture.suffix not in (".png", ".svg", ".pdf"):
        raise RequestError(f"{picture}: not a kind of picture; end the name in .png, .svg or .pdf")
    translator = Translator.load(run)
    found = translator.align(text, output or translator.translate([text])[0])
    if found.weights and not found.pairs():
        raise RequestError(f"{run}: this model has no attention to look at; train one that has")
    console = Console(highlight=False)
    console.print(" ".join(found.target_words) + "\n", markup=False)
    console.print(
        terminal_matrix(found.source_words, found.target_words, found.weights),
        no_wrap=True,
        overflow="ignore",
        crop=False,
    )
    if picture is not None:
        save_matrix(found.source_words, found.target_words, found.weights, picture)
