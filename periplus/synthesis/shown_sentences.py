"""Completes the documents of a synthesized workflow with the sentences by which it was shown."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

from agent.sentences.shown_sentences import add_shown_sentences
from agent.synthesis.synthesis_pipeline import PipelineResult, add_workflow_documents
from kb_schema.templates import as_text
from kb_schema.workflows import ShownSentence
from periplus.synthesis.workflow_synthesis import read_shown_values


def build_documents(result: PipelineResult, screens: Mapping[int, str] | None = None) -> PipelineResult:
    """Return the result with its documents and the sentences of its traces; unchanged if it has no graph.

    `screens` maps positions to the ids of the screens that their steps are on. A sentence with the value of a secret input
    is not kept.
    """
    result = add_workflow_documents(result, screens)
    if result.lowered is None or result.aligned is None:
        return result
    kept = {spec.name for spec in result.lowered.workflow.io_spec.inputs if not spec.secret}
    shown = [
        ShownSentence(sentence=said, values=values)
        for trace in result.traces
        if trace.trace_id in result.aligned.trace_ids
        and (said := trace.task_description.strip())
        and (values := _as_texts(read_shown_values(result, trace.trace_id))).keys() <= kept
    ]
    workflow = add_shown_sentences(result.lowered.workflow, shown)
    return replace(result, lowered=replace(result.lowered, workflow=workflow))


def _as_texts(values: Mapping[str, Any]) -> dict[str, str | list[str]]:
    return {
        name: [*map(as_text, value)] if isinstance(value, list | tuple) else as_text(value)
        for name, value in values.items()
    }
