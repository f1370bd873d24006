"""A place in the tokens of TypeScript: what comes next, and over what is of no interest."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from loaders.bridges.typescript_tokens import Token

_OPENS = {"(": ")", "[": "]", "{": "}"}


class Odd(Exception):
    """What stands here is not understood."""


class Cursor:
    """Reads tokens from the first to the last, which is the end."""

    def __init__(self, tokens: Iterable[Token]) -> None:
        self._tokens = [*tokens]
        self._ends = _ends(self._tokens)
        self._at = 0

    @property
    def _now(self) -> Token:
        return self._tokens[self._at]

    def _is(self, *values: str) -> bool:
        return self._now.kind in ("mark", "name") and self._now.value in values

    def _ahead(self, number: int = 1) -> Token:
        return self._tokens[min(self._at + number, len(self._tokens) - 1)]

    def _next(self) -> Token:
        token = self._now
        if token.kind == "end":
            raise Odd
        self._at += 1
        return token

    def _take(self, value: str) -> bool:
        if self._is(value):
            self._at += 1
            return True
        return False

    def _expect(self, value: str) -> None:
        if not self._take(value):
            raise Odd

    def _skip_group(self) -> None:
        """Over a bracket and all within it, or to the end."""
        self._at = self._ends[self._at]

    def _skip_statement(self) -> None:
        """To behind what is not understood: a semicolon, or the line's end outside of brackets."""
        begun = self._at
        while self._now.kind != "end" and not self._is("}"):
            if self._at > begun and self._now.opens_line:
                return
            if self._take(";"):
                return
            if self._now.kind == "mark" and self._now.value in _OPENS:
                self._skip_group()
            else:
                self._at += 1

    def _skip_type(self) -> str | None:
        """Over a type; its name where it is one, of a promise that of what is promised."""
        names: list[str] = []
        depth = 0
        while True:
            token = self._now
            if token.kind == "end":
                raise Odd
            if token.kind == "mark":
                if token.value == "<":
                    depth += 1
                elif token.value == ">":
                    depth -= 1
                elif token.value in _OPENS and (depth or not names or token.value != "{"):
                    self._skip_group()
                    names.append("")
                    continue
                elif depth <= 0 and token.value not in (".", "|", "&"):
                    break
            elif names and depth <= 0 and token.opens_line:
                break
            else:
                names.append(token.value)
            self._at += 1
        plain = [each for each in names if each not in ("Promise", "void", "readonly")]
        return plain[0] if len(plain) == 1 else None


def _ends(tokens: Sequence[Token]) -> dict[int, int]:
    """Where each bracket opens -> behind where it closes; the end, where it does not."""
    found: dict[int, int] = {}
    open_: list[int] = []
    for at, token in enumerate(tokens):
        if token.kind != "mark":
            continue
        if token.value in _OPENS:
            found[at] = len(tokens) - 1
            open_.append(at)
        elif open_ and token.value == _OPENS[tokens[open_[-1]].value]:
            found[open_.pop()] = at + 1
    return found
