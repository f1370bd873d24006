"""What was learned as proposals for a website whose knowledge is loaded: people decide about them."""

from __future__ import annotations

import hashlib
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Literal

from mcp import Client, MCPError
from pydantic import TypeAdapter, ValidationError

from kb_schema import KnowledgeBase
from kb_schema.learned import OutcomeId
from kb_schema.proposals import (
    MOST_URL,
    ReportedSupport,
    ScreenChange,
    Seen,
    SignatureChange,
    TransitionChange,
)
from kb_schema.urls import matches
from loaders.signatures.atlas import Learned
from periplus.learning.drawing import Mistaken, screen_of
from periplus.learning.sorted_pages import SortedPage

_RUN_ID = TypeAdapter(OutcomeId)
_NO_LONGER = {"rejected": "a person rejected it", "accepted": "it was accepted before"}
"""What became of proposals that are not open, as an answer to whoever proposes them again."""

Learnable = ScreenChange | SignatureChange | TransitionChange


@dataclass(frozen=True, slots=True)
class Wanted:
    """A change and what speaks for it."""

    change: Learnable
    evidence: ReportedSupport


@dataclass(frozen=True, slots=True)
class Answered:
    """What the desk said to it."""

    about: str
    proposal_id: str = ""
    reason: str = ""
    """Why it was not taken, or did not count."""

    @property
    def counted(self) -> bool:
        """Whether it waits for a decision now, with one run more that speaks for it."""
        return bool(self.proposal_id) and not self.reason


def run_id_of(name: str) -> str:
    """A session's name as runs are named; another one for every other name.

    >>> run_id_of("run-1"), run_id_of("my traces/1")
    ('run-1', 'my-traces-1-5a3e00ab')
    """
    try:
        return _RUN_ID.validate_python(name)
    except ValidationError:
        plain = re.sub(r"[^A-Za-z0-9_.:]+", "-", name).strip("-_.:")[:100] or "session"
        return f"{plain}-{hashlib.sha256(name.encode('utf-8', 'replace')).hexdigest()[:8]}"


def seen_at(url: str, when: Literal["", "before", "after"] = "") -> Seen:
    """A page by its address; of one that is too long to be kept, without what is asked there."""
    return Seen(url=url if len(url) <= MOST_URL else url.partition("?")[0][:MOST_URL], when=when)


def changes(
    knowledge: KnowledgeBase,
    learned: Mapping[str, Learned],
    pages: Sequence[SortedPage],
    wrong_now: Sequence[Mistaken],
    run_id: str,
) -> list[Wanted]:
    """New screens, and other signatures for known ones whose pages are not told right now."""
    confused = {each.screen for each in wrong_now} | {each.taken_for for each in wrong_now}
    found: list[Wanted] = []
    for screen_id, each in learned.items():
        support = ReportedSupport(run_id=run_id, score=each.confidence, note=each.evidence[:1_000])
        known = knowledge.screens.get(screen_id)
        if known is None:
            screen = screen_of(screen_id, each, knowledge.website.website_id)
            found.append(Wanted(ScreenChange(type="screen", screen=screen), support))
        elif screen_id in confused:
            found.append(Wanted(_mended(knowledge, screen_id, each, pages), support))
    return found


def _mended(
    knowledge: KnowledgeBase, screen_id: str, learned: Learned, pages: Sequence[SortedPage]
) -> SignatureChange | ScreenChange:
    """Another signature; with other patterns, too, where those it has do not fit its pages."""
    screen = knowledge.screens[screen_id]
    authored = knowledge.website.base_url
    fit = all(
        any(
            matches(pattern, page.stored.facts.url, authored_base=authored, base=page.base)
            for pattern in screen.url_patterns
        )
        for page in pages
        if page.screen == screen_id
    )
    if fit or not screen.url_patterns:
        return SignatureChange(type="signature", screen_id=screen_id, signature=learned.signature)
    update = {"url_patterns": learned.url_patterns, "state_signature": learned.signature}
    return ScreenChange(type="screen", screen=screen.model_copy(update=update))


async def propose(client: Client, website_id: str, wanted: Sequence[Wanted]) -> list[Answered]:
    """Put all of them before the desk, screens before the ways between them; what it does not take is told with
    its reason.
    """
    found = []
    for each in sorted(wanted, key=lambda one: isinstance(one.change, TransitionChange)):
        given = {
            "website_id": website_id,
            "change": each.change.to_json() | {"type": each.change.type},
            "evidence": each.evidence.to_json(),
        }
        try:
            result = await client.call_tool("propose_change", given)
        except MCPError as exc:
            found.append(Answered(each.change.about, reason=str(exc)))
            continue
        said = result.structured_content or {}
        if result.is_error:
            text = " ".join(getattr(block, "text", "") for block in result.content).strip()
            found.append(Answered(each.change.about, reason=text))
        else:
            reason = "" if said.get("counted") else str(said.get("reason", ""))
            reason = reason or _NO_LONGER.get(str(said.get("status")), "")
            found.append(Answered(each.change.about, str(said.get("proposal_id", "")), reason))
    return found
