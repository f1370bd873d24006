"""Random multigraphs with conditions and facts, and every path through one by plain enumeration."""

from __future__ import annotations

import json
from typing import Any

from hypothesis import strategies as st

from kb_schema import KnowledgeBase, Sourced, assemble, parse_document
from kb_schema.answers import Objective
from mcp_server.compiled import View, compile_view
from mcp_server.foresight import sort_out
from mcp_server.graph import Way
from mcp_server.network import cost_of
from mcp_server.paths import Avoid

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
    return assemble(Sourced(parse_document(d)) for d in documents)[0]


def graphs() -> st.SearchStrategy[View]:
    """Compiled."""
    return knowledge().map(lambda found: compile_view(found, "1"))


def comes_back(then: dict[str, str], now: dict[str, str]) -> bool:
    """A detour: every fact that was known has the value it had."""
    return all(now[fact] == value for fact, value in then.items())


def enumerated(
    view: View, objective: Objective, facts: Facts, avoid: Avoid, *, loopless: bool = False
) -> list[tuple[int, tuple[str, ...]]]:
    """Every path from a to e that comes back nowhere without a changed fact, by plain recursion.

    `loopless`: that comes back nowhere at all. Cost and transitions, cheapest first.
    """
    found = []

    def walk(places: list[tuple[str, dict[str, str]]], ways: list[Way]) -> None:
        screen, known = places[-1]
        if screen == "e":
            found.append(
                (sum(cost_of(way.weights[objective]) for way in ways), tuple(w.transition_id for w in ways))
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
            if not sort_out(way.required, facts_here, screen)[0]:
                continue
            after = {**known, **dict(way.sets)}
            if not any(s == way.target and (loopless or comes_back(then, after)) for s, then in places):
                walk([*places, (way.target, after)], [*ways, way])

    walk([("a", {k: json.dumps(v) for k, v in facts.items()})], [])
    return sorted(found)


FACTS = st.sampled_from([{}, {"authenticated": True}, {"authenticated": False}, {"other": 1}])
AVOID = st.sampled_from([
    Avoid(), Avoid(screens=("b",)), Avoid(actions=("reload",)), Avoid(effects=("sets_fact",)),
    Avoid(transitions=("t00", "t02")),
])  # fmt: skip


def that_is_there(avoid: Avoid, view: View) -> Avoid:
    own = tuple(name for name in avoid.transitions if name in view.transition_ids)
    return avoid.model_copy(update={"transitions": own})
