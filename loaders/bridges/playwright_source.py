"""Playwright's Python read as text: classes, their locators, fixtures and constants.

Files are parsed, never run or imported. Not here: what methods and tests do (`playwright_steps`), and making
knowledge of it (`playwright_import`).
"""

from __future__ import annotations

import ast
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path

from pydantic import JsonValue

from kb_schema.playwright_calls import Expression, LocatorLink
from loaders.bridges import typescript
from loaders.bridges.imported import Unreadable, read_bytes
from loaders.bridges.playwright_texts import Texts, address_of, text_of, texts_in

LOCATORS = frozenset({
    "get_by_role", "get_by_label", "get_by_placeholder", "get_by_test_id", "get_by_text", "get_by_title",
    "get_by_alt_text", "locator", "frame_locator", "filter", "nth", "and_", "or_",
})  # fmt: skip
PLACES = frozenset({"first", "last", "content_frame"})
ACTIONS: Mapping[str, str] = {
    "click": "click", "dblclick": "double_click", "hover": "hover", "focus": "focus", "fill": "fill",
    "type": "append_text", "press_sequentially": "append_text", "press": "press", "clear": "clear",
    "check": "check", "uncheck": "uncheck", "select_option": "select_option", "set_input_files": "upload_file",
    "tap": "click",
}  # fmt: skip
"""Playwright's word -> ours."""
_PAGES = frozenset({"page", "_page"})
_ADDRESSES = frozenset({"url", "path", "route", "page_url", "page_path"})
_MOST_BASES = 20
MOST_NODES = 500_000

Function = ast.FunctionDef | ast.AsyncFunctionDef


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
    methods: dict[str, Function] = field(default_factory=dict)
    parts: dict[str, str] = field(default_factory=dict)
    """Attribute -> class of a page object within this one."""
    texts: dict[str, str] = field(default_factory=dict)
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
    fixtures: dict[str, Function] = field(default_factory=dict)
    texts: dict[str, str] = field(default_factory=dict)
    """Constants of all modules."""
    tests: list[Test] = field(default_factory=list)
    notes: list[str] = field(default_factory=list)

    def line(self, own: PageClass) -> list[PageClass]:
        """The class and what it inherits from, each once, the nearest first."""
        found = [own]
        for each in found:  # grows while it is walked
            bases = (self.classes[base] for base in each.bases if base in self.classes)
            found += [base for base in bases if base not in found][: _MOST_BASES - len(found)]
        return found

    def elements(self, own: PageClass) -> dict[str, Expression]:
        """A class's elements and those of what it inherits from."""
        found: dict[str, Expression] = {}
        for each in reversed(self.line(own)):
            found |= each.elements
        return found

    def all_elements(self, own: PageClass) -> dict[str, tuple[PageClass, Expression]]:
        """The same with those of the page objects within it, as `header.search`; and whose they are."""
        found = {name: (own, each) for name, each in self.elements(own).items()}
        for name in {name: None for each in self.line(own) for name in each.parts}:
            part = self.part(own, name)
            if part is not None and part is not own:
                found |= {f"{name}.{inner}": (part, each) for inner, each in self.elements(part).items()}
        return found

    def texts_of(self, own: PageClass) -> dict[str, str]:
        """Constants that a class can see."""
        found = dict(self.texts)
        for each in reversed(self.line(own)):
            found |= each.texts
        return found

    def part(self, own: PageClass, name: str) -> PageClass | None:
        """A page object within another."""
        named = (each.parts[name] for each in self.line(own) if name in each.parts)
        return self.classes.get(next(named, ""))

    def method(self, own: PageClass, name: str) -> Function | None:
        """A method of a class or of what it inherits from."""
        return next((each.methods[name] for each in self.line(own) if name in each.methods), None)


