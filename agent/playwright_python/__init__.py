"""Locators as Playwright's Python writes them: found for an element, proven on a page, written as source.

The model (`Expression`) is in `kb_schema/playwright_calls.py`; reading locators out of somebody's source is
the business of `agent/optimizing/sources`.
"""
