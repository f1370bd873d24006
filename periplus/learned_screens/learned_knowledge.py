"""Builds a knowledge base of learned screens, and checks it with the knowledge server's identification."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from urllib.parse import urlsplit

from kb_schema import KnowledgeBase, KnowledgeError, SourcedDocument, assemble
from kb_schema.errors import Severity
from kb_schema.screens import Screen
from kb_schema.websites import Website
from loaders.screen_learner.signature_learner import LearnedSignature
from mcp_server.identification.screen_identification import identify
from mcp_server.knowledge.compiled_view import compile_view
from periplus.learned_screens.sorted_pages import SortedPage
from web_pages.stored_pages import StoredPage, answer_probes


@dataclass(frozen=True, slots=True)
class MisidentifiedPage:
    """A page that is identified as another screen than it was sorted as."""

    name: str
    screen: str | None
    taken_for: str | None
    ambiguous: bool


def build_knowledge_base(
    learned: Mapping[str, LearnedSignature], website_id: str, base_url: str
) -> tuple[KnowledgeBase, dict[str, str]]:
    """Return the knowledge base, and the screens that were left out with the rule that they break."""
    website = Website(website_id=website_id, name=_host(base_url) or website_id, base_url=base_url)
    screens = {screen_id: build_screen(screen_id, each, website_id) for screen_id, each in learned.items()}
    refused: dict[str, str] = {}
    while True:
        try:
            knowledge, _ = assemble([SourcedDocument(each) for each in (website, *screens.values())])
        except KnowledgeError as exc:
            blamed = dict(_list_invalid_screens(exc, screens))
            if not blamed:
                raise
            refused |= blamed
            screens = {screen_id: each for screen_id, each in screens.items() if screen_id not in blamed}
        else:
            return knowledge, refused


def build_screen(screen_id: str, learned: LearnedSignature, website_id: str) -> Screen:
    """Return a learned screen as a document."""
    return Screen(
        type="screen",
        website_id=website_id,
        screen_id=screen_id,
        name=name_screen(screen_id, learned.ambiguous_of),
        url_patterns=learned.url_patterns,
        state_signature=learned.signature,
        ambiguous_of=learned.ambiguous_of,
        metadata={"learned": learned.evidence},
    )


def find_misidentified_pages(
    knowledge: KnowledgeBase, pages: Sequence[SortedPage], left_out: Iterable[str]
) -> list[MisidentifiedPage]:
    """Return the pages that are not identified as they were sorted; pages of omitted screens must match none.

    A page of one of several screens that nothing tells apart is right if it is identified as one of them.
    """
    view = compile_view(knowledge, "learned")
    without = set(left_out)
    found = []
    for page in pages:
        answer = identify(view, StoredPage(page.stored.read()), answer_probes, base_url=page.base)
        due = None if page.screen in without else page.screen
        if due is not None and due in answer.ambiguous_of:
            continue
        if answer.screen_id != due or answer.ambiguous:
            found.append(MisidentifiedPage(page.stored.name, page.screen, answer.screen_id, answer.ambiguous))
    return found


def find_authored_content(knowledge: KnowledgeBase, website_id: str) -> str | None:
    """Return the first content that learning did not write, that is, manual work; None if there is none."""
    for document in knowledge.documents():
        said = document.to_json().keys() - {"type", "website_id", "schema_version", "name"}
        if isinstance(document, Website):
            known = said <= {"base_url"} and document.website_id == website_id
        elif isinstance(document, Screen):
            plain = said <= {"screen_id", "url_patterns", "state_signature", "ambiguous_of", "metadata"}
            known = (
                plain
                and document.metadata.keys() == {"learned"}
                and document.name == name_screen(document.screen_id, document.ambiguous_of)
            )
        else:
            known = False
        if not known:
            return f"{document.kind.replace('_', ' ')} {document.local_id}"
    return None


def name_screen(screen_id: str, ambiguous_of: Sequence[str]) -> str:
    """Return the name of a learned screen; of one that stands for several, the names of all.

    >>> name_screen("ship_or_boat", ("boat", "ship"))
    'Boat or Ship'
    """
    return " or ".join(map(words_of_id, ambiguous_of)) or words_of_id(screen_id)


def words_of_id(screen_id: str) -> str:
    """Return an id as words.

    >>> words_of_id("agent_list")
    'Agent list'
    """
    words = re.sub(r"[_.\-]+", " ", screen_id).strip() or screen_id
    return words[0].upper() + words[1:]


def _host(base_url: str) -> str:
    return urlsplit(base_url).hostname or ""


def _list_invalid_screens(error: KnowledgeError, screens: Mapping[str, Screen]) -> Iterable[tuple[str, str]]:
    for problem in error.problems:
        if problem.severity is Severity.ERROR:
            for screen_id in screens:
                if problem.document == f"screen:{screen_id}":
                    yield screen_id, problem.message
