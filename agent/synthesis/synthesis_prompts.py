"""Prompt templates for evaluation and synthesis, and the values they are rendered with (MA 9)."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from jinja2 import StrictUndefined, TemplateError, meta
from jinja2.sandbox import SandboxedEnvironment

from kb_schema.selectors import Selector

if TYPE_CHECKING:
    from kb_schema.execution_traces import ExecutionTrace, TraceStep

EVALUATION_TEMPLATE_KEY = "evaluation"
SYNTHESIS_TEMPLATE_KEY = "synthesis"

_EVALUATION = (
    "Evaluate the quality of the following execution trace.\n"
    "Task: {{ task_description }}\n"
    "Trace ID: {{ trace_id }}\n"
    "Success: {{ trace_success }}\n"
    "Steps ({{ step_count }}):\n"
    "{{ steps_text }}\n"
    "\n"
    "Respond with a JSON object containing a single key 'score' "
    "with a float value between 0.0 and 1.0, where 1.0 is perfect quality.\n"
    'Example: {"score": 0.85}'
)
_SYNTHESIS = (
    "Synthesize an ActionGraph action for a {{ pattern_type }} pattern.\n"
    "Task: {{ task_description }}\n"
    "Position index: {{ position_index }}\n"
    "Observed steps across traces:\n"
    "{{ steps_text }}\n"
    "{{ param_section }}\n"
    "Respond with a JSON object containing:\n"
    '  "action_type": string (the action type to use),\n'
    '  "target": string or null (the target element or description),\n'
    '  "args": object or null (action arguments),\n'
    '  "confidence": float between 0.0 and 1.0,\n'
    '  "reasoning": string (explanation of your decision)\n'
    "\n"
    'Example: {"action_type": "click", "target": "btn-submit", '
    '"args": null, "confidence": 0.9, '
    '"reasoning": "All traces show a click on submit button"}'
)
DEFAULT_PROMPT_TEMPLATES: Mapping[str, str] = {
    EVALUATION_TEMPLATE_KEY: _EVALUATION,
    SYNTHESIS_TEMPLATE_KEY: _SYNTHESIS,
}
"""The default templates, as MA words them."""


class PromptFormatter:
    """Renders prompt templates by key. Users provide templates, so they run in a sandbox."""

    def __init__(self, templates: Mapping[str, str] | None = None) -> None:
        """`templates` override the defaults. Raises `ValueError` for a template with a syntax error or a variable
        that the default does not use, and for a key that is none of theirs.
        """
        unknown = sorted((templates or {}).keys() - DEFAULT_PROMPT_TEMPLATES.keys())
        if unknown:
            known = ", ".join(DEFAULT_PROMPT_TEMPLATES)
            raise ValueError(f"there is no prompt template {unknown[0]!r}; the templates are {known}")
        self._templates = {**DEFAULT_PROMPT_TEMPLATES, **(templates or {})}
        # The output is plain text for a model, not HTML: do not escape it.
        self._jinja = SandboxedEnvironment(undefined=StrictUndefined, autoescape=False)
        for key, template in self._templates.items():
            try:
                used = meta.find_undeclared_variables(self._jinja.parse(template))
            except TemplateError as exc:
                raise ValueError(f"prompt template {key!r} has a syntax error: {exc}") from exc
            may = meta.find_undeclared_variables(self._jinja.parse(DEFAULT_PROMPT_TEMPLATES[key]))
            if used - may:
                raise ValueError(
                    f"prompt template {key!r} uses {min(used - may)!r}; it may use {', '.join(sorted(may))}"
                )

    def __call__(self, template_key: str, **feed: Any) -> str:
        """Return the prompt. Raises `KeyError` for an unknown key, and `ValueError` if the template uses a
        variable that `feed` does not have.
        """
        try:
            return self._jinja.from_string(self._templates[template_key]).render(**feed)
        except TemplateError as exc:
            raise ValueError(f"prompt template {template_key!r}: {exc}") from exc


def create_prompt_formatter(templates: Mapping[str, str] | None = None) -> PromptFormatter:
    """Return a formatter for these templates, or for the defaults."""
    return PromptFormatter(templates)


def build_evaluation_feed(trace: ExecutionTrace, task_description: str) -> dict[str, Any]:
    """Return the values for the evaluation template."""
    return {
        "task_description": task_description,
        "trace_id": trace.trace_id,
        "trace_success": trace.success,
        "step_count": len(trace.steps),
        "steps_text": "\n".join(f"  {n}. {render_step(step)}" for n, step in enumerate(trace.steps, 1)),
    }


def render_step(step: TraceStep) -> str:
    """Return one step as one line of text."""
    said = [step.action_type]
    target = render_target(step.target)
    if target:
        said.append(f"target={target}")
    if step.args:
        said.append(f"args={step.args}")
    if step.result is not None and not step.result.success:
        said.append(f"failed: {step.result.error or 'no reason given'}")
    return " ".join(said)


def render_target(target: Any) -> str:
    """Return a target as short text: the first strategy of a selector."""
    if isinstance(target, Selector):
        first = target.ordered[0]
        value = next(
            (
                given
                for name in ("value", "name", "template", "text_contains", "label_contains")
                if (given := getattr(first, name, None))
            ),
            "",
        )
        return f"{first.type}={value}"
    return "" if target is None else str(target)
