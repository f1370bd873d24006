"""Playwright's Python read as text: classes with locators, and what methods and tests do with them.

Files are parsed, never run or imported. What depends on values that only running would tell is left out, and
said. Not here: making knowledge of it (`playwright_import`).
"""

from __future__ import annotations

import ast
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path

from pydantic import JsonValue

from kb_schema.playwright_calls import Expression, LocatorLink
from loaders.bridges.imported import Unreadable, local_id, read_bytes

LOCATORS = frozenset({
    "get_by_role", "get_by_label", "get_by_placeholder", "get_by_test_id", "get_by_text", "get_by_title",
    "get_by_alt_text", "locator", "frame_locator", "filter", "nth", "and_", "or_",
})  # fmt: skip
_PLACES = frozenset({"first", "last", "content_frame"})
ACTIONS: Mapping[str, str] = {
    "click": "click", "dblclick": "double_click", "hover": "hover", "focus": "focus", "fill": "fill",
    "type": "append_text", "press_sequentially": "append_text", "press": "press", "clear": "clear",
    "check": "check", "uncheck": "uncheck", "select_option": "select_option", "set_input_files": "upload_file",
    "tap": "click",
}  # fmt: skip
"""Playwright's word -> ours."""
_PAGES = frozenset({"page", "_page"})
_ADDRESSES = frozenset({"url", "path", "route", "page_url", "page_path"})
_DEEPEST = 4
MOST_STEPS = 500
MOST_NODES = 500_000

Value = str | int | float | bool | None


@dataclass(frozen=True, slots=True)
class Step:
    """One thing done: `goto` with an address, or an action on a locator."""

    action: str
    target: Expression = ()
    value: JsonValue = None
    name: str = ""
    """What the source calls the element, where it has a name."""
    line: int = 0


@dataclass(slots=True)
class PageClass:
    """A page object."""

    name: str
    file: Path
    bases: tuple[str, ...] = ()
    address: str | None = None
    elements: dict[str, Expression] = field(default_factory=dict)
    methods: dict[str, ast.FunctionDef | ast.AsyncFunctionDef] = field(default_factory=dict)
    about: str = ""


@dataclass(frozen=True, slots=True)
class Test:
    """A test, as what it does."""

    name: str
    file: Path
    about: str
    steps: tuple[Step, ...]


@dataclass(slots=True)
class Source:
    """All files together."""

    classes: dict[str, PageClass] = field(default_factory=dict)
    tests: list[Test] = field(default_factory=list)
    notes: list[str] = field(default_factory=list)

    def elements(self, own: PageClass, depth: int = 0) -> dict[str, Expression]:
        """A class's elements and those of what it inherits from."""
        found: dict[str, Expression] = {}
        for base in own.bases if depth < _DEEPEST else ():
            if base in self.classes and base != own.name:
                found |= self.elements(self.classes[base], depth + 1)
        return found | own.elements

    def method(
        self, own: PageClass, name: str, depth: int = 0
    ) -> ast.FunctionDef | ast.AsyncFunctionDef | None:
        """A method of a class or of what it inherits from."""
        if name in own.methods or depth >= _DEEPEST:
            return own.methods.get(name)
        found = (
            self.method(self.classes[base], name, depth + 1) for base in own.bases if base in self.classes
        )
        return next((each for each in found if each is not None), None)


def read_source(files: list[Path]) -> Source:
    """Classes first, then tests, which use them. Raises `Unreadable`."""
    trees = [(file, _parsed(file)) for file in files]
    source = Source()
    for file, tree in trees:
        for node in tree.body:
            if isinstance(node, ast.ClassDef) and (found := _page_class(node, file)) is not None:
                source.classes.setdefault(found.name, found)
    for file, tree in trees:
        for test in _test_functions(tree):
            reading = _Reading(source, test.name, file)
            reading.given(test)
            steps = tuple(reading.steps_of(test))
            if steps:
                about = (ast.get_docstring(test) or "").partition("\n")[0]
                source.tests.append(Test(test.name, file, about, steps))
    return source


