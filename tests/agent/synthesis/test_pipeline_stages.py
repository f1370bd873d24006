"""Single cases of each stage that MA names, and what goes wrong."""

from __future__ import annotations

import json
from datetime import date

import pytest
from pydantic_ai.exceptions import UnexpectedModelBehavior
from pydantic_ai.messages import ModelResponse, TextPart
from pydantic_ai.models.function import FunctionModel

from agent.inferencer import InferenceFailed, ModelInferencer
from agent.synthesis.alignment.aligned_traces import AlignedPosition, AlignedTraceSet, AlignmentType
from agent.synthesis.alignment.step_equivalence import are_equivalent
from agent.synthesis.alignment.trace_alignment import TraceAligner
from agent.synthesis.errors import PatternExtractionError, TraceEvaluationError, TraceNormalizationError
from agent.synthesis.graph.action_graph import LoopNode
from agent.synthesis.graph.graph_synthesis import HybridSynthesizer, LLMSynthesizer, build_synthesis_feed
from agent.synthesis.graph.graph_validation import GraphValidator
from agent.synthesis.patterns.pattern_extraction import PatternExtractor
from agent.synthesis.pipeline_config import EvaluationStrategy, PipelineConfig, SynthesisStrategy
from agent.synthesis.synthesis_pipeline import MetaAgentPipeline
from agent.synthesis.synthesis_prompts import (
    EVALUATION_TEMPLATE_KEY,
    SYNTHESIS_TEMPLATE_KEY,
    build_evaluation_feed,
    create_prompt_formatter,
)
from agent.synthesis.traces.input_data_generation import SyntheticDataProvider
from agent.synthesis.traces.target_conversion import ELEMENT, TargetStrategyConverter
from agent.synthesis.traces.trace_cleanup import clean_up_steps
from agent.synthesis.traces.trace_collection import TraceCollector
from agent.synthesis.traces.trace_evaluation import EvaluationRule, TraceEvaluator
from agent.synthesis.traces.trace_normalization import TraceNormalizer
from agent.synthesis.traces.trace_pages import TracePages
from kb_schema.execution_traces import ExecutionTrace, TraceActionResult, TraceStep
from tests.agent.synthesis import synthesis_examples as g


def click(name, **more):
    return TraceStep(action_type="click", target=g.by_id(name), **more)


def words(text, number=0):
    return g.trace_of([click(name) for name in text.split()], number, input_data={"n": number})


# -- collecting, judging


async def test_a_run_count_below_one_is_refused():
    with pytest.raises(ValueError, match="run_count must be at least 1"):
        await TraceCollector(None).collect("t", 0)


async def test_a_run_that_fails_keeps_its_data_and_its_reason():
    async def agent(task, data):
        raise RuntimeError("the page is gone")

    provider = SyntheticDataProvider({"name": "string"})
    first, second = await TraceCollector(agent, provider).collect("t", 2)
    assert (first.success, first.error) == (False, "RuntimeError: the page is gone")
    assert first.input_data != second.input_data


async def test_a_folder_that_is_no_session_is_a_run_that_failed(tmp_path):
    async def agent(task, data):
        return tmp_path

    (trace,) = await TraceCollector(agent).collect("t", 1)
    assert not trace.success
    assert "is no session" in trace.error


def test_a_generator_that_repeats_itself_is_refused():
    with pytest.raises(ValueError, match="equal sets of data"):
        SyntheticDataProvider(custom_generator=lambda count: [{"a": 1}] * count).generate(2)


def test_a_generator_of_ones_own_comes_before_a_schema():
    provider = SyntheticDataProvider({"a": "string"}, lambda count: [{"b": n} for n in range(count)])
    assert provider.generate(2) == [{"b": 0}, {"b": 1}]


