"""Random multigraphs with conditions and facts, and every path through one by plain enumeration."""

from __future__ import annotations

import json
from typing import Any

from hypothesis import strategies as st

from kb_schema import KnowledgeBase, SourcedDocument, assemble, parse_document
from kb_schema.objectives import Objective
from mcp_server.knowledge.compiled_view import KnowledgeView, compile_view
from mcp_server.paths.path_search import PathExclusions
from mcp_server.transition_graph.fact_conditions import check_on_facts
from mcp_server.transition_graph.transition_network import encode_cost
from mcp_server.transition_graph.transition_weights import WeightedTransition

Facts = dict[str, Any]
OBJECTIVES: tuple[Objective, ...] = ("fewest", "fastest", "reliable", "balanced")
SCREENS = tuple("abcde")


@st.composite
def knowledge(draw: st.DrawFn) -> KnowledgeBase:
    edges = draw(
        st.lists(
            st.tuples(
                st.sampled_from(SCREENS),
                st.sampled_from(SCREENS),
                st.sampled_from([0, 100, 100, 250, 1000]),
                st.sampled_from([0.0, 0.3, 0.9, 1.0, 1.0]),
                st.sampled_from([None, None, True, False]),
                st.sampled_from([None, None, None, True, False]),
            ),
            max_size=12,
        )
    )
    documents: list[dict[str, Any]] = [
        {"type": "website", "website_id": "g", "name": "G", "base_url": "https://g.example"},
        *({"type": "screen", "screen_id": s, "name": s, "url_patterns": [f"^/{s}$"]} for s in SCREENS),
    ]
    for number, (source, target, ms, reliability, needs, sets) in enumerate(edges):
        condition = [] if needs is None else [{"type": "authenticated", "expected": needs}]
        effects = [] if sets is None else [{"type": "sets_fact", "fact": "authenticated", "value": sets}]
        documents.append(
            {
                "type": "transition",
                "transition_id": f"t{number:02}",
                "_from": source,
                "_to": target,
                "triggered_by": "refresh" if number % 2 else "navigate_back",
                "cost": {"estimated_ms": ms},
                "reliability_score": reliability,
                "conditions": {"required": condition},
                "effects": effects,
            }
        )
    return assemble(SourcedDocument(parse_document(d)) for d in documents)[0]


def graphs() -> st.SearchStrategy[KnowledgeView]:
    """Compiled."""
    return knowledge().map(lambda found: compile_view(found, "1"))


def comes_back(then: dict[str, str], now: dict[str, str]) -> bool:
    """A detour: every fact that was known has the value it had."""
    return all(now[fact] == value for fact, value in then.items())


def enumerated(
    view: KnowledgeView, objective: Objective, facts: Facts, avoid: PathExclusions, *, loopless: bool = False
) -> list[tuple[int, tuple[str, ...]]]:
    """Every path from a to e that comes back nowhere without a changed fact, by plain recursion.

    `loopless`: that comes back nowhere at all. Cost and transitions, cheapest first.
    """
    found = []

    def walk(places: list[tuple[str, dict[str, str]]], ways: list[WeightedTransition]) -> None:
        screen, known = places[-1]
        if screen == "e":
            found.append(
                (
                    sum(encode_cost(way.weights[objective]) for way in ways),
                    tuple(w.transition_id for w in ways),
                )
            )
            return
        facts_here = {name: json.loads(value) for name, value in known.items()}
        for way in view.ways.get(screen, ()):
            effects = {effect.type for effect in way.transition.effects}
            if (
                way.target in avoid.screens
                or way.transition_id in avoid.transitions
                or ("reload" in avoid.actions and way.action_type == "refresh")
                or not effects.isdisjoint(avoid.effects)
            ):
                continue
            if not check_on_facts(way.required, facts_here, screen)[0]:
                continue
            after = {**known, **dict(way.sets)}
            if not any(s == way.target and (loopless or comes_back(then, after)) for s, then in places):
                walk([*places, (way.target, after)], [*ways, way])

    walk([("a", {k: json.dumps(v) for k, v in facts.items()})], [])
    return sorted(found)


FACTS = st.sampled_from([{}, {"authenticated": True}, {"authenticated": False}, {"other": 1}])
AVOID = st.sampled_from([
    PathExclusions(), PathExclusions(screens=("b",)), PathExclusions(actions=("reload",)), PathExclusions(effects=("sets_fact",)),
    PathExclusions(transitions=("t00", "t02")),
])  # fmt: skip


def that_is_there(avoid: PathExclusions, view: KnowledgeView) -> PathExclusions:
    own = tuple(name for name in avoid.transitions if name in view.transition_ids)
    return avoid.model_copy(update={"transitions": own})
