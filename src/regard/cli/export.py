"""regard export: a run as a folder, or its vectors as a file, that another program reads."""

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Literal

from cyclopts import Parameter

from regard.cli.options import EXPLAINED

if TYPE_CHECKING:
    from regard.run import Run


def export(
    run: Path,
    old_out: Annotated[Path | None, Parameter(show=False)] = None,
    /,
    *,
    to: Annotated[
        Literal["argos", "ctranslate2", "huggingface", "onnx", "web", "word2vec"], EXPLAINED
    ],
    out: Annotated[
        Path | None,
        Parameter(
            show_default="RUN-ctranslate2, RUN-web and so on, RUN.argosmodel, RUN.vectors.txt"
        ),
    ] = None,
    int8: bool = False,
    binary: bool = False,
) -> None:
    """Write a run for other programs, such as CTranslate2, Argos or a browser.

    Parameters
    ----------
    run
        A run folder.
    to
        ctranslate2: weights, vocabularies, the tokenizer and regard.json.
        huggingface: for transformers, as Marian, Pegasus, GPT-2, BERT, ViT or CLIP.
        argos: a package of a translator, which LibreTranslate and Argos Translate install.
        onnx: graphs of a translator in Marian's shape, for transformers.js and ONNX Runtime.
        web: a page of a translator, which works in a browser without a server or a network.
        word2vec: the vectors of the words of any run with text, as one file, which gensim reads.
    out
        The folder to write, which must be new or empty; with argos and word2vec the file, which
        must be new.
    int8
        Only with argos, ctranslate2, web: store most weights in 8 bits, which changes some words.
    binary
        Only with word2vec: write its binary form, which is smaller, to RUN.vectors.bin.
    """
    from regard.cli.checks import check_new_folder, open_run
    from regard.cli.display import say
    from regard.errors import RunError, UsageError

    if int8 and to not in ("argos", "ctranslate2", "web"):
        raise UsageError(f"--int8 is for argos, ctranslate2 and web, not for {to}; leave it out")
    if binary and to != "word2vec":
        raise UsageError(f"--binary is for word2vec, not for {to}; leave it out")
    if to == "word2vec":
        export_vectors(open_run(run), out or old_out, binary)
        return
    if old_out is not None:
        if out is not None:
            raise UsageError(f"{old_out} and --out {out}: name one folder, with --out")
        say(f"regard: the folder to write is now given with --out {old_out}")
    opened = open_run(run, f"export {to}")
    if to == "argos":
        export_argos(opened, out, int8)
        return
    path = out or old_out or run.with_name(f"{run.resolve().name}-{to}")
    check_new_folder(path)
    try:
        if to == "huggingface":
            from regard.engines.huggingface import export_run

            export_run(run, path)
        elif to == "onnx":
            require_onnx()
            from regard.engines.onnx import export_graphs

            export_graphs(run, path)
        elif to == "web":
            from regard.engines.web import export_page
            from regard.tasks.translation.translator import languages_of

            export_page(run, languages_of(opened), path, int8)
        else:
            from regard.engines.package import require_package

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


def require_onnx() -> None:
    from regard.errors import RequestError

    try:
        import onnx  # noqa: F401
    except ImportError as error:
        raise RequestError(
            f"export onnx: the package cannot be loaded ({error}); install it with "
            "`pip install onnx`"
        ) from None


def export_vectors(run: "Run", out: Path | None, binary: bool) -> None:
    from regard.cli.display import say
    from regard.files import replacing
    from regard.tasks.neighbours import WordVectors
    from regard.text.vectors import write_vectors

    path = new_file(run, out, f".vectors.{'bin' if binary else 'txt'}")
    found = WordVectors.load(run.folder)
    with replacing(path) as temporary:
        write_vectors(temporary, found.words, found.vectors, binary)
    count, width = found.vectors.shape
    say(f"Wrote {path}: {count:,} vectors of {width} numbers, {path.stat().st_size / 1e6:.1f} MB.")


def export_argos(run: "Run", out: Path | None, int8: bool) -> None:
    from regard.cli.display import say
    from regard.engines.package import require_package

    require_package()
    from regard.engines.argos import SUFFIX, export_package
    from regard.tasks.translation.translator import languages_of

    path = new_file(run, out, SUFFIX)
    export_package(run.folder, languages_of(run), path, int8)
    say(f"Wrote {path}: {path.stat().st_size / 1e6:.1f} MB. Install it: argospm install {path}")


def new_file(run: "Run", out: Path | None, suffix: str) -> Path:
    """The file to write, which is not there yet; by default it is named after the run."""
    from regard.cli.checks import check_outputs
    from regard.errors import RunError

    path = out or run.folder.with_name(run.folder.resolve().name + suffix)
    check_outputs(path)
    if path.exists():
        raise RunError(f"{path}: is there already; choose another name with --out")
    return path
