"""Says in words what the steps of a synthesized workflow do, one line each."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from agent.synthesis.graph.action_graph import (
    ActionGraph,
    ActionNode,
    Branch,
    ConditionNode,
    GraphNode,
    LoopNode,
)
from agent.synthesis.graph.action_words import name_element, write_action
from agent.synthesis.synthesis_prompts import render_target
from kb_schema.selectors import Selector, TemplateStrategy
from mcp_server.document_text.condition_text import describe_condition

LONGEST = 90
"""Characters of a line."""


def list_step_lines(graph: ActionGraph) -> list[str]:
    """Return a line for each step, numbered, with what is inside loops and branches indented."""
    secrets = {each.name for each in graph.parameters if each.secret}
    lines = list(_lines(graph.nodes, 0, graph.agent_action_type, secrets))
    width = len(str(sum(1 for number, _, _ in lines if number)))
    made, count = [], 0
    for numbered, depth, words in lines:
        count += numbered
        made.append(f"{count if numbered else '':>{width}}  {'  ' * depth}{_short(words)}")
    return made


def _lines(
    nodes: Sequence[GraphNode], depth: int, agent: str, secrets: set[str]
) -> Iterator[tuple[bool, int, str]]:
    for node in nodes:
        if isinstance(node, ActionNode):
            yield True, depth, _describe(node, agent, secrets)
        elif isinstance(node, LoopNode):
            yield False, depth, f"repeat ({node.description or node.kind}):"
            yield from _lines(node.nodes, depth + 1, agent, secrets)
        elif isinstance(node, ConditionNode):
            if node.source is None:
                yield False, depth, "decided in the run, as no condition was found; one of:"
            for branch in node.branches:
                yield False, depth, _begin(branch, is_decided=node.source is not None)
                yield from _lines(branch.nodes, depth + 1, agent, secrets)


def _begin(branch: Branch, *, is_decided: bool) -> str:
    """Return the line with which a branch begins."""
    if not is_decided:
        return f"either ({branch.label}):" if branch.nodes else f"nothing ({branch.label})"
    return (
        f"else ({branch.label}):"
        if branch.condition is None
        else f"if {describe_condition(branch.condition)}:"
    )


def _describe(node: ActionNode, agent: str, secrets: set[str]) -> str:
    if node.action_type == agent:
        return f"decided in the run: {node.target}"
    if node.target is True:
        prompt = node.args.get("prompt") or node.args.get("message")
        return f"wait for a person: {prompt}" if prompt else "wait for a person"
    told = write_action(node.action_type, node.args, _name(node), secrets)
    if isinstance(place := node.args.get("place"), list):
        told += f" at {', '.join(f'{100 * float(str(each)):.0f} %' for each in place)}"
    return told + (" (only if it is there)" if node.no_action_if_target_not_found or node.only_if else "")


def _name(node: ActionNode) -> str:
    """Return what people call the element, and the inputs that tell it, else its first selector."""
    known = node.fingerprint
    said = name_element(known, node.target)
    strategies = node.target.strategies if isinstance(node.target, Selector) else ()
    told_by = dict.fromkeys(
        name for each in strategies if isinstance(each, TemplateStrategy) for name in each.parameters
    )
    of = f" of {' and '.join(f'{{{name}}}' for name in told_by)}" if told_by else ""
    if said is None and told_by:
        kind = None if known is None else known.role or known.tag
        return f"{kind or 'the element'}{of}"
    return render_target(node.target) if said is None else f"{said}{of}"


def _short(text: str) -> str:
    return text if len(text) <= LONGEST else f"{text[: LONGEST - 1]}…"
