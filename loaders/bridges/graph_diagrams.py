"""Draws the map of a website, its screens and transitions, as Mermaid, DOT and GraphML.

Names of the website are escaped for each language; a screen is referred to by our own number or its id.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from io import BytesIO

import networkx as nx

from kb_schema import KnowledgeBase
from kb_schema.graph_documents import GroupMembership, ScreenGroup, Transition
from kb_schema.screens import Screen
from loaders.diffs.diff_summary import describe_action, to_plain_text
from loaders.markup_escapes import dot_string, mermaid_label, one_line

LONGEST_LABEL = 60
MOST_EDGES = 20_000
UNSURE_BELOW = 0.9
"""The reliability below which a transition is drawn dashed."""


@dataclass(frozen=True, slots=True)
class _DiagramGroup:
    name: str
    screens: tuple[Screen, ...]


@dataclass(frozen=True, slots=True)
class _GraphDiagram:
    groups: tuple[_DiagramGroup, ...]
    """Each screen is in at most one of them: the smallest group it belongs to."""
    alone: tuple[Screen, ...]
    ways: tuple[tuple[Transition, str], ...]
    """Each with its action in words."""


def to_mermaid(knowledge: KnowledgeBase) -> str:
    """Return a Mermaid flowchart: groups as boxes, unreliable transitions dashed."""
    drawn = _build_diagram(knowledge)
    numbers = {screen.screen_id: f"s{number}" for number, screen in enumerate(_screens(drawn))}
    lines = ["flowchart LR"]
    for number, group in enumerate(drawn.groups):
        lines.append(f"  subgraph g{number}[{mermaid_label(group.name, LONGEST_LABEL)}]")
        lines += [f"    {numbers[each.screen_id]}[{_mermaid(each)}]" for each in group.screens]
        lines.append("  end")
    lines += [f"  {numbers[each.screen_id]}[{_mermaid(each)}]" for each in drawn.alone]
    for way, words in drawn.ways:
        arrow = "-->" if way.reliability >= UNSURE_BELOW else "-.->"
        label = mermaid_label(words, LONGEST_LABEL)
        lines.append(f"  {numbers[way.from_screen]} {arrow}|{label}| {numbers[way.to_screen]}")
    return "\n".join([*lines, ""])


def to_dot(knowledge: KnowledgeBase) -> str:
    """Return a Graphviz directed graph, groups as clusters."""
    drawn = _build_diagram(knowledge)
    lines = [f"digraph {dot_string(knowledge.website.website_id)} {{", "  rankdir=LR;", "  node [shape=box];"]
    for number, group in enumerate(drawn.groups):
        lines += [f"  subgraph cluster_{number} {{", f"    label={dot_string(group.name)};"]
        lines += [f"    {_dot_id(each.screen_id)} [label={dot_string(each.name)}];" for each in group.screens]
        lines.append("  }")
    lines += [f"  {_dot_id(each.screen_id)} [label={dot_string(each.name)}];" for each in drawn.alone]
    for way, words in drawn.ways:
        style = "" if way.reliability >= UNSURE_BELOW else ", style=dashed"
        ends = f"{_dot_id(way.from_screen)} -> {_dot_id(way.to_screen)}"
        lines.append(f"  {ends} [label={dot_string(words)}{style}];")
    return "\n".join([*lines, "}", ""])


def to_graphml(knowledge: KnowledgeBase) -> str:
    """Return GraphML for other tools, with the data of each screen and transition as attributes."""
    drawn = _build_diagram(knowledge)
    graph: nx.MultiDiGraph[str] = nx.MultiDiGraph(website=knowledge.website.website_id)
    named = {each.screen_id: group.name for group in drawn.groups for each in group.screens}
    for screen in _screens(drawn):
        graph.add_node(
            screen.screen_id,
            label=one_line(screen.name),
            group=one_line(named.get(screen.screen_id, "")),
            url=one_line(screen.url or "", 2_000),
            elements=len(knowledge.elements(screen.screen_id)),
        )
    for way, words in drawn.ways:
        graph.add_edge(
            way.from_screen,
            way.to_screen,
            way.local_id,
            label=one_line(words),
            action=one_line(way.triggered_by.canonical_type),
            reliability=way.reliability,
            expected_ms=way.expected_ms,
        )
    written = BytesIO()
    nx.write_graphml(graph, written, named_key_ids=True)
    return written.getvalue().decode("utf-8") + "\n"


def _dot_id(screen_id: str) -> str:
    """Return the whole id: shortened ones might be equal."""
    return dot_string(screen_id, len(screen_id))


def _mermaid(screen: Screen) -> str:
    return mermaid_label(screen.name, LONGEST_LABEL)


def _screens(drawn: _GraphDiagram) -> Iterator[Screen]:
    for group in drawn.groups:
        yield from group.screens
    yield from drawn.alone


def _build_diagram(knowledge: KnowledgeBase) -> _GraphDiagram:
    members: dict[str, list[str]] = {}
    for edge in knowledge.by_kind.get("group_membership", {}).values():
        if isinstance(edge, GroupMembership) and edge.screen in knowledge.screens:
            members.setdefault(edge.group, []).append(edge.screen)
    chosen: dict[str, str] = {}
    for group_id in sorted(members, key=lambda each: (len(members[each]), each)):
        for screen_id in members[group_id]:
            chosen.setdefault(screen_id, group_id)
    groups = []
    for group_id in sorted(set(chosen.values())):
        own = tuple(each for key, each in sorted(knowledge.screens.items()) if chosen.get(key) == group_id)
        document = knowledge.by_kind.get("screen_group", {}).get(group_id)
        groups.append(_DiagramGroup(document.name if isinstance(document, ScreenGroup) else group_id, own))
    alone = tuple(each for key, each in sorted(knowledge.screens.items()) if key not in chosen)
    ways = [
        (way, to_plain_text(describe_action(way.triggered_by, way.from_screen, knowledge)))
        for _, way in sorted(knowledge.by_kind.get("transition", {}).items())
        if isinstance(way, Transition)
    ]
    return _GraphDiagram(tuple(groups), alone, tuple(ways[:MOST_EDGES]))
