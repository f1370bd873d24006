"""Exports knowledge as page objects for plain Playwright in Python, one module per screen; they do not need
Periplus.

Names and texts of the website are written as literals by `kb_schema.locator_expressions`. Elements and
transitions that plain Playwright cannot express are left out; the class's docstring lists them.
"""

from __future__ import annotations

import keyword
import re
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from importlib import resources

from kb_schema import KnowledgeBase
from kb_schema.conditions import Combined, Condition, DomContains, DomElement, ElementVisible, TitleContains
from kb_schema.graph_documents import Transition
from kb_schema.locator_expressions import python_regex, python_string, to_source
from kb_schema.python_names import class_name, docstring, identifier, make_unique_name
from kb_schema.screens import Screen, UIElement
from kb_schema.selectors import Selector, TemplateStrategy
from kb_schema.url_patterns import compile_pattern
from loaders.bridges.locator_conversion import to_locator_expressions

MOST_SCREENS = 5_000
WRITTEN_BY = "written by `periplus kb export`"
"""The mark in a package's `__init__.py` that identifies an export."""
_PARAMETER = re.compile(r"\{\{\s*([A-Za-z_][A-Za-z0-9_]*)\s*\}\}")
_OWN = frozenset({"page", "base_url", "url_pattern", "open", "expect_here", "expect_address", "expect"})
"""The names that every page object has."""
_NO_REPLAY = frozenset({"\\z", "\\C", "\\Q", "\\p", "\\P", "[[:"})
"""What RE2 accepts and Python's `re` does not, or treats differently."""


@dataclass(frozen=True, slots=True)
class PageObjectPackage:
    """A package of page objects: its files, and what is not in it."""

    files: Mapping[str, str]
    """Relative path -> source."""
    left_out: tuple[str, ...] = ()
    """What Playwright cannot express, one line each."""


@dataclass(slots=True)
class _PageObjectClass:
    """A class while it is written."""

    name: str
    module: str
    about: str
    bases: list[str] = field(default_factory=list)
    members: list[str] = field(default_factory=list)
    imports: set[str] = field(default_factory=set)
    typing_imports: dict[str, str] = field(default_factory=dict)
    """Class -> module, for screens that transitions lead to."""
    taken: set[str] = field(default_factory=lambda: set(_OWN))
    elements: dict[str, str] = field(default_factory=dict)
    """Element id -> attribute; elements that need values are not included."""
    missing: list[str] = field(default_factory=list)


def build_page_objects(knowledge: KnowledgeBase, package: str = "pages") -> PageObjectPackage:
    """Return the knowledge as a package of that name. The same knowledge always gives the same files."""
    screens = dict(sorted(knowledge.screens.items())[:MOST_SCREENS])
    layouts = _named_classes(knowledge.website.layouts, "Layout", "layout", set())
    modules = {"base", "layouts", "values"}
    classes = _named_classes(screens, "Page", "page", {each.name for each in layouts.values()} | {"BasePage"})
    for each in classes.values():
        each.module = make_unique_name(each.module, modules)
        modules.add(each.module)
    for name, elements in knowledge.website.layouts.items():
        layouts[name].about = f"The elements that screens of the layout {name} share."
        _add_elements(layouts[name], elements)
    ways: dict[str, list[Transition]] = {}
    for _, way in sorted(knowledge.by_kind.get("transition", {}).items()):
        if isinstance(way, Transition):
            ways.setdefault(way.from_screen, []).append(way)
    files = {
        f"{package}/base.py": _base(knowledge),
        f"{package}/values.py": _template("values.py.txt"),
        f"{package}/layouts.py": _layouts_module(layouts),
    }
    for screen_id, screen in screens.items():
        own = classes[screen_id]
        _fill(own, screen, layouts, knowledge)
        for way in ways.get(screen_id, ()):
            _add_way(own, way, classes, knowledge)
        files[f"{package}/{own.module}.py"] = _screen_module(own, screen)
    files[f"{package}/__init__.py"] = _init(knowledge, classes)
    left_out = [
        f"{each.name}: {missing}"
        for each in (*layouts.values(), *classes.values())
        for missing in each.missing
    ]
    return PageObjectPackage(dict(sorted(files.items())), tuple(left_out))


