"""Reads user flows of the recorder in Chrome's DevTools: a title and steps, each with several selectors.

Selectors are lists of parts, one per shadow root on the path; parts are CSS unless they begin with `aria/`,
`text/`, `xpath/` or `pierce/`.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

from kb_schema.selectors import NameStrategy, Selector, SemanticStrategy, Strategy, ValueStrategy
from loaders.recordings.imported_traces import ImportedTrace, UnreadableRecording, as_list
from loaders.recordings.trace_builder import TraceBuilder

SOURCE = "chrome_recorder"
_ARIA_ATTRIBUTE = re.compile(r"""\[\s*(name|role)\s*=\s*(?:"([^"]*)"|'([^']*)')\s*\]\s*$""")
_LIST_TAG = re.compile(r"(?:^|[\s>/])select(?:$|[\s\[#.:>/])")
_MODIFIERS = {"Control": "Control", "Shift": "Shift", "Alt": "Alt", "Meta": "Meta"}
_UNNEEDED = frozenset(
    {
        "setViewport",
        "scroll",
        "waitForElement",
        "waitForExpression",
        "emulateNetworkConditions",
        "close",
    }
)
"""Steps that the agent does by itself, or that concern the browser."""


def read(data: dict[str, Any], file: Path) -> list[ImportedTrace]:
    """Return the trace of a user flow. Raises `UnreadableRecording` if it has no steps."""
    steps = data.get("steps")
    if not isinstance(steps, list):
        raise UnreadableRecording(file, "must be a list of steps", "steps")
    reading = _ChromeRecorderReader(file.stem, str(data.get("title") or ""))
    for number, step in enumerate(steps):
        place = f"steps[{number}]"
        if not isinstance(step, dict) or not isinstance(step.get("type"), str):
            reading.built.problem(place, "is not a step: it has no type; left out")
            continue
        reading.step(step, place)
    return [reading.built.finished()]


class _ChromeRecorderReader:
    def __init__(self, name: str, title: str) -> None:
        self.built = TraceBuilder(name, SOURCE, task=title)
        self._held: list[str] = []

    def step(self, step: dict[str, Any], place: str) -> None:
        kind = step["type"]
        if kind in _UNNEEDED:
            return
        reader = _READERS.get(kind)
        if reader is None:
            self.built.problem(place, f"steps of type {kind!r} cannot be read; left out")
            return
        reader(self, step, place)
        for event in as_list(step.get("assertedEvents")):
            if isinstance(event, dict) and event.get("type") == "navigation" and event.get("url"):
                self.built.url = str(event["url"])

    def navigate(self, step: dict[str, Any], place: str) -> None:
        if not step.get("url"):
            self.built.problem(place, "navigates nowhere; left out")
            return
        self.built.add("navigate", url=str(step["url"]))
        self.built.url = str(step["url"])

    def click(self, step: dict[str, Any], place: str) -> None:
        if step.get("button") not in (None, "primary"):
            self.built.problem(place, f"a click with the {step['button']} button cannot be done; left out")
            return
        self._on_element("double_click" if step["type"] == "doubleClick" else "click", step, place)

    def hover(self, step: dict[str, Any], place: str) -> None:
        self._on_element("hover", step, place)

    def change(self, step: dict[str, Any], place: str) -> None:
        chains = [_chain(each) for each in as_list(step.get("selectors"))]
        selector_text = " ".join(part for chain in chains for part in chain)
        box = any(
            part.endswith(('[role="combobox"]', '[role="listbox"]')) for chain in chains for part in chain
        )
        chooses = box or any(
            _LIST_TAG.search(part)
            for chain in chains
            for part in chain
            if not part.startswith(("aria/", "text/"))
        )
        if step.get("value") in ("true", "false") and "checkbox" in selector_text:
            self._on_element("check" if step["value"] == "true" else "uncheck", step, place)
            return
        self._on_element("select_option" if chooses else "fill", step, place, str(step.get("value") or ""))

    def key_down(self, step: dict[str, Any], _place: str) -> None:
        key = str(step.get("key") or "")
        if key == "Tab":
            return  # it only leaves a field, which steps do by themselves
        if key in _MODIFIERS:
            self._held.append(_MODIFIERS[key])
        elif key:
            self.built.add("press", value="+".join([*self._held, key]))

    def key_up(self, step: dict[str, Any], _place: str) -> None:
        name = _MODIFIERS.get(str(step.get("key") or ""))
        if name in self._held:
            self._held.remove(name)

    def _on_element(self, action: str, step: dict[str, Any], place: str, value: str | None = None) -> None:
        selector, reason = _selector(step, action)
        if selector is None:
            self.built.problem(place, f"{reason}; left out")
            return
        self.built.add(action, selector, value)


