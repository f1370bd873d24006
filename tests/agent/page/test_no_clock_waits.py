"""Nothing is waited for by the clock but what an author wrote."""

from __future__ import annotations

import ast
from pathlib import Path

AGENT = Path(__file__).parents[3] / "agent"
PACED = {"presentation", "media"}
"""What is shown and spoken has a pace of its own."""
AUTHORED = {
    "browser/browser_life.py": ["answer_s / retry_limits.PAGE_PINGS"],  # it looks whether the browser answers
    "execution/action_runner.py": ["float(call.value)", "call.duration"],  # the action `wait`
    "page/armed_triggers.py": ["fallback.duration"],  # of a trigger whose event never came
    "execution/recovery/recovery_registry.py": ["case.wait_time"],  # of a rule
    "page/page_changes.py": ["SHORTEST_WAIT_S"],  # one look for a burst of changes
    "page/in_page_library.py": ["0"],  # the loop's turn
    "page/page_watchdog.py": [
        "answer_s / retry_limits.PAGE_PINGS"
    ],  # it looks at other times whether the page lives
    "page/secret_typing.py": [
        "order.pace.key_delay_s"
    ],  # the pace of typing, as the driver keeps it for other texts
    "recording/user_navigations.py": [
        "ASK_AGAIN_S"
    ],  # documents change places, and nobody tells when they have
}


def test_the_engine_sleeps_nowhere_but_where_an_author_says_so():
    found = {}
    for file in sorted(AGENT.rglob("*.py")):
        place = file.relative_to(AGENT)
        if place.parts[0] in PACED:
            continue
        slept = [
            ast.unparse(node.args[0])
            for node in ast.walk(ast.parse(file.read_text(encoding="utf-8")))
            if isinstance(node, ast.Call)
            and ast.unparse(node.func) in ("asyncio.sleep", "time.sleep", "sleep")
        ]
        if slept:
            found[place.as_posix()] = slept
    assert found.keys() <= AUTHORED.keys(), found
    for place, slept in found.items():
        assert all(any(known in each for known in AUTHORED[place]) for each in slept), (place, slept)
