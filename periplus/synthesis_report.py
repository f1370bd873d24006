"""What became of the traces, as one HTML page: aligned traces as columns, one row per step, repeats folded,
and a way to the pages of each step.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from jinja2 import Environment, FileSystemLoader, StrictUndefined, select_autoescape

from agent.redaction import REDACTED
from agent.synthesis.alignment import AlignedPosition, AlignmentType
from agent.synthesis.patterns import ExtractedPatterns, LoopPattern
from agent.synthesis.pipeline import PipelineResult
from agent.synthesis.prompts import told_target
from kb_schema.traces import TraceStep
from mcp_server.wording import of_condition
from periplus.proposed_screens import ProposedScreen, ScreensFound
from periplus.synthesis_pages import PageLinks, TracePages

LONGEST = 60
"""Characters of a value in the table."""


@dataclass(frozen=True, slots=True)
class TraceCell:
    """What one trace has in a row."""

    number: int
    """Of the step in its trace, as refusals name it."""
    action: str
    said: str
    values: tuple[str, ...]
    """The value of each time, in order, else what it was done to; the first stands for all that are the same."""
    times: int
    pages: PageLinks


@dataclass(frozen=True, slots=True)
class TraceRow:
    """One position of the alignment."""

    index: int
    kind: str
    """What became of it: what was one step for the aligner may be told apart by what it is done to."""
    cells: tuple[TraceCell | None, ...]
    became: tuple[str, ...]
    screen: str
    confidence: float
    depth: int
    """Loops around it."""
    begins: tuple[str, ...]
    """The loops that begin with it, in words."""
    later: bool
    """It is of a later round, whose steps are the first one's again."""


@dataclass(frozen=True, slots=True)
class UnusedTrace:
    """A trace that was judged not to be learned from."""

    name: str
    reason: str


def rows_of(result: PipelineResult, screens: Mapping[int, str], folder: Path) -> list[TraceRow]:
    """The table: every position, what each trace has there, what became of it. Links are from `folder`."""
    if result.aligned is None:
        return []
    told: dict[int, list[str]] = {}
    loops: list[LoopPattern] = []
    if result.patterns is not None:
        for index, text in _became(result.patterns):
            told.setdefault(index, []).append(text)
        loops = [loop for each in result.patterns.walk() for loop in each.loop_patterns]
    pages, kinds = TracePages(result.traces, folder), _kinds(result)
    return [
        TraceRow(
            position.index,
            kinds.get(position.index, position.alignment_type).value,
            tuple(_cell(position, trace, pages) for trace in result.aligned.trace_ids),
            _became_of(position, told),
            screens.get(position.index, ""),
            position.confidence,
            sum(position.index in loop.indices for loop in loops),
            tuple(_told_loop(loop) for loop in loops if loop.body_start == position.index),
            any(loop.body_end < position.index <= loop.last for loop in loops),
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
    found: ScreensFound | None = None,
) -> None:
    """Write the page. `screens`: position -> what its screen is called."""
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
        asked_later=_asked_later(result),
        notes=() if result.lowered is None else result.lowered.notes,
        rows=rows_of(result, screens, path.parent),
        traces=_named(result),
        unused=_unused(result),
        words={kind.value: word for kind, word in _WORDS.items()},
        problems=problems,
        validated=validated,
        new_screens=() if found is None else tuple(map(_new_screen, found.proposed)),
        refused_screens=() if found is None else found.refused,
    )
    path.write_text(html, encoding="utf-8")


def _asked_later(result: PipelineResult) -> frozenset[str]:
    """Inputs that only some runs need."""
    specs = () if result.lowered is None else result.lowered.workflow.io_spec.inputs
    return frozenset(spec.name for spec in specs if not spec.required)


@dataclass(frozen=True, slots=True)
class NewScreen:
    """A proposed screen as it is shown."""

    name: str
    screen_id: str
    known_by: tuple[str, ...]
    evidence: str
    numbers: str
    """Of the steps that are on it."""


