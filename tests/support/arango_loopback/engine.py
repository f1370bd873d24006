"""What each AQL text of `kb_store.arangodb.aql` means, in plain Python over rows in memory.

A text that is not one of those constants, a bind variable too many or too few, a collection bound
as a value: all are refused. Nothing here parses AQL; that a real server reads the texts as they
are meant can only be shown on one.
"""

from __future__ import annotations

import heapq
import itertools
import math
import re
import time
from collections import Counter
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from typing import Any

from kb_store.arangodb import aql
from tests.support.arango_loopback.state import Refused, Row, View

Values = dict[str, Any]
Meaning = Callable[[View, Values], list[Any]]

_MEANINGS: dict[str, Meaning] = {}
_BOUND = re.compile(r"@@?[a-z_]+")


def run(view: View, text: str, bound: Values) -> list[Any]:
    """The rows of a known text. Raises `Refused` as the server's parser would."""
    meaning = _MEANINGS.get(text)
    if meaning is None:
        raise Refused(400, 1501, "an AQL text that aql.py does not have")
    wanted = {name[1:] for name in _BOUND.findall(text)}
    if wanted - bound.keys():
        raise Refused(400, 1551, f"no value specified for declared bind parameter {wanted - bound.keys()}")
    if bound.keys() - wanted:
        raise Refused(400, 1552, f"bind parameter {bound.keys() - wanted} was not declared in the query")
    for name, value in bound.items():
        if name.startswith("@"):
            view.rows(value)
    return meaning(view, bound)


def known_texts() -> set[str]:
    """Every text that has a meaning here."""
    return set(_MEANINGS)


def _means(*texts: str) -> Callable[[Meaning], Meaning]:
    def register(meaning: Meaning) -> Meaning:
        for text in texts:
            _MEANINGS[text] = meaning
        return meaning

    return register


def _of(view: View, v: Values) -> Iterator[Row]:
    for row in view.rows(v["@collection"]).values():
        if row["website_id"] == v["website"] and row["generation"] == v["generation"]:
            yield row


@_means(aql.PAGE)
def _page(view: View, v: Values) -> list[Any]:
    found = sorted(
        (r for r in _of(view, v) if r["sort_key"] > v["after"]), key=lambda row: str(row["sort_key"])
    )
    return found[: v["page"]]


@_means(aql.COUNT)
def _count(view: View, v: Values) -> list[Any]:
    return [sum(1 for _ in _of(view, v))]


@_means(aql.GENERATIONS)
def _generations(view: View, v: Values) -> list[Any]:
    rows = view.rows(v["@collection"]).values()
    return sorted({row["generation"] for row in rows if row["website_id"] == v["website"]})


@_means(aql.DROP)
def _drop(view: View, v: Values) -> list[Any]:
    for key, row in view.rows(v["@collection"]).items():
        if row["website_id"] == v["website"] and row["generation"] in v["generations"]:
            view.remove(v["@collection"], key)
    return []


@_means(aql.KNOWN_KEYS)
def _known_keys(view: View, v: Values) -> list[Any]:
    return [key for key in v["keys"] if key in view.rows(v["@collection"])]


@_means(aql.GROUP_PRIORITIES)
def _group_priorities(view: View, v: Values) -> list[Any]:
    rows = view.rows(v["@groups"])
    return [{"key": k, "priority": rows[k]["recovery_priority"]} for k in v["keys"] if k in rows]


@_means(aql.SCREENS_OF_GROUPS)
def _screens_of_groups(view: View, v: Values) -> list[Any]:
    return sorted(
        {row["_from"] for row in view.rows(v["@memberships"]).values() if row["_to"] in v["groups"]}
    )


def _recovery_order(row: Row) -> tuple[Any, ...]:
    return (row["recovery_priority"], -row["reliability"], row["expected_ms"], row["sort_key"])


@_means(aql.WEIGH_TRANSITIONS)
def _weigh_transitions(view: View, v: Values) -> list[Any]:
    memberships, recoveries = view.rows(v["@memberships"]), view.rows(v["@recoveries"])
    learned, transitions = view.rows(v["@learned"]), view.rows(v["@transitions"])
    for screen in v["screens"]:
        groups = {row["_to"] for row in memberships.values() if row["_from"] == screen}
        back = min(
            (r for r in recoveries.values() if r["_from"] in groups), key=_recovery_order, default=None
        )
        wait = v["no_recovery_ms"] if back is None else back["expected_ms"]
        for key, edge in transitions.items():
            if edge["_from"] == screen:
                ms, reliability = _believed(edge, learned.get(edge["learned_key"]), v)
                r = max(v["least"], reliability)
                weights = {
                    "weight_fastest": ms,
                    "weight_reliable": max(0, -math.log(r)),
                    "weight_balanced": ms + (1 - r) / r * (ms + wait),
                }
                view.update(
                    v["@transitions"], key, {"reliability": reliability, "expected_ms": ms, **weights}
                )
    return []