def test_each_type_of_a_schema_gives_values_of_its_kind():
    kinds = {"string": str, "email": str, "integer": int, "number": float, "boolean": bool, "date": str}
    (made,) = SyntheticDataProvider({kind: kind for kind in kinds}).generate(1)
    assert {kind: type(value) for kind, value in made.items()} == kinds
    assert "@" in made["email"]
    assert date.fromisoformat(made["date"])


async def test_data_that_is_given_comes_before_generated_data():
    seen = []

    async def agent(task, data):
        seen.append(data)
        return words("a")

    given_data = [{"n": 1}, {"n": 2}]
    traces = await TraceCollector(agent, SyntheticDataProvider({"n": "integer"})).collect("t", 2, given_data)
    assert seen == [each.input_data for each in traces] == given_data


async def test_a_pipeline_without_settings_runs_its_agent_five_times_and_validates_three_runs():
    ran = []

    async def agent(task, data):
        return words("a b", len(ran)).model_copy(update={"trace_id": f"t{len(ran)}"})

    async def counted(task, data):
        ran.append(data)
        return await agent(task, data)

    async def runner(graph, data):
        return words("a b")

    result = await MetaAgentPipeline(counted, runner).run("go")
    assert (len(ran), len(result.traces)) == (5, 5)
    assert [each.passed for each in result.validation_results.results] == [True] * 3


async def test_traces_stay_as_they_were_given():
    traces = [g.trace_of([TraceStep(action_type="wait", args={"seconds": n})], n) for n in range(2)]
    before = [trace.model_dump_json() for trace in traces]
    result = await MetaAgentPipeline().from_traces(traces)
    assert [trace.model_dump_json() for trace in result.traces] == before


async def test_a_rejected_trace_names_the_rules_that_it_broke():
    rules = [
        EvaluationRule("short", "", lambda trace: len(trace.steps) < 2),
        EvaluationRule("told", "", lambda trace: bool(trace.task_description), severity="warning"),
    ]
    judge = TraceEvaluator(EvaluationStrategy.RULE_BASED, rules)
    long, short = await judge.evaluate([words("a b"), words("a")])
    assert (long.passed, long.score, long.failed_rules, long.warnings) == (False, 0, ("short",), ("told",))
    assert (short.passed, short.score, short.failed_rules, short.warnings) == (True, 0.5, (), ("told",))


@pytest.mark.parametrize(
    ("strategy", "said"),
    [(EvaluationStrategy.RULE_BASED, "at least one"), (EvaluationStrategy.LLM_JUDGE, "an inferencer")],
)
def test_strategies_say_what_they_miss(strategy, said):
    with pytest.raises(ValueError, match=said):
        TraceEvaluator(strategy)


@pytest.mark.parametrize("answer", ["no idea", '{"score": 2}', '{"score": true}', '{"points": 1}', "{"])
async def test_a_judge_that_gives_no_score_is_an_error_with_the_traces_name(answer):
    judge = TraceEvaluator(EvaluationStrategy.LLM_JUDGE, inferencer=scripted(answer))
    with pytest.raises(TraceEvaluationError) as told:
        await judge.evaluate([words("a")])
    assert told.value.trace_id == "t0"


async def test_a_rule_that_cannot_be_asked_is_an_error_with_the_names_of_rule_and_trace():
    rule = EvaluationRule("ends well", "", lambda trace: trace.steps[9].result.success)
    judge = TraceEvaluator(EvaluationStrategy.RULE_BASED, [rule])
    with pytest.raises(TraceEvaluationError, match="rule 'ends well' raised IndexError") as told:
        await judge.evaluate([words("a", 7)])
    assert told.value.trace_id == "t7"


def scripted(*answers):
    """A scripted model behind the real adapter."""
    left = list(answers)

    def reply(messages, info):
        return ModelResponse(parts=[TextPart(left.pop(0) if len(left) > 1 else left[0])])

    return ModelInferencer(FunctionModel(reply))


