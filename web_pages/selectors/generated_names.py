"""Detects names that a program generated: they differ tomorrow, so no selector may use them.

A pure function of the name: counters and hashes of frameworks, numbers of database rows, strings that no
person would type. In doubt, a name counts as written by a person; a wrong guess costs one strategy, never a
wrong element.
"""

from __future__ import annotations

import re

_UUID = re.compile(r"[0-9a-f]{8}-?[0-9a-f]{4}-?[0-9a-f]{4}-?[0-9a-f]{4}-?[0-9a-f]{12}", re.IGNORECASE)
_LONG_NUMBER = re.compile(r"\d{4,}")
_REACT_ID = re.compile(
    r"(?<![0-9a-zA-Z]):[rR][0-9a-zA-Z]*:(?![0-9a-zA-Z])|«[rR][0-9a-zA-Z]*»|^_[rR]_[0-9a-zA-Z]*_?$"
    r"|(?<![0-9a-zA-Z_])_[rR]_[0-9a-zA-Z]+_(?![0-9a-zA-Z])|^:|:$"
)
_COUNTED = re.compile(
    r"""^(?:
        ember\d+ | jss\d+ | (?:makeStyles|WithStyles|withStyles|Mui[A-Za-z]+)[\w()-]*-\d+ | mui-\d+
      | (?:radix|react-aria|react-select|headlessui|downshift|tippy|popper|floating-ui|mantine|chakra)\b.*\d.*
      | (?:cdk|mat|mdc|p|pn_id|rc|el-id|v|vs|ui-id|gwt-uid|ext-gen|ext-comp|ext-element|bs|x-auto)
        (?:[-_](?:[a-z]+[-_]){0,3}|)(?<=[-_])\d+(?:[-_][a-z0-9]+){0,3}
      | (?:yui|dijit|isc|zk_comp|sizzle|jqgh|jquery)[_-]?.*\d.* | __BVID__\d+.* | rc[_-]\w+[_-]\d+.*
      | (?:_ngcontent|_nghost|ng-tns|data-v|data-s|data-reactid|data-astro-cid)\b.*
    )$""",
    re.VERBOSE,
)
"""How frameworks write the names they number or hash."""
_HASHING = re.compile(r"^(?:css|sc|jsx|svelte|emotion|mantine|astro|tw|go|e)-(.+)$")
"""Libraries that append a hash to their own name."""
_MODULE = re.compile(r"^_?[A-Za-z][\w-]*?_{1,3}([A-Za-z0-9+-]{5,8})(?:_\d+)?$")
"""CSS modules: a file or a class, then a hash."""

_TOKENS = re.compile(r"[A-Za-z0-9]+")
_PIECES = re.compile(r"[A-Z]+(?![a-z])|[A-Z]?[a-z]+|\d+")
_HEX = re.compile(r"[0-9a-f]{6,}|[0-9A-F]{6,}")
_RUNS = re.compile(r"[A-Za-z]+|\d+")
_MOST_CONSONANTS = re.compile(r"[^aeiouy\d]{7,}", re.IGNORECASE)
_SHORT_FORM = 4
"""The most characters of short forms: `a11y`, `i18n`, `b2b`, `2fa`."""


def looks_generated(name: str) -> bool:
    """Return whether an id, a class or a value looks generated.

    >>> [looks_generated(n) for n in (":r1:", "css-1a2b3c", "ember123", "save-button", "step-2")]
    [True, True, True, False, False]
    """
    return (
        _LONG_NUMBER.search(name) is not None
        or _UUID.search(name) is not None
        or _REACT_ID.search(name) is not None
        or _COUNTED.match(name) is not None
        or _behind_a_name(name)
        or any(_token_made_up(token) for token in _TOKENS.findall(name))
    )


def is_made_up_id(text: str) -> bool:
    """Return whether a text is the id that a program gave a thing: nobody calls the thing so.

    Numbers are no such id: invoices are called by theirs.

    >>> [is_made_up_id(n) for n in ("gq2ttvnm9h1bdgx", "INV-20240", "Lemon balm", "A01")]
    [True, False, False, False]
    """
    return not re.search(r"\s", text) and looks_generated(_LONG_NUMBER.sub("", text))


def _behind_a_name(name: str) -> bool:
    """Return whether it is a hash after the name of a library or a module."""
    library, module = _HASHING.match(name), _MODULE.match(name)
    if library is not None and not _all_words(library[1]):
        return True
    return module is not None and not _all_words(module[1])


def _all_words(text: str) -> bool:
    """Return whether each part, without trailing digits, could be a word."""
    parts = re.split(r"[-_+]", text)
    return all(not re.match(r"\d+[A-Za-z]", part) and _plausible(part.rstrip("0123456789")) for part in parts)


def _plausible(token: str) -> bool:
    """Return whether the letters could be words in one of the usual compound styles."""
    if not token.isalpha():
        return not token
    pieces = _PIECES.findall(token)
    return not _restless(pieces) and all(_word(piece) for piece in pieces)


def _word(piece: str) -> bool:
    """Return whether it could be a word: a short form, or with a vowel."""
    return len(piece) <= _SHORT_FORM or any(char in "aeiouyAEIOUY" for char in piece)


def _restless(pieces: list[str]) -> bool:
    """Return whether capitals are scattered: `fLzYxQ`, `bdVaJa`, `iuPJKd`."""
    return len(pieces) >= 3 and sum(map(len, pieces)) / len(pieces) < 2.5


def _token_made_up(token: str) -> bool:
    if _MOST_CONSONANTS.search(token):
        return True
    runs = _RUNS.findall(token)
    letters = [run for run in runs if run.isalpha()]
    if any(_restless(_PIECES.findall(run)) for run in letters):
        return True
    if len(token) <= _SHORT_FORM or len(runs) == 1:
        return False
    if len(runs) >= 3:
        digits = sum(len(run) for run in runs if run.isdigit())
        hexadecimal = _HEX.fullmatch(token) is not None and digits > 1
        return hexadecimal or not all(len(run) >= 3 and _has_vowel(run) for run in letters)
    first, second = runs
    if first.isdigit():  # `2columns` is a word, `2kSdf` is not
        return not (_plausible(second) and _has_vowel(second)) and len(second) > 2
    return _HEX.fullmatch(token) is not None and len(second) > 1


def _has_vowel(run: str) -> bool:
    return any(char in "aeiouyAEIOUY" for char in run)
