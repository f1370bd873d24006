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
from loaders.recordings.field_names import MarkedFields, is_secret_field
from loaders.recordings.imported_traces import ImportedTrace, UnreadableRecording, as_list
from loaders.recordings.json_places import line_of
from loaders.recordings.recorded_targets import LONGEST_TARGET, RecordedTargets
from loaders.recordings.trace_builder import TraceBuilder

SOURCE = "chrome_recorder"
_ARIA_ATTRIBUTE = re.compile(r"""\[\s*(name|role)\s*=\s*(?:"([^"]*)"|'([^']*)')\s*\]\s*$""")
_LIST_TAG = re.compile(r"(?:^|[\s>/])select(?:$|[\s\[#.:>/])|(?:^|[#_\W])ddl|dropdownlist", re.IGNORECASE)
"""Lists: by their tag, or by the prefix that frameworks give their ids."""
_PRESSED_ROLES = ("button", "link", "tab", "menuitem", "option", "checkbox", "radio", "switch", "treeitem")
"""Roles that an `aria/` name without one may have."""
_TYPED_ROLES = ("textbox", "searchbox", "combobox", "spinbutton")
_INNER_ROLES = frozenset({"generic", "StaticText", "image", "img", "InlineTextBox", "none", "presentation"})
"""Parts of a control that have no name of their own."""
_WEB = ("http://", "https://")
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


def read(data: dict[str, Any], file: Path, marks: MarkedFields = MarkedFields()) -> list[ImportedTrace]:  # noqa: B008 - frozen
    """Return the trace of a user flow. Raises `UnreadableRecording` if it has no steps."""
    steps = data.get("steps")
    if not isinstance(steps, list):
        raise UnreadableRecording(file, "must be a list of steps", "steps")
    reading = _ChromeRecorderReader(file.stem, str(data.get("title") or ""), marks)
    for number, step in enumerate(steps):
        place = f"{line_of(step)}steps[{number}]"
        if not isinstance(step, dict) or not isinstance(step.get("type"), str):
            reading.built.problem(place, "is not a step: it has no type; left out")
            continue
        reading.step(step, place, steps[number + 1 :])
    return [reading.built.finished()]


class _ChromeRecorderReader:
    def __init__(self, name: str, title: str, marks: MarkedFields) -> None:
        self.built = TraceBuilder(name, SOURCE, task=title, marks=marks)
        self._marks = marks
        self._held: list[str] = []
        self._field: dict[str, Any] | None = None
        """The last step that acted on an element: plain keys after it are typed there."""
        self._following: list[Any] = []

    def step(self, step: dict[str, Any], place: str, following: list[Any]) -> None:
        kind = step["type"]
        self.built.place, self.built.said = place, " ".join(str(step.get("description") or "").split())
        if kind in _UNNEEDED:
            return
        reader = _READERS.get(kind)
        if reader is None:
            self.built.problem(place, f"steps of type {kind!r} cannot be read; left out")
            return
        if not self._in_first_tab(step, place):
            return
        self._following = following
        reader(self, step, place)
        for event in as_list(step.get("assertedEvents")):
            if isinstance(event, dict) and event.get("type") == "navigation" and event.get("url"):
                self.built.url = str(event["url"])

    def _in_first_tab(self, step: dict[str, Any], place: str) -> bool:
        """Whether the step is in the recorded tab; one in another tab is reported."""
        target = step.get("target")
        if target in (None, "main") or not isinstance(target, str) or step["type"] == "navigate":
            return True
        self.built.problem(
            place, f"it is in another tab, which nothing in the file opens ({target[:80]}); left out"
        )
        return False

    def navigate(self, step: dict[str, Any], place: str) -> None:
        if not step.get("url"):
            self.built.problem(place, "navigates nowhere; left out")
            return
        if not str(step["url"]).startswith(_WEB):
            self.built.problem(place, f"opens {str(step['url'])[:80]!r}, which is no web page; left out")
            return
        self.built.add("navigate", url=str(step["url"]))
        self.built.url = str(step["url"])

    def click(self, step: dict[str, Any], place: str) -> None:
        double = step["type"] == "doubleClick"
        button = step.get("button") or "primary"
        if button == "secondary" and not double:
            self._on_element("right_click", step, place)
        elif button == "primary":
            self._on_element("double_click" if double else "click", step, place)
        else:
            self.built.problem(place, f"a click with the {button} button cannot be done; left out")

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
        elif key and not self._is_typed(key):
            self.built.add("press", value="+".join([*self._held, "Space" if key == " " else key]))

    def _is_typed(self, key: str) -> bool:
        """Whether a key is part of a text: the field's next `change` has it, or the field is a secret one."""
        if len(key) != 1 or self._held or self._field is None:
            return False
        selector, _ = _selector(self._field, "fill")
        if is_secret_field(selector, self._marks):
            return True
        mine = self._field.get("selectors")
        return any(
            isinstance(each, dict) and each.get("type") == "change" and each.get("selectors") == mine
            for each in self._following
        )

    def key_up(self, step: dict[str, Any], _place: str) -> None:
        name = _MODIFIERS.get(str(step.get("key") or ""))
        if name in self._held:
            self._held.remove(name)

    def _on_element(self, action: str, step: dict[str, Any], place: str, value: str | None = None) -> None:
        targets = _targets(step, action)
        frame, reason = _frame(step.get("frame"))
        selector = None if reason else targets.selector(frame)
        self._field = step
        if selector is None:
            self.built.problem(place, f"{reason or 'none of its selectors can be read'}; left out")
            return
        self.built.add(action, selector, value, fingerprint=targets.fingerprint())


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
    frame, reason = _frame(step.get("frame"))
    found = None if reason else _targets(step, action).selector(frame)
    return found, reason