def _parsed(file: Path) -> ast.Module:
    try:
        tree = ast.parse(read_bytes(file), filename=file.name)
        too_many = sum(1 for _ in ast.walk(tree)) > MOST_NODES
    except SyntaxError as exc:
        raise Unreadable(file, f"is not Python: {exc.msg}", f"line {exc.lineno or 1}") from exc
    except (ValueError, RecursionError, MemoryError) as exc:
        raise Unreadable(file, "is no Python that can be read") from exc
    if too_many:
        raise Unreadable(file, "is too large")
    return tree


def _test_functions(tree: ast.Module) -> Iterator[ast.FunctionDef | ast.AsyncFunctionDef]:
    inner = (each for node in tree.body if isinstance(node, ast.ClassDef) for each in node.body)
    for node in (*tree.body, *inner):
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef) and node.name.startswith("test"):
            yield node


# -- classes -------------------------------------------------------------------------------------------


def _page_class(node: ast.ClassDef, file: Path) -> PageClass | None:
    """A class that has locators or an address; None for any other."""
    bases = tuple(each.id for each in node.bases if isinstance(each, ast.Name))
    own = PageClass(node.name, file, bases, about=(ast.get_docstring(node) or "").partition("\n")[0])
    for each in node.body:
        if isinstance(each, ast.FunctionDef | ast.AsyncFunctionDef):
            _take_method(own, each)
        elif isinstance(each, ast.Assign | ast.AnnAssign) and each.value is not None:
            targets = each.targets if isinstance(each, ast.Assign) else [each.target]
            names = {target.id.lower() for target in targets if isinstance(target, ast.Name)}
            if (
                names & _ADDRESSES
                and isinstance(each.value, ast.Constant)
                and isinstance(each.value.value, str)
            ):
                own.address = each.value.value
    return own if own.elements or own.address or bases or own.methods else None


def _take_method(own: PageClass, method: ast.FunctionDef | ast.AsyncFunctionDef) -> None:
    if method.name == "__init__":
        for node in ast.walk(method):
            if isinstance(node, ast.Assign) and len(node.targets) == 1:
                target = node.targets[0]
                if isinstance(target, ast.Attribute) and _is_self(target.value):
                    expression = locator(node.value, own.elements)
                    if expression:
                        own.elements[target.attr] = expression
        return
    last = method.body[-1] if method.body else None
    if isinstance(last, ast.Return) and last.value is not None and len(method.args.args) <= 1:
        expression = locator(last.value, own.elements)
        if expression and len([each for each in method.body if not _is_docstring(each)]) == 1:
            own.elements[method.name] = expression
            return
    own.methods[method.name] = method
    if own.address is None:
        for node in ast.walk(method):
            if (
                isinstance(node, ast.Call)
                and isinstance(node.func, ast.Attribute)
                and node.func.attr == "goto"
            ):
                own.address = address(node)
                break


def _is_self(node: ast.expr) -> bool:
    return isinstance(node, ast.Name) and node.id == "self"


def _is_docstring(node: ast.stmt) -> bool:
    return isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant)


def address(call: ast.Call) -> str | None:
    """What `goto` opens: a literal, or what is literal behind a base address."""
    given = call.args[0] if call.args else None
    if isinstance(given, ast.Constant) and isinstance(given.value, str):
        return given.value
    parts: list[ast.expr] = []
    if isinstance(given, ast.JoinedStr):
        parts = given.values
    elif isinstance(given, ast.BinOp) and isinstance(given.op, ast.Add):
        parts = [given.left, given.right]
    literal = [isinstance(each, ast.Constant) and isinstance(each.value, str) for each in parts]
    if len(parts) == 2 and literal == [False, True] and isinstance(parts[1], ast.Constant):
        return str(parts[1].value)
    return None


# -- locators ------------------------------------------------------------------------------------------


def locator(node: ast.expr, known: Mapping[str, Expression]) -> Expression | None:
    """The chain of calls that makes a locator; None where it is none. `()`: the page itself."""
    match node:
        case ast.Await(value=inner):
            return locator(inner, known)
        case ast.Name(id=name) | ast.Attribute(value=ast.Name(id="self"), attr=name):
            return () if name in _PAGES else known.get(name)
        case ast.Attribute(value=inner, attr=name) if name in _PLACES:
            found = locator(inner, known)
            return None if not found else (*found, LocatorLink(method=name))
        case ast.Call(func=ast.Attribute(value=inner, attr=name)) if name in LOCATORS:
            found = locator(inner, known)
            return None if found is None else (*found, _link(name, node))
    return None


