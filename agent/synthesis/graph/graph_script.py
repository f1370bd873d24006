"""Renders an ActionGraph as a Python script that rebuilds it (MA `generate_script`)."""

from __future__ import annotations

from typing import Any

from agent.synthesis.graph.action_graph import ActionGraph, ActionNode, ConditionNode, LoopNode

_HEAD = """\
# {title}
#
# Written by `periplus synthesize`: change it and run it to get the graph as JSON.

from agent.synthesis.graph.action_graph import ActionGraph, GraphBuilder


def build() -> ActionGraph:
    graph = GraphBuilder({fields})
"""
_TAIL = """\
    return graph.build()


if __name__ == "__main__":
    print(build().to_json_text())
"""


def render_script(graph: ActionGraph) -> str:
    """Return Python source whose `build()` returns an equal graph."""
    data = graph.model_dump(mode="json", by_alias=True, exclude_defaults=True)
    fields = ", ".join(f"{name}={value!r}" for name, value in data.items() if name != "nodes")
    title = " ".join((graph.task_description or graph.name).split())
    lines = [_HEAD.format(title=title, fields=fields)]
    writer = _ScriptWriter()
    for node in graph.nodes:
        lines += writer.node(node, "graph", 1)
    return "".join(lines) + _TAIL


class _ScriptWriter:
    """Writes nodes; every nested builder function has its own name."""

    def __init__(self) -> None:
        self._count = 0

    def node(self, node: ActionNode | ConditionNode | LoopNode, owner: str, depth: int) -> list[str]:
        data = node.model_dump(
            mode="json", by_alias=True, exclude_defaults=True, exclude={"nodes", "branches", "type"}
        )
        indent = "    " * depth
        if isinstance(node, ActionNode):
            first = data.pop("action_type")
            told = "".join(f", {name}={value!r}" for name, value in data.items())
            return [f"{indent}{owner}.action({first!r}{told})\n"]
        told = "".join(f", {name}={value!r}" for name, value in data.items())
        if isinstance(node, LoopNode):
            name, lines = self._function(node.nodes, depth)
            return [*lines, f"{indent}{owner}.loop({name}{told})\n"]
        lines, ways = [], []
        for branch in node.branches:
            name, made = self._function(branch.nodes, depth)
            lines += made
            condition: Any = None
            if branch.condition is not None:
                condition = branch.model_dump(mode="json", by_alias=True, exclude_defaults=True)["condition"]
                condition.setdefault("type", branch.condition.type)
            ways.append(f"({branch.label!r}, {condition!r}, {name})")
        return [*lines, f"{indent}{owner}.condition({', '.join(ways)}{told})\n"]

    def _function(
        self, nodes: tuple[ActionNode | ConditionNode | LoopNode, ...], depth: int
    ) -> tuple[str, list[str]]:
        self._count += 1
        name = f"steps_{self._count}"
        indent = "    " * depth
        lines = [f"{indent}def {name}(inner: GraphBuilder) -> None:\n"]
        for node in nodes:
            lines += self.node(node, "inner", depth + 1)
        return name, lines if nodes else [*lines, f"{indent}    pass\n"]