def _targets(step: dict[str, Any], action: str) -> RecordedTargets:
    """Return the recorded selectors, in their order, with what they say of the element."""
    found = RecordedTargets(action)
    chains = [_chain(each) for each in as_list(step.get("selectors"))]
    for chain in chains:  # what the others tell decides which role a name without one has
        _tell(chain, found)
    for chain in chains:
        made = list(_strategies(chain, found))
        if made and not found.strategies:
            found.exact += made[1:]
            made = made[:1]
        found.strategies += made
    return found


def _chain(selector: Any) -> list[str]:
    parts = [selector] if isinstance(selector, str) else selector if isinstance(selector, list) else []
    chain = [part for part in parts if isinstance(part, str) and part.strip()]
    return chain if sum(map(len, chain)) <= LONGEST_TARGET else []


def _tell(chain: list[str], told: RecordedTargets) -> None:
    if not chain:
        return
    kind, rest = _kind(chain[-1])
    if kind == "css":
        told.read_css(rest)
    elif kind == "xpath":
        told.read_xpath(rest)
    elif kind == "text":
        told.texts.append(rest)
    else:
        name, role = _name_and_role(chain)
        told.words += [name] if name else []
        told.role = told.role or role


def _kind(part: str) -> tuple[str, str]:
    kind, slash, rest = part.partition("/")
    known = {"aria": "aria", "text": "text", "xpath": "xpath", "pierce": "css"}.get(kind) if slash else None
    return (known, rest) if known else ("css", part)


def _name_and_role(chain: list[str]) -> tuple[str, str | None]:
    """Return the name and role of the element of an `aria/` chain: its last part is inside the parts before."""
    parts = [_aria(rest) for kind, rest in map(_kind, chain) if kind == "aria"]
    name, role = parts[-1]
    if not name and len(parts) > 1 and role in _INNER_ROLES:
        name, role = parts[-2]  # the text or picture inside the control
    return name, None if role in _INNER_ROLES else role


def _aria(rest: str) -> tuple[str, str | None]:
    name, attributes = rest, dict[str, str]()
    while match := _ARIA_ATTRIBUTE.search(name):
        attributes[match[1]] = match[2] if match[2] is not None else match[3]
        name = name[: match.start()]
    return attributes.get("name", name).strip(), attributes.get("role")


def _strategies(chain: list[str], told: RecordedTargets) -> Iterator[Strategy]:
    if not chain:
        return
    kinds = {_kind(part)[0] for part in chain}
    kind, rest = _kind(chain[-1])
    if kinds == {"aria"}:
        yield from _named(chain, told)
    elif len(chain) > 1:
        if kinds == {"css"} and not any(part.startswith("pierce/") for part in chain):
            yield ValueStrategy(type="shadow_pierce", value=" >>> ".join(chain))
    elif rest.strip():
        yield from _WRITERS[kind](rest)


def _named(chain: list[str], told: RecordedTargets) -> Iterator[Strategy]:
    """Yield the strategies for a name; without a role, one for each role that the element may have."""
    name, role = _name_and_role(chain)
    if not name:
        return
    typed = told.action in ("fill", "select_option")
    known = role or told.tag_role
    if typed and role is None:
        yield NameStrategy(type="label", name=name, exact=True)
        yield NameStrategy(type="placeholder", name=name, exact=True)
    for each in (known,) if known else _TYPED_ROLES if typed else _PRESSED_ROLES:
        yield NameStrategy(type="role_name", name=name, role=each, exact=True)


def _write_text(rest: str) -> Iterator[Strategy]:
    yield SemanticStrategy(type="semantic", text_contains=rest)


def _write_xpath(rest: str) -> Iterator[Strategy]:
    yield ValueStrategy(type="xpath", value=rest)


def _write_css(rest: str) -> Iterator[Strategy]:
    yield ValueStrategy(type="css", value=rest)


_WRITERS: dict[str, Callable[[str], Iterator[Strategy]]] = {
    "text": _write_text,
    "xpath": _write_xpath,
    "css": _write_css,
}


def _frame(path: Any) -> tuple[str | None, str]:
    """Return CSS of the frame at a path of child indices, or the reason why there is none."""
    if not path:
        return None, ""
    if path == [0]:
        return "iframe", ""
    return None, f"it is in frame {path}, which only its number identifies"
