"""Imports Playwright page objects and tests as a draft: screens, elements, transitions and tasks."""

from __future__ import annotations

import re
from collections.abc import Collection, Iterator
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

from pydantic import JsonValue, TypeAdapter

from kb_schema.action_calls import ActionCall
from kb_schema.base import Document
from kb_schema.conditions import Condition
from kb_schema.fingerprints import Fingerprint
from kb_schema.graph_documents import Transition
from kb_schema.io_specs import InputSpec, IoSpec
from kb_schema.locator_expressions import Expression
from kb_schema.screens import Affordance, Screen, UIElement
from kb_schema.secret_fields import is_secret_name, looks_like_a_secret, names_a_secret
from kb_schema.selectors import NameStrategy, Selector, ValueStrategy
from kb_schema.tasks import Task, TaskStep
from kb_schema.websites import Website
from loaders.bridges.knowledge_drafts import (
    KnowledgeDraft,
    UnreadableSource,
    build_draft,
    make_local_id,
    web_address,
)
from loaders.bridges.locator_conversion import UntranslatableLocator, to_selector
from loaders.bridges.playwright_suites.suite_source import (
    SEVERAL,
    SuitePageClass,
    SuiteSource,
    SuiteStep,
    SuiteTest,
)
from loaders.bridges.playwright_suites.suite_steps import find_returned_page, read_source, steps_of_method
from loaders.bridges.playwright_suites.suite_tabs import CLOSE_TAB
from loaders.bridges.sitemaps import pattern_of
from loaders.markup_escapes import one_line
from loaders.recordings.field_names import is_secret_field
from loaders.recordings.recorded_targets import LONGEST_TARGET, RecordedTargets

MOST_FILES = 2_000
SUFFIXES = (".py", ".ts", ".mts", ".cts", ".js", ".mjs", ".cjs")
_IS_ID = re.compile(r"[A-Za-z0-9][A-Za-z0-9_]{0,79}")
_SCHEME = re.compile(r"//|[A-Za-z][A-Za-z0-9+.-]*:")
_NOT_OURS = frozenset({"node_modules", "venv", "__pycache__"})
LONGEST_NAME = 200
UNKNOWN_BASE = "https://example.com"
_KINDS = {
    "button": "button",
    "link": "link",
    "textbox": "input",
    "searchbox": "input",
    "combobox": "dropdown",
    "checkbox": "checkbox",
    "radio": "radio",
    "tab": "tab",
    "dialog": "dialog",
    "heading": "heading",
    "alert": "message",
    "status": "message",
}
_ACTIONS = {
    "input": "fill",
    "dropdown": "select_option",
    "checkbox": "check",
    "radio": "check",
    "button": "click",
    "link": "click",
    "tab": "click",
}
_PRESSES = frozenset({"click", "double_click", "right_click"})
_CONDITION: TypeAdapter[Condition] = TypeAdapter(Condition)
_STEP_TYPES = {
    "navigate": "navigation",
    "click": "click",
    "fill": "form_fill",
    "append_text": "form_fill",
    "select_option": "form_fill",
    "check": "form_fill",
    "uncheck": "form_fill",
}


def suite_files(place: Path) -> list[Path]:
    """Return a file, or all possible suite files of a folder, in a stable order. Raises `UnreadableSource`."""
    if place.is_file():
        return [place]
    files = [
        each
        for each in sorted(place.rglob("*"))
        if each.suffix in SUFFIXES
        and each.is_file()
        and not each.name.endswith(".d.ts")
        and not any(part.startswith(".") or part in _NOT_OURS for part in each.relative_to(place).parts)
    ]
    if not files:
        raise UnreadableSource(place, "holds no file of Python or TypeScript")
    if len(files) > MOST_FILES:
        raise UnreadableSource(place, f"holds more than {MOST_FILES:,} files")
    return files


def looks_like_playwright(raw: bytes) -> bool:
    """Return whether a source uses Playwright's pages."""
    return b"page" in raw and any(
        each in raw for each in (b"playwright", b".goto(", b".get_by_", b".getBy", b".locator(")
    )