@_means(aql.WEIGH_RECOVERIES)
def _weigh_recoveries(view: View, v: Values) -> list[Any]:
    learned = view.rows(v["@learned"])
    for key, edge in view.rows(v["@recoveries"]).items():
        if edge["_from"] in v["groups"]:
            ms, reliability = _believed(edge, learned.get(edge["learned_key"]), v)
            view.update(v["@recoveries"], key, {"reliability": reliability, "expected_ms": ms})
    return []


def _believed(edge: Row, learned: Row | None, v: Values) -> tuple[float, float]:
    if learned is None:
        return edge["authored_ms"], edge["authored_reliability"]
    kept = 2 ** (min(0, learned["day"] - v["today"]) / v["half_life_days"])
    succeeded, failed = learned["succeeded"] * kept, learned["failed"] * kept
    believed = (edge["authored_reliability"] * v["prior"] + succeeded) / (v["prior"] + succeeded + failed)
    known = learned["timed"] >= v["enough"] and learned["timed_weight"] * kept > v["least_weight"]
    ms = learned["timed_sum"] / learned["timed_weight"] if known else edge["authored_ms"]
    return ms, min(1, max(0, believed))


@_means(aql.STARTS_OF_EDGES)
def _starts_of_edges(view: View, v: Values) -> list[Any]:
    rows = view.rows(v["@edges"]).values()
    return sorted(
        {r["_from"] for r in rows if r["website_id"] == v["website"] and r["sort_key"] in v["names"]}
    )


@_means(aql.BEGIN_LEARNING)
def _begin_learning(view: View, v: Values) -> list[Any]:
    row = {
        "_key": v["key"], "website_id": v["website"], "kind": v["kind"], "name": v["name"], "day": v["day"],
        "succeeded": 0, "failed": 0, "seen": 0, "timed": 0, "timed_weight": 0, "timed_sum": 0, "buckets": [],
        "ticket": 0, "origin": v["origin"], "copied": [],
    }  # fmt: skip
    view.insert(v["@learned"], row, "ignore")
    return []


@_means(aql.COUNT_OUTCOME)
def _count_outcome(view: View, v: Values) -> list[Any]:
    outcome = {"_key": v["outcome"], "website_id": v["website"], "outcome_id": v["outcome_id"],
               "expires_at": v["expires_at"]}  # fmt: skip
    view.insert(v["@outcomes"], outcome)
    old = view.rows(v["@learned"])[v["key"]]
    theirs = 2 ** (min(0, old["day"] - v["day"]) / v["half_life_days"])
    mine = 2 ** (min(0, v["day"] - old["day"]) / v["half_life_days"])
    buckets = {each["at"]: each["weight"] * theirs for each in old["buckets"]}
    if v["timed"]:
        buckets[v["bucket"]] = buckets.get(v["bucket"], 0) + mine
    new = {
        "day": max(old["day"], v["day"]),
        "succeeded": old["succeeded"] * theirs + v["succeeded"] * mine,
        "failed": old["failed"] * theirs + v["failed"] * mine,
        "seen": old["seen"] + 1,
        "timed": old["timed"] + v["timed"],
        "timed_weight": old["timed_weight"] * theirs + v["timed"] * mine,
        "timed_sum": old["timed_sum"] * theirs + v["ms"] * mine,
        "buckets": [{"at": at, "weight": weight} for at, weight in buckets.items()],
        "ticket": max(old["ticket"], v["ticket"]),
    }
    view.update(v["@learned"], v["key"], new)
    return []


@_means(aql.LEARNED)
def _learned(view: View, v: Values) -> list[Any]:
    rows = view.rows(v["@learned"]).values()
    return [row for row in rows if (row["website_id"], row["kind"]) == (v["website"], v["kind"])]


@_means(aql.FORGET)
def _forget(view: View, v: Values) -> list[Any]:
    for key in view.rows(v["@learned"]):
        if key in v["keys"]:
            view.remove(v["@learned"], key)
    return []


@_means(aql.LEARNED_SINCE)
def _learned_since(view: View, v: Values) -> list[Any]:
    rows = view.rows(v["@learned"]).values()
    return [
        row
        for row in rows
        if row["website_id"] == v["website"] and row["ticket"] > v["ticket"] and row["kind"] != "element"
    ]


