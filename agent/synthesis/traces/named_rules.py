"""Rules for good traces that a user names in words: `max-steps=20`, `no-errors`, `shows=Saved`, `ends-at=^/agents$` (MA 2).

A rule that begins with `warn:` is only noted. Programs may give `EvaluationRule`s with predicates of their own. To add a rule,
write a function under `@register_rule`.
"""

from __future__ import annotations

from collections.abc import Callable

from agent.synthesis.traces.trace_evaluation import EvaluationRule
from kb_schema import url_patterns
from kb_schema.documents import did_you_mean
from kb_schema.execution_traces import ExecutionTrace, TraceStep
from kb_schema.page_snapshots import PageSnapshot
from kb_schema.probes import TextProbe
from web_pages.stored_pages import StoredPage

Predicate = Callable[[ExecutionTrace], bool]
RULES: dict[str, Callable[[str], tuple[str, Predicate]]] = {}
"""Name -> what makes the description and the predicate of its value."""
WARNING = "warn:"


class RuleRefused(ValueError):
    """A text that is no rule: `message` says what is wrong, `fix` what to write."""

    def __init__(self, message: str, fix: str) -> None:
        self.message, self.fix = message, fix
        super().__init__(f"{message} -> {fix}")


def read_rule(text: str) -> EvaluationRule:
    """Return the rule of a text. Raises `RuleRefused`."""
    told = text.removeprefix(WARNING)
    name, _, value = told.partition("=")
    make = RULES.get(name)
    if make is None:
        fix = did_you_mean(name, RULES) or f"one of {', '.join(RULES)}"
        raise RuleRefused(f"there is no rule {name!r}", fix)
    description, predicate = make(value)
    return EvaluationRule(told, description, predicate, "error" if told == text else "warning")


def register_rule(
    name: str,
) -> Callable[[Callable[[str], tuple[str, Predicate]]], Callable[[str], tuple[str, Predicate]]]:
    """Register what makes a rule of its value."""

    def register(make: Callable[[str], tuple[str, Predicate]]) -> Callable[[str], tuple[str, Predicate]]:
        RULES[name] = make
        return make

    return register


@register_rule("max-steps")
def _max_steps(value: str) -> tuple[str, Predicate]:
    most = _number("max-steps", value)
    return f"at most {most:g} steps", lambda trace: len(trace.steps) <= most


@register_rule("max-seconds")
def _max_seconds(value: str) -> tuple[str, Predicate]:
    most = _number("max-seconds", value)

    def in_time(trace: ExecutionTrace) -> bool:
        if trace.start_time is None or trace.end_time is None:
            return False
        return (trace.end_time - trace.start_time).total_seconds() <= most

    return f"at most {most:g} seconds from beginning to end", in_time


@register_rule("no-errors")
def _no_errors(value: str) -> tuple[str, Predicate]:
    if value:
        raise RuleRefused(f"no-errors takes no value, found {value!r}", "no-errors")
    return (
        "the run succeeded and no step of it failed",
        lambda trace: (
            trace.success
            and not any(
                each.result is not None and (not each.result.success or each.result.error)
                for each in trace.steps
            )
        ),
    )


@register_rule("has-input")
def _has_input(value: str) -> tuple[str, Predicate]:
    _require("has-input", value, "NAME")
    return (
        f"the input {value} has a value",
        lambda trace: (trace.input_data or {}).get(value) not in (None, ""),
    )


@register_rule("ends-at")
def _ends_at(value: str) -> tuple[str, Predicate]:
    _require("ends-at", value, "PATTERN")
    try:
        url_patterns.compile_pattern(value)
    except ValueError as exc:
        raise RuleRefused(
            f"ends-at={value}: {exc}", "write an RE2 pattern of the path, e.g. ends-at=^/agents$"
        ) from exc

    def ends_there(trace: ExecutionTrace) -> bool:
        url = next((each.source_url for each in reversed(trace.steps) if each.source_url), "")
        return bool(url) and url_patterns.matches_pattern(
            value, url, authored_base=url_patterns.origin_of(url), base=url_patterns.origin_of(url)
        )

    return f"the last step is on a page whose address matches {value}", ends_there


@register_rule("shows")
def _shows(value: str) -> tuple[str, Predicate]:
    _require("shows", value, "TEXT")
    probe = TextProbe(value=value)

    def shown(trace: ExecutionTrace) -> bool:
        last = trace.steps[-1] if trace.steps else None
        html = None if last is None else last.html_after
        return bool(html) and StoredPage(_snapshot(last, html or "")).answer(probe).visible > 0

    return f"the last page shows {value!r}", shown


def _snapshot(step: TraceStep | None, html: str) -> PageSnapshot:
    return PageSnapshot(url=(step and step.source_url) or "about:blank", html=html)


def _number(name: str, value: str) -> float:
    try:
        found = float(value)
    except ValueError:
        found = -1.0
    if found <= 0:
        raise RuleRefused(f"{name}={value}: expected a number above 0", f"{name}=20")
    return found


def _require(name: str, value: str, what: str) -> None:
    if not value:
        raise RuleRefused(f"{name} needs a value", f"{name}={what}")
