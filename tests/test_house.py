"""The rules of the house that a reader would otherwise have to remember."""

import ast
import graphlib
import re
import socket
import subprocess
import sys
import tomllib
from collections.abc import Iterator
from dataclasses import dataclass
from importlib import resources
from pathlib import Path

import pytest
from packaging.requirements import Requirement
from packaging.utils import canonicalize_name

ROOT = Path(__file__).resolve().parent.parent
SOURCE = ROOT / "src"
PACKAGE = SOURCE / "regard"
FILES = sorted(PACKAGE.rglob("*.py"))
RECIPES = sorted((ROOT / "recipes").glob("*.toml"))

# The rooms from the foundation up. A room may import those before it, and itself; `tasks` is the
# list of tasks, which loads nothing, and `tasks.` are the tasks themselves.
ORDER = [
    *("errors", "small_files", "reporter", "notebook", "tasks", "layers", "configs"),
    *("text", "files"),
    *("machine", "datasets", "data"),
    *("decode", "objectives", "models", "recipe_names", "recipe_format", "recipe_errors"),
    *("recipe", "recipe_settings", "recipe_catalogue", "sizes", "run_info", "run", "made_with"),
    *("weights", "evaluate", "inspect"),
    *("engines", "planning", "checks", "cleaning", "aligning"),
    *("training", "tasks.", "start", "compare", "studio", "serve", "cli", "api", "__main__"),
]
# Rooms that are handed models, and may only name their types.
HANDED_MODELS = {"evaluate", "inspect", "engines"}
# A server answers; it trains nothing.
NEVER = {("serve", "training"), ("studio", "cli"), ("serve", "studio"), ("layers", "tasks")}


@dataclass(frozen=True)
class Import:
    module: str  # "data.batch": the part after "regard."
    names: tuple[str, ...]
    line: int
    for_types: bool
    at_top: bool


def named(path: Path) -> str:
    return path.relative_to(SOURCE).as_posix()


def module_of(path: Path) -> str:
    parts = path.relative_to(PACKAGE).with_suffix("").parts
    return ".".join(parts[:-1] if parts[-1] == "__init__" and len(parts) > 1 else parts)


def imports(tree: ast.Module) -> Iterator[Import]:
    """Every import of a regard module, with whether it runs when the file is loaded."""

    def visit(node: ast.AST, for_types: bool, at_top: bool) -> Iterator[Import]:
        if isinstance(node, ast.Import):
            for alias in node.names:
                if alias.name.split(".")[0] == "regard":
                    module = alias.name.removeprefix("regard").removeprefix(".")
                    yield Import(module, (), node.lineno, for_types, at_top)
        elif isinstance(node, ast.ImportFrom):
            assert node.level == 0, f"line {node.lineno}: import by the full name"
            if node.module == "regard":
                for alias in node.names:
                    yield Import(alias.name, (), node.lineno, for_types, at_top)
            elif node.module and node.module.startswith("regard."):
                names = tuple(alias.name for alias in node.names)
                module = node.module.removeprefix("regard.")
                yield Import(module, names, node.lineno, for_types, at_top)
        elif isinstance(node, ast.If) and "TYPE_CHECKING" in ast.unparse(node.test):
            for child in node.body:
                yield from visit(child, True, at_top)
            for child in node.orelse:
                yield from visit(child, for_types, at_top)
        else:
            inside = isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef | ast.Lambda)
            for child in ast.iter_child_nodes(node):
                yield from visit(child, for_types, at_top and not inside)

    yield from visit(tree, False, True)


def room_of(module: str, names: tuple[str, ...] = ()) -> set[str]:
    """The rooms that an import opens: `from regard.tasks import writer` opens a task."""
    first, _, rest = module.partition(".")
    if first != "tasks":
        return {first}
    inner = {name for name in names if (PACKAGE / "tasks" / f"{name}.py").exists()}
    return {"tasks."} if rest or inner else {"tasks"}


def allowed(room: str, found: Import) -> bool:
    for target in room_of(found.module, found.names):
        if target == room or target.startswith("__version"):
            continue
        if found.for_types:
            return True
        if target not in ORDER or ORDER.index(target) > ORDER.index(room):
            return False
        if (room, target) in NEVER or (room in HANDED_MODELS and target == "models"):
            return False
    return True


def trespasses(room: str, text: str) -> list[str]:
    return [
        f"line {found.line}: {room} may not import regard.{found.module}"
        for found in imports(ast.parse(text))
        if not allowed(room, found)
    ]


