"""Reads demonstrations in the format of MiniWoB++: an utterance, and the page as a tree before each event.

Every event occurs twice (in the capture and the bubble phase). Clicks, presses and keys become the intended
actions: the final value of a field is what was typed.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from html import escape
from pathlib import Path
from typing import Any

from loaders.recordings.field_names import MarkedFields
from loaders.recordings.imported_traces import ImportedTrace, UnreadableRecording
from loaders.recordings.marked_pages import MARK, MarkedPage
from loaders.recordings.trace_builder import TraceBuilder

SOURCE = "demonstrations"
_DOWN = 1
_TEXT_FIELDS = frozenset(
    {
        "input_text",
        "input_password",
        "input_date",
        "input_number",
        "input_search",
        "input_email",
        "input_tel",
        "input_url",
        "input_time",
        "textarea",
    }
)
_TOGGLES = frozenset({"input_checkbox", "input_radio"})
_CLICKED = frozenset({"a", "button", "label", "summary", "option", *_TOGGLES})
_POINTED = re.compile(r"(?:^|[-_])(?:hover|hovered|focus|focused)$")
_VOID = frozenset({"input", "img", "br", "hr"})
_ENTER, _ESCAPE = 13, 27
_KEYS = {_ENTER: "Enter", _ESCAPE: "Escape"}
_SAME_PRESS_MS = 60
"""The most milliseconds between a click on a label and the browser's click on its field."""

_LATEST_MS = 1e13
"""The most milliseconds of a state's time; what is more is no time."""

DemonstrationNode = dict[str, Any]
DemonstrationNodePath = tuple[int, ...]
"""The position of an element: the child indices from the root."""


def read(data: dict[str, Any], file: Path, marks: MarkedFields = MarkedFields()) -> list[ImportedTrace]:  # noqa: B008 - frozen
    """Return the trace. Raises `UnreadableRecording` if it contains no action."""
    states = data.get("states")
    if not isinstance(states, list) or not all(isinstance(each, dict) for each in states):
        raise UnreadableRecording(file, "must be a list of states", "states")
    broken = next((at for at, each in enumerate(states) if not _is_tree(each.get("dom"))), None)
    if broken is not None:
        raise UnreadableRecording(file, "has no page", f"states[{broken}]")
    broken = next((at for at, each in enumerate(states) if not _is_event(each.get("action"))), None)
    if broken is not None:
        raise UnreadableRecording(file, "has no event", f"states[{broken}].action")
    name = f"{data['taskName']}-{file.name.split('.')[0]}"
    built = TraceBuilder(
        name, SOURCE, task=str(data.get("utterance") or ""), marks=marks, task_name=str(data["taskName"])
    )
    built.plain = str(data.get("utterance") or "")
    if not states:
        raise UnreadableRecording(file, "has no states: nothing was done", "states")
    for act in _without_detours(list(_drop_auxiliary_acts(list(_acts(states))))):
        page = MarkedPage(_html(act.before, act.target))
        built.add(
            act.action,
            page.selector,
            act.value,
            secret=page.is_password,
            html_before=page.html,
            html_after=_html(act.after, None),
            at=datetime.fromtimestamp(0, UTC) + timedelta(milliseconds=act.time),
        )
    reward = data.get("rawReward", data.get("reward"))
    failed = isinstance(reward, int | float) and reward <= 0
    return [built.finished(error=f"it ended with the reward {reward}" if failed else None)]


@dataclass(slots=True)
class _DemonstratedAction:
    """An action, with the page before and after."""

    action: str
    time: float
    target: DemonstrationNodePath | None
    before: DemonstrationNode
    after: DemonstrationNode
    value: str | None = None
    wanted: bool = True


def _is_tree(page: Any) -> bool:
    """Return whether every node is an object with a tag, whose children are a list."""
    stack = [page]
    while stack:
        node = stack.pop()
        if not isinstance(node, dict) or not isinstance(node.get("tag"), str):
            return False
        children = node.get("children") or []
        if not isinstance(children, list):
            return False
        stack += children
    return True


