"""What was learned as a knowledge base: a website and its screens, tried by the desk's own identification."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from urllib.parse import urlsplit

from kb_schema import KnowledgeBase, KnowledgeError, Sourced, assemble
from kb_schema.errors import Severity
from kb_schema.pages.stored import StoredPage, answer_probes
from kb_schema.screens import Screen
from kb_schema.websites import Website
from loaders.signatures.atlas import Learned
from mcp_server.compiled import compile_view
from mcp_server.identify import identify
from periplus.learning.sorted_pages import SortedPage


@dataclass(frozen=True, slots=True)
class Mistaken:
    """A page that identification would not tell as it was sorted."""

    name: str
    screen: str | None
    taken_for: str | None
    ambiguous: bool


def drawn(
    learned: Mapping[str, Learned], website_id: str, base_url: str
) -> tuple[KnowledgeBase, dict[str, str]]:
    """The knowledge, and the screens that could not be part of it with the rule that they break."""
    website = Website(website_id=website_id, name=_host(base_url) or website_id, base_url=base_url)
    screens = {screen_id: screen_of(screen_id, each, website_id) for screen_id, each in learned.items()}
    refused: dict[str, str] = {}
    while True:
        try:
            knowledge, _ = assemble([Sourced(each) for each in (website, *screens.values())])
        except KnowledgeError as exc:
            blamed = dict(_blamed(exc, screens))
            if not blamed:
                raise
            refused |= blamed
            screens = {screen_id: each for screen_id, each in screens.items() if screen_id not in blamed}
        else:
            return knowledge, refused


def screen_of(screen_id: str, learned: Learned, website_id: str) -> Screen:
    """One screen as the knowledge has it."""
    return Screen(
        type="screen",
        website_id=website_id,
        screen_id=screen_id,
        name=words_of(screen_id),
        url_patterns=learned.url_patterns,
        state_signature=learned.signature,
        metadata={"learned": learned.evidence},
    )


def mistaken(
    knowledge: KnowledgeBase, pages: Sequence[SortedPage], left_out: Iterable[str]
) -> list[Mistaken]:
    """The pages that are not told as they were sorted; those of screens that are left out by none."""
    view = compile_view(knowledge, "learned")
    without = set(left_out)
    found = []
    for page in pages:
        answer = identify(view, StoredPage(page.stored.read()), answer_probes, base_url=page.base)
        due = None if page.screen in without else page.screen
        if answer.screen_id != due or answer.ambiguous:
            found.append(Mistaken(page.stored.name, page.screen, answer.screen_id, answer.ambiguous))
    return found


def not_learned(knowledge: KnowledgeBase, website_id: str) -> str | None:
    """The first thing of a knowledge base that is not as learning writes it: somebody's work. None where all is."""
    for document in knowledge.documents():
        said = document.to_json().keys() - {"type", "website_id", "schema_version", "name"}
        if isinstance(document, Website):
            known = said <= {"base_url"} and document.website_id == website_id
        elif isinstance(document, Screen):
            plain = said <= {"screen_id", "url_patterns", "state_signature", "metadata"}
            known = (
                plain
                and document.metadata.keys() == {"learned"}
                and document.name == words_of(document.screen_id)
            )
        else:
            known = False
        if not known:
            return f"{document.kind.replace('_', ' ')} {document.local_id}"
    return None


def words_of(screen_id: str) -> str:
    """An id as people say it.

    >>> words_of("agent_list")
    'Agent list'
    """
    words = re.sub(r"[_.\-]+", " ", screen_id).strip() or screen_id
    return words[0].upper() + words[1:]


def website_id_of(base_url: str) -> str:
    """An id for a website nobody named.

    >>> website_id_of("https://app.example.com/x")
    'app_example_com'
    """
    return re.sub(r"[^A-Za-z0-9]+", "_", _host(base_url)).strip("_") or "website"


def _host(base_url: str) -> str:
    return urlsplit(base_url).hostname or ""


def _blamed(error: KnowledgeError, screens: Mapping[str, Screen]) -> Iterable[tuple[str, str]]:
    for problem in error.problems:
        if problem.severity is Severity.ERROR:
            for screen_id in screens:
                if problem.document == f"screen:{screen_id}":
                    yield screen_id, problem.message