@pytest.mark.parametrize("path", FILES, ids=named)
def test_a_room_imports_only_from_the_rooms_it_may(path: Path) -> None:
    module = module_of(path)
    room = "tasks." if module.startswith("tasks.") else module.split(".")[0]
    if room == "__init__":
        return
    assert room in ORDER, f"{named(path)} is in no room; say in ORDER where it stands"
    assert trespasses(room, path.read_text("utf-8")) == []


@pytest.mark.parametrize(
    ("room", "text"),
    [
        ("layers", "import regard.text"),
        ("layers", "from regard import tasks"),
        ("decode", "def f():\n    from regard.models import build"),
        ("text", "from regard import data"),
        ("text", "from regard import Translator"),
        ("objectives", "from regard.models.transformer import Transformer"),
        ("inspect", "from regard.models.transformer import Transformer"),
        ("recipe", "from regard.weights import load_model"),
        ("training", "from regard.tasks.translation.translator import Translator"),
        ("training", "from regard.tasks import writer"),
        ("run", "from regard.tasks import task"),
        ("serve", "import regard.training.loop"),
    ],
)
def test_a_forbidden_import_is_seen(room: str, text: str) -> None:
    assert trespasses(room, text)


@pytest.mark.parametrize(
    ("room", "text"),
    [
        ("layers", "import torch\nfrom regard.errors import RegardError"),
        ("objectives", "from regard.data.batch import Batch"),
        ("objectives", "from regard.data import batch"),
        ("inspect", "if TYPE_CHECKING:\n    from regard.models.transformer import Transformer"),
        ("recipe", "from regard.configs.transformer import TransformerConfig"),
        ("training", "from regard import tasks"),
        ("training", "from regard.run import Run"),
        ("cli", "def f():\n    from regard.tasks.writer import Writer"),
    ],
)
def test_a_permitted_import_is_let_through(room: str, text: str) -> None:
    assert trespasses(room, text) == []


TASK_NAMES = {
    *("translation", "language-model", "masked-language-model", "classification", "tagging"),
    *("image-classification", "captioning", "matching", "word-vectors", "forecasting"),
}
# A name of a task that is something else, and what it is.
OTHER_MEANINGS = {
    ("data/corpus.py", "translation"): "a key of Hugging Face's JSON lines",
    ("data/pair_columns.py", "translation"): "the name of a column",
    ("checks/characters.py", "translation"): "the name of a column",
    ("text/documents/columns.py", "translation"): "the name of a column",
    ("serve/page/try.js", "translation"): "an element of the page",
    ("serve/api/openapi_meanings.py", "translation"): "a field of an answer",
    ("engines/web/page/page.js", "translation"): "the same",
    ("serve/api/opuscat.py", "translation"): "a key of OPUS-CAT's answers",
    ("serve/api/openapi_desks.py", "translation"): "a key of OPUS-CAT's answers",
}


def task_names(path: Path) -> list[str]:
    """Where a Python or JavaScript file names a task."""
    text, place = path.read_text("utf-8"), path.relative_to(PACKAGE).as_posix()
    if path.suffix == ".js":
        found = [(text[: m.start()].count("\n") + 1, m[2]) for m in QUOTED.finditer(text)]
    else:
        nodes = [node for node in ast.walk(ast.parse(text)) if isinstance(node, ast.Constant)]
        found = [(node.lineno, node.value) for node in nodes if isinstance(node.value, str)]
    return [
        f"{place}:{line}: {name}"
        for line, name in found
        if name in TASK_NAMES and (place, name) not in OTHER_MEANINGS
    ]


QUOTED = re.compile(r"""(["'`])([a-z-]+)\1""")
OUTSIDE_TASKS = [
    path
    for path in (*FILES, *sorted(PACKAGE.rglob("*.js")))
    if not path.relative_to(PACKAGE).as_posix().startswith("tasks/")
]


def test_nothing_outside_tasks_names_a_task() -> None:
    """Whatever differs between tasks is asked of the task."""
    assert [place for path in OUTSIDE_TASKS for place in task_names(path)] == []


def test_the_names_are_those_of_the_list() -> None:
    from regard import tasks

    assert set(tasks.TASKS) == TASK_NAMES


def test_a_named_task_is_seen(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys.modules[__name__], "PACKAGE", tmp_path)
    script = tmp_path / "a.js"
    script.write_text('if (run.task === "tagging") return "a tagging";')
    module = tmp_path / "b.py"
    module.write_text('match task:\n    case "classification":\n        pass\n')
    assert task_names(script) == ["a.js:1: tagging"]
    assert task_names(module) == ["b.py:2: classification"]