def _named_classes(
    named: Iterable[str], suffix: str, otherwise: str, taken: set[str]
) -> dict[str, _PageObjectClass]:
    found: dict[str, _PageObjectClass] = {}
    modules: set[str] = set()
    for local_id in named:
        plain = class_name(local_id, otherwise)
        name = make_unique_name(plain if plain.endswith(suffix) else plain + suffix, taken)
        taken.add(name)
        module = make_unique_name(_module_name(local_id, otherwise), modules)
        modules.add(module)
        found[local_id] = _PageObjectClass(name, module, "")
    return found


def _module_name(local_id: str, otherwise: str) -> str:
    """Return a module name: `list` may be one, `class` may not, because it could not be imported."""
    name = identifier(local_id, otherwise)
    plain = name.rstrip("_")
    return name if keyword.iskeyword(plain) else plain


# -- elements ------------------------------------------------------------------------------------------


def _add_elements(into: _PageObjectClass, elements: Iterable[UIElement]) -> None:
    for element in elements:
        attribute = make_unique_name(identifier(element.element_id), into.taken)
        written = _property(attribute, element) or _method(into, attribute, element)
        if written is None:
            into.missing.append(f"the element {element.element_id} has no selector that Playwright supports")
            continue
        into.taken.add(attribute)
        into.members.append(written)
        if "@property" in written:
            into.elements[element.element_id] = attribute


def _property(attribute: str, element: UIElement) -> str | None:
    found = to_locator_expressions(element.selector)
    if not found:
        return None
    about = docstring(_about(element), 8)
    source = to_source(found[0], "self.page")
    return f"    @property\n    def {attribute}(self) -> Locator:\n{about}\n        return {source}\n"


def _method(into: _PageObjectClass, attribute: str, element: UIElement) -> str | None:
    """Write a method for an element that depends on values."""
    template = next((each for each in element.selector.ordered if isinstance(each, TemplateStrategy)), None)
    if template is None:
        return None
    helper = f"{template.language}_text"
    names: dict[str, str] = {}
    for name in dict.fromkeys(_PARAMETER.findall(template.template)):
        names[name] = make_unique_name(identifier(name, "value"), {helper, *names.values()})
    into.imports.add(f"from .values import {helper}")
    parts: list[str] = []
    position = 0
    for match in _PARAMETER.finditer(template.template):
        parts += [python_string(template.template[position : match.start()]), f"{helper}({names[match[1]]})"]
        position = match.end()
    parts.append(python_string(template.template[position:]))
    engine = python_string(f"{template.language}=")
    value = " + ".join([engine, *(part for part in parts if part != '""')])
    frame = f".frame_locator({python_string(element.selector.frame)})" if element.selector.frame else ""
    given = "".join(f", {name}: str" for name in names.values())
    about = docstring(_about(element), 8)
    return f"    def {attribute}(self{given}) -> Locator:\n{about}\n        return self.page{frame}.locator({value})\n"


def _about(element: UIElement) -> str:
    label = element.label
    return f"{label[:1].upper()}{label[1:]}." if label[-1:] not in ".?!" else label


# -- screens -------------------------------------------------------------------------------------------


def _fill(
    own: _PageObjectClass, screen: Screen, layouts: Mapping[str, _PageObjectClass], knowledge: KnowledgeBase
) -> None:
    own.about = screen.name
    shared = [layouts[name] for name in screen.layouts if name in layouts]
    own.bases = [each.name for each in shared] or ["BasePage"]
    for each in shared:
        own.elements |= each.elements
        own.taken |= each.taken
    patterns = [each for each in (_pattern(given, knowledge) for given in screen.url_patterns) if each]
    if patterns:
        own.imports.add("import re")
        joined = patterns[0] if len(patterns) == 1 else "|".join(f"(?:{each})" for each in patterns)
        own.members.append(f"    url_pattern = {python_regex(joined)}\n")
    if screen.url:
        own.members.append(_open(screen.url, knowledge))
    own.members.append(_expect_here(own, screen, knowledge, known=bool(patterns)))
    _add_elements(own, screen.ui_elements)


