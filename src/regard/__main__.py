"""`python -m regard` is the command `regard`. Ctrl-C ends it with a sentence, also while it loads
its modules.
"""

import sys


def main() -> None:
    try:
        from regard.cli import main as run_command

        run_command()
    except KeyboardInterrupt:
        print("regard: error: interrupted", file=sys.stderr)
        sys.exit(130)


if __name__ == "__main__":
    main()