async def test_an_inferencer_says_why_there_is_no_answer():
    def reply(messages, info):
        raise UnexpectedModelBehavior("nothing came")

    with pytest.raises(InferenceFailed, match="nothing came") as told:
        await ModelInferencer(FunctionModel(reply)).infer("hello")
    assert told.value.retriable


# -- normalising, converting


@pytest.mark.parametrize(
    ("raw", "said"),
    [
        (TraceStep(action_type="ElementInteraction.Click", target="#a"), ("click", None)),
        (
            TraceStep(action_type="ElementInteraction.InputText", target="#a", args={"text": "x"}),
            ("fill", {"value": "x"}),
        ),
        (
            TraceStep(action_type="ElementInteraction.ScrollUpToElement", target="#a"),
            ("scroll_to_element", None),
        ),
        (TraceStep(action_type="ElementInteraction.AppendText", target="#a"), ("append_text", None)),
        (TraceStep(action_type="ElementInteraction.Scroll", target="#a"), ("scroll", None)),
        (TraceStep(action_type="ElementInteraction.InputAndSubmit", target="#a"), ("input_and_submit", None)),
        (TraceStep(action_type="visit_url", target="https://x"), ("navigate", {"url": "https://x"})),
        (TraceStep(action_type="UserInputsRequired", args={"prompt": "p"}), ("wait", {"prompt": "p"})),
        (TraceStep(action_type="wait", args={"duration_ms": 250}), ("wait", {"duration": 0.25})),
        (TraceStep(action_type="wait", target=2), ("wait", {"duration": 2.0})),
    ],
)
def test_raw_steps_have_one_form(raw, said):
    step = TraceNormalizer().normalize_step(raw)
    assert (step.action_type, step.args) == said


def test_a_person_is_the_target_of_a_wait_for_one():
    assert TraceNormalizer().normalize_step(TraceStep(action_type="UserInputsRequired")).target is True


def test_a_bare_id_of_the_page_is_a_sessions_id_and_other_strings_are_css():
    step = TraceStep(action_type="click", target="k7", html_before='<a __id__="k7">x</a>')
    assert TraceNormalizer().normalize_step(step).target.strategies[0].type == "framework_id"
    assert (
        TraceNormalizer().normalize_step(step.model_copy(update={"target": "a.b"})).target.strategies[0].type
        == "css"
    )


@pytest.mark.parametrize("target", [{"strategy": "telepathy", "value": "x"}, 1.5, {"strategies": []}])
def test_a_target_that_is_none_is_an_error_with_its_place(target):
    steps = [click("a"), TraceStep(action_type="click", target=target)]
    with pytest.raises(TraceNormalizationError) as told:
        TraceNormalizer().normalize([g.trace_of(steps)])
    assert (told.value.trace_id, told.value.step_index) == ("t0", 1)


def test_an_action_that_nobody_knows_is_left_to_an_agent_step_and_said():
    result = g.induce([g.trace_of([click("a"), TraceStep(action_type="Teleport", target="#b"), click("c")])])
    assert [node.type for node in result.lowered.workflow.nodes] == ["task", "agent", "task"]
    assert result.lowered.notes == ("left to an agent step: Teleport css=#b",)


def test_what_was_skipped_is_not_learned():
    skipped = TraceActionResult(action_skipped=True, skip_reason="it was not there")
    assert [s.target for s in clean_up_steps((click("a", result=skipped), click("b")))] == [g.by_id("b")]


def test_what_failed_or_was_typed_over_is_not_learned():
    def fill(name, value, **more):
        return TraceStep(action_type="fill", target=g.by_id(name), args={"value": value}, **more)

    failed = TraceActionResult(success=False, error="covered")
    steps = (
        click("a", result=failed),
        click("n"),
        fill("n", "x"),
        fill("m", "1"),
        fill("n", "y"),
        click("a"),
        fill("n", "z"),
    )
    assert [(s.action_type, (s.args or {}).get("value")) for s in clean_up_steps(steps)] == [
        ("fill", "1"), ("fill", "y"), ("click", None), ("fill", "z"),
    ]  # fmt: skip


