"""Removes from a graph what depends on the recording: redacted secrets become inputs, and addresses of the
recorded site lose their host.
"""

from __future__ import annotations

from typing import Any
from urllib.parse import urlsplit

from agent.redaction import REDACTED
from agent.synthesis.graph.action_graph import ActionGraph, GraphParameter
from agent.synthesis.patterns.quoted_texts import list_quoted_texts
from agent.synthesis.synthesis_prompts import render_target
from agent.synthesis.utterances.value_forms import build_identifier
from kb_schema.selectors import Selector
from kb_schema.url_patterns import origin_of


def make_portable(graph: ActionGraph) -> ActionGraph:
    """Return the graph with an input for each typed secret and with relative addresses of its own site."""
    data = graph.model_dump(mode="json", by_alias=True)
    taken = {parameter.name for parameter in graph.parameters}
    secrets: dict[str, GraphParameter] = {}
    home: str | None = None
    for action in _actions(data["nodes"]):
        args = action["args"]
        if args.get("value") == REDACTED:
            args["value"] = "{" + _find_secret_input(action, secrets, taken) + "}"
        url = args.get("url")
        if isinstance(url, str) and url.startswith(("http://", "https://")):
            home = home or origin_of(url)
            if origin_of(url) == home:
                parts = urlsplit(url)
                args["url"] = parts._replace(scheme="", netloc="").geturl() or "/"
    data["parameters"] += [each.model_dump(mode="json") for each in secrets.values()]
    return ActionGraph.model_validate(data)


def _find_secret_input(action: dict[str, Any], secrets: dict[str, GraphParameter], taken: set[str]) -> str:
    """Return the name of the input for a field, by its label; the same field always gets the same input."""
    target = Selector.model_validate(action["target"]) if isinstance(action.get("target"), dict) else None
    said = render_target(target)
    if said not in secrets:
        first = None if target is None else target.strategies[0]
        words = getattr(first, "value", None) or getattr(first, "name", None)
        label = list_quoted_texts(target) if target is not None else []
        known = action.get("fingerprint") or {}
        given = known.get("attributes") or {}
        called = (
            known.get("label")
            or known.get("name")
            or known.get("before")
            or given.get("name")
            or given.get("id")
            or words
        )
        plain = build_identifier(str(called or "")) or "secret"
        name = next(
            each
            for each in (plain, *(f"{plain}_{number}" for number in range(2, 1_000)))
            if each not in taken
        )
        taken.add(name)
        secrets[said] = GraphParameter(
            name=name,
            source="user_input",
            key=name,
            secret=True,
            description=label[0] if label else str(called or "a secret"),
            evidence="a secret was typed here; traces do not contain secrets",
        )
    return secrets[said].name


def _actions(nodes: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """Return every action of a graph's JSON in document order."""
    found: list[dict[str, Any]] = []
    for node in nodes:
        if node["type"] == "action":
            found.append(node)
        for branch in node.get("branches") or ():
            found += _actions(branch["nodes"])
        if node["type"] == "loop":
            found += _actions(node["nodes"])
    return found
