"""Writes the tables in recipes.md, from the recipes that come with regard and their data sets.

    python docs/recipes.py

A test fails while a table is out of date.
"""

import re
from pathlib import Path

from regard import tasks
from regard.datasets import datasets, shown_size
from regard.recipe_catalogue import Known, catalogue

DOCUMENT = Path(__file__).with_name("recipes.md")
TABLE = re.compile(r"(<!-- (recipes|data sets) -->\n).*?(<!-- end of \2 -->)", re.DOTALL)


def recipes_table() -> str:
    found = catalogue().values()
    rows = []
    for task in tasks.TASKS:
        rows += [f"| **{task}** | | | |", *(row(each) for each in found if each.task == task)]
    return "\n".join(
        ["| recipe | what it trains | data | score, minutes |", "|---|---|---|---|", *rows]
    )


def row(each: Known) -> str:
    data = ", ".join(one.name for one in each.datasets) or "comes with regard"
    score = each.score + (f", {each.minutes} min" if each.minutes else "")
    return f"| `{each.name}` | {each.about} | {data} | {score} |"


def datasets_table() -> str:
    rows = [
        f"| [{one.name}]({one.home}) | {one.about}{'. ' * bool(one.note)}{one.note} | "
        f"{shown_size(one.bytes)} | {one.licence} |"
        for one in datasets().values()
    ]
    return "\n".join(["| data set | what it holds | size | licence |", "|---|---|---|---|", *rows])


def updated(text: str) -> str:
    made = {"recipes": recipes_table, "data sets": datasets_table}
    return TABLE.sub(lambda old: f"{old[1]}{made[old[2]]()}\n{old[3]}", text)


def main() -> None:
    text = DOCUMENT.read_text("utf-8")
    if (new := updated(text)) != text:
        DOCUMENT.write_text(new, "utf-8")
        print(f"Wrote the tables in {DOCUMENT.name}.")


if __name__ == "__main__":
    main()
