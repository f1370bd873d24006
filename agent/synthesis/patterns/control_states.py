"""What a pressed control says of itself when its job is done: another name, a state, a class (`Follow` becomes `Following`, a star is pressed).

Such a press undoes what is so already. The step therefore gets the control as it was before the press as its target, the control as it
was afterwards as what is already done, and the workflow the same as its success criterion. Of a check box that is how it stands. Only what
all traces show counts, and only a press that the application accepted and that does not send what was entered before it. A number alone
tells nothing: others count, too.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

from agent.synthesis.alignment.aligned_traces import AlignedPosition, AlignedTraceSet, RowKey
from agent.synthesis.patterns.asked_boxes import TICKING
from agent.synthesis.patterns.extracted_patterns import ControlState, ExtractedPatterns, ParameterizableInfo
from agent.synthesis.patterns.input_data_values import flatten_values
from agent.synthesis.patterns.trace_ends import list_independent_traces
from agent.synthesis.traces.refused_steps import list_accepted_writes
from agent.synthesis.traces.trace_pages import TracePage, TracePages
from agent.synthesis.utterances.utterance_mentions import TYPING
from kb_schema.conditions import ElementVisible, FieldHasValue
from kb_schema.execution_traces import ExecutionTrace, TraceStep
from kb_schema.selectors import Selector, Strategy, TemplateStrategy, ValueStrategy
from kb_schema.templates import as_text, is_xpath, selector_parameters, xpath_literal
from web_pages.element_tree import Element
from web_pages.form_fields import is_toggle, value_of
from web_pages.page_texts import squeeze, text_of
from web_pages.visibility import visible

PRESSES = frozenset({"click", "double_click", "press"})
ENTERS = TYPING | {"check", "uncheck", "clear", "upload_file"}
"""Actions after which a press may send what they entered: such a press is no switch."""
LEAST_TRACES = 2
MOST_TARGETS = 3
"""Selectors of a step that are tried."""
LONGEST_NAME = 60
_NAMES = ("aria-label", "title")
_STATES = ("aria-pressed", "aria-checked", "aria-selected", "data-state")
_UNDER_WAY = ("…", "...")
"""Ends of a name that passes: `Saving…`."""
_PASSING = frozenset(
    {
        "animate", "animated", "animating", "animation", "busy", "focus", "focused", "hover", "hovered", "loading", "pending", "ripple",
        "transition", "visible",
    }
)  # fmt: skip
"""Parts of classes that a control has for a moment, or for as long as the pointer or the focus is on it."""
_NUMBER = re.compile(r"\d[\d.,]*")
_PARTS = re.compile(r"[-_:]+")


@dataclass(frozen=True, slots=True)
class _Press:
    """One press of a trace: the control, and the pages around the press."""

    before: TracePage
    element: Element
    after: TracePage
    values: Mapping[str, str]
    """The parameters of the control's selector."""


def find_control_states(
    aligned: AlignedTraceSet, patterns: ExtractedPatterns, pages: TracePages
) -> dict[int, ControlState]:
    """Return what the controls say that every trace presses once, by position."""
    traces = list_independent_traces(aligned)
    if len(traces) < LEAST_TRACES:
        return {}
    found: dict[int, ControlState] = {}
    for position, info in _list_steady(patterns):
        presses = _read_presses(position, info, traces, pages)
        if presses and position.observed[0].action_type in TICKING:
            if (box := _find_box_state(presses, position, info)) is not None:
                found[position.index] = box
        elif presses and (state := _find_state(presses, _list_templates(position, info))) is not None:
            found[position.index] = state
    return found


def find_only_state(aligned: AlignedTraceSet, patterns: ExtractedPatterns) -> ControlState | None:
    """Return the state of the control of which the press alone sent something in all traces; None if there is none."""
    traces = list_independent_traces(aligned)
    for index, state in patterns.control_states.items():
        cells = aligned.positions[index].cells
        if all(_list_sending(each) == [cells[each.trace_id, ()].step_index] for each in traces):
            return state
    return None