def convert(html, session="1", **more):
    step = TraceStep(
        action_type="click", target={"strategy": "__id__", "value": session}, html_before=html, **more
    )
    return TargetStrategyConverter().convert(TraceNormalizer().normalize_step(step))


def test_test_ids_come_first_and_what_is_not_alone_is_left_out():
    html = (
        '<button __id__="1" data-testid="go" id="x" class="b">Go</button><button id="x" class="b">No</button>'
    )
    assert [s.type for s in convert(html).strategies][:2] == ["data-testid", "xpath-text"]
    assert "id" not in {s.type for s in convert(html).strategies}


@pytest.mark.parametrize("html", [None, "<p>other</p>"])
def test_without_its_element_a_target_is_left_to_an_agent(html):
    (only,) = convert(html, reasoning="the blue button").strategies
    assert (only.type, only.value) == ("agent", "the blue button")


def test_the_page_after_stands_in_for_a_missing_page_before():
    step = TraceStep(
        action_type="click",
        target={"strategy": "__id__", "value": "1"},
        html_after='<a __id__="1" id="q">x</a>',
    )
    assert (
        TargetStrategyConverter().convert(TraceNormalizer().normalize_step(step)).strategies[0].value == "q"
    )


def test_an_element_met_before_keeps_only_what_is_certain_on_its_own_page():
    filler = "<p>" + "x" * 30_000 + "</p>"
    first = f'<main><button __id__="1" data-testid="go" id="x">Go</button>{filler}</main>'
    second = f'<main><button __id__="9" data-testid="go" id="x">Go</button><i id="x"></i>{filler}</main>'
    converter, normalizer = TargetStrategyConverter(), TraceNormalizer()
    steps = [
        normalizer.normalize_step(
            TraceStep(action_type="click", target={"strategy": "__id__", "value": n}, html_before=html)
        )
        for n, html in (("1", first), ("9", second))
    ]
    kinds = [[s.type for s in converter.convert_step(step).target.strategies] for step in steps]
    assert kinds[0][:2] == ["data-testid", "id"]
    assert "id" not in kinds[1]
    assert kinds[1][0] == "data-testid"


# -- aligning


def kinds(*texts, **more):
    aligned = TraceAligner(min_score=0).align([words(text, number) for number, text in enumerate(texts)])
    return [position.alignment_type for position in aligned.positions]


D, V, OPT = AlignmentType.DETERMINISTIC, AlignmentType.VARIABLE, AlignmentType.OPTIONAL


def test_alignments_of_few_traces():
    assert kinds("a b c", "a b c") == [D, D, D]
    assert kinds("a b", "x y") == [V, V]
    assert kinds("a b c", "a p b c") == [D, OPT, D, D]
    assert kinds("a b c", "a x c") == [D, V, D]


def rounds(*texts):
    aligned = TraceAligner(min_score=0).align([words(text, number) for number, text in enumerate(texts)])
    return [(loop.start, loop.end, sorted(loop.rounds.values())) for loop in aligned.loops]


@pytest.mark.parametrize(
    ("texts", "loops"),
    [
        (("a b a b",), [(0, 1, [2])]),
        (("s a b a b e", "s a b e", "s a b a b a b e"), [(1, 2, [1, 2, 3])]),
        (("o p p k o p k e", "o p k o p p p k o p k e"), [(0, 2, [2, 3]), (1, 1, [1, 1, 1, 2, 3])]),
        (("o y k o n w k o y k e", "o n w k e", "o y k o y k e"), [(0, 4, [1, 2, 3])]),
        (("f n g n h n s", "f n g n h n s"), []),
        (("m a s m b s", "m a s m b s"), []),
    ],
)
def test_what_repeats_is_a_loop_and_what_only_recurs_is_none(texts, loops):
    assert rounds(*texts) == loops


