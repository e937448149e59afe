"""The endpoint for series: what comes next, and how sure that is."""

import json
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING, Any

from regard.data.lines import kind_of
from regard.data.series import SeriesTable
from regard.data.series_lists import SeriesLists, listed_table
from regard.data.steps import Clock, Step
from regard.errors import RegardError
from regard.serve.api.parameters import Fields, encodable, optional
from regard.serve.http.refusal import Refusal
from regard.serve.http.request_fields import RequestFields
from regard.serve.translation.service import Service

if TYPE_CHECKING:
    from regard.tasks.forecaster import Forecaster

LEVELS = (50.0, 80.0, 95.0)
MOST_LEVELS = 20
LONGEST_SENTENCE = 400
# Fields that say something about the values of `series`.
OF_SERIES = ("times", "start", "step", "known")
TABLES = (".csv", ".tsv", ".txt")
_DELIMITERS = re.compile(rb"[,;\t\n]")
_ENDING = re.compile(r"\.[a-z0-9]{1,8}")


@dataclass(frozen=True)
class TableFile:
    """A table as a file holds it."""

    ending: str
    data: bytes


Given = SeriesLists | TableFile | None  # None continues what the model learned from


async def forecast(service: Service, sent: RequestFields) -> dict[str, Any]:
    """POST /forecast"""
    fields = sent.values
    name, forecaster = service.models.forecaster(optional(fields, "model"))
    levels, only = read_levels(fields.get("levels")), read_names(fields.get("only"))
    given, step = read_series(service, sent), optional(fields, "step")

    def work() -> dict[str, Any]:
        try:
            table = table_of(forecaster, given, step)
            table = forecaster.chosen(table, only)
            check_answer(service, len(table), forecaster.data.horizon, len(levels))
            return {"model": name, **answer(forecaster, table, levels, given is not None)}
        except Refusal:
            raise
        except RegardError as error:
            raise wrong(str(error)) from None

    return await service.thread.run(work)


def answer(
    forecaster: "Forecaster", table: SeriesTable, levels: Sequence[float], explained: bool
) -> dict[str, Any]:
    from regard.tasks.forecast import facts

    found = forecaster.forecast(table, samples=1)
    return {
        "forecasts": [
            facts(each, levels) for each in (found if isinstance(found, list) else [found])
        ],
        "season": forecaster.data.season,
        "calibrated": forecaster.calibration.windows > 0,
        "remarks": table.remarks if explained else [],
    }


def table_of(forecaster: "Forecaster", given: Given, step: str) -> SeriesTable:
    """The series that are meant, with the step that the model learned."""
    if given is None:
        return forecaster.table()
    if isinstance(given, TableFile):
        return forecaster.table(read_file(forecaster, given))
    last = forecaster.last
    zone = last.clock.zone if last else forecaster.data.zone
    own = last.clock.step if last else None
    wanted = Step.parse(step) if step else own
    if wanted is None:
        raise Refusal(400, "Invalid request: missing step parameter; give one like 1h or 1d")
    if own is not None and wanted != own:
        raise Refusal(400, f"Invalid request: the model learned steps of {own}, not {wanted}")
    if not given.times and not given.start and wanted.unit != "row":
        raise Refusal(
            400,
            "Invalid request: missing start parameter; give the time of the first value, like "
            "2024-01-31 13:00, or a list of times",
        )
    start = given.start or ("" if given.times else "0")
    lists = SeriesLists(given.values, in_order(forecaster, given.known), given.times, start)
    return forecaster.table(listed_table(lists, Clock(wanted, zone), forecaster.data.dates))


def in_order(forecaster: "Forecaster", known: Mapping[str, Any]) -> dict[str, Any]:
    """The known columns in the order in which the model learned them."""
    names = known_names(forecaster)
    if missing := [name for name in names if name not in known]:
        raise Refusal(400, f"Invalid request: known must have {', '.join(missing)}")
    if len(known) > len(names):
        wanted = f"only {', '.join(names)}" if names else "nothing, so leave it out"
        raise Refusal(400, f"Invalid request: the model takes {wanted} in known")
    return {name: known[name] for name in names}


def known_names(forecaster: "Forecaster") -> tuple[str, ...]:
    if forecaster.last is not None:
        return forecaster.last.known_names
    return tuple(map(str, forecaster.data.known))


def read_file(forecaster: "Forecaster", given: TableFile) -> SeriesTable:
    """A table, which is in a file while it is read. Sentences about it call it table."""
    with TemporaryDirectory(prefix="regard-") as folder:
        path = Path(folder, f"table{given.ending}")
        path.write_bytes(given.data)
        try:
            table = forecaster.read([path])
        except RegardError as error:
            raise wrong(nameless(str(error), path)) from None
    table.remarks[:] = [nameless(each, path) for each in table.remarks]
    return table


def wrong(sentence: str) -> Refusal:
    """A refusal with the sentence of the command. Names of columns and series may be long."""
    cut = sentence if len(sentence) <= LONGEST_SENTENCE else sentence[:LONGEST_SENTENCE] + "…"
    return Refusal(400, f"Invalid request: {cut}")


def nameless(sentence: str, path: Path) -> str:
    return sentence.replace(str(path), "table").replace(f"{path.parent}/", "")


