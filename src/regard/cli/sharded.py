"""Files that are translated in shards, on many cores or machines."""

import sys
from collections.abc import Callable, Iterable, Iterator
from contextlib import redirect_stdout
from typing import TYPE_CHECKING, Any

from regard.cli.lines import FileFlags, file_lines
from regard.errors import RequestError, UsageError

if TYPE_CHECKING:
    from regard.cli.translate import Format, SearchFlags
    from regard.engines import EngineName
    from regard.run import Run

SUFFIX = ".parts"


def check_sharded(files: FileFlags, device: str, other: bool) -> None:
    """Refuse what does not go with --on."""
    if files.input is None or files.output is None:
        raise UsageError("--on: name the files with --input and --output")
    if files.output.exists() and not files.output.is_file():
        raise UsageError(f"--output {files.output}: is no file; --on keeps its parts beside one")
    if other or files.output.suffix.lower() == ".tmx":
        raise UsageError(
            "--on: writes one translation on each line and nothing else; leave out the other "
            "options, or leave out --on"
        )
    if device not in ("auto", "cpu"):
        raise UsageError(f"--device {device}: --on translates on the CPU; leave one of them out")


def translate_sharded(
    run: "Run",
    flags: "SearchFlags",
    form: "Format",
    engine: "EngineName",
    int8: bool,
    files: FileFlags,
) -> None:
    """Translate the input into the output. What is finished stays in a folder beside the output
    until all is.
    """
    from regard.cli.display import results, say, shown_progress
    from regard.decode.search import Search
    from regard.files import take_lock
    from regard.tasks.translation import on_ray, shards

    assert files.input is not None
    assert files.output is not None
    on_ray.require_package()
    recipe: Any = run.recipe()
    search = flags.over(Search(**recipe.decode.model_dump()))
    job = shards.Job.of(run, search, form, engine, int8)
    folder = files.output.resolve().with_name(files.output.name + SUFFIX)
    try:
        lock = take_lock(folder / "lock")
    except BlockingIOError:
        raise RequestError(
            f"{folder}: another program is translating into {files.output}; wait for it, or "
            "name another output"
        ) from None
    with lock:
        with shown_progress("lines read", 0) as advance:
            every = list(shards.cut(counted(file_lines(files.input), advance), folder, job))
        rest = [shard for shard in every if not shard.is_done()]
        lines, left = sum(each.lines for each in every), sum(each.lines for each in rest)
        if left < lines:
            say(f"{lines - left:,} of {lines:,} lines are translated already.")
        if rest:
            try:
                # Ray prints remarks on workers that died.
                with redirect_stdout(sys.stderr), shown_progress("translated", lines) as advance:
                    advance(lines - left)
                    for count in on_ray.translate(rest, job):
                        advance(count)
            except KeyboardInterrupt:
                say("Stopped; the same command resumes there.")
                raise
        with files.answers():
            for text in shards.outputs(every):
                results(text)
        shards.remove(folder)


def counted(texts: Iterable[str], advance: Callable[[int], None]) -> Iterator[str]:
    for text in texts:
        yield text
        advance(1)
