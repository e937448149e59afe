"""regard check: look at data before it is trained on."""

import json
import sys
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

from cyclopts import Parameter

from regard.cli.train import GivenData, given_flags

if TYPE_CHECKING:
    from rich.console import Console

    from regard.checks.report import Example, Fact, Finding, Report
    from regard.recipe import Recipe

STYLES = {"error": "bold red", "warning": "yellow", "note": "dim"}
WIDTH = 100  # characters of an example that are shown


def check(
    files: Annotated[tuple[Path, ...], Parameter(consume_multiple=True)] = (),
    /,
    *,
    data: Annotated[GivenData | None, Parameter(name="*")] = None,  # type: ignore[valid-type]
    settings: Annotated[tuple[str, ...], Parameter(name="--set")] = (),
    as_json: Annotated[bool, Parameter(name="--json")] = False,
) -> None:
    """Check data before it is trained on, and show the sizes chosen for it.

    `regard check train.en train.de` recognises what the files hold, and so does `regard check
    photos/ captions.tsv`; --pairs, --text, --labelled, --tagged, --images, --captions and --series
    say it. Errors are what cannot be meant, such as a translation that is one line late: `regard
    train` stops at them. It exits 1 if there are any, and 0 otherwise.

    Parameters
    ----------
    files
        Data files; or a recipe whose data is checked: a file (TOML), or a name of `regard recipes`.
    settings
        A setting of the recipe, like data.label=2. Repeat it for more settings.
    as_json
        Print one JSON object with everything.
    """
    from regard.checks.report import unreadable
    from regard.errors import DataError

    given: Any = vars(data) if data else {}
    try:
        report = look(files, given, settings)
    except DataError as error:
        named = files or next(paths for flag, paths in given.items() if paths)
        report = unreadable("data", named, error)
    if as_json:
        from regard.cli.display import results

        results(json.dumps(report.as_json(), indent=2, ensure_ascii=False))
    else:
        show(report)
    if report.wrong:
        sys.stdout.flush()
        sys.exit(1)


def look(files: tuple[Path, ...], given: dict[str, Any], settings: tuple[str, ...]) -> "Report":
    """The report on what the command line names."""
    from regard import tasks
    from regard.checks.training import check_recipe
    from regard.errors import RecipeError, UsageError
    from regard.recipe import read
    from regard.recipe_names import is_shipped
    from regard.start import as_settings, split_flags

    settings = (*as_settings(given_flags(given)), *settings)
    flags = [flag for flag in tasks.flags() if given.get(flag)]
    if bool(files) == bool(flags):
        *known, last = (f"--{each}" for each in tasks.flags())
        raise UsageError(f"give the files to check, or {', '.join(known)} or {last} with them")
    if len(files) == 1 and (files[0].suffix == ".toml" or is_shipped(files[0])):
        recipe = read(files[0], settings)
        report = check_recipe(recipe)
        if report is None:
            raise RecipeError(f"{files[0]}: it names no files, so there is nothing to check")
        return with_facts(report, [*time_of(recipe)] if not report.unread else [])
    if files:
        return of_files(files, given, settings)
    flag, others = split_flags(flags)
    return of_data(flag, {each: given[each] for each in (flag, *others)}, given, settings)


def of_files(files: tuple[Path, ...], given: dict[str, Any], settings: tuple[str, ...]) -> "Report":
    """The report on files whose kind nobody has named."""
    from regard.checks.kinds import recognise
    from regard.checks.report import Fact

    kind = recognise(files)
    report = of_data(kind.flag, kind.files(files), given, settings)
    return with_facts(
        report, [], first=[Fact("taken as", f"{kind.flags}: {kind.reason}", kind.flag)]
    )


