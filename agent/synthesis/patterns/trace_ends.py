"""The end of each trace: its last page, the pages before its last effective step, and its input values."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

from agent.redaction import REDACTED
from agent.synthesis.alignment.aligned_traces import AlignedTraceSet
from agent.synthesis.patterns.extracted_patterns import ExtractedPatterns, ParameterizableInfo, ValueBinding
from agent.synthesis.traces.trace_pages import TracePage, TracePages
from agent.synthesis.utterances.utterance_mentions import TYPING
from kb_schema.conditions import BaseCondition, Combined, DomContains
from kb_schema.execution_traces import ExecutionTrace, TraceStep
from kb_schema.number_formats import NUMBER_FORMATS, format_numbers
from kb_schema.templates import as_text, fill
from web_pages.page_texts import text_of

LEAST_LETTERS = 2
"""Minimum length of an input value that is looked for in texts."""
NUMBER = re.compile(r"\d+(?:\.\d+)?")
"""An input value that is read as a number."""
_READING = frozenset({"GET", "HEAD", "OPTIONS"})


@dataclass(frozen=True)
class TraceEnd:
    """The last page of a trace, and what it is compared with."""

    trace_id: str
    page: TracePage
    url: str | None
    """None if the address of the last page was not recorded."""
    earlier: tuple[TracePage, ...]
    """The pages up to the last effective step, with the page on which it was performed."""
    values: Mapping[str, str]
    """The input values of the trace, by variable, but for those of one letter."""
    every_value: Mapping[str, str]
    """The same with those of one letter."""
    typed: frozenset[str] = frozenset()
    """The variables whose values are typed: a run may leave such a field empty."""

    @cached_property
    def earlier_texts(self) -> tuple[str, ...]:
        """The visible text of each earlier page."""
        return tuple(read_page_text(page) for page in self.earlier)

    def generalized(self, text: str) -> str | None:
        """Return a text with the input values in it as `{variable}`; None if it has braces of its own.

        A number is also found in other notations.
        """
        if "{" in text or "}" in text:
            return None
        for name, value in sorted(self.values.items(), key=lambda each: -len(each[1])):
            for shown in _list_number_texts(value):
                text = re.sub(rf"(?<![\w.,]){re.escape(shown)}(?!\w|[.,]\d)", f"{{{name}}}", text)
        return text

    def proves(self, condition: BaseCondition) -> bool:
        """Whether a condition holds on the last page, and on no earlier one, with the values of the trace."""
        filled = fill_texts(condition, self.every_value)
        return self.page.holds(filled) and not any(page.holds(filled) for page in self.earlier)


def _list_number_texts(value: str) -> list[str]:
    """Return a value, and a number in every notation, the longest first."""
    if not NUMBER.fullmatch(value):
        return [value]
    return sorted({value, *(format_numbers(value, each) for each in NUMBER_FORMATS)}, key=len, reverse=True)


def list_independent_traces(aligned: AlignedTraceSet) -> list[ExecutionTrace]:
    """Return the distinct traces. If all show the same steps, each session counts: it was recorded at another time."""
    traces = [aligned.traces[each] for each in aligned.distinct_ids if each in aligned.traces]
    if len(traces) == 1:
        traces = list({each.session_dir or "": each for each in aligned.traces.values()}.values())
    return traces


def collect_trace_ends(
    aligned: AlignedTraceSet, patterns: ExtractedPatterns, pages: TracePages
) -> list[TraceEnd]:
    """Return the end of each distinct trace; empty if a page at an end was not recorded."""
    traces = list_independent_traces(aligned)
    single = len(traces) == 1
    ends = []
    for trace in traces:
        values = _typed_values(trace) if single else _input_values(patterns, trace.trace_id)
        end = _end_of(trace, values, pages, frozenset() if single else _typed_inputs(patterns))
        if end is None:
            return []
        ends.append(end)
    return ends


def fill_texts(condition: BaseCondition, values: Mapping[str, str]) -> BaseCondition:
    """Return a condition with the values of one trace in its texts."""
    if isinstance(condition, Combined):
        parts = tuple(fill_texts(part, values) for part in condition.conditions)
        return condition.model_copy(update={"conditions": parts})
    if isinstance(condition, DomContains):
        return condition.model_copy(update={"value": fill(condition.value, values)})
    return condition


def read_page_text(page: TracePage) -> str:
    """Return the visible text of a page."""
    return " ".join(text_of(root) for root in page.stored.roots)


def _end_of(
    trace: ExecutionTrace, values: Mapping[str, str], pages: TracePages, typed: frozenset[str]
) -> TraceEnd | None:
    last = trace.steps[-1] if trace.steps else None
    if last is None or not last.html_after:
        return None
    url = last.metadata.get("url_after")
    page = pages.get(last.html_after, url or last.source_url)
    before = [step for step in trace.steps[: _last_effective(trace.steps) + 1] if step.html_before]
    seen = {(step.html_before, step.source_url): None for step in before}
    earlier = [pages.get(html, address) for html, address in seen]
    if page is None or not earlier or None in earlier:
        return None
    seen_before = tuple(each for each in earlier if each is not None)
    told = {name: value for name, value in values.items() if len(value) >= LEAST_LETTERS}
    return TraceEnd(trace.trace_id, page, url, seen_before, told, values, typed & set(values))


def _last_effective(steps: Sequence[TraceStep]) -> int:
    """Return the index of the last step that wrote something, as far as the answers to it are recorded."""
    writes = [
        at
        for at, step in enumerate(steps)
        for answer in step.metadata.get("answers") or ()
        if isinstance(answer, Mapping) and str(answer.get("method", "GET")).upper() not in _READING
    ]
    return writes[-1] if writes else len(steps) - 1


def _typed_inputs(patterns: ExtractedPatterns) -> frozenset[str]:
    """Return the variables that are typed into a field."""
    return frozenset(
        binding.name
        for position, info in patterns.parameterizable_steps
        for binding in info.bindings.values()
        if all(cell.step.action_type in TYPING for cell in position.cells.values())
    )


def _input_values(patterns: ExtractedPatterns, trace_id: str) -> dict[str, str]:
    """Return the values of the inputs that every run needs, in one trace."""
    found: dict[str, str] = {}
    for position, info in patterns.parameterizable_steps:
        cell = position.cells.get((trace_id, ()))
        if cell is not None:
            for name, value in _values_of(info, cell.step.args or {}, (trace_id, ())):
                if value != REDACTED and value:
                    found.setdefault(name, value)
    return found


def _values_of(info: ParameterizableInfo, args: Mapping[str, Any], row: Any) -> list[tuple[str, str]]:
    found = [
        (binding.name, binding.whole.get(row) or as_text(args[key]).strip())
        for key, binding in info.bindings.items()
        if key in args and binding.source in ("input", "user_input") and not binding.secret
        if _is_whole(binding)
    ]
    target = info.target
    if target is not None and row in target.words and target.binding.source in ("input", "user_input"):
        found += [(target.binding.name, target.words[row])] * _is_whole(target.binding)
    return found


def _is_whole(binding: ValueBinding) -> bool:
    """Whether the value of a variable is used without text around it."""
    return binding.template == f"{{{binding.name}}}"


def _typed_values(trace: ExecutionTrace) -> dict[str, str]:
    """Return the texts that were typed in the only trace: they are no variables, so each is its own name."""
    typed = {
        f"typed_{at}": as_text((step.args or {}).get("value", "")).strip()
        for at, step in enumerate(trace.steps)
        if step.action_type in TYPING and not step.metadata.get("secret")
    }
    return {
        name: value
        for name, value in typed.items()
        if value != REDACTED and len(value) > LEAST_LETTERS and "{" not in value
    }
