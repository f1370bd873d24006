"""What tests, scripts and methods of page objects do, statement by statement, read as text.

What depends on values that only running would tell is left out, and said.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator, Mapping
from pathlib import Path

from pydantic import JsonValue

from kb_schema.playwright_calls import Expression
from loaders.bridges.imported import local_id
from loaders.bridges.playwright_source import (
    ACTIONS,
    PLACES,
    Function,
    PageClass,
    Source,
    Step,
    Test,
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
"""What is called where a browser is opened, as scripts of `playwright codegen` do."""
_DEEPEST = 4
MOST_STEPS = 500
"""Statements of one test, those of the methods it calls among them."""


def read_source(files: list[Path]) -> Source:
    """Classes first, then tests, which use them. Raises `Unreadable`."""
    source, trees = read_classes(files)
    for file, tree in trees:
        for name, test in _tests(tree, file):
            reading = _Reading(source, name, file)
            given = [] if isinstance(test, ast.Module) else reading.given(test)
            steps = (*given, *reading.steps_of(test))
            if steps:
                about = (ast.get_docstring(test) or "").partition("\n")[0]
                source.tests.append(Test(name, file, about, steps))
    return source


def _tests(tree: ast.Module, file: Path) -> Iterator[tuple[str, Function | ast.Module]]:
    """Tests by name; and scripts that open a browser themselves, by the name of their file."""
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


class _Reading:
    """One test, or one method of a page object, statement by statement."""

    def __init__(
        self,
        source: Source,
        name: str,
        file: Path,
        own: PageClass | None = None,
        values: Mapping[str, JsonValue] | None = None,
        outer: _Reading | None = None,
    ) -> None:
        self._source, self._name, self._file = source, name, file
        self.depth: int = 0 if outer is None else outer.depth + 1
        self.count: list[int] = [0] if outer is None else outer.count
        """Statements read so far, together with those of the methods that are called."""
        self._names: dict[str, Expression] = {} if own is None else source.elements(own)
        self._objects: dict[str, PageClass] = {} if own is None else {"self": own}
        self._values: dict[str, JsonValue] = dict(values or {})
        self._texts: dict[str, str] = source.texts if own is None else source.texts_of(own)

    def given(self, function: Function) -> list[Step]:
        """What a test is given: page objects by their class, their name or a fixture, else pages. The steps are
        what the fixtures do.
        """
        steps: list[Step] = []
        called = {local_id(name, "page"): own for name, own in self._source.classes.items()}
        for given in (*function.args.args, *function.args.kwonlyargs):
            said = given.annotation
            own = self._source.classes.get(said.id) if isinstance(said, ast.Name) else None
            fixture = self._source.fixtures.get(given.arg)
            if fixture is not None and self.depth < _DEEPEST:
                inner = _Reading(self._source, fixture.name, self._file, outer=self)
                steps += [*inner.given(fixture), *inner.steps_of(fixture)]
                own = own or inner.made(fixture)
            own = own or called.get(local_id(given.arg, "page"))
            if own is not None:
                self._objects[given.arg] = own
            elif given.arg != "self":
                self._names[given.arg] = ()
        return steps

    def made(self, fixture: Function) -> PageClass | None:
        """The page object that a fixture returns or yields."""
        ends = (
            node.value
            for node in ast.walk(fixture)
            if isinstance(node, ast.Return | ast.Yield) and node.value
        )
        return next((own for each in ends if (own := self._object(each)) is not None), None)

    def steps_of(self, function: Function | ast.Module) -> Iterator[Step]:
        """What it does, in order. Branches are not taken, loops not turned; both are said."""
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
        elif isinstance(value, ast.Call) and calls(value) & {"new_page"}:
            self._names[name] = ()
        elif isinstance(value, ast.Constant):
            self._values[name] = argument(value, self._texts)

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
            opened = address(node, self._texts)
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
            expression = (
                link("locator", ast.Call(func=call.func, args=[arguments.pop(0)], keywords=[]), self._texts),
            )
        if not expression:
            self._note(call, "an element that only running would tell")
            return
        value: JsonValue = self._value(arguments[0]) if arguments else None
        if value is None and action == "select_option":
            value = next((self._value(each.value) for each in call.keywords), None)
        name = receiver.attr if isinstance(receiver, ast.Attribute) and receiver.attr not in PLACES else ""
        yield Step(action, expression, value, name, call.lineno)

    def _inlined(self, own: PageClass, method: Function, call: ast.Call) -> Iterator[Step]:
        """A method of a page object as what it does, with what it is given."""
        if self.depth >= _DEEPEST:
            self._note(call, "methods within methods")
            return
        names = [each.arg for each in method.args.args][1:]
        values = {name: self._value(each) for name, each in zip(names, call.args, strict=False)}
        values |= {each.arg: self._value(each.value) for each in call.keywords if each.arg}
        inner = _Reading(self._source, self._name, own.file, own, values, outer=self)
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
            case ast.Attribute(value=inner, attr=name):
                own = self._object(inner)
                return None if own is None else self._source.part(own, name)
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


def _does_something(statement: ast.stmt) -> bool:
    """Whether there is an action anywhere in it."""
    calls = (node.func for node in ast.walk(statement) if isinstance(node, ast.Call))
    return any(isinstance(each, ast.Attribute) and each.attr in {*ACTIONS, "goto"} for each in calls)


def returned(source: Source, own: PageClass, method: Function) -> PageClass | None:
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