def read_playwright(place: Path, website_id: str, base_url: str | None = None) -> KnowledgeDraft:
    """Return the draft for a file or folder. Raises `UnreadableSource`, `KnowledgeError`."""
    try:
        source = read_source(suite_files(place))
        return _SuiteDraftBuilder(source, website_id, base_url).draft(place)
    except RecursionError as exc:
        raise UnreadableSource(place, "nests expressions too deeply") from exc


class _SuiteDraftBuilder:
    def __init__(self, source: SuiteSource, website_id: str, base_url: str | None) -> None:
        self._source, self._website_id = source, website_id
        self._base = base_url or self._known_base() or UNKNOWN_BASE
        self._notes = source.notes
        if self._base == UNKNOWN_BASE:
            self._notes.append("it contains no absolute address: correct `base_url` in website.yaml")
        self._screens: dict[str, str] = {}
        """Class -> screen id."""
        self._elements: dict[str, dict[str, str]] = {}
        """Class -> name of an element in the source -> its id."""
        self._ways_made: set[str] = set()

    def draft(self, place: Path) -> KnowledgeDraft:
        documents: list[Document] = []
        for own in self._source.classes.values():
            screen = self._screen(own)
            if screen is not None:
                documents.append(screen)
        for name in self._screens:
            documents += self._ways(self._source.classes[name])
        taken: set[str] = set()
        documents += [made for test in self._source.tests if (made := self._task(test, taken)) is not None]
        if not documents:
            raise UnreadableSource(place, "has no readable page objects or tests")
        name = one_line(urlsplit(self._base).netloc) or self._website_id
        website = Website(website_id=self._website_id, name=name, base_url=self._base)
        return build_draft([website, *documents], self._notes)

    def _known_base(self) -> str | None:
        """Return the origin of the first absolute address that is opened, or None."""
        opened = [
            str(step.value) for test in self._source.tests for step in test.steps if step.action == "goto"
        ]
        given = [own.address for own in self._source.classes.values() if own.address]
        return next((origin for each in (*given, *opened) if (origin := web_address(each))), None)

    def _address(self, given: str) -> str | None:
        """Return an address of the website; None if it leads elsewhere."""
        origin = web_address(given)
        if origin is not None:
            return given if origin == web_address(self._base) and given.isprintable() else None
        if _SCHEME.match(given) or not given.isprintable():
            return None
        return f"{self._base.rstrip('/')}/{given.lstrip('/')}"

    # -- screens --

    def _screen(self, own: SuitePageClass) -> Screen | None:
        elements = tuple(self._ui_elements(own))
        others = self._source.classes.values()
        is_shared = any(own.name in (*each.bases, *each.parts.values()) for each in others)
        if own.address is None and (is_shared or not elements):
            return None
        plain = own.name.removesuffix("Page").removesuffix("PageObject") or own.name
        screen_id = make_local_id(plain, "screen", self._screens.values())
        self._screens[own.name] = screen_id
        url = None if own.address is None else self._address(own.address)
        return Screen(
            screen_id=screen_id,
            name=one_line(own.about).rstrip(".") or plain,
            url=url,
            url_patterns=() if url is None else (pattern_of(urlsplit(url).path or "/"),),
            ui_elements=elements,
            website_id=self._website_id,
            metadata={"from": "playwright", "class": own.name, "file": own.file.name},
        )

    def _ui_elements(self, own: SuitePageClass) -> Iterator[UIElement]:
        named = self._elements[own.name] = {}
        for name, (_, expression) in self._source.all_elements(own).items():
            try:
                selector = to_selector(expression)
            except UntranslatableLocator as exc:
                self._notes.append(f"{own.file.name}, {own.name}.{name}: {exc.reason}; left out")
                continue
            named[name] = _element_id(name, named.values())
            kind = _kind(expression)
            action = _ACTIONS.get(kind, "get_screen_content")
            yield UIElement(
                element_id=named[name],
                type=kind,
                selector=selector,
                affordances=(Affordance(action_type=action),),
                metadata={"label": _label(name, selector)},
            )

    def _ways(self, own: SuitePageClass) -> Iterator[Transition]:
        """Yield the transitions of methods that end on another screen with a click on a known element."""
        screen_id = self._screens[own.name]
        known = self._source.all_elements(own)
        for name, method in own.methods.items():
            target = find_returned_page(self._source, own, method)
            to_screen = None if target is None else self._screens.get(target.name)
            if to_screen is None or to_screen == screen_id:
                continue
            acts = [step for step in steps_of_method(self._source, own, name) if step.action != "goto"]
            last = next((each for each in known if acts and known[each][1] == acts[-1].target), None)
            element_id = None if last is None else self._elements[own.name].get(last)
            if acts and acts[-1].action == "click" and element_id is not None:
                way_id = make_local_id(f"{screen_id} {name}", "way", self._ways_made)
                self._ways_made.add(way_id)
                yield Transition(
                    transition_id=way_id,
                    from_screen=screen_id,
                    to_screen=to_screen,
                    triggered_by=ActionCall(action_type="click", target=element_id),
                    website_id=self._website_id,
                    metadata={"from": "playwright", "method": f"{own.name}.{name}"},
                )

    # -- tasks --

    def _task(self, test: SuiteTest, taken: set[str]) -> Task | None:
        steps: list[TaskStep] = []
        inputs: dict[str, InputSpec] = {}
        missing: str | None = None
        for step in test.steps:
            if missing is not None and step.tab != missing:
                self._notes.append(
                    f"{_place(test, step)}: a step in the tab that a step left out opens; left out"
                )
                continue
            if step.action == CLOSE_TAB and missing is not None:
                missing = None
                continue
            call = self._call(test, step, inputs)
            if call is None and step.new_tab == "follow":
                missing = step.tab
            if call is not None:
                number = len(steps) + 1
                kind: Any = _STEP_TYPES.get(call.canonical_type, "interaction")
                steps.append(TaskStep(step_id=f"step_{number}", order=number, type=kind, action=call))
        if not steps:
            return None
        name = make_local_id(test.name.removeprefix("test_"), "task", taken)
        taken.add(name)
        return Task(
            task_id=name,
            name=one_line(test.about).rstrip(".") or name.replace("_", " ").capitalize(),
            steps=tuple(steps),
            io_spec=IoSpec(inputs=tuple(inputs.values())),
            success_criteria=tuple(self._criteria(test)),
            website_id=self._website_id,
            metadata={"from": "playwright", "test": test.name, "file": test.file.name},
        )

    def _call(self, test: SuiteTest, step: SuiteStep, inputs: dict[str, InputSpec]) -> ActionCall | None:
        place = _place(test, step)
        if step.action == "goto":
            url = self._address(str(step.value))
            if url is None:
                self._notes.append(f"{place}: an address of another website; left out")
                return None
            return ActionCall(action_type="navigate", url=url)
        if step.action == CLOSE_TAB:
            return ActionCall(action_type=CLOSE_TAB)
        try:
            selector = to_selector(step.target)
        except UntranslatableLocator as exc:
            self._notes.append(f"{place}: {exc.reason}; left out")
            return None
        value = self._value(step, selector, inputs)
        beside: dict[str, Any] = {
            "modifiers": step.modifiers,
            "new_tab": step.new_tab,
            "on_dialog": _answer_without_braces(step.on_dialog),
            "download": step.download and make_local_id(step.download, "file"),
        }
        return ActionCall(
            action_type=step.action,
            target=selector,
            value=value,
            fingerprint=_fingerprint(step),
            **{name: each for name, each in beside.items() if each},
        )

    def _criteria(self, test: SuiteTest) -> Iterator[Condition]:
        """Yield what is checked after the last action, as far as a condition says it."""
        for check in test.checks:
            made: dict[str, Any] = {"type": check.name}
            try:
                selector = to_selector(check.target) if check.target else None
            except UntranslatableLocator as exc:
                self._notes.append(f"{_place(test, check)}: this check is not imported: {exc.reason}")
                continue
            if check.name == "dom_contains":
                first = None if selector is None else selector.strategies[0]
                css = first.value if isinstance(first, ValueStrategy) and first.type == "css" else None
                made |= {"value": _without_braces(str(check.value))} | ({"selector": css} if css else {})
            elif selector is not None:
                made["element"] = selector
            else:
                made["value"] = _without_braces(str(check.value))
            yield _CONDITION.validate_python(made)

    def _value(self, step: SuiteStep, selector: Selector, inputs: dict[str, InputSpec]) -> Any:
        """Return a literal as it is; a secret or a computed value becomes an input of the task."""
        if step.value is None:
            return None
        secret = step.action in ("fill", "append_text") and (
            is_secret_field(selector)
            or is_secret_name(step.name)
            or names_a_secret(tuple(_list_words(step)))
            or looks_like_a_secret(str(step.value))
        )
        if isinstance(step.value, dict) and isinstance(several := step.value.get(SEVERAL), list):
            return [_without_braces(str(each)) for each in several]
        if not secret and isinstance(step.value, str | int | float | bool):
            return _without_braces(step.value) if isinstance(step.value, str) else step.value
        called = step.name or next(iter(_list_words(step)), "") if len(step.target) > 1 else step.name
        name = make_local_id(called or _label("", selector), "value")
        name = name if name[0].isalpha() else f"value_{name}"
        inputs.setdefault(name, InputSpec(name=name, secret=secret))
        return f"{{{name}}}"


