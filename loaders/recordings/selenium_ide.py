"""Reads Selenium IDE projects (`.side`): each test is a trace.

Control flow is followed as far as the file decides it (`selenium_flow`). Checks after the last action are what a run must show
at its end; waits are left out, because the agent waits by itself.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any
from urllib.parse import urljoin

from kb_schema.action_calls import DropPlace
from kb_schema.excerpts import excerpt
from kb_schema.selectors import Selector, Strategy, ValueStrategy
from kb_schema.templates import css_string
from loaders.recordings.field_names import MarkedFields
from loaders.recordings.imported_traces import ImportedTrace, UnreadableRecording, as_list
from loaders.recordings.json_places import line_of
from loaders.recordings.recorded_targets import RecordedTargets
from loaders.recordings.selenium_expressions import NotComputable, as_javascript_text, compute
from loaders.recordings.selenium_flow import Placed, SeleniumFlow, leave_out_mere_pointing
from loaders.recordings.selenium_locators import list_first_of_several, read_locator
from loaders.recordings.trace_builder import TraceBuilder
from loaders.recordings.written_texts import read_written_text

SOURCE = "selenium_ide"
_VARIABLE = re.compile(r"\$\{(\w+)\}")
_KEY = re.compile(r"\$\{KEY_(\w+)\}")
_NEEDLESS = (
    "waitFor",
    "echo",
    "setSpeed",
    "setWindowSize",
    "mouseOut",
    "mouseMove",
    "close",
    "debugger",
)
_CHECKS = ("assert", "verify")
_SCROLLS = re.compile(r"\s*window\.scroll(?:To|By)?\([\d\s.,-]*\);?\s*")
"""Scripts that the recorder writes for scrolling: the agent scrolls by itself."""
_MOST_CALLS = 8
_MOST_NAMED = 5
"""Problems that an error names if nothing can be imported."""
_SHAKES_PX = 4
_KEYS = {
    "ENTER": "Enter",
    "RETURN": "Enter",
    "TAB": "Tab",
    "ESC": "Escape",
    "ESCAPE": "Escape",
    "SPACE": "Space",
    "BACKSPACE": "Backspace",
    "BKSP": "Backspace",
    "DELETE": "Delete",
    "DEL": "Delete",
    "UP": "ArrowUp",
    "DOWN": "ArrowDown",
    "LEFT": "ArrowLeft",
    "RIGHT": "ArrowRight",
    "HOME": "Home",
    "END": "End",
    "PAGE_UP": "PageUp",
    "PAGE_DOWN": "PageDown",
    "PGUP": "PageUp",
    "PGDN": "PageDown",
}


def read(data: dict[str, Any], file: Path, marks: MarkedFields = MarkedFields()) -> list[ImportedTrace]:  # noqa: B008 - frozen
    """Return a trace per test that does something. Raises `UnreadableRecording` if none is left."""
    tests = data.get("tests")
    if not isinstance(tests, list):
        raise UnreadableRecording(file, "must be a list of tests", "tests")
    found: list[ImportedTrace] = []
    refused: list[str] = []
    named = {str(each.get("name")): each for each in tests if isinstance(each, dict)}
    for number, test in enumerate(tests):
        commands = test.get("commands") if isinstance(test, dict) else None
        if not isinstance(commands, list):
            refused.append(f"{line_of(test)}tests[{number}] has no commands")
            continue
        name = str(test.get("name") or number)
        imported = _trace(
            file, name, test, f"tests[{number}]", _Project(str(data.get("url") or ""), named, marks)
        )
        if imported.trace.steps:
            found.append(imported)
            continue
        refused += imported.trace.metadata.get("problems", ())
        if commands:
            refused.append(
                f"{line_of(test)}tests[{number}] {excerpt(name)!r} has no command that can be carried out"
            )
    if not found:
        more = [f"and {len(refused) - _MOST_NAMED} more"] if len(refused) > _MOST_NAMED else []
        raise UnreadableRecording(file, "; ".join([*refused[:_MOST_NAMED], *more]) or "has no tests", "tests")
    if refused:
        found[0].trace.metadata.setdefault("problems", []).extend(refused)
    return found


@dataclass(frozen=True, slots=True)
class _Project:
    base: str
    tests: dict[str, Any]
    """Name -> test: a test may call others."""
    marks: MarkedFields


def _trace(file: Path, name: str, test: Any, place: str, project: _Project) -> ImportedTrace:
    built = TraceBuilder(f"{file.stem}-{_plain(name)}", SOURCE, task=name, marks=project.marks)
    reading = _SeleniumIdeReader(built, project)
    flow = SeleniumFlow(reading.variables, reading.assign, built.problem)
    for command, where in leave_out_mere_pointing(flow.follow(list(reading.placed(test["commands"], place)))):
        reading.command(command, where)
    return reading.finished()


def _plain(name: str) -> str:
    return re.sub(r"\W+", "-", name).strip("-").lower() or "test"


@dataclass
class _SeleniumIdeReader:
    built: TraceBuilder
    project: _Project
    variables: dict[str, Any] = field(default_factory=dict)
    stored: dict[str, str] = field(default_factory=dict)
    """Variables with a text of the file: what is typed from them is an input."""
    used: dict[str, str] = field(default_factory=dict)
    expected: list[dict[str, Any]] = field(default_factory=list)
    """Conditions of the checks since the last action."""
    passed: list[str] = field(default_factory=list)
    """Places of checks before the last action."""
    checked: list[str] = field(default_factory=list)
    calls: int = 0
    frame: str | None = None
    lost: str | None = None
    """Why the following steps are impossible: an unknown frame or window."""
    windows: dict[str, int] = field(default_factory=dict)
    """Handle -> number of its tab."""
    opened: int = 0
    """The number of opened tabs."""
    answer: Any = None
    """The answer to the dialog that the next step opens."""
    pressed: dict[str, Any] | None = None
    """The command that pressed the mouse button and has not let it go."""

    def placed(self, commands: Any, place: str) -> Iterator[Placed]:
        """Yield the commands with their places; tests that are called by `run` in their stead."""
        for number, command in enumerate(as_list(commands)):
            where = f"{line_of(command)}{place}.commands[{number}]"
            if not isinstance(command, dict) or not isinstance(command.get("command"), str):
                self.built.problem(where, "is no command; left out")
            elif command["command"] == "run":
                yield from self._called(str(command.get("target") or ""), where)
            else:
                yield command, where

    def _called(self, name: str, place: str) -> Iterator[Placed]:
        test = self.project.tests.get(name)
        if test is None or self.calls >= _MOST_CALLS:
            self.built.problem(place, f"runs the test {name!r}, which cannot be read here; left out")
            return
        self.calls += 1
        yield from self.placed(test.get("commands"), f"{place} -> {name!r}")

    def assign(self, name: str, value: Any) -> None:
        self.variables[name] = value
        if not isinstance(value, list | dict):
            self.stored[name] = as_javascript_text(value)

    def finished(self) -> ImportedTrace:
        """Return the trace with what a run must show at its end."""
        if self.passed:
            told = f"{len(self.passed)} check{'' if len(self.passed) == 1 else 's'} before the last action"
            self.built.note(self.passed[0], f"{told}: not imported, a run checks the end")
        return self.built.finished(expected=self.expected, inputs=self.used)

    def command(self, command: dict[str, Any], place: str) -> None:
        name = command["command"]
        self.built.place = place
        self.built.said = " ".join(str(command.get("comment") or "").split())
        if name.startswith("//") or name.startswith(_NEEDLESS) or not name.strip():
            return
        if name.startswith(_CHECKS):
            self.check(command, place)
            return
        reader = _READERS.get(name)
        if reader is None:
            self.built.problem(place, f"the command {name!r} cannot be read; left out")
            return
        unknown = [
            each
            for each in _VARIABLE.findall(f"{command.get('target')} {command.get('value')}")
            if each not in self.variables and each not in self.windows and not each.startswith("KEY_")
        ]
        if unknown and name != "executeScript":
            self.built.problem(place, f"the value of ${{{unknown[0]}}} is not in the file; left out")
            return
        before = len(self.built)
        reader(self, command, place)
        if len(self.built) > before and name != "pause":
            self.passed += self.checked
            self.expected, self.checked = [], []

    def check(self, command: dict[str, Any], place: str) -> None:
        """Take a check as a condition; those after the last action are what a run must show."""
        self.checked.append(place)
        made = _CONDITIONS.get(re.sub("^(assert|verify)", "", command["command"]))
        if made is None or _VARIABLE.search(f"{command.get('target')} {command.get('value')}"):
            self.built.note(
                place, f"{command['command']} is not imported: it is no check of what the page shows"
            )
            return
        condition = made(self, command)
        if condition is None:
            self.built.note(place, f"{command['command']} is not imported: its locator is no CSS or XPath")
        else:
            self.expected.append(condition)

    def filled(self, text: Any) -> str:
        return _VARIABLE.sub(
            lambda match: (
                as_javascript_text(self.variables[match[1]]) if match[1] in self.variables else match[0]
            ),
            str(text or ""),
        )

    def open(self, command: dict[str, Any], place: str) -> None:
        base = self.project.base if "://" in self.project.base else f"https://{self.project.base}"
        try:
            url = urljoin(base, self.filled(command.get("target")))
        except ValueError:
            self.built.problem(place, f"{self.filled(command.get('target'))!r} is no address; left out")
            return
        self.built.add("navigate", url=url)
        self.built.url, self.frame, self.lost = url, None, None

    def store(self, command: dict[str, Any], _place: str) -> None:
        self.assign(str(command.get("value") or ""), self.filled(command.get("target")))

    def store_json(self, command: dict[str, Any], place: str) -> None:
        try:
            self.assign(str(command.get("value") or ""), json.loads(self.filled(command.get("target"))))
        except ValueError:
            self.built.problem(place, "stores what is no JSON; left out")

    def store_from_page(self, command: dict[str, Any], place: str) -> None:
        self.variables.pop(str(command.get("value") or ""), None)
        self.built.problem(
            place, f"{command['command']} reads the page; left out, and so is what needs its value"
        )

    def pause(self, command: dict[str, Any], place: str) -> None:
        text = self.filled(command.get("target"))
        if text.isdigit():
            self.built.add("wait", duration_ms=int(text))
        else:
            self.built.problem(place, f"a pause of {text!r} ms is none; left out")

    def select_frame(self, command: dict[str, Any], place: str) -> None:
        target = self.filled(command.get("target"))
        if target in ("relative=parent", "relative=top"):
            self.frame, self.lost = None, None
            return
        strategies = list(read_locator(target, RecordedTargets("click")))
        css = next(
            (each.value for each in strategies if isinstance(each, ValueStrategy) and each.type == "css"),
            None,
        )
        self.frame = "iframe" if target == "index=0" else css
        self.lost = None if self.frame else f"no CSS identifies the frame {target!r}"
        if self.lost:
            self.built.problem(place, f"{self.lost}; what is done in it is left out")

    def store_window(self, command: dict[str, Any], _place: str) -> None:
        self.windows[str(command.get("target") or "")] = self.built.tab

    def select_window(self, command: dict[str, Any], place: str) -> None:
        given_target = str(command.get("target") or "")
        handle = _VARIABLE.fullmatch(given_target.removeprefix("handle="))
        tab = (
            0 if given_target == "win_ser_local" else None if handle is None else self.windows.get(handle[1])
        )
        self.frame, self.lost = None, None
        if tab is None:
            self.lost = f"the window {given_target!r} is unknown"
            self.built.problem(place, f"{self.lost}; what is done in it is left out")
        else:
            self.built.tab = tab

    def answer_next(self, command: dict[str, Any], _place: str) -> None:
        self.answer = _answer(command, self.filled(command.get("target")))

    def answer_last(self, command: dict[str, Any], place: str) -> None:
        if not self.built.answered(_answer(command, self.filled(command.get("target")))):
            self.built.problem(place, "answers a dialog that no step opened; left out")

    def script(self, command: dict[str, Any], place: str) -> None:
        text, name = str(command.get("target") or ""), str(command.get("value") or "")
        if _SCROLLS.fullmatch(text):
            return
        try:
            value = compute(text, self.variables) if name and command["command"] == "executeScript" else None
        except NotComputable:
            value = None
            self.variables.pop(name, None)
        if value is None:
            self.built.problem(place, f"a script cannot be carried out ({text[:60]!r}); left out")
        else:
            self.assign(name, value)

    def send_keys(self, command: dict[str, Any], place: str) -> None:
        """Add text to the existing value; `${KEY_ENTER}` and the like are keys."""
        for text in re.split(r"(\$\{KEY_\w+\})", str(command.get("value") or "")):
            key = _KEY.fullmatch(text)
            if key is None and text:
                self.on_element("append_text", command, place, self.filled(text))
            elif key is not None and key[1] in _KEYS:
                self.on_element("press", command, place, _KEYS[key[1]])
            elif key is not None:
                self.built.problem(place, f"the key {key[1]} is not known; left out")

    def choose(self, command: dict[str, Any], place: str) -> None:
        kind, equals, rest = self.filled(command.get("value")).partition("=")
        if not equals:
            self.on_element("select_option", command, place, kind)
        elif kind in ("label", "value"):
            self.on_element("select_option", command, place, rest.removeprefix("exact:"))
        else:
            self.built.problem(
                place, f"an option by its {kind} cannot be resolved without the page; left out"
            )

    def drag(self, command: dict[str, Any], place: str) -> None:
        """Drag the target onto the middle of what `value` locates."""
        onto = self.filled(command.get("value"))
        drop = self.targets("drag", {"target": onto}).selector(self.frame)
        if drop is None:
            self.built.problem(place, f"the locator {onto!r}, onto which it drags, cannot be read; left out")
            return
        self.on_element("drag", command, place, drop=DropPlace(target=drop).to_json())

    def press(self, command: dict[str, Any], _place: str) -> None:
        self.pressed = command

    def let_go(self, command: dict[str, Any], place: str) -> None:
        """Take a press that ends on another element as a drag onto it.

        One that ends where it began is told by the click that follows. One that ends elsewhere in the same element
        is a distance in pixels, which says nothing without the page.
        """
        began, self.pressed = self.pressed, None
        if began is None:
            return
        if self.filled(began.get("target")) != self.filled(command.get("target")):
            self.drag({**began, "value": command.get("target")}, place)
        elif _moved(str(began.get("value") or ""), str(command.get("value") or "")):
            self.built.problem(
                place,
                f"a pull within {self.filled(command.get('target'))!r} is a distance in pixels; left out",
            )

    def edit(self, command: dict[str, Any], place: str) -> None:
        """Write the text of an editor. Its form (bold, lists) is not kept."""
        text, formatted = read_written_text(self.filled(command.get("value")))
        if formatted:
            self.built.note(place, "the text of an editor is imported without its form (bold, links, lists)")
        self.on_element("fill", command, place, text)

    def on_element(
        self, action: str, command: dict[str, Any], place: str, value: str | None = None, **args: Any
    ) -> None:
        if self.lost is not None:
            return
        targets = self.targets(action, command)
        selector = targets.selector(self.frame)
        if selector is None:
            self.built.problem(
                place, f"the locator {self.filled(command.get('target'))!r} cannot be read; left out"
            )
            return
        opens: int | None = None
        if command.get("opensWindow") is True:
            self.opened += 1
            opens = self.windows[str(command.get("windowHandleName") or "")] = self.opened
        answer, self.answer = self.answer, None
        asked = args if answer is None else {**args, "on_dialog": answer}
        given = _VARIABLE.fullmatch(str(command.get("value") or ""))
        if given is not None and value is not None and value == self.stored.get(given[1]):
            self.used[given[1]] = value
        self.built.add(action, selector, value, opens_tab=opens, fingerprint=targets.fingerprint(), **asked)

    def targets(self, action: str, command: dict[str, Any]) -> RecordedTargets:
        """Return the recorded target and its alternatives."""
        given = self.filled(command.get("target"))
        others = [each[0] for each in as_list(command.get("targets")) if isinstance(each, list) and each]
        found = RecordedTargets(action)
        for text in dict.fromkeys((given, *map(self.filled, others))):
            found.strategies += read_locator(text, found)
        if next(read_locator(given, RecordedTargets(action)), None) is not None:
            found.exact += list_first_of_several(given)
        return found


def _answer(command: dict[str, Any], text: str) -> Any:
    """Return a command's answer to a dialog: yes, no, or a text."""
    name = command["command"].lower()
    if "cancel" in name or "dismiss" in name:
        return "dismiss"
    return {"accept": True, "text": text} if "answer" in name else "accept"


