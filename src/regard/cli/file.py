"""regard file: documents in, translated documents out."""

import os
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

from cyclopts import Parameter

from regard.cli.aids import AidFlags, HelpFlags
from regard.cli.options import BeamSize, Device, Engine, Int8
from regard.errors import RegardError, RequestError, UsageError

if TYPE_CHECKING:
    from regard.tasks.translation.documents import How, TranslatedFile
    from regard.tasks.translation.translator import Translator
    from regard.text.documents.document import Wish


@dataclass(frozen=True)
class Job:
    path: Path
    out: Path


def file(
    run: Path,
    files: tuple[Path, ...],
    /,
    *,
    out: Annotated[Path | None, Parameter(name=["--out", "-o"])] = None,
    out_dir: Path | None = None,
    overwrite: bool = False,
    column: str = "",
    into: str = "",
    confidence: bool = False,
    aids: HelpFlags = None,
    beam_size: BeamSize = None,
    device: Device = "auto",
    engine: Engine = "auto",
    int8: Int8 = False,
) -> None:
    """Translate documents: PO, XLIFF, Word, subtitles, Markdown, spreadsheets and more.

    An output differs from its file by the translations and nothing else. Finished entries stay as
    they are, and new ones are marked for review where the format can say so. Ctrl-C keeps what is
    done, and the same command resumes.

    Parameters
    ----------
    run
        A run folder.
    files
        Documents, or folders of them: .po .pot .xlf .xliff .json .arb .yaml .properties .xml
        (Android) .srt .vtt .md .html .docx .odt .csv .tsv .xlsx .txt.
    out
        The file to write; by default, its name gets the language, as in manual.de.md. A file that
        holds both languages may be its own output.
    out_dir
        The folder to write into, under the same names.
    overwrite
        Translate finished entries again, and replace outputs that are there.
    column
        Of a table: the column to translate, by its name or number.
    into
        Of a table: the column for the translations, instead of the same one.
    confidence
        Say how sure each translation is, "likely fine" or "check": XLIFF and PO hold it, for other
        formats a table is written beside the output, OUTPUT.confidence.tsv.
    """
    os.environ.setdefault("TOKENIZERS_PARALLELISM", "true")
    from regard.cli.checks import check_outputs, check_room_for, open_run

    if not files:
        raise UsageError("name at least one document, or a folder of them")
    if out is not None and (out_dir is not None or len(files) > 1 or files[0].is_dir()):
        raise UsageError("--out names the output of one document; use --out-dir for several")
    if into and not column:
        raise UsageError("--into needs --column, the column that is translated")
    opened = open_run(run, "file")
    check_outputs(out)
    if out_dir is not None:
        check_room_for(out_dir)
    from regard.tasks.translation.documents import How
    from regard.tasks.translation.translator import Translator
    from regard.text.documents.document import Wish

    helped = (aids or AidFlags()).read(opened)
    translator = Translator.load(opened.folder, device, engine, int8)
    if confidence:
        translator.require_calibration()
    source, target = translator.languages() or ("", "")
    wish = Wish(source, target, column, into, overwrite)
    jobs = list(jobs_of(files, out, out_dir, wish))
    search = translator.search
    if beam_size is not None:
        search = replace(search, beam_size=beam_size)
    run_jobs(jobs, translator, wish, How(search, helped, confidence))


def run_jobs(jobs: list[Job], translator: "Translator", wish: "Wish", how: "How") -> None:
    """Translate one document after the other. One that is refused does not stop the others."""
    from regard.cli.display import SCREEN, say
    from regard.tasks.translation.documents import translate_file

    refused, done = 0, []
    for job in jobs:
        try:
            job.out.parent.mkdir(parents=True, exist_ok=True)
            done.append(translate_file(translator, job.path, job.out, wish, how, SCREEN))
            say(summary(done[-1]))
        except RegardError as error:
            if len(jobs) == 1:
                raise
            refused += 1
            say(f"{error}")
        except KeyboardInterrupt:
            say(f"{job.path}: stopped; what is done is kept, and the same command resumes.")
            raise
    if how.confidence and len(done) > 1:
        say(f"In all {judgement(done)}.")
    if refused:
        raise RequestError(f"{refused} of {len(jobs)} documents were not translated; see above")


def summary(done: "TranslatedFile") -> str:
    from regard.tasks.translation.glossaries import remark

    def texts(count: int) -> str:
        return f"{count:,} text{'' if count == 1 else 's'}"

    if not (done.translated or done.taken or done.before or done.finished):
        return f"Wrote {done.path} as it was: there is nothing to translate in it."
    facts = [f"{texts(done.translated)} translated"]
    if done.taken:
        facts.append(f"{done.taken:,} from the memory")
    if done.before:
        facts.append(f"{done.before:,} from before")
    if done.finished:
        facts.append(f"{done.finished:,} finished already")
    sentence = f"Wrote {done.path}: {', '.join(facts)}."
    if found := remark(done.terms):
        sentence += f" {found}."
    if done.judged is not None:
        sentence += f" {judgement([done])}"
        sentence += f": see {done.table}." if done.table else "."
    return sentence


def judgement(done: "Sequence[TranslatedFile]") -> str:
    fine, check = sum(each.likely_fine for each in done), sum(each.to_check for each in done)
    return f"{fine:,} likely fine, {check:,} to check"


def jobs_of(
    files: tuple[Path, ...], out: Path | None, out_dir: Path | None, wish: "Wish"
) -> Iterator[Job]:
    """Each document with its output."""
    from regard.text.documents.formats import FORMATS
    from regard.text.documents.names import default_output

    for path in files:
        if not path.is_dir():
            if out is not None:
                yield Job(path, out)
            elif out_dir is not None:
                yield Job(path, out_dir / default_output(path, wish.source, "").name)
            else:
                yield Job(path, default_output(path, wish.source, wish.target))
            continue
        found = sorted(
            each for each in path.rglob("*") if each.suffix.lower() in FORMATS and each.is_file()
        )
        if not found:
            raise RequestError(f"{path}: has no documents that can be translated")
        for each in found:
            if out_dir is not None:
                inner = out_dir / each.relative_to(path)
                yield Job(each, inner.with_name(default_output(inner, wish.source, "").name))
            else:
                yield Job(each, default_output(each, wish.source, wish.target))
