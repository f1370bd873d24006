"""Reads what tests, scripts and page object methods do, statement by statement, without running them.

What depends on values that only running would give is left out and reported.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator, Mapping
from pathlib import Path

from pydantic import JsonValue

from kb_schema.locator_expressions import Expression
from loaders.bridges.knowledge_drafts import make_local_id
from loaders.bridges.playwright_suites.suite_source import (
    ACTIONS,
    PAGE_NAMES,
    PLACES,
    FunctionNode,
    SuitePageClass,
    SuiteSource,
    SuiteStep,
    SuiteTest,
    address,
    argument,
    calls,
    functions,
    is_fixture,
    link,
    locator,
    read_classes,
)

_SCRIPTS = frozenset({"new_page", "sync_playwright", "async_playwright"})
"""Calls that open a browser, as in scripts of `playwright codegen`."""
_NOT_READ = frozenset(
    {"press", "type", "insert_text", "down", "up", "move", "wheel", "reload", "go_back", "go_forward"}
)
"""Calls on the page itself, its keyboard and its mouse, that do something and are not read."""
_DEEPEST = 4
MOST_STEPS = 500
"""The most statements of one test, including those of the methods it calls."""


def read_source(files: list[Path]) -> SuiteSource:
    """Return classes first, then the tests that use them. Raises `UnreadableSource`."""
    source, trees = read_classes(files)
    for file, tree in trees:
        for name, test in _tests(tree, file):
            reading = _StatementReader(source, name, file)
            given = [] if isinstance(test, ast.Module) else reading.given(test)
            steps = (*given, *reading.steps_of(test))
            if steps:
                about = (ast.get_docstring(test) or "").partition("\n")[0]
                source.tests.append(SuiteTest(name, file, about, steps))
    return source


def _tests(tree: ast.Module, file: Path) -> Iterator[tuple[str, FunctionNode | ast.Module]]:
    """Yield tests by name, and scripts that open a browser themselves by the name of their file."""
    scripts = 0
    for node in functions(tree):
        if node.name.startswith("test"):
            yield node.name, node
        elif calls(node) & _SCRIPTS and not is_fixture(node):
            scripts += 1
            yield (file.stem if scripts == 1 else f"{file.stem}_{node.name}"), node
    loose = [
        node for node in tree.body if isinstance(node, ast.With | ast.AsyncWith) and calls(node) & _SCRIPTS
    ]
    if loose:
        yield (file.stem if not scripts else f"{file.stem}_script"), ast.Module([*loose], [])


class _StatementReader:
    """One test, or one page object method, statement by statement."""

    def __init__(
        self,
        source: SuiteSource,
        name: str,
        file: Path,
        own: SuitePageClass | None = None,
        values: Mapping[str, JsonValue] | None = None,
        outer: _StatementReader | None = None,
    ) -> None:
        self._source, self._name, self._file = source, name, file
        self.depth: int = 0 if outer is None else outer.depth + 1
        self.count: list[int] = [0] if outer is None else outer.count
        """The statements read so far, including those of called methods."""
        self._names: dict[str, Expression] = {} if own is None else source.elements(own)
        self._objects: dict[str, SuitePageClass] = {} if own is None else {"self": own}
        self._values: dict[str, JsonValue] = dict(values or {})
        known = source.texts if own is None else source.texts_of(own)
        passed = {name: value for name, value in self._values.items() if isinstance(value, str)}
        self._texts: dict[str, str] = {**known, **passed}
        self._called: dict[str, str] = {}
        """Parameter -> what the caller calls the element that it passes."""
        self._method: FunctionNode | None = None
        """The page object method that is read."""

    def given(self, function: FunctionNode) -> list[SuiteStep]:
        """Return a test's arguments: page objects by class, name or fixture, else pages; with the fixtures'
        steps.
        """
        steps: list[SuiteStep] = []
        called = {make_local_id(name, "page"): own for name, own in self._source.classes.items()}
        for given in (*function.args.args, *function.args.kwonlyargs):
            annotation = given.annotation
            own = self._source.classes.get(annotation.id) if isinstance(annotation, ast.Name) else None
            fixture = self._source.fixtures.get(given.arg)
            if fixture is not None and self.depth < _DEEPEST:
                inner = _StatementReader(self._source, fixture.name, self._file, outer=self)
                steps += [*inner.given(fixture), *inner.steps_of(fixture)]
                own = own or inner.made(fixture)
            own = own or called.get(make_local_id(given.arg, "page"))
            if own is not None:
                self._objects[given.arg] = own
            elif given.arg != "self":
                self._names[given.arg] = ()
        return steps

    def made(self, fixture: FunctionNode) -> SuitePageClass | None:
        """Return the page object that a fixture returns or yields."""
        ends = (
            node.value
            for node in ast.walk(fixture)
            if isinstance(node, ast.Return | ast.Yield) and node.value
        )
        return next((own for each in ends if (own := self._object(each)) is not None), None)

    def steps_of(self, function: FunctionNode | ast.Module) -> Iterator[SuiteStep]:
        """Return the steps in order. Branches and loops are left out and reported."""
        for statement in self._statements(function.body):
            self.count[0] += 1
            if self.count[0] > MOST_STEPS:
                self._note(statement, f"what comes after {MOST_STEPS} statements")
                return
            yield from self._statement(statement)

    def _statements(self, body: list[ast.stmt]) -> Iterator[ast.stmt]:
        for statement in body:
            if isinstance(statement, ast.With | ast.AsyncWith):
                yield from self._statements(statement.body)
            elif isinstance(statement, ast.Try):
                yield from self._statements([*statement.body, *statement.finalbody])
            elif isinstance(statement, ast.If | ast.For | ast.While | ast.AsyncFor):
                if _does_something(statement):
                    self._note(statement, "a branch or loop")
            else:
                yield statement

    def _statement(self, statement: ast.stmt) -> Iterator[SuiteStep]:
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
        elif isinstance(value, ast.Call) and calls(value) & {"new_page"}:
            self._names[name] = ()
        elif isinstance(value, ast.Constant):
            self._values[name] = argument(value, self._texts)

    def _done(self, node: ast.expr) -> Iterator[SuiteStep]:
        """Yield the steps of an expression: `page.goto(...)`, `x.click()`, `login.sign_in("me")`, chains of
        them.
        """
        if isinstance(node, ast.Await):
            yield from self._done(node.value)
            return
        if not isinstance(node, ast.Call) or not isinstance(node.func, ast.Attribute):
            return
        receiver, name = node.func.value, node.func.attr
        own = self._object(receiver)
        above = self._method if _is_super(receiver) else None
        method = None if own is None else self._source.method(own, name, above=above)
        if own is not None and method is not None:
            yield from self._done(receiver)
            yield from self._inlined(own, method, node)
        elif name == "goto":
            opened = address(node, self._texts)
            if opened is None:
                self._note(node, "a computed address")
            else:
                yield SuiteStep("goto", value=opened, line=node.lineno)
        elif name in _NOT_READ and isinstance(receiver, ast.Attribute | ast.Name) and self._drives(receiver):
            self._note(node, f"`{ast.unparse(node.func)}`")
        elif name in ACTIONS:
            yield from self._action(ACTIONS[name], receiver, node)

    def _action(self, action: str, receiver: ast.expr, call: ast.Call) -> Iterator[SuiteStep]:
        expression = self._locator(receiver)
        arguments = list(call.args)
        name = self._element_name(receiver)
        if expression == () and arguments:  # `page.click("#go")`, `page.fill("#x", "y")`
            name = self._element_name(arguments[0])
            expression = (
                link("locator", ast.Call(func=call.func, args=[arguments.pop(0)], keywords=[]), self._texts),
            )
        if not expression:
            self._note(call, "a computed element")
            return
        value: JsonValue = self._value(arguments[0]) if arguments else None
        if value is None and action == "select_option":
            value = next((self._value(each.value) for each in call.keywords), None)
        yield SuiteStep(action, expression, value, name, call.lineno)

    def _inlined(self, own: SuitePageClass, method: FunctionNode, call: ast.Call) -> Iterator[SuiteStep]:
        """Yield the steps of a page object's method with its arguments."""
        if self.depth >= _DEEPEST:
            self._note(call, "methods within methods")
            return
        names = [each.arg for each in method.args.args][1:]
        values = {name: self._value(each) for name, each in zip(names, call.args, strict=False)}
        values |= {each.arg: self._value(each.value) for each in call.keywords if each.arg}
        inner = _StatementReader(self._source, self._name, own.file, own, values, outer=self)
        given = {
            **dict(zip(names, call.args, strict=False)),
            **{each.arg: each.value for each in call.keywords if each.arg},
        }
        for parameter, node in given.items():
            inner.pass_element(parameter, self._locator(node), self._element_name(node))
        inner.read_method(method)
        yield from inner.steps_of(method)

    def pass_element(self, parameter: str, expression: Expression | None, name: str) -> None:
        """Bind a parameter to the element that the caller passes, and to what it calls it there."""
        if expression:
            self._names[parameter] = expression
        if name:
            self._called[parameter] = name

    def read_method(self, method: FunctionNode) -> None:
        """Say which method is read: `super()` in it means its bases."""
        self._method = method

    def _element_name(self, node: ast.expr) -> str:
        """Return what the source calls an element: an attribute, a constant, or what the caller passed."""
        match node:
            case ast.Attribute(value=inner, attr=name):
                return self._element_name(inner) if name in PLACES else "" if name in PAGE_NAMES else name
            case ast.Name(id=name):
                return self._called.get(name, "" if name in PAGE_NAMES or name in self._values else name)
            case ast.Call(func=ast.Attribute(attr="locator"), args=[ast.Name() | ast.Attribute() as only]):
                return self._element_name(only)
        return ""

    def _drives(self, node: ast.expr) -> bool:
        """Return whether an expression is a page, or its mouse or keyboard."""
        inner = node.value if isinstance(node, ast.Attribute) and node.attr in ("keyboard", "mouse") else node
        return self._locator(inner) == ()

    def _object(self, node: ast.expr) -> SuitePageClass | None:  # noqa: PLR0911 - one for each kind of expression
        """Return the page object of an expression, as far as the source shows it."""
        match node:
            case ast.Await(value=inner):
                return self._object(inner)
            case ast.Name(id="super") | ast.Call(func=ast.Name(id="super")):
                return self._objects.get("self")
            case ast.Name(id=name):
                return self._objects.get(name)
            case ast.Call(func=ast.Name(id=name)):
                return self._source.classes.get(name)
            case ast.Attribute(value=inner, attr=name):
                own = self._object(inner)
                return None if own is None else self._source.part(own, name)
            case ast.Call(func=ast.Attribute(value=inner, attr=name)):
                own = self._object(inner)
                method = None if own is None else self._source.method(own, name)
                return (
                    None if own is None or method is None else find_returned_page(self._source, own, method)
                )
        return None

    def _locator(self, node: ast.expr) -> Expression | None:
        match node:
            case ast.Attribute(value=inner, attr=name):
                own = self._object(inner)
                found = None if own is None else self._source.elements(own).get(name)
                if found is not None:
                    return found
        return locator(node, self._names, self._texts)

    def _value(self, node: ast.expr) -> JsonValue:
        if isinstance(node, ast.Name) and node.id in self._values:
            return self._values[node.id]
        return argument(node, self._texts)

    def _note(self, node: ast.AST, what: str) -> None:
        line = getattr(node, "lineno", 0)
        note = f"{self._file.name}, line {line}, in {self._name}: {what} is left out"
        if note not in self._source.notes:
            self._source.notes.append(note)


def _is_super(node: ast.expr) -> bool:
    inner = node.func if isinstance(node, ast.Call) else node
    return isinstance(inner, ast.Name) and inner.id == "super"


def _does_something(statement: ast.stmt) -> bool:
    """Return whether the statement contains an action."""
    calls = (node.func for node in ast.walk(statement) if isinstance(node, ast.Call))
    return any(isinstance(each, ast.Attribute) and each.attr in {*ACTIONS, "goto"} for each in calls)


def find_returned_page(
    source: SuiteSource, own: SuitePageClass, method: FunctionNode
) -> SuitePageClass | None:
    """Return the page object a method ends with: by its annotation, or by what it returns."""
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


def steps_of_method(source: SuiteSource, own: SuitePageClass, name: str) -> list[SuiteStep]:
    """Return the steps of a page object's method with unknown parameters."""
    method = source.method(own, name)
    if method is None:
        return []
    return list(_StatementReader(source, f"{own.name}.{name}", own.file, own).steps_of(method))