def _acting(action: str) -> Callable[[_SeleniumIdeReader, dict[str, Any], str], None]:
    return lambda reading, command, place: reading.on_element(action, command, place)


def _typing(reading: _SeleniumIdeReader, command: dict[str, Any], place: str) -> None:
    path = (
        "upload_file"
        if "type=file" in str(command.get("targets")).replace("'", "").replace('"', "")
        else "fill"
    )
    reading.on_element(path, command, place, reading.filled(command.get("value")))


_READERS: dict[str, Callable[[_SeleniumIdeReader, dict[str, Any], str], None]] = {
    "open": _SeleniumIdeReader.open,
    "store": _SeleniumIdeReader.store,
    "storeJson": _SeleniumIdeReader.store_json,
    **dict.fromkeys(
        ("storeText", "storeValue", "storeTitle", "storeAttribute", "storeXpathCount", "storeElementCount"),
        _SeleniumIdeReader.store_from_page,
    ),
    "pause": _SeleniumIdeReader.pause,
    "selectFrame": _SeleniumIdeReader.select_frame,
    "selectWindow": _SeleniumIdeReader.select_window,
    "storeWindowHandle": _SeleniumIdeReader.store_window,
    "runScript": _SeleniumIdeReader.script,
    "executeScript": _SeleniumIdeReader.script,
    "executeAsyncScript": _SeleniumIdeReader.script,
    "chooseOkOnNextConfirmation": _SeleniumIdeReader.answer_next,
    "chooseCancelOnNextConfirmation": _SeleniumIdeReader.answer_next,
    "chooseCancelOnNextPrompt": _SeleniumIdeReader.answer_next,
    "answerOnNextPrompt": _SeleniumIdeReader.answer_next,
    "webdriverChooseOkOnVisibleConfirmation": _SeleniumIdeReader.answer_last,
    "webdriverChooseCancelOnVisibleConfirmation": _SeleniumIdeReader.answer_last,
    "webdriverChooseCancelOnVisiblePrompt": _SeleniumIdeReader.answer_last,
    "webdriverAnswerOnVisiblePrompt": _SeleniumIdeReader.answer_last,
    "acceptConfirmation": _SeleniumIdeReader.answer_last,
    "dismissConfirmation": _SeleniumIdeReader.answer_last,
    "dismissPrompt": _SeleniumIdeReader.answer_last,
    "answerPrompt": _SeleniumIdeReader.answer_last,
    "sendKeys": _SeleniumIdeReader.send_keys,
    "select": _SeleniumIdeReader.choose,
    "addSelection": _SeleniumIdeReader.choose,
    "type": _typing,
    "click": _acting("click"),
    "clickAt": _acting("click"),
    "doubleClick": _acting("double_click"),
    "doubleClickAt": _acting("double_click"),
    "check": _acting("check"),
    "uncheck": _acting("uncheck"),
    "dragAndDropToObject": _SeleniumIdeReader.drag,
    "mouseOver": _acting("hover"),
    "mouseDown": _SeleniumIdeReader.press,
    "mouseDownAt": _SeleniumIdeReader.press,
    "mouseUp": _SeleniumIdeReader.let_go,
    "mouseUpAt": _SeleniumIdeReader.let_go,
    "editContent": _SeleniumIdeReader.edit,
}


