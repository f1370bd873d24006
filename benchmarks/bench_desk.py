"""The desk: one identification against baselines in the same run. Calls over MCP are in `bench_mcp`."""

from __future__ import annotations

import random
from dataclasses import replace
from typing import Any

import pytest

from benchmarks.timing import median_ms, row
from kb_schema import KnowledgeBase, parse_document
from kb_schema.pages.stored import answer_probes
from kb_schema.probes import Facts
from kb_schema.snapshots import PageSnapshot
from kb_schema.websites import Website
from mcp_server.compiled import View, compile_view
from mcp_server.identify import identify, judge_all

pytestmark = pytest.mark.bench

BASE = "https://shop.example"
SCREENS = 1_000
TRANSITIONS = 5_000


def synthetic(screens: int, transitions: int) -> KnowledgeBase:
    """A site of many screens, two URL shapes in five sharing a pattern with a twin."""
    chance = random.Random(7)  # noqa: S311 - a benchmark repeats itself
    documents: list[dict[str, Any]] = [
        {
            "type": "screen",
            "screen_id": f"s{n}",
            "name": f"Screen {n}",
            "url_patterns": [rf"^/area{n % 50}/page{n // 2}/\d+$"],
            "state_signature": {
                "required_indicators": [{"type": "dom_contains", "value": f"Heading {n}"}],
                "optional_indicators": [{"type": "element_visible", "selector": f"#mark-{n % 20}"}],
                "negative_indicators": [{"type": "element_visible", "selector": f"#not-{n % 20}"}],
            },
        }
        for n in range(screens)
    ]
    for n in range(transitions):
        source = n % screens
        target = (source + 1) % screens if n < screens else chance.randrange(screens)
        documents.append(
            {
                "type": "transition",
                "transition_id": f"t{n}",
                "_from": f"s{source}",
                "_to": f"s{target}",
                "triggered_by": "click",
                "cost": {"estimated_ms": chance.randrange(100, 3_000)},
                "reliability_score": chance.choice([0.8, 0.95, 1.0]),
            }
        )
    website = parse_document({"type": "website", "website_id": "shop", "name": "Shop", "base_url": BASE})
    assert isinstance(website, Website)
    by_kind: dict[str, dict[str, Any]] = {"website": {"shop": website}}
    for data in documents:
        document = parse_document(data)
        by_kind.setdefault(document.kind, {})[document.local_id] = document
    return KnowledgeBase(website=website, by_kind=by_kind)


def page(n: int) -> PageSnapshot:
    rows = "".join(f"<tr><td>Row {i}</td><td><a href=/r/{i}>open</a></td></tr>" for i in range(150))
    body = f"<h1>Heading {n}</h1><p id=mark-{n % 20}>here</p><table>{rows}</table>"
    return PageSnapshot(url=f"{BASE}/area{n % 50}/page{n // 2}/3", html=f"<body>{body}</body>", title="Shop")


@pytest.fixture(scope="module")
def view() -> View:
    return compile_view(synthetic(SCREENS, TRANSITIONS), "1")


def test_one_identification_against_judging_every_signature(view: View) -> None:
    snapshot = page(456)
    facts = Facts(url=snapshot.url, title="Shop", path_base=BASE, authored_base=BASE)

    def probing_all() -> str:
        """Every signature's probes are put to the page, whatever the URL."""
        probes = {key: probe for each in view.signatures.values() for key, probe in each.probes.items()}
        answers = answer_probes(snapshot, tuple(probes.values()))
        judged = judge_all(
            view.signatures.values(), replace(facts, answers=answers), snapshot, lambda *_: answers
        )
        return next(each.signature.screen_id for each in judged if each.rejected_by is None)

    def scanning() -> str:
        """Every signature's URL patterns are tried in turn, and the page is probed for the rest."""
        judged = judge_all(view.signatures.values(), facts, snapshot, answer_probes)
        return next(each.signature.screen_id for each in judged if each.rejected_by is None)

    assert identify(view, snapshot, answer_probes).screen_id == probing_all() == scanning() == "s456"
    ours = median_ms(lambda: identify(view, snapshot, answer_probes), 50)
    what = f"one identification, {SCREENS} screens known"
    print()
    row(what, ours, "a linear scan, URLs first", median_ms(scanning, 10))
    row(what, ours, "a linear scan, everything probed", median_ms(probing_all, 3))