def _is_event(action: Any) -> bool:
    """Return whether it is an event, or none: the state before the first one."""
    if not action:
        return True
    return isinstance(action, dict) and isinstance(action.get("keyCode"), int | None)


def _acts(states: list[DemonstrationNode]) -> Iterator[_DemonstratedAction]:
    """Return clicks and keys, each preceded by what was typed since the one before."""
    events = [state for state in states if (state.get("action") or {}).get("timing", _DOWN) == _DOWN]
    typed_from: DemonstrationNode | None = None
    """The page when typing began."""
    pressed: DemonstrationNode | None = None
    for state in events:
        action, dom = state.get("action") or {}, state["dom"]
        kind = action.get("type")
        if kind == "mousedown":
            yield from _typed(typed_from, dom, state)
            typed_from, pressed = _in_field(dom), dom
        elif kind in ("keydown", "keypress"):
            typed_from = typed_from or dom
            if kind == "keydown" and action.get("keyCode") in _KEYS:
                yield from _typed(typed_from, dom, state)
                typed_from = None
                yield _DemonstratedAction(
                    "press", _time(state), _place(dom), dom, dom, _KEYS[action["keyCode"]]
                )
        elif kind == "click":
            yield from _typed(typed_from, dom, state)
            typed_from = _in_field(dom)
            yield _DemonstratedAction(
                "click", _time(state), _place(dom), pressed if pressed is not None else dom, dom
            )
    last = states[-1]
    yield from _typed(typed_from, last["dom"], last)
    yield _DemonstratedAction("end", _time(last), None, last["dom"], last["dom"])


def _in_field(dom: DemonstrationNode) -> DemonstrationNode | None:
    """Return the page if a field is pressed: its arrows and lists may change it without a key."""
    place = _place(dom)
    return dom if place is not None and _kind(_at(dom, place)) in _TEXT_FIELDS else None


def _typed(
    before: DemonstrationNode | None, now: DemonstrationNode, state: DemonstrationNode
) -> Iterator[_DemonstratedAction]:
    """Return the fields whose text changed."""
    if before is None:
        return
    former = {
        place: node.get("value") for place, node in _iterate_nodes(before) if _kind(node) in _TEXT_FIELDS
    }
    for place, node in _iterate_nodes(now):
        if place in former and (node.get("value") or "") != (former[place] or ""):
            yield _DemonstratedAction("fill", _time(state), place, before, now, str(node.get("value") or ""))


def _drop_auxiliary_acts(acts: list[_DemonstratedAction]) -> Iterator[_DemonstratedAction]:
    """Remove actions that only led to another one, and give each the page on which the next one began."""
    for number, act in enumerate(acts[:-1]):
        following = acts[number + 1]
        act.after = following.before
        if act.action != "click" or act.target is None:
            continue
        node, later = _at(act.before, act.target), following
        kind = _kind(node)
        again = later.action == "click" and later.time - act.time <= _SAME_PRESS_MS
        if kind in _TEXT_FIELDS and later.action == "fill" and later.target == act.target:
            act.wanted = False
        elif (
            kind not in _TOGGLES
            and later.action in ("click", "fill")
            and later.target == act.target
            and _describe_content(act.before) == _describe_content(act.after)
        ):
            act.wanted = False  # repeated, without any effect
        elif (
            kind not in _TOGGLES
            and again
            and later.target is not None
            and _kind(_at(later.before, later.target)) in _TOGGLES
        ):
            act.wanted = False
            later.before = act.before
        elif kind in _TOGGLES:
            act.action = "check" if _ticked(acts[number:], act) else "uncheck"
        elif kind not in _CLICKED and later.action != "end" and _same_but_for(act, kind in _TEXT_FIELDS):
            act.wanted = False
    yield from (act for act in acts[:-1] if act.wanted and (act.target is not None or act.action == "press"))


