"""Finding elements: one look at the page, roles and regions in it, discovery from plain words.

`index` is the frozen model of one look, `looking` takes it, everything else reads it.
"""
