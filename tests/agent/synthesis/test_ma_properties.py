"""MA's 25 correctness properties, each on at least 100 examples."""

from __future__ import annotations

import json
import re
import statistics
from collections import Counter, defaultdict
from datetime import UTC
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from agent.inferencer import InferenceFailed
from agent.synthesis.alignment.aligned_traces import AlignmentType
from agent.synthesis.alignment.step_equivalence import are_equivalent, have_same_args
from agent.synthesis.alignment.trace_alignment import TraceAligner, classify_position
from agent.synthesis.errors import InsufficientSuccessTracesError
from agent.synthesis.graph.action_graph import ActionGraph
from agent.synthesis.graph.graph_validation import ValidationResult, ValidationResults, compare_execution
from agent.synthesis.graph.synthesis_report import SynthesisReport
from agent.synthesis.patterns.extracted_patterns import list_position_variants
from agent.synthesis.patterns.pattern_extraction import PatternExtractor
from agent.synthesis.pipeline_config import EvaluationStrategy, PipelineConfig
from agent.synthesis.synthesis_pipeline import MetaAgentPipeline
from agent.synthesis.traces.input_data_generation import GENERATORS, SyntheticDataProvider
from agent.synthesis.traces.target_conversion import STRATEGY_PRIORITY, TargetStrategyConverter
from agent.synthesis.traces.trace_cleanup import clean_up_steps
from agent.synthesis.traces.trace_collection import TraceCollector
from agent.synthesis.traces.trace_evaluation import EvaluationRule, TraceEvaluator
from agent.synthesis.traces.trace_normalization import UNRECOGNIZED_ACTION_KEY, TraceNormalizer, median_wait
from agent.synthesis.workflows.workflow_documents import build_workflow_documents
from kb_schema import action_types
from kb_schema.execution_traces import ExecutionTrace, TraceActionResult, TraceStep
from kb_schema.page_snapshots import PageSnapshot
from kb_schema.selectors import Selector, ValueStrategy
from kb_schema.session_reader import read_session
from kb_schema.workflows import walk
from tests.agent.synthesis import synthesis_examples as g
from tests.agent.synthesis.synthesis_examples import examples
from web_pages.stored_pages import StoredPage


def test_every_property_has_a_test_with_its_tag():
    told = re.findall(r"Feature: meta-agent-workflow, Property (\d+): \w", Path(__file__).read_text())
    assert sorted(map(int, told)) == list(range(1, 26))


class Agent:
    """Does nothing but what it is told to leave."""

    def __init__(self, leaves):
        self._leaves = list(leaves)
        self.calls = 0

    async def __call__(self, task_description, data):
        made = self._leaves[self.calls % len(self._leaves)]
        self.calls += 1
        if isinstance(made, Exception):
            raise made
        return made.model_copy(update={"trace_id": f"run{self.calls}"})


outcomes = st.one_of(
    st.just(g.trace_of([TraceStep(action_type="click", target=g.by_id("a"))])),
    st.just(g.trace_of([], success=False, error="no")),
    st.builds(ValueError, st.text(max_size=5)),
    st.just(KeyError()),
)


@examples
@given(st.integers(1, 12), st.lists(outcomes, min_size=1, max_size=5))
def test_01_as_many_traces_as_runs(count, leaves):
    """Feature: meta-agent-workflow, Property 1: Trace collection produces correct count"""
    agent = Agent(leaves)
    traces = g.run(TraceCollector(agent).collect("task", count))
    assert len(traces) == count == agent.calls
    for number, trace in enumerate(traces):
        made = leaves[number % len(leaves)]
        assert trace.success is (not isinstance(made, Exception) and made.success)


json_values = st.one_of(st.text(max_size=8), st.integers(), st.booleans())
entries = st.fixed_dictionaries(
    {
        "type": st.sampled_from(["AgentActionResults", "action"]),
        "action_type": st.sampled_from(["click", "ElementInteraction.Click", "visit_url", "wait"]),
        "timestamp": st.datetimes(timezones=st.just(UTC)).map(lambda at: at.isoformat()),
    },
    optional={
        "target": st.one_of(st.text(min_size=1, max_size=8), st.just({"strategy": "id", "value": "a"})),
        "args": st.dictionaries(st.text(min_size=1, max_size=5), json_values, min_size=1, max_size=3),
    },
)


