"""TypeScript and JavaScript as tokens: names, numbers, texts, templates, patterns and marks, each with its line."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Literal

MOST_TOKENS = 500_000

Kind = Literal["name", "number", "text", "template", "pattern", "mark", "end"]

_SKIPPED = re.compile(r"(?:\s+|//[^\n]*|/\*.*?\*/|#![^\n]*)+", re.DOTALL)
_NAME = re.compile(r"[^\W\d]\w*|[$#][\w$]*", re.UNICODE)
_NUMBER = re.compile(r"\d[\w.]*")
_TEXT = re.compile(r"'((?:[^'\\\n]|\\.)*)'|\"((?:[^\"\\\n]|\\.)*)\"", re.DOTALL)
_PATTERN = re.compile(r"/((?:[^/\\\[\n]|\\.|\[(?:[^\]\\\n]|\\.)*\])+)/([a-z]*)")
_MARK = re.compile(r"=>|\.\.\.|\?\.(?!\d)|\?\?=?|[=!]==?|&&=?|\|\|=?|[+\-*/%]=|\+\+|--|[<>]=|[^\w\s]")
_ESCAPE = re.compile(r"\\(?:u\{([0-9A-Fa-f]{1,6})\}|u([0-9A-Fa-f]{4})|x([0-9A-Fa-f]{2})|(.))", re.DOTALL)
_PLAIN = {"n": "\n", "t": "\t", "r": "\r", "b": "\b", "f": "\f", "v": "\v", "0": "\0", "\n": ""}
_BEFORE_PATTERNS = frozenset({"return", "await", "typeof", "case", "new", "in", "of"})


class NoTypeScript(ValueError):
    """A source that cannot be read. `line` is where."""

    def __init__(self, line: int) -> None:
        self.line = line
        super().__init__(f"line {line}")


@dataclass(frozen=True, slots=True)
class Token:
    """One piece of a source."""

    kind: Kind
    value: str
    line: int
    flags: str = ""
    """Of a pattern."""
    parts: tuple[tuple[str, tuple[Token, ...]], ...] = ()
    """Of a template: each text with the tokens of the expression behind it."""
    opens_line: bool = False


def tokens_of(source: str) -> list[Token]:
    """All tokens, and one for the end. Raises `NoTypeScript`."""
    found, _ = _read(source, 0, 1, inner=False)
    return found


def _read(source: str, at: int, line: int, *, inner: bool) -> tuple[list[Token], int]:
    """Tokens up to the end, or within a template up to the brace that ends an expression; and where that is."""
    found: list[Token] = []
    depth = 0
    fresh = True
    while True:
        skipped = _SKIPPED.match(source, at)
        if skipped:
            fresh = fresh or "\n" in skipped[0]
            line += skipped[0].count("\n")
            at = skipped.end()
        if len(found) > MOST_TOKENS:
            raise NoTypeScript(line)
        if at >= len(source):
            if inner:
                raise NoTypeScript(line)
            return [*found, Token("end", "", line, opens_line=True)], at
        if source[at] == "`":
            token, at, lines = _template(source, at, line, fresh)
            found.append(token)
            line += lines
            fresh = False
            continue
        token, end = _one(source, at, line, found[-1] if found else None, fresh=fresh)
        if token.value == "{" and token.kind == "mark":
            depth += 1
        elif token.value == "}" and token.kind == "mark":
            if inner and depth == 0:
                return found, end
            depth -= 1
        found.append(token)
        line += source.count("\n", at, end)
        at, fresh = end, False


def _one(source: str, at: int, line: int, before: Token | None, *, fresh: bool) -> tuple[Token, int]:
    if match := _NAME.match(source, at):
        return Token("name", match[0], line, opens_line=fresh), match.end()
    if match := _NUMBER.match(source, at):
        return Token("number", match[0], line, opens_line=fresh), match.end()
    if match := _TEXT.match(source, at):
        said = match[1] if match[1] is not None else match[2]
        return Token("text", unescaped(said), line, opens_line=fresh), match.end()
    if _may_be_pattern(before) and (match := _PATTERN.match(source, at)):
        return Token("pattern", match[1], line, match[2], opens_line=fresh), match.end()
    match = _MARK.match(source, at)
    if match is None or match[0] in "'\"":
        raise NoTypeScript(line)
    return Token("mark", match[0], line, opens_line=fresh), match.end()


def _may_be_pattern(before: Token | None) -> bool:
    """A slash after a value divides."""
    if before is None:
        return True
    if before.kind == "mark":
        return before.value not in (")", "]", "}")
    return before.kind == "name" and before.value in _BEFORE_PATTERNS


def _template(source: str, at: int, line: int, fresh: bool) -> tuple[Token, int, int]:
    """A template, where it ends, and how many lines it has."""
    begin, text = at, ""
    parts: list[tuple[str, tuple[Token, ...]]] = []
    at += 1
    while at < len(source):
        if source[at] == "\\":
            text += source[at : at + 2]
            at += 2
        elif source[at] == "`":
            token = Token("template", "", line, "", (*parts, (unescaped(text), ())), fresh)
            return token, at + 1, source.count("\n", begin, at)
        elif source.startswith("${", at):
            inner, at = _read(source, at + 2, line, inner=True)
            parts.append((unescaped(text), tuple(inner)))
            text = ""
        else:
            text += source[at]
            at += 1
    raise NoTypeScript(line)


def unescaped(text: str) -> str:
    r"""What a literal says.

    >>> unescaped(r"it\'s\x21")
    "it's!"
    """
    said = _ESCAPE.sub(_said, text)
    if said.isascii():
        return said
    # Two escapes may be the halves of one character; a half alone is none.
    return said.encode("utf-16-le", "surrogatepass").decode("utf-16-le", "replace")


def _said(match: re.Match[str]) -> str:
    code = match[1] or match[2] or match[3]
    if code is None:
        return _PLAIN.get(match[4], match[4])
    number = int(code, 16)
    return chr(number) if number <= 0x10FFFF else "\N{REPLACEMENT CHARACTER}"
