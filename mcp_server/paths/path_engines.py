"""Which engine searches paths: the one in memory, or the graph database that holds the edges.

Not here: the searches (`path_search`, `store_path_search`), and the tools (`tools.store_backed_tools`).
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from kb_schema.knowledge_base import KnowledgeBase
from kb_store.graph_queries import GraphQueries
from mcp_server.knowledge.compiled_view import KnowledgeView, compile_view

PathEngineMode = Literal["auto", "memory", "store"]
"""`memory`: every website is compiled for searching. `store`: the store is asked, about every website.
`auto`: the store is asked about the websites that are too large to compile."""

MOST_COMPILED = 200_000
"""Transitions. In memory each takes one to three kilobytes beside its document, so up to 600 MB."""


@dataclass(frozen=True, slots=True)
class PathEngines:
    """A server's engines, and which of them answers."""

    mode: PathEngineMode = "auto"
    most_compiled: int = MOST_COMPILED
    """Transitions of a website beyond which it is not compiled for searching where the store can be asked."""
    queries: GraphQueries | None = None
    """The store that can be asked; None: everything is searched in memory."""

    def compiled(self, knowledge: KnowledgeBase, generation: str) -> KnowledgeView:
        """The view of a website, its transitions made for searching only where that may be needed."""
        small = len(knowledge.transitions) <= self.most_compiled
        return compile_view(
            knowledge, generation, roads=small or self.queries is None or self.mode == "memory"
        )

    def asked(self, view: KnowledgeView) -> GraphQueries | None:
        """The store to ask about paths of this website; None: search in memory."""
        return self.queries if self.mode == "store" or view.roads is None else None
