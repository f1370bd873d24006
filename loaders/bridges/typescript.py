"""Playwright's TypeScript and JavaScript as a syntax tree of Python, so that one reader reads both.

Only what page objects and tests are made of becomes part of it: classes, methods, tests, locators, texts. What else
there is stands there as a name that nothing knows. Nothing is run.
"""

from __future__ import annotations

import ast
import re
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, field

from kb_schema.python_names import identifier
from loaders.bridges.typescript_cursor import Cursor, Odd
from loaders.bridges.typescript_tokens import NoTypeScript, Token, tokens_of

_UNKNOWN = "something"
_MODIFIERS = frozenset(
    {"public", "private", "protected", "readonly", "static", "async", "abstract", "override", "declare"}
)
_PLAYWRIGHT = {
    "getByRole": "get_by_role", "getByLabel": "get_by_label", "getByPlaceholder": "get_by_placeholder",
    "getByTestId": "get_by_test_id", "getByText": "get_by_text", "getByTitle": "get_by_title",
    "getByAltText": "get_by_alt_text", "frameLocator": "frame_locator", "contentFrame": "content_frame",
    "pressSequentially": "press_sequentially", "selectOption": "select_option", "setInputFiles": "set_input_files",
    "newPage": "new_page", "and": "and_", "or": "or_",
}  # fmt: skip
"""JavaScript's word -> Python's, where they differ."""
_PROPERTIES = frozenset({"first", "last", "content_frame"})
"""Methods there, properties in Python."""
_BINARY = frozenset({
    "-", "*", "/", "%", "==", "===", "!=", "!==", "<", ">", "<=", ">=", "&&", "||", "??", "instanceof", "in",
})  # fmt: skip
_TESTS = frozenset({"test", "it", "setup"})


def parse(source: str) -> ast.Module:
    """A module: classes, functions, constants, and a function for each test. Raises `NoTypeScript`."""
    reader = _Reader(tokens_of(source))
    body = list(reader.module())
    return ast.fix_missing_locations(ast.Module(body, []))


@dataclass(slots=True)
class _Hooks:
    """What is done before each test of a block."""

    names: list[str] = field(default_factory=list)
    body: list[ast.stmt] = field(default_factory=list)


class _Function(ast.Lambda):
    """A function that is written as an expression."""

    names: list[str]
    block: list[ast.stmt]


