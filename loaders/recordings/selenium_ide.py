"""Reads Selenium IDE projects (`.side`): each test is a trace.

Commands that only check (assert, verify, wait for) are left out, because the agent waits and judges by
itself. Tests with control flow are refused: the file does not show which branch was taken.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any
from urllib.parse import urljoin

from kb_schema.selectors import NameStrategy, Selector, Strategy, ValueStrategy
from kb_schema.templates import css_string
from loaders.recordings.imported_traces import ImportedTrace, UnreadableRecording, as_list
from loaders.recordings.trace_builder import TraceBuilder

SOURCE = "selenium_ide"
_VARIABLE = re.compile(r"\$\{(\w+)\}")
_KEY = re.compile(r"\$\{KEY_(\w+)\}")
_CONTROL = frozenset({"if", "elseIf", "else", "end", "while", "do", "repeatIf", "times", "forEach"})
_LOOKS = (
    "assert",
    "verify",
    "waitFor",
    "echo",
    "setSpeed",
    "setWindowSize",
    "mouseOut",
    "mouseUp",
    "mouseDown",
    "mouseMoveAt",
    "close",
    "debugger",
)
_SCROLLS = re.compile(r"\s*window\.scroll(?:To|By)?\([\d\s.,-]*\);?\s*")
"""Scripts that the recorder writes for scrolling: the agent scrolls by itself."""
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


def read(data: dict[str, Any], file: Path) -> list[ImportedTrace]:
    """Return a trace per test. Raises `UnreadableRecording` if none is left."""
    tests = data.get("tests")
    if not isinstance(tests, list):
        raise UnreadableRecording(file, "must be a list of tests", "tests")
    found: list[ImportedTrace] = []
    refused: list[str] = []
    for number, test in enumerate(tests):
        commands = test.get("commands") if isinstance(test, dict) else None
        if not isinstance(commands, list):
            refused.append(f"tests[{number}] has no commands")
            continue
        name = str(test.get("name") or number)
        flow = next(
            (
                at
                for at, each in enumerate(commands)
                if isinstance(each, dict) and str(each.get("command")) in _CONTROL
            ),
            None,
        )
        if flow is not None:
            word = commands[flow]["command"]
            refused.append(
                f"tests[{number}] {name!r} has control flow (commands[{flow}]: {word}), so it is not a single trace"
            )
            continue
        found.append(_trace(file, name, commands, f"tests[{number}]", str(data.get("url") or "")))
    if not found:
        raise UnreadableRecording(file, "; ".join(refused) or "has no tests", "tests")
    found[0].trace.metadata.setdefault("problems", []).extend(refused)
    if not found[0].trace.metadata["problems"]:
        del found[0].trace.metadata["problems"]
    return found


def _trace(file: Path, name: str, commands: list[Any], place: str, base: str) -> ImportedTrace:
    reading = _SeleniumIdeReader(TraceBuilder(f"{file.stem}-{_plain(name)}", SOURCE, task=name), base)
    for number, command in enumerate(commands):
        where = f"{place}.commands[{number}]"
        if not isinstance(command, dict) or not isinstance(command.get("command"), str):
            reading.built.problem(where, "is no command; left out")
        else:
            reading.command(command, where)
    return reading.built.finished()


def _plain(name: str) -> str:
    return re.sub(r"\W+", "-", name).strip("-").lower() or "test"


@dataclass
class _SeleniumIdeReader:
    built: TraceBuilder
    base: str
    variables: dict[str, str] = field(default_factory=dict)
    frame: str | None = None
    lost: str | None = None
    """Why the following steps are impossible: an unknown frame or window."""
    windows: dict[str, int] = field(default_factory=dict)
    """Handle -> number of its tab."""
    opened: int = 0
    """The number of opened tabs."""
    answer: Any = None
    """The answer to the dialog that the next step opens."""

    def command(self, command: dict[str, Any], place: str) -> None:
        name = command["command"]
        if name.startswith("//") or name.startswith(_LOOKS) or not name.strip():
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
        if unknown:
            self.built.problem(place, f"the value of ${{{unknown[0]}}} is not in the file; left out")
            return
        reader(self, command, place)

    def filled(self, text: Any) -> str:
        return _VARIABLE.sub(lambda match: self.variables.get(match[1], match[0]), str(text or ""))

    def open(self, command: dict[str, Any], _place: str) -> None:
        url = urljoin(self.base, self.filled(command.get("target")))
        self.built.add("navigate", url=url)
        self.built.url, self.frame, self.lost = url, None, None

    def store(self, command: dict[str, Any], _place: str) -> None:
        self.variables[str(command.get("value") or "")] = self.filled(command.get("target"))

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
        strategies = list(_strategies(target))
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
        if not _SCROLLS.fullmatch(str(command.get("target") or "")):
            self.built.problem(place, f"the command {command['command']!r} cannot be read; left out")

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

    def on_element(self, action: str, command: dict[str, Any], place: str, value: str | None = None) -> None:
        if self.lost is not None:
            return
        given_target = [self.filled(command.get("target"))]
        given_target += [
            self.filled(each[0])
            for each in as_list(command.get("targets"))
            if isinstance(each, list) and each
        ]
        found = tuple(strategy for text in dict.fromkeys(given_target) for strategy in _strategies(text))
        if not found:
            self.built.problem(place, f"the locator {given_target[0]!r} cannot be read; left out")
            return
        opens: int | None = None
        if command.get("opensWindow") is True:
            self.opened += 1
            opens = self.windows[str(command.get("windowHandleName") or "")] = self.opened
        answer, self.answer = self.answer, None
        asked = {} if answer is None else {"on_dialog": answer}
        self.built.add(action, Selector(strategies=found, frame=self.frame), value, opens_tab=opens, **asked)


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
    "pause": _SeleniumIdeReader.pause,
    "selectFrame": _SeleniumIdeReader.select_frame,
    "selectWindow": _SeleniumIdeReader.select_window,
    "storeWindowHandle": _SeleniumIdeReader.store_window,
    "runScript": _SeleniumIdeReader.script,
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
    "type": _typing,
    "click": _acting("click"),
    "clickAt": _acting("click"),
    "doubleClick": _acting("double_click"),
    "doubleClickAt": _acting("double_click"),
    "check": _acting("check"),
    "uncheck": _acting("uncheck"),
    "mouseOver": _acting("hover"),
}


def _strategies(locator: str) -> Iterator[Strategy]:
    """Yield the strategies of a Selenium locator; none if it is not one."""
    if locator.startswith(("//", "(//")):
        yield ValueStrategy(type="xpath", value=locator)
        return
    kind, equals, value = locator.partition("=")
    writer = _LOCATORS.get(kind)
    if equals and value and writer is not None:
        yield writer(value)


_LOCATORS: dict[str, Callable[[str], Strategy]] = {
    "id": lambda value: ValueStrategy(type="id", value=value),
    "name": lambda value: ValueStrategy(type="css", value=f"[name={css_string(value)}]"),
    "css": lambda value: ValueStrategy(type="css", value=value),
    "xpath": lambda value: ValueStrategy(type="xpath", value=value),
    "linkText": lambda value: NameStrategy(type="role_name", role="link", name=value, exact=True),
    "link": lambda value: NameStrategy(type="role_name", role="link", name=value, exact=True),
    "partialLinkText": lambda value: NameStrategy(type="role_name", role="link", name=value),
}
