"""Writes the tables of settings in the documents, from the schemas of the recipes.

    python docs/settings.py

A table stands between `<!-- settings: TASK NAME… -->` and `<!-- end of settings -->`. A NAME is a
setting or a section, and `model:KIND` is the section of that kind of model; without names the table
has every setting of the task. A test fails while a table is out of date.
"""

import re
from pathlib import Path

from regard import tasks
from regard.recipe_settings import Setting, settings_of

DOCUMENTS = sorted(Path(__file__).parent.glob("*.md"))
TABLE = re.compile(r"(<!-- settings: (.*?) -->\n).*?(<!-- end of settings -->)", re.DOTALL)


def table(task: str, *names: str) -> str:
    found = settings_of(tasks.get(task).recipe)
    rows = [row(each, names) for each in found if not names or any(has(n, each) for n in names)]
    for name in names:
        if not any(has(name, each) for each in found):
            raise SystemExit(f"{task} has no setting {name}")
    return "\n".join(["| setting | default | what it does |", "|---|---|---|", *rows, ""])


def has(name: str, each: Setting) -> bool:
    """Whether a name means a setting, by itself or with all of its section."""
    name, _, kind = name.partition(":")
    return f"{each.name}.".startswith(f"{name}.") and kind in ("", each.kind)


def row(each: Setting, names: tuple[str, ...]) -> str:
    shown = each.shown_default
    default = f"`{shown}`" if shown and not each.required else shown
    only_kind = any(":" in name for name in names)
    kind = f" ({each.kind})" if each.kind and not only_kind else ""
    return f"| `{each.name}`{kind} | {default} | {each.shown_description} |"


def updated(text: str) -> str:
    return TABLE.sub(lambda old: old[1] + table(*old[2].split()) + old[3], text)


def main() -> None:
    for path in DOCUMENTS:
        text = path.read_text("utf-8")
        if (new := updated(text)) != text:
            path.write_text(new, "utf-8")
            print(f"Wrote the settings in {path.name}.")


if __name__ == "__main__":
    main()