def _pattern(pattern: str, knowledge: KnowledgeBase) -> str | None:
    """Return a Python pattern for the address below the base URL; None if there is none."""
    if any(each in pattern for each in _NO_REPLAY):
        return None
    base = knowledge.website.base_url
    for beginning in (f"^{re.escape(base)}", f"^{base}", "^" + re.escape(base).replace("\\-", "-")):
        if pattern.startswith(beginning):
            pattern = "^" + pattern.removeprefix(beginning)
            break
    try:
        compile_pattern(pattern)
        re.compile(pattern)
    except (ValueError, re.error):
        return None
    return pattern


def _open(url: str, knowledge: KnowledgeBase) -> str:
    base = knowledge.website.base_url
    path = url.removeprefix(base)
    where = (
        f"self.base_url + {python_string(path)}" if path != url or url.startswith("/") else python_string(url)
    )
    return (
        "    def open(self) -> Self:\n"
        '        """Open the URL of this screen."""\n'
        f"        self.page.goto({where})\n"
        "        return self\n"
    )


def _expect_here(own: _PageObjectClass, screen: Screen, knowledge: KnowledgeBase, *, known: bool) -> str:
    """Write a check of the address and the required indicators that Playwright can express."""
    lines = ["        self.expect_address()"] if known else []
    signature = knowledge.signatures.get(screen.screen_id)
    if signature is not None:
        for indicator in signature.required_indicators or signature.primary_indicators[:1]:
            lines += _check(indicator)
    if any("expect(" in line for line in lines):
        own.imports.add("from playwright.sync_api import expect")
    if any("re.compile" in line for line in lines):
        own.imports.add("import re")
    lines = lines or ["        # Playwright can express no required indicator of this screen."]
    return "\n".join(
        [
            "    def expect_here(self) -> Self:",
            '        """Wait until the page shows this screen."""',
            *dict.fromkeys(lines),
            "        return self\n",
        ]
    )


def _check(indicator: Condition) -> list[str]:
    if isinstance(indicator, TitleContains):
        pattern = python_regex(re.escape(indicator.value).replace("\\ ", " "), "i")
        return [f"        expect(self.page).to_have_title({pattern})"]
    if isinstance(indicator, Combined) and indicator.type == "all_of":
        return [line for part in indicator.conditions for line in _check(part)]
    found = _locator(indicator)
    return [f"        expect({found}).not_to_have_count(0)"] if found else []


def _locator(indicator: Condition) -> str | None:
    """Return an indicator as a Playwright locator; of several, any."""
    match indicator:
        case DomContains(selector=str(selector), value=str(text)):
            return f"self.page.locator({python_string(selector)}).filter(has_text={python_string(text)})"
        case DomElement(selector=selector, text_contains=text):
            within = f".filter(has_text={python_string(text)})" if text is not None else ""
            return f"self.page.locator({python_string(selector)}){within}"
        case ElementVisible(element=Selector() as element):
            found = to_locator_expressions(element)
            return to_source(found[0], "self.page") if found else None
        case Combined(type="any_of", conditions=parts):
            locators = [_locator(each) for each in parts]
            known = [each for each in locators if each is not None and ".frame_locator(" not in each]
            return (
                "".join([known[0], *(f".or_({each})" for each in known[1:])])
                if len(known) == len(parts)
                else None
            )
    return None


# -- transitions ---------------------------------------------------------------------------------------


def _add_way(
    own: _PageObjectClass, way: Transition, classes: Mapping[str, _PageObjectClass], knowledge: KnowledgeBase
) -> None:
    target = classes.get(way.to_screen)
    if target is None or target is own:
        return
    act = _act(own, way)
    if act is None:
        own.missing.append(
            f"the transition to {way.to_screen} by {way.triggered_by.canonical_type} is not a plain click"
        )
        return
    name = make_unique_name(f"to_{identifier(way.to_screen, 'screen').rstrip('_')}", own.taken)
    own.taken.add(name)
    own.typing_imports[target.name] = target.module
    about = docstring(way.description or f"Go to {knowledge.screens[way.to_screen].name}.", 8)
    own.members.append(
        f"    def {name}(self) -> {target.name}:\n{about}\n"
        f"        from .{target.module} import {target.name}\n\n"
        f"        {act}\n"
        f"        return {target.name}(self.page, self.base_url).expect_here()\n"
    )


