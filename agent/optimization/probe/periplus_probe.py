"""A pytest plugin that records what Playwright's locators do in a suite: `-p periplus_probe`.

It stands alone: pytest and Playwright, Python 3.9 and later, nothing of Periplus. It only records, unless the
process that started it asks for more (PERIPLUS_PROBE names a JSON file of `ProbeSettings`).
"""
# A plugin in a stranger's process: Playwright is met by its public classes, whatever its version.
# ruff: noqa: D102, D103, SLF001, BLE001, S110

from __future__ import annotations

import ast
import asyncio
import functools
import importlib.util
import inspect
import json
import linecache
import os
import re
import socket
import sys
import time
import traceback
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any, NoReturn, cast

import pytest

FACTORIES = (
    "locator",
    "frame_locator",
    "get_by_alt_text",
    "get_by_label",
    "get_by_placeholder",
    "get_by_role",
    "get_by_test_id",
    "get_by_text",
    "get_by_title",
    "filter",
    "nth",
    "and_",
    "or_",
    "within",
    "describe",
)
PROPERTIES = ("first", "last", "content_frame", "owner", "visible")
ACTIONS = (
    "click",
    "dblclick",
    "hover",
    "fill",
    "clear",
    "press",
    "press_sequentially",
    "type",
    "check",
    "uncheck",
    "set_checked",
    "select_option",
    "select_text",
    "set_input_files",
    "tap",
    "focus",
    "blur",
    "drag_to",
    "dispatch_event",
    "scroll_into_view_if_needed",
    "wait_for",
    "text_content",
    "inner_text",
    "inner_html",
    "input_value",
    "get_attribute",
    "is_checked",
    "is_disabled",
    "is_editable",
    "is_enabled",
    "bounding_box",
    "screenshot",
    "evaluate",
    "element_handle",
)
SHORTCUTS = (
    "click",
    "dblclick",
    "hover",
    "fill",
    "press",
    "type",
    "check",
    "uncheck",
    "set_checked",
    "select_option",
    "set_input_files",
    "tap",
    "focus",
    "dispatch_event",
    "wait_for_selector",
    "text_content",
    "inner_text",
    "inner_html",
    "input_value",
    "get_attribute",
    "is_checked",
    "is_disabled",
    "is_editable",
    "is_enabled",
)
NAVIGATIONS = (
    "goto",
    "reload",
    "go_back",
    "go_forward",
    "wait_for_url",
    "wait_for_load_state",
    "wait_for_function",
)
TYPED = frozenset({"fill", "type", "press_sequentially"})
ABSENT = frozenset({"not_to_be_visible", "to_be_hidden", "not_to_be_attached", "not_to_be_in_viewport"})
_QUOTED = re.compile(r"""["']([^"']*)["']""")
COMMON_VARIABLES = re.compile(
    r"(PYTEST|PERIPLUS|PLAYWRIGHT|LC)_|(HOME|USER|LOGNAME|SHELL|LANG|TERM|PWD|OLDPWD|HOSTNAME|PATH|TZ|CI|EDITOR)$"
)
HIDDEN = "<redacted>"
HURRIED_MS = 300.0
"""Time for a call on a locator that was found elsewhere a moment ago."""
ENDLESS = ("websocket", "eventsource", "ping")
"""Kinds of requests that stay open on an idle page."""
MOST_NOTES, MOST_TEXT = 200, 4000
_LIBRARY = 'Symbol.for("periplus.page.1")'


class ProbeSettings:
    """The settings from the process that started the suite."""

    def __init__(self, said: dict[str, Any]) -> None:
        self.records = Path(said["records"])
        """Folder of the JSON lines, one file per process."""
        self.roots = [os.path.realpath(each) for each in said.get("roots", [])]
        self.host: str = said.get("host", "127.0.0.1")
        self.port: int | None = said.get("port")
        """The address that answers failures; None: failures are only recorded."""
        self.token: str = said.get("token", "")
        self.answer_s: float = said.get("answer_s", 60.0)
        self.action_timeout_ms: float | None = said.get("action_timeout_ms")
        self.settled = {(each[0], each[1]) for each in said.get("settled", ())}
        """Test and selector of calls that failed on an idle page in an earlier run."""
        self.settled_ms: float | None = said.get("settled_ms")
        self.library: str | None = said.get("library")
        """Source of the in-page library: then the elements that the locators of a test lead to are recorded.
        """
        self.is_secret_name: Callable[[str], bool] = _load_secret_names(said.get("secret_fields"))
        """Whether a name, id or label is that of a field for a secret."""
        self.executable: str | None = said.get("executable") or os.environ.get(
            "PLAYWRIGHT_CHROMIUM_EXECUTABLE_PATH"
        )


def _load_secret_names(file: str | None) -> Callable[[str], bool]:
    """Return the rule of `kb_schema/secret_fields.py`; the suite's own environment cannot import it by its name."""
    if file is None:
        return lambda _name: False
    spec = importlib.util.spec_from_file_location("periplus_secret_fields", file)
    if spec is None or spec.loader is None:
        raise ImportError(f"{file} cannot be loaded")
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return cast("Callable[[str], bool]", module.is_secret_name)


class Probe:
    """The state of the run in this process."""

    def __init__(self) -> None:
        self.settings: ProbeSettings | None = None
        self.rootdir = ""
        self.test: ProbedTest | None = None
        self.launched = 0
        self.secrets: list[str] = []
        self.drifted: set[str] = set()
        """Locators that led nowhere and were replaced."""
        """Values that were typed into password fields, or came from the environment."""
        self.remembered: set[str] = set()
        self.errors: list[type] = []
        self.busy = False

    def write(self, kind: str, record: dict[str, Any]) -> None:
        if self.settings is None:
            return
        record = {"record": kind, **record}
        with (self.settings.records / f"probe-{os.getpid()}.jsonl").open("a", encoding="utf-8") as file:
            file.write(json.dumps(record, default=str) + "\n")

    def clean(self, text: str) -> str:
        for secret in self.secrets:
            text = text.replace(secret, HIDDEN)
        return text[:MOST_TEXT]