# Limits of what reads well, and what may exceed them, with the reason.
FILE_LINES, FUNCTION_LINES, PARAMETERS = 300, 60, 8
LONG_FILES: dict[str, str] = {}
LONG_FUNCTIONS: dict[str, str] = {}
MANY_PARAMETERS = {
    "regard/decode/beam.py:beam": "a search over any step, each of whose settings is a plain value",
    "regard/decode/sample.py:collect": "the same for sampling",
    "regard/api/train.py:train": "what a person calls, with the options of a command",
    "regard/api/train.py:training_run": "the same, event by event",
    "regard/tasks/translation/translating_files.py:translate_file": "the options of `regard file`",
}


def functions(path: Path) -> Iterator[tuple[str, ast.FunctionDef | ast.AsyncFunctionDef]]:
    for node in ast.walk(ast.parse(path.read_text("utf-8"))):
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
            yield f"{named(path)}:{node.name}", node


def parameters(node: ast.FunctionDef | ast.AsyncFunctionDef) -> int:
    given = node.args
    names = [each.arg for each in (*given.posonlyargs, *given.args, *given.kwonlyargs)]
    return len([name for name in names if name not in ("self", "cls")])


def lines_of(node: ast.stmt) -> int:
    return (node.end_lineno or 0) - node.lineno + 1


def docstring_lines(node: ast.AST) -> int:
    """The lines of help, which a reader may skip."""
    return sum(
        lines_of(each.body[0])
        for each in ast.walk(node)
        if isinstance(each, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef | ast.Module)
        and ast.get_docstring(each)
    )


def code_lines(path: Path) -> int:
    text = path.read_text("utf-8")
    return len(text.splitlines()) - docstring_lines(ast.parse(text))


def test_files_and_functions_can_be_read_in_one_sitting() -> None:
    long_files = {named(path) for path in FILES if code_lines(path) > FILE_LINES}
    found = {name: node for path in FILES for name, node in functions(path)}
    long_functions = {
        name
        for name, node in found.items()
        if lines_of(node) - docstring_lines(node) > FUNCTION_LINES
        # A command is mostly its options.
        and not (name.startswith("regard/cli/") and ast.get_docstring(node))
    }
    many = {
        name
        for name, node in found.items()
        if parameters(node) > PARAMETERS and not name.startswith("regard/cli/")
    }
    assert long_files == LONG_FILES.keys()
    assert long_functions == LONG_FUNCTIONS.keys()
    assert many == MANY_PARAMETERS.keys()


LIGHT = [
    *("errors", "small_files", "files", "reporter", "tasks", "recipe", "recipe_format"),
    "recipe_errors",
    *("recipe_settings", "run", "machine.cores", "machine.memory", "decode.search"),
    *("decode.hypothesis", "configs.transformer", "configs.recurrent", "configs.gpt"),
    *("configs.image", "configs.vit", "configs.cnn", "configs.mlp", "configs.lite0"),
    *("configs.captioner", "tasks.captioning", "configs.word_vectors", "tasks.word_vectors"),
    *("configs.series", "tasks.forecasting"),
    *("configs.bert", "engines", "engines.ctranslate2", "engines.conversion", "serve.server"),
    *("tasks.translation.task", "tasks.translation.translator", "tasks.language_model"),
    *("tasks.masked_language_model", "tasks.classification", "tasks.tagging"),
    *("start", "training.events", "training.card", "training.run", "training.checks"),
    *("training.team", "planning.plan", "tasks.translation.distill", "compare.experiment", "cli"),
    *("data.series_tables", "data.seasons", "checks.series"),
    *("datasets.fetch", "recipe_names", "recipe_catalogue", "cli.recipes", "cli.lines"),
]


TASKS = {
    "translation": ("pairs", "a.tsv", "one two\tun deux\n"),
    "language-model": ("text", "a.txt", "one two three\n"),
    "masked-language-model": ("text", "a.txt", "one two three\n"),
    "word-vectors": ("text", "a.txt", "one two three\n"),
    "classification": ("labelled", "a.tsv", "good\tone two\nbad\tthree four\n"),
    "tagging": ("tagged", "a.conll", "one\tA\ntwo\tB\n\n"),
}


def test_nothing_below_the_tensors_loads_torch() -> None:
    text = f"""
import importlib, sys
for name in {LIGHT}:
    importlib.import_module(f"regard.{{name}}")
    assert "torch" not in sys.modules, name
"""
    run_python(text)