def check_answer(service: Service, series: int, horizon: int, levels: int) -> None:
    """Refuse to forecast more numbers than a request may hold; one series is always forecast."""
    limit = service.limits.values
    if series > 1 and series * horizon * (3 + 2 * levels) > limit:
        raise Refusal(
            400,
            f"Invalid request: the forecasts of {series:,} series are more than {limit:,} numbers; "
            "name some of them in only, or ask for fewer levels",
        )


def read_series(service: Service, sent: RequestFields) -> Given:
    """What a request gives, of which only the size is looked at."""
    fields, limit = sent.values, service.limits.values
    series, table = fields.get("series"), fields.get("table")
    if (series is not None) + (table is not None) + len(sent.files) > 1:
        raise Refusal(400, "Invalid request: give one of series, table and a file")
    if series is not None:
        return read_lists(fields, limit)
    if others := [each for each in OF_SERIES if fields.get(each) is not None]:
        raise Refusal(400, f"Invalid request: {others[0]} belongs to series, which is missing")
    if sent.files:
        name, data = sent.files[0]
        return table_file(ending_of(name), data, limit)
    if table is None:
        return None
    if isinstance(table, str):
        return table_file(".csv", encodable(table).encode(), limit)
    return table_file(".jsonl", objects_of(table, limit), limit)


def table_file(ending: str, data: bytes, limit: int) -> TableFile:
    if ending != ".jsonl":
        check_count(len(_DELIMITERS.findall(data)), limit)
    return TableFile(ending, data)


def ending_of(name: str) -> str:
    """How the name of a file ends; what cannot be a table is refused by it."""
    ending = kind_of(Path(name))
    if Path(name.lower()).suffix in (".gz", ".bz2"):
        raise Refusal(400, "Invalid request: send the table unpacked, not compressed")
    if ending in (".json", ".jsonl"):
        raise Refusal(400, "Invalid request: send objects as a list in table, not as a file")
    return ending if _ENDING.fullmatch(ending) else ".csv"


def objects_of(table: Any, limit: int) -> bytes:
    """A list of rows as lines of JSON. Each row may need a cell for each key of all rows."""
    if not isinstance(table, list) or not all(isinstance(row, dict) for row in table):
        raise Refusal(400, "Invalid request: table must be CSV as a text, or a list of objects")
    if not table:
        raise Refusal(400, "Invalid request: there are no rows in table")
    keys: set[str] = set()
    for row in table:
        keys |= row.keys()
        check_count(len(keys) * len(table), limit)
    return "\n".join(map(json.dumps, table)).encode()


def read_lists(fields: Fields, limit: int) -> SeriesLists:
    known = fields.get("known")
    known = {} if known is None else known
    if not isinstance(known, dict):
        raise Refusal(400, "Invalid request: known must be an object with a list for each name")
    times = fields.get("times")
    times = [] if times is None else times
    if not isinstance(times, list) or not all(
        isinstance(each, str) or is_number(each) for each in times
    ):
        raise Refusal(400, "Invalid request: times must be a list of strings")
    start = fields.get("start")
    if start is not None and not isinstance(start, str) and not is_number(start):
        raise Refusal(400, "Invalid request: start must be a string like 2024-01-31 13:00")
    if start is not None and times:
        raise Refusal(400, "Invalid request: give times or start, not both")
    lists = SeriesLists(
        number_list(fields.get("series"), "series"),
        {encodable(name): number_list(each, "each list of known") for name, each in known.items()},
        [encodable(str(each)) for each in times],
        "" if start is None else encodable(str(start)),
    )
    check_count(lists.length * (2 + len(known)), limit)
    return lists


def number_list(given: Any, name: str) -> list[float | None]:
    """Numbers; yes and no count as 1 and 0."""
    if not isinstance(given, list) or not given:
        raise Refusal(400, f"Invalid request: {name} must be a list of numbers")
    if not all(each is None or isinstance(each, int | float) for each in given):
        raise Refusal(
            400, f"Invalid request: {name} must hold numbers, and null where one is missing"
        )
    return given


def is_number(given: Any) -> bool:
    return isinstance(given, int | float) and not isinstance(given, bool)


def check_count(count: int, limit: int) -> None:
    if count > limit:
        raise Refusal(
            400,
            f"Invalid request: more than {limit:,} values; the end of each series is enough",
        )


def read_levels(given: Any) -> list[float]:
    """Percentages: a list of numbers, or 50,80,95."""
    if given is None or given == "":
        return list(LEVELS)
    parts = given.split(",") if isinstance(given, str) else given
    parts = parts if isinstance(parts, list) else [parts]
    try:
        found = sorted({float(each) for each in parts[: MOST_LEVELS + 1]})
    except (TypeError, ValueError, OverflowError):
        found = []
    if not 0 < len(parts) <= MOST_LEVELS or not found or not all(0 < each < 100 for each in found):
        raise Refusal(
            400,
            "Invalid request: levels must be percentages like [50, 80, 95], and at most "
            f"{MOST_LEVELS}",
        )
    return found


def read_names(given: Any) -> list[str]:
    """A name or a list of names."""
    names = given if isinstance(given, list) else [given] if given else []
    if not all(isinstance(each, str) for each in names):
        raise Refusal(400, "Invalid request: only must be a name or a list of names")
    return list(dict.fromkeys(map(encodable, names)))