def is_only_counted(aligned: AlignedTraceSet, patterns: ExtractedPatterns, pages: TracePages) -> bool:
    """Whether the press that alone sent something shows in the number of its control alone: 12 likes become 13.

    A second press makes them 12 again, and the application accepts it as it did the first: nothing tells whether it was done.
    """
    traces = list_independent_traces(aligned)
    for position, info in _list_steady(patterns):
        cells = position.cells
        if not all(
            (each.trace_id, ()) in cells and _list_sending(each) == [cells[each.trace_id, ()].step_index]
            for each in traces
        ):
            continue
        presses = _read_presses(position, info, traces, pages)
        paths = [_split_last_step(_read_xpath(each) or "") for each in _list_templates(position, info)]
        return any(
            path is not None and bool(presses) and all(_is_counted(each, path) for each in presses)
            for path in paths
        )
    return False


def _is_counted(press: _Press, path: _Path) -> bool:
    after = _find_after(press, path)
    if after is None:
        return False
    was, now = (squeeze(text_of(each, everything=True)) for each in (press.element, after))
    return was != now and _NUMBER.sub("#", was) == _NUMBER.sub("#", now)


def _list_steady(patterns: ExtractedPatterns) -> Iterator[tuple[AlignedPosition, ParameterizableInfo | None]]:
    """Yield the positions that all traces have."""
    yield from ((position, None) for position in patterns.deterministic_steps)
    yield from patterns.parameterizable_steps


def _list_sending(trace: ExecutionTrace) -> list[int]:
    return [at for at, step in enumerate(trace.steps) if list_accepted_writes(step)]


def _read_presses(
    position: AlignedPosition,
    info: ParameterizableInfo | None,
    traces: Sequence[ExecutionTrace],
    pages: TracePages,
) -> list[_Press]:
    """Return the press of every trace at a position; none if a trace has none, or one that is no switch's."""
    found: list[_Press] = []
    for trace in traces:
        row: RowKey = (trace.trace_id, ())
        cell = position.cells.get(row)
        if (
            cell is None
            or cell.step.action_type not in PRESSES | TICKING
            or not _sends_alone(trace.steps, cell.step_index)
        ):
            return []
        known, after = pages.find_target(cell.step), _read_after(trace.steps, cell.step_index, pages)
        if known is None or after is None:
            return []
        found.append(_Press(*known, after, _read_values(info, row, trace)))
    return found


def _find_box_state(
    presses: Sequence[_Press], position: AlignedPosition, info: ParameterizableInfo | None
) -> ControlState | None:
    """Return how a box stands after each press; None if the pages do not show that it stood otherwise before."""
    target = _find_target(position, info)
    if target is None:
        return None
    wanted = "true" if position.observed[0].action_type == "check" else "false"
    for press in presses:
        after = _find_filled(press, target)
        states = [value_of(each) for each in (press.element, after) if each is not None and is_toggle(each)]
        if len(states) < 2 or states[0] == wanted or states[1] != wanted:
            return None
    done = FieldHasValue(type="field_has_value", element=target, value=wanted == "true")
    return ControlState(target, done)


def _find_filled(press: _Press, target: Selector) -> Element | None:
    """Return what a target finds after a press, with the values of the press; None if that is not one element."""
    if not press.values:
        return press.after.find(target)
    paths = [path for each in target.strategies if (path := _read_xpath(each)) is not None]
    found = [press.after.stored.resolve_template(path, press.values) for path in paths[:MOST_TARGETS]]
    return next((each[0] for each in found if len(each) == 1), None)


def _sends_alone(steps: Sequence[TraceStep], at: int) -> bool:
    """Whether a press was accepted, and nothing was entered since the last press before it that was."""
    if not list_accepted_writes(steps[at]):
        return False
    for step in reversed(steps[:at]):
        if step.action_type in ENTERS:
            return False
        if list_accepted_writes(step):
            break
    return True


def _read_after(steps: Sequence[TraceStep], at: int, pages: TracePages) -> TracePage | None:
    step = steps[at]
    if step.html_after:
        return pages.get(step.html_after, step.metadata.get("url_after") or step.source_url)
    following = steps[at + 1] if at + 1 < len(steps) else None
    return None if following is None else pages.get(following.html_before, following.source_url)


