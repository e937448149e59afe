"""`python -m regard` is the command `regard`. Ctrl-C ends it with a sentence, also while it loads
its modules.
"""

import sys


def main() -> None:
    code: str | int | None = 0
    try:
        from regard.cli import main as run_command

        run_command()
    except SystemExit as stop:
        code = stop.code
    except KeyboardInterrupt:
        print("regard: error: interrupted", file=sys.stderr)
        code = 130
    team = sys.modules.get("regard.training.team")
    if team is not None and isinstance(code, int):
        team.end_process(code)
    sys.exit(code)


if __name__ == "__main__":
    main()
