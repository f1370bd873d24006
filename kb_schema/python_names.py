"""Names of classes, functions and variables in Python that is written for people: made of what things are called."""

from __future__ import annotations

import builtins
import keyword
import re
import textwrap
import unicodedata
from collections.abc import Container

LONGEST = 40
WIDTH = 88
"""Columns of a line: ruff's own."""
_RESERVED = frozenset({
    "page", "expect", "re", "pytest", "secret", "unique", "console_errors", "fnmatch", "message", "visible_text", "self", "path", "context",
    "browser", "base_url",
})  # fmt: skip
"""What generated tests use themselves."""
_QUOTES = re.compile(r'"{2,}|"$')
"""What would end a docstring."""


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


def class_name(words: str, otherwise: str = "Some") -> str:
    """`create agent` -> `CreateAgent`."""
    return "".join(part.capitalize() for part in identifier(words, otherwise.lower()).split("_") if part)


def untaken(name: str, taken: Container[str]) -> str:
    """The name, or with the first number behind it that makes it another one."""
    if name not in taken:
        return name
    number = 2
    while f"{name.rstrip('_')}_{number}" in taken:
        number += 1
    return f"{name.rstrip('_')}_{number}"


def docstring(paragraphs: str, indent: int = 0) -> str:
    """A docstring of these paragraphs, wrapped; whatever is in them."""
    shown = "".join(each if each.isprintable() or each == "\n" else " " for each in paragraphs)
    plain = [" ".join(each.split()) for each in shown.split("\n\n")]
    safe = [
        _QUOTES.sub(lambda run: '\\"' * len(run[0]), each.replace("\\", "\\\\")) for each in plain if each
    ]
    # A long word stays whole: broken, half of an escape would begin the next line.
    width = WIDTH - indent - 6 * (len(safe) == 1)
    wrapped = ["\n".join(textwrap.wrap(each, width, break_long_words=False)) for each in safe]
    text = "\n\n".join(wrapped)
    end = "\n" if "\n" in text else ""
    return textwrap.indent(f'"""{text}{end}"""', " " * indent)