def _link(method: str, call: ast.Call) -> LocatorLink:
    keywords = {each.arg: _argument(each.value) for each in call.keywords if each.arg}
    return LocatorLink(method=method, arguments=tuple(map(_argument, call.args)), keywords=keywords)


def _argument(node: ast.expr) -> JsonValue:
    """A literal; what only running would tell is a list, which no selector takes for a text."""
    if isinstance(node, ast.Constant) and isinstance(node.value, str | int | float | bool | None):
        return node.value
    pattern = (
        isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute) and node.func.attr == "compile"
    )
    if pattern and isinstance(node, ast.Call) and node.args and isinstance(node.args[0], ast.Constant):
        return {"regex": str(node.args[0].value), "flags": ""}
    return [ast.unparse(node)[:200]]


# -- what is done --------------------------------------------------------------------------------------


class _Reading:
    """One test, or one method of a page object, statement by statement."""

    def __init__(
        self,
        source: Source,
        name: str,
        file: Path,
        own: PageClass | None = None,
        values: Mapping[str, JsonValue] | None = None,
        depth: int = 0,
    ) -> None:
        self._source, self._name, self._file, self._depth = source, name, file, depth
        self._names: dict[str, Expression] = {} if own is None else source.elements(own)
        self._objects: dict[str, PageClass] = {} if own is None else {"self": own}
        self._values: dict[str, JsonValue] = dict(values or {})

    def given(self, function: ast.FunctionDef | ast.AsyncFunctionDef) -> None:
        """What a test is given: page objects by their class or their name, else pages."""
        called = {local_id(name, "page"): own for name, own in self._source.classes.items()}
        for argument in (*function.args.args, *function.args.kwonlyargs):
            said = argument.annotation
            own = (
                self._source.classes.get(said.id) if isinstance(said, ast.Name) else called.get(argument.arg)
            )
            if own is not None:
                self._objects[argument.arg] = own
            elif argument.arg != "self":
                self._names[argument.arg] = ()

    def steps_of(self, function: ast.FunctionDef | ast.AsyncFunctionDef) -> Iterator[Step]:
        """What it does, in order. Branches are not taken, loops not turned; both are said."""
        for number, statement in enumerate(self._statements(function.body)):
            if number >= MOST_STEPS:
                self._note(statement, f"more than {MOST_STEPS} statements")
                return
            yield from self._statement(statement)

    def _statements(self, body: list[ast.stmt]) -> Iterator[ast.stmt]:
        for statement in body:
            if isinstance(statement, ast.With | ast.AsyncWith):
                yield from self._statements(statement.body)
            elif isinstance(statement, ast.If | ast.For | ast.While | ast.Try | ast.AsyncFor):
                if _does_something(statement):
                    self._note(statement, "a branch or loop")
            else:
                yield statement

    def _statement(self, statement: ast.stmt) -> Iterator[Step]:
        value = getattr(statement, "value", None)
        if isinstance(statement, ast.Assign) and len(statement.targets) == 1:
            target = statement.targets[0]
            yield from self._done(statement.value)
            if isinstance(target, ast.Name) and value is not None:
                self._bind(target.id, value)
        elif isinstance(statement, ast.Expr | ast.Return) and value is not None:
            yield from self._done(value)

    def _bind(self, name: str, value: ast.expr) -> None:
        made = self._object(value)
        if made is not None:
            self._objects[name] = made
            return
        expression = self._locator(value)
        if expression:
            self._names[name] = expression
        elif isinstance(value, ast.Constant):
            self._values[name] = _argument(value)

    def _done(self, node: ast.expr) -> Iterator[Step]:
        """The steps of an expression: `page.goto(...)`, `x.click()`, `login.sign_in("me")`, chains of them."""
        if isinstance(node, ast.Await):
            yield from self._done(node.value)
            return
        if not isinstance(node, ast.Call) or not isinstance(node.func, ast.Attribute):
            return
        receiver, name = node.func.value, node.func.attr
        own = self._object(receiver)
        method = None if own is None else self._source.method(own, name)
        if own is not None and method is not None:
            yield from self._done(receiver)
            yield from self._inlined(own, method, node)
        elif name == "goto":
            opened = address(node)
            if opened is None:
                self._note(node, "an address that only running would tell")
            else:
                yield Step("goto", value=opened, line=node.lineno)
        elif name in ACTIONS:
            yield from self._action(ACTIONS[name], receiver, node)

    def _action(self, action: str, receiver: ast.expr, call: ast.Call) -> Iterator[Step]:
        expression = self._locator(receiver)
        arguments = list(call.args)
        if expression == () and arguments:  # `page.click("#go")`, `page.fill("#x", "y")`
            expression = (_link("locator", ast.Call(func=call.func, args=[arguments.pop(0)], keywords=[])),)
        if not expression:
            self._note(call, "an element that only running would tell")
            return
        value: JsonValue = self._value(arguments[0]) if arguments else None
        if value is None and action == "select_option":
            value = next((self._value(each.value) for each in call.keywords), None)
        name = receiver.attr if isinstance(receiver, ast.Attribute) and receiver.attr not in _PLACES else ""
        yield Step(action, expression, value, name, call.lineno)

    def _inlined(
        self, own: PageClass, method: ast.FunctionDef | ast.AsyncFunctionDef, call: ast.Call
    ) -> Iterator[Step]:
        """A method of a page object as what it does, with what it is given."""
        if self._depth >= _DEEPEST:
            self._note(call, "methods within methods")
            return
        names = [each.arg for each in method.args.args][1:]
        values = {name: self._value(each) for name, each in zip(names, call.args, strict=False)}
        values |= {each.arg: self._value(each.value) for each in call.keywords if each.arg}
        inner = _Reading(self._source, self._name, own.file, own, values, self._depth + 1)
        yield from inner.steps_of(method)

    def _object(self, node: ast.expr) -> PageClass | None:
        """The page object that an expression is, as far as its source says."""
        match node:
            case ast.Await(value=inner):
                return self._object(inner)
            case ast.Name(id=name):
                return self._objects.get(name)
            case ast.Call(func=ast.Name(id=name)):
                return self._source.classes.get(name)
            case ast.Call(func=ast.Attribute(value=inner, attr=name)):
                own = self._object(inner)
                method = None if own is None else self._source.method(own, name)
                return None if own is None or method is None else returned(self._source, own, method)
        return None

    def _locator(self, node: ast.expr) -> Expression | None:
        match node:
            case ast.Attribute(value=inner, attr=name):
                own = self._object(inner)
                found = None if own is None else self._source.elements(own).get(name)
                if found is not None:
                    return found
        return locator(node, self._names)

    def _value(self, node: ast.expr) -> JsonValue:
        if isinstance(node, ast.Name) and node.id in self._values:
            return self._values[node.id]
        return _argument(node)

    def _note(self, node: ast.AST, what: str) -> None:
        line = getattr(node, "lineno", 0)
        note = f"{self._file.name}, line {line}, in {self._name}: {what} is left out"
        if note not in self._source.notes:
            self._source.notes.append(note)


