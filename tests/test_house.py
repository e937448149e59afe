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

# Which rooms a room may import from. Each may import itself and `errors`; a dotted name opens one
# module of a room. `objectives` and `inspect` take models as arguments: they may name a model's
# type, under TYPE_CHECKING, but not load it.
MAY_IMPORT: dict[str, set[str]] = {
    "errors": set(),
    "hypothesis": set(),
    "machine": set(),
    "devices": {"machine"},
    "layers": set(),
    "text": set(),
    "models": {"layers"},
    "data": {"text", "files"},
    "objectives": {"data.batch", "data.label_ids", "data.masked", "layers"},
    "inspect": {"data.batch", "layers", "decode"},
    "decode": {"hypothesis"},
    "recipe": {"models"},
    "files": set(),
    "weights": {"files"},
    "checkpoint": {"files", "weights", "recipe", "text", "models"},
    "work": {"recipe", "models"},
    "plan": {"devices", "checkpoint", "recipe", "models", "work"},
    "evaluate": {"decode", "data", "objectives", "text", "inspect"},
    "search": {"decode", "text"},
    "engines": {
        *("checkpoint", "files", "search", "hypothesis", "decode", "text", "data", "inspect"),
        *("recipe", "weights"),
    },
    "tasks": {
        *("engines", "machine", "checkpoint", "search", "hypothesis", "decode", "text", "data"),
        "inspect",
    },
    "text_tasks": {"machine", "checkpoint", "decode", "text", "data", "evaluate", "inspect"},
    "cli": {
        *("tasks", "text_tasks", "engines", "search", "evaluate", "inspect", "training", "recipe"),
        *("checkpoint", "data", "machine", "plan", "work", "devices", "distill", "compare"),
        *("studio", "serve", "files"),
    },
    "distill": {
        *("tasks", "engines", "search", "training", "recipe", "checkpoint", "data", "machine"),
        *("models", "files"),
    },
    "compare": {"evaluate", "checkpoint", "data", "recipe", "training", "tasks"},
    "serve": {
        *("tasks", "text_tasks", "evaluate", "inspect", "engines", "search"),
        *("data.corpus", "machine"),
    },
    "studio": {
        *("tasks", "text_tasks", "engines", "inspect", "checkpoint", "search", "hypothesis"),
        *("decode", "text", "data", "training", "weights"),
    },
    "__main__": {"cli"},
}
MAY_IMPORT["training"] = set(MAY_IMPORT) - {
    *("tasks", "text_tasks", "engines", "distill", "compare", "cli", "serve"),
    *("studio", "__main__"),
}
MAY_NAME_TYPES = {
    room: {"models"}
    for room in ("objectives", "inspect", "evaluate", "engines", "tasks", "text_tasks")
}


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


def allowed(room: str, found: Import) -> bool:
    target = found.module.split(".")[0]
    if target in {room, "errors"} or target.startswith("__version"):
        return True
    open_to = MAY_IMPORT[room] | (MAY_NAME_TYPES.get(room, set()) if found.for_types else set())
    if room == "recipe" and target == "models":
        return bool(found.names) and all(name.endswith("Config") for name in found.names)
    inner = [f"{found.module}.{name}" for name in found.names]
    return target in open_to or found.module in open_to or (bool(inner) and set(inner) <= open_to)


def trespasses(room: str, text: str) -> list[str]:
    return [
        f"line {found.line}: {room} may not import regard.{found.module}"
        for found in imports(ast.parse(text))
        if not allowed(room, found)
    ]


@pytest.mark.parametrize("path", FILES, ids=named)
def test_a_room_imports_only_from_the_rooms_it_may(path: Path) -> None:
    room = module_of(path).split(".")[0]
    if room == "__init__":
        return
    assert room in MAY_IMPORT, f"{named(path)} is in no room; say in MAY_IMPORT what it may import"
    assert trespasses(room, path.read_text("utf-8")) == []


@pytest.mark.parametrize(
    ("room", "text"),
    [
        ("layers", "import regard.text"),
        ("decode", "def f():\n    from regard.models import build"),
        ("text", "from regard import data"),
        ("text", "from regard import Translator"),
        ("objectives", "from regard.data import corpus"),
        ("objectives", "from regard.models.transformer import Transformer"),
        ("recipe", "from regard.models.transformer import Transformer"),
        ("recipe", "import regard.models.transformer"),
        ("training", "from regard.tasks import Translator"),
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
        ("recipe", "from regard.models.transformer import TransformerConfig"),
        ("training", "from regard.checkpoint import save"),
        ("cli", "def f():\n    from regard.tasks import Translator"),
    ],
)
def test_a_permitted_import_is_let_through(room: str, text: str) -> None:
    assert trespasses(room, text) == []


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


def dangers(text: str) -> list[str]:
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
        if called in BANNED_CALLS:
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
    assert dangers(path.read_text("utf-8")) == []


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
