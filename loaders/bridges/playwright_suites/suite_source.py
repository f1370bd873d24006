"""Parses Playwright's Python: classes, their locators, fixtures and constants.

Files are parsed, never run or imported. What methods and tests do is in `suite_steps`, making knowledge of it
in `suite_import`.
"""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path

from pydantic import JsonValue

from kb_schema.locator_expressions import Expression, LocatorLink
from loaders.bridges.knowledge_drafts import UnreadableSource, read_bytes
from loaders.bridges.playwright_suites import typescript_parser
from loaders.bridges.playwright_suites.suite_literals import KnownTexts, address_of, text_of, texts_in

LOCATORS = frozenset(
    {
        "get_by_role",
        "get_by_label",
        "get_by_placeholder",
        "get_by_test_id",
        "get_by_text",
        "get_by_title",
        "get_by_alt_text",
        "locator",
        "frame_locator",
        "filter",
        "nth",
        "and_",
        "or_",
    }
)
PLACES = frozenset({"first", "last", "content_frame"})
ACTIONS: Mapping[str, str] = {
    "click": "click",
    "dblclick": "double_click",
    "hover": "hover",
    "focus": "focus",
    "fill": "fill",
    "type": "append_text",
    "press_sequentially": "append_text",
    "press": "press",
    "clear": "clear",
    "check": "check",
    "uncheck": "uncheck",
    "select_option": "select_option",
    "set_input_files": "upload_file",
    "tap": "click",
}
"""Playwright's method -> our action type."""
PAGE_NAMES = frozenset({"page", "_page"})
_ADDRESSES = frozenset({"url", "path", "route", "page_url", "page_path"})
_SELECTOR = re.compile(r"#[\w-]|\.[A-Za-z_]|\(*//|\[[\w-]+|(?:css|xpath)=|[a-z]+[0-9]?(?:\[|\.[a-z]|#)")
"""The beginning of a constant that is a selector."""
_FOREIGN = re.compile(
    rb"""(?:from|import|require\()\s*["']?(?:selenium|puppeteer)|from\s+["'](?:selenium|puppeteer)|uppeteer\.Locator"""
)
_TOOLS = {
    "puppeteer": ("Puppeteer", "export the recording of Chrome's DevTools as JSON, for `periplus import`"),
    "selenium": ("Selenium", "save the recording of Selenium IDE as .side, for `periplus import`"),
}
_MOST_BASES = 20
MOST_NODES = 500_000
SEVERAL = "several"
"""The key of a value that is a literal list."""

FunctionNode = ast.FunctionDef | ast.AsyncFunctionDef


@dataclass(frozen=True, slots=True)
class SuiteStep:
    """One action: `goto` with an address, an action on a locator, or a `check` with a type of condition as its name."""

    action: str
    target: Expression = ()
    value: JsonValue = None
    name: str = ""
    """The name of the element in the source, if it has one: of an attribute, a constant, or as a helper gets it."""
    line: int = 0
    file: str = ""
    """The name of its file, if that is not the test's."""
    tab: str = ""
    """The tab in which it is done, by the name of its page; the first one: an empty text."""
    modifiers: tuple[str, ...] = ()
    new_tab: str | None = None
    """`follow` or `close`, if the step opens a tab."""
    on_dialog: JsonValue = None
    download: str | None = None
    """The variable of the file that the step downloads."""


@dataclass(slots=True)
class SuitePageClass:
    """A page object."""

    name: str
    file: Path
    bases: tuple[str, ...] = ()
    address: str | None = None
    elements: dict[str, Expression] = field(default_factory=dict)
    methods: dict[str, FunctionNode] = field(default_factory=dict)
    parts: dict[str, str] = field(default_factory=dict)
    """Attribute -> class of a nested page object."""
    texts: dict[str, str] = field(default_factory=dict)
    about: str = ""


@dataclass(frozen=True, slots=True)
class SuiteTest:
    """A test and its actions."""

    name: str
    file: Path
    about: str
    steps: tuple[SuiteStep, ...]
    checks: tuple[SuiteStep, ...] = ()
    """What is checked after the last action."""