def _new_screen(proposed: ProposedScreen) -> NewScreen:
    screen, signature = proposed.screen, proposed.screen.state_signature
    told = [f"address {pattern}" for pattern in screen.url_patterns]
    if signature is not None:
        told += [of_condition(each) for each in signature.positive]
        told += [f"not: {of_condition(each)}" for each in signature.negative_indicators]
    return NewScreen(screen.name, screen.screen_id, tuple(told), proposed.evidence, proposed.numbers)


_WORDS = {
    AlignmentType.DETERMINISTIC: "the same",
    AlignmentType.PARAMETERIZABLE: "with inputs",
    AlignmentType.VARIABLE: "agent",
    AlignmentType.OPTIONAL: "optional",
    AlignmentType.BRANCH_POINT: "fork",
}
_PLAIN = {
    AlignmentType.DETERMINISTIC: "done as it is",
    AlignmentType.PARAMETERIZABLE: "its values are inputs",
    AlignmentType.VARIABLE: "left to an agent step",
    AlignmentType.OPTIONAL: "optional",
    AlignmentType.BRANCH_POINT: "a fork",
}


_NEVER_SHOWN = "a secret: no trace has it, so it is asked for when the workflow runs"


def _became_of(position: AlignedPosition, told: Mapping[int, Sequence[str]]) -> tuple[str, ...]:
    lines = list(dict.fromkeys(told.get(position.index, [_PLAIN[position.alignment_type]])))
    if not _is_secret(position):
        return tuple(lines)
    return (*(line for line in lines if line not in _PLAIN.values()), _NEVER_SHOWN)


def _is_secret(position: AlignedPosition) -> bool:
    return any(step.metadata.get("secret") and _value(step) == REDACTED for step in position.observed)


def _named(result: PipelineResult) -> list[tuple[str, str, int, int]]:
    """The traces by id, with the folder of each, how many steps it has, and how many of them changed
    nothing and are in no row.
    """
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


def _unused(result: PipelineResult) -> list[UnusedTrace]:
    return [
        UnusedTrace(
            each.trace_id,
            str(each.metadata.get("error") or ", ".join(each.failed_rules) or f"judged {each.score:.2f}"),
        )
        for each in result.evaluation_results
        if not each.passed
    ]


def _cell(position: AlignedPosition, trace: str, pages: TracePages) -> TraceCell | None:
    cells = [cell for cell in position.cells.values() if cell.row[0] == trace]
    if not cells:
        return None
    steps = [cell.step for cell in cells]
    values = [_short(_value(step)) for step in steps]
    said = [_said(step) for step in steps]
    told = values if any(values) else [] if len(set(said)) == 1 else said
    if len(set(told)) == 1:
        told = told[:1]
    return TraceCell(
        cells[0].step_index, steps[0].action_type, said[0], tuple(told), len(steps), pages.of(trace, steps[0])
    )


def _said(step: TraceStep) -> str:
    return _short(str(step.metadata.get("said") or told_target(step.target)))


def _kinds(result: PipelineResult) -> dict[int, AlignmentType]:
    kinds: dict[int, AlignmentType] = {}
    for each in () if result.patterns is None else result.patterns.walk():
        kinds |= {position.index: AlignmentType.DETERMINISTIC for position in each.deterministic_steps}
        kinds |= {position.index: AlignmentType.PARAMETERIZABLE for position, _ in each.parameterizable_steps}
        kinds |= {position.index: AlignmentType.VARIABLE for position in each.variable_steps}
        kinds |= {position.index: AlignmentType.OPTIONAL for position in each.optional_steps}
    return kinds


def _told_loop(loop: LoopPattern) -> str:
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


def _became(patterns: ExtractedPatterns) -> Iterator[tuple[int, str]]:
    for each in patterns.walk():
        yield from _steps(each)
        for branch in each.branch_patterns:
            for label, positions in branch.branches.items():
                by = branch.condition_source
                source = "nothing" if by is None else f"the {by.replace('target', 'element')}"
                for position in positions:
                    yield (
                        position.index,
                        f"only on {label.replace('_', ' ')}, told by {source}: {branch.condition_description}",
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
