"""Converts Playwright TypeScript and JavaScript to a Python syntax tree, so that one reader handles both.

Tree-sitter parses; this module maps its nodes to Python. Only classes, methods, tests, locators and texts are
converted. Anything else becomes an unknown name, and broken or unsupported statements are left out. Nothing
is run.
"""

from __future__ import annotations

import ast
import re
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from itertools import zip_longest
from typing import NoReturn

import tree_sitter_typescript
from tree_sitter import Language, Node, Parser, Point

from kb_schema.python_names import identifier

DEEPEST = 200
"""The most nesting levels. Each takes up to three nested calls, of which Python allows a thousand."""
MOST_EFFORT = 20_000
"""The most progress reports of the parser, about one per hundred steps: enough for 50,000 usual lines."""

_LANGUAGE = Language(tree_sitter_typescript.language_typescript())
_UNKNOWN = "something"
_PLAYWRIGHT = {
    "getByRole": "get_by_role",
    "getByLabel": "get_by_label",
    "getByPlaceholder": "get_by_placeholder",
    "getByTestId": "get_by_test_id",
    "getByText": "get_by_text",
    "getByTitle": "get_by_title",
    "getByAltText": "get_by_alt_text",
    "frameLocator": "frame_locator",
    "contentFrame": "content_frame",
    "pressSequentially": "press_sequentially",
    "selectOption": "select_option",
    "setInputFiles": "set_input_files",
    "newPage": "new_page",
    "and": "and_",
    "or": "or_",
}
"""JavaScript's name -> Python's, if they differ."""
_PROPERTIES = frozenset({"first", "last", "content_frame"})
"""Methods there, properties in Python."""
_TESTS = frozenset({"test", "it", "setup"})
_NO_TESTS = frozenset({"afterEach", "beforeAll", "afterAll", "extend", "use"})
_CLASSES = frozenset({"class_declaration", "abstract_class_declaration", "class"})
_FUNCTIONS = frozenset({"arrow_function", "function_expression", "generator_function"})
_NAMED_FUNCTIONS = frozenset({"function_declaration", "generator_function_declaration"})
_DECLARATIONS = frozenset({"lexical_declaration", "variable_declaration"})
_BRANCHES = frozenset(
    {
        "if_statement",
        "for_statement",
        "for_in_statement",
        "while_statement",
        "do_statement",
        "switch_statement",
    }
)
_PARTS = frozenset(
    {
        "else_clause",
        "catch_clause",
        "finally_clause",
        "switch_body",
        "switch_case",
        "switch_default",
    }
)
"""Parts of branches that are not statements."""
_NAMES = frozenset({"identifier", "property_identifier", "shorthand_property_identifier_pattern"})
_CLOSES = {"{": "}", "${": "}", "(": ")", "[": "]"}
_QUOTES = "'\"`"
_TYPE_WORD = re.compile(r"[\w$]+|[\[({]")
_ESCAPE = re.compile(r"\\(?:u\{([0-9A-Fa-f]{1,6})\}|u([0-9A-Fa-f]{4})|x([0-9A-Fa-f]{2})|(.))", re.DOTALL)
_PLAIN = {"n": "\n", "t": "\t", "r": "\r", "b": "\b", "f": "\f", "v": "\v", "0": "\0", "\n": ""}


class UnreadableTypeScript(ValueError):
    """A source that cannot be parsed. `line` is where."""

    def __init__(self, line: int) -> None:
        self.line = line
        super().__init__(f"line {line}")


def parse(source: str) -> ast.Module:
    """Return a module: classes, functions, constants, and a function per test. Raises `UnreadableTypeScript`."""
    root = _parsed(source.encode("utf-8", "replace"))
    body = list(_tests_in(root, _TestHooks()))
    return ast.fix_missing_locations(ast.Module(body, []))


class _UnsupportedSyntax(Exception):
    """This node is broken or unsupported."""


@dataclass(slots=True)
class _TestHooks:
    """The hooks that run before each test of a block."""

    names: list[str] = field(default_factory=list)
    body: list[ast.stmt] = field(default_factory=list)


class _FunctionExpression(ast.Lambda):
    """A function that is written as an expression."""

    names: list[str]
    block: list[ast.stmt]


# -- limits --------------------------------------------------------------------------------------------