def _read_values(info: ParameterizableInfo | None, row: RowKey, trace: ExecutionTrace) -> dict[str, str]:
    """Return the parameters of a target in one trace; without those that are not known."""
    target = None if info is None else info.target
    if target is None:
        return {}
    known = flatten_values(trace.input_data)
    found = {
        each.name: as_text(known[each.key])
        for each in target.also
        if each.source == "input" and each.key in known
    }
    words = target.words.get(row)
    return found if words is None else {**found, target.binding.name: words}


def _list_templates(position: AlignedPosition, info: ParameterizableInfo | None) -> list[Strategy]:
    """Return the XPath strategies of a step's target, with their parameters."""
    selector = _find_target(position, info)
    if selector is None:
        return []
    listed = [each for each in selector.strategies if _read_xpath(each) is not None]
    return listed[:MOST_TARGETS]


def _find_target(position: AlignedPosition, info: ParameterizableInfo | None) -> Selector | None:
    """Return a step's target, with its parameters; None if it is in a frame, or unknown."""
    told = None if info is None else info.target
    selector = position.observed[0].target if told is None else told.selector
    return selector if isinstance(selector, Selector) and selector.frame is None else None


def _read_xpath(strategy: Strategy) -> str | None:
    if isinstance(strategy, TemplateStrategy) and strategy.type == "parameterized_xpath":
        return strategy.template
    if isinstance(strategy, ValueStrategy) and is_xpath(strategy.value):
        return strategy.value.replace("{{", "{ {") if "{{" in strategy.value else strategy.value
    return None


def _find_state(presses: Sequence[_Press], strategies: Sequence[Strategy]) -> ControlState | None:
    """Return the state by the first strategies that tell it on all pages; None if there is none."""
    targets: list[Strategy] = []
    done: list[Strategy] = []
    for strategy in strategies:
        path = _split_last_step(_read_xpath(strategy) or "")
        told = None if path is None else _tell(presses, path)
        if told is not None:
            targets.append(_put(strategy, told[0]))
            done.append(_put(strategy, told[1]))
    if not done:
        return None
    element = Selector(strategies=tuple(done))
    return ControlState(
        Selector(strategies=tuple(targets)), ElementVisible(type="element_visible", element=element)
    )


def _put(strategy: Strategy, xpath: str) -> Strategy:
    field = "template" if isinstance(strategy, TemplateStrategy) else "value"
    kind = {} if field == "template" else {"type": "xpath"}
    return strategy.model_copy(update={field: xpath, **kind})


@dataclass(frozen=True, slots=True)
class _Path:
    """An XPath, split before the conditions of its last step."""

    base: str
    """`//li[...]//button`."""
    conditions: tuple[str, ...]
    """`[normalize-space()='Follow']`, ...: those with a parameter stay, the others may be about the name or the state."""

    @property
    def bare(self) -> str:
        """The path with the conditions on parameters alone."""
        return self.base + "".join(each for each in self.conditions if selector_parameters(each))


def _split_last_step(xpath: str) -> _Path | None:
    """Return an XPath with the conditions of its last step apart; None if it is of another kind.

    >>> _split_last_step("//li[.//b='[x]']//button[@id='a'][.='b']")
    _Path(base="//li[.//b='[x]']//button", conditions=("[@id='a']", "[.='b']"))
    """
    if not xpath.startswith("/"):
        return None
    base, conditions, depth, quote, begin = "", [], 0, "", 0
    for at, sign in enumerate(xpath):
        if quote or sign in "'\"":
            quote = "" if sign == quote else quote or sign
        elif sign == "[":
            depth, begin = depth + 1, begin if depth else at
        elif sign == "]":
            depth -= 1
            conditions += [xpath[begin : at + 1]] if not depth else []
            continue
        elif sign == "|" and not depth:
            return None
        if not depth:
            base, conditions = base + "".join(conditions) + sign, []
    return _Path(base, tuple(conditions)) if not depth and not quote else None


