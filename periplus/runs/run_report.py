"""Prints a run's result in a terminal: status, outputs, steps and alternatives tried."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from rich.console import Console
from rich.markup import escape
from rich.table import Table

from kb_schema.run_records import RunResult, RunStatus, StepRecord

_STYLES = {
    RunStatus.SUCCESS: "green",
    RunStatus.UNVERIFIED: "yellow",
    RunStatus.PARTIAL: "yellow",
    RunStatus.DEGRADED: "yellow",
    RunStatus.NEEDS_PERSON: "yellow",
}
LONGEST = 200
"""Maximum number of characters of a value."""
MOST_TRIED = 20
"""Maximum number of alternatives listed; `result.json` has all."""
MOST_ERRORS = 5
"""Maximum number of errors listed beside the last one; `result.json` has all."""


def print_run_result(console: Console, result: RunResult, path: Path) -> None:
    """Print a result. `path`: the file with the whole result."""
    style = _STYLES.get(result.status, "red")
    if result.goal:
        console.print(escape(result.goal), soft_wrap=True, highlight=False)
    took = f"{result.duration_ms / 1000:.1f} s"
    version = f", version {result.workflow_version}" if result.workflow_version else ""
    console.print(
        f"[bold {style}]{result.status}[/], {result.evidence}, {took}{_format_progress(result)}{version}"
    )
    if result.status is RunStatus.UNVERIFIED:
        console.print("  every step was done, but nothing seen in the application shows that it worked")
    if result.error:
        console.print(f"  {escape(result.error)}", soft_wrap=True, highlight=False)
    if result.error and result.hint:
        console.print(f"  [green]-> {escape(result.hint)}[/]", soft_wrap=True)
    told = result.errors.index(result.error) if result.error in result.errors else len(result.errors)
    others = [(number < told, each) for number, each in enumerate(result.errors) if number != told]
    for earlier, each in others[:MOST_ERRORS]:
        when = "before" if earlier else "after it"
        console.print(f"  [dim]{when}:[/] {escape(each)}", soft_wrap=True, highlight=False)
    console.print(_steps(result))
    _print_missing_results(console, result)
    _print_attempts(console, result)
    for name, value in result.outputs.items():
        console.print(f"  {escape(name)} = {escape(_short(value))}", highlight=False)
    if not result.succeeded:
        for name, value in result.best_effort_data.items():
            if name not in result.outputs:
                console.print(f"  [dim]got[/] {escape(name)} = {escape(_short(value))}", highlight=False)
    console.print(f"  {result.model_use.describe()}", highlight=False)
    console.print(f"  {escape(str(path))}", highlight=False, soft_wrap=True)
    console.print(f"  [dim]periplus runs show {result.run_id}[/]", highlight=False)


def _format_progress(result: RunResult) -> str:
    """Return the completion as text; empty for a complete success."""
    if result.succeeded and not result.degraded_steps:
        return ""
    steps = f"{result.completed_steps} of {result.total_steps} steps"
    early = ", stopped early: enough is done" if result.early_exit else ""
    return f", {result.completion_percentage:g} % complete ({steps}), confidence {result.confidence_score:g}{early}"


def _steps(result: RunResult) -> Table:
    table = Table("step", "action", "screen", "time", "outcome", box=None, header_style="dim")
    for step in result.steps:
        table.add_row(
            step.step_id,
            step.action_type,
            step.screen_id or "-",
            f"{step.duration_ms / 1000:.2f} s",
            _outcome(step),
        )
    return table


def _outcome(step: StepRecord) -> str:
    words = [step.status.value]
    if step.outcome in ("alternative", "partial"):
        words.append(f"({step.outcome}, confidence {step.confidence:g})")
    elif step.share is not None and 0 < step.share < 1:
        words.append(f"({step.share:.0%} of it)")
    if step.degraded and step.outcome not in ("alternative", "partial"):
        words.append("continued without the rest" if step.share else "continued without it")
    if step.approach != "authored":
        words.append(f"by {step.approach}")
    return ", ".join(words).replace(", (", " (")


def _print_missing_results(console: Console, result: RunResult) -> None:
    if result.critical_missing:
        steps = escape(", ".join(result.critical_missing))
        console.print(f"  critical steps not done: {steps}", highlight=False, soft_wrap=True)
    if result.degraded_steps:
        steps = escape(", ".join(result.degraded_steps))
        console.print(f"  skipped or partly done: {steps}", highlight=False, soft_wrap=True)


def _print_attempts(console: Console, result: RunResult) -> None:
    if not result.tried:
        return
    console.print(f"  tried ({result.replans} replan{'' if result.replans == 1 else 's'}):", highlight=False)
    for each in result.tried[:MOST_TRIED]:
        how = f"{each.approach} {each.detail}".strip()
        item = "" if each.item is None else f" item {each.item}"
        why = f": {_short(each.error)}" if each.error else ""
        outcome = each.outcome.replace("_", " ")
        text = f"    {each.task_id}.{each.step_id}{item}, {how}: {outcome}{why}"
        console.print(escape(text), highlight=False, soft_wrap=True)
    if len(result.tried) > MOST_TRIED:
        console.print(f"    [dim]and {len(result.tried) - MOST_TRIED} more[/]", highlight=False)


def _short(value: Any) -> str:
    text = value if isinstance(value, str) else json.dumps(value, ensure_ascii=False)
    return text if len(text) <= LONGEST else f"{text[: LONGEST - 1]}…"