def _without_braces(text: str) -> str:
    """Return a literal text as a run takes it: what stands in braces would be a value of the run."""
    return text.replace("{", "").replace("}", "")


def _answer_without_braces(answer: JsonValue) -> JsonValue:
    if not isinstance(answer, dict):
        return answer
    return {**answer, "text": _without_braces(str(answer.get("text", "")))}


def _list_words(step: SuiteStep) -> list[str]:
    """Return what the source says an element is called; if it says nothing, what its containers are called."""
    for link in reversed(step.target):
        given = (
            [link.keywords.get("name")]
            if link.method == "get_by_role"
            else [*link.arguments, *link.keywords.values()]
        )
        words = [each for each in given if isinstance(each, str) and link.method != "locator"]
        if words:
            return words
    return []


def _place(test: SuiteTest, step: SuiteStep) -> str:
    return f"{step.file or test.file.name}, line {step.line}, in {test.name}"


def _fingerprint(step: SuiteStep) -> Fingerprint | None:
    """Return what the source says of an element that is pressed: its words, else what the source calls it."""
    if step.action not in _PRESSES:
        return None
    last = step.target[-1]
    text = last.keywords.get("name") if last.method == "get_by_role" else next(iter(last.arguments), None)
    if last.method in ("get_by_role", "get_by_text") and isinstance(text, str):
        role = str(last.arguments[0]) if last.method == "get_by_role" and last.arguments else None
        return Fingerprint(role=role, name=text) if 0 < len(text) <= LONGEST_NAME else None
    called = step.name.strip("_").replace("_", " ").lower()[:LONGEST_NAME]
    told = RecordedTargets(step.action)
    if last.method == "get_by_test_id" and isinstance(text, str):
        told.attributes["data-testid"] = text
    elif last.method == "locator" and isinstance(text, str) and len(text) <= LONGEST_TARGET:
        (told.read_xpath if text.startswith(("//", "xpath=")) else told.read_css)(text.removeprefix("css="))
    known = told.fingerprint() or Fingerprint()
    if called and "name" not in known.attributes:
        known = known.model_copy(update={"attributes": {**known.attributes, "name": called}})
    return known if known != Fingerprint() else None


def _element_id(name: str, taken: Collection[str]) -> str:
    """Return the source's name as an id, or the nearest possible one."""
    plain = name.strip("_").replace(".", "_")
    return plain if _IS_ID.fullmatch(plain) and plain not in taken else make_local_id(plain, "element", taken)


def _kind(expression: Expression) -> str:
    last = expression[-1]
    if last.method == "get_by_role" and last.arguments:
        return _KINDS.get(str(last.arguments[0]), "text")
    return "input" if last.method in ("get_by_label", "get_by_placeholder") else "element"


def _label(name: str, selector: Selector) -> str:
    """Return a name for people: from the locator, else the source's name."""
    first = selector.strategies[0]
    if isinstance(first, NameStrategy):
        return one_line(first.name)
    return name.strip("_").replace("_", " ").capitalize() or "value"
