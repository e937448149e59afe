"""Runs commands over hostile folders, each in a process of its own, and watches what they do.

    python tests/hostile_child.py < commands.json > outcomes.json

The modules are loaded once, and each command runs in a fork of this process: so what it costs is
what the folder costs. A hook of Python's sees every file that is written, every connection, every
program that is started and every module that is loaded.
"""

import importlib
import io
import json
import os
import pkgutil
import resource
import signal
import sys
import tempfile
import traceback
from contextlib import redirect_stderr, redirect_stdout, suppress
from pathlib import Path
from typing import Any

SECONDS = 60  # of the processor, after which a command has hung
GIGABYTE = 1 << 30
WRITING = os.O_WRONLY | os.O_RDWR | os.O_CREAT | os.O_TRUNC | os.O_APPEND
CHANGES = {
    *("os.remove", "os.rename", "os.rmdir", "os.mkdir", "os.link", "os.symlink", "os.truncate"),
    *("os.chmod", "os.chown", "os.utime", "shutil.rmtree", "shutil.move"),
}
PROGRAMS = {"subprocess.Popen", "os.system", "os.exec", "os.posix_spawn", "os.startfile"}


def load_everything() -> None:
    import regard

    for module in pkgutil.walk_packages(regard.__path__, "regard."):
        if not module.name.endswith("__main__"):
            with suppress(ImportError):  # an extra that is not installed
                importlib.import_module(module.name)
    import torch

    torch.set_num_threads(1)


def do_not_serve() -> None:
    """Servers end once they would answer. The studio opens its runs before that, and of the server
    it is the worker who does.
    """
    import uvicorn

    from regard.errors import visible
    from regard.serve.running import Server
    from regard.serve.worker.child import load
    from regard.studio import server as studio

    def build_app(runs: Any, *_: Any) -> None:
        for run in runs:
            run.describe()
            run._load()
            if run.problem:
                # The page shows it as text, which steers nothing.
                print(f"regard: error: {visible(run.problem)}", file=sys.stderr)

    def run_server(server: uvicorn.Server, **_: Any) -> None:
        if isinstance(server, Server):
            load(server._workers._settings, [])

    studio.build_app = build_app  # type: ignore[assignment]
    uvicorn.Server.run = run_server  # type: ignore[method-assign]


def watch(folder: Path, writable: list[Path], seen: list[str]) -> None:
    """Note what no folder may cause."""

    def inside(path: Any, folders: list[Path]) -> bool:
        if isinstance(path, int):
            return True
        place = Path(os.path.realpath(os.fsdecode(path)))
        return any(place.is_relative_to(each) for each in folders)

    def hook(event: str, arguments: tuple[Any, ...]) -> None:
        if event == "open":
            path, mode, flags = (*arguments, None, None)[:3]
            if isinstance(path, int) or path is None:
                return
            writes = flags & WRITING if isinstance(flags, int) else set(str(mode)) & set("wax+")
            if writes and not inside(path, [*writable, Path("/dev")]):
                seen.append(f"writes {path}")
            if inside(path, [folder.parent / "outside"]):
                seen.append(f"reads {path}")
            if inside(path, [folder]) and str(path).endswith((".py", ".pyc", ".so")):
                seen.append(f"loads {path}")
        elif event in CHANGES and arguments and not inside(arguments[0], writable):
            seen.append(f"{event} {arguments[0]}")
        elif event in PROGRAMS and "ldconfig" not in str(arguments):
            seen.append(f"{event} {arguments[:2]}")
        elif event == "socket.connect":
            seen.append(f"{event} {arguments[1]}")
        elif event == "compile" and inside(str(arguments[1]), [folder]):
            seen.append(f"compiles {arguments[1]}")
        elif event in ("pickle.find_class", "marshal.loads") and event != "marshal.loads":
            seen.append(f"{event} {arguments}")

    sys.addaudithook(hook)


def run(job: dict[str, Any], answer: int) -> None:
    """Run a command in this process, and write what became of it."""
    from regard.cli import main

    folder, place = Path(job["folder"]), Path(job["place"])
    resource.setrlimit(resource.RLIMIT_CPU, (SECONDS, SECONDS))
    resource.setrlimit(resource.RLIMIT_FSIZE, (GIGABYTE, GIGABYTE))
    used = int(Path("/proc/self/statm").read_text().split()[0]) * resource.getpagesize()
    resource.setrlimit(resource.RLIMIT_AS, (used + 3 * GIGABYTE, used + 3 * GIGABYTE))
    signal.alarm(10 * SECONDS)
    place.mkdir(parents=True)
    for name in ("cache", "tmp"):
        (place / name).mkdir()
    os.environ |= {"XDG_CACHE_HOME": str(place / "cache"), "TMPDIR": str(place / "tmp")}
    tempfile.tempdir = None
    os.chdir(place)
    seen: list[str] = []
    watch(folder, [place], seen)
    out, err = io.StringIO(), io.StringIO()
    before = resource.getrusage(resource.RUSAGE_SELF)
    code: Any = 0
    with redirect_stdout(out), redirect_stderr(err):
        try:
            main(job["arguments"])
        except SystemExit as stop:
            code = stop.code or 0
        except BaseException:
            code = "traceback"
            traceback.print_exc()
    after = resource.getrusage(resource.RUSAGE_SELF)
    outcome = {
        "code": code,
        "error": err.getvalue()[-4000:],
        "output": out.getvalue()[-2000:],
        "seconds": after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime,
        "megabytes": (after.ru_maxrss - before.ru_maxrss) / 1024,
        "seen": seen,
    }
    with os.fdopen(answer, "w") as file:
        json.dump(outcome, file)


def main() -> None:
    jobs = json.load(sys.stdin)
    load_everything()
    do_not_serve()
    outcomes = []
    for job in jobs:
        reading, writing = os.pipe()
        child = os.fork()
        if not child:
            os.close(reading)
            try:
                run(job, writing)
            finally:
                os._exit(0)
        os.close(writing)
        with os.fdopen(reading) as file:
            text = file.read()
        _, status = os.waitpid(child, 0)
        ended = {"code": f"killed ({status})", "error": "", "output": "", "seen": []}
        found = json.loads(text) if text else {**ended, "seconds": SECONDS, "megabytes": 0}
        outcomes.append({**job, **found})
    json.dump(outcomes, sys.stdout)


if __name__ == "__main__":
    main()
