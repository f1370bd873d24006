"""A page whose context carries the in-page library, as the agent opens them."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from agent.page import library

if TYPE_CHECKING:
    from playwright.async_api import BrowserContext, Page


@pytest.fixture
async def page(context: BrowserContext) -> Page:
    await library.install(context)
    return await context.new_page()
