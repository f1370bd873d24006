"""Stage 6: builds an ActionGraph from patterns (MA 7).

The structure is the same for all strategies. Rules, a model, or both decide which action a position becomes.
A model's decision is accepted only if its action and target were observed at that position. Otherwise the
decision of the rules is used, and the report contains a warning.
"""

from __future__ import annotations

import json
import re
from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, Literal

from agent.inferencer import InferenceFailed, Inferencer
from agent.synthesis.alignment.aligned_traces import AlignedPosition, AlignmentType
from agent.synthesis.graph.action_graph import (
    ActionGraph,
    ActionNode,
    Branch,
    ConditionNode,
    GraphParameter,
    GraphReading,
    LoopNode,
)
from agent.synthesis.graph.action_words import name_element, write_action
from agent.synthesis.graph.graph_script import render_script
from agent.synthesis.graph.synthesis_report import SynthesisReport, build_report
from agent.synthesis.patterns.extracted_patterns import (
    BranchPattern,
    ExtractedPatterns,
    LoopPattern,
    OptionalInfo,
    ParameterizableInfo,
    ValueBinding,
)
from agent.synthesis.patterns.step_conditions import find_step_address
from agent.synthesis.pipeline_config import SynthesisStrategy
from agent.synthesis.synthesis_prompts import (
    SYNTHESIS_TEMPLATE_KEY,
    PromptFormatter,
    render_step,
    render_target,
)
from agent.synthesis.traces.element_fingerprints import merge_step_fingerprints
from agent.synthesis.traces.trace_side_effects import DIALOG_TEXT, merge_side_effects
from kb_schema import action_types
from kb_schema.excerpts import excerpt
from kb_schema.execution_traces import TraceStep
from kb_schema.fingerprints import Fingerprint
from kb_schema.selectors import Selector
from kb_schema.templates import selector_parameters, strings

DecisionSource = Literal["rule", "llm", "hybrid"]
_SynthesizedNode = ActionNode | ConditionNode | LoopNode
_OBJECT = re.compile(r"\{.*\}", re.DOTALL)


@dataclass(frozen=True, slots=True)
class ActionDecision:
    """The action that a position becomes, and the source of that decision (MA 7)."""

    position_index: int
    action_type: str
    target: Any = None
    args: dict[str, Any] | None = None
    decision_source: DecisionSource = "rule"
    confidence: float = 1.0
    reasoning: str | None = None


@dataclass(frozen=True, slots=True)
class SynthesisResult:
    """A graph with its report, decisions and script."""

    graph: ActionGraph
    report: SynthesisReport
    decisions: tuple[ActionDecision, ...] = ()
    python_script: str | None = None


@dataclass(frozen=True, slots=True)
class DecisionContext:
    """The context in which the action of a position is decided."""

    patterns: ExtractedPatterns
    task_description: str = ""
    info: ParameterizableInfo | None = None
    kind: AlignmentType = AlignmentType.DETERMINISTIC


@dataclass(slots=True)
class _SynthesisState:
    """The state of one synthesis."""

    task: str
    decisions: list[ActionDecision] = field(default_factory=list)
    parameters: dict[str, GraphParameter] = field(default_factory=dict)
    warnings: list[str] = field(default_factory=list)
    readings: dict[int, list[GraphReading]] = field(default_factory=dict)
    """Maps a position to the values that are read from the page before it."""


