"""Steps whose element the description names by its place: "the 3rd radio button".

Such steps are one step, whichever place they have. A number names a place only if in every trace a step with the same
action acts on the element of one kind at that place, and at least two places were shown.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping, Sequence

from agent.synthesis.traces.element_places import LEAST_PLACES, find_at_place, is_place, list_kinds
from agent.synthesis.traces.trace_pages import TracePages
from agent.synthesis.utterances.value_forms import FORMS, NUMBER
from kb_schema.execution_traces import TraceStep
from web_pages.element_tree import Element

StepPosition = tuple[int, int]
"""Index of the trace and of its step."""


def find_ordinal_mentions(
    steps: Sequence[Sequence[TraceStep]],
    elements: Sequence[Sequence[Element | None]],
    values: Sequence[Mapping[str, str | list[str]]],
    pages: TracePages,
) -> dict[StepPosition, str]:
    """Return the key of the place for each step that a place chooses."""
    chosen: dict[StepPosition, str] = {}
    for key in sorted(
        {name for each in values for name in each if FORMS[NUMBER](_text(each[name])) is not None}
    ):
        places = [FORMS[NUMBER](_text(each.get(key, ""))) or "" for each in values]
        if not all(map(is_place, places)) or len(set(places)) < LEAST_PLACES:
            continue
        found: dict[tuple[str, str], set[StepPosition]] = defaultdict(set)
        for number, trace in enumerate(steps):
            for at, step in enumerate(trace):
                element, page = elements[number][at], pages.get(step.html_before, step.source_url)
                if element is None or page is None:
                    continue
                for kind in list_kinds([element]):
                    if find_at_place(page, kind, int(places[number])) is element:
                        found[step.action_type, kind].add((number, at))
        for at_places in found.values():
            if {number for number, _ in at_places} == set(range(len(steps))):
                chosen |= dict.fromkeys(at_places, f"{key}_{NUMBER}")
    return chosen


def _text(value: str | list[str]) -> str:
    return value if isinstance(value, str) else ""