def _tell(presses: Sequence[_Press], path: _Path) -> tuple[str, str] | None:
    """Return the XPath of the control before and after the press; None if the pages do not show both."""
    pairs = [(press, _find_after(press, path)) for press in presses]
    known = [(press.element, after) for press, after in pairs if after is not None]
    if len(known) < len(pairs):
        return None
    changes = _list_changes(known)
    if not changes:
        return None
    kept = [
        each
        for each in path.conditions
        if not selector_parameters(each)
        and all(
            after in press.after.stored.resolve_template(path.bare + each, press.values)
            for press, after in pairs
        )
    ]
    steady = path.bare + "".join(kept)
    before, after = (steady + "".join(sides) for sides in zip(*changes, strict=True))
    proven = all(
        press.before.stored.resolve_template(before, press.values) == (press.element,)
        and not press.before.stored.resolve_template(after, press.values)
        and press.after.stored.resolve_template(after, press.values) == (changed,)
        and not press.after.stored.resolve_template(before, press.values)
        for press, changed in pairs
    )
    return (before, after) if proven else None


def _find_after(press: _Press, path: _Path) -> Element | None:
    """Return the control after the press, by its place among its fellows; None if that is not certain."""
    fellows = press.before.stored.resolve_template(path.bare, press.values)
    then = press.after.stored.resolve_template(path.bare, press.values)
    if press.element not in fellows:
        return None
    at = fellows.index(press.element)
    before, behind = fellows[:at], fellows[at + 1 :]
    places = {
        number
        for number in range(len(then))
        if _are_alike(before, then[:number]) or _are_alike(behind, then[number + 1 :])
    }
    after = then[places.pop()] if len(places) == 1 else None
    return after if after is not None and visible(after) and after.get("disabled") is None else None


def _are_alike(some: Sequence[Element], others: Sequence[Element]) -> bool:
    """Whether as many controls say the same."""
    return len(some) == len(others) and all(
        text_of(one, everything=True) == text_of(other, everything=True)
        for one, other in zip(some, others, strict=True)
    )


def _list_changes(pairs: Sequence[tuple[Element, Element]]) -> list[tuple[str, str]]:
    """Return conditions on the control before and after the press, for what changed alike in all traces."""
    found = list(_compare_names(pairs))
    for name in _STATES:
        values = {(before.get(name), after.get(name)) for before, after in pairs}
        if len(values) == 1 and (pair := values.pop())[1] is not None and pair[0] != pair[1]:
            was = f"[not(@{name}={xpath_literal(pair[1])})]"
            found.append((was, f"[@{name}={xpath_literal(pair[1])}]"))
    added = [_list_classes(after) - _list_classes(before) for before, after in pairs]
    removed = [_list_classes(before) - _list_classes(after) for before, after in pairs]
    found += [(_lacks(name), _has(name)) for name in sorted(set.intersection(*added))]
    return found + [(_has(name), _lacks(name)) for name in sorted(set.intersection(*removed))]


def _compare_names(pairs: Sequence[tuple[Element, Element]]) -> Iterator[tuple[str, str]]:
    texts = {tuple(squeeze(text_of(each, everything=True)) for each in pair) for pair in pairs}
    if len(texts) == 1:
        was, now = texts.pop()
        if was != now and _is_name(was) and _is_name(now):
            yield f"[normalize-space()={xpath_literal(was)}]", f"[normalize-space()={xpath_literal(now)}]"
    for name in _NAMES:
        values = {tuple(squeeze(each.get(name) or "") for each in pair) for pair in pairs}
        if len(values) == 1:
            was, now = values.pop()
            if was != now and _is_name(was) and _is_name(now):
                yield f"[@{name}={xpath_literal(was)}]", f"[@{name}={xpath_literal(now)}]"


def _is_name(text: str) -> bool:
    return (
        any(map(str.isalpha, text))
        and len(text) <= LONGEST_NAME
        and not text.endswith(_UNDER_WAY)
        and "{" not in text
    )


def _list_classes(element: Element) -> set[str]:
    """Return the classes of an element that may last."""
    return {
        each
        for each in (element.get("class") or "").split()
        if each.isascii() and "{" not in each and _PASSING.isdisjoint(_PARTS.split(each.casefold()))
    }


def _has(name: str) -> str:
    return f"[contains(concat(' ', normalize-space(@class), ' '), {xpath_literal(f' {name} ')})]"


def _lacks(name: str) -> str:
    return f"[not({_has(name)[1:-1]})]"
