"""What must hold beside MA's 25 properties: nothing depends on chance, order or copies, and everything
that is lowered is a valid part of a knowledge base.
"""

from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from agent.synthesis.alignment.sequence_alignment import align_sequences
from agent.synthesis.graph.action_graph import GraphBuilder
from agent.synthesis.graph.graph_script import render_script
from agent.synthesis.patterns.pattern_extraction import PatternExtractor
from agent.synthesis.workflows.workflow_documents import build_workflow_documents
from kb_schema.workflows import walk
from tests.agent.synthesis import synthesis_examples as g
from tests.agent.synthesis.synthesis_examples import examples, few_examples


@few_examples
@given(g.traces(), st.randoms(use_true_random=False))
def test_synthesis_is_deterministic_and_asks_for_no_order(traces, dice):
    once = g.induce(traces)
    shuffled = list(traces)
    dice.shuffle(shuffled)
    again = g.induce(shuffled)
    assert again.lowered == once.lowered
    assert (again.graph, again.synthesis_report) == (once.graph, once.synthesis_report)


@few_examples
@given(g.traces(), st.integers(0, 9))
def test_a_copy_of_a_trace_changes_counts_and_confidences_only(traces, which):
    once = g.induce(traces)
    copied = traces[which % len(traces)].model_copy(update={"trace_id": "copy"})
    again = g.induce([*traces, copied])
    assert again.lowered.tasks == once.lowered.tasks
    assert plain(again.lowered.workflow) == plain(once.lowered.workflow)
    kinds = [[p.alignment_type for p in each.aligned.positions] for each in (once, again)]
    assert kinds[0] == kinds[1]


def plain(workflow):
    return workflow.model_copy(update={"provenance": None})


@pytest.mark.parametrize("count", [30, pytest.param(400, marks=pytest.mark.nightly)])
def test_everything_lowered_is_valid_knowledge(count):
    settings(few_examples, max_examples=count)(given(g.traces())(valid_when_lowered))()


def valid_when_lowered(traces):
    lowered = g.induce(traces).lowered
    knowledge = g.published(lowered)
    assert knowledge.workflows.keys() == {lowered.workflow.workflow_id}
    used = {node.task_id for node in walk(lowered.workflow.nodes) if node.type == "task"}
    assert used <= knowledge.tasks.keys()


@few_examples
@given(g.aligned_sets())
def test_hand_made_alignments_are_lowered_to_valid_knowledge_too(aligned):
    graph = g.synthesize(PatternExtractor().extract(aligned)).graph
    g.published(build_workflow_documents(graph))


@few_examples
@given(g.traces())
def test_the_script_builds_the_same_graph(traces):
    graph = g.induce(traces, name='it\'s "this"').graph
    scope: dict[str, object] = {}
    exec(compile(render_script(graph), "script.py", "exec"), scope)
    assert scope["build"]() == graph


def test_the_builder_makes_forks_and_loops():
    graph = (
        GraphBuilder(name="w")
        .action("click", "#a")
        .condition(("yes", {"type": "url_contains", "value": "/x"}, lambda inner: inner.action("click", "#b")), description="d", source="page")
        .loop(lambda inner: inner.action("click", "#c"), kind="fixed", min_iterations=2, max_iterations=2, times=2)
        .build()
    )  # fmt: skip
    assert [node.type for node in graph.nodes] == ["action", "condition", "loop"]
    assert [node.type for node in build_workflow_documents(graph).workflow.nodes] == ["task"] * 3
    assert build_workflow_documents(graph).workflow.nodes[1].else_nodes[0].type == "agent"


@examples
@given(st.lists(st.lists(st.integers(0, 5), max_size=9), max_size=6))
def test_columns_hold_every_symbol_once_in_order_and_one_symbol_each(sequences):
    columns = align_sequences(sequences)
    for row, sequence in enumerate(sequences):
        assert [column[row] for column in columns if row in column] == list(range(len(sequence)))
    for column in columns:
        assert len({sequences[row][at] for row, at in column.items()}) == 1


@examples
@given(
    st.lists(st.lists(st.integers(0, 5), max_size=9), min_size=1, max_size=6),
    st.randoms(use_true_random=False),
)
def test_columns_do_not_depend_on_order_or_copies(sequences, dice):
    def told(given_sequences):
        distinct = {tuple(each): at for at, each in enumerate(given_sequences)}
        return [
            {seq: column[at] for seq, at in distinct.items() if at in column}
            for column in align_sequences(given_sequences)
        ]

    turned = [*sequences, sequences[0]]
    dice.shuffle(turned)
    assert told(turned) == told(sequences)
