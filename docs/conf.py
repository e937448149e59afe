"""Sphinx makes the site from these pages: `make docs`.

The pages are plain Markdown, which a git host shows as well. Some are completed here: the lists
of index.md become the navigation, api.md gets a section for each public name, and commands.md the
help of every command.
"""

import re
from importlib import metadata

from pydantic import BaseModel
from sphinx.application import Sphinx

import regard
from regard import cli
from regard.tasks.from_run import FromRun

project = "regard"
author = "the regard contributors"
copyright = "the regard contributors"
version = release = metadata.version("regard")

extensions = ["myst_parser", "sphinx.ext.autodoc", "sphinx.ext.napoleon"]
exclude_patterns = ["_build"]
nitpicky = True
# A type in a signature has a link where the reference describes it, and is only named elsewhere.
nitpick_ignore_regex = [(r"py:(class|data|obj)", r".*")]

# Headings get the anchors that a git host gives them.
myst_heading_anchors = 4

# `code` in a docstring is code.
default_role = "code"
autodoc_member_order = "bysource"
autodoc_preserve_defaults = True
maximum_signature_line_length = 80
python_use_unqualified_type_names = True
toc_object_entries = False

html_theme = "furo"
html_title = "regard"
html_static_path = ["site.css"]
html_css_files = ["site.css"]
html_copy_source = False
html_show_sphinx = False
html_theme_options = {"navigation_with_keys": True}

PAGES = re.compile(r"^- \[(.+?)\]\((\S+)\.md\)", re.MULTILINE)


def with_navigation(text: str) -> str:
    """A hidden table of contents for each section of a list of pages."""
    sections = re.split(r"^## (.+)\n", text, flags=re.MULTILINE)[1:]
    for title, pages in zip(sections[::2], sections[1::2], strict=True):
        entries = "\n".join(page for _, page in PAGES.findall(pages))
        text += f"\n```{{toctree}}\n:hidden:\n:caption: {title}\n{entries}\n```\n"
    return text


def with_list(text: str) -> str:
    entries = "\n".join(page for _, page in PAGES.findall(text))
    return f"{text}\n```{{toctree}}\n:hidden:\n{entries}\n```\n"


def with_reference(text: str) -> str:
    for name in regard.__all__:
        named = getattr(regard, name)
        kind, members = "function", ""
        if isinstance(named, type):
            kind = "exception" if issubclass(named, Exception) else "class"
            members = "   :members:\n   :exclude-members: model_config\n"
            if issubclass(named, FromRun):
                members += "   :inherited-members:\n"
        text += f"\n## {name}\n```{{eval-rst}}\n.. auto{kind}:: regard.{name}\n{members}```\n"
    return text


def in_code(found: re.Match[str]) -> str:
    return found[1] or f"`{found[2]}`"


def with_commands(text: str) -> str:
    """The help of every command, without the title and the table of contents before it."""
    commands = cli.app.generate_docs(heading_level=1)
    commands = commands[commands.index("**Train**") :]
    # Two hyphens are a dash, except in code.
    commands = re.sub(r"(`[^`]*`)|((?<!\w)--[a-z][a-z0-9-]*)", in_code, commands)
    return f"{text}\n## All commands\n{commands}"


COMPLETED = {
    "commands": with_commands,
    "index": with_navigation,
    "decisions/index": with_list,
    "api": with_reference,
}


def complete(app: Sphinx, page: str, source: list[str]) -> None:
    if page in COMPLETED:
        source[0] = COMPLETED[page](source[0])


def shorten(
    app: Sphinx, what: str, name: str, named: object, options: object, signature: str | None, _: str
) -> tuple[str, None] | None:
    """Leave out the parameters of a class that is not made by hand: a recipe is read from a file,
    and a signature with a "<" has a default that Python cannot read.
    """
    by_hand = not (isinstance(named, type) and issubclass(named, BaseModel))
    return None if by_hand and "<" not in (signature or "") else ("", None)


def setup(app: Sphinx) -> None:
    app.connect("source-read", complete)
    app.connect("autodoc-process-signature", shorten)