def test_another_action_on_the_same_element_is_another_step():
    shown, typed = click("a"), TraceStep(action_type="fill", target=g.by_id("a"), args={"value": "x"})
    aligned = TraceAligner(min_score=0).align([g.trace_of([shown], 0), g.trace_of([typed], 1)])
    assert not are_equivalent(shown, typed)
    assert [position.alignment_type for position in aligned.positions] == [V]


def _by_session(session, **more):
    step = TraceStep(action_type="click", target={"strategy": "__id__", "value": session}, **more)
    return TraceNormalizer().normalize_step(step)


def test_equal_steps_have_the_same_element_or_the_same_description_and_never_only_the_same_session_id():
    blue, green = _by_session("1", reasoning="the blue one"), _by_session("1", reasoning="the green one")
    assert are_equivalent(blue, _by_session("2", reasoning="The  blue one"))
    assert not are_equivalent(blue, green)
    one, other = ({ELEMENT: f"<i [('title', '{name}')]>"} for name in ("Open", "Close"))
    assert are_equivalent(_by_session("1", metadata=one), _by_session("2", metadata=one))
    assert not are_equivalent(_by_session("1", metadata=one), _by_session("1", metadata=other))


def test_the_agreement_of_traces_is_a_number_for_each_position_and_for_the_whole():
    whole = TraceAligner(min_score=0).align([words("a b c", 0), words("a b c", 1)])
    assert ([each.confidence for each in whole.positions], whole.alignment_score) == ([1, 1, 1], 1)
    apart = TraceAligner(min_score=0).align([words("a x c", 0), words("a y c", 1)])
    assert [each.confidence for each in apart.positions] == [1, 0.5, 1]
    assert apart.alignment_score == pytest.approx(2 / 3)


def test_a_step_that_only_some_traces_have_in_a_loop_is_warned_of():
    traces = [words(text, number) for number, text in enumerate(("a b b b c", "a b b c", "a c", "a c"))]
    (warning,) = g.induce(traces).synthesis_report.warnings
    assert warning == "Step 2: Low alignment confidence (0.5) - consider collecting more traces"


def test_positions_that_are_not_numbered_in_order_are_an_error():
    position = AlignedPosition(1, AlignmentType.DETERMINISTIC, {"t0": click("a")})
    with pytest.raises(PatternExtractionError, match="numbered from 0"):
        PatternExtractor().extract(AlignedTraceSet((position,), ("t0",), 1.0))


def test_a_trace_in_the_form_of_the_document_becomes_a_workflow_with_an_input():
    def told(number, place):
        ways = [
            {"strategy": "id", "value": "from"},
            {"strategy": "css", "value": "input[data-testid='from']"},
            {"strategy": "xpath", "value": "//input[@placeholder='From']"},
        ]
        return ExecutionTrace.model_validate({
            "trace_id": f"trace-{number}", "task_description": "find trains", "success": True,
            "input_data": {"start": place},
            "steps": [
                {"action_type": "visit_url", "target": "https://trains.test/", "args": {},
                 "result": {"success": True}, "timestamp": "2026-01-01T10:00:01Z"},
                {"action_type": "input_text", "target": {"strategies": ways}, "args": {"text": place},
                 "result": {"success": True}, "timestamp": "2026-01-01T10:00:02Z"},
            ],
        })  # fmt: skip

    result = g.induce([told(0, "Ulm"), told(1, "Köln")])
    visit, fill = result.graph.actions()
    assert (visit.action_type, visit.args) == ("navigate", {"url": "https://trains.test/"})
    assert (fill.action_type, fill.args) == ("fill", {"value": "{start}"})
    assert [each.type for each in fill.target.strategies] == ["id", "xpath", "css"]
    assert [spec.name for spec in result.lowered.workflow.io_spec.inputs] == ["start"]