def _paged(rows: Iterable[Row], v: Values) -> list[Any]:
    found = (r for r in rows if r["website_id"] == v["website"] and r["_key"] > v["after"])
    return sorted(found, key=lambda row: str(row["_key"]))[: v["page"]]


@_means(aql.KEPT)
def _kept(view: View, v: Values) -> list[Any]:
    return _paged(view.rows(v["@learned"]).values(), v)


@_means(aql.LEARNED_COUNTS)
def _learned_counts(view: View, v: Values) -> list[Any]:
    found = Counter(r["kind"] for r in view.rows(v["@learned"]).values() if r["website_id"] == v["website"])
    return [{"kind": kind, "rows": rows} for kind, rows in sorted(found.items())]


@_means(aql.KEPT_OF)
def _kept_of(view: View, v: Values) -> list[Any]:
    return [row for key, row in view.rows(v["@learned"]).items() if key in v["keys"]]


@_means(aql.COUNTED_IDS)
def _counted_ids(view: View, v: Values) -> list[Any]:
    return _paged((r for r in view.rows(v["@outcomes"]).values() if r["expires_at"] > v["now"]), v)


@_means(aql.BEGIN_TICKETS)
def _begin_tickets(view: View, v: Values) -> list[Any]:
    row = {"_key": v["key"], "website_id": v["website"], "drawn": 0, "raised": 0, "forgotten": 0, "out": []}
    view.insert(v["@revisions"], row, "ignore")
    return []


def _still_out(row: Row) -> list[Row]:
    return [each for each in row["out"] if each["until"] > time.time() * 1000]


@_means(aql.DRAW_TICKET)
def _draw_ticket(view: View, v: Values) -> list[Any]:
    row = view.rows(v["@revisions"])[v["key"]]
    number = row["drawn"] + 1
    mine = {"ticket": number, "until": time.time() * 1000 + v["lifetime_ms"]}
    view.update(v["@revisions"], v["key"], {"drawn": number, "out": [*_still_out(row), mine]})
    return [number]


@_means(aql.HAND_BACK_TICKET)
def _hand_back_ticket(view: View, v: Values) -> list[Any]:
    row = view.rows(v["@revisions"])[v["key"]]
    out = [each for each in row["out"] if each["ticket"] != v["ticket"]]
    view.update(v["@revisions"], v["key"], {"raised": row["raised"] + v["raised"], "out": out})
    return []


@_means(aql.COUNT_FORGETTING)
def _count_forgetting(view: View, v: Values) -> list[Any]:
    row = view.rows(v["@revisions"])[v["key"]]
    more = {"raised": row["raised"] + 1, "forgotten": row["forgotten"] + 1}
    view.update(v["@revisions"], v["key"], more)
    return []


@_means(aql.TICKETS)
def _tickets(view: View, v: Values) -> list[Any]:
    row = view.rows(v["@revisions"]).get(v["key"])
    if row is None:
        return []
    out = [each["ticket"] for each in _still_out(row)]
    return [{"drawn": row["drawn"], "raised": row["raised"], "forgotten": row["forgotten"], "out": out}]


# -- paths


@dataclass(frozen=True)
class _Path:
    vertices: tuple[str, ...]
    edges: tuple[Row, ...]
    weight: float


Pruned = Callable[[_Path], bool]


def _leaving(view: View, graph: str) -> dict[str, list[Row]]:
    """The edges of a named graph by `_from`."""
    definition = view.database.graphs.get(graph)
    if definition is None:
        raise Refused(404, 1924, f"graph '{graph}' not found")
    found: dict[str, list[Row]] = {}
    for each in definition["edgeDefinitions"]:
        for row in view.rows(each["collection"]).values():
            found.setdefault(row["_from"], []).append(row)
    return found


def _walks(view: View, graph: str, start: str, attribute: str | None, pruned: Pruned) -> Iterator[_Path]:
    """Paths that visit no vertex twice, by weight (or length); not beyond one that is pruned."""
    leaving, tie = _leaving(view, graph), itertools.count()
    waiting = [(0.0, next(tie), _Path((start,), (), 0.0))]
    while waiting:
        _, _, path = heapq.heappop(waiting)
        yield path
        if pruned(path):
            continue
        for edge in leaving.get(path.vertices[-1], ()):
            if edge["_to"] not in path.vertices:
                weight = path.weight + (1.0 if attribute is None else edge.get(attribute, 1_000_000))
                onward = _Path((*path.vertices, edge["_to"]), (*path.edges, edge), weight)
                heapq.heappush(waiting, (weight, next(tie), onward))