def _parsed(raw: bytes) -> Node:
    """Return the tree's root. Refuses sources that are too large or too deep, and unclosed brackets."""
    reports, reached = 0, 0

    def too_large(at: int, _: bool) -> bool:
        nonlocal reports, reached
        reports, reached = reports + 1, at
        return reports > MOST_EFFORT

    def piece(at: int, _: Point) -> bytes:
        return raw[at : at + 65_536]

    parser = Parser(_LANGUAGE)
    try:
        tried = parser.parse(piece, progress_callback=too_large)
    except ValueError as exc:
        raise UnreadableTypeScript(1 + raw.count(b"\n", 0, reached)) from exc
    # Progress is reported for chunks only, but a callback that returns chunks may crash at Python's stack limit.
    root = parser.parse(raw, tried).root_node
    _refuse_depth(root)
    _refuse_open_end(root)
    return root


def _refuse_depth(root: Node) -> None:
    cursor = root.walk()
    while True:
        if cursor.depth > DEEPEST and cursor.node is not None:
            raise UnreadableTypeScript(_line(cursor.node))
        if cursor.goto_first_child():
            continue
        while not cursor.goto_next_sibling():
            if not cursor.goto_parent():
                return


def _refuse_open_end(root: Node) -> None:
    """Refuse an unclosed bracket: the error may have swallowed everything after it."""
    for each in (root, *root.children):
        if each.is_error and _opens(each):
            raise UnreadableTypeScript(each.end_point.row + 1)
    last: Node | None = root
    while last is not None:
        if last.is_missing:
            raise UnreadableTypeScript(last.end_point.row + 1)
        last = last.children[-1] if last.children else None


def _opens(error: Node) -> bool:
    marks = Counter(each.type for each in error.children)
    unclosed = any(marks[mark] > marks[end] for mark, end in _CLOSES.items())
    return unclosed or any(marks[quote] % 2 for quote in _QUOTES)


# -- modules and tests ---------------------------------------------------------------------------------


def _tests_in(block: Node, hooks: _TestHooks) -> Iterator[ast.stmt]:
    """Yield the classes, functions, constants and tests of a module or a `test.describe`."""
    for each in block.named_children:
        try:
            yield from _outermost(each, hooks)
        except _UnsupportedSyntax:
            continue


def _outermost(node: Node, hooks: _TestHooks) -> Iterator[ast.stmt]:
    if node.type == "export_statement":
        inner = _field(node, "declaration") or _field(node, "value")
        if inner is not None:
            yield from _outermost(inner, hooks)
    elif node.type == "ambient_declaration":
        for each in node.named_children:
            yield from _outermost(each, hooks)
    elif node.type in _CLASSES:
        yield _class(node)
    elif (called := _test_call(node)) is not None:
        yield from _test(*called, hooks)
    elif (script := _called_at_once(node)) is not None:
        yield _function("script", [], _function_expression(script).block, _line(node))
    else:
        yield from _statement(node)


def _test_call(node: Node) -> tuple[Node, list[str]] | None:
    """Return the call of `test(...)`, `test.describe(...)` and the like, and the names after `test`."""
    call = _first(node) if node.type == "expression_statement" else node
    called = _field(call, "function") if call.type == "call_expression" else None
    words: list[str] = []
    while called is not None and called.type == "member_expression":
        words.append(_text(_needed(called, "property")))
        called = _field(called, "object")
    if called is None or called.type != "identifier" or _text(called) not in _TESTS:
        return None
    return call, words


def _called_at_once(node: Node) -> Node | None:
    """Return the function of `(async () => {...})()`, as scripts of `playwright codegen` are written."""
    call = _first(node) if node.type == "expression_statement" else node
    while call.type == "await_expression":
        call = _first(call)
    if call.type == "call_expression":
        written = _field(call, "function")
        if written is not None and written.type == "member_expression":  # `(async () => {...})().catch(...)`
            return _called_at_once(_needed(written, "object"))
        if written is not None and written.type == "parenthesized_expression":
            inner = _first(written)
            return inner if inner.type in _FUNCTIONS else None
    return None


