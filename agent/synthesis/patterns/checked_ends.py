"""Success criteria that an imported recording itself checks at its end."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Any

from pydantic import TypeAdapter, ValidationError

from kb_schema.conditions import Condition
from kb_schema.execution_traces import EXPECTED, ExecutionTrace

_CONDITION: TypeAdapter[Condition] = TypeAdapter(Condition)


def find_checked_conditions(traces: Iterable[ExecutionTrace]) -> list[Condition]:
    """Return the conditions that all traces check at their end, in the order of the first."""
    known = [list(_read(trace)) for trace in traces]
    if not known:
        return []
    first, *others = known
    return [each for each in first if all(each in other for other in others)]


def _read(trace: ExecutionTrace) -> Iterator[Condition]:
    expected: Any = trace.metadata.get(EXPECTED)
    for each in expected if isinstance(expected, list) else ():
        try:
            yield _CONDITION.validate_python(each)
        except ValidationError:
            continue  # the file was edited by hand
