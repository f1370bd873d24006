"""Finds the sign-in at the beginning of a synthesized workflow: it becomes a task of its own, which other workflows share.

A sign-in is told by what was done: one secret was typed into a password field, with a few other fields at most, and a
button or the Enter key sent them. A button whose words create, store or change something sends another form.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Collection, Mapping, Sequence

from agent.dangers.danger_words import find_danger_in_words
from agent.synthesis.graph.action_graph import ActionNode, GraphNode
from kb_schema.action_calls import ActionCall
from kb_schema.conditions import Authenticated, Combined, Condition
from kb_schema.selectors import Selector
from kb_schema.tasks import Task, TaskStep
from kb_schema.templates import tree_variables

SIGN_IN = "sign_in"
"""The id of the task, as in knowledge that `map` makes."""
MOST_STEPS = 12
MOST_FIELDS = 6
_CHANGES = re.compile(r"\b(new|add|create|register|change|update|reset|set)\b", re.IGNORECASE)
_ENTERS = frozenset({"fill", "select_option", "check", "uncheck"})
_BEFORE = _ENTERS | {"navigate", "click", "press"}


def count_sign_in_nodes(
    nodes: Sequence[GraphNode], secrets: Collection[str], is_step: Callable[[ActionNode], bool]
) -> int:
    """Return how many nodes at the beginning are the sign-in; 0 if there is none, or nothing follows it.

    `secrets`: names of secret inputs. `is_step`: whether a node can be a step of a task, perhaps one that is skipped.
    """
    typed, entered = False, 0
    for count, node in enumerate(nodes[:MOST_STEPS], 1):
        if not isinstance(node, ActionNode) or not is_step(node) or node.action_type not in _BEFORE:
            return 0
        secret = tree_variables(node.args) & set(secrets)
        if secret:
            if typed or not _is_password(node):
                return 0
            typed = True
        entered += node.action_type in _ENTERS
        if typed and not secret and _sends(node):
            following = nodes[count:]
            words = _words(node)
            creates = find_danger_in_words(words, pressed=True) is not None or _CHANGES.search(words)
            return count if following and not creates and entered <= MOST_FIELDS else 0
    return 0


def _is_password(node: ActionNode) -> bool:
    attributes = {} if node.fingerprint is None else node.fingerprint.attributes
    return attributes.get("type") == "password" and attributes.get("autocomplete") != "new-password"


def _sends(node: ActionNode) -> bool:
    return node.action_type == "click" or (node.action_type == "press" and node.args.get("value") == "Enter")


def _words(node: ActionNode) -> str:
    known = node.fingerprint
    return "" if known is None or node.action_type != "click" else known.name or known.text or ""


def make_sign_in(task: Task, optional: Mapping[str, Condition]) -> Task:
    """Return the task of a sign-in: each step is skipped where the website's sign-in conditions hold.

    `optional`: by the descriptions of steps that only some traces have, what must be there for them.
    """
    steps = []
    for step in task.steps:
        opens = (
            step.action.canonical_type == "navigate"
        )  # the page is opened in any case: what follows begins there
        skips: list[Condition] = [] if opens else [Authenticated(type="authenticated")]
        if step.description in optional:
            skips.append(Combined(type="none_of", conditions=(optional[step.description],)))
        steps.append(step.model_copy(update={"skip_when": tuple(skips)}))
    return task.model_copy(update={"task_id": SIGN_IN, "name": "Sign in", "steps": tuple(steps)})


def is_same_sign_in(one: Task, other: Task) -> bool:
    """Whether two tasks enter the same into the same fields and press the same, whatever their inputs are called.

    Steps that are skipped where their element is missing do not count.
    """
    ours, theirs = ([step for step in task.steps if not _is_optional(step)] for task in (one, other))
    return (
        len(one.io_spec.inputs) == len(other.io_spec.inputs)
        and len(ours) == len(theirs)
        and _list_values(one, ours) == _list_values(other, theirs)
        and all(_share_target(step.action, same.action) for step, same in zip(ours, theirs, strict=True))
    )


def _is_optional(step: TaskStep) -> bool:
    return any(isinstance(each, Combined) for each in step.skip_when)


def _list_values(task: Task, steps: Sequence[TaskStep]) -> list[tuple[object, ...]]:
    """Return the action, value and address of each step, with inputs by their order."""
    names = {f"{{{spec.name}}}": f"{{{number}}}" for number, spec in enumerate(task.io_spec.inputs)}
    calls = ((step.action.canonical_type, step.action.to_json()) for step in steps)
    return [
        (kind, names.get(str(call.get("value")), call.get("value")), call.get("url")) for kind, call in calls
    ]


def _share_target(one: ActionCall, other: ActionCall) -> bool:
    """Whether two actions name an element in one same way, or none."""
    if not isinstance(one.target, Selector) or not isinstance(other.target, Selector):
        return one.target == other.target
    ours, theirs = (
        {each.model_dump_json(exclude={"meta", "confidence", "fallback"}) for each in target.strategies}
        for target in (one.target, other.target)
    )
    return one.target.frame == other.target.frame and bool(ours & theirs)