@dataclass(slots=True)
class SuiteSource:
    """All files together."""

    classes: dict[str, SuitePageClass] = field(default_factory=dict)
    fixtures: dict[str, FunctionNode] = field(default_factory=dict)
    helpers: dict[str, FunctionNode] = field(default_factory=dict)
    """Functions of modules that are neither tests nor fixtures."""
    texts: dict[str, str] = field(default_factory=dict)
    """The constants of all modules."""
    tests: list[SuiteTest] = field(default_factory=list)
    notes: list[str] = field(default_factory=list)

    def line(self, own: SuitePageClass) -> list[SuitePageClass]:
        """Return the class and its bases, each once, the nearest first."""
        found = [own]
        for each in found:  # grows during the iteration
            bases = (self.classes[base] for base in each.bases if base in self.classes)
            found += [base for base in bases if base not in found][: _MOST_BASES - len(found)]
        return found

    def elements(self, own: SuitePageClass) -> dict[str, Expression]:
        """Return a class's elements and those of its bases."""
        found: dict[str, Expression] = {}
        for each in reversed(self.line(own)):
            found |= each.elements
        return found

    def all_elements(self, own: SuitePageClass) -> dict[str, tuple[SuitePageClass, Expression]]:
        """Return the same with those of nested page objects, as `header.search`, and their owners."""
        found = {name: (own, each) for name, each in self.elements(own).items()}
        for name in {name: None for each in self.line(own) for name in each.parts}:
            part = self.part(own, name)
            if part is not None and part is not own:
                found |= {f"{name}.{inner}": (part, each) for inner, each in self.elements(part).items()}
        return found

    def texts_of(self, own: SuitePageClass) -> dict[str, str]:
        """Return the constants that a class can see."""
        found = dict(self.texts)
        for each in reversed(self.line(own)):
            found |= each.texts
        return found

    def part(self, own: SuitePageClass, name: str) -> SuitePageClass | None:
        """Return a nested page object."""
        named = (each.parts[name] for each in self.line(own) if name in each.parts)
        return self.classes.get(next(named, ""))

    def method(
        self, own: SuitePageClass, name: str, *, above: FunctionNode | None = None
    ) -> FunctionNode | None:
        """Return a method of a class or of its bases; with `above`, the one that this method overrides."""
        found = [each.methods[name] for each in self.line(own) if name in each.methods]
        if above in found:
            found = found[found.index(above) + 1 :]
        return found[0] if found else None


def read_classes(files: list[Path]) -> tuple[SuiteSource, list[tuple[Path, ast.Module]]]:
    """Return the classes, fixtures and constants of all files, and the files that can be read.

    A file that cannot be read is a note. Raises `UnreadableSource` if none can.
    """
    source, trees = SuiteSource(), list[tuple[Path, ast.Module]]()
    for file in files:
        try:
            trees.append((file, _parsed(file)))
        except UnreadableSource as exc:
            if len(files) == 1:
                raise
            source.notes.append(f"left out: {exc}")
    if not trees:
        raise UnreadableSource(files[0].parent, f"has no file that can be read; {source.notes[0]}")
    for _, tree in trees:
        source.texts = texts_in(tree.body, source.texts) | source.texts
    for _ in range(2):  # a base class may be in a later file
        for file, tree in trees:
            for node in tree.body:
                if isinstance(node, ast.ClassDef) and (found := _page_class(node, file, source)) is not None:
                    known = source.classes.get(found.name)
                    if known is None or known.file == file:
                        source.classes[found.name] = found
    for _, tree in trees:
        source.fixtures |= {each.name: each for each in functions(tree) if is_fixture(each)}
        plain = [each for each in tree.body if isinstance(each, FunctionNode) and not is_fixture(each)]
        source.helpers |= {each.name: each for each in plain if not each.name.startswith("test")}
    return source, trees


def foreign_tool(raw: bytes) -> tuple[str, str] | None:
    """Return the tool whose code a source is and what to do with it, if it is not Playwright's; else None."""
    found = None if re.search(rb"[\"'\s]@?playwright[\"'/.\s]", raw) else _FOREIGN.search(raw)
    return None if found is None else _TOOLS["puppeteer" if b"uppeteer" in found[0] else "selenium"]


def _parsed(file: Path) -> ast.Module:
    raw = read_bytes(file)
    if (tool := foreign_tool(raw)) is not None:
        raise UnreadableSource(file, f"is code of {tool[0]}, which is not read: {tool[1]}")
    try:
        if file.suffix != ".py":
            tree = typescript_parser.parse(raw.decode("utf-8-sig"))
        else:
            tree = ast.parse(raw, filename=file.name)
        too_many = sum(1 for _ in ast.walk(tree)) > MOST_NODES
    except SyntaxError as exc:
        raise UnreadableSource(file, f"is not Python: {exc.msg}", f"line {exc.lineno or 1}") from exc
    except typescript_parser.UnreadableTypeScript as exc:
        raise UnreadableSource(file, "is not readable TypeScript", f"line {exc.line}") from exc
    except (ValueError, RecursionError, MemoryError) as exc:
        language = "Python" if file.suffix == ".py" else "TypeScript"
        raise UnreadableSource(file, f"is no {language} that can be read") from exc
    if too_many:
        raise UnreadableSource(file, "is too large")
    return tree


def functions(tree: ast.Module) -> Iterator[FunctionNode]:
    """Yield the functions of the module and of its classes."""
    inner = (each for node in tree.body if isinstance(node, ast.ClassDef) for each in node.body)
    for node in (*tree.body, *inner):
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
            yield node


