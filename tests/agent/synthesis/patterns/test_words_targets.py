"""Targets that only their words have in common."""

from __future__ import annotations

from agent.synthesis.alignment.aligned_traces import AlignedCell
from agent.synthesis.patterns.target_agreement import find_words_target
from agent.synthesis.traces.trace_pages import TracePages
from kb_schema.execution_traces import TraceStep
from kb_schema.selectors import css

HIDDEN = '<div hidden><a href="/delete/1">Delete</a></div>'


def _cell(number: int, body: str, words: str = "Delete") -> AlignedCell:
    html = f'<!doctype html><title>T</title>{body}<a href="/delete/{number}">{words}</a>'
    step = TraceStep(
        action_type="click",
        target=css(f'a[href="/delete/{number}"]'),
        html_before=html,
        source_url="http://t/",
    )
    return AlignedCell((f"trace-{number}", ()), 0, step)


def _found(*cells: AlignedCell) -> list[str]:
    target = find_words_target(cells, TracePages())
    return [] if target is None else [each.value for each in target.strategies]


def test_the_only_visible_element_with_the_words_is_told_by_them():
    assert _found(_cell(7, HIDDEN), _cell(8, HIDDEN)) == ["//a[normalize-space()='Delete']"]


def test_other_words_or_several_visible_elements_tell_nothing():
    assert _found(_cell(7, ""), _cell(8, "", words="Remove")) == []
    assert _found(_cell(7, '<a href="/x">Delete</a>'), _cell(8, "")) == []