def test_steps_that_nothing_tells_are_told_by_their_place_in_the_group():
    steps = [TraceStep(action_type="click", target={"strategy": "__id__", "value": str(n)}) for n in range(2)]
    normal = TraceNormalizer().normalize([
        g.trace_of([click("a"), steps[n], click("b")], n, input_data={"n": n}) for n in range(2)
    ])  # fmt: skip
    aligned = TraceAligner(min_score=0).align(normal)
    assert [position.alignment_type for position in aligned.positions] == [D, D, D]


def test_a_loop_that_always_has_as_many_rounds_is_done_that_often():
    traces = [words("s a b a b e", number) for number in range(2)]
    (_, loop, _) = g.induce(traces).graph.nodes
    assert isinstance(loop, LoopNode)
    assert (loop.kind, loop.times) == ("fixed", 2)


def test_a_loop_of_which_nothing_tells_the_end_is_refused_with_its_places():
    result = g.induce([words("s a b a b e", 0), words("s a b a b a b e", 1)])
    (refusal,) = result.synthesis_report.refusals
    assert refusal.startswith("loop: between 2 and 3 times")
    assert "(at t0#1, t1#1)" in refusal
    assert [node.type for node in result.lowered.workflow.nodes] == ["task", "agent", "task"]


def test_an_alignment_without_its_traces_still_names_what_varies():
    steps = {
        f"t{n}": TraceStep(action_type="fill", target=g.by_id("a"), args={"value": f"{n}"}) for n in range(2)
    }
    position = AlignedPosition(0, AlignmentType.PARAMETERIZABLE, steps)
    patterns = PatternExtractor().extract(AlignedTraceSet((position,), ("t0", "t1"), 1.0))
    ((_, info),) = patterns.parameterizable_steps
    assert info.variable_args == {"value": "fill_value"}


class Counted(TracePages):
    asked = 0

    def get(self, html, url):
        self.asked += 1
        return super().get(html, url)


@pytest.mark.parametrize(
    ("says", "held", "looked_at"), [("Ann", "", True), ("-", "Ann", False), ("-", "", False)]
)
def test_pages_that_say_nothing_of_what_was_given_are_not_looked_at_for_rows(says, held, looked_at):
    """Pages are large; what a field holds is no row's words."""
    pages, names = Counted(), ("Ann", "Bob", "Cid")

    def page(name):
        row, value = says.replace("Ann", name), held.replace("Ann", name)
        return f'<input data-pp-value="{value}"><table><tr><td>{row}</td><td><button id="a">Open</button></td></tr></table>'

    traces = [
        g.trace_of([click("a", html_before=page(name))], n, input_data={"who": name})
        for n, name in enumerate(names)
    ]
    PatternExtractor(pages).extract(TraceAligner(min_score=0, pages=pages).align(traces))
    assert (pages.asked > 0) is looked_at


def test_ways_that_nothing_tells_apart_are_a_branch_whose_condition_is_unknown():
    patterns = g.extract([words("a l c", 0), words("a l c", 1), words("a r c", 2), words("a r c", 3)])
    (branch,) = patterns.branch_patterns
    assert branch.condition_description == "Unknown: runs diverge at this point"
    assert (branch.condition_source, branch.branch_point_index, branch.indices) == (None, 1, [1, 2])
    assert sorted(len(positions) for positions in branch.branches.values()) == [1, 1]


# -- prompts and models