def calls(tree: ast.AST) -> set[str]:
    """Return the plain names of everything that is called."""
    calls = [node.func for node in ast.walk(tree) if isinstance(node, ast.Call)]
    return {
        each.attr if isinstance(each, ast.Attribute) else each.id
        for each in calls
        if isinstance(each, ast.Attribute | ast.Name)
    }


def is_fixture(function: FunctionNode) -> bool:
    """Return whether pytest passes its result to tests."""
    names = (each.func if isinstance(each, ast.Call) else each for each in function.decorator_list)
    return any(
        (each.attr if isinstance(each, ast.Attribute) else getattr(each, "id", "")).endswith("fixture")
        for each in names
    )


# -- classes -------------------------------------------------------------------------------------------


def _page_class(node: ast.ClassDef, file: Path, source: SuiteSource) -> SuitePageClass | None:
    """Return a class with locators or an address; None for any other."""
    bases = tuple(each.id for each in node.bases if isinstance(each, ast.Name))
    own = SuitePageClass(node.name, file, bases, about=(ast.get_docstring(node) or "").partition("\n")[0])
    own.texts = texts_in(node.body, source.texts, "self", "cls", node.name)
    known = source.texts_of(own)
    for each in node.body:
        if isinstance(each, ast.FunctionDef | ast.AsyncFunctionDef):
            _take_method(own, each, source)
        elif isinstance(each, ast.Assign | ast.AnnAssign) and each.value is not None:
            targets = each.targets if isinstance(each, ast.Assign) else [each.target]
            names = {target.id for target in targets if isinstance(target, ast.Name)}
            text = text_of(each.value, known)
            if {name.lower() for name in names} & _ADDRESSES:
                own.address = address_of(each.value, known) or own.address
            elif text is not None and _SELECTOR.match(text):
                found = (LocatorLink(method="locator", arguments=(text,)),)
                own.elements |= {name: found for name in names if name not in own.elements}
    holds_tests = any(name.startswith("test") for name in own.methods)
    return own if not holds_tests and (own.elements or own.address or bases or own.methods) else None


def _take_method(own: SuitePageClass, method: FunctionNode, source: SuiteSource) -> None:
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
            node
            for node in ast.walk(method)
            if isinstance(node, ast.Call)
            and isinstance(node.func, ast.Attribute)
            and node.func.attr == "goto"
        )
        own.address = next((address(each, texts) for each in opened), None)


def _take_attribute(
    own: SuitePageClass, name: str, value: ast.expr, known: Mapping[str, Expression], texts: KnownTexts
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


def address(call: ast.Call, texts: KnownTexts) -> str | None:
    """Return what `goto` opens: a text, or what is literal after a base address."""
    named = (each.value for each in call.keywords if each.arg == "url")
    return address_of(next(iter(call.args), next(named, None)), texts)


# -- locators ------------------------------------------------------------------------------------------


def locator(node: ast.expr, known: Mapping[str, Expression], texts: KnownTexts) -> Expression | None:
    """Return the chain of calls that makes a locator; None if it is not one. `()`: the page itself."""
    match node:
        case ast.Await(value=inner):
            return locator(inner, known, texts)
        case ast.Name(id=name) | ast.Attribute(value=ast.Name(id="self"), attr=name):
            return () if name in PAGE_NAMES else known.get(name)
        case ast.Attribute(value=inner, attr=name) if name in PLACES:
            found = locator(inner, known, texts)
            return None if not found else (*found, LocatorLink(method=name))
        case ast.Call(func=ast.Attribute(value=inner, attr=name)) if name in LOCATORS:
            found = locator(inner, known, texts)
            return None if found is None else (*found, link(name, node, texts))
    return None


def link(method: str, call: ast.Call, texts: KnownTexts) -> LocatorLink:
    """Return one call of a chain, with its literal arguments."""
    keywords = {each.arg: argument(each.value, texts) for each in call.keywords if each.arg}
    arguments = tuple(argument(each, texts) for each in call.args)
    return LocatorLink(method=method, arguments=arguments, keywords=keywords)


def argument(node: ast.expr, texts: KnownTexts) -> JsonValue:
    """Return a literal; what only running would give becomes a list, which no selector accepts as a text."""
    if isinstance(node, ast.Constant) and isinstance(node.value, str | int | float | bool | None):
        return node.value
    text = text_of(node, texts)
    if text is not None:
        return text
    compiled = (
        isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute) and node.func.attr == "compile"
    )
    if compiled and isinstance(node, ast.Call) and (pattern := text_of(next(iter(node.args), None), texts)):
        flags = {each.attr for each in ast.walk(node) if isinstance(each, ast.Attribute)}
        return {"regex": pattern, "flags": "i" if flags & {"I", "IGNORECASE"} else ""}
    return [ast.unparse(node)[:200]]