@examples
@given(given_entries=st.lists(entries, min_size=1, max_size=4), nested=st.booleans())
def test_02_a_step_has_all_that_was_logged(tmp_path_factory, given_entries, nested):
    """Feature: meta-agent-workflow, Property 2: Trace steps capture complete action data"""
    wrapped = [
        {"type": e["type"], "data": {k: v for k, v in e.items() if k != "type"}}
        if nested and e["type"] == "AgentActionResults" else e
        for e in given_entries
    ]  # fmt: skip
    steps = read_session(session(tmp_path_factory.mktemp("s"), wrapped)).steps
    assert len(steps) == len(given_entries)
    for step, entry in zip(steps, given_entries, strict=True):
        assert step.action_type == entry["action_type"]
        assert step.timestamp is not None
        assert (step.target, step.args) == (entry.get("target"), entry.get("args"))


def session(folder, logged, parts=()):
    turn = folder / "turn_001"
    turn.mkdir()
    (folder / "manifest.json").write_text(
        json.dumps({"session_id": "s", "turns": [{"turn": 1, "path": "turn_001/session.jsonl"}]})
    )
    (turn / "session.jsonl").write_text(
        "".join(json.dumps(entry) + "\n" for entry in logged), encoding="utf-8"
    )
    for name, text in parts:
        (turn / "session.jsonl.parts").mkdir(exist_ok=True)
        (turn / "session.jsonl.parts" / name).write_text(text, encoding="utf-8", newline="")
    return folder


@examples
@given(
    st.integers(2, 40),
    st.dictionaries(st.text("abcd", min_size=1, max_size=3), st.sampled_from(sorted(GENERATORS)), max_size=4),
    st.integers(0, 9),
)
def test_03_no_two_sets_of_data_are_alike(count, schema, seed):
    """Feature: meta-agent-workflow, Property 3: Synthetic data distinctness"""
    made = SyntheticDataProvider(schema, seed=seed).generate(count)
    assert len(made) == count
    assert all(one != other for at, one in enumerate(made) for other in made[:at])
    assert all(schema.keys() <= data.keys() for data in made)


@examples
@given(
    st.one_of(st.sampled_from(action_types.known_names()), st.text(min_size=1, max_size=20)), st.booleans()
)
def test_04_action_types_are_the_vocabularys_or_flagged(raw, mapped):
    """Feature: meta-agent-workflow, Property 4: Action type normalization"""
    normalizer = TraceNormalizer({"mine": "ElementInteraction.Click"})
    step = normalizer.normalize_step(TraceStep(action_type="mine" if mapped else raw))
    if mapped:
        assert step.action_type == "click"
    elif action_types.canonical(raw) is None:
        assert (step.action_type, step.metadata[UNRECOGNIZED_ACTION_KEY]) == (raw, raw)
    else:
        assert step.action_type in action_types.ACTION_TYPES
        assert UNRECOGNIZED_ACTION_KEY not in step.metadata


pages = st.text("ab<>/ \n\u2028é", max_size=40)


@examples
@given(st.lists(st.tuples(pages, pages), min_size=1, max_size=3))
def test_05_pages_in_parts_are_read_back(tmp_path_factory, html):
    """Feature: meta-agent-workflow, Property 5: HTML artifact loading from .parts/ directories"""
    logged, parts = [], []
    for number, (before, after) in enumerate(html):
        refs = {}
        for which, text in (("before", before), ("after", after)):
            parts.append((f"{number}_{which}.html", text))
            refs[which] = {"__parts_file__": f"session.jsonl.parts/{number}_{which}.html"}
        logged.append({
            "type": "AgentActionResults", "action_type": "click", "timestamp": "2026-01-01T00:00:00Z",
            "body_html_before_last_action": refs["before"], "body_html_after_last_action": refs["after"],
        })  # fmt: skip
    steps = read_session(session(tmp_path_factory.mktemp("s"), logged, parts)).steps
    assert [(step.html_before, step.html_after) for step in steps] == html


