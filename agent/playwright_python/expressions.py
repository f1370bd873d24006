"""The one door to locators of Playwright's Python: candidates for an element, their source, their proof."""

from __future__ import annotations

from agent.playwright_python.choosing import candidates
from agent.playwright_python.proving import proven, to_locator
from agent.playwright_python.writing import python_string, to_source

__all__ = ["candidates", "proven", "python_string", "to_locator", "to_source"]