def _told(view: View, path: _Path) -> Row:
    return {
        "screens": [_vertex(view, each)["sort_key"] for each in path.vertices],
        "transitions": [edge["sort_key"] for edge in path.edges],
        "weight": path.weight,
        "expected_ms": sum(edge["expected_ms"] for edge in path.edges),
        "reliability": math.prod(edge["reliability"] for edge in path.edges),
    }


def _vertex(view: View, name: str) -> Row:
    """A vertex by its id. A traversal warns of one that is missing, and with `failOnWarning` fails."""
    found = view.by_id(name)
    if found is None:
        raise Refused(404, 1202, f"vertex '{name}' not found")
    return found


def _attribute(text: str) -> str:
    return str(re.findall(r"weightAttribute: '(\w+)'", text)[0])


def _k_shortest(attribute: str) -> Meaning:
    def meaning(view: View, v: Values) -> list[Any]:
        goal = v["goal"]
        if view.by_id(v["start"]) is None or view.by_id(goal) is None:
            return []
        walks = _walks(view, "navigation", v["start"], attribute, lambda path: path.vertices[-1] == goal)
        found = (path for path in walks if path.vertices[-1] == goal)
        return [_told(view, path) for path in itertools.islice(found, v["k"])]

    return meaning


def _weighted_ways(attribute: str) -> Meaning:
    def meaning(view: View, v: Values) -> list[Any]:
        def avoided(path: _Path) -> bool:
            edge = path.edges[-1] if path.edges else None
            return edge is not None and (
                path.vertices[-1] in v["avoid_screens"]
                or edge["sort_key"] in v["avoid_transitions"]
                or edge["action_type"] in v["avoid_actions"]
            )

        def pruned(path: _Path) -> bool:
            return path.vertices[-1] == v["goal"] or avoided(path) or len(path.edges) == v["hops"]

        walks = _walks(view, "navigation", v["start"], attribute, pruned)
        found = (p for p in walks if p.edges and p.vertices[-1] == v["goal"] and not avoided(p))
        return [_told(view, path) for path in itertools.islice(found, v["k"])]

    return meaning


for _text in (aql.FEWEST_PATHS, aql.FASTEST_PATHS, aql.RELIABLE_PATHS, aql.BALANCED_PATHS):
    _means(_text)(_k_shortest(_attribute(_text)))
for _text in (
    aql.FEWEST_FILTERED_PATHS,
    aql.FASTEST_FILTERED_PATHS,
    aql.RELIABLE_FILTERED_PATHS,
    aql.BALANCED_FILTERED_PATHS,
):
    _means(_text)(_weighted_ways(_attribute(_text)))


@_means(aql.RECOVERY_PATHS)
def _recovery_paths(view: View, v: Values) -> list[Any]:
    groups = [edge["_to"] for edge in _leaving(view, "group_membership").get(v["screen"], ())]
    recoveries = view.rows(v["@recoveries"]).values()
    edges = sorted((e for e in recoveries if e["_from"] in groups), key=_recovery_order)
    return [
        {
            "group": _vertex(view, edge["_from"])["sort_key"],
            "recovery": edge["sort_key"],
            "to_screen": edge["target_id"],
            "priority": edge["recovery_priority"],
            "reliability": edge["reliability"],
            "expected_ms": edge["expected_ms"],
        }
        for edge in edges[: v["most"]]
    ]


def _reach(*, inbound: bool, by_action: bool) -> Meaning:
    def meaning(view: View, v: Values) -> list[Any]:
        near, far = ("_to", "_from") if inbound else ("_from", "_to")
        beside: dict[str, set[str]] = {}
        for edges in _leaving(view, "navigation").values():
            for edge in edges:
                if not by_action or edge["action_type"] == v["action_type"]:
                    beside.setdefault(edge[near], set()).add(edge[far])
        depths, waiting = {v["start"]: 0}, [v["start"]]
        for screen in waiting:
            for other in beside.get(screen, ()):
                if other not in depths and depths[screen] < v["hops"]:
                    depths[other] = depths[screen] + 1
                    waiting.append(other)
        return _by_depth(view, {name: depth for name, depth in depths.items() if depth > 0})

    return meaning


_means(aql.REACHED)(_reach(inbound=False, by_action=False))
_means(aql.REACHED_BY_ACTION)(_reach(inbound=False, by_action=True))
_means(aql.REACHING)(_reach(inbound=True, by_action=False))
_means(aql.REACHING_BY_ACTION)(_reach(inbound=True, by_action=True))


def _by_depth(view: View, depths: dict[str, int]) -> list[Any]:
    named = [(_vertex(view, name)["sort_key"], depth) for name, depth in depths.items()]
    return [{"name": name, "depth": depth} for name, depth in sorted(named, key=lambda each: each[::-1])]
