"""Names of generated files, classes, functions and variables, made from the names people use."""

from __future__ import annotations

import keyword
import re

from kb_schema.python_names import class_name, identifier, make_unique_name
from kb_schema.url_patterns import is_id_segment
from web_pages.selectors.generated_names import looks_generated

__all__ = [
    "add_role_suffix",
    "build_pytest_mark",
    "class_name",
    "constant",
    "identifier",
    "is_variable_part",
    "make_unique_name",
    "module_name",
    "path_pattern",
]

_PYTEST_MARKS = frozenset(
    {
        "skip",
        "skipif",
        "xfail",
        "parametrize",
        "usefixtures",
        "filterwarnings",
        "tryfirst",
        "trylast",
        "timeout",
        "only_browser",
        "skip_browser",
        "browser_context_args",
        "signed_out",
        "flaky",
        "asyncio",
    }
)


def build_pytest_mark(tag: str) -> str:
    """Return a tag as a pytest mark; if it means something to pytest itself, with `tag_` before it."""
    name = identifier(tag, "tag").rstrip("_")
    return f"tag_{name}" if name in _PYTEST_MARKS or keyword.iskeyword(name) else name


def module_name(req_id: str) -> str:
    """Return the part of a test's file name that names the requirement: letters, digits and `_`."""
    return re.sub(r"[^A-Za-z0-9]+", "_", req_id).strip("_") or "requirement"


def constant(words: str, otherwise: str = "VALUE") -> str:
    """Return the name of an environment variable: `Password *` -> `PASSWORD`."""
    return identifier(words, otherwise.lower()).strip("_").upper()


def add_role_suffix(name: str, role: str | None) -> str:
    """Add the kind of an element to its name: `save` -> `save_button`."""
    kind = {"button": "button", "link": "link", "tab": "tab", "menuitem": "item"}.get(role or "")
    plain = name.rstrip("_")
    return name if kind is None or plain.endswith((f"_{kind}", kind)) else f"{plain}_{kind}"


def path_pattern(path: str) -> str:
    """Return the path with `*` for ids: `/agent/42/edit` -> `/agent/*/edit`."""
    plain = path.partition("?")[0].partition("#")[0]
    return "/".join("*" if is_variable_part(each) else each for each in plain.split("/"))


def is_variable_part(segment: str) -> bool:
    """Return whether a part of a path changes from run to run: a number or a generated id."""
    return is_id_segment(segment) or (len(segment) > 3 and looks_generated(segment))
