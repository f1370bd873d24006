"""A page with the in-page library, and hands that record a step and carry it out on another version."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest

from agent.events import Event
from agent.healing.healer import Healer, HealerResult, HealPolicy, IntendedElement
from agent.page import armed_triggers
from agent.page.action_requests import ActionRequest
from kb_schema.fingerprints import Fingerprint
from kb_schema.selectors import css
from tests.support.pages import show

if TYPE_CHECKING:
    from playwright.async_api import Page

LOG = """<script>
window.clicks = [];
addEventListener("click", (event) => {
  const hit = event.target.closest("button, a, input, [data-truth]");
  if (!hit) return;
  event.preventDefault();
  clicks.push(hit.dataset.truth || hit.id || hit.textContent.trim());
}, true);
</script>"""


@pytest.fixture
def page(blank_page: Page) -> Page:
    return blank_page


@pytest.fixture(autouse=True)
def quiet_soon(monkeypatch: pytest.MonkeyPatch) -> None:
    """Nothing here comes over a network: to be idle for a moment is to be idle."""
    monkeypatch.setattr(armed_triggers, "NETWORK_QUIET_S", 0.03)


class Hands:
    """Records elements by CSS and clicks what is meant; `clicks` are what was really clicked."""

    def __init__(self, page: Page) -> None:
        self.page = page
        self.events: list[Any] = []

    async def show(self, html: str) -> None:
        await self.page.unroute_all()
        await show(self.page, f"<!doctype html><title>t</title>{LOG}{html}")

    def healer(self, **how: Any) -> Healer:
        how.setdefault("policy", HealPolicy(gate_s=0.3, healed_gate_s=0.3))
        return Healer(self.page, self._hear, **how)

    def _hear(self, event: Event) -> None:
        self.events.append(event)

    def act(self, action: str = "click", value: str | None = None) -> ActionRequest:
        return ActionRequest(action, value=value)

    async def record(self, where: str) -> Fingerprint:
        """What is known of an element after it was used once."""
        done = await self.healer().act(IntendedElement("once", css(where)), self.act("hover"))
        assert done.checked.fingerprint is not None
        return done.checked.fingerprint

    async def click(self, where: str, known: Fingerprint, *others: Fingerprint, **how: Any) -> HealerResult:
        healer = self.healer(**{key: how.pop(key) for key in ("decider", "policy", "dismiss") if key in how})
        return await healer.act(IntendedElement("screen.it", css(where), known, others, **how), self.act())

    async def clicks(self) -> list[str]:
        said: list[str] = await self.page.evaluate("window.clicks")
        return said


@pytest.fixture
def hands(page: Page) -> Hands:
    return Hands(page)
