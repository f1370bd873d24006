"""Writes the synthesis report as one HTML page: a column per trace, a row per step, folded loops, and links to
the stored pages of each step.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from jinja2 import Environment, FileSystemLoader, StrictUndefined, select_autoescape

from agent.redaction import REDACTED
from agent.synthesis.alignment.aligned_traces import AlignedPosition, AlignmentType
from agent.synthesis.patterns.extracted_patterns import ExtractedPatterns, LoopPattern
from agent.synthesis.synthesis_pipeline import PipelineResult
from agent.synthesis.synthesis_prompts import render_target
from kb_schema.execution_traces import TraceStep
from mcp_server.document_text.condition_text import describe_condition
from periplus.synthesis.proposed_screens import ProposedScreen, ScreensFound
from periplus.synthesis.trace_page_links import StepPageLinks, TracePageLinks

LONGEST = 60
"""Maximum length of a value in the table."""


@dataclass(frozen=True, slots=True)
class TraceCell:
    """The step of one trace in a row."""

    number: int
    """Number of the step in its trace, as refusals name it."""
    action: str
    said: str
    values: tuple[str, ...]
    """The value of each round, in order, else its target; equal values are listed once."""
    times: int
    pages: StepPageLinks


@dataclass(frozen=True, slots=True)
class TraceRow:
    """One position of the alignment."""

    index: int
    kind: str
    """The kinds of the resulting steps; one aligned step may become several by its target."""
    cells: tuple[TraceCell | None, ...]
    became: tuple[str, ...]
    screen: str
    confidence: float
    depth: int
    """Number of enclosing loops."""
    begins: tuple[str, ...]
    """Descriptions of the loops that begin here."""
    later: bool
    """Whether it belongs to a later round, which repeats the steps of the first one."""


@dataclass(frozen=True, slots=True)
class NotedTrace:
    """A trace that evaluation rejected."""

    name: str
    reason: str


def build_trace_rows(result: PipelineResult, screens: Mapping[int, str], folder: Path) -> list[TraceRow]:
    """Return the rows of the table: every position with the step of each trace. Links are relative to `folder`."""
    if result.aligned is None:
        return []
    told: dict[int, list[str]] = {}
    loops: list[LoopPattern] = []
    if result.patterns is not None:
        for index, text in _describe_patterns(result.patterns):
            told.setdefault(index, []).append(text)
        loops = [loop for each in result.patterns.walk() for loop in each.loop_patterns]
    pages, kinds = TracePageLinks(result.traces, folder), _kinds(result)
    return [
        TraceRow(
            position.index,
            kinds.get(position.index, position.alignment_type).value,
            tuple(_cell(position, trace, pages) for trace in result.aligned.trace_ids),
            _describe_position(position, told),
            screens.get(position.index, ""),
            position.confidence,
            sum(position.index in loop.indices for loop in loops),
            tuple(_describe_loop(loop) for loop in loops if loop.body_start == position.index),
            any(loop.body_end < position.index <= loop.last for loop in loops),
        )
        for position in result.aligned.positions
    ]


def write_synthesis_report(
    path: Path,
    result: PipelineResult,
    *,
    name: str,
    screens: Mapping[int, str],
    problems: Mapping[str, tuple[str, ...]],
    validated: Sequence[str],
    found: ScreensFound | None = None,
) -> None:
    """Write the report. `screens` maps positions to screen names."""
    environment = Environment(
        loader=FileSystemLoader(Path(__file__).parent),
        autoescape=select_autoescape(default=True),
        undefined=StrictUndefined,
        trim_blocks=True,
    )
    html = environment.get_template("synthesis_report.html.j2").render(
        name=name,
        result=result,
        report=result.synthesis_report,
        parameters=() if result.graph is None else result.graph.parameters,
        asked_later=_list_optional_inputs(result),
        notes=() if result.lowered is None else result.lowered.notes,
        rows=build_trace_rows(result, screens, path.parent),
        traces=_list_traces(result),
        noted=_list_noted_traces(result),
        words={kind.value: word for kind, word in _WORDS.items()},
        problems=problems,
        validated=validated,
        decisions=[]
        if result.synthesis is None
        else [d for d in result.synthesis.decisions if d.decision_source != "rule"],
        new_screens=() if found is None else tuple(map(_new_screen, found.proposed)),
        refused_screens=() if found is None else found.refused,
    )
    path.write_text(html, encoding="utf-8")


def _list_optional_inputs(result: PipelineResult) -> frozenset[str]:
    """Return the inputs that only some runs need."""
    specs = () if result.lowered is None else result.lowered.workflow.io_spec.inputs
    return frozenset(spec.name for spec in specs if not spec.required)


@dataclass(frozen=True, slots=True)
class ReportedNewScreen:
    """A proposed screen in the report."""

    name: str
    screen_id: str
    known_by: tuple[str, ...]
    evidence: str
    numbers: str
    """Numbers of the steps that are on it."""


def _new_screen(proposed: ProposedScreen) -> ReportedNewScreen:
    screen, signature = proposed.screen, proposed.screen.state_signature
    told = [f"address {pattern}" for pattern in screen.url_patterns]
    if signature is not None:
        told += [describe_condition(each) for each in signature.positive]
        told += [f"not: {describe_condition(each)}" for each in signature.negative_indicators]
    return ReportedNewScreen(screen.name, screen.screen_id, tuple(told), proposed.evidence, proposed.numbers)


_WORDS = {
    AlignmentType.DETERMINISTIC: "the same",
    AlignmentType.PARAMETERIZABLE: "with inputs",
    AlignmentType.VARIABLE: "agent",
    AlignmentType.OPTIONAL: "optional",
    AlignmentType.BRANCH_POINT: "fork",
}
_PLAIN = {
    AlignmentType.DETERMINISTIC: "performed unchanged",
    AlignmentType.PARAMETERIZABLE: "its values are inputs",
    AlignmentType.VARIABLE: "becomes an agent step",
    AlignmentType.OPTIONAL: "optional",
    AlignmentType.BRANCH_POINT: "a fork",
}


_NEVER_SHOWN = "a secret: traces do not contain it, so the run requests it"


def _describe_position(position: AlignedPosition, told: Mapping[int, Sequence[str]]) -> tuple[str, ...]:
    lines = list(dict.fromkeys(told.get(position.index, [_PLAIN[position.alignment_type]])))
    if not _is_secret(position):
        return tuple(lines)
    return (*(line for line in lines if line not in _PLAIN.values()), _NEVER_SHOWN)


def _is_secret(position: AlignedPosition) -> bool:
    return any(step.metadata.get("secret") and _value(step) == REDACTED for step in position.observed)


def _list_traces(result: PipelineResult) -> list[tuple[str, str, int, int]]:
    """Return the traces by id, with the folder, the number of steps, and the number of steps without effect."""
    if result.aligned is None:
        return []
    read = {each.trace_id: each for each in result.traces}
    aligned = result.aligned.traces
    told = []
    for name in result.aligned.trace_ids:
        steps = len(read[name].steps) if name in read else 0
        used = len(aligned[name].steps) if name in aligned else steps
        told.append((name, Path(read[name].session_dir or "").name, steps, max(0, steps - used)))
    return told


def _list_noted_traces(result: PipelineResult) -> list[NotedTrace]:
    return [
        NotedTrace(each.trace_id, f"not used; {each.reason}")
        for each in result.evaluation_results
        if not each.passed
    ]


def _cell(position: AlignedPosition, trace: str, pages: TracePageLinks) -> TraceCell | None:
    cells = [cell for cell in position.cells.values() if cell.row[0] == trace]
    if not cells:
        return None
    steps = [cell.step for cell in cells]
    values = [_short(_value(step)) for step in steps]
    said = [_describe_step(step) for step in steps]
    told = values if any(values) else [] if len(set(said)) == 1 else said
    if len(set(told)) == 1:
        told = told[:1]
    return TraceCell(
        cells[0].step_index, steps[0].action_type, said[0], tuple(told), len(steps), pages.of(trace, steps[0])
    )


def _describe_step(step: TraceStep) -> str:
    return _short(str(step.metadata.get("said") or render_target(step.target)))


def _kinds(result: PipelineResult) -> dict[int, AlignmentType]:
    kinds: dict[int, AlignmentType] = {}
    for each in () if result.patterns is None else result.patterns.walk():
        kinds |= {position.index: AlignmentType.DETERMINISTIC for position in each.deterministic_steps}
        kinds |= {position.index: AlignmentType.PARAMETERIZABLE for position, _ in each.parameterizable_steps}
        kinds |= {position.index: AlignmentType.VARIABLE for position in each.variable_steps}
        kinds |= {position.index: AlignmentType.OPTIONAL for position in each.optional_steps}
    return kinds


def _describe_loop(loop: LoopPattern) -> str:
    rounds = (
        str(loop.min_iterations)
        if loop.min_iterations == loop.max_iterations
        else f"{loop.min_iterations} to {loop.max_iterations}"
    )
    return f"repeated {rounds} times ({loop.rule.kind}): {loop.rule.evidence}"


def _value(step: TraceStep) -> str:
    args = step.args or {}
    value = args.get("value", args.get("url", args.get("duration", "")))
    return ", ".join(map(str, value)) if isinstance(value, list) else str(value)


def _short(text: str) -> str:
    return text if len(text) <= LONGEST else f"{text[: LONGEST - 1]}…"


def _describe_patterns(patterns: ExtractedPatterns) -> Iterator[tuple[int, str]]:
    for each in patterns.walk():
        yield from _steps(each)
        for branch in each.branch_patterns:
            for label, positions in branch.branches.items():
                by = branch.condition_source
                source = "nothing" if by is None else f"the {by.replace('target', 'element')}"
                for position in positions:
                    yield (
                        position.index,
                        f"only on {label.replace('_', ' ')}, determined by the {source}: {branch.condition_description}",
                    )


def _steps(patterns: ExtractedPatterns) -> Iterator[tuple[int, str]]:
    for position in patterns.deterministic_steps:
        yield position.index, _PLAIN[AlignmentType.DETERMINISTIC]
    for position, info in patterns.parameterizable_steps:
        for key, variable in info.variable_args.items():
            binding = info.bindings.get(key)
            told = "" if binding is None else f" ({binding.source}: {binding.evidence})"
            yield position.index, f"{key} is {{{variable}}}{told}"
        if info.target is not None:
            binding = info.target.binding
            yield (
                position.index,
                f"its target is selected by {{{binding.name}}} ({binding.source}: {binding.evidence})",
            )
    for position in patterns.variable_steps:
        yield position.index, _PLAIN[AlignmentType.VARIABLE]
    for position in patterns.optional_steps:
        told_of = patterns.optional_info.get(position.index)
        if told_of is None:
            yield position.index, _PLAIN[AlignmentType.OPTIONAL]
        elif told_of.left_out is not None:
            yield position.index, f"omitted: {told_of.left_out}"
        else:
            yield position.index, f"optional: {told_of.evidence}"
    for index in patterns.user_input_boundaries:
        yield index, "waits for a person"