class ProbedTest:
    """One test while it runs."""

    __test__ = False

    def __init__(self, node: str, file: str) -> None:
        self.node, self.file, self.began = node, file, time.monotonic()
        self.phases: dict[str, dict[str, Any]] = {}
        self.failures: list[FailedPlaywrightCall] = []
        self.console: list[dict[str, Any]] = []
        self.answers: list[dict[str, Any]] = []
        self.failure: dict[str, Any] | None = None
        self.artifacts: list[list[Any]] = []
        self.open_requests: set[Any] = set()
        """Requests of its pages that have no answer yet."""
        self.statuses: dict[str, int] = {}
        """HTTP statuses of the last documents, by address."""


class FailedPlaywrightCall:
    """A failed call of Playwright's, and the error it raised."""

    def __init__(self, error: BaseException, told: dict[str, Any]) -> None:
        self.error, self.told = error, told


PROBE = Probe()


# -- where a call stands ---------------------------------------------------------------------------------


@functools.lru_cache(maxsize=4096)
def _is_own(file: str) -> bool:
    """Return whether a file belongs to the suite."""
    real = os.path.realpath(file)
    parts = Path(real).parts
    if (
        real == os.path.realpath(__file__)
        or "site-packages" in parts
        or "dist-packages" in parts
        or file.startswith("<")
    ):
        return False
    roots = [PROBE.rootdir, *(PROBE.settings.roots if PROBE.settings else [])]
    inside = any(root and (real == root or real.startswith(root.rstrip(os.sep) + os.sep)) for root in roots)
    return inside and not any(
        (parent / "pyvenv.cfg").exists() for parent in Path(real).parents if str(parent) != "/"
    )


