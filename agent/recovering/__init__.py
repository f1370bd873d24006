"""What is done when a step fails: the recoveries that the knowledge names, executed and bounded.

`names` says what an error is called, `rules` which rules of the knowledge are for it, `cases` is the
registry of recoveries, whose entries are in `retrying`, `looking` and `fixing`; `recovering` tries
them in order. Whether something may be repeated at all is decided elsewhere (`agent.engine.steps`).
"""