class GraphSynthesizer(ABC):
    """Builds the graph; subclasses decide which action a position becomes."""

    strategy: SynthesisStrategy

    def __init__(
        self,
        agent_action_type: str = "meta_workflow_agent",
        prompt_formatter: PromptFormatter | None = None,
        *,
        name: str = "workflow",
        generate_script: bool = False,
    ) -> None:
        self._agent, self._formatter = agent_action_type, prompt_formatter or PromptFormatter()
        self._name, self._generate_script = name, generate_script
        self._work = _SynthesisState("")

    async def synthesize(self, patterns: ExtractedPatterns, task_description: str = "") -> SynthesisResult:
        """Return the graph of patterns, its report and every decision."""
        work = self._work = _SynthesisState(task_description, readings=_readings(patterns))
        nodes = await self._nodes(patterns)
        for name in sorted(_list_condition_variables(nodes) - work.parameters.keys()):
            work.parameters[name] = GraphParameter(
                name=name, source="input", key=name, evidence="a condition checks whether the page shows it"
            )
        positions = [d.confidence for d in work.decisions]
        graph = ActionGraph(
            name=self._name,
            task_description=task_description,
            agent_action_type=self._agent,
            parameters=tuple(work.parameters[name] for name in sorted(work.parameters)),
            nodes=nodes,
            success=patterns.success,
            read_back=patterns.read_back,
            trace_ids=patterns.trace_ids,
            strategy=self.strategy.value,
            confidence=round(
                patterns.alignment_score * (sum(positions) / len(positions) if positions else 1.0), 4
            ),
        )
        report = build_report(patterns, graph, strategy=self.strategy.value, warnings=tuple(work.warnings))
        script = render_script(graph) if self._generate_script else None
        return SynthesisResult(graph, report, tuple(work.decisions), script)

    @abstractmethod
    async def _decide_action(self, position: AlignedPosition, context: DecisionContext) -> ActionDecision:
        """Return the action for a position."""

    # -- structure

    async def _nodes(self, patterns: ExtractedPatterns) -> tuple[_SynthesizedNode, ...]:
        """Return the nodes of a sequence: each position once, loops and branches where they begin."""
        loops = {loop.body_start: loop for loop in patterns.loop_patterns}
        forks = {branch.branch_point_index: branch for branch in patterns.branch_patterns}
        inside = {index for loop in patterns.loop_patterns for index in loop.indices}
        inside |= {index for branch in patterns.branch_patterns for index in branch.indices}
        steps = _steps_by_index(patterns)
        nodes: list[_SynthesizedNode] = []
        for index in patterns.step_order:
            if index in loops:
                nodes += await self._loop(loops[index])
            elif index in forks:
                nodes.append(await self._fork(forks[index]))
            elif index not in inside and index in steps:
                nodes.append(await self._step(steps[index], patterns))
        return tuple(nodes)

    async def _loop(self, loop: LoopPattern) -> list[_SynthesizedNode]:
        rule = loop.rule
        for binding in filter(None, (rule.binding, rule.counted)):
            self._declare(binding)
        rounds = [await self._nodes(each) for each in loop.rounds] or [await self._nodes(loop.body)]
        if not any(rounds):
            return []  # no row has a step in it
        if any(nodes != rounds[0] for nodes in rounds):
            return [node for nodes in rounds for node in nodes]  # each round has its own values
        made = LoopNode(
            kind=rule.kind,
            nodes=rounds[0],
            min_iterations=loop.min_iterations,
            max_iterations=loop.max_iterations,
            until=rule.condition,
            collection=rule.collection,
            shrinking=rule.shrinking,
            items=rule.items,
            times=rule.times,
            turn=rule.turn,
            turn_fingerprint=rule.turn_fingerprint,
            description=rule.evidence,
        )
        return [made]

    async def _fork(self, branch: BranchPattern) -> ConditionNode:
        ways = [
            Branch(
                label=label,
                condition=branch.conditions.get(label),
                nodes=await self._nodes(branch.bodies[label]) if label in branch.bodies else (),
            )
            for label in branch.branches
        ]
        ways.sort(key=lambda way: way.condition is None)
        return ConditionNode(
            branches=tuple(ways), description=branch.condition_description, source=branch.condition_source
        )

    async def _step(self, step: _SynthesizedStep, patterns: ExtractedPatterns) -> ActionNode:
        context = DecisionContext(patterns, self._work.task, step.info, step.kind)
        decision = await self._decide_action(step.position, context)
        self._work.decisions.append(decision)
        optional = patterns.optional_info.get(step.position.index)
        node = ActionNode(
            action_type=decision.action_type,
            target=decision.target,
            args=decision.args or {},
            awaits=patterns.waits.get(step.position.index),
            address=find_step_address(step.position),
            postcondition=patterns.postconditions.get(step.position.index),
            position=step.position.index,
            confidence=round(decision.confidence, 4),
            decision_source=decision.decision_source,
            reads=tuple(self._work.readings.get(step.position.index, ())),
            fingerprint=_find_fingerprint(step, decision),
        )
        state = patterns.control_states.get(step.position.index)
        if state is not None and decision.action_type != self._agent:
            node = node.model_copy(
                update={"target": state.target, "already_done_when": state.already_done_when}
            )
        if step.kind is AlignmentType.OPTIONAL and decision.action_type != self._agent:
            node = node.model_copy(update=_optional_fields(optional))
        asked = None if optional is None else optional.asked
        for binding in (*_bindings(step.info), *(() if asked is None else (asked,))):
            self._declare(binding)
        return node

    def _declare(self, binding: ValueBinding) -> None:
        """Add a parameter, described by its first use."""
        key = binding.key if binding.source in ("input", "item") else ""
        self._work.parameters.setdefault(
            binding.name,
            GraphParameter(
                name=binding.name,
                source=binding.source,
                key=key,
                description=binding.description,
                secret=binding.secret,
                evidence=binding.evidence,
                optional=binding.optional,
                plain_number=binding.plain_number,
                formula=binding.formula,
            ),
        )
        for each in binding.parts:
            self._declare(each)

    # -- the rules, which every strategy uses as a fallback

    def _by_rule(self, position: AlignedPosition, context: DecisionContext) -> ActionDecision:
        """Return the action that the rules give for a kind of position (MA 7)."""
        if context.kind is AlignmentType.VARIABLE:
            return ActionDecision(
                position.index,
                self._agent,
                _describe_goal(position, context.task_description),
                confidence=position.confidence,
            )
        first = position.observed[0]
        target: Any = context.patterns.targets.get(position.index, first.target)
        if position.index in context.patterns.user_input_boundaries:
            target = True
        args = dict(first.args or {})
        if context.info is not None:
            args = dict(context.info.constant_args)
            args |= {key: each.template for key, each in context.info.bindings.items()}
            if context.info.target is not None:
                target = context.info.target.selector
        args |= self._beside(position, args.pop(DIALOG_TEXT, None))
        confidence = 1.0 if context.kind is not AlignmentType.OPTIONAL else position.confidence
        return ActionDecision(position.index, first.action_type, target, args or None, confidence=confidence)

    def _beside(self, position: AlignedPosition, dialog_text: Any) -> dict[str, Any]:
        """Return the side effects of the action; if traces disagree, a run asks a person."""
        found, doubts = merge_side_effects(position.observed, position.index)
        if dialog_text is not None and "on_dialog" in found:
            found["on_dialog"]["text"] = dialog_text
        self._work.warnings += [
            f"Step {position.index + 1}: {each}; a run asks a person there" for each in doubts
        ]
        return found