def read_classes(files: list[Path]) -> tuple[Source, list[tuple[Path, ast.Module]]]:
    """The classes, fixtures and constants of all files, and the files. Raises `Unreadable`."""
    trees = [(file, _parsed(file)) for file in files]
    source = Source()
    for _, tree in trees:
        source.texts = texts_in(tree.body, source.texts) | source.texts
    for _ in range(2):  # what a class inherits may stand in a later file
        for file, tree in trees:
            for node in tree.body:
                if isinstance(node, ast.ClassDef) and (found := _page_class(node, file, source)) is not None:
                    known = source.classes.get(found.name)
                    if known is None or known.file == file:
                        source.classes[found.name] = found
    for _, tree in trees:
        source.fixtures |= {each.name: each for each in functions(tree) if is_fixture(each)}
    return source, trees


def _parsed(file: Path) -> ast.Module:
    raw = read_bytes(file)
    try:
        if file.suffix != ".py":
            tree = typescript.parse(raw.decode("utf-8-sig"))
        else:
            tree = ast.parse(raw, filename=file.name)
        too_many = sum(1 for _ in ast.walk(tree)) > MOST_NODES
    except SyntaxError as exc:
        raise Unreadable(file, f"is not Python: {exc.msg}", f"line {exc.lineno or 1}") from exc
    except typescript.NoTypeScript as exc:
        raise Unreadable(file, "is no TypeScript that can be read", f"line {exc.line}") from exc
    except (ValueError, RecursionError, MemoryError) as exc:
        language = "Python" if file.suffix == ".py" else "TypeScript"
        raise Unreadable(file, f"is no {language} that can be read") from exc
    if too_many:
        raise Unreadable(file, "is too large")
    return tree


def functions(tree: ast.Module) -> Iterator[Function]:
    """Those of the module and of its classes."""
    inner = (each for node in tree.body if isinstance(node, ast.ClassDef) for each in node.body)
    for node in (*tree.body, *inner):
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
            yield node


def calls(tree: ast.AST) -> set[str]:
    """What is called anywhere in it, by its plain name."""
    calls = [node.func for node in ast.walk(tree) if isinstance(node, ast.Call)]
    return {
        each.attr if isinstance(each, ast.Attribute) else each.id
        for each in calls if isinstance(each, ast.Attribute | ast.Name)
    }  # fmt: skip


def is_fixture(function: Function) -> bool:
    """Whether pytest gives what it returns to tests."""
    names = (each.func if isinstance(each, ast.Call) else each for each in function.decorator_list)
    return any(
        (each.attr if isinstance(each, ast.Attribute) else getattr(each, "id", "")).endswith("fixture")
        for each in names
    )


# -- classes -------------------------------------------------------------------------------------------


def _page_class(node: ast.ClassDef, file: Path, source: Source) -> PageClass | None:
    """A class that has locators or an address; None for any other."""
    bases = tuple(each.id for each in node.bases if isinstance(each, ast.Name))
    own = PageClass(node.name, file, bases, about=(ast.get_docstring(node) or "").partition("\n")[0])
    own.texts = texts_in(node.body, source.texts, "self", "cls", node.name)
    known = source.texts_of(own)
    for each in node.body:
        if isinstance(each, ast.FunctionDef | ast.AsyncFunctionDef):
            _take_method(own, each, source)
        elif isinstance(each, ast.Assign | ast.AnnAssign) and each.value is not None:
            targets = each.targets if isinstance(each, ast.Assign) else [each.target]
            names = {target.id.lower() for target in targets if isinstance(target, ast.Name)}
            if names & _ADDRESSES:
                own.address = address_of(each.value, known) or own.address
    holds_tests = any(name.startswith("test") for name in own.methods)
    return own if not holds_tests and (own.elements or own.address or bases or own.methods) else None


