"""regard export: a run as a folder that another program reads."""

from pathlib import Path
from typing import Literal


def export(run: Path, out: Path, /, *, to: Literal["ctranslate2"], int8: bool = False) -> None:
    """Write a run in the form of another program.

    Parameters
    ----------
    run
        A run folder.
    out
        The folder to write; it must not exist or be empty.
    to
        ctranslate2: weights, vocabularies, our tokenizer and regard.json.
    int8
        Weights as whole numbers of eight bits: a quarter of the size.
    """
    from regard.cli.display import say
    from regard.engines.ctranslate2 import require_package
    from regard.errors import RunError

    require_package()
    from regard.engines.conversion import convert

    try:
        if out.is_dir() and any(out.iterdir()):
            raise RunError(f"{out}: is there already and not empty; choose another folder")
        convert(run, out, int8)
    except OSError as error:
        raise RunError(
            f"{out}: cannot be written ({error.strerror}); nothing is left behind, "
            "put that right and run the same command"
        ) from None
    size = sum(file.stat().st_size for file in out.iterdir())
    say(f"Wrote {out} for {to}, {size / 1e6:.1f} MB.")
