"""Finds elements on a live page: the page index, regions and roles, discovery from plain words.

`page_index` is the model, `page_scan` reads it from a page, and the other modules work on it.
"""
