"""Names of generated files, classes, functions and variables: made of what people call things."""

from __future__ import annotations

import keyword
import re

from kb_schema.pages.selecting.made_up import looks_made_up
from kb_schema.python_names import class_name, identifier, untaken
from kb_schema.urls import is_an_id

__all__ = [
    "changes", "class_name", "constant", "identifier", "mark", "module_name", "path_pattern", "untaken", "with_role",
]  # fmt: skip

_PYTEST_MARKS = frozenset({
    "skip", "skipif", "xfail", "parametrize", "usefixtures", "filterwarnings", "tryfirst", "trylast", "timeout",
    "only_browser", "skip_browser", "browser_context_args", "signed_out", "flaky", "asyncio",
})  # fmt: skip


def mark(tag: str) -> str:
    """A tag as a mark of pytest; one that would mean something to pytest itself gets `tag_` before it."""
    name = identifier(tag, "tag").rstrip("_")
    return f"tag_{name}" if name in _PYTEST_MARKS or keyword.iskeyword(name) else name


def module_name(req_id: str) -> str:
    """The part of a test's file name that says which requirement it is of: letters, digits and `_`."""
    return re.sub(r"[^A-Za-z0-9]+", "_", req_id).strip("_") or "requirement"


def constant(words: str, otherwise: str = "VALUE") -> str:
    """`Password *` -> `PASSWORD`: the name of an environment variable."""
    return identifier(words, otherwise.lower()).strip("_").upper()


def with_role(name: str, role: str | None) -> str:
    """`save` -> `save_button`: what one presses is called what it is."""
    kind = {"button": "button", "link": "link", "tab": "tab", "menuitem": "item"}.get(role or "")
    plain = name.rstrip("_")
    return name if kind is None or plain.endswith((f"_{kind}", kind)) else f"{plain}_{kind}"


def path_pattern(path: str) -> str:
    """The path with what stands for one thing among many as `*`: `/agent/42/edit` -> `/agent/*/edit`."""
    plain = path.partition("?")[0].partition("#")[0]
    return "/".join("*" if changes(each) else each for each in plain.split("/"))


def changes(segment: str) -> bool:
    """Whether a part of a path would be another one tomorrow: a number, or what a program made up."""
    return is_an_id(segment) or (len(segment) > 3 and looks_made_up(segment))
