"""Reads what a GraphQL document changes: the fields of its mutations, whatever the operations are called.

A document is read as far as it goes and not checked: what a server refuses does no harm, and a newer grammar is read, too.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, field

LONGEST = 1_000_000
"""Characters of a document that are read."""
_SIGN = re.compile(
    r'''#[^\n\r]*|"""(?:\\"""|(?!""").)*"""|"(?:\\.|[^"\\\n])*"|(\.\.\.|@?[_A-Za-z]\w*|[{}()\[\]:])''',
    re.DOTALL,
)
"""Comments and strings, and what counts: names, directives, spreads, brackets."""
_OPENING, _CLOSING = frozenset("{(["), frozenset("})]")
_KINDS = frozenset({"query", "mutation", "subscription", "fragment"})
_MUTATION = "mutation"


@dataclass(slots=True)
class _Definition:
    """An operation or a fragment, as far as its outermost fields and those below that are given something."""

    kind: str
    name: str = ""
    fields: list[str] = field(default_factory=list)
    spreads: list[str] = field(default_factory=list)
    """Fragments that stand among its fields."""
    given: list[str] = field(default_factory=list)
    """Those of its fields that are given something."""
    spreads_below: list[str] = field(default_factory=list)
    """Fragments that stand below its fields."""


def list_mutated_fields(text: str) -> list[str]:
    """Return the names of the mutations of a document, their outermost fields, and those below that are given something, also
    those of fragments, wherever these stand; empty for a query.
    """
    if _MUTATION not in text:
        return []
    definitions = _Reader([each[1] for each in _SIGN.finditer(text[:LONGEST]) if each[1]]).read()
    fragments = {each.name: each for each in definitions if each.kind == "fragment"}
    told: list[str] = []
    waiting = [(each, False) for each in definitions if each.kind == _MUTATION]
    seen: set[tuple[str, bool]] = set()
    while waiting:
        one, below = waiting.pop()
        told += [one.name] * (one.kind == _MUTATION and one.name != "")
        told += one.given if below else one.fields
        spread = {(each, below) for each in one.spreads} | {(each, True) for each in one.spreads_below}
        waiting += [(fragments[name], deeper) for name, deeper in spread - seen if name in fragments]
        seen |= spread
    return told


@dataclass(slots=True)
class _Reader:
    signs: list[str]
    _at: int = 0

    @property
    def _following(self) -> str:
        return self.signs[self._at] if self._at < len(self.signs) else ""

    def _take(self) -> str:
        sign = self._following
        self._at += 1
        return sign

    def read(self) -> list[_Definition]:
        """Return the definitions of the document."""
        found: list[_Definition] = []
        while sign := self._following:
            if sign in _KINDS:
                one = _Definition(
                    self._take(), self._take() if self._following[:1] not in {"", "{", "(", "@"} else ""
                )
                while self._following not in {"", "{"}:
                    self._skip()
                if self._following:  # else it is a text with such a word
                    self._read_fields(one)
                    found.append(one)
            else:  # a query without a word for it
                self._skip()
        return found

    def _read_fields(self, one: _Definition) -> None:
        """Note what stands between the next brace and its end. An inline fragment's braces open no level of their own."""
        levels = 0
        while sign := self._following:
            if sign in "([":
                self._skip()
                continue
            self._at += 1
            levels += (sign == "{") - (sign == "}")
            if levels <= 0:
                return
            if sign == "...":
                if self._following == "on":
                    self._at += 2
                elif self._following[:1] not in {"", "{", "@"}:
                    one.spreads.append(self._take())
            elif sign[0] not in "@:{}":
                self._read_field(one, sign)

    def _read_field(self, one: _Definition, name: str) -> None:
        if self._following == ":":  # the name was an alias
            self._at += 1
            name = self._take()
        one.fields.append(name)
        one.given += [name] * (self._following == "(")
        while self._following == "(" or self._following[:1] == "@":
            self._skip()
        if self._following == "{":
            self._read_calls(one)

    def _read_calls(self, one: _Definition) -> None:
        """Note the fields below that are given something, up to the end of the brace: `admin { deleteUser(id: 1) { id } }`."""
        levels = 0
        while sign := self._take():
            levels += (sign in _OPENING) - (sign in _CLOSING)
            if sign == "..." and self._following not in {"", "on", "{"} and self._following[0] != "@":
                one.spreads_below.append(self._following)
            if self._following == "(" and sign[0] not in "@:{}()[].":
                one.fields.append(sign)
                one.given.append(sign)
            if levels <= 0:
                return

    def _skip(self) -> None:
        """Skip a sign, or all between two brackets."""
        levels = 0
        while sign := self._take():
            levels += (sign in _OPENING) - (sign in _CLOSING)
            if levels <= 0:
                return