_READERS: dict[str, Callable[[_ChromeRecorderReader, dict[str, Any], str], None]] = {
    "navigate": _ChromeRecorderReader.navigate,
    "click": _ChromeRecorderReader.click,
    "doubleClick": _ChromeRecorderReader.click,
    "hover": _ChromeRecorderReader.hover,
    "change": _ChromeRecorderReader.change,
    "keyDown": _ChromeRecorderReader.key_down,
    "keyUp": _ChromeRecorderReader.key_up,
}


def _selector(step: dict[str, Any], action: str) -> tuple[Selector | None, str]:
    """Return the selector of a step, or the reason why there is none."""
    found = [
        strategy
        for each in as_list(step.get("selectors"))
        for strategy in _strategies(_chain(each), typed=action in ("fill", "select_option"))
    ]
    frame, reason = _frame(step.get("frame"))
    if reason:
        return None, reason
    if not found:
        return None, "none of its selectors can be read"
    return Selector(strategies=tuple(found), frame=frame), ""


def _chain(selector: Any) -> list[str]:
    parts = [selector] if isinstance(selector, str) else selector if isinstance(selector, list) else []
    return [part for part in parts if isinstance(part, str) and part.strip()]


def _strategies(chain: list[str], *, typed: bool) -> Iterator[Strategy]:
    if not chain:
        return
    if len(chain) > 1:
        if not any(part.startswith(("aria/", "text/", "xpath/", "pierce/")) for part in chain):
            yield ValueStrategy(type="shadow_pierce", value=" >>> ".join(chain))
        return
    kind, slash, rest = chain[0].partition("/")
    if not slash or kind not in _PARTS:
        yield ValueStrategy(type="css", value=chain[0])
    else:
        yield from _PARTS[kind](rest, typed)


def _aria(rest: str, typed: bool) -> Iterator[Strategy]:
    name, attributes = rest, dict[str, str]()
    while match := _ARIA_ATTRIBUTE.search(name):
        attributes[match[1]] = match[2] if match[2] is not None else match[3]
        name = name[: match.start()]
    name = attributes.get("name", name)
    if name and attributes.get("role"):
        yield NameStrategy(type="role_name", name=name, role=attributes["role"], exact=True)
    elif name and typed:
        yield NameStrategy(type="label", name=name, exact=True)


def _text(rest: str, _typed: bool) -> Iterator[Strategy]:
    if rest:
        yield SemanticStrategy(type="semantic", text_contains=rest, fallback=True)


def _xpath(rest: str, _typed: bool) -> Iterator[Strategy]:
    if rest:
        yield ValueStrategy(type="xpath", value=rest)


def _pierce(rest: str, _typed: bool) -> Iterator[Strategy]:
    if rest:
        yield ValueStrategy(type="css", value=rest)


_PARTS: dict[str, Callable[[str, bool], Iterator[Strategy]]] = {
    "aria": _aria,
    "text": _text,
    "xpath": _xpath,
    "pierce": _pierce,
}


def _frame(path: Any) -> tuple[str | None, str]:
    """Return CSS of the frame at a path of child indices, or the reason why there is none."""
    if not path:
        return None, ""
    if path == [0]:
        return "iframe", ""
    return None, f"it is in frame {path}, which only its number identifies"
