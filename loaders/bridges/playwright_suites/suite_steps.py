"""Reads what tests, scripts and page object methods do, statement by statement, without running them.

What depends on values that only running would give is left out and reported.
"""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path

from pydantic import JsonValue

from kb_schema.locator_expressions import Expression
from loaders.bridges.knowledge_drafts import make_local_id
from loaders.bridges.playwright_suites.suite_calls import (
    CHECKS,
    DEVICES,
    OPENS_TAB,
    OPPOSITES,
    expected_event,
    given_text,
    is_opened,
    is_super,
    names_element,
    needs_no_step,
    read_check,
    read_dialog_answer,
    root_name,
    with_options,
)
from loaders.bridges.playwright_suites.suite_source import (
    ACTIONS,
    LOCATORS,
    PAGE_NAMES,
    PLACES,
    SEVERAL,
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
from loaders.bridges.playwright_suites.suite_tabs import DOWNLOADED, DOWNLOADS, OPENED, OPENS, follow_tabs
from loaders.bridges.playwright_suites.typescript_parser import snake

_SCRIPTS = frozenset({"new_page", "sync_playwright", "async_playwright"})
"""Calls that open a browser, as in scripts of `playwright codegen`."""
_PAGES = re.compile(r"(?:page|context|popup|tab|request)\d*$|^i?frame\d*$", re.IGNORECASE)
"""What pages, page objects, and what else does something on a website are called."""
_ACTED_EVENTS = frozenset({"filechooser", "popup", "page"})
"""Events whose handlers do something in a run."""
_MAY_ASK = frozenset({"click", "double_click", "right_click", "press", "check", "uncheck", "select_option"})
_PLAIN = frozenset(
    {"print", "len", "str", "int", "float", "sleep", "range", "expect", "test", "input", "something"}
)
"""Functions that do nothing on a page."""
_DEEPEST = 4
MOST_STEPS = 500
"""The most statements of one test, including those of the methods it calls."""


def read_source(files: list[Path]) -> SuiteSource:
    """Return classes first, then the tests that use them. Raises `UnreadableSource`."""
    source, trees = read_classes(files)
    for file, tree in trees:
        found = [*_tests(tree, file)]
        # A script is a task of its own, so what calls it does not do its steps once more.
        own = {test.name for _, test in found if not isinstance(test, ast.Module)}
        for name, test in found:
            reading = _StatementReader(source, name, file)
            reading.common.tasks |= own
            given = [] if isinstance(test, ast.Module) else reading.given(test)
            steps, checks = follow_tabs([*given, *reading.steps_of(test)], reading.note_step)
            if steps:
                about = (ast.get_docstring(test) or "").partition("\n")[0]
                source.tests.append(SuiteTest(name, file, about, steps, checks))
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


@dataclass(slots=True)
class _CommonState:
    """What the readers of one test share."""

    count: int = 0
    """The statements read so far, including those of called methods."""
    tasks: set[str] = field(default_factory=set)
    """Functions that are tasks of their own."""
    answer: JsonValue = None
    """The answer to the next dialog."""
    answers_all: bool = False


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
        self.common: _CommonState = _CommonState() if outer is None else outer.common
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
        self._tabs: dict[str, str] = {}
        """Name of a page, of an element of it, or of what waits for it -> its tab."""
        self._tab = ""
        """The tab of pages that are not in `_tabs`."""
        self._local: dict[str, FunctionNode] = {}
        """Functions that are defined in the test."""

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
        yield from self._read(function.body)

    def _read(self, body: list[ast.stmt]) -> Iterator[SuiteStep]:
        for statement in body:
            if isinstance(statement, ast.With | ast.AsyncWith):
                yield from self._read(statement.body)
                yield from self._awaited(statement)
            elif isinstance(statement, ast.Try):
                yield from self._read([*statement.body, *statement.finalbody])
            elif isinstance(statement, ast.If | ast.For | ast.While | ast.AsyncFor):
                if self._does_something(statement):
                    self._note(statement, "a branch or loop")
            elif isinstance(statement, FunctionNode):
                self._local[statement.name] = statement
            else:
                self.common.count += 1
                if self.common.count == MOST_STEPS + 1:
                    self._note(statement, f"what comes after {MOST_STEPS} statements")
                if self.common.count > MOST_STEPS:
                    return
                yield from self._statement(statement)

    def _awaited(self, statement: ast.With | ast.AsyncWith) -> Iterator[SuiteStep]:
        """Yield what a block waits for: `with page.expect_popup() as info`."""
        for item in statement.items:
            event = expected_event(item.context_expr)
            name = item.optional_vars.id if isinstance(item.optional_vars, ast.Name) else "opened"
            if event in OPENS_TAB:
                self._tabs[name] = name
                yield SuiteStep(OPENED, name=name, line=statement.lineno)
            elif event == "download":
                yield SuiteStep(DOWNLOADED, name=name, line=statement.lineno)
            elif event == "file_chooser":
                self._note(statement, "a file that is chosen in a dialog of the browser")

    def _statement(self, statement: ast.stmt) -> Iterator[SuiteStep]:
        value = getattr(statement, "value", None)
        targets = (
            statement.targets if isinstance(statement, ast.Assign) else [getattr(statement, "target", None)]
        )
        if isinstance(statement, ast.Assign | ast.AnnAssign) and value is not None and len(targets) == 1:
            target = targets[0]
            event = expected_event(value)
            if isinstance(target, ast.Name) and event in OPENS_TAB:
                self._tabs[target.id], self._names[target.id] = target.id, ()
                yield SuiteStep(OPENS, name=target.id, line=statement.lineno)
                return
            if isinstance(target, ast.Name) and event == "download":
                yield SuiteStep(DOWNLOADS, name=target.id, line=statement.lineno)
                return
            yield from self._done(value)
            if isinstance(target, ast.Name):
                self._bind(target.id, value)
        elif isinstance(statement, ast.Expr | ast.Return) and value is not None:
            yield from self._done(value)
        elif isinstance(statement, ast.Assert):
            yield SuiteStep("check", name="assert", line=statement.lineno)

    def _tab_of(self, node: ast.expr) -> str:
        """Return the tab of a page or an element."""
        return self._tabs.get(root_name(node), self._tab)

    def _bind(self, name: str, value: ast.expr) -> None:
        made = self._object(value)
        call = value.value if isinstance(value, ast.Await) else value
        if made is not None:
            self._objects[name] = made
            given = (
                [*call.args, *(each.value for each in call.keywords)] if isinstance(call, ast.Call) else []
            )
            tabs = [self._tab_of(each) for each in given if self._locator(each) == ()]
            self._tabs[name] = tabs[0] if tabs else self._tab_of(value)
            return
        expression = self._locator(value)
        if expression:
            self._names[name], self._tabs[name] = expression, self._tab_of(value)
        elif isinstance(value, ast.Call | ast.Await) and calls(value) & {"new_page"}:
            self._names[name], self._tabs[name] = (), "" if name in PAGE_NAMES else name
        elif expression == () or (root_name(value) in self._tabs and is_opened(value)):
            self._names[name], self._tabs[name] = (), self._tab_of(value)
        elif isinstance(value, ast.Constant):
            self._values[name] = argument(value, self._texts)

    def _done(self, node: ast.expr) -> Iterator[SuiteStep]:  # noqa: PLR0912 - one for each kind of call
        """Yield the steps of an expression: `page.goto(...)`, `x.click()`, `login.sign_in("me")`, chains of
        them.
        """
        if isinstance(node, ast.Await):
            yield from self._done(node.value)
            return
        if not isinstance(node, ast.Call):
            return
        if isinstance(node.func, ast.Name):
            yield from self._function(node, node.func.id)
            return
        if not isinstance(node.func, ast.Attribute):
            return
        check = read_check(node, self._texts)
        if check is not None:
            yield self._check(node, *check)
            return
        receiver, name = node.func.value, node.func.attr
        own = self._object(receiver)
        above = self._method if is_super(receiver) else None
        method = None if own is None else self._source.method(own, name, above=above)
        event = expected_event(node)
        if own is not None and method is not None:
            yield from self._done(receiver)
            yield from self._inlined(own, method, node)
        elif name == "goto":
            opened = address(node, self._texts)
            if opened is None:
                self._note(node, "a computed address")
            else:
                yield SuiteStep("goto", value=opened, line=node.lineno, tab=self._tab_of(receiver))
        elif event in OPENS_TAB:
            yield SuiteStep(OPENS, name="opened", line=node.lineno)
        elif event == "download":
            yield SuiteStep(DOWNLOADS, name="download", line=node.lineno)
        elif name in ("on", "once") and given_text(node) == "dialog":
            self._answer(node, always=name == "on")
        elif name in ("on", "once") and given_text(node) in _ACTED_EVENTS:
            self._note(node, f"what is done at `{given_text(node)}`")
        elif self._drives(receiver) and not names_element(node, receiver):
            if name not in LOCATORS and not needs_no_step(node, name):
                self._note(node, f"`{ast.unparse(node.func)}`")
        elif snake(name) == "set_checked":
            ticks = argument(node.args[0], self._texts) if node.args else None
            if isinstance(ticks, bool):
                yield from self._action(
                    "check" if ticks else "uncheck",
                    receiver,
                    ast.copy_location(ast.Call(node.func, node.args[1:], node.keywords), node),
                )
            else:
                self._note(node, "a computed tick")
        elif name in ACTIONS:
            yield from self._action(ACTIONS[name], receiver, node)
        else:
            self._note_other(node, receiver, name)

    def _note_other(self, node: ast.Call, receiver: ast.expr, name: str) -> None:
        """Report a call that is no step of its own, if it may do something in a run."""
        if name == "new_context" and any(each.arg == "storage_state" for each in node.keywords):
            self._note(node, "the sign-in that the browser keeps in a file (`storage_state`)")
        elif not self._locator(receiver) and not self._concerns_a_page(receiver):
            self._note_hidden(node)
        elif name not in LOCATORS and not needs_no_step(node, name):
            self._note(node, f"`{name}`" if self._locator(receiver) else f"`{ast.unparse(node.func)[:60]}`")

    def _concerns_a_page(self, node: ast.expr) -> bool:
        """Return whether an expression is something of a page: `page.request`, `self.page.context`."""
        parts = [each.attr for each in ast.walk(node) if isinstance(each, ast.Attribute)]
        root = root_name(node)
        return bool(root in self._tabs or _PAGES.search(root) or PAGE_NAMES.intersection(parts))

    def _note_hidden(self, node: ast.Call) -> None:
        """Report actions among the arguments of a call that is not known."""
        given = (*node.args, *(each.value for each in node.keywords))
        for call in (each for part in given for each in ast.walk(part) if isinstance(each, ast.Call)):
            name = call.func.attr if isinstance(call.func, ast.Attribute) else ""
            on = call.func.value if isinstance(call.func, ast.Attribute) else None
            if on is not None and name in {*ACTIONS, "goto"} and self._locator(on) is not None:
                self._note(call, f"`{name}` in `{ast.unparse(node.func)[:60]}`")

    def _function(self, call: ast.Call, name: str) -> Iterator[SuiteStep]:
        """Yield the steps of a function of the source; report one that is elsewhere and gets the page."""
        known = self._local.get(name) or self._source.helpers.get(name)
        if name in self.common.tasks or name in _PLAIN or name in self._source.classes:
            return
        if known is not None and self.depth < _DEEPEST:
            yield from self._inlined(None, known, call)
        elif known is not None or any(
            self._locator(each) is not None for each in (*call.args, *(key.value for key in call.keywords))
        ):
            self._note(
                call,
                f"`{name}`, which is not in what was read," if known is None else "methods within methods",
            )
        else:
            self._note_hidden(call)

    def _answer(self, call: ast.Call, *, always: bool) -> None:
        """Take the answer of a handler of dialogs for the next step, or for all."""
        handler: ast.expr | ast.stmt | None = call.args[1] if len(call.args) > 1 else None
        if isinstance(handler, ast.Name):
            handler = self._local.get(handler.id) or self._source.helpers.get(handler.id)
        answer = None if handler is None else read_dialog_answer(handler, self._texts)
        if answer is None:
            self._note(call, "the answer to a dialog")
        else:
            self.common.answer, self.common.answers_all = answer, always

    def _check(self, call: ast.Call, subject: ast.expr, name: str, text: str, negated: bool) -> SuiteStep:
        """Return what `expect` asks; without a target and a name if it cannot be a condition."""
        kind: str | None = CHECKS.get(name)
        if negated:
            kind = OPPOSITES.get(kind or "")
        found = self._locator(subject)
        needs_element = kind not in ("title_contains", "url_contains")
        tab = self._tab_of(subject)
        if (
            kind is None
            or found is None
            or bool(found) != needs_element
            or (not text and kind not in OPPOSITES)
        ):
            return SuiteStep("check", line=call.lineno, tab=tab)
        return SuiteStep("check", found, text or None, kind, call.lineno, tab=tab)

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
        if value is None and action in ("fill", "append_text", "press", "select_option", "upload_file"):
            named = (each for each in call.keywords if each.arg in ("value", "text", "key", "label", "files"))
            value = next((self._value(each.value) for each in named), None)
        step = SuiteStep(action, expression, value, name, call.lineno, tab=self._tab_of(receiver))
        made = with_options(step, call, self._texts)
        if isinstance(made, str):
            self._note(call, made)
            return
        yield replace(made, on_dialog=self.common.answer) if action in _MAY_ASK else made
        if action in _MAY_ASK and not self.common.answers_all:
            self.common.answer = None

    def _inlined(
        self, own: SuitePageClass | None, method: FunctionNode, call: ast.Call
    ) -> Iterator[SuiteStep]:
        """Yield the steps of a page object's method, or of a function, with its arguments."""
        if self.depth >= _DEEPEST:
            self._note(call, "methods within methods")
            return
        names = [each.arg for each in method.args.args][0 if own is None else 1 :]
        values = {name: self._value(each) for name, each in zip(names, call.args, strict=False)}
        values |= {each.arg: self._value(each.value) for each in call.keywords if each.arg}
        file = self._file if own is None else own.file
        inner = _StatementReader(self._source, self._name, file, own, values, outer=self)
        given = {
            **dict(zip(names, call.args, strict=False)),
            **{each.arg: each.value for each in call.keywords if each.arg},
        }
        for parameter, node in given.items():
            inner.pass_element(parameter, self._locator(node), self._element_name(node), self._tab_of(node))
            if (passed := self._object(node)) is not None:
                inner.pass_object(parameter, passed)
        if own is not None:
            inner.read_method(method, self._tab_of(call.func))
        for step in inner.steps_of(method):
            yield step if step.file else replace(step, file=file.name)

    def pass_object(self, parameter: str, own: SuitePageClass) -> None:
        """Bind a parameter to the page object that the caller passes."""
        self._objects[parameter] = own

    def pass_element(self, parameter: str, expression: Expression | None, name: str, tab: str) -> None:
        """Bind a parameter to the page or element that the caller passes, its tab, and what it calls it there."""
        if expression is not None:
            self._names[parameter], self._tabs[parameter] = expression, tab
        if name:
            self._called[parameter] = name

    def read_method(self, method: FunctionNode, tab: str) -> None:
        """Say which method is read, so that `super()` in it means its bases, and in which tab its page is."""
        self._method, self._tab = method, tab

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
        inner = node.value if isinstance(node, ast.Attribute) and node.attr in DEVICES else node
        root = root_name(inner)
        return self._locator(inner) == () and bool(
            root in self._tabs or root == "self" or _PAGES.search(root)
        )

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
        if isinstance(node, ast.List | ast.Tuple) and all(
            isinstance(each, ast.Constant) for each in node.elts
        ):
            return {SEVERAL: [argument(each, self._texts) for each in node.elts]}
        return argument(node, self._texts)

    def _does_something(self, statement: ast.stmt) -> bool:
        """Return whether the statement contains an action, or calls what may contain one."""
        called = [node.func for node in ast.walk(statement) if isinstance(node, ast.Call)]
        names = {*ACTIONS, "goto", *(name for own in self._source.classes.values() for name in own.methods)}
        helpers = self._source.helpers.keys() | self._local.keys()
        return any(
            each.attr in names
            if isinstance(each, ast.Attribute)
            else isinstance(each, ast.Name) and each.id in helpers
            for each in called
        )

    def _note(self, node: ast.AST, what: str) -> None:
        self.note_line(getattr(node, "lineno", 0), f"{what} is left out")

    def note_step(self, step: SuiteStep, told: str) -> None:
        """Report something of a step."""
        self.note_line(step.line, told, step.file)

    def note_line(self, line: int, told: str, file: str = "") -> None:
        """Report something of a line of this file, or of another one."""
        note = f"{file or self._file.name}, line {line}, in {self._name}: {told}"
        if note not in self._source.notes:
            self._source.notes.append(note)


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
    steps = [*_StatementReader(source, f"{own.name}.{name}", own.file, own).steps_of(method)]
    return [*follow_tabs(steps, lambda _step, _told: None)[0]]
