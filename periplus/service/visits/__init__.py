"""Demos for visitors: links that open a presentation the visitor can interrupt.

`visit_registry` holds the links. `visit` is one link with its presentation, `visit_page_state` turns events
into the state of the visitor's page, `visit_feed` sends it, and `visit_routes` serves HTTP.
"""