@pytest.mark.parametrize("name", TASKS)
def test_a_task_says_all_it_can_say_of_data_without_torch(name: str, tmp_path: Path) -> None:
    flag, file, text = TASKS[name]
    (tmp_path / file).write_text(text * 300)
    run_python(f"""
import sys
from pathlib import Path
from regard import start, tasks
from regard.tasks.task import DataFlags
files = DataFlags((Path({str(tmp_path / file)!r}),))
chosen = start.from_data({flag!r}, files, start.DataOptions({name!r}))
task = tasks.get(chosen.recipe.task)
assert chosen.reasons and task.commands(chosen.recipe)
assert task.describe(chosen.recipe, None).sizes
assert "torch" not in sys.modules
""")


def test_what_answers_does_not_load_what_only_some_trainings_need() -> None:
    """Sharding takes seconds to load, and so does the compiler."""
    slow = "{'torch.distributed.fsdp', 'torch._dynamo', 'sympy'} & set(sys.modules)"
    text = f"""
import sys
import regard.training.learning
from regard.recipe import TrainSection
from regard.training.optimizer import build_optimizer
from torch import nn

for kind in ("adam", "adamw"):
    model = nn.Linear(2, 2)
    optimizer = build_optimizer(model, TrainSection(optimizer=kind))
    model.weight.sum().backward()
    optimizer.step()
    optimizer.zero_grad()
print({slow} or 'light')
"""
    assert run_python(text).strip() == "light"


def test_no_module_needs_itself_to_load() -> None:
    modules = {module_of(path): path for path in FILES}
    needs: dict[str, set[str]] = {}
    for module, path in modules.items():
        needs[module] = set()
        for found in imports(ast.parse(path.read_text("utf-8"))):
            if found.at_top and not found.for_types:
                inner = {f"{found.module}.{name}" for name in found.names}
                # A package that only hands on its own submodules is not what is needed.
                wanted = inner if inner and inner <= modules.keys() else {found.module} | inner
                needs[module] |= wanted & modules.keys() - {module}
    graphlib.TopologicalSorter(needs).prepare()


BANNED_MODULES = {"pickle", "cloudpickle", "dill", "joblib", "marshal", "shelve"}
BANNED_CALLS = {
    *("eval", "exec", "__import__"),
    *("torch.load", "torch.save", "torch.hub.load", "torch.jit.load"),
    *("yaml.load", "yaml.load_all", "yaml.full_load", "yaml.unsafe_load"),
}
# A call that is let through, and why.
KNOWN_CALLS = {
    ("models/lite0_weights.py", "torch.load"): "only bytes whose checksum is known, only tensors",
}


def full_names(tree: ast.Module) -> dict[str, str]:
    """What each imported name stands for: `np` is numpy, `load` is torch.load."""
    names: dict[str, str] = {}
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            for alias in node.names:
                top = alias.name.split(".")[0]
                names[alias.asname or top] = alias.name if alias.asname else top
        elif isinstance(node, ast.ImportFrom):
            for alias in node.names:
                names[alias.asname or alias.name] = f"{node.module}.{alias.name}"
    return names


def dangers(text: str, place: str = "") -> list[str]:
    """Ways a file that was only meant to be read could run as code."""
    tree = ast.parse(text)
    names = full_names(tree)
    found = [f"imports {name}" for name in names.values() if name.split(".")[0] in BANNED_MODULES]
    for node in ast.walk(tree):
        if isinstance(node, ast.Constant) and node.value == "trust_remote_code":
            found.append(f"line {node.lineno}: trust_remote_code")
        if not isinstance(node, ast.Call):
            continue
        first, dot, rest = ast.unparse(node.func).partition(".")
        called = names.get(first, first) + dot + rest
        if called in BANNED_CALLS and (place, called) not in KNOWN_CALLS:
            found.append(f"line {node.lineno}: {called}")
        if called == "numpy.load" and len(node.args) > 2:
            found.append(f"line {node.lineno}: numpy.load with a third argument by position")
        for keyword in node.keywords:
            off = isinstance(keyword.value, ast.Constant) and keyword.value.value is False
            if keyword.arg in {"allow_pickle", "trust_remote_code"} and not off:
                found.append(f"line {node.lineno}: {keyword.arg}")
    return found


@pytest.mark.parametrize("path", FILES, ids=named)
def test_nothing_that_is_read_can_run(path: Path) -> None:
    assert dangers(path.read_text("utf-8"), path.relative_to(PACKAGE).as_posix()) == []


