"""What a graph must not carry over from where it was recorded: secrets, which no trace has, and the site's
own address, which is another one elsewhere.
"""

from __future__ import annotations

from typing import Any
from urllib.parse import urlsplit

from agent.redaction import REDACTED
from agent.synthesis.binding import identifier
from agent.synthesis.graph import ActionGraph, GraphParameter
from agent.synthesis.prompts import told_target
from agent.synthesis.quoting import quotes
from kb_schema.selectors import Selector
from kb_schema.urls import origin_of


def made_portable(graph: ActionGraph) -> ActionGraph:
    """The graph with an input for each secret that was typed, and addresses of its own site without host."""
    data = graph.model_dump(mode="json", by_alias=True)
    taken = {parameter.name for parameter in graph.parameters}
    secrets: dict[str, GraphParameter] = {}
    home: str | None = None
    for action in _actions(data["nodes"]):
        args = action["args"]
        if args.get("value") == REDACTED:
            args["value"] = "{" + _asked_for(action, secrets, taken) + "}"
        url = args.get("url")
        if isinstance(url, str) and url.startswith(("http://", "https://")):
            home = home or origin_of(url)
            if origin_of(url) == home:
                parts = urlsplit(url)
                args["url"] = parts._replace(scheme="", netloc="").geturl() or "/"
    data["parameters"] += [each.model_dump(mode="json") for each in secrets.values()]
    return ActionGraph.model_validate(data)


def _asked_for(action: dict[str, Any], secrets: dict[str, GraphParameter], taken: set[str]) -> str:
    """The input for what was typed into that field: the same one for the same field."""
    target = Selector.model_validate(action["target"]) if isinstance(action.get("target"), dict) else None
    said = told_target(target)
    if said not in secrets:
        first = None if target is None else target.strategies[0]
        words = getattr(first, "value", None) or getattr(first, "name", None)
        label = quotes(target) if target is not None else []
        plain = identifier(str(words or "")) or "secret"
        name = next(
            each
            for each in (plain, *(f"{plain}_{number}" for number in range(2, 1_000)))
            if each not in taken
        )
        taken.add(name)
        secrets[said] = GraphParameter(
            name=name, source="user_input", key=name, secret=True, description=label[0] if label else str(words or "a secret"),
            evidence="a secret was typed here; no trace has it",
        )  # fmt: skip
    return secrets[said].name


def _actions(nodes: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """Every action of a graph's JSON, in document order."""
    found: list[dict[str, Any]] = []
    for node in nodes:
        if node["type"] == "action":
            found.append(node)
        for branch in node.get("branches") or ():
            found += _actions(branch["nodes"])
        if node["type"] == "loop":
            found += _actions(node["nodes"])
    return found
