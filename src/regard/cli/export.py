"""regard export: a run as a folder that another program reads."""

from pathlib import Path
from typing import Literal


def export(
    run: Path, out: Path, /, *, to: Literal["ctranslate2", "huggingface"], int8: bool = False
) -> None:
    """Write a run for another program: CTranslate2, Hugging Face.

    Parameters
    ----------
    run
        A run folder.
    out
        The folder to write; it must be new or empty.
    to
        ctranslate2: weights, vocabularies, the tokenizer and regard.json.
        huggingface: for from_pretrained of transformers, as Marian, Pegasus, GPT-2 or BERT.
    int8
        With ctranslate2: write 8-bit weights, a quarter of the size.
    """
    from regard.cli.display import say
    from regard.errors import RequestError, RunError

    if int8 and to != "ctranslate2":
        raise RequestError(f"--int8 is for ctranslate2, not for {to}; leave it out")
    try:
        if out.is_dir() and any(out.iterdir()):
            raise RunError(f"{out}: is there already and not empty; choose another folder")
        if to == "huggingface":
            from regard.engines.huggingface import export_run

            export_run(run, out)
        else:
            from regard.engines.ctranslate2 import require_package

            require_package()
            from regard.engines.conversion import convert

            convert(run, out, int8)
    except OSError as error:
        raise RunError(
            f"{out}: cannot be written ({error.strerror}); nothing is left behind, "
            "put that right and run the same command"
        ) from None
    size = sum(file.stat().st_size for file in out.rglob("*") if file.is_file())
    say(f"Wrote {out} for {to}, {size / 1e6:.1f} MB.")