def _act(own: _PageObjectClass, way: Transition) -> str | None:
    call = way.triggered_by
    match call.canonical_type:
        case "click" if isinstance(call.target, str) and call.target in own.elements:
            return f"self.{own.elements[call.target]}.click()"
        case "click" if call.target is not None and not isinstance(call.target, str):
            found = to_locator_expressions(call.target)
            return f"{to_source(found[0], 'self.page')}.click()" if found else None
        case "navigate" if call.url and "{" not in call.url:
            path = python_string(call.url)
            return (
                f"self.page.goto(self.base_url + {path})"
                if call.url.startswith("/")
                else f"self.page.goto({path})"
            )
        case "navigate_back":
            return "self.page.go_back()"
    return None


# -- files ---------------------------------------------------------------------------------------------


def _base(knowledge: KnowledgeBase) -> str:
    controls = []
    for overlay in knowledge.website.overlays:
        call = overlay.dismiss
        found = to_locator_expressions(call.target) if isinstance(call.target, Selector) else ()
        if call.canonical_type == "click" and found:
            controls.append(f"        {to_source(found[0])},\n")
    listed = "[\n" + "".join(controls) + "    ]" if controls else "[]"
    source = _template("base.py.txt").replace('["CONTROLS"]', listed, 1)
    return source.replace('"BASE-URL"', python_string(knowledge.website.base_url), 1)


def _template(name: str) -> str:
    return resources.files("loaders.bridges").joinpath("templates", name).read_text(encoding="utf-8")


def _layouts_module(layouts: Mapping[str, _PageObjectClass]) -> str:
    imports = sorted({line for each in layouts.values() for line in each.imports})
    head = ['"""What several screens share."""', "", "from __future__ import annotations", ""]
    if layouts:
        head += ["from playwright.sync_api import Locator", "", "from .base import BasePage", *imports, ""]
    return "\n".join([*head, *(_class_source(each, ["BasePage"]) for each in layouts.values())])


def _screen_module(own: _PageObjectClass, screen: Screen) -> str:
    relative = {line for line in own.imports if line.startswith("from .")}
    plain = {line for line in own.imports if line.startswith("import ")}
    used = "\n".join(own.members)
    names = [name for name in ("Locator", "expect") if re.search(rf"\b{name}\b", used)]
    typing = [name for name in ("TYPE_CHECKING", "Self") if name == "Self" or own.typing_imports]
    lines = [
        docstring(f"The screen {screen.screen_id}: {screen.name}."),
        "",
        "from __future__ import annotations",
        "",
    ]
    lines += [*sorted(plain), f"from typing import {', '.join(typing)}", ""]
    if names:
        lines += [f"from playwright.sync_api import {', '.join(names)}", ""]
    bases = [f"from .layouts import {base}" for base in own.bases if base != "BasePage"]
    lines += bases or ["from .base import BasePage"]
    lines += sorted(relative)
    if own.typing_imports:
        lines += ["", "if TYPE_CHECKING:"]
        lines += [f"    from .{module} import {name}" for name, module in sorted(own.typing_imports.items())]
    return "\n".join([*lines, "", "", _class_source(own, own.bases)])


def _class_source(own: _PageObjectClass, bases: list[str]) -> str:
    missing = "\n\n".join(["", *(f"Left out: {each}." for each in own.missing)])
    about = docstring(f"{own.about}{missing}" if own.missing else own.about, 4)
    body = "\n".join(own.members)
    return f"class {own.name}({', '.join(bases)}):\n{about}\n\n{body}\n"


def _init(knowledge: KnowledgeBase, classes: Mapping[str, _PageObjectClass]) -> str:
    about = docstring(f"Page objects of {knowledge.website.name}, {WRITTEN_BY}.")
    lines = [about, "", *_imports(classes), "", "__all__ = ["]
    lines += [f"    {python_string(name)}," for name in sorted(each.name for each in classes.values())]
    return "\n".join([*lines, "]", ""])


def _imports(classes: Mapping[str, _PageObjectClass]) -> Iterator[str]:
    for each in sorted(classes.values(), key=lambda own: own.module):
        yield f"from .{each.module} import {each.name}"