class RuleBasedSynthesizer(GraphSynthesizer):
    """Uses fixed rules only (the default)."""

    strategy = SynthesisStrategy.RULE_BASED

    async def _decide_action(self, position: AlignedPosition, context: DecisionContext) -> ActionDecision:
        return self._by_rule(position, context)


class LLMSynthesizer(GraphSynthesizer):
    """Asks a model about every position."""

    strategy = SynthesisStrategy.LLM
    _source: DecisionSource = "llm"

    def __init__(
        self,
        inferencer: Inferencer,
        agent_action_type: str = "meta_workflow_agent",
        prompt_formatter: PromptFormatter | None = None,
        *,
        name: str = "workflow",
        generate_script: bool = False,
    ) -> None:
        super().__init__(agent_action_type, prompt_formatter, name=name, generate_script=generate_script)
        self._inferencer = inferencer

    async def _decide_action(self, position: AlignedPosition, context: DecisionContext) -> ActionDecision:
        return await self._by_model(position, context)

    async def _by_model(self, position: AlignedPosition, context: DecisionContext) -> ActionDecision:
        rule = self._by_rule(position, context)
        info = context.info
        feed = build_synthesis_feed(
            replace(position, alignment_type=context.kind),
            {
                "task_description": context.task_description,
                "variable_args": None if info is None else info.variable_args,
                "constant_args": None if info is None else info.constant_args,
            },
        )
        try:
            answer = await self._inferencer.infer(self._formatter(SYNTHESIS_TEMPLATE_KEY, **feed))
        except InferenceFailed as exc:
            self._note(position, str(exc))
            return rule
        told = _read_decision(answer)
        if told is None:
            self._note(position, f"the model's answer is not a valid decision: {excerpt(answer, 80)!r}")
            return rule
        return self._accepted(position, rule, told)

    def _accepted(
        self, position: AlignedPosition, rule: ActionDecision, told: Mapping[str, Any]
    ) -> ActionDecision:
        """Return the model's decision if its action and target were observed, else the rules' decision."""
        action = action_types.canonical(str(told["action_type"]))
        seen = {step.action_type for step in position.observed}
        varies = rule.action_type == self._agent
        if str(told["action_type"]) != self._agent and (action is None or action not in seen):
            self._note(position, f"the model's action {told['action_type']!r} was not observed here")
            return rule
        target = rule.target
        if varies and action is not None:
            found = _seen_target(position, action, told.get("target"))
            if found is None:
                self._note(position, f"the model's target {told.get('target')!r} was not observed here")
                return rule
            target = found
        args = told.get("args") if varies and isinstance(told.get("args"), dict) else rule.args
        return ActionDecision(
            position.index,
            action or self._agent,
            target,
            args,
            self._source,
            float(told["confidence"]),
            told.get("reasoning"),
        )

    def _note(self, position: AlignedPosition, told: str) -> None:
        self._work.warnings.append(f"Step {position.index + 1}: {told}; the rule's decision is used")