def _test(call: Node, called: list[str], hooks: _TestHooks) -> Iterator[ast.stmt]:
    """Convert `test("...", ...)`, `test.describe`, `test.beforeEach`."""
    given = _children(_needed(call, "arguments"))
    title = ""
    if given and given[0].type not in ("object", *_FUNCTIONS):
        label = _expression(given.pop(0))
        title = str(label.value) if isinstance(label, ast.Constant) else _UNKNOWN
    if given and given[0].type == "object":  # details: tags, annotations
        given.pop(0)
    if not given or given[0].type not in _FUNCTIONS:
        return
    body = _needed(given[0], "body")
    if body.type != "statement_block":
        return
    if "describe" in called:
        yield from _tests_in(body, _TestHooks([*hooks.names], [*hooks.body]))
        return
    function = _function_expression(given[0])
    if "beforeEach" in called:
        hooks.names += function.names
        hooks.body += function.block
    elif not _NO_TESTS & {*called}:
        about: list[ast.stmt] = [ast.Expr(ast.Constant(title))] if title else []
        names = dict.fromkeys([*hooks.names, *function.names])
        name = f"test_{identifier(title, 'one')}"
        yield _function(name, names, [*about, *hooks.body, *function.block], _line(call))


# -- functions and classes -----------------------------------------------------------------------------


def _function(
    name: str,
    names: Iterable[str],
    body: list[ast.stmt],
    line: int,
    types: dict[str, str | None] | None = None,
    returns: str | None = None,
) -> ast.FunctionDef:
    said = types or {}
    arguments = [ast.arg(each, _named(said.get(each))) for each in names]
    given = ast.arguments([], arguments, None, [], [], None, [])
    return ast.FunctionDef(
        name, given, body or [ast.Pass()], [], _named(returns), lineno=line, col_offset=0, end_lineno=line
    )


def _declared(node: Node, name: str, *first: str) -> ast.FunctionDef:
    """Convert a function or method; `first`: its leading parameters."""
    given = _parameters(_needed(node, "parameters"))
    body = _body(_needed(node, "body"))
    names = [*first, *(each for each, _ in given)]
    return _function(name, names, body, _line(node), dict(given), _type(_field(node, "return_type")))


def _parameters(node: Node) -> list[tuple[str, str | None]]:
    """Return parameter names and the names of their types; a destructured one gives each name."""
    found: list[tuple[str, str | None]] = []
    for each in _children(node):
        pattern = _needed(each, "pattern")
        if pattern.type in ("identifier", "this"):
            found.append((_text(pattern), _type(_field(each, "type"))))
        else:
            found += [(name, None) for name in _names_in(pattern)]
    return found


def _names_in(pattern: Node) -> list[str]:
    found = []
    waiting = [pattern]
    while waiting:
        node = waiting.pop()
        if node.type in _NAMES:
            found.append(_text(node))
        waiting += reversed(node.named_children)
    return found


def _type(node: Node | None) -> str | None:
    """Return a type's name, for a promise that of its result."""
    words = [] if node is None else _TYPE_WORD.findall(_text(node))
    plain = [each for each in words if each not in ("Promise", "void", "readonly")]
    return plain[0] if len(plain) == 1 and plain[0] not in "([{" else None


def _class(node: Node) -> ast.ClassDef:
    name = _field(node, "name")
    heritage = (part for each in node.children if each.type == "class_heritage" for part in each.children)
    extended = (_text(_needed(each, "value")) for each in heritage if each.type == "extends_clause")
    bases: list[ast.expr] = [ast.Name(found[0]) for each in extended if (found := re.match(r"[\w$]+", each))]
    texts: list[ast.stmt] = []
    first: list[ast.stmt] = []
    methods: list[ast.stmt] = []
    for each in _whole(_needed(node, "body")):
        try:
            _member(each, texts, first, methods)
        except _UnsupportedSyntax:
            continue
    if first:
        made = next(
            (each for each in methods if isinstance(each, ast.FunctionDef) and each.name == "__init__"), None
        )
        if made is None:
            methods.insert(0, _function("__init__", ["self", "page"], first, _line(node)))
        else:
            made.body = [*first, *made.body]
    return ast.ClassDef(
        "Page" if name is None else _text(name),
        bases,
        [],
        [*texts, *methods] or [ast.Pass()],
        [],
        lineno=_line(node),
        col_offset=0,
    )


