"""regard export: a run as a folder that another program reads."""

from pathlib import Path
from typing import Annotated, Literal

from cyclopts import Parameter

from regard.cli.options import EXPLAINED


def export(
    run: Path,
    old_out: Annotated[Path | None, Parameter(show=False)] = None,
    /,
    *,
    to: Annotated[Literal["ctranslate2", "huggingface"], EXPLAINED],
    out: Annotated[Path | None, Parameter(show_default="RUN-ctranslate2, RUN-huggingface")] = None,
    int8: bool = False,
) -> None:
    """Write a run for another program: CTranslate2, Hugging Face.

    Parameters
    ----------
    run
        A run folder.
    to
        ctranslate2: weights, vocabularies, the tokenizer and regard.json.
        huggingface: for from_pretrained of transformers, as Marian, Pegasus, GPT-2 or BERT.
    out
        The folder to write; it must be new or empty.
    int8
        Only with ctranslate2: store most weights in 8 bits, which changes some words.
    """
    from regard.cli.checks import check_new_folder, open_run
    from regard.cli.display import say
    from regard.errors import RunError, UsageError

    if int8 and to != "ctranslate2":
        raise UsageError(f"--int8 is for ctranslate2, not for {to}; leave it out")
    if old_out is not None:
        if out is not None:
            raise UsageError(f"{old_out} and --out {out}: name one folder, with --out")
        say(f"regard: the folder to write is now given with --out {old_out}")
    opened = open_run(run, f"export {to}")
    path = out or old_out or run.with_name(f"{run.resolve().name}-{to}")
    check_new_folder(path)
    try:
        if to == "huggingface":
            from regard.engines.huggingface import export_run

            export_run(run, path)
        else:
            from regard.engines.ctranslate2 import require_package

            require_package()
            from regard.engines.conversion import convert

            convert(run, path, int8)
    except OSError as error:
        raise RunError(
            f"{path}: cannot be written ({error.strerror}); nothing is left behind, "
            "put that right and run the same command"
        ) from None
    size = sum(file.stat().st_size for file in path.rglob("*") if file.is_file())
    before = opened.model_path.stat().st_size
    say(f"Wrote {path} for {to}: {size / 1e6:.1f} MB, from {before / 1e6:.1f} MB of weights.")