class HybridSynthesizer(LLMSynthesizer):
    """Uses rules, and asks a model about positions that the rules would leave to an agent."""

    strategy = SynthesisStrategy.HYBRID
    _source: DecisionSource = "hybrid"

    async def _decide_action(self, position: AlignedPosition, context: DecisionContext) -> ActionDecision:
        if context.kind in (AlignmentType.VARIABLE, AlignmentType.BRANCH_POINT):
            return await self._by_model(position, context)
        return self._by_rule(position, context)


@dataclass(frozen=True, slots=True)
class _SynthesizedStep:
    position: AlignedPosition
    kind: AlignmentType
    info: ParameterizableInfo | None = None


def _list_condition_variables(nodes: Sequence[_SynthesizedNode]) -> set[str]:
    """Return the variables in the selectors of conditions."""
    found: set[str] = set()
    for node in nodes:
        asked: list[Any] = []
        if isinstance(node, ActionNode):
            asked = [node.only_if]
        elif isinstance(node, LoopNode):
            asked, found = [node.until], found | _list_condition_variables(node.nodes)
        else:
            asked = [way.condition for way in node.branches]
            found = found.union(*(_list_condition_variables(way.nodes) for way in node.branches))
        for condition in asked:
            told = () if condition is None else strings(condition.model_dump(mode="json"))
            found = found.union(*(selector_parameters(text) for _, text in told))
    return found


def _steps_by_index(patterns: ExtractedPatterns) -> dict[int, _SynthesizedStep]:
    found = [_SynthesizedStep(each, AlignmentType.DETERMINISTIC) for each in patterns.deterministic_steps]
    found += [
        _SynthesizedStep(each, AlignmentType.PARAMETERIZABLE, info)
        for each, info in patterns.parameterizable_steps
    ]
    found += [_SynthesizedStep(each, AlignmentType.VARIABLE) for each in patterns.variable_steps]
    found += [_SynthesizedStep(each, AlignmentType.OPTIONAL) for each in patterns.optional_steps]
    return {step.position.index: step for step in found}


def _optional_fields(info: OptionalInfo | None) -> dict[str, Any]:
    fields: dict[str, Any] = {"no_action_if_target_not_found": True}
    if info is not None:
        fields |= {"only_if": info.condition, "left_out": info.left_out, "interrupts": info.interrupts}
    return fields


