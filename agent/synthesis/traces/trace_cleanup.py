"""Removes steps without effect from normalised traces.

These are: failed and skipped actions, closed overlays that a run closes by itself, refused presses that were repeated
with success, field values that the next steps
replace, clicks into a field that is then filled in, an address that is opened once more, menus that are opened and closed again, and clicks beside controls
after which the page was the same, or only a menu was closed.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from itertools import takewhile
from urllib.parse import urlsplit, urlunsplit

from agent.synthesis.traces.element_fingerprints import FINGERPRINT
from agent.synthesis.traces.field_words import FIELD_ACTIONS
from agent.synthesis.traces.refused_steps import drop_refused_steps
from agent.synthesis.traces.trace_side_effects import OPENS_TAB, SIDE_EFFECTS_KEY
from kb_schema.execution_traces import ANSWERS, CLOSES_OVERLAY, ExecutionTrace, TraceStep
from kb_schema.selectors import Selector
from web_pages.accessible_names import INTERACTIVE_ROLES

_ATTRIBUTES = re.compile(r"<(/?[\w-]+)[^>]*>")
_PIECES = re.compile(r"<[^>]*>|[^<]+")
_EXPANDED = re.compile(r'\baria-expanded="true"')
_FRAMEWORK_ID = re.compile(r' __id__="[^"]*"')
_ENTERING = frozenset({"click", "focus"})
_CONTROL_TAGS = frozenset(
    {"a", "area", "button", "canvas", "input", "label", "option", "select", "summary", "textarea"}
)
_CONTROLS = INTERACTIVE_ROLES | _CONTROL_TAGS
_EFFECTS = frozenset({ANSWERS, OPENS_TAB, SIDE_EFFECTS_KEY})
"""Metadata keys of what a step began beside the page."""


def clean_up_traces(traces: Iterable[ExecutionTrace]) -> list[ExecutionTrace]:
    """Return the traces without steps that have no effect."""
    cleaned = [trace.model_copy(update={"steps": clean_up_steps(trace.steps)}) for trace in traces]
    return _without_idle_clicks(cleaned)


def _without_idle_clicks(traces: list[ExecutionTrace]) -> list[ExecutionTrace]:
    """Remove clicks on what is no control (a cell, a text) that left the page as it was, or only closed a menu.

    A page may keep more than it shows: what every trace clicks in this way belongs to the task.
    """
    idle = [
        [
            step
            for step, then in zip(trace.steps, (*trace.steps, None)[1:], strict=True)
            if _is_idle_click(step, then)
        ]
        for trace in traces
    ]
    if not any(idle):
        return traces
    return [
        trace.model_copy(
            update={
                "steps": tuple(
                    step
                    for step in trace.steps
                    if not any(step is each for each in found)
                    or all(any(_same_field(step, each) for each in others) for others in idle)
                )
            }
        )
        for trace, found in zip(traces, idle, strict=True)
    ]


def _is_idle_click(step: TraceStep, then: TraceStep | None) -> bool:
    """Whether a click was beside all controls, sent nothing, and the page was the same at the next step.

    The page may have lost a menu that was open: a click beside it closes it.
    """
    if step.action_type != "click" or step.html_before is None:
        return False
    element = step.metadata.get(FINGERPRINT)
    known = isinstance(element, dict)
    kinds = {element.get("role"), element.get("tag")} if isinstance(element, dict) else _list_said_kinds(step)
    if not kinds or kinds & _CONTROLS or any(step.metadata.get(key) for key in _EFFECTS):
        return False
    behind = step.html_after if then is None or then.html_before is None else then.html_before
    same_place = then is None or then.source_url == step.source_url
    before, after = _remove_framework_ids(step.html_before), _remove_framework_ids(behind)
    return same_place and (_only_closed(before, after) or (known and before == after))


def _list_said_kinds(step: TraceStep) -> set[str]:
    """Return the role or tag with which a recording names an element of which it has nothing else, such as `p`."""
    return set(str(step.metadata.get("said") or "").split(" ")[:1]) - {""}


def _only_closed(before: str | None, after: str | None) -> bool:
    """Whether a page lost one piece in one place, and less of it is expanded (`aria-expanded`) than before."""
    if not before or not after or len(_EXPANDED.findall(before)) <= len(_EXPANDED.findall(after)):
        return False
    full, rest = _list_pieces(before), _list_pieces(after)
    if len(rest) >= len(full):
        return False
    same = sum(1 for _ in takewhile(lambda pair: pair[0] == pair[1], zip(full, rest, strict=False)))
    return full[len(full) - len(rest) + same :] == rest[same:]


def _list_pieces(html: str) -> list[str]:
    """Return the tags and texts of a page, without attributes and empty texts."""
    pieces = (each.strip() for each in _PIECES.findall(html))
    return [_ATTRIBUTES.sub(r"<\1>", each) for each in pieces if each]


def clean_up_steps(steps: tuple[TraceStep, ...]) -> tuple[TraceStep, ...]:
    """Return the steps that have an effect, in order."""
    happened = _without_asides(drop_refused_steps([step for step in steps if _happened(step)]))
    kept: list[TraceStep] = []
    begun: TraceStep | None = None
    for index, step in enumerate(happened):
        if _is_opened_again(happened, index):
            continue
        if _is_replaced(happened, index) or _only_enters(happened, index):
            begun = step if begun is None or not _same_field(begun, step) else begun
            continue
        kept.append(_from_the_beginning(begun, step))
        begun = None
    return tuple(kept)


def _from_the_beginning(begun: TraceStep | None, step: TraceStep) -> TraceStep:
    """Return the step with the page on which the typing into its field began: a search may have changed the list since."""
    if begun is None or begun.html_before is None or not _same_field(begun, step):
        return step
    return step.model_copy(update={"html_before": begun.html_before, "source_url": begun.source_url})


def _happened(step: TraceStep) -> bool:
    if step.metadata.get(CLOSES_OVERLAY):
        return False  # a run closes it by itself
    return step.result is None or (step.result.success and not step.result.action_skipped)


def _without_asides(steps: list[TraceStep]) -> list[TraceStep]:
    """Remove pairs of steps on one element of which the second restores the page."""
    kept: list[TraceStep] = []
    at = 0
    while at < len(steps):
        if _comes_to_nothing(*steps[at : at + 3]):
            at += 2
            continue
        kept.append(steps[at])
        at += 1
    return kept


def _comes_to_nothing(
    first: TraceStep, second: TraceStep | None = None, then: TraceStep | None = None
) -> bool:
    if second is None or {first.action_type, second.action_type} - {"click", "press"}:
        return False
    if not _same_field(first, second) or first.source_url != second.source_url:
        return False
    behind = second.html_after if then is None or then.html_before is None else then.html_before
    before, between, after = (
        _remove_framework_ids(each) for each in (first.html_before, second.html_before, behind)
    )
    same_place = then is None or then.source_url == first.source_url
    return before is not None and same_place and before == after and between not in (None, before)


def _remove_framework_ids(html: str | None) -> str | None:
    """Return a page without the ids that every snapshot assigns anew."""
    return None if html is None else _FRAMEWORK_ID.sub("", html)


def _is_opened_again(steps: list[TraceStep], index: int) -> bool:
    """Whether the next step opens the same address, or that to which this one led, as a run does at its beginning."""
    opened = [_opened_address(each) for each in steps[index : index + 2]]
    if len(opened) < 2 or None in opened:
        return False
    return opened[1] in (opened[0], _write_address(steps[index].metadata.get("url_after")))


def _opened_address(step: TraceStep) -> str | None:
    if step.action_type != "navigate" or step.target is not None:
        return None
    return _write_address((step.args or {}).get("url"))


def _write_address(url: object) -> str | None:
    if not isinstance(url, str):
        return None
    parts = urlsplit(url)
    return urlunsplit(parts._replace(path=parts.path or "/"))


def _is_replaced(steps: list[TraceStep], index: int) -> bool:
    step = steps[index]
    if step.action_type not in FIELD_ACTIONS:
        return False
    for later in steps[index + 1 :]:
        if later.action_type in _ENTERING and _same_field(step, later):
            continue
        if later.action_type not in FIELD_ACTIONS:
            return False
        if _same_field(step, later):
            return True
    return False


def _only_enters(steps: list[TraceStep], index: int) -> bool:
    """Whether a step goes into a field that is filled in next, perhaps after more such steps."""
    step = steps[index]
    if step.action_type not in _ENTERING:
        return False
    for later in steps[index + 1 :]:
        if not _same_field(step, later):
            return False
        if later.action_type not in _ENTERING:
            return later.action_type in ("fill", "clear")
    return False


def _same_field(one: TraceStep, other: TraceStep) -> bool:
    return isinstance(one.target, Selector) and one.target == other.target