@functools.lru_cache(maxsize=8192)
def _span(code: Any, at: int, line: int) -> tuple[int, int, int, int]:
    """Return line, column, end line and end column of an instruction, in characters; only the line before
    Python 3.11.
    """
    if hasattr(code, "co_positions"):
        found = next((each for number, each in enumerate(code.co_positions()) if number == at // 2), None)
        if found and None not in found:
            first, last, start, end = found
            return (
                first,
                _characters(code.co_filename, first, start),
                last,
                _characters(code.co_filename, last, end),
            )
    return line, 0, line, 0


def _characters(file: str, line: int, column: int) -> int:
    text = linecache.getline(file, line)
    return column if text.isascii() else len(text.encode()[:column].decode(errors="ignore"))


def own_frames() -> Iterator[dict[str, Any]]:
    """Return the places of the calls in the suite's own files, innermost first."""
    frame = sys._getframe(1)
    while frame is not None:
        if _is_own(frame.f_code.co_filename):
            line, column, end_line, end_column = _span(frame.f_code, frame.f_lasti, frame.f_lineno)
            yield {
                "file": os.path.realpath(frame.f_code.co_filename),
                "line": line,
                "column": column,
                "end_line": end_line,
                "end_column": end_column,
                "function": frame.f_code.co_name,
            }
        frame = frame.f_back  # type: ignore[assignment]


def is_caught(stack: list[dict[str, Any]]) -> bool:
    """Return whether the suite itself handles an error at one of these places, so that it is no failure."""
    return any(_handled(each["file"], each["line"]) for each in stack)


@functools.lru_cache(maxsize=512)
def _handled(file: str, line: int) -> bool:
    try:
        tree = ast.parse("".join(linecache.getlines(file)))
    except SyntaxError:
        return False
    for node in ast.walk(tree):
        if isinstance(node, ast.Try) and node.handlers and _among(node.body, line):
            if not all(isinstance(each.body[-1], ast.Raise) for each in node.handlers):
                return True
        elif isinstance(node, (ast.With, ast.AsyncWith)) and _among(node.body, line):
            called = [ast.dump(each.context_expr) for each in node.items]
            if any("'raises'" in each or "'suppress'" in each for each in called):
                return True
    return False


def _among(body: list[ast.stmt], line: int) -> bool:
    return any(each.lineno <= line <= (each.end_lineno or each.lineno) for each in body)


# -- locators: the calls that made them --------------------------------------------------------------------


def plain(value: Any) -> Any:
    """Return an argument as JSON; patterns and locators in the form of `LocatorLink`."""
    if value is None or isinstance(value, (str, int, float, bool)):
        return PROBE.clean(value) if isinstance(value, str) else value
    if isinstance(value, re.Pattern):
        flags = "".join(
            letter
            for letter, flag in (("i", re.IGNORECASE), ("m", re.MULTILINE), ("s", re.DOTALL))
            if value.flags & flag
        )
        return {"regex": value.pattern, "flags": flags}
    selector = selector_of(value)
    if selector is not None:
        return {"locator": selector}
    if isinstance(value, (list, tuple)):
        return [plain(each) for each in value]
    if isinstance(value, os.PathLike):
        return os.fspath(value)
    return {"other": type(value).__name__}


def selector_of(locator: Any) -> str | None:
    """Return Playwright's selector of a locator; None for other objects."""
    found = getattr(getattr(locator, "_impl_obj", None), "_selector", None)
    return found if isinstance(found, str) else None


def _linked(made: Any, by: Any, method: str, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
    try:
        link = {
            "method": method,
            "arguments": [plain(each) for each in args],
            "keywords": {name: plain(each) for name, each in kwargs.items() if each is not None},
            "made_at": next(own_frames(), None),
        }
        made._periplus_links = (*getattr(by, "_periplus_links", ()), link)
    except Exception:
        pass  # a locator that cannot be noted is a locator all the same
    return made


def _wrap_factory(cls: type, name: str) -> None:
    original = cls.__dict__[name]

    @functools.wraps(original)
    def wrapper(self: Any, *args: Any, **kwargs: Any) -> Any:
        return _linked(original(self, *args, **kwargs), self, name, args, kwargs)

    setattr(cls, name, wrapper)


def _wrap_property(cls: type, name: str) -> None:
    original = cls.__dict__[name]

    def getter(self: Any) -> Any:
        return _linked(original.fget(self), self, name, (), {})

    setattr(cls, name, property(getter, doc=original.__doc__))


def rebuilt(page: Any, links: list[dict[str, Any]]) -> Any:
    """Return the locator that calls make, starting with the page."""
    made = page
    for link in links:
        member = getattr(made, link["method"])
        if link["method"] in PROPERTIES:
            made = member
            continue
        args = [_given(page, each) for each in link["arguments"]]
        made = member(*args, **{name: _given(page, each) for name, each in link["keywords"].items()})
    return made


def _given(page: Any, value: Any) -> Any:
    if isinstance(value, dict) and "regex" in value:
        flags = {"i": re.IGNORECASE, "m": re.MULTILINE, "s": re.DOTALL}
        return re.compile(
            value["regex"],
            functools.reduce(lambda a, b: a | b, (flags[each] for each in value.get("flags", "")), 0),
        )
    if isinstance(value, dict) and "locator" in value:
        return page.locator(value["locator"])
    return value


# -- calls: actions, assertions, navigations -----------------------------------------------------------------


class PlaywrightCall:
    """A test's call on a page, an element or an expectation of one."""

    def __init__(
        self, kind: str, owner: Any, name: str, args: tuple[Any, ...], kwargs: dict[str, Any]
    ) -> None:
        self.kind, self.owner, self.name, self.args, self.kwargs = kind, owner, name, args, kwargs
        self.stack = list(own_frames())
        self.began = time.monotonic()
        self.soft_before = len(_soft_errors() or ())
        self.hurried = False
        self.target = self._target()
        self.links = list(getattr(self.target, "_periplus_links", ()))
        self.selector = selector_of(self.target)
        if kind == "shortcut":
            self.selector = str(args[0] if args else kwargs.get("selector", ""))
            self.links = [
                {"method": "locator", "arguments": [self.selector], "keywords": {}, "made_at": None}
            ]
        _note_secrets(self)

    def _target(self) -> Any:
        return getattr(self.owner, "_periplus_actual", self.owner) if self.kind == "assertion" else self.owner

    @property
    def page(self) -> Any:
        """The page; None if there is none."""
        page = getattr(self.target, "page", self.target)
        return page if hasattr(page, "goto") and hasattr(page, "context") else None

    @property
    def asked(self) -> bool:
        """Whether its failure may be answered: at the outermost call, for an error that the suite does not
        handle.
        """
        settings = PROBE.settings
        return bool(
            settings and settings.port and PROBE.test and self.page is not None and not is_caught(self.stack)
        )

    def hurry(self) -> dict[str, Any]:
        """The time the call first gets: less if it is known to fail (its locator was found elsewhere before),
        or if only a failure would show that, and failures are answered.
        """
        settings = PROBE.settings
        if settings and self._is_settled(settings):
            return {**self.kwargs, "timeout": settings.settled_ms}
        if not (self.asked and settings and settings.action_timeout_ms) or "timeout" in self.kwargs:
            return self.kwargs
        drifted = self.selector in PROBE.drifted and self.kind in ("action", "shortcut", "assertion")
        if self.negative() or not (drifted or (self.kind == "assertion" and self.links)):
            return self.kwargs
        self.hurried = True
        return {**self.kwargs, "timeout": HURRIED_MS if drifted else settings.action_timeout_ms}

    def _is_settled(self, settings: ProbeSettings) -> bool:
        """Whether its element was waited for in vain on an idle page, and the suite gives it no time of its own."""
        known = PROBE.test is not None and (PROBE.test.node, self.selector) in settings.settled
        own = "timeout" in self.kwargs or getattr(self.page, "_periplus_own_timeout", False)
        return bool(
            known and settings.port is None and settings.settled_ms and not own and not self.negative()
        )

    def negative(self) -> bool:
        if self.name == "to_have_count":
            return bool((self.args or (self.kwargs.get("count"),))[0] == 0)
        return self.name in ABSENT or (
            self.name in ("wait_for", "wait_for_selector")
            and self.kwargs.get("state") in ("hidden", "detached")
        )

    def told(self, error: BaseException) -> dict[str, Any]:
        """Return the failure, for the record and for the process that answers it."""
        expected, received = _compared(error)
        frame = getattr(getattr(self.target, "_impl_obj", None), "_frame", None)
        page, parent = self.page, getattr(frame, "_parent_frame", None)
        kinds = {"shortcut": "action", "page": "assertion"}
        own = self.kwargs.get("timeout")
        return {
            "failure_id": f"{os.getpid()}-{time.monotonic_ns()}",
            "test_id": PROBE.test.node if PROBE.test else "",
            "file": PROBE.test.file if PROBE.test else "",
            "kind": kinds.get(self.kind, self.kind),
            "action": f"expect.{self.name}" if self.kind == "assertion" else self.name,
            "arguments": self._arguments(),
            "links": self.links,
            "selector": PROBE.clean(self.selector) if self.selector else None,
            "error_type": type(error).__name__,
            "message": PROBE.clean(str(error)),
            "expected": expected,
            "received": received,
            "called_at": self.stack[0] if self.stack else None,
            "stack": self.stack[::-1],
            "url": _quietly(lambda: page.url) or "",
            "frame_url": _quietly(lambda: getattr(frame, "url", None)) if parent is not None else None,
            "waited_ms": (time.monotonic() - self.began) * 1000,
            "timeout_ms": own,
            "shortened": self.hurried
            or (own is None and self.kind in ("action", "shortcut") and _is_shortened(page)),
            "idle": PROBE.test is not None and not PROBE.test.open_requests,
            "negative": self.negative(),
            "caught": is_caught(self.stack),
            "substituted": None,
            "port": _port_of(page),
            "status": (PROBE.test.statuses.get(_quietly(lambda: page.url) or "") if PROBE.test else None),
        }

    def _arguments(self) -> list[str]:
        """Return the call's arguments; never what was typed."""
        given = list(self.args[1:] if self.kind == "shortcut" else self.args)
        if self.name in TYPED:
            given = [HIDDEN for _ in given]
        named = {
            name: each for name, each in self.kwargs.items() if name not in ("selector", "value", "text")
        }
        told = [json.dumps(plain(each)) for each in given] + [
            f"{name}={json.dumps(plain(each))}" for name, each in named.items()
        ]
        return [PROBE.clean(each)[:300] for each in told]

    def again(self, answer: dict[str, Any], original: Callable[..., Any]) -> Callable[[], Any]:
        """Repeat the call: on another locator, or with more time."""
        kwargs = dict(self.kwargs)
        if answer["verdict"] == "wait":
            kwargs["timeout"] = answer["timeout_ms"]
            return lambda: original(self._again_on(self.target), *self.args, **kwargs)
        other = rebuilt(self.page, answer["links"])
        if self.kind == "shortcut":
            kwargs.pop("selector", None)
            member = getattr(type(self.page), self.name)
            member = getattr(member, "_periplus_original", member)
            return lambda: member(self.page, selector_of(other), *self.args[1:], **kwargs)
        return lambda: original(self._again_on(other), *self.args, **kwargs)

    def _again_on(self, locator: Any) -> Any:
        if self.kind != "assertion":
            return self.owner if self.kind == "shortcut" else locator
        expect, soft, message = self.owner._periplus_expect
        return (expect.soft if soft else expect)(locator, message)


def _compared(error: BaseException) -> tuple[str | None, str | None]:
    """Return expected and received values as Playwright has them."""
    for frame, _ in traceback.walk_tb(error.__traceback__):
        result = frame.f_locals.get("result")
        if isinstance(result, dict) and "matches" in result and "expected" in frame.f_locals:
            expected, received = frame.f_locals["expected"], result.get("received")
            if isinstance(received, dict):
                received = received.get("value")
            told = [
                None
                if each is None
                else PROBE.clean(each if isinstance(each, str) else json.dumps(plain(each)))
                for each in (expected, received)
            ]
            return told[0], told[1]
    return None, None


def _soft_errors() -> list[AssertionError] | None:
    return getattr(sys.modules.get("playwright._impl._assertions"), "_soft_errors", None)


def _names_a_secret(text: str) -> bool:
    """Return whether a selector, or the name of a variable, is that of a secret."""
    if PROBE.settings is None:
        return False
    return any(map(PROBE.settings.is_secret_name, (*_QUOTED.findall(text), *re.split(r"[^\w-]+", text))))


def _note_secrets(call: PlaywrightCall) -> None:
    """Values that must not be recorded: typed into password fields, or from the environment."""
    given = [each for each in (*call.args, *call.kwargs.values()) if isinstance(each, str) and len(each) >= 4]
    if not given:
        return
    environment = {
        value
        for name, value in os.environ.items()
        if len(value) >= (4 if _names_a_secret(name) else 6) and not COMMON_VARIABLES.match(name)
    }
    found = [each for each in given if each in environment]
    if call.name in TYPED and _names_a_secret(call.selector or ""):
        found += given[1:] if call.kind == "shortcut" else given
    for value in found:
        if value not in PROBE.secrets and value != call.selector:
            PROBE.secrets.append(value)


def _quietly(ask: Callable[[], Any]) -> Any:
    try:
        return ask()
    except Exception:
        return None


def _is_shortened(page: Any) -> bool:
    context = _quietly(lambda: page.context)
    return any(getattr(each, "_periplus_shortened", False) for each in (context,)) and not getattr(
        page, "_periplus_own_timeout", False
    )


def _port_of(page: Any) -> int | None:
    context = _quietly(lambda: page.context)
    return next(
        (
            port
            for each in (context, getattr(context, "browser", None))
            if (port := getattr(each, "_periplus_port", None))
        ),
        None,
    )


def _wrap_sync(cls: type, name: str, kind: str) -> None:
    original = cls.__dict__[name]

    @functools.wraps(original)
    def wrapper(self: Any, *args: Any, **kwargs: Any) -> Any:
        __tracebackhide__ = True
        if PROBE.test is None or PROBE.busy:
            return original(self, *args, **kwargs)
        call = _quietly(lambda: PlaywrightCall(kind, self, name, args, kwargs))
        if call is None:
            return original(self, *args, **kwargs)
        _remember(call)
        result: Any = None
        try:
            result = original(self, *args, **call.hurry())
            error: Any = _new_soft(call)
            if error is None:
                return result
        except (*PROBE.errors, AssertionError) as exc:  # type: ignore[misc]
            error = exc
        told = _failed(call, error)
        again = _repeat(call, original, told, _answer_sync(call, told))
        if again is None and not call.hurried:
            return _give_up(call, error)
        again = again or _in_its_own_time(call, original, told)
        try:
            result = again()
            repeated = _new_soft(call)
        except (*PROBE.errors, AssertionError) as exc:  # type: ignore[misc]
            repeated = exc
        _repeated(call, told, repeated)
        if repeated is not None:
            return _give_up(call, repeated)
        return result

    wrapper._periplus_original = original  # type: ignore[attr-defined]
    setattr(cls, name, wrapper)


def _wrap_async(cls: type, name: str, kind: str) -> None:
    original = cls.__dict__[name]

    @functools.wraps(original)
    def wrapper(self: Any, *args: Any, **kwargs: Any) -> Any:
        if PROBE.test is None or PROBE.busy:
            return original(self, *args, **kwargs)
        call = _quietly(lambda: PlaywrightCall(kind, self, name, args, kwargs))  # its place is known only now
        return original(self, *args, **kwargs) if call is None else _run_async(original, call)

    wrapper._periplus_original = original  # type: ignore[attr-defined]
    setattr(
        cls,
        name,
        inspect.markcoroutinefunction(wrapper) if hasattr(inspect, "markcoroutinefunction") else wrapper,
    )


async def _run_async(original: Callable[..., Any], call: PlaywrightCall) -> Any:
    __tracebackhide__ = True
    await _remember_async(call)
    result: Any = None
    try:
        result = await original(call.owner, *call.args, **call.hurry())
        error: Any = _new_soft(call)
        if error is None:
            return result
    except (*PROBE.errors, AssertionError) as exc:  # type: ignore[misc]
        error = exc
    told = _failed(call, error)
    again = _repeat(call, original, told, await _answer_async(call, told))
    if again is None and not call.hurried:
        return _give_up(call, error)
    again = again or _in_its_own_time(call, original, told)
    try:
        result = await again()
        repeated = _new_soft(call)
    except (*PROBE.errors, AssertionError) as exc:  # type: ignore[misc]
        repeated = exc
    _repeated(call, told, repeated)
    if repeated is not None:
        return _give_up(call, repeated)
    return result


def _new_soft(call: PlaywrightCall) -> AssertionError | None:
    """Return a soft assertion that failed in this call; it is removed until the answer has come."""
    soft = _soft_errors()
    return soft.pop() if soft is not None and len(soft) > call.soft_before else None


def _give_up(call: PlaywrightCall, error: BaseException) -> Any:
    """Raise the failure as it would be without the probe."""
    __tracebackhide__ = True
    soft = _soft_errors()
    if (
        soft is not None
        and getattr(call.owner, "_periplus_expect", (None, False))[1]
        and isinstance(error, AssertionError)
    ):
        soft.append(error)
        return None
    return _raise(error)


def _raise(error: BaseException) -> NoReturn:
    __tracebackhide__ = True
    raise error


def _failed(call: PlaywrightCall, error: BaseException) -> dict[str, Any]:
    told = _quietly(lambda: call.told(error)) or {
        "kind": "other",
        "message": PROBE.clean(str(error)),
        "negative": True,
    }
    if PROBE.test is not None:
        PROBE.test.failures.append(FailedPlaywrightCall(error, told))
    return cast("dict[str, Any]", told)


def _repeat(
    call: PlaywrightCall, original: Callable[..., Any], told: dict[str, Any], answer: dict[str, Any]
) -> Callable[[], Any] | None:
    if answer.get("verdict") not in ("substitute", "wait") or (
        told["negative"] and answer["verdict"] == "substitute"
    ):
        return None
    told["substituted"] = {"verdict": answer["verdict"]}
    call.soft_before = len(_soft_errors() or ())
    again: Callable[[], Any] | None = _quietly(lambda: call.again(answer, original))
    return again


def _in_its_own_time(
    call: PlaywrightCall, original: Callable[..., Any], told: dict[str, Any]
) -> Callable[[], Any]:
    """Repeat the call with its full time: it had less, and there was no other answer."""
    told["substituted"] = {"verdict": "own_time"}
    call.soft_before = len(_soft_errors() or ())
    return lambda: original(call.owner, *call.args, **call.kwargs)


def _repeated(call: PlaywrightCall, told: dict[str, Any], error: BaseException | None) -> None:
    told["substituted"]["worked"] = error is None
    if error is None and told["substituted"]["verdict"] == "substitute" and call.selector:
        PROBE.drifted.add(call.selector)
    if error is not None:
        told["substituted"]["message"] = PROBE.clean(str(error))
        if PROBE.test is not None:
            PROBE.test.failures.append(
                FailedPlaywrightCall(error, {**call.told(error), "substituted": told["substituted"]})
            )
    if told["substituted"]["verdict"] != "own_time":
        _send({"type": "repeated", "failure_id": told["failure_id"], "worked": error is None})


# -- questions to the parent process ------------------------------------------------------------------------------


def _message(told: dict[str, Any], target: str | None) -> dict[str, Any]:
    test = PROBE.test
    return {
        "type": "failure",
        **told,
        "target_id": target,
        "console": test.console if test else [],
        "answers": test.answers if test else [],
    }


def _line(message: dict[str, Any]) -> bytes:
    token = PROBE.settings.token if PROBE.settings else ""
    return (json.dumps({"token": token, **message}, default=str) + "\n").encode()


def _send(message: dict[str, Any]) -> None:
    settings = PROBE.settings
    if settings is None or settings.port is None:
        return
    try:
        with socket.create_connection((settings.host, settings.port), timeout=5) as connection:
            connection.sendall(_line(message))
            connection.recv(16)  # until it was read
    except OSError:
        pass


async def _exchange(message: dict[str, Any]) -> dict[str, Any]:
    settings = PROBE.settings
    if settings is None or settings.port is None:
        return {"verdict": "raise"}
    try:
        reader, writer = await asyncio.open_connection(settings.host, settings.port, limit=1 << 24)
        try:
            writer.write(_line(message))
            await writer.drain()
            answer = json.loads(await asyncio.wait_for(reader.readline(), settings.answer_s) or b"{}")
        finally:
            writer.close()
    except (TimeoutError, OSError, ValueError):
        return {"verdict": "raise"}
    return answer if isinstance(answer, dict) else {"verdict": "raise"}


def _answer_sync(call: PlaywrightCall, told: dict[str, Any]) -> dict[str, Any]:
    if not call.asked:
        return {"verdict": "raise"}
    PROBE.busy = True
    try:
        session = call.page.context.new_cdp_session(call.page)
        target = session.send("Target.getTargetInfo")["targetInfo"]["targetId"]
        session.detach()
        # The page's events are heard meanwhile, as in any wait of Playwright's.
        answer: dict[str, Any] = call.page._sync(_exchange(_message(told, target)))
    except Exception:
        return {"verdict": "raise"}
    finally:
        PROBE.busy = False
    return answer


async def _answer_async(call: PlaywrightCall, told: dict[str, Any]) -> dict[str, Any]:
    if not call.asked:
        return {"verdict": "raise"}
    try:
        session = await call.page.context.new_cdp_session(call.page)
        target = (await session.send("Target.getTargetInfo"))["targetInfo"]["targetId"]
        await session.detach()
        return await _exchange(_message(told, target))
    except Exception:
        return {"verdict": "raise"}


# -- what a locator leads to, in passing runs --------------------------------------------------------------------

_LOOK = (
    "(el) => { let top = window; try { while (top.parent !== top && top.parent.document) top = top.parent; } catch {}"
    f" const it = top[{_LIBRARY}]; if (!it) return null;"
    " const said = it.lookFrom(el, false); const look = JSON.parse(said);"
    " return look && look.at < 0 ? it.lookFrom(el, true) : said; }"
)


def _unknown(call: PlaywrightCall) -> str | None:
    """Return the key under which a locator's element is recorded; None if that is known, or not wanted."""
    if PROBE.settings is None or PROBE.settings.library is None or PROBE.test is None or call.page is None:
        return None
    if call.kind not in ("action", "shortcut", "assertion") or not call.selector or call.negative():
        return None
    key = json.dumps([PROBE.test.node, call.selector, call.stack[:1]])
    return None if key in PROBE.remembered else key


def _looked(call: PlaywrightCall, key: str, said: str | None) -> None:
    if said is None or said == "null" or PROBE.test is None:
        return
    PROBE.remembered.add(key)
    PROBE.write(
        "remembered",
        {
            "test_id": PROBE.test.node,
            "action": call.name,
            "links": call.links,
            "selector": call.selector,
            "called_at": call.stack[0] if call.stack else None,
            "url": _quietly(lambda: call.page.url),
            "look": said,
        },
    )


def _may_come(call: PlaywrightCall) -> bool:
    """Return whether to wait for a missing element: the call itself would wait."""
    healing = PROBE.settings is not None and PROBE.settings.port is not None
    return not healing and call.kind != "assertion" and not is_caught(call.stack)


def _located(call: PlaywrightCall) -> Any:
    return call.target.locator(call.selector) if call.kind == "shortcut" else call.target


def _script() -> str:
    return Path((PROBE.settings and PROBE.settings.library) or "").read_text(encoding="utf-8")


def _remember(call: PlaywrightCall) -> None:
    key = _unknown(call)
    if key is None:
        return
    PROBE.busy = True
    try:
        found = _located(call).element_handles()
        if not found and _may_come(call):
            _located(call).first.wait_for(
                state="attached", timeout=min(2000, call.kwargs.get("timeout") or 2000)
            )
            found = _located(call).element_handles()
        if len(found) == 1:
            said = found[0].evaluate(_LOOK)
            if said is None:
                call.page.evaluate(_script())
                said = found[0].evaluate(_LOOK)
            _looked(call, key, said)
    except Exception:
        pass  # the test itself will say what is wrong
    finally:
        PROBE.busy = False


async def _remember_async(call: PlaywrightCall) -> None:
    key = _unknown(call)
    if key is None:
        return
    try:
        found = await _located(call).element_handles()
        if not found and _may_come(call):
            await type(call.target).wait_for._periplus_original(
                _located(call).first, state="attached", timeout=min(2000, call.kwargs.get("timeout") or 2000)
            )
            found = await _located(call).element_handles()
        if len(found) == 1:
            said = await found[0].evaluate(_LOOK)
            if said is None:
                await call.page.evaluate(_script())
                said = await found[0].evaluate(_LOOK)
            _looked(call, key, said)
    except Exception:
        pass


# -- browsers and contexts ---------------------------------------------------------------------------------------


def _free_port() -> int:
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        return int(taken.getsockname()[1])


def _launch_options(browser_type: Any, kwargs: dict[str, Any]) -> tuple[dict[str, Any], int | None]:
    settings = PROBE.settings
    PROBE.launched += 1
    if settings is None or browser_type.name != "chromium":
        return kwargs, None
    options, port = dict(kwargs), None
    if settings.executable and not options.get("executable_path") and not options.get("channel"):
        options["executable_path"] = settings.executable
    given = list(options.get("args") or [])
    if settings.port is not None and not any(str(each).startswith("--remote-debugging") for each in given):
        port = _free_port()
        options["args"] = [*given, f"--remote-debugging-port={port}"]
    return options, port


def _listen(context: Any) -> None:
    """Record what goes wrong in a context; nothing is answered."""

    def note(kind: str, said: dict[str, Any]) -> None:
        test = PROBE.test
        if test is not None:
            notes: list[dict[str, Any]] = getattr(test, kind)
            if len(notes) < MOST_NOTES:
                notes.append(said)

    def console(message: Any) -> None:
        if message.type in ("error", "warning"):
            note(
                "console",
                {
                    "kind": message.type,
                    "text": PROBE.clean(message.text),
                    "url": _quietly(lambda: message.page.url) or "",
                },
            )

    def weberror(error: Any) -> None:
        note(
            "console",
            {
                "kind": "pageerror",
                "text": PROBE.clean(str(error.error)),
                "url": _quietly(lambda: error.page.url) or "",
            },
        )

    def response(answer: Any) -> None:
        request = answer.request
        if request.resource_type == "document" and PROBE.test is not None:
            PROBE.test.statuses[answer.url] = answer.status
        if answer.status >= 400:
            note(
                "answers",
                {
                    "method": request.method,
                    "url": answer.url,
                    "status": answer.status,
                    "resource_type": request.resource_type,
                },
            )

    def request(sent: Any) -> None:
        if PROBE.test is not None and sent.resource_type not in ENDLESS:
            PROBE.test.open_requests.add(sent)

    def ended(sent: Any) -> None:
        if PROBE.test is not None:
            PROBE.test.open_requests.discard(sent)

    def requestfailed(request: Any) -> None:
        ended(request)
        note(
            "answers",
            {
                "method": request.method,
                "url": request.url,
                "failure": str(request.failure),
                "resource_type": request.resource_type,
            },
        )

    for event, handler in (
        ("console", console),
        ("weberror", weberror),
        ("response", response),
        ("requestfailed", requestfailed),
        ("request", request),
        ("requestfinished", ended),
    ):
        _quietly(functools.partial(context.on, event, handler))


def _opened(made: Any, port: int | None = None) -> Any:
    """Wrap a context, or a page with a context of its own."""
    PROBE.launched += 1
    context = made if hasattr(made, "pages") else made.context
    if not getattr(context, "_periplus_heard", False):
        context._periplus_heard = True
        if port is not None:
            context._periplus_port = port
        _listen(context)
        settings = PROBE.settings
        if settings is not None and settings.port is not None and settings.action_timeout_ms:
            _original(type(context), "set_default_timeout")(context, settings.action_timeout_ms)
            _original(type(context), "set_default_navigation_timeout")(context, 30_000)
            context._periplus_shortened = True
    return made


def _original(cls: type, name: str) -> Callable[..., Any]:
    member = getattr(cls, name)
    return getattr(member, "_periplus_original", member)  # type: ignore[no-any-return]


def _wrap_timeouts(cls: type) -> None:
    """Keep the times that a suite sets itself."""
    original = cls.__dict__["set_default_timeout"]

    @functools.wraps(original)
    def wrapper(self: Any, timeout: float) -> None:
        original(self, timeout)
        self._periplus_own_timeout = True
        if getattr(self, "_periplus_shortened", False):
            self._periplus_shortened = False
            _original(cls, "set_default_navigation_timeout")(self, timeout)

    wrapper._periplus_original = original  # type: ignore[attr-defined]
    cls.set_default_timeout = wrapper  # type: ignore[attr-defined]


def _wrap_opening(cls: type, name: str, *, launches: bool = False) -> None:
    """Wrap what opens browsers and contexts. A launched browser knows its debugging port."""
    original = cls.__dict__[name]

    def before(self: Any, kwargs: dict[str, Any]) -> tuple[dict[str, Any], int | None]:
        return _launch_options(self, kwargs) if launches else (kwargs, None)

    def after(made: Any, port: int | None) -> Any:
        if name == "launch":
            made._periplus_port = port
            return made
        return _opened(made, port)

    if inspect.iscoroutinefunction(original):

        @functools.wraps(original)
        async def wrapper(self: Any, *args: Any, **kwargs: Any) -> Any:
            options, port = before(self, kwargs)
            return after(await original(self, *args, **options), port)
    else:

        @functools.wraps(original)
        def wrapper(self: Any, *args: Any, **kwargs: Any) -> Any:
            options, port = before(self, kwargs)
            return after(original(self, *args, **options), port)

    setattr(cls, name, wrapper)


def _wrap_expect(cls: type) -> None:
    """Record which locator an expectation is about."""
    for name in ("__call__", "soft"):
        original = cls.__dict__.get(name)
        if original is None:
            continue

        def wrapper(
            self: Any, actual: Any, message: Any = None, *, _original: Any = original, _name: str = name
        ) -> Any:
            made = _original(self, actual, message)
            _quietly(
                lambda: made.__dict__.update(
                    _periplus_actual=actual, _periplus_expect=(self, _name == "soft", message)
                )
            )
            return made

        setattr(cls, name, functools.wraps(original)(wrapper))


def _install(api: Any) -> None:
    """Wrap the public classes of one of Playwright's two APIs."""

    def having(cls: Any, names: Any) -> list[str]:
        return [] if cls is None else [each for each in names if each in cls.__dict__]

    def wrap(cls: Any, names: Any, kind: str) -> None:
        for name in having(cls, names):
            (_wrap_async if inspect.iscoroutinefunction(cls.__dict__[name]) else _wrap_sync)(cls, name, kind)

    for cls in (api.Page, api.Frame, api.FrameLocator, api.Locator):
        for name in having(cls, FACTORIES):
            _wrap_factory(cls, name)
    for cls in (api.FrameLocator, api.Locator):
        for name in having(cls, PROPERTIES):
            if isinstance(cls.__dict__[name], property):
                _wrap_property(cls, name)
    wrap(api.Locator, ACTIONS, "action")
    for cls in (api.Page, api.Frame):
        wrap(cls, SHORTCUTS, "shortcut")
        wrap(cls, NAVIGATIONS, "navigation")
    for name in ("LocatorAssertions", "PageAssertions"):
        cls = getattr(api, name, None)
        wrap(cls, [each for each in vars(cls or object) if each.startswith(("to_", "not_to_"))], "assertion")
    _wrap_expect(type(api.expect))
    _wrap_opening(api.BrowserType, "launch", launches=True)
    _wrap_opening(api.BrowserType, "launch_persistent_context", launches=True)
    _wrap_opening(api.Browser, "new_context")
    _wrap_opening(api.Browser, "new_page")
    _wrap_timeouts(api.BrowserContext)
    _wrap_timeouts(api.Page)
    PROBE.errors = [api.Error]


# -- pytest --------------------------------------------------------------------------------------------------------


def pytest_configure(config: pytest.Config) -> None:
    place = os.environ.get("PERIPLUS_PROBE")
    if not place or PROBE.settings is not None:
        return
    PROBE.settings = ProbeSettings(json.loads(Path(place).read_text(encoding="utf-8")))
    PROBE.rootdir = os.path.realpath(str(getattr(config, "rootpath", "")))
    try:
        from playwright import async_api, sync_api  # noqa: PLC0415 - only in a suite that has it
    except ImportError as exc:
        PROBE.write("session", {"problem": f"Playwright is not installed for {sys.executable}: {exc}"})
        return
    _install(sync_api)
    _install(async_api)


def pytest_collectreport(report: pytest.CollectReport) -> None:
    if report.failed:
        PROBE.write(
            "collect_error",
            {"node": report.nodeid, "message": PROBE.clean(str(report.longrepr)[-MOST_TEXT:])},
        )


def pytest_collection_finish(session: pytest.Session) -> None:
    PROBE.write("collected", {"tests": [each.nodeid for each in session.items]})


@pytest.hookimpl(hookwrapper=True, tryfirst=True)
def pytest_runtest_protocol(item: pytest.Item) -> Iterator[None]:
    PROBE.test = test = ProbedTest(item.nodeid, str(item.path) if hasattr(item, "path") else str(item.fspath))
    PROBE.write("began", {"test_id": test.node})
    yield
    outcomes = [each["outcome"] for each in test.phases.values()]
    status = "passed"
    if "failed" in outcomes:
        status = "failed" if test.phases.get("call", {}).get("outcome") == "failed" else "error"
    elif "skipped" in outcomes:
        status = "skipped"
    PROBE.write(
        "test",
        {
            "test_id": test.node,
            "file": test.file,
            "status": status,
            "phases": test.phases,
            "failure": test.failure,
            "duration_ms": (time.monotonic() - test.began) * 1000,
            "console": test.console,
            "answers": test.answers,
            "failures": [each.told for each in test.failures],
            "artifacts": test.artifacts,
        },
    )
    PROBE.test = None


@pytest.hookimpl(hookwrapper=True)
def pytest_runtest_makereport(item: pytest.Item, call: pytest.CallInfo[None]) -> Iterator[None]:
    outcome = yield
    report = outcome.get_result()  # type: ignore[attr-defined]
    test = PROBE.test
    if test is None or test.node != item.nodeid:
        return
    test.phases[report.when] = {"outcome": report.outcome, "duration_ms": report.duration * 1000}
    test.artifacts = [list(each) for each in report.user_properties if str(each[0]).startswith("playwright_")]
    if report.failed and call.excinfo is not None and test.failure is None:
        test.failure = {**_blamed(test, call.excinfo.value), "phase": report.when}


def _blamed(test: ProbedTest, error: BaseException) -> dict[str, Any]:
    """Return the failed call of Playwright's that an error is about; otherwise the error."""
    for each in _chain(error):
        found = next((failed.told for failed in test.failures if failed.error is each), None)
        if found is not None:
            return found
    stack = [
        {
            "file": os.path.realpath(frame.f_code.co_filename),
            "line": line,
            "column": 0,
            "end_line": line,
            "end_column": 0,
            "function": frame.f_code.co_name,
        }
        for frame, line in traceback.walk_tb(error.__traceback__)
        if _is_own(frame.f_code.co_filename)
    ]
    return {
        "kind": "other",
        "action": "",
        "links": [],
        "selector": None,
        "error_type": type(error).__name__,
        "message": PROBE.clean(str(error)),
        "called_at": stack[-1] if stack else None,
        "stack": stack,
        "url": "",
    }


def _chain(error: BaseException) -> Iterator[BaseException]:
    """Yield an error, its causes, and the members of a group."""
    seen: list[BaseException] = []
    waiting: list[BaseException | None] = [error]
    while waiting:
        each = waiting.pop(0)
        if each is None or each in seen:
            continue
        seen.append(each)
        yield each
        waiting += [
            *getattr(each, "exceptions", ()),
            each.__cause__,
            None if each.__suppress_context__ else each.__context__,
        ]


def pytest_sessionfinish(session: pytest.Session, exitstatus: int) -> None:
    PROBE.write(
        "session", {"exit": int(exitstatus), "launched": PROBE.launched, "failed": session.testsfailed}
    )


def pytest_internalerror(excrepr: Any) -> None:
    PROBE.write("session", {"problem": PROBE.clean(str(excrepr)[-MOST_TEXT:])})
