"""Targets that a number of the task chooses: the third field, the second result, the n-th of its kind.

Only words such as "3rd" and "second" are places: in a list of invoices in order, the second is also called "2", and on
another day it is not the second. The number chooses if it is the place of the target among the elements of its kind in every trace, and at least two
different places were shown.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from agent.synthesis.alignment.aligned_traces import AlignedCell, RowKey
from agent.synthesis.patterns.target_templates import PARAMETER, TargetTemplate
from agent.synthesis.traces.element_places import LEAST_PLACES, find_at_place, is_place, list_kinds
from agent.synthesis.traces.trace_pages import TracePages
from agent.synthesis.utterances.paged_places import PLACE, PLACE_TEMPLATE
from agent.synthesis.utterances.value_forms import FORMS, NUMBER


def find_ordinal_target(
    cells: Sequence[AlignedCell], pages: TracePages, told: Mapping[str, Mapping[RowKey, str]]
) -> TargetTemplate | None:
    """Return the template of the n-th element of a kind, by an input that is n in every trace; None if there is none."""
    seen = {cell.row: found for cell in cells if (found := pages.find_target(cell.step)) is not None}
    if len(seen) != len(cells) or len(seen) < LEAST_PLACES:
        return None
    if len({element.tag for _, element in seen.values()}) != 1:
        return None
    for key in sorted(filter(lambda each: _is_ordinal(each, told), told), key=lambda each: (len(each), each)):
        words = told[key]
        if not all(is_place(words[row]) for row in seen) or len({words[row] for row in seen}) < LEAST_PLACES:
            continue
        for kind in list_kinds([element for _, element in seen.values()]):
            if all(
                find_at_place(page, kind, int(words[row])) is element for row, (page, element) in seen.items()
            ):
                return TargetTemplate(f"({kind})[{{{{{PARAMETER}}}}}]", {row: words[row] for row in seen})
    return None


def find_paged_target(cells: Sequence[AlignedCell]) -> TargetTemplate | None:
    """Return the template of a place in a list over several pages, if all steps have it."""
    told = {cell.step.metadata.get(PLACE_TEMPLATE) for cell in cells}
    template = told.pop() if len(told) == 1 else None
    if template is None:
        return None
    return TargetTemplate(template, {cell.row: cell.step.metadata[PLACE] for cell in cells})


def _is_ordinal(key: str, told: Mapping[str, Mapping[RowKey, str]]) -> bool:
    """Whether an input is the number that another one says as an ordinal in every trace."""
    base = told.get(key.removesuffix(f"_{NUMBER}"))
    return (
        key.endswith(f"_{NUMBER}")
        and base is not None
        and all(FORMS[NUMBER](base[row]) == number for row, number in told[key].items())
    )
