"""Locators of Playwright's Python API: candidates for an element, and their proof on a live page.

The model (`Expression`) and its rendering as Python source are in `kb_schema/locator_expressions.py`.
`agent/optimization/sources` reads locators from existing test sources.
"""