def test_prompts_say_what_the_document_says():
    trace = g.trace_of([click("a")])
    told = create_prompt_formatter()(EVALUATION_TEMPLATE_KEY, **build_evaluation_feed(trace, "buy"))
    assert told == (
        "Evaluate the quality of the following execution trace.\nTask: buy\nTrace ID: t0\nSuccess: True\n"
        "Steps (1):\n  1. click target=id=a\n\nRespond with a JSON object containing a single key 'score' "
        "with a float value between 0.0 and 1.0, where 1.0 is perfect quality.\n"
        'Example: {"score": 0.85}'
    )
    position = g.align([trace]).positions[0]
    feed = build_synthesis_feed(position, {"task_description": "buy"})
    assert create_prompt_formatter()(SYNTHESIS_TEMPLATE_KEY, **feed) == (
        "Synthesize an ActionGraph action for a deterministic pattern.\nTask: buy\nPosition index: 0\n"
        "Observed steps across traces:\n  t0: click target=id=a\n\nRespond with a JSON object containing:\n"
        '  "action_type": string (the action type to use),\n'
        '  "target": string or null (the target element or description),\n'
        '  "args": object or null (action arguments),\n'
        '  "confidence": float between 0.0 and 1.0,\n'
        '  "reasoning": string (explanation of your decision)\n\n'
        'Example: {"action_type": "click", "target": "btn-submit", "args": null, "confidence": 0.9, '
        '"reasoning": "All traces show a click on submit button"}'
    )
    assert feed.keys() == {
        "pattern_type",
        "task_description",
        "position_index",
        "steps_text",
        "param_section",
    }
    assert (
        create_prompt_formatter({SYNTHESIS_TEMPLATE_KEY: "{{ steps_text }}"})(SYNTHESIS_TEMPLATE_KEY, **feed)
        == "  t0: click target=id=a"
    )


def test_a_template_that_cannot_be_read_or_reaches_out_is_refused():
    with pytest.raises(ValueError, match="'evaluation' has a syntax error"):
        create_prompt_formatter({EVALUATION_TEMPLATE_KEY: "{{ oh"})
    with pytest.raises(
        ValueError, match="no prompt template 'evalution'; the templates are evaluation, synthesis"
    ):
        create_prompt_formatter({"evalution": "judge"})
    with pytest.raises(ValueError, match="uses 'trace'; it may use step_count, steps_text, task_description"):
        create_prompt_formatter({EVALUATION_TEMPLATE_KEY: "{{ trace }}"})
    prying = create_prompt_formatter({EVALUATION_TEMPLATE_KEY: "{{ trace_id.__class__.__mro__ }}"})
    with pytest.raises(ValueError, match="unsafe"):
        prying(EVALUATION_TEMPLATE_KEY, **build_evaluation_feed(words("a"), ""))


FORK = [words("a b c", 0), words("a x c", 1)]


def answer(action, target, confidence=0.8):
    return json.dumps(
        {"action_type": action, "target": target, "args": None, "confidence": confidence, "reasoning": "r"}
    )


async def test_hybrid_asks_only_where_rules_are_not_sure():
    asked = []

    class Model:
        async def infer(self, prompt):
            asked.append(prompt)
            return f"Here: {answer('click', 'x')}"

    result = await HybridSynthesizer(Model()).synthesize(g.extract(FORK), "do it")
    assert len(asked) == 1
    assert "for a variable pattern" in asked[0]
    decision = result.decisions[1]
    assert (decision.action_type, decision.decision_source, decision.confidence) == ("click", "hybrid", 0.8)
    assert decision.target.strategies[0].value == "x"


@pytest.mark.parametrize(
    "given_answer",
    [answer("click", "#invented"), answer("upload_file", "x"), "sorry", answer("click", "x", 7)],
)
async def test_a_model_that_invents_is_not_followed(given_answer):
    result = await LLMSynthesizer(scripted(given_answer)).synthesize(g.extract(FORK), "do it")
    assert result.graph.nodes[1].action_type == "meta_workflow_agent"
    assert any("the rule's decision is used" in told for told in result.report.warnings)
    assert result.report.synthesis_strategy == "llm"


class Asked:
    """A model that notes what it is asked."""

    def __init__(self, reply):
        self.prompts, self._reply = [], reply

    async def infer(self, prompt):
        self.prompts.append(prompt)
        return self._reply