def test_calls_that_are_let_through_are_still_made_and_read_tensors_only() -> None:
    for place, called in KNOWN_CALLS:
        text = (PACKAGE / place).read_text("utf-8")
        assert [found.partition(": ")[2] for found in dangers(text)] == [called]
        assert "weights_only=True" in text


@pytest.mark.parametrize(
    "text",
    [
        "import pickle",
        "from joblib import dump",
        "import torch as t\nt.load('x')",
        "from torch import load as read\nread('x')",
        "import numpy as np\nnp.load('x', allow_pickle=True)",
        "import numpy as np\nnp.load('x', None, True)",
        "import yaml\nyaml.load('x')",
        "eval('1')",
        "exec('1')",
        "f(trust_remote_code=True)",
        "f(**{'trust_remote_code': True})",
    ],
)
def test_a_danger_is_seen(text: str) -> None:
    assert dangers(text)


def test_what_only_looks_dangerous_is_let_through() -> None:
    assert dangers("model.eval()\nnp.load('x', allow_pickle=False)\njson.load(f)") == []


# What opens or parses a file by itself, not through `regard.small_files`, and why it may.
OWN_READERS = {
    "small_files.py": "the reader itself",
    "files.py": "the header of the weights has been read by then; locks, and folders to flush",
    "engines/saved.py": "the same for weights of transformers",
    "recipe_format.py": "the parser of recipes, which looks at the text first",
    "data/lines.py": "texts that a person names, which may come from a pipe",
    "data/objects.py": "their lines, each with a place",
    "data/captions.py": "the same, as one object",
    "data/image_archives.py": "archives that a person names, whose sizes are checked",
    "data/on_disk.py": "maps a file that is open",
    "data/image_cache.py": "the same",
    "data/image_features.py": "maps what this process has just written",
    "studio/lesson/publish.py": "the page that comes with regard",
    "cli/completion.py": "the settings of the person's own shell",
    "cli/streams.py": "the null device",
    "layers/linear.py": "the system's facts about this machine",
    "machine/cores.py": "the same",
    "models/lite0_weights.py": "an installed package, whose checksum is known",
    "datasets/__init__.py": "regard's own table",
    "datasets/convert.py": "downloads whose checksum is known",
    "datasets/download.py": "the same",
    "datasets/image_sets.py": "the same",
    "recipe_catalogue.py": "regard's own recipes",
    "compare/experiment.py": "the same",
    "compare/page.py": "regard's own page",
    "inspect/page.py": "the same",
    "serve/api/pages.py": "the same",
    "engines/vocabulary.py": "a tokenizer that was checked when it was read",
    "engines/sentencepiece_model.py": "the same",
    "text/tokenizer.py": "the same",
    "text/learn.py": "what the library has just learned",
    "api/asked.py": "what a person gave to a function",
    "data/moses.py": "members of an archive that a person names",
    "data/spreadsheets.py": "the same",
    "serve/translation/memory.py": "appends to a file",
    "tasks/translation/documents.py": "documents that a person names",
    "tasks/translation/kept.py": "what it has written itself",
    "text/documents/json.py": "documents that a person names",
    "engines/web/__init__.py": "the page, which is part of the package",
    "engines/web/tokenizer.py": "a tokenizer that has been read",
    "text/documents/tagged.py": "a segment that a page sends",
    "serve/api/documents.py": "translations that a page sends",
    "text/documents/zipped.py": "the same",
    "serve/app.py": "what the server's own worker answered",
    "serve/worker/frames.py": "the same",
    "serve/settings.py": "settings that the server passes to its worker",
    "serve/http/quotas.py": "counts that the server itself has written",
    "serve/http/request_fields.py": "a request, whose length is limited",
    "studio/server.py": "the same",
}
READERS = {
    *("read_text", "read_bytes", "json.load", "json.loads", "tomllib.load", "tomllib.loads"),
    *("raw_decode", "numpy.load", "numpy.fromfile", "numpy.memmap", "safe_open", "gzip.open"),
    *("numpy.loadtxt", "numpy.genfromtxt", "load_file", "open"),
}