def _bindings(info: ParameterizableInfo | None) -> list[ValueBinding]:
    if info is None:
        return []
    targets = [] if info.target is None else [info.target.binding, *info.target.also]
    readings = [each.reading for each in (*info.bindings.values(), *targets) if each.reading is not None]
    return [*info.bindings.values(), *targets, *(each for reading in readings for each in reading.named_by)]


def _readings(patterns: ExtractedPatterns) -> dict[int, list[GraphReading]]:
    """Return the values to read by position: at the position whose page showed a value if every run reaches
    it, otherwise at the position that uses the value.
    """
    steady = {position.index for position in patterns.deterministic_steps}
    steady |= {position.index for position, _ in patterns.parameterizable_steps}
    found: dict[int, list[GraphReading]] = {}
    for each in patterns.walk():
        own = {position.index for position in each.deterministic_steps}
        own |= {position.index for position, _ in each.parameterizable_steps}
        for position, info in each.parameterizable_steps:
            for binding in _bindings(info):
                if binding.reading is None:
                    continue
                shown = int(binding.key)
                place = shown if shown in steady | own else position.index
                reading = GraphReading(
                    name=binding.reading.name,
                    selector=binding.reading.selector,
                    pattern=binding.reading.pattern,
                    ranked=binding.reading.ranked,
                )
                if reading not in found.setdefault(place, []):
                    found[place].append(reading)
    return found


def build_synthesis_feed(position: AlignedPosition, context: Mapping[str, Any]) -> dict[str, Any]:
    """Return the values for the synthesis template.

    `context` has the keys `task_description`, `variable_args` and `constant_args`.
    """
    lines = [
        f"  {trace_id}: {'(absent)' if step is None else render_step(step)}"
        for trace_id, step in sorted(position.steps.items())
    ]
    variable, constant = context.get("variable_args"), context.get("constant_args")
    section = ""
    if variable is not None:
        section = f"Variable arguments: {variable}\nConstant arguments: {constant or {}}\n"
    return {
        "pattern_type": position.alignment_type.value,
        "task_description": context.get("task_description", ""),
        "position_index": position.index,
        "steps_text": "\n".join(lines),
        "param_section": section,
    }


def _find_fingerprint(step: _SynthesizedStep, decision: ActionDecision) -> Fingerprint | None:
    """Return what the observed steps of a decision have in common about their element."""
    if not isinstance(decision.target, Selector):
        return None
    observed = [each for each in step.position.observed if each.action_type == decision.action_type]
    if step.kind is AlignmentType.VARIABLE:
        observed = [each for each in observed if each.target == decision.target]
    parameter = None if step.info is None else step.info.target
    return merge_step_fingerprints(observed, () if parameter is None else parameter.words.values())


def _describe_goal(position: AlignedPosition, task: str) -> str:
    seen = sorted({_say(step) for step in position.observed})
    told = "; or ".join(seen[:5])
    return f"{task + ': ' if task else ''}do what fits here; the recordings show: {told}"[:2_000]


def _say(step: TraceStep) -> str:
    """Return what was done in a step, in words."""
    name = name_element(merge_step_fingerprints([step]), step.target)
    return write_action(step.action_type, step.args or {}, name or render_target(step.target))


def _read_decision(answer: str) -> dict[str, Any] | None:
    found = _OBJECT.search(answer)
    try:
        told = json.loads(found[0]) if found else None
    except ValueError:
        return None
    if not isinstance(told, dict) or not isinstance(told.get("action_type"), str):
        return None
    confidence = told.get("confidence", 1.0)
    if isinstance(confidence, bool) or not isinstance(confidence, int | float) or not 0 <= confidence <= 1:
        return None
    return {**told, "confidence": confidence}


def _seen_target(position: AlignedPosition, action: str, wanted: Any) -> Any:
    """Return the observed target of this action that the model names; None if there is none."""
    seen: Sequence[Any] = [step.target for step in position.observed if step.action_type == action]
    if wanted is None:
        return seen[0] if len({render_target(each) for each in seen}) == 1 else None
    for each in seen:
        ways = each.strategies if isinstance(each, Selector) else ()
        if str(wanted) == render_target(each) or any(
            str(wanted) == getattr(way, "value", None) for way in ways
        ):
            return each
    return None