def _moved(one: str, other: str) -> bool:
    """Whether two places, `x,y` in pixels, are further apart than a hand that shakes."""
    try:
        ours, theirs = ([float(each) for each in text.split(",")] for text in (one, other))
    except ValueError:
        return one != other
    return max((abs(a - b) for a, b in zip(ours, theirs, strict=False)), default=0) > _SHAKES_PX


# -- checks --------------------------------------------------------------------------------------------


def _shows_text(reading: _SeleniumIdeReader, command: dict[str, Any]) -> dict[str, Any] | None:
    text = " ".join(str(command.get("value") or "").split())
    selector = reading.targets("click", command).selector(reading.frame)
    if selector is None or not text:
        return None
    css = next((_css_of(each) for each in selector.strategies if _css_of(each)), None)
    return {"type": "dom_contains", "value": text, **({"selector": css} if css else {})}


def _has_title(_reading: _SeleniumIdeReader, command: dict[str, Any]) -> dict[str, Any] | None:
    title = str(command.get("target") or "").strip()
    return {"type": "title_contains", "value": title} if title else None


def _has_element(kind: str) -> Callable[[_SeleniumIdeReader, dict[str, Any]], dict[str, Any] | None]:
    def made(reading: _SeleniumIdeReader, command: dict[str, Any]) -> dict[str, Any] | None:
        selector = reading.targets("click", command).selector(reading.frame)
        if selector is None:
            return None
        first = Selector(strategies=selector.strategies[:1], frame=selector.frame)
        return {"type": kind, "element": first.model_dump(mode="json", exclude_defaults=True)}

    return made


def _css_of(strategy: Strategy) -> str | None:
    if not isinstance(strategy, ValueStrategy):
        return None
    return {"css": strategy.value, "id": f"[id={css_string(strategy.value)}]"}.get(strategy.type)


_CONDITIONS: dict[str, Callable[[_SeleniumIdeReader, dict[str, Any]], dict[str, Any] | None]] = {
    "Text": _shows_text,
    "Title": _has_title,
    "ElementPresent": _has_element("element_visible"),
    "ElementVisible": _has_element("element_visible"),
    "ElementNotPresent": _has_element("element_absent"),
}
