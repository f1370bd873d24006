"""Tells which actions of a graph a run can perform by itself."""

from __future__ import annotations

from agent.synthesis.graph.action_graph import ActionNode
from kb_schema import action_types
from kb_schema.selectors import Selector, SessionStrategy, Strategy, TemplateStrategy
from kb_schema.templates import strings, variables


def can_write_step(node: ActionNode) -> bool:
    """Return whether a step can perform an action: its type is in the vocabulary and its target can be located."""
    known = action_types.action_type(node.action_type)
    if known is None:
        return False
    if known.target == "required":
        return isinstance(node.target, Selector) and keep_stable_strategies(node.target) is not None
    return node.action_type != "navigate" or bool(node.args.get("url"))


def keep_stable_strategies(target: Selector) -> Selector | None:
    """Return a target without session ids, agent descriptions and texts that look like templates."""
    kept = tuple(
        each
        for each in target.strategies
        if not isinstance(each, SessionStrategy) and not looks_like_template(each)
    )
    return target.model_copy(update={"strategies": kept}) if kept else None


def looks_like_template(strategy: Strategy) -> bool:
    """Return whether a text of a strategy, apart from its own template, would be filled in by a run."""
    told = strategy.template if isinstance(strategy, TemplateStrategy) else None
    return any(variables(text) for _, text in strings(strategy.model_dump(mode="json")) if text != told)