def _member(node: Node, texts: list[ast.stmt], first: list[ast.stmt], methods: list[ast.stmt]) -> None:
    if node.type not in ("method_definition", "public_field_definition"):
        return
    _refuse_errors(node)
    name = _key(_needed(node, "name"))
    if name is None:
        return
    if node.type == "method_definition":
        methods.append(_declared(node, "__init__" if name == "constructor" else name, "self"))
        return
    written = _field(node, "value")
    if written is None:
        return
    value = _expression(written)
    if isinstance(value, _FunctionExpression):
        methods.append(_function(name, ["self", *value.names], value.block, _line(node)))
    elif isinstance(value, ast.Constant | ast.JoinedStr | ast.BinOp):
        texts.append(_assign(ast.Name(name), value))
    else:
        first.append(_assign(ast.Attribute(ast.Name("self"), name), value))


# -- statements ----------------------------------------------------------------------------------------


def _body(block: Node) -> list[ast.stmt]:
    """Return the supported statements of a block."""
    found: list[ast.stmt] = []
    for each in _whole(block):
        try:
            found += _statement(each)
        except _UnsupportedSyntax:
            continue
    return found


def _statement(node: Node) -> list[ast.stmt]:  # noqa: PLR0911 - one for each kind of statement
    """Convert a statement; declarations of types, throws and imports give none."""
    if node.type == "statement_block":
        return _body(node)
    _refuse_errors(node)
    if node.type == "try_statement":
        tried = _body(_needed(node, "body"))
        last = _field(node, "finalizer")
        done = _body(_needed(last, "body")) if last is not None else []
        return [ast.Try(tried or [ast.Pass()], [], [], done, lineno=_line(node), col_offset=0)]
    if node.type in _BRANCHES:
        body = [*_inside(node)]
        return [ast.If(ast.Constant(None), body or [ast.Pass()], [], lineno=_line(node), col_offset=0)]
    if node.type in _NAMED_FUNCTIONS:
        return [_declared(node, _text(_needed(node, "name")))]
    if node.type in _DECLARATIONS:
        return [each for part in _children(node) for each in _declaration(part)]
    if node.type == "return_statement":
        value = next(iter(_children(node)), None)
        return [ast.Return(None if value is None else _expression(value))]
    if node.type == "expression_statement":
        node = _first(node)
    return _convert_expression_statement(node) if node.type in _EXPRESSIONS else []


def _inside(branch: Node) -> Iterator[ast.stmt]:
    """Yield everything inside a branch or loop, which the reader reports and leaves out."""
    names = ("consequence", "alternative", "body", "handler", "finalizer")
    parts = [each for name in names for each in branch.children_by_field_name(name)]
    for each in parts if branch.type not in ("else_clause", "switch_body") else branch.named_children:
        if each.type in _PARTS:
            yield from _inside(each)
        else:
            yield from _statement(each)


def _convert_expression_statement(node: Node) -> list[ast.stmt]:
    """Convert an expression statement."""
    if node.type == "assignment_expression":
        return [_assign(_expression(_needed(node, "left")), _expression(_needed(node, "right")))]
    return _inlined(_expression(node))


def _declaration(node: Node) -> list[ast.stmt]:
    name, value = _needed(node, "name"), _field(node, "value")
    if value is None:
        return []
    said = _expression(value)
    if isinstance(said, _FunctionExpression):
        return [_function(_text(name), said.names, said.block, _line(node))]
    done = _inlined(said)
    if name.type == "array_pattern" and len(done) > 1:  # `const [popup] = await Promise.all([...])`
        names = [_text(each) if each.type == "identifier" else "" for each in _children(name)]
        for at, (called, each) in enumerate(zip(names, done, strict=False)):
            if called and isinstance(each, ast.Expr):
                done[at] = _assign(ast.Name(called), each.value)
    return [_assign(ast.Name(_text(name)), said)] if name.type == "identifier" else done


def _inlined(expression: ast.expr) -> list[ast.stmt]:
    """Return the effects of an expression: `Promise.all([...])` and `test.step("...", ...)` give their
    content.
    """
    call = expression.value if isinstance(expression, ast.Await) else expression
    match call:
        case ast.Call(
            func=ast.Attribute(value=ast.Name(id="Promise"), attr="all"), args=[ast.List(elts=parts)]
        ):
            return [ast.Expr(each) for each in parts]
        case ast.Call(
            func=ast.Attribute(value=ast.Name(id="test"), attr="step"),
            args=[*_, _FunctionExpression() as done],
        ):
            return done.block
    return [ast.Expr(expression)]


# -- expressions ---------------------------------------------------------------------------------------


