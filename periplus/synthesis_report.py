"""What became of the traces, as one HTML page: aligned traces as columns, one row per step."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path

from jinja2 import Environment, FileSystemLoader, StrictUndefined, select_autoescape

from agent.redaction import REDACTED
from agent.synthesis.alignment import AlignedPosition, AlignmentType
from agent.synthesis.patterns import ExtractedPatterns
from agent.synthesis.pipeline import PipelineResult
from agent.synthesis.prompts import told_target
from kb_schema.answers import Identification
from kb_schema.traces import TraceStep

LONGEST = 60
"""Characters of a value in the table."""


@dataclass(frozen=True, slots=True)
class TraceCell:
    """What one trace has in a row."""

    action: str
    said: str
    value: str
    times: int


@dataclass(frozen=True, slots=True)
class TraceRow:
    """One position of the alignment."""

    index: int
    kind: str
    cells: tuple[TraceCell | None, ...]
    became: tuple[str, ...]
    screen: str
    confidence: float


def rows_of(result: PipelineResult, screens: Mapping[int, str]) -> list[TraceRow]:
    """The table: every position, what each trace has there, what became of it."""
    if result.aligned is None:
        return []
    told: dict[int, list[str]] = {}
    if result.patterns is not None:
        for index, text in _became(result.patterns):
            told.setdefault(index, []).append(text)
    return [
        TraceRow(
            position.index,
            position.alignment_type.value,
            tuple(_cell(position, trace) for trace in result.aligned.trace_ids),
            _SECRET
            if _is_secret(position)
            else tuple(dict.fromkeys(told.get(position.index, [_PLAIN[position.alignment_type]]))),
            screens.get(position.index, ""),
            position.confidence,
        )
        for position in result.aligned.positions
    ]


def write_report(
    path: Path,
    result: PipelineResult,
    *,
    name: str,
    screens: Mapping[int, str],
    problems: Mapping[str, tuple[str, ...]],
    validated: str,
) -> None:
    """Write the page."""
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
        notes=() if result.lowered is None else result.lowered.notes,
        rows=rows_of(result, screens),
        traces=_named(result),
        problems=problems,
        validated=validated,
    )
    path.write_text(html, encoding="utf-8")


def screens_of(answers: Mapping[int, Identification]) -> dict[int, str]:
    """Position -> what the knowledge calls its page."""
    return {index: answer.name or answer.screen_id or "unknown" for index, answer in answers.items()}


_PLAIN = {
    AlignmentType.DETERMINISTIC: "done as it is",
    AlignmentType.PARAMETERIZABLE: "its values are inputs",
    AlignmentType.VARIABLE: "left to an agent step",
    AlignmentType.OPTIONAL: "optional",
    AlignmentType.BRANCH_POINT: "a fork",
}


_SECRET = ("a secret: no trace has it, so it is asked for when the workflow runs",)


def _is_secret(position: AlignedPosition) -> bool:
    return any(step.metadata.get("secret") and _value(step) == REDACTED for step in position.observed)


def _named(result: PipelineResult) -> list[tuple[str, str]]:
    """The traces by id, with the folder of each."""
    if result.aligned is None:
        return []
    folders = {each.trace_id: Path(each.session_dir or "").name for each in result.traces}
    return [(trace, folders.get(trace, "")) for trace in result.aligned.trace_ids]


def _cell(position: AlignedPosition, trace: str) -> TraceCell | None:
    steps = [cell.step for cell in position.cells.values() if cell.row[0] == trace]
    if not steps:
        return None
    first = steps[0]
    said = str(first.metadata.get("said") or told_target(first.target))
    return TraceCell(first.action_type, _short(said), _short(_value(first)), len(steps))


def _value(step: TraceStep) -> str:
    args = step.args or {}
    value = args.get("value", args.get("url", args.get("duration", "")))
    return ", ".join(map(str, value)) if isinstance(value, list) else str(value)


def _short(text: str) -> str:
    return text if len(text) <= LONGEST else f"{text[: LONGEST - 1]}…"


def _became(patterns: ExtractedPatterns) -> Iterator[tuple[int, str]]:
    for each in patterns.walk():
        yield from _steps(each)
        for loop in each.loop_patterns:
            often = f"{loop.min_iterations}-{loop.max_iterations} times"
            for index in loop.indices:
                yield index, f"repeated, {often} ({loop.rule.kind}): {loop.rule.evidence}"
        for branch in each.branch_patterns:
            for label, positions in branch.branches.items():
                source = "" if branch.condition_source is None else f", decided by {branch.condition_source}"
                for position in positions:
                    yield position.index, f"way {label}{source}: {branch.condition_description}"


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
                f"its target is told by {{{binding.name}}} ({binding.source}: {binding.evidence})",
            )
    for position in patterns.variable_steps:
        yield position.index, _PLAIN[AlignmentType.VARIABLE]
    for position in patterns.optional_steps:
        told_of = patterns.optional_info.get(position.index)
        if told_of is None:
            yield position.index, _PLAIN[AlignmentType.OPTIONAL]
        elif told_of.left_out is not None:
            yield position.index, f"left out: {told_of.left_out}"
        else:
            yield position.index, f"optional: {told_of.evidence}"
    for index in patterns.user_input_boundaries:
        yield index, "a person is waited for"