async def test_a_model_is_asked_about_every_position_and_its_reasons_are_kept():
    model = Asked(answer("click", None))
    result = await LLMSynthesizer(model).synthesize(g.extract([words("a b c")]), "do it")
    assert len(model.prompts) == 3
    told = [(each.position_index, each.decision_source, each.reasoning) for each in result.decisions]
    assert told == [(0, "llm", "r"), (1, "llm", "r"), (2, "llm", "r")]
    assert [node.decision_source for node in result.graph.actions()] == ["llm"] * 3


async def test_a_pipeline_asks_its_models_with_its_own_templates():
    model = Asked('{"score": 1, "action_type": "click"}')
    config = PipelineConfig(
        evaluation_strategy=EvaluationStrategy.LLM_JUDGE,
        synthesis_strategy=SynthesisStrategy.LLM,
        prompt_templates={
            EVALUATION_TEMPLATE_KEY: "judge {{ trace_id }}",
            SYNTHESIS_TEMPLATE_KEY: "decide {{ position_index }}",
        },
    )
    result = await MetaAgentPipeline(config=config, inferencer=model).from_traces([words("a b")])
    assert result.failed_stage is None
    assert model.prompts == ["judge t0", "decide 0", "decide 1"]
    assert result.python_script is None  # nobody asked for one


async def test_a_pipeline_takes_the_names_of_another_agents_actions():
    config = PipelineConfig(custom_type_map={"Tap": "ElementInteraction.Click"})
    trace = g.trace_of([TraceStep(action_type="Tap", target=g.by_id("a"))])
    result = await MetaAgentPipeline(config=config).from_traces([trace])
    assert [node.action_type for node in result.graph.actions()] == ["click"]


@pytest.mark.parametrize("strategy", [SynthesisStrategy.LLM, SynthesisStrategy.HYBRID])
def test_a_pipeline_without_a_model_says_so_at_once(strategy):
    with pytest.raises(ValueError, match="requires an inferencer"):
        MetaAgentPipeline(config=PipelineConfig(synthesis_strategy=strategy))


async def test_a_whole_pipeline_from_an_agent_to_a_validated_graph():
    async def agent(task, data):
        return words("a b", data["n"])

    async def runner(graph, data):
        if data["n"] == 2:
            raise OSError("no browser")
        return words("a b" if data["n"] == 0 else "a x")

    config = PipelineConfig(run_count=3, generate_script=True)
    data = [{"n": n} for n in range(3)]
    result = await MetaAgentPipeline(agent, runner, config).run("go", data)
    first, second, third = result.validation_results.results
    assert first.passed
    assert (second.divergence_point, second.expected_outcome, second.actual_outcome) == (
        1,
        "click target=id=b",
        "click target=id=x",
    )
    assert (third.passed, third.error) == (False, "OSError: no browser")
    assert result.validation_results.success_rate == pytest.approx(1 / 3)
    assert "def build()" in result.python_script


def test_data_without_an_expected_trace_is_judged_by_success():
    async def runner(graph, data):
        return g.trace_of([click("a", result=TraceActionResult(success=data["ok"]))], success=data["ok"])

    results = g.run(GraphValidator(runner).validate(g.induce(FORK).graph, [{"ok": True}, {"ok": False}]))
    assert [(each.passed, each.divergence_point) for each in results.results] == [(True, None), (False, 0)]


def test_a_gap_is_named_with_what_the_recordings_show_there_in_words():
    steps = (
        TraceStep(action_type="fill", target=g.by_id("nosy"), args={"value": "nadia"}),
        TraceStep(action_type="select_option", target=g.by_id("status"), args={"value": "testing"}),
        click("note"),
    )
    result = g.induce([g.trace_of([click("a"), each, click("c")], at) for at, each in enumerate(steps)])
    gap = next(node for node in result.lowered.workflow.nodes if node.type == "agent")
    assert gap.goal.endswith(
        "the recordings show: choose 'testing' in id=status; or press id=note; or type 'nadia' into id=nosy"
    )