def _take_method(own: PageClass, method: Function, source: Source) -> None:
    known, texts = source.elements(own), source.texts_of(own)
    for given in method.args.args:
        if isinstance(given.annotation, ast.Name) and given.annotation.id == "Page":
            known[given.arg] = ()
    if method.name == "__init__":
        for node in ast.walk(method):
            if isinstance(node, ast.Assign | ast.AnnAssign) and node.value is not None:
                targets = node.targets if isinstance(node, ast.Assign) else [node.target]
                target = targets[0]
                if isinstance(target, ast.Attribute) and _is_self(target.value):
                    _take_attribute(own, target.attr, node.value, known | own.elements, texts)
        return
    last = method.body[-1] if method.body else None
    if isinstance(last, ast.Return) and last.value is not None and len(method.args.args) <= 1:
        expression = locator(last.value, known, texts)
        if expression and len([each for each in method.body if not _is_docstring(each)]) == 1:
            own.elements[method.name] = expression
            return
    own.methods[method.name] = method
    if own.address is None:
        opened = (
            node for node in ast.walk(method)
            if isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute) and node.func.attr == "goto"
        )  # fmt: skip
        own.address = next((address(each, texts) for each in opened), None)


def _take_attribute(
    own: PageClass, name: str, value: ast.expr, known: Mapping[str, Expression], texts: Texts
) -> None:
    expression = locator(value, known, texts)
    if expression:
        own.elements[name] = expression
    elif isinstance(value, ast.Call) and isinstance(value.func, ast.Name) and value.args:
        own.parts[name] = value.func.id
    elif name.lower() in _ADDRESSES:
        own.address = address_of(value, texts) or own.address


def _is_self(node: ast.expr) -> bool:
    return isinstance(node, ast.Name) and node.id == "self"


def _is_docstring(node: ast.stmt) -> bool:
    return isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant)


def address(call: ast.Call, texts: Texts) -> str | None:
    """What `goto` opens: a text, or what is literal behind a base address."""
    named = (each.value for each in call.keywords if each.arg == "url")
    return address_of(next(iter(call.args), next(named, None)), texts)


# -- locators ------------------------------------------------------------------------------------------


def locator(node: ast.expr, known: Mapping[str, Expression], texts: Texts) -> Expression | None:
    """The chain of calls that makes a locator; None where it is none. `()`: the page itself."""
    match node:
        case ast.Await(value=inner):
            return locator(inner, known, texts)
        case ast.Name(id=name) | ast.Attribute(value=ast.Name(id="self"), attr=name):
            return () if name in _PAGES else known.get(name)
        case ast.Attribute(value=inner, attr=name) if name in PLACES:
            found = locator(inner, known, texts)
            return None if not found else (*found, LocatorLink(method=name))
        case ast.Call(func=ast.Attribute(value=inner, attr=name)) if name in LOCATORS:
            found = locator(inner, known, texts)
            return None if found is None else (*found, link(name, node, texts))
    return None


def link(method: str, call: ast.Call, texts: Texts) -> LocatorLink:
    """One call of a chain, with its arguments as far as they are literals."""
    keywords = {each.arg: argument(each.value, texts) for each in call.keywords if each.arg}
    arguments = tuple(argument(each, texts) for each in call.args)
    return LocatorLink(method=method, arguments=arguments, keywords=keywords)


def argument(node: ast.expr, texts: Texts) -> JsonValue:
    """A literal; what only running would tell is a list, which no selector takes for a text."""
    if isinstance(node, ast.Constant) and isinstance(node.value, str | int | float | bool | None):
        return node.value
    text = text_of(node, texts)
    if text is not None:
        return text
    compiled = (
        isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute) and node.func.attr == "compile"
    )
    if compiled and isinstance(node, ast.Call) and (pattern := text_of(next(iter(node.args), None), texts)):
        said = {each.attr for each in ast.walk(node) if isinstance(each, ast.Attribute)}
        return {"regex": pattern, "flags": "i" if said & {"I", "IGNORECASE"} else ""}
    return [ast.unparse(node)[:200]]
