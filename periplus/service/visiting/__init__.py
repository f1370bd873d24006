"""Demos for visitors: a link that somebody else may open, and behind it a show they can interrupt.

`book` keeps the links, `visit` is one of them with the show behind it, `scene` turns what happens there
into what the page shows, `feed` brings it there; `routes` is HTTP.
"""
