"""Converts knowledge from and to other formats.

In: Playwright suites, OpenAPI, sitemaps. Out: page objects, site maps, a digest for language models.
"""
