"""Names of generated files, classes, functions and variables: made of what people call things."""

from __future__ import annotations

import builtins
import keyword
import re
import unicodedata
from collections.abc import Container

from kb_schema.pages.selecting.made_up import looks_made_up
from kb_schema.urls import is_an_id

LONGEST = 40
_RESERVED = frozenset({
    "page", "expect", "re", "pytest", "secret", "unique", "console_errors", "fnmatch", "message", "visible_text", "self", "path", "context",
    "browser", "base_url",
})  # fmt: skip
"""What generated tests use themselves."""
_PYTEST_MARKS = frozenset({
    "skip", "skipif", "xfail", "parametrize", "usefixtures", "filterwarnings", "tryfirst", "trylast", "timeout",
    "only_browser", "skip_browser", "browser_context_args", "signed_out", "flaky", "asyncio",
})  # fmt: skip


def identifier(words: str, otherwise: str = "element") -> str:
    """`Agent Name *` -> `agent_name`; a name that Python or the tests need themselves gets a `_` behind it."""
    # An apostrophe joins, everything else separates; `ß` and umlauts are written in ASCII.
    plain = unicodedata.normalize("NFKD", words.replace("ß", "ss")).encode("ascii", "ignore").decode()
    plain = re.sub(r"(?<=[a-z0-9])(?=[A-Z][a-z])", " ", plain.replace("'", ""))
    joined = "_".join(re.findall(r"[a-z0-9]+", plain.lower()))
    short = joined if len(joined) <= LONGEST else joined[:LONGEST].rpartition("_")[0] or joined[:LONGEST]
    if not short:
        return otherwise
    if short[0].isdigit():
        short = f"{otherwise}_{short}"
    taken = (
        keyword.iskeyword(short)
        or keyword.issoftkeyword(short)
        or hasattr(builtins, short)
        or short in _RESERVED
    )
    return f"{short}_" if taken else short


def mark(tag: str) -> str:
    """A tag as a mark of pytest; one that would mean something to pytest itself gets `tag_` before it."""
    name = identifier(tag, "tag").rstrip("_")
    return f"tag_{name}" if name in _PYTEST_MARKS or keyword.iskeyword(name) else name


def class_name(words: str, otherwise: str = "Some") -> str:
    """`create agent` -> `CreateAgent`."""
    return "".join(part.capitalize() for part in identifier(words, otherwise.lower()).split("_") if part)


def module_name(req_id: str) -> str:
    """The part of a test's file name that says which requirement it is of: letters, digits and `_`."""
    return re.sub(r"[^A-Za-z0-9]+", "_", req_id).strip("_") or "requirement"


def constant(words: str, otherwise: str = "VALUE") -> str:
    """`Password *` -> `PASSWORD`: the name of an environment variable."""
    return identifier(words, otherwise.lower()).strip("_").upper()


def untaken(name: str, taken: Container[str]) -> str:
    """The name, or with the first number behind it that makes it another one."""
    if name not in taken:
        return name
    number = 2
    while f"{name.rstrip('_')}_{number}" in taken:
        number += 1
    return f"{name.rstrip('_')}_{number}"


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