@examples
@given(st.lists(st.integers(0, 600_000).map(lambda ms: ms / 1000), min_size=1, max_size=7))
def test_06_pauses_last_their_median(durations):
    """Feature: meta-agent-workflow, Property 6: Wait duration normalization to median"""
    assert median_wait(durations) == statistics.median(durations)
    made = TraceNormalizer().normalize([
        g.trace_of([
            TraceStep(action_type="click", target={"strategy": "id", "value": "a"}),
            TraceStep(action_type="wait", args={"seconds": lasts}),
        ], number)
        for number, lasts in enumerate(durations)
    ])  # fmt: skip
    aligned = g.align(made)
    distinct = set(durations)
    here = {step.args["duration"] for step in aligned.positions[1].observed}
    assert aligned.positions[1].alignment_type is AlignmentType.DETERMINISTIC
    assert here == {statistics.median(durations)} or len(distinct) == 1


@st.composite
def stored_pages(draw):
    """Small pages with attributes that are shared, missing, made up, and one element that is meant."""
    count = draw(st.integers(1, 6))
    parts = []
    for number in range(count):
        tag = draw(st.sampled_from(["button", "a", "input", "div"]))
        attributes = {
            name: draw(st.sampled_from(["alpha", "beta", "gamma", "r:1a9x7", ""]))
            for name in draw(
                st.sets(st.sampled_from(["id", "data-qa", "data-testid", "aria-label", "class", "name"]))
            )
        }
        told = "".join(f' {name}="{value}"' for name, value in attributes.items())
        text = draw(st.sampled_from(["Save", "Save", "Open it", "", "O'Brien"]))
        end = "" if tag == "input" else f"{text}</{tag}>"
        parts.append(f'<{tag} __id__="{number}"{told}>{end}')
        if draw(st.booleans()):
            parts[-1] = f"<p>{parts[-1]}</p>"
    return "<html><body>" + "".join(parts) + "</body></html>", draw(st.integers(0, count - 1))


def converted(html, number):
    step = TraceStep(
        action_type="click", target={"strategy": "__id__", "value": str(number)}, html_before=html
    )
    normal = TraceNormalizer().normalize_step(step)
    return [TargetStrategyConverter().convert(normal), TargetStrategyConverter().convert_step(normal).target]


@examples
@given(stored_pages())
def test_07_every_selector_finds_its_element_only(page):
    """Feature: meta-agent-workflow, Property 7: Target strategy conversion uniqueness"""
    html, number = page
    stored = StoredPage(PageSnapshot(url="", html=html))
    for selector in converted(html, number):
        for strategy in selector.strategies:
            if strategy.type == "agent":
                assert len(selector.strategies) == 1
                continue
            found = stored.resolve(Selector(strategies=(strategy,))).found
            assert [element.get("__id__") for element in found] == [str(number)]


@examples
@given(stored_pages())
def test_08_selectors_come_in_the_order_of_stability(page):
    """Feature: meta-agent-workflow, Property 8: Target strategy conversion produces fallback chain"""
    html, number = page
    for selector in converted(html, number):
        assert_ordered(selector)
    whole = converted(html, number)[0]
    element = next(
        e
        for e in StoredPage(PageSnapshot(url="", html=html)).roots[0].elements
        if e.get("__id__") == str(number)
    )
    if element.get("data-qa") == "alpha" and html.count('data-qa="alpha"') == 1:
        assert whole.strategies[0] == ValueStrategy(type="data-qa", value="alpha")


def assert_ordered(selector):
    ranks = [(each.fallback, STRATEGY_PRIORITY.index(each.type)) for each in selector.strategies]
    assert ranks == sorted(ranks)


