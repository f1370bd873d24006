"""Clicks that open the part of a page with the element which the description names: its tab, its section, its folder.

A person opens one tab after another until the named element is seen. Only the one that holds it counts, and the markup
says which that is: by `aria-controls`, or because what was clicked holds the hidden part that the element is in, or stands
beside it. The clicks become one, on what opens the part with the named element. The last click of each trace must have opened that part,
and at least two different parts were opened.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from agent.synthesis.traces.trace_pages import TracePages
from kb_schema.execution_traces import ExecutionTrace, TraceStep
from kb_schema.selectors import Selector, ValueStrategy
from kb_schema.templates import xpath_literal
from web_pages.element_tree import Element
from web_pages.page_texts import squeeze, text_of
from web_pages.selectors.stable_attributes import list_stable_classes
from web_pages.visibility import visible

OPENS_PART = "opens_part"
"""Metadata key of a step: it opens the part with the named element."""
LEAST_PARTS = 2
"""Different parts that must have been opened."""
_CONTROLS = "aria-controls"


@dataclass(frozen=True, slots=True)
class _Opening:
    begin: int
    """Index of the first click."""
    step: TraceStep
    """What takes the place of all."""
    part: str


def join_part_openers(
    traces: Sequence[ExecutionTrace], pages: TracePages, mention: str, name: str
) -> list[ExecutionTrace]:
    """Return the traces; clicks that open parts before a named element are one step. Unchanged if some trace differs.

    `mention` and `name` are the metadata keys of what names a step's element, and of the words.
    """
    found = _find_openings(traces, pages, mention, name, by_markup=True)
    if not found:
        found = _find_openings(traces, pages, mention, name, by_markup=False)
        if not any(each is not None and each.begin < at - 1 for (_, at), each in found.items()):
            return list(traces)  # one press before each named element opens its list, as in any dropdown
    opened = {each.part for each in found.values() if each is not None}
    if None in found.values() or len(opened) < LEAST_PARTS:
        return list(traces)
    made = []
    for number, trace in enumerate(traces):
        steps = list(trace.steps)
        for at in sorted((place for row, place in found if row == number), reverse=True):
            opening = found[number, at]
            if opening is not None:
                steps[opening.begin : at] = [opening.step]
        made.append(trace.model_copy(update={"steps": tuple(steps)}))
    return made


def _find_openings(
    traces: Sequence[ExecutionTrace], pages: TracePages, mention: str, name: str, *, by_markup: bool
) -> dict[tuple[int, int], _Opening | None]:
    """Return how each named step after an opener was reached, by trace and index; None where the opener is another part's.

    `by_markup`: openers say what they control; else they hold something hidden, or stand beside it.
    """
    is_opener, find = (_is_opener, _find_opening) if by_markup else (_is_nested_opener, _find_nested_opening)
    return {
        (number, at): find(trace.steps, at, pages, mention, name)
        for number, trace in enumerate(traces)
        for at, step in enumerate(trace.steps)
        if at and name in step.metadata and is_opener(trace.steps[at - 1], pages)
    }


def _is_opener(step: TraceStep, pages: TracePages) -> bool:
    return step.action_type == "click" and _find_control(step, pages) is not None


def _find_control(step: TraceStep, pages: TracePages) -> Element | None:
    """Return what a click opens a part with: its element, or the one around it."""
    found = pages.find_target(step)
    around = () if found is None else (found[1], found[1].parent)
    return next((each for each in around if each is not None and each.get(_CONTROLS)), None)


def _find_opening(
    steps: Sequence[TraceStep], at: int, pages: TracePages, mention: str, name: str
) -> _Opening | None:
    """Return the clicks before a named step as one; None if the last of them did not open the part with its element."""
    last, words = steps[at - 1], steps[at].metadata[name]
    control, seen = _find_control(last, pages), pages.find_target(last)
    if control is None or seen is None:
        return None
    inner = "" if seen[1] is control else f"//{seen[1].tag}"
    for path in _list_paths(steps[at], words):
        value = f"//*[@{_CONTROLS} = {path}/ancestor::*/@id]{inner}"
        target = Selector(strategies=(ValueStrategy(type="xpath-text", value=value),))
        hidden = seen[0].stored.resolve_template(path, {})
        if seen[0].find(target) is seen[1] and len(hidden) == 1 and not visible(hidden[0]):
            begin = at - 1
            while begin and _opens_beside(steps[begin - 1], control, pages):
                begin -= 1
            step = _aim(last, target, steps[at], mention, name)
            return _Opening(begin, step, str(control.get(_CONTROLS)))
    return None


def _aim(last: TraceStep, target: Selector, named: TraceStep, mention: str, name: str) -> TraceStep:
    """Return the click that opens the part with what another step names."""
    metadata = {
        **last.metadata,
        mention: f"part of {named.metadata[mention]}",
        name: named.metadata[name],
        OPENS_PART: True,
    }
    return last.model_copy(update={"target": target, "metadata": metadata})


def _find_nested_opening(
    steps: Sequence[TraceStep], at: int, pages: TracePages, mention: str, name: str
) -> _Opening | None:
    """Return the clicks before a named step as one, if the last of them was on or beside what holds the hidden part with its element."""
    last, words = steps[at - 1], steps[at].metadata[name]
    seen = pages.find_target(last) if last.action_type == "click" else None
    if seen is None:
        return None
    page, pressed = seen
    for path in _list_paths(steps[at], words):
        hidden = page.stored.resolve_template(path, {})
        part = _find_hidden_part(hidden[0]) if len(hidden) == 1 else None
        around = None if part is None else part.parent
        if part is None or around is None or around not in (pressed, pressed.parent):
            continue
        opener = f"//{around.tag}[{part.tag}{path}]" + ("" if pressed is around else f"/{pressed.tag}")
        classes = [
            f"{opener}[contains(concat(' ', normalize-space(@class), ' '), {xpath_literal(f' {each} ')})]"
            for each in list_stable_classes(pressed)
        ]
        ways = [ValueStrategy(type="xpath-text", value=each) for each in (*classes, opener)]
        own = tuple(each for each in ways if page.find(Selector(strategies=(each,))) is pressed)
        if own:
            begin = at - 1
            while begin and _is_pressed_alike(steps[begin - 1], pressed, pages):
                begin -= 1
            step = _aim(last, Selector(strategies=own), steps[at], mention, name)
            return _Opening(begin, step, squeeze(text_of(around)))
    return None


def _find_hidden_part(element: Element) -> Element | None:
    """Return the outermost hidden part around a hidden element; None if it is visible."""
    around = [each for each in (element, *element.ancestors()) if not visible(each)]
    return around[-1] if around else None


def _is_pressed_alike(step: TraceStep, pressed: Element, pages: TracePages) -> bool:
    """Whether a click opened another part of the same set."""
    seen = pages.find_target(step)
    return seen is not None and seen[1].tag == pressed.tag and _is_nested_opener(step, pages)


def _is_nested_opener(step: TraceStep, pages: TracePages) -> bool:
    """Whether a click was on an element that holds something hidden, or stands beside it."""
    seen = pages.find_target(step) if step.action_type == "click" else None
    around = () if seen is None else (seen[1], seen[1].parent)
    return any(not visible(part) for each in around if each is not None for part in each.elements())


def _list_paths(step: TraceStep, words: str) -> list[str]:
    literal = xpath_literal(words)
    ways = step.target.strategies if isinstance(step.target, Selector) else ()
    return [
        each.value
        for each in ways
        if isinstance(each, ValueStrategy) and each.type == "xpath-text" and literal in each.value
    ]


def _opens_beside(step: TraceStep, control: Element, pages: TracePages) -> bool:
    """Whether an earlier click opened another part of the same set."""
    other = _find_control(step, pages) if step.action_type == "click" else None
    return (
        other is not None
        and other.tag == control.tag
        and other.get("role") == control.get("role")
        and other.get(_CONTROLS) != control.get(_CONTROLS)
    )