def _expression(node: Node) -> ast.expr:
    """Convert an expression; irrelevant ones become an unknown name."""
    _refuse_errors(node)
    made = _EXPRESSIONS.get(node.type)
    return ast.Name(_UNKNOWN) if made is None else made(node)


def _function_expression(node: Node) -> _FunctionExpression:
    one, several = _field(node, "parameter"), _field(node, "parameters")
    made = _FunctionExpression(ast.arguments([], [], None, [], [], None, []), ast.Constant(None))
    made.names = [name for name, _ in _parameters(several)] if several else [_text(one)] if one else []
    body = _needed(node, "body")
    made.block = _body(body) if body.type == "statement_block" else [ast.Return(_expression(body))]
    return made


def _attribute(node: Node) -> ast.expr:
    written = _needed(node, "property")
    name = _text(written).lstrip("#")
    owner = _expression(_needed(node, "object"))
    return ast.Attribute(owner, _PLAYWRIGHT.get(name, name), lineno=_line(written), col_offset=0)


def _call(node: Node) -> ast.expr:
    given = _needed(node, "arguments")
    if given.type == "template_string":
        return ast.Name(_UNKNOWN)
    called = _expression(_needed(node, "function"))
    arguments, keywords = _arguments(given)
    if isinstance(called, ast.Attribute) and called.attr in _PROPERTIES and not arguments:
        return called
    return ast.Call(called, arguments, keywords, lineno=_line(given), col_offset=0)


def _new(node: Node) -> ast.expr:
    given = _field(node, "arguments")
    arguments, keywords = ([], []) if given is None else _arguments(given)
    made = _expression(_needed(node, "constructor"))
    return ast.Call(made, arguments, keywords, lineno=_line(node), col_offset=0)


def _arguments(node: Node) -> tuple[list[ast.expr], list[ast.keyword]]:
    """Return the arguments of a call; a trailing object becomes Python keywords."""
    _refuse_errors(node)
    found = [_expression(each) for each in _children(node)]
    options = found[-1] if found else None
    if not isinstance(options, ast.Dict):
        return found, []
    keywords = [
        ast.keyword(snake(str(key.value)), value)
        for key, value in zip(options.keys, options.values, strict=True)
        if isinstance(key, ast.Constant)
    ]
    return found[:-1], keywords


def _binary(node: Node) -> ast.expr:
    left, right = _expression(_needed(node, "left")), _expression(_needed(node, "right"))
    plus = _needed(node, "operator").type == "+"
    return ast.BinOp(left, ast.Add(), right) if plus else ast.Name(_UNKNOWN)


def _object(node: Node) -> ast.expr:
    """Convert an object; values that are not plain are left out."""
    keys: list[ast.expr | None] = []
    values: list[ast.expr] = []
    for each in _children(node):
        if each.type == "shorthand_property_identifier":
            keys.append(ast.Constant(_text(each)))
            values.append(ast.Name(_text(each)))
        elif each.type == "pair" and (key := _key(_needed(each, "key"))) is not None:
            keys.append(ast.Constant(key))
            values.append(_expression(_needed(each, "value")))
    return ast.Dict(keys, values)


def _pattern(node: Node) -> ast.expr:
    flags = _field(node, "flags")
    ignored = [ast.Attribute(ast.Name("re"), "I")] if flags is not None and "i" in _text(flags) else []
    pattern = ast.Constant(_text(_needed(node, "pattern")))
    return ast.Call(ast.Attribute(ast.Name("re"), "compile"), [pattern, *ignored], [])


def _number(node: Node) -> ast.expr:
    said = _text(node)
    return ast.Constant(int(said)) if said.isdecimal() and len(said) < 16 else ast.Name(_UNKNOWN)


def _template(node: Node) -> ast.expr:
    """Convert a template to a text, or to a text with expressions."""
    raw = node.text or b""
    values: list[ast.expr] = []
    at = 1
    for each in _children(node):
        if each.type == "template_substitution":
            begin, end = each.start_byte - node.start_byte, each.end_byte - node.start_byte
            values.append(ast.Constant(unescape(raw[at:begin].decode())))
            values += [ast.FormattedValue(_expression(inner), -1) for inner in _children(each)[:1]]
            at = end
    values.append(ast.Constant(unescape(raw[at:-1].decode())))
    said = [each for each in values if not isinstance(each, ast.Constant) or each.value]
    if all(isinstance(each, ast.Constant) for each in said):
        return ast.Constant("".join(str(each.value) for each in said if isinstance(each, ast.Constant)))
    return ast.JoinedStr(said)


