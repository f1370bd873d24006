"""Stage 3 as a whole: raw traces become comparable ones. Used to synthesize, and to compare a run with a trace."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from agent.synthesis.traces.field_words import mark_field_words
from agent.synthesis.traces.passing_neighbours import remove_passing_neighbours
from agent.synthesis.traces.stored_fingerprints import add_stored_fingerprints
from agent.synthesis.traces.target_conversion import TargetStrategyConverter
from agent.synthesis.traces.ticked_boxes import name_ticks
from agent.synthesis.traces.trace_cleanup import clean_up_traces
from agent.synthesis.traces.trace_normalization import TraceNormalizer
from agent.synthesis.traces.trace_pages import TracePages
from agent.synthesis.traces.value_openers import mark_value_openers
from kb_schema.execution_traces import ExecutionTrace


def normalize_traces(
    traces: Iterable[ExecutionTrace], custom_type_map: Mapping[str, str] | None = None
) -> list[ExecutionTrace]:
    """Return traces in canonical form, without steps that had no effect. Raises `TraceNormalizationError`."""
    return clean_up_traces(TraceNormalizer(custom_type_map).normalize(traces))


def convert_targets(traces: Iterable[ExecutionTrace], pages: TracePages) -> list[ExecutionTrace]:
    """Return normalised traces with stable selectors, fingerprints and the words beside fields."""
    ticked = name_ticks(traces, pages)
    converted = clean_up_traces(TargetStrategyConverter(pages).convert_traces(ticked))
    known = remove_passing_neighbours(add_stored_fingerprints(converted, pages), pages)
    return mark_value_openers(mark_field_words(known, pages), pages)
