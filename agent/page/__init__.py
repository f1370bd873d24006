"""Everything that touches a page: one in-page library and the Python beside it.

Asking (`probing`, `evaluating`), seeing (`snapshot`), finding (`locating`), the gate (`gate`),
acting (`acting`) and waiting (`waiting`). Nothing here knows tasks, knowledge or screens.
"""
