"""Makes readable Python names (classes, functions, variables) from labels."""

from __future__ import annotations

import builtins
import keyword
import re
import textwrap
import unicodedata
from collections.abc import Container

LONGEST = 40
WIDTH = 88
"""The line width of generated code: the default of ruff."""
_RESERVED = frozenset(
    {
        "page",
        "expect",
        "re",
        "pytest",
        "secret",
        "unique",
        "console_errors",
        "fnmatch",
        "message",
        "visible_text",
        "self",
        "path",
        "context",
        "browser",
        "base_url",
    }
)
"""Names that generated tests use themselves."""
_QUOTES = re.compile(r'"{2,}|"$')
"""What would end a docstring."""


def identifier(words: str, otherwise: str = "element") -> str:
    """Return `agent_name` for `Agent Name *`. A name that Python or the tests use gets a trailing `_`."""
    # An apostrophe joins words, everything else separates them; `ß` and umlauts become ASCII.
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
    """Return `CreateAgent` for `create agent`."""
    return "".join(part.capitalize() for part in identifier(words, otherwise.lower()).split("_") if part)


def make_unique_name(name: str, taken: Container[str]) -> str:
    """Return the name, or the name with the first number that makes it unique."""
    if name not in taken:
        return name
    number = 2
    while f"{name.rstrip('_')}_{number}" in taken:
        number += 1
    return f"{name.rstrip('_')}_{number}"


def docstring(paragraphs: str, indent: int = 0) -> str:
    """Return a wrapped docstring of these paragraphs, whatever characters they contain."""
    shown = "".join(each if each.isprintable() or each == "\n" else " " for each in paragraphs)
    plain = [" ".join(each.split()) for each in shown.split("\n\n")]
    safe = [
        _QUOTES.sub(lambda run: '\\"' * len(run[0]), each.replace("\\", "\\\\")) for each in plain if each
    ]
    # A long word is not split: half an escape would begin the next line.
    width = WIDTH - indent - 6 * (len(safe) == 1)
    wrapped = ["\n".join(textwrap.wrap(each, width, break_long_words=False)) for each in safe]
    text = "\n\n".join(wrapped)
    end = "\n" if "\n" in text else ""
    return textwrap.indent(f'"""{text}{end}"""', " " * indent)
