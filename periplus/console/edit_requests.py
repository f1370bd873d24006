"""Makes an edit of the knowledge for a page of the console, and turns its refusals into messages."""

from __future__ import annotations

from kb_schema import KnowledgeError
from loaders.edits.knowledge_edit import EditRefused, KnowledgeEdit
from periplus.console.console_framework import ConsoleContext
from periplus.knowledge_edits import MakeEdit, store_edit
from periplus.service.problem_details import ApiProblem


async def edit_knowledge(parts: ConsoleContext, site: str, make: MakeEdit) -> KnowledgeEdit:
    """Store an edit and wait until the console reads it. Raises `ApiProblem` if it is refused."""
    await parts.knowledge_server.open_request(site)  # raises for an unknown website
    try:
        edit, _ = await store_edit(parts.stores, site, make)
    except EditRefused as exc:
        raise ApiProblem(409, "not_edited", exc.message, fix=exc.fix) from exc
    except KnowledgeError as exc:
        raise ApiProblem(
            409, "not_edited", str(exc).splitlines()[-1].strip(), fix="correct the knowledge there first"
        ) from exc
    await parts.views.current(site)
    return edit
