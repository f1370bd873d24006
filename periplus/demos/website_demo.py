"""A demo of a website whose knowledge base is loaded and which runs already, instead of a seed."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from playwright.async_api import Browser, StorageState

from kb_schema import KnowledgeBase, SourcedDocument, assemble
from kb_schema.presentation_flows import PresentationFlow
from kb_store import NoSuchWebsite, Stores, read_knowledge
from kb_store.proposals.accepted_changes import store_change
from loaders.files.folder_reader import read_documents_file
from periplus.errors import UserError
from periplus.exploration.login_form import sign_in_by_form
from periplus.exploration.sign_in_methods import sign_in_by_storage_state


@dataclass(frozen=True, slots=True)
class WebsiteDemo:
    """What a demo of a loaded website starts from."""

    website_id: str
    flow_file: Path | None = None
    """A file with the flow to play; it becomes a part of the knowledge base."""
    values: Mapping[str, Any] = field(default_factory=dict, repr=False)
    """Global values of the presentation, and what the sign-in form gets."""
    storage_state: Path | None = None
    """A Playwright storage state of a signed-in session."""
    sign_in_form: bool = False
    sign_in_url: str | None = None
    """The address of the sign-in form; None: the base URL."""

    @property
    def name(self) -> str:
        """Its name in output and folders."""
        return self.website_id

    async def sign_in(self, browser: Browser, base_url: str) -> StorageState | None:
        """Return a signed-in session, or None if none is wanted. Raises `UserError`."""
        if self.storage_state is not None:
            return sign_in_by_storage_state(self.storage_state).state
        if self.sign_in_form:
            return (await sign_in_by_form(browser, self.sign_in_url or base_url, self.values)).state
        return None


async def load_website_demo(
    demo: WebsiteDemo, stores: Stores, flow: str | None
) -> tuple[KnowledgeBase, PresentationFlow]:
    """Return the website's knowledge and the flow to play. A flow from a file is stored first.

    Raises `UserError`, and `KnowledgeError` if the flow in the file does not fit the knowledge base.
    """
    try:
        knowledge, _ = await read_knowledge(stores.documents, stores.graph, demo.website_id)
    except NoSuchWebsite as exc:
        fix = "load its knowledge base first: periplus kb load DIR"
        raise UserError(f"the store has no website {demo.website_id!r}", fix=fix) from exc
    if demo.flow_file is not None:
        given = read_flow(demo.flow_file)
        given = given.model_copy(update={"website_id": demo.website_id})
        if knowledge.flows.get(given.flow_id) != given:
            await store_change(
                stores.documents,
                stores.graph,
                demo.website_id,
                lambda old: _with_flow(old, given, demo.flow_file),
            )
        return knowledge, given
    known = sorted(knowledge.flows)
    name = flow or (known[0] if len(known) == 1 else None)
    if name is None or name not in knowledge.flows:
        fix = (
            f"use --flow with one of: {', '.join(known)}"
            if known
            else f"draft one: periplus draft-flow --website {demo.website_id}"
        )
        problem = f"has no flow {name!r}" if name else ("has several flows" if known else "has no flow")
        raise UserError(f"the website {demo.website_id!r} {problem}", fix=fix)
    return knowledge, knowledge.flows[name]


def read_flow(file: Path) -> PresentationFlow:
    """Return the flow in a file. Raises `UserError`, and `KnowledgeError` with the place of each problem."""
    documents = read_documents_file(file, "presentation_flow")
    if len(documents) != 1 or not isinstance(documents[0], PresentationFlow):
        raise UserError(f"{file} is not one presentation flow", fix="see docs/presenting.md for an example")
    return documents[0]


def _with_flow(knowledge: KnowledgeBase, flow: PresentationFlow, file: Path | None) -> KnowledgeBase:
    kept = [each for each in knowledge.documents() if (each.kind, each.local_id) != (flow.kind, flow.flow_id)]
    made = SourcedDocument(flow, str(file))
    return assemble([*(SourcedDocument(each) for each in kept), made])[0]