def readers(text: str) -> list[str]:
    """Calls that open or parse a file: `path.open()`, `open(path)`, `json.loads(text)`."""
    tree, found = ast.parse(text), []
    names = full_names(tree)
    for node in ast.walk(tree):
        if not isinstance(node, ast.Call):
            continue
        first, dot, rest = ast.unparse(node.func).partition(".")
        called = names.get(first, first) + dot + rest
        last = called.rpartition(".")[2]
        # A class method of ours, as in Run.open(folder), has a mode to read none of its files.
        ours = last == "open" and (first[:1].isupper() or first in ("cls", "webbrowser"))
        writes = last == "open" and {"w", "wb", "ab", "r+b"} & {
            each.value
            for argument in node.args
            for each in ast.walk(argument)
            if isinstance(each, ast.Constant) and isinstance(each.value, str)
        }
        if not ours and not writes and {called, last} & READERS:
            found.append(f"line {node.lineno}: {called}")
    return found


@pytest.mark.parametrize("path", FILES, ids=named)
def test_files_that_may_be_anybodys_have_one_reader(path: Path) -> None:
    found = readers(path.read_text("utf-8"))
    place = path.relative_to(PACKAGE).as_posix()
    assert place in OWN_READERS or not found, f"{place}: use regard.small_files ({found})"
    assert found or place not in OWN_READERS, f"{place} needs no entry in OWN_READERS"


@pytest.mark.parametrize(
    "text",
    [
        "path.read_bytes()",
        "open(path)",
        "path.open('rb')",
        "import io\nio.open(path)",
        "import json as j\nj.load(file)",
        "from json import loads as parse\nparse(text)",
        "import numpy as np\nnp.fromfile(path)",
        "from numpy import memmap\nmemmap(path)",
        "import gzip\ngzip.open(path)",
    ],
)
def test_another_reader_is_seen(text: str) -> None:
    assert readers(text)


def test_every_file_is_named_for_what_it_holds() -> None:
    nothing = re.compile(r"_?(utils?|helpers?|common|misc)")
    folders = [PACKAGE, ROOT / "tests", ROOT / "benchmarks"]
    paths = [path for folder in folders for path in folder.rglob("*")]
    assert [str(path) for path in paths if nothing.fullmatch(path.stem)] == []


def run_python(text: str) -> str:
    done = subprocess.run(
        [sys.executable, "-c", text], capture_output=True, text=True, timeout=60, check=False
    )
    assert done.returncode == 0, done.stderr
    return done.stdout


HEAVY = "{'torch', 'numpy', 'matplotlib', 'tokenizers', 'transformers'} & set(sys.modules)"


def test_importing_regard_is_light() -> None:
    assert run_python(f"import sys, regard; print({HEAVY} or 'light')").strip() == "light"


def test_help_answers_without_torch() -> None:
    text = f"""
import sys
from regard.cli import main
sys.argv = ["regard", "--help"]
try:
    main()
except SystemExit as stop:
    assert not stop.code
print({HEAVY} or "light")
"""
    *shown, last = run_python(text).splitlines()
    assert last == "light"
    assert "train" in " ".join(shown)


@pytest.mark.skipif(not (PACKAGE / "recipe.py").exists(), reason="there are no recipes yet")
@pytest.mark.parametrize("path", RECIPES, ids=lambda path: path.name)
def test_a_recipe_that_ships_is_valid(path: Path) -> None:
    from regard import recipe

    recipe.read(path)


def test_the_recipes_are_the_ones_in_the_package() -> None:
    shipped = resources.files("regard") / "recipes"
    names = {path.name for path in shipped.iterdir() if path.name.endswith(".toml")}
    assert names == {path.name for path in RECIPES}


def test_every_direct_dependency_is_pinned_within_its_range() -> None:
    project = tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))["project"]
    lines = (ROOT / "constraints.txt").read_text("utf-8").splitlines()
    pins = dict(line.split("==") for line in lines if not line.startswith("#"))
    extras = project["optional-dependencies"].values()
    for text in [*project["dependencies"], *(text for extra in extras for text in extra)]:
        wanted = Requirement(text)
        pin = pins.get(canonicalize_name(wanted.name))
        assert pin is not None, f"{wanted.name} is not in constraints.txt"
        assert wanted.specifier.contains(pin), f"{wanted} does not admit {pin}"


def test_tests_cannot_reach_the_network() -> None:
    # 192.0.2.1 is reserved for documentation: no machine answers there.
    with socket.socket() as sock, pytest.raises(RuntimeError, match=r"192\.0\.2\.1"):
        sock.connect(("192.0.2.1", 80))
    with pytest.raises(RuntimeError, match=r"example\.org"):
        socket.create_connection(("example.org", 80))


def test_tests_can_reach_this_machine() -> None:
    with socket.create_server(("127.0.0.1", 0)) as server:
        socket.create_connection(server.getsockname()).close()
