"""A made-up shop: screens with addresses of their own, transitions between them, and their pages."""

from __future__ import annotations

import random
from typing import Any

from kb_schema import KnowledgeBase, parse_document
from kb_schema.page_snapshots import PageSnapshot
from kb_schema.websites import Website

BASE = "https://shop.example"


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
    """A page of screen n with about 600 elements."""
    rows = "".join(f"<tr><td>Row {i}</td><td><a href=/r/{i}>open</a></td></tr>" for i in range(150))
    body = f"<h1>Heading {n}</h1><p id=mark-{n % 20}>here</p><table>{rows}</table>"
    return PageSnapshot(url=f"{BASE}/area{n % 50}/page{n // 2}/3", html=f"<body>{body}</body>", title="Shop")