def _does_something(statement: ast.stmt) -> bool:
    """Whether there is an action anywhere in it."""
    calls = (node.func for node in ast.walk(statement) if isinstance(node, ast.Call))
    return any(isinstance(each, ast.Attribute) and each.attr in {*ACTIONS, "goto"} for each in calls)


def returned(
    source: Source, own: PageClass, method: ast.FunctionDef | ast.AsyncFunctionDef
) -> PageClass | None:
    """The page object a method ends with: by its annotation, or what it returns."""
    said = method.returns
    name = said.id if isinstance(said, ast.Name) else said.value if isinstance(said, ast.Constant) else None
    if name == "Self":
        return own
    if isinstance(name, str) and name in source.classes:
        return source.classes[name]
    for node in ast.walk(method):
        if isinstance(node, ast.Return) and isinstance(node.value, ast.Name) and node.value.id == "self":
            return own
        for each in ast.walk(node) if isinstance(node, ast.Return) else ():
            if (
                isinstance(each, ast.Call)
                and isinstance(each.func, ast.Name)
                and each.func.id in source.classes
            ):
                return source.classes[each.func.id]
    return None


def steps_of_method(source: Source, own: PageClass, name: str) -> list[Step]:
    """What a method of a page object does, its parameters unknown."""
    method = source.method(own, name)
    if method is None:
        return []
    return list(_Reading(source, f"{own.name}.{name}", own.file, own).steps_of(method))