@examples
@given(g.traces())
def test_09_every_trace_is_at_every_position(traces):
    """Feature: meta-agent-workflow, Property 9: Alignment covers all traces"""
    aligned = g.align(traces)
    ids = {trace.trace_id for trace in traces}
    assert set(aligned.trace_ids) == ids
    assert all(set(position.steps) == ids for position in aligned.positions)
    # And no step is lost or there twice.
    seen = Counter((c.row[0], c.step_index) for p in aligned.positions for c in p.cells.values())
    assert seen == Counter((t.trace_id, at) for t in traces for at in range(len(t.steps)))


@examples
@given(st.lists(st.one_of(st.none(), g.steps()), min_size=1, max_size=5).filter(any), st.booleans())
def test_10_positions_are_what_their_steps_are(here, same):
    """Feature: meta-agent-workflow, Property 10: Alignment classification consistency"""
    if same:  # the same step, perhaps with other arguments
        first = next(step for step in here if step is not None)
        here = [
            step and first.model_copy(update={"args": step.args if step.args and first.args else first.args})
            for step in here
        ]
    steps = [step for step in here if step is not None]
    alike = all(are_equivalent(one, other) for one in steps for other in steps)
    equal = alike and all(have_same_args(one, other) for one in steps for other in steps)
    gaps = len(steps) < len(here)
    expected = {
        (False, True, True): AlignmentType.DETERMINISTIC,
        (False, True, False): AlignmentType.PARAMETERIZABLE,
        (True, True, True): AlignmentType.OPTIONAL,
    }.get((gaps, alike, equal), AlignmentType.VARIABLE)
    assert classify_position(dict(enumerate(here))) is expected


@examples
@given(g.traces(most=3))
def test_10_holds_for_every_position_that_the_aligner_makes(traces):
    for position in g.align(traces).positions:
        if all(not cell.row[1] for cell in position.cells.values()):
            assert position.alignment_type is classify_position(position.steps)


def places(patterns):
    yield from (p.index for p in patterns.deterministic_steps)
    yield from (p.index for p, _ in patterns.parameterizable_steps)
    yield from (p.index for p in patterns.variable_steps)
    yield from (p.index for p in patterns.optional_steps)
    for branch in patterns.branch_patterns:
        yield from set(branch.indices)
    for loop in patterns.loop_patterns:
        yield from loop.indices


@examples
@given(g.aligned_sets())
def test_11_every_position_is_in_one_place(aligned):
    """Feature: meta-agent-workflow, Property 11: Pattern extraction completeness"""
    patterns = PatternExtractor().extract(aligned)
    assert sorted(places(patterns)) == [position.index for position in aligned.positions]


@examples
@given(g.aligned_sets())
def test_12_variants_are_counted(aligned):
    """Feature: meta-agent-workflow, Property 12: Variable step variant frequency"""
    for patterns in PatternExtractor().extract(aligned).walk():
        for position in patterns.variable_steps:
            told = list_position_variants(position)
            assert told == Counter(step.action_type for step in position.steps.values() if step is not None)


arguments = st.dictionaries(st.sampled_from(["value", "speed", "note"]), g.values, min_size=1)


@examples
@given(st.lists(arguments, min_size=1, max_size=4))
def test_13_arguments_vary_or_are_constant(given_args):
    """Feature: meta-agent-workflow, Property 13: Parameterizable step template variable detection"""
    steps = [TraceStep(action_type="fill", target=g.by_id("a"), args=args) for args in given_args]
    patterns = g.extract([g.trace_of([step], n) for n, step in enumerate(steps)])
    for _, info in patterns.parameterizable_steps:
        keys = {key for args in given_args for key in args}
        assert info.variable_args.keys() | info.constant_args.keys() == keys
        assert not info.variable_args.keys() & info.constant_args.keys()
        for key, value in info.constant_args.items():
            assert all(args.get(key) == value for args in given_args)
        for key in info.variable_args:
            assert len({repr(args.get(key)) for args in given_args}) > 1
    assert bool(patterns.parameterizable_steps) is any(args != given_args[0] for args in given_args)