_EXPRESSIONS: Mapping[str, Callable[[Node], ast.expr]] = {
    "array": lambda node: ast.List([_expression(each) for each in _children(node)]),
    "arrow_function": _function_expression,
    "as_expression": lambda node: _expression(_first(node)),
    "assignment_expression": lambda node: _expression(_needed(node, "right")),
    "await_expression": lambda node: ast.Await(_expression(_first(node)), lineno=_line(node), col_offset=0),
    "binary_expression": _binary,
    "call_expression": _call,
    "false": lambda _: ast.Constant(False),
    "function_expression": _function_expression,
    "generator_function": _function_expression,
    "identifier": lambda node: ast.Name(_text(node), lineno=_line(node), col_offset=0),
    "member_expression": _attribute,
    "new_expression": _new,
    "non_null_expression": lambda node: _expression(_first(node)),
    "null": lambda _: ast.Constant(None),
    "number": _number,
    "object": _object,
    "parenthesized_expression": lambda node: _expression(_first(node)),
    "regex": _pattern,
    "satisfies_expression": lambda node: _expression(_first(node)),
    "string": lambda node: ast.Constant(unescape(_text(node)[1:-1])),
    "super": lambda _: ast.Name("super"),
    "template_string": _template,
    "this": lambda _: ast.Name("self"),
    "true": lambda _: ast.Constant(True),
    "type_assertion": lambda node: _expression(_children(node)[-1]),
    "undefined": lambda _: ast.Constant(None),
}


# -- nodes and texts -----------------------------------------------------------------------------------


def _refuse_errors(node: Node) -> None:
    """Raise `_UnsupportedSyntax` if the parser found an error directly in the node."""
    if node.has_error and (node.is_error or any(each.is_error or each.is_missing for each in node.children)):
        raise _UnsupportedSyntax


def _whole(block: Node) -> list[Node]:
    """Return the statements or members of a block, without those cut off by an error."""
    found = block.named_children
    return [each for each, after in zip_longest(found, found[1:]) if after is None or not after.is_error]


def _children(node: Node) -> list[Node]:
    """Return the children without comments."""
    return [each for each in node.named_children if not each.is_extra or each.is_error]


def _first(node: Node) -> Node:
    return next(iter(_children(node)), None) or _raise_unsupported()


def _field(node: Node, name: str) -> Node | None:
    return node.child_by_field_name(name)


def _needed(node: Node, name: str) -> Node:
    return node.child_by_field_name(name) or _raise_unsupported()


def _raise_unsupported() -> NoReturn:
    raise _UnsupportedSyntax


def _text(node: Node) -> str:
    return (node.text or b"").decode()


def _line(node: Node) -> int:
    return node.start_point.row + 1


def _key(node: Node) -> str | None:
    """Return a member's or property's name; None if it is computed."""
    if node.type == "string":
        return unescape(_text(node)[1:-1])
    plain = node.type in ("property_identifier", "private_property_identifier")
    return _text(node).lstrip("#") if plain else None


def _assign(target: ast.expr, value: ast.expr) -> ast.stmt:
    return ast.Assign([target], value)


def _named(name: str | None) -> ast.expr | None:
    return None if not name else ast.Name(name)


def snake(name: str) -> str:
    """Return a name as in Python: `has_text` for `hasText`, `wait_for_url` for `waitForURL`."""
    return re.sub(r"(?<=[a-z])(?=[A-Z])", "_", name).lower()


def unescape(text: str) -> str:
    r"""Return the text of a literal.

    >>> unescape(r"it\'s\x21")
    "it's!"
    """
    said = _ESCAPE.sub(_unescape_match, text)
    if said.isascii():
        return said
    # Two escapes may be the halves of one character; a single half is invalid.
    return said.encode("utf-16-le", "surrogatepass").decode("utf-16-le", "replace")


def _unescape_match(match: re.Match[str]) -> str:
    code = match[1] or match[2] or match[3]
    if code is None:
        return _PLAIN.get(match[4], match[4])
    number = int(code, 16)
    return chr(number) if number <= 0x10FFFF else "\N{REPLACEMENT CHARACTER}"
