"""A made-up website of any size: screens with signatures and elements, five ways out of each, tasks, groups.

At scale 1 it has 10,000 screens, 50,000 transitions and 2,000 tasks. Same scale, same site.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from kb_schema import KnowledgeBase, SourcedDocument, assemble, parse_document

SCREENS, WAYS_PER_SCREEN, TASKS, GROUPS = 10_000, 5, 2_000, 20
WEBSITE = "large"


def large_site(scale: float) -> KnowledgeBase:
    """The site, checked."""
    return assemble([SourcedDocument(parse_document(document)) for document in documents(scale)])[0]


def sizes(scale: float) -> str:
    """How large it is, in words."""
    screens, tasks = _sizes(scale)
    return f"{screens:,} screens, {screens * WAYS_PER_SCREEN:,} transitions, {tasks:,} tasks"


def documents(scale: float) -> Iterator[dict[str, Any]]:
    """The site's documents, one by one."""
    screens, tasks = _sizes(scale)
    yield {"type": "website", "website_id": WEBSITE, "name": "Large", "base_url": "https://large.example"}
    for n in range(GROUPS):
        yield {"type": "screen_group", "group_id": f"g{n}", "name": f"Group {n}"}
        yield {
            "type": "global_recovery", "_from": f"screen_group/g{n}", "_to": "screen/s0", "recovery_priority": 1,
            "triggered_by": {"action_type": "navigate", "url": "https://large.example/s/0"},
        }  # fmt: skip
    for n in range(screens):
        yield from _screen(n, screens)
    for n in range(tasks):
        yield _task(n, screens)


def _sizes(scale: float) -> tuple[int, int]:
    return max(10, int(SCREENS * scale)), max(2, int(TASKS * scale))


def _screen(n: int, screens: int) -> Iterator[dict[str, Any]]:
    elements = [
        {"element_id": f"e{k}", "type": "button", "selector": f"#s{n}-e{k}", "metadata": {"label": f"Go {k}"}}
        for k in range(WAYS_PER_SCREEN)
    ]
    signature = {
        "primary_indicators": [
            {"type": "title_contains", "value": f"Screen {n}"},
            {"type": "element_visible", "element_id": "e0"},
        ],
        "negative_indicators": [{"type": "dom_contains", "value": f"Locked {n}"}],
    }
    yield {
        "type": "screen", "screen_id": f"s{n}", "name": f"Screen {n}", "url_patterns": [f"^/s/{n}$"],
        "ui_elements": elements, "state_signature": signature,
    }  # fmt: skip
    yield {"type": "belongs_to", "_from": f"screen/s{n}", "_to": f"screen_group/g{n % GROUPS}"}
    for k in range(WAYS_PER_SCREEN):
        target = (n * (k + 2) + 7 * k + 1) % screens
        yield {
            "type": "transition", "transition_id": f"t{n}-{k}", "_from": f"screen/s{n}", "_to": f"screen/s{target}",
            "cost": {"estimated_ms": 100 + k}, "reliability_score": 0.9,
            "triggered_by": {"action_type": "click", "element_id": f"e{k}"},
        }  # fmt: skip


def _task(n: int, screens: int) -> dict[str, Any]:
    steps = [
        {"action": {"action_type": "navigate_to_screen", "target_screen": f"screen/s{n % screens}"}},
        {"action": {"action_type": "fill", "target": "e1", "parameters": {"value": "{name}"}}},
        *({"action": {"action_type": "click", "target": f"e{k}"}} for k in (2, 3)),
    ]
    inputs = [{"name": "name", "source": ["user_input"]}]
    return {
        "type": "task",
        "task_id": f"task{n}",
        "name": f"Task {n}",
        "steps": steps,
        "io_spec": {"inputs": inputs},
    }