ways = st.lists(
    st.tuples(
        st.sampled_from(["data-qa", "data-testid", "aria", "xpath-text", "css"]), st.sampled_from(["p", "q"])
    ),
    max_size=4,
    unique=True,
)


@examples
@given(st.lists(ways, min_size=1, max_size=4))
def test_14_a_constant_step_has_every_strategy_seen(observed):
    """Feature: meta-agent-workflow, Property 14: Deterministic step target robustness"""
    traces = [
        g.trace_of([TraceStep(action_type="click", target=g.by_id("a", *each))], n)
        for n, each in enumerate(observed)
    ]
    patterns = g.extract(traces)
    (position,) = patterns.deterministic_steps
    selector = patterns.targets[position.index]
    seen = {(s.type, s.value) for trace in traces for s in trace.steps[0].target.strategies}
    assert {(s.type, s.value) for s in selector.strategies} == seen
    assert len(selector.strategies) == len(seen)
    assert_ordered(selector)


@examples
@given(g.aligned_sets())
def test_15_each_kind_of_position_has_its_action(aligned):
    """Feature: meta-agent-workflow, Property 15: Synthesis type mapping"""
    patterns = PatternExtractor().extract(aligned)
    made = defaultdict(list)  # rounds that differ are written out: a position has a node in each of them
    for node in g.synthesize(patterns, agent_action_type="judge").graph.actions():
        made[node.position].append(node)
    for each in stretches(patterns):
        for position in (*each.deterministic_steps, *(p for p, _ in each.parameterizable_steps)):
            assert any(not node.no_action_if_target_not_found for node in made[position.index])
        for position in each.variable_steps:
            assert any(node.action_type == "judge" for node in made[position.index])
        for position in each.optional_steps:
            assert any(node.no_action_if_target_not_found for node in made[position.index])
    assert {node.action_type for nodes in made.values() for node in nodes} <= {
        *action_types.ACTION_TYPES,
        "judge",
    }


def stretches(patterns):
    """Patterns as they are made into nodes: of a loop its rounds, where each has its own."""
    yield patterns
    inner = [each for loop in patterns.loop_patterns for each in (loop.rounds or (loop.body,))]
    inner += [body for branch in patterns.branch_patterns for body in branch.bodies.values()]
    for each in inner:
        yield from stretches(each)


@examples
@given(g.aligned_sets())
def test_16_the_report_counts_what_is_there(aligned):
    """Feature: meta-agent-workflow, Property 16: Synthesis report accuracy"""
    patterns = PatternExtractor().extract(aligned)
    made = g.synthesize(patterns)
    report, every = made.report, list(patterns.walk())
    assert report.deterministic_count == sum(len(e.deterministic_steps) for e in every)
    assert report.parameterizable_count == sum(len(e.parameterizable_steps) for e in every)
    nodes = walk(build_workflow_documents(made.graph).workflow.nodes)
    goals = [node.goal for node in nodes if node.type == "agent"]
    decided = [goal for goal in goals if not goal.startswith("None of the known branches fits")]
    assert report.agent_node_count == len(decided) - (not made.graph.nodes)
    assert report.optional_count == sum(len(e.optional_steps) for e in every)
    assert report.branch_count == sum(len(e.branch_patterns) for e in every)
    assert report.loop_count == sum(len(e.loop_patterns) for e in every)
    assert report.total_steps == len(aligned.positions)
    if not patterns.loop_patterns and not patterns.branch_patterns:
        assert report.deterministic_count == len(patterns.deterministic_steps)


@examples
@given(st.lists(ways, min_size=2, max_size=4))
def test_17_synthesized_targets_are_in_order(observed):
    """Feature: meta-agent-workflow, Property 17: Synthesized target strategy ordering"""
    traces = [
        g.trace_of([TraceStep(action_type="fill", target=g.by_id("a", *each), args={"value": str(n)})], n)
        for n, each in enumerate(observed)
    ]
    result = g.synthesize(g.extract(traces))
    assert result.graph.nodes
    for node in result.graph.actions():
        assert_ordered(node.target)


