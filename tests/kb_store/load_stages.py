"""Where a load is, as the loaders that kill themselves see it. Imports little: each of them starts with it."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from kb_store.knowledge_loader import LoadProgress

BETWEEN = "between"
"""The stage in which all documents are written, and of the graph at most the first batch."""

AT_WORK = "at work"
"""The line that a loader says as soon as its load begins."""


class Stage:
    """Where a load is, from what it tells of its progress."""

    def __init__(self) -> None:
        self.name = "opening"

    def __call__(self, progress: LoadProgress) -> None:
        if self.name == "opening":
            sys.stdout.write(f"{AT_WORK}\n")
            sys.stdout.flush()
        begins = progress.stage == "vertices" and self.name == "documents"
        self.name = BETWEEN if begins else progress.stage