class _Reader(Cursor):
    # -- modules and tests --

    def module(self) -> Iterator[ast.stmt]:
        """Its classes, functions, constants and tests."""
        yield from self._block_of_tests(_Hooks(), lambda: self._now.kind == "end")

    def _block_of_tests(self, hooks: _Hooks, done: Callable[[], bool]) -> Iterator[ast.stmt]:
        while not done():
            begun = self._at
            try:
                yield from self._top(hooks)
            except Odd:
                self._at = begun
                self._skip_statement()
            if self._at == begun:
                self._at += 1  # a bracket too many

    def _top(self, hooks: _Hooks) -> Iterator[ast.stmt]:
        while self._is("export", "default", "abstract", "declare"):
            self._at += 1
        if self._is("class"):
            yield self._class()
        elif self._is("import", "interface", "type", "enum", "namespace"):
            self._skip_statement()
        elif self._is(*_TESTS) and self._ahead().value in ("(", "."):
            yield from self._test(hooks)
        else:
            yield from self._statement()

    def _test(self, hooks: _Hooks) -> Iterator[ast.stmt]:
        """`test("...", ...)`, `test.describe`, `test.beforeEach`."""
        line = self._next().line
        called = []
        while self._take("."):
            called.append(self._next().value)
        self._expect("(")
        title = ""
        if self._now.kind in ("text", "template"):
            said = self._expression()
            title = str(said.value) if isinstance(said, ast.Constant) else _UNKNOWN
            self._take(",")
        if self._is("{"):  # details: tags, annotations
            self._skip_group()
            self._take(",")
        names = self._function_head()
        self._expect("{")
        if "describe" in called:
            inner = _Hooks([*hooks.names], [*hooks.body])
            yield from self._block_of_tests(inner, lambda: self._is("}"))
        else:
            body = self._body()
            if "beforeEach" in called:
                hooks.names += names
                hooks.body += body
            elif not {"afterEach", "beforeAll", "afterAll", "extend", "use"} & {*called}:
                about: list[ast.stmt] = [ast.Expr(ast.Constant(title))] if title else []
                all_names = [*dict.fromkeys([*hooks.names, *names])]
                name = f"test_{identifier(title, 'one')}"
                yield self._function(name, all_names, [*about, *hooks.body, *body], line)
        self._expect("}")
        while not self._take(")"):
            self._next()
        self._take(";")

    def _function_head(self) -> list[str]:
        """Up to a function's body; the names of what it is given."""
        self._take("async")
        if self._take("function") and self._now.kind == "name":
            self._at += 1
        names = [name for name, _ in self._parameters()] if self._is("(") else [self._next().value]
        if self._take(":"):
            self._skip_type()
        self._take("=>")
        return names

    def _parameters(self) -> list[tuple[str, str | None]]:
        """Names and the names of their types; of what is taken apart, each name."""
        self._expect("(")
        found: list[tuple[str, str | None]] = []
        while not self._take(")"):
            while self._is(*_MODIFIERS, "...") and self._ahead().kind == "name":
                self._at += 1
            if self._is("{", "["):
                begun = self._at
                self._skip_group()
                inside = self._tokens[begun + 1 : self._at - 1]
                found += [(each.value, None) for each in inside if each.kind == "name"]
                name = None
            else:
                name = self._next().value
            self._take("?")
            said = self._skip_type() if self._take(":") else None
            if name is not None:
                found.append((name, said))
            if self._take("="):
                self._expression()
            if not self._is(")"):
                self._expect(",")
        return found

    def _function(self, name: str, names: Iterable[str], body: list[ast.stmt], line: int,
                  types: dict[str, str | None] | None = None, returns: str | None = None) -> ast.FunctionDef:  # fmt: skip
        said = types or {}
        arguments = [ast.arg(each, _named(said.get(each))) for each in names]
        given = ast.arguments([], arguments, None, [], [], None, [])
        return ast.FunctionDef(
            name, given, body or [ast.Pass()], [], _named(returns), lineno=line, col_offset=0, end_lineno=line
        )

    # -- classes --

    def _class(self) -> ast.ClassDef:
        line = self._next().line
        name = self._next().value if self._now.kind == "name" and not self._is("extends") else "Page"
        bases: list[ast.expr] = []
        while not self._is("{"):
            if self._take("extends"):
                bases.append(ast.Name(self._next().value))
            else:
                self._next()
        self._expect("{")
        texts: list[ast.stmt] = []
        first: list[ast.stmt] = []
        methods: list[ast.stmt] = []
        while not self._take("}"):
            begun = self._at
            try:
                self._member(texts, first, methods)
            except Odd:
                self._at = begun
                self._skip_statement()
                if self._at == begun:
                    raise
        if first:
            made = next(
                (each for each in methods if isinstance(each, ast.FunctionDef) and each.name == "__init__"),
                None,
            )
            if made is None:
                methods.insert(0, self._function("__init__", ["self", "page"], first, line))
            else:
                made.body = [*first, *made.body]
        return ast.ClassDef(
            name, bases, [], [*texts, *methods] or [ast.Pass()], [], lineno=line, col_offset=0
        )

    def _member(self, texts: list[ast.stmt], first: list[ast.stmt], methods: list[ast.stmt]) -> None:
        if self._take(";"):
            return
        while self._is(*_MODIFIERS, "get", "set") and self._ahead().value not in (
            "(",
            "=",
            ":",
            ";",
            "?",
            "!",
            "<",
        ):
            self._at += 1
        token = self._next()
        if token.kind not in ("name", "text"):
            raise Odd
        name = token.value.lstrip("#")
        if self._is("<"):
            self._skip_type()
        if self._is("("):
            given = self._parameters()
            returns = self._skip_type() if self._take(":") else None
            if not self._take("{"):  # only declared
                self._take(";")
                return
            body = self._body()
            self._expect("}")
            called = "__init__" if name == "constructor" else name
            names = ["self", *(each for each, _ in given)]
            methods.append(self._function(called, names, body, token.line, dict(given), returns))
            return
        if self._is("?", "!"):
            self._at += 1
        if self._take(":"):
            self._skip_type()
        if self._take("="):
            value = self._expression()
            if isinstance(value, _Function):
                methods.append(self._function(name, ["self", *value.names], value.block, token.line))
            elif isinstance(value, ast.Constant | ast.JoinedStr | ast.BinOp):
                texts.append(_assign(ast.Name(name), value))
            else:
                first.append(_assign(ast.Attribute(ast.Name("self"), name), value))
        self._take(";")

    # -- statements --

    def _body(self) -> list[ast.stmt]:
        """Up to the brace that ends it."""
        found: list[ast.stmt] = []
        while not self._is("}"):
            begun = self._at
            try:
                found += self._statement()
            except Odd:
                self._at = begun
                self._skip_statement()
                if self._at == begun:
                    raise NoTypeScript(self._now.line) from None
        return found

    def _statement(self) -> list[ast.stmt]:
        if self._is(";", "{"):
            if self._next().value == ";":
                return []
            body = self._body()
            self._expect("}")
            return body
        if self._is("if", "for", "while", "switch", "try", "do"):
            return [self._branch()]
        if self._is("function") or (self._is("async") and self._ahead().value == "function"):
            return [self._named_function()]
        if self._is("const", "let", "var"):
            return self._declaration()
        if self._take("return"):
            ends = self._is(";", "}") or self._now.opens_line
            done: list[ast.stmt] = [ast.Return(None if ends else self._expression())]
        else:
            expression = self._expression()
            done = [_assign(expression, self._expression())] if self._take("=") else _inlined(expression)
        self._take(";")
        return done

    def _named_function(self) -> ast.stmt:
        self._take("async")
        line = self._next().line
        name = self._next().value
        names = self._parameters()
        returns = self._skip_type() if self._take(":") else None
        self._expect("{")
        body = self._body()
        self._expect("}")
        return self._function(name, [each for each, _ in names], body, line, dict(names), returns)

    def _branch(self) -> ast.stmt:
        """A branch or loop with all that is done in it, which the reader tells and leaves out."""
        line = self._next().line
        body: list[ast.stmt] = []
        while True:
            if self._is("("):
                self._skip_group()
            body += self._statement()
            if not self._is("else", "catch", "finally", "while"):
                break
            self._at += 1
        return ast.If(ast.Constant(None), body or [ast.Pass()], [], lineno=line, col_offset=0)

    def _declaration(self) -> list[ast.stmt]:
        self._at += 1
        if self._is("{", "["):
            self._skip_group()
            target = None
        else:
            target = ast.Name(self._next().value)
        if self._take(":"):
            self._skip_type()
        done: list[ast.stmt] = []
        if self._take("="):
            value = self._expression()
            done = _inlined(value) if target is None else [_assign(target, value)]
        while self._take(","):
            name = self._next().value
            if self._take("="):
                done.append(_assign(ast.Name(name), self._expression()))
        self._take(";")
        return done

    # -- expressions --

    def _expression(self) -> ast.expr:
        left = self._unary()
        while True:
            if self._take("+"):
                left = ast.BinOp(left, ast.Add(), self._unary())
            elif self._is(*_BINARY):
                self._at += 1
                self._unary()
                left = ast.Name(_UNKNOWN)
            elif self._is("as", "satisfies") and not self._now.opens_line:
                self._at += 1
                self._skip_type()
            elif self._take("?"):
                self._expression()
                self._expect(":")
                self._expression()
                left = ast.Name(_UNKNOWN)
            else:
                return left

    def _unary(self) -> ast.expr:
        token = self._now
        if self._take("await"):
            return ast.Await(self._unary(), lineno=token.line, col_offset=0)
        if self._is("!", "-", "+", "typeof", "void", "delete", "++", "--", "..."):
            self._at += 1
            self._unary()
            return ast.Name(_UNKNOWN)
        if self._take("new"):
            made = self._primary()
            while self._take("."):
                made = ast.Attribute(made, self._next().value)
            arguments, keywords = self._arguments() if self._is("(") else ([], [])
            return self._chained(ast.Call(made, arguments, keywords, lineno=token.line, col_offset=0))
        return self._chained(self._primary())

    def _chained(self, node: ast.expr) -> ast.expr:
        while True:
            token = self._now
            if self._take(".") or (self._take("?.") and self._now.kind == "name"):
                name = self._next().value.lstrip("#")
                node = ast.Attribute(node, _PLAYWRIGHT.get(name, name), lineno=token.line, col_offset=0)
            elif self._is("(") and not token.opens_line:
                arguments, keywords = self._arguments()
                if isinstance(node, ast.Attribute) and node.attr in _PROPERTIES and not arguments:
                    continue
                node = ast.Call(node, arguments, keywords, lineno=token.line, col_offset=0)
            elif self._is("[") and not token.opens_line:
                self._skip_group()
                node = ast.Name(_UNKNOWN)
            elif self._is("!") and not token.opens_line and self._ahead().value in (".", ")", ";", ",", "["):
                self._at += 1
            elif token.kind == "template" and not token.opens_line:
                self._at += 1
                node = ast.Name(_UNKNOWN)
            else:
                return node

    def _arguments(self) -> tuple[list[ast.expr], list[ast.keyword]]:
        """What a call is given; the last object as the keywords that Python has instead."""
        self._expect("(")
        found: list[ast.expr] = []
        while not self._take(")"):
            found.append(self._expression())
            if not self._is(")"):
                self._expect(",")
        options = found[-1] if found else None
        if not isinstance(options, ast.Dict):
            return found, []
        keywords = [
            ast.keyword(_snake(str(key.value)), value)
            for key, value in zip(options.keys, options.values, strict=True)
            if isinstance(key, ast.Constant)
        ]
        return found[:-1], keywords

    def _primary(self) -> ast.expr:
        if self._is_function():
            return self._function_expression()
        token = self._next()
        if token.kind == "mark":
            return self._bracketed(token.value)
        if token.kind == "name":
            words: dict[str, ast.expr] = {
                "this": ast.Name("self"), "true": ast.Constant(True), "false": ast.Constant(False),
                "null": ast.Constant(None), "undefined": ast.Constant(None),
            }  # fmt: skip
            return words.get(token.value) or ast.Name(token.value, lineno=token.line, col_offset=0)
        return _literal(token)

    def _bracketed(self, bracket: str) -> ast.expr:
        if bracket == "(":
            inner = self._expression()
            self._expect(")")
            return inner
        if bracket == "[":
            return self._list()
        if bracket == "{":
            return self._object()
        raise Odd

    def _is_function(self) -> bool:
        at = self._at + (self._is("async") and self._ahead().value != "=>")
        first = self._tokens[at]
        if first.kind == "name":
            return first.value == "function" or self._tokens[min(at + 1, len(self._tokens) - 1)].value == "=>"
        if first.value != "(" or first.kind != "mark":
            return False
        begun = self._at
        self._at = at
        try:
            self._skip_group()
            if self._take(":"):
                self._skip_type()
            return self._is("=>")
        except Odd:
            return False
        finally:
            self._at = begun

    def _function_expression(self) -> ast.expr:
        names = self._function_head()
        if self._take("{"):
            body = self._body()
            self._expect("}")
        else:
            body = [ast.Return(self._expression())]
        made = _Function(ast.arguments([], [], None, [], [], None, []), ast.Constant(None))
        made.names, made.block = names, body
        return made

    def _list(self) -> ast.expr:
        found = []
        while not self._take("]"):
            if not self._take(","):
                found.append(self._expression())
        return ast.List(found)

    def _object(self) -> ast.expr:
        """An object; of what is no plain value, only that it is there."""
        keys: list[ast.expr | None] = []
        values: list[ast.expr] = []
        while not self._take("}"):
            if self._take(",") or self._take("..."):
                continue
            if self._is("[", "("):
                self._skip_group()
                continue
            token = self._next()
            if self._take(":"):
                keys.append(ast.Constant(token.value))
                values.append(self._expression())
            elif self._is("("):
                self._skip_group()
                if self._is("{"):
                    self._skip_group()
            elif token.kind == "name" and self._is(",", "}"):
                keys.append(ast.Constant(token.value))
                values.append(ast.Name(token.value))
        return ast.Dict(keys, values)