def _without_detours(acts: list[_DemonstratedAction]) -> Iterator[_DemonstratedAction]:
    """Remove clicks that led back to the page on which they began."""
    seen = [_describe_content(act.before) for act in acts]
    at = 0
    while at < len(acts):
        back = next((later for later in range(len(acts) - 1, at, -1) if seen[later] == seen[at]), None)
        between = range(at, back or at)
        if any(seen[each] != seen[at] for each in between) and all(
            acts[each].action == "click" for each in between
        ):
            at = back or at
        yield acts[at]
        at += 1


def _ticked(acts: list[_DemonstratedAction], act: _DemonstratedAction) -> bool:
    """Return whether the box is checked after its click; the browser has changed it when the event fires."""
    for later in acts[1:]:
        node = _at(later.before, act.target or ())
        if _kind(node) in _TOGGLES:
            return node.get("value") in (True, "true", "on")
    return True


def _iterate_nodes(
    node: DemonstrationNode, place: DemonstrationNodePath = ()
) -> Iterator[tuple[DemonstrationNodePath, DemonstrationNode]]:
    stack = [(place, node)]
    while stack:
        at, each = stack.pop()
        yield at, each
        children = each.get("children") or []
        stack += [((*at, number), child) for number, child in reversed(list(enumerate(children)))]


def _place(dom: DemonstrationNode) -> DemonstrationNodePath | None:
    """Return the position of the event's element."""
    return next((place for place, node in _iterate_nodes(dom) if node.get("recordingTarget")), None)


def _at(dom: DemonstrationNode, place: DemonstrationNodePath) -> DemonstrationNode:
    for number in place:
        children = dom.get("children") or []
        if number >= len(children):
            return {}
        dom = children[number]
    return dom


def _kind(node: DemonstrationNode) -> str:
    return str(node.get("tag") or "").lower()


def _time(state: DemonstrationNode) -> float:
    time = state.get("time")
    return float(time) if isinstance(time, int | float) and 0 <= time <= _LATEST_MS else 0.0


def _same_but_for(act: _DemonstratedAction, field: bool) -> bool:
    """Return whether an action changed nothing except the value of its field."""
    but = act.target if field else None
    return _describe_content(act.before, but) == _describe_content(act.after, but)


def _describe_content(
    dom: DemonstrationNode, but: DemonstrationNodePath | None = None
) -> list[tuple[Any, ...]]:
    """Return the content without positions and focus; `but`: the field whose value does not count."""
    return [
        (
            place,
            *(node.get(key) for key in ("tag", "id", "text")),
            frozenset(_classes(node).split()),
            None if place == but else node.get("value") or None,
        )
        for place, node in _iterate_nodes(dom)
    ]


def _classes(node: DemonstrationNode) -> str:
    """Return the classes without those for pointer and focus, which differ on every page."""
    return " ".join(each for each in str(node.get("classes") or "").split() if not _POINTED.search(each))


def _html(dom: DemonstrationNode, marked: DemonstrationNodePath | None) -> str:
    """Return the tree as HTML, with an element marked."""
    return "".join(_written(dom, (), marked))


def _written(
    node: DemonstrationNode, place: DemonstrationNodePath, marked: DemonstrationNodePath | None
) -> Iterator[str]:
    kind = _kind(node)
    text = node.get("text")
    if kind == "t":
        yield escape(str(text or ""), quote=False)
        return
    tag, _, input_type = kind.partition("_")
    attributes = {"type": input_type, "id": node.get("id"), "class": _classes(node)}
    value = node.get("value")
    if tag == "input" and f"{tag}_{input_type}" in _TOGGLES:
        attributes |= {"checked": "checked"} if value is True else {}
    elif tag == "input" and value is not None:
        attributes |= {"value": str(value)}
    markup = "".join(f' {name}="{escape(str(each))}"' for name, each in attributes.items() if each)
    yield f"<{tag}{markup}{MARK if place == marked else ''}>"
    if tag in _VOID:
        return
    if tag == "textarea":
        yield escape(str(value or ""), quote=False)
    elif text:
        yield escape(str(text), quote=False)
    for number, child in enumerate(node.get("children") or []):
        yield from _written(child, (*place, number), marked)
    yield f"</{tag}>"
