"""From requirements to tests that are trusted (PACTS): each agent is a package of its own.

`planning` reads requirements, `bench` finds and does them on a page, `generating` writes tests, `flow` has
the graph they work in, `root_cause` says why something failed, `reporting` tells people.
"""