def _literal(token: Token) -> ast.expr:
    match token.kind:
        case "text":
            return ast.Constant(token.value)
        case "number":
            known = token.value.isdigit() and len(token.value) < 16
            return ast.Constant(int(token.value)) if known else ast.Name(_UNKNOWN)
        case "pattern":
            flags = [ast.Attribute(ast.Name("re"), "I")] if "i" in token.flags else []
            return ast.Call(ast.Attribute(ast.Name("re"), "compile"), [ast.Constant(token.value), *flags], [])
    return _joined(token)


def _joined(token: Token) -> ast.expr:
    """A template as the text it is, or as a text with expressions."""
    values: list[ast.expr] = []
    for text, inner in token.parts:
        if text:
            values.append(ast.Constant(text))
        if inner:
            reader = _Reader([*inner, Token("end", "", token.line)])
            values.append(ast.FormattedValue(reader._expression(), -1))  # noqa: SLF001 - of this class
    if all(isinstance(each, ast.Constant) for each in values):
        return ast.Constant("".join(str(each.value) for each in values if isinstance(each, ast.Constant)))
    return ast.JoinedStr(values)


def _assign(target: ast.expr, value: ast.expr) -> ast.stmt:
    return ast.Assign([target], value)


def _inlined(expression: ast.expr) -> list[ast.stmt]:
    """An expression as what it does: `Promise.all([...])` and `test.step("...", ...)` as what is within."""
    call = expression.value if isinstance(expression, ast.Await) else expression
    match call:
        case ast.Call(
            func=ast.Attribute(value=ast.Name(id="Promise"), attr="all"), args=[ast.List(elts=parts)]
        ):
            return [ast.Expr(each) for each in parts]
        case ast.Call(
            func=ast.Attribute(value=ast.Name(id="test"), attr="step"), args=[*_, _Function() as done]
        ):
            return done.block
    return [ast.Expr(expression)]


def _named(name: str | None) -> ast.expr | None:
    return None if not name else ast.Name(name)


def _snake(name: str) -> str:
    """`hasText` -> `has_text`."""
    return re.sub(r"(?<=[a-z])(?=[A-Z])", "_", name).lower()
