"""Makes an edit of the knowledge (rename, merge, split) in the stores, for the command line and the console."""

from __future__ import annotations

from collections.abc import Callable

from kb_schema import KnowledgeBase
from kb_store import Stores
from kb_store.learned.subject_moves import move_element_numbers
from kb_store.proposals.accepted_changes import store_change
from loaders.edits.knowledge_edit import KnowledgeEdit

MakeEdit = Callable[[KnowledgeBase], KnowledgeEdit]


async def store_edit(stores: Stores, website_id: str, make: MakeEdit) -> tuple[KnowledgeEdit, int]:
    """Store an edit as the next generation of a website's knowledge; return it and the generation.

    `make` is called again with the new knowledge if another process changed it meanwhile. What was learned of
    elements moves with them. Raises what `make` raises and the errors of the stores.
    """
    made: list[KnowledgeEdit] = []

    def change(knowledge: KnowledgeBase) -> KnowledgeBase:
        made.append(make(knowledge))
        return made[-1].knowledge

    report = await store_change(stores.documents, stores.graph, website_id, change)
    await move_element_numbers(stores.learned, website_id, made[-1].moved_elements)
    return made[-1], report.generation
