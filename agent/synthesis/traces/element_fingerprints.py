"""Merges the fingerprints that recordings have of one element: what varied is not part of it.

The result is knowledge: it holds on any day and for every base URL, so positions and states are left out.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Sequence
from typing import Any

from pydantic import ValidationError

from agent.redaction import REDACTED
from agent.synthesis.traces.field_words import FIELD_WORDS
from kb_schema.execution_traces import TraceStep
from kb_schema.fingerprints import Fingerprint
from kb_schema.templates import selector_parameters, variables

FINGERPRINT = "fingerprint"
"""Metadata key of a step: the fingerprint of its element, as recorded."""
LONGEST_TEXT = 200
"""Longer texts are content of the page."""
_LEFT_OUT = frozenset({"box", "place", "twins"})
_SEQUENCES = frozenset({"row", "neighbours", "region", "key"})
_EMPTY = Fingerprint()


def merge_step_fingerprints(
    steps: Sequence[TraceStep], parameter_values: Iterable[object] = ()
) -> Fingerprint | None:
    """Return what all steps have in common about their element; None if one of them has no fingerprint.

    `parameter_values` are the values of the target's parameters: texts that contain one of them are left out.
    """
    recorded = [_read_fingerprint(step) for step in steps]
    known = [each for each in recorded if each is not None]
    if not known or len(known) < len(recorded):
        return None
    values = frozenset(str(each).casefold() for each in parameter_values if str(each or ""))
    merged = _without_texts(merge_fingerprints(known), values)
    words = {step.metadata.get(FIELD_WORDS) for step in steps}
    if not merged.words and len(words) == 1:
        merged = merged.model_copy(update={"label": words.pop()})
    return None if merged == _EMPTY else merged


def merge_fingerprints(known: Sequence[Fingerprint]) -> Fingerprint:
    """Return what several fingerprints of one element have in common."""
    merged = {
        field: _merge_field(field, [getattr(each, field) for each in known])
        for field in Fingerprint.model_fields
        if field not in _LEFT_OUT
    }
    # Both are kept where they vary: a place tells that the element is operated, twins that its name is not enough.
    merged["place"] = min((each.place for each in known if each.place is not None), default=None)
    merged["twins"] = max((each.twins for each in known if each.twins is not None), default=None)
    return Fingerprint.model_validate(merged)


def _read_fingerprint(step: TraceStep) -> Fingerprint | None:
    try:
        return Fingerprint.model_validate(step.metadata[FINGERPRINT])
    except (KeyError, ValidationError):
        return None


def _merge_field(field: str, values: list[Any]) -> Any:
    first, *others = values
    if field == "attributes":
        return {name: text for name, text in first.items() if all(each.get(name) == text for each in others)}
    if field in _SEQUENCES:
        return tuple(text for text in first if all(text in each for each in others))
    return first if all(each == first for each in others) else None


def _without_texts(known: Fingerprint, values: Collection[str]) -> Fingerprint:
    """Return the fingerprint without secrets, contents, parameters, and texts that look like templates."""

    def kept(text: object) -> bool:
        if not isinstance(text, str):
            return True
        return (
            len(text) <= LONGEST_TEXT
            and REDACTED not in text
            and not variables(text)
            and not selector_parameters(text)
            and not any(value in text.casefold() for value in values)
        )

    data: dict[str, Any] = {}
    for field in Fingerprint.model_fields:
        value = getattr(known, field)
        if isinstance(value, dict):
            data[field] = {name: text for name, text in value.items() if kept(text)}
        elif field in _SEQUENCES:
            data[field] = tuple(filter(kept, value))
        else:
            data[field] = value if kept(value) else None
    return Fingerprint.model_validate(data)
