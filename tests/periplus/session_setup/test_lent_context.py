"""A context that is lent: what of it concerns our pages only."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any, cast

from periplus.session_setup.lent_context import LentContext


def test_service_workers_of_a_persons_browser_are_not_heard():
    """They belong to the person's pages, too: one that writes without end must not end ours, or be stopped."""
    heard: list[str] = []
    lent = LentContext(cast("Any", SimpleNamespace(on=lambda event, _f: heard.append(event))))
    for event in ("serviceworker", "close"):
        lent.on(event, print)
    assert heard == ["close"]