@examples
@given(g.aligned_sets())
def test_18_a_graph_survives_json(aligned):
    """Feature: meta-agent-workflow, Property 18: ActionGraph JSON serialization round-trip"""
    graph = g.synthesize(PatternExtractor().extract(aligned)).graph
    assert ActionGraph.from_json_text(graph.to_json_text()) == graph


counts = st.integers(0, 99)


@examples
@given(
    st.lists(counts, min_size=8, max_size=8),
    st.dictionaries(st.text(max_size=5), counts),
    st.lists(st.text(max_size=9)),
)
def test_19_a_report_is_whole_as_json(numbers, coverage, texts):
    """Feature: meta-agent-workflow, Property 19: SynthesisReport serialization completeness"""
    fields = [
        "total_steps", "deterministic_count", "parameterizable_count", "agent_node_count", "optional_count",
        "user_input_boundary_count", "branch_count", "loop_count",
    ]  # fmt: skip
    report = SynthesisReport(
        **dict(zip(fields, numbers, strict=True)), target_strategy_coverage=coverage,
        template_variables=tuple(texts), warnings=tuple(texts),
    )  # fmt: skip
    told = json.loads(report.to_json_text())
    rest = {"synthesis_strategy", "target_strategy_coverage", "template_variables", "warnings"}
    assert {*fields, *rest} <= told.keys()
    assert SynthesisReport.model_validate(told) == report


@examples
@given(
    st.lists(g.steps(), max_size=6),
    st.lists(g.steps(), max_size=6),
    st.booleans(),
    st.booleans(),
    st.booleans(),
)
def test_20_a_run_passes_when_it_does_the_same(one, other, equal, went_well, was_well):
    """Feature: meta-agent-workflow, Property 20: Validation result correctness"""
    other = one if equal else other
    done, expected = g.trace_of(one, success=went_well), g.trace_of(other, 1, success=was_well)
    result = compare_execution(done, expected)
    mine, its = (tidy_steps(trace) for trace in (done, expected))
    same = len(mine) == len(its) and all(map(are_equivalent, mine, its)) and went_well == was_well
    assert result.passed is same
    assert (result.divergence_point is None) is same
    if not same and result.divergence_point < min(len(mine), len(its)):
        assert not are_equivalent(mine[result.divergence_point], its[result.divergence_point])


def tidy_steps(trace):
    return clean_up_steps(TraceNormalizer().normalize([trace])[0].steps)


@examples
@given(st.lists(st.booleans(), max_size=20))
def test_21_the_success_rate_is_the_share_that_passed(passed):
    """Feature: meta-agent-workflow, Property 21: Validation success rate calculation"""
    results = ValidationResults(tuple(ValidationResult(None, each) for each in passed))
    assert results.success_rate == (sum(passed) / len(passed) if passed else 0.0)
    assert results.all_passed is all(passed)


class Broken:
    """An inferencer that never answers."""

    async def infer(self, prompt):
        raise InferenceFailed("gone")


def unlike(number):
    return g.trace_of(
        [TraceStep(action_type="click", target=g.by_id(f"{number}-{at}")) for at in range(3)], number
    )


def unreadable(number):
    return g.trace_of([TraceStep(action_type="click", target={"strategy": "no such"})], number)


def like(number):
    return g.trace_of([TraceStep(action_type="click", target=g.by_id("a"))], number, input_data={"n": number})


