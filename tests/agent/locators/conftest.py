"""A page whose context carries the in-page library, and the sites that are not ours."""

from __future__ import annotations

import random
from typing import TYPE_CHECKING

import pytest

from tests.support import rotation

if TYPE_CHECKING:
    from playwright.async_api import Page


@pytest.fixture
def page(blank_page: Page) -> Page:
    return blank_page


@pytest.fixture
def chance() -> random.Random:
    """The chance that draws this run's samples; the run prints its seed."""
    return random.Random(rotation.SEED)