def of_data(
    flag: str,
    files: dict[str, tuple[Path, ...]],
    given: dict[str, Any],
    settings: tuple[str, ...],
) -> "Report":
    """The report on the files of a flag and of its companions."""
    from regard import tasks
    from regard.errors import RecipeError
    from regard.recipe import override, parse_section
    from regard.start import section_of, suggested, task_for
    from regard.tasks.sections import FilesSection
    from regard.tasks.task import DataFlags

    companions = {name: paths for name, paths in files.items() if name != flag}
    entry = task_for(flag, override({}, settings).get("task"), companions)
    valid, languages = given.get("valid", ()), given.get("languages")
    flags = DataFlags(files[flag], valid, languages, companions=companions)
    section, _ = section_of(entry, flags)
    task = tasks.get(entry.name)
    values = override({"data": section}, settings)["data"]
    parsed = parse_section(task.recipe, "data", values, "command line")
    if isinstance(parsed, FilesSection):  # data of a task of one's own may be something else
        parsed.check_files()
    report = task.check(parsed)
    if report is None:
        raise RecipeError(f"--{flag}: task {task.name} has no check")
    if report.unread:
        return report
    recipe, reasons = suggested(entry.name, section, settings, preset=None)
    return with_facts(report, [*sizes(reasons), *time_of(recipe)])


def with_facts(report: "Report", more: list["Fact"], first: list["Fact"] | None = None) -> "Report":
    from dataclasses import replace

    return replace(report, facts=(*(first or ()), *report.facts, *more))


def sizes(reasons: Sequence[str]) -> Iterator["Fact"]:
    from regard.checks.report import Fact

    if chosen := [reason.strip() for reason in reasons[1:]]:
        yield Fact("train takes", "\n".join(chosen), chosen)


def time_of(recipe: "Recipe") -> Iterator["Fact"]:
    from regard.checks.report import Fact
    from regard.cli.display import duration
    from regard.planning.quick import training_seconds

    seconds = training_seconds(recipe)
    if seconds is not None:
        text = (
            f"about {duration(seconds)} at most for {recipe.train.steps:,} updates on this "
            "processor, validation not counted"
        )
        yield Fact("time", text, round(seconds))


def show(report: "Report") -> None:
    """The report for people, on standard output; coloured in a terminal."""
    from regard.cli.terminal import Terminal

    console = Terminal(soft_wrap=True)
    console.print(f"{report.kind}: {', '.join(report.files)}", style="bold")
    for fact in report.facts:
        if fact.name != "sampled":
            first, *rest = fact.text.split("\n")
            console.print(f"  {fact.name:<13}{first}")
            for line in rest:
                console.print(f"{'':<15}{line}")
    if report.samples:
        console.print("samples", style="bold")
        show_examples(console, report.samples)
    for finding in report.findings:
        show_finding(console, finding)
    console.print(verdict(report), style="bold")


def check_first(recipe: "Recipe", out: Path, anyway: bool) -> None:
    """Say on stderr what is odd about the data of a training; stop at what cannot be meant."""
    from regard.checks.training import look_before_training, refusal
    from regard.cli.display import talk
    from regard.run import Run

    console = talk()
    if not Run(out).recipe_path.exists():
        console.print("Checking the data …", style="dim")
    report = look_before_training(recipe, out)
    if report is None:
        return
    for finding in report.findings:
        if finding.severity == "warning" or (finding.severity == "error" and anyway):
            show_finding(console, finding)
    if report.wrong and not anyway:
        show_examples(console, report.of("error")[0].examples)
        raise refusal(report, "--anyway")


def show_finding(console: "Console", finding: "Finding") -> None:
    console.print(finding.severity, style=STYLES[finding.severity], end="")
    console.print(f" [{finding.code}] {finding.sentence}")
    show_examples(console, finding.examples)
    if finding.advice:
        console.print(f"  → {finding.advice}", style=STYLES[finding.severity])


def show_examples(console: "Console", examples: "tuple[Example, ...]") -> None:
    from regard.cli.display import shortened

    for example in examples:
        console.print(f"    {example.place}", style="cyan")
        for text in example.texts:
            console.print(f"      {shortened(text, WIDTH)}")


def verdict(report: "Report") -> str:
    errors, warnings = len(report.of("error")), len(report.of("warning"))
    found = [
        f"{count} {name}{'s' * (count > 1)}"
        for count, name in ((errors, "error"), (warnings, "warning"))
        if count
    ]
    if errors:
        way = "" if report.unread else " (--anyway trains all the same)"
        return f"{' and '.join(found)}: `regard train` would stop here{way}."
    return f"{found[0]}, no errors." if found else "Nothing is wrong that can be seen."
