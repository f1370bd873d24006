"""What the presses of all traces sent last, and the application accepted: evidence where the page shows none."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from agent.synthesis.patterns.end_addresses import build_address_pattern
from agent.synthesis.traces.refused_steps import list_accepted_writes
from kb_schema.conditions import WriteAccepted
from kb_schema.execution_traces import ExecutionTrace, TraceStep
from kb_schema.probes import AcceptedWrite

PRESSES = frozenset({"click", "double_click", "right_click", "drag", "press"})
"""Actions of which runs note what they send."""
OFTEN = 0.5
"""What a larger share of a trace's presses sends, if it is more than one, is no answer to one of them: it counts visits."""


@dataclass(frozen=True, slots=True)
class _Sent:
    """Where the last sending press of a trace sent something."""

    method: str
    redirect: bool
    url: str
    count: int
    """Presses of the trace that sent the same."""

    @property
    def kind(self) -> tuple[str, bool, int]:
        return self.method, self.redirect, self.count


def find_write_conditions(traces: Sequence[ExecutionTrace]) -> Iterator[WriteAccepted]:
    """Yield the conditions that the application accepted what the last sending press of every trace sent."""
    last = [list(_list_last(trace)) for trace in traces]
    for first in last[0] if last else ():
        alike = [_alike(first, sent) for sent in last]
        if any(len(each) != 1 for each in alike):
            continue
        pattern = build_address_pattern([each[0].url for each in alike])
        if pattern is not None:
            yield WriteAccepted(
                type="write_accepted",
                method=first.method,  # type: ignore[arg-type] # recordings note these only
                pattern=pattern,
                redirect=first.redirect,
                count=first.count,
            )


def _alike(first: _Sent, sent: Sequence[_Sent]) -> list[_Sent]:
    """Return what another trace sent that is the same: to the same address, else of the same kind."""
    kind = [each for each in sent if each.kind == first.kind]
    return [each for each in kind if each.url == first.url] or kind


def _list_last(trace: ExecutionTrace) -> Iterator[_Sent]:
    presses = [step for step in trace.steps if step.action_type in PRESSES]
    sending = [set(map(_key, list_accepted_writes(step))) for step in presses]
    counts = Counter(key for keys in sending for key in keys)
    last = next((step for step in reversed(presses) if list_accepted_writes(step)), None)
    for method, redirect, url in sorted(set(map(_key, _writes_of(last)))):
        count = counts[method, redirect, url]
        if count <= max(1, OFTEN * len(presses)):
            yield _Sent(method, redirect, url, count)


def _writes_of(step: TraceStep | None) -> list[AcceptedWrite]:
    return [] if step is None else list_accepted_writes(step)


def _key(write: AcceptedWrite) -> tuple[str, bool, str]:
    return write.method, 300 <= write.status < 400, write.url
