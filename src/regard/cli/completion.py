"""regard completion: what the Tab key completes in a shell."""

from pathlib import Path
from typing import Literal


def completion(
    shell: Literal["bash", "zsh", "fish"] | None = None, /, *, install: bool = False
) -> None:
    """Let the Tab key complete commands and options in your shell.

    The script goes to standard output: `source <(regard completion bash)` tries it. With --install
    it is kept, and every new shell loads it.

    Parameters
    ----------
    shell
        The shell: bash, zsh or fish; by default, the one that you use.
    install
        Write the script where the shell looks for it, and a line that loads it into .bashrc or
        .zshrc if it needs one.
    """
    from cyclopts.completion.detect import ShellDetectionError, detect_shell

    from regard.cli import app
    from regard.cli.display import results, say
    from regard.errors import UsageError

    try:
        chosen = shell or detect_shell()
    except ShellDetectionError:
        raise UsageError("which shell this is cannot be seen; name it: bash, zsh or fish") from None
    if not install:
        results(app.generate_completion(shell=chosen))
        return
    path = app.install_completion(shell=chosen)
    if chosen == "zsh":
        start_completion(Path.home() / ".zshrc")
    say(f"Wrote {path}; the next {chosen} that you open completes what you type.")


def start_completion(zshrc: Path) -> None:
    """Let zsh complete at all: a new account's does not, and frameworks start it themselves."""
    content = zshrc.read_text("utf-8", "surrogateescape") if zshrc.exists() else ""
    if "compinit" in content:
        return
    line = "(( $+functions[compdef] )) || { autoload -Uz compinit && compinit }\n"
    gap = "" if content.endswith("\n") or not content else "\n"
    zshrc.write_text(content + gap + line, "utf-8", "surrogateescape")
