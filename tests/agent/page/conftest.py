"""A page whose context carries the in-page library, as the agent opens them."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

if TYPE_CHECKING:
    from playwright.async_api import Page


@pytest.fixture
def page(blank_page: Page) -> Page:
    return blank_page