@examples
@given(
    st.sampled_from(
        [(like, None), (unlike, "alignment"), (unreadable, "normalization"), (like, "evaluation")]
    ),
    st.integers(2, 5),
    st.booleans(),
)
def test_22_a_result_has_all_or_says_where_it_ended(kind, count, validates):
    """Feature: meta-agent-workflow, Property 22: Pipeline result completeness"""
    make, stage = kind
    judged = EvaluationStrategy.LLM_JUDGE if stage == "evaluation" else EvaluationStrategy.EXCEPTION_ONLY
    config = PipelineConfig(run_count=count, evaluation_strategy=judged, validate=validates)
    made = [make(number) for number in range(count)]

    async def repeat(graph, data):
        return like(0)

    pipeline = MetaAgentPipeline(Agent(made), repeat, config, inferencer=Broken())
    result = g.run(pipeline.run("task"))
    assert len(result.traces) == count
    assert result.failed_stage == stage
    if stage is None:
        assert None not in (result.graph, result.synthesis_report, result.validation_results)
        assert result.error is None
        assert len(result.validation_results.results) == (min(count, 3) if validates else 0)
    else:
        assert stage in result.error
        assert result.graph is None


def test_22_too_few_good_traces_are_an_error():
    pipeline = MetaAgentPipeline(
        Agent([ValueError()]), config=PipelineConfig(run_count=3, min_success_traces=2)
    )
    with pytest.raises(InsufficientSuccessTracesError) as told:
        g.run(pipeline.run("task"))
    assert (told.value.required, told.value.actual, told.value.total) == (2, 0, 3)


@examples
@given(g.traces(least=2), st.integers(1, 4))
def test_23_merging_keeps_every_trace(traces, first):
    """Feature: meta-agent-workflow, Property 23: Alignment merge preserves existing traces"""
    aligner = TraceAligner(min_score=0)
    merged = aligner.merge(aligner.align(traces[:first]), traces[first:])
    assert set(merged.trace_ids) == {trace.trace_id for trace in traces}
    assert merged.positions == aligner.align(traces).positions


@examples
@given(st.lists(ways, min_size=1, max_size=3), st.lists(ways, min_size=1, max_size=3))
def test_24_more_traces_make_targets_stronger(first, more):
    """Feature: meta-agent-workflow, Property 24: More traces strengthen target specifications"""

    def shown(each, number):
        return g.trace_of([TraceStep(action_type="click", target=g.by_id("a", *each).to_json())], number)

    pipeline = MetaAgentPipeline()
    traces = [shown(each, n) for n, each in enumerate([*first, *more])]
    before = g.run(pipeline.from_traces(traces[: len(first)]))
    after = g.run(pipeline.from_traces(traces))
    (old,), (new,) = before.graph.nodes, after.graph.nodes
    assert set(map(str, old.target.strategies)) <= set(map(str, new.target.strategies))


@st.composite
def judged_traces(draw):
    made = draw(st.lists(st.booleans(), max_size=6))
    return [
        g.trace_of(
            [TraceStep(action_type="click", result=TraceActionResult(success=ok))] * draw(st.integers(0, 3)),
            n,
            success=ok,
        )
        for n, ok in enumerate(made)
    ]


@examples
@given(judged_traces(), st.floats(0, 1), st.sampled_from(EvaluationStrategy))
def test_25_each_trace_is_judged_once_and_in_order(traces, score, strategy):
    """Feature: meta-agent-workflow, Property 25: Trace evaluation consistency"""
    rules = [
        EvaluationRule("succeeds", "", lambda trace: trace.success),
        EvaluationRule("short", "", lambda trace: len(trace.steps) < 2, severity="warning"),
    ]

    class Judge:
        async def infer(self, prompt):
            return f'I think {{"score": {score}}}.'

    results = g.run(TraceEvaluator(strategy, rules, Judge()).evaluate(traces, "task"))
    assert [result.trace_id for result in results] == [trace.trace_id for trace in traces]
    for trace, result in zip(traces, results, strict=True):
        if strategy is EvaluationStrategy.LLM_JUDGE:
            assert (result.passed, result.score) == (score >= 0.5, score)
        else:
            assert result.passed is trace.success
        if strategy is EvaluationStrategy.RULE_BASED:
            assert result.warnings == (() if len(trace.steps) < 2 else ("short",))


def test_traces_can_be_nothing_at_all():
    assert g.align([]).positions == ()
    assert g.extract([ExecutionTrace(trace_id="t")]).step_order == ()
