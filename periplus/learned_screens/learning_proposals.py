"""Submits learned changes as proposals for a loaded website; people review them."""

from __future__ import annotations

import hashlib
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Literal

from mcp import Client, MCPError
from pydantic import TypeAdapter, ValidationError

from kb_schema import KnowledgeBase
from kb_schema.observed_outcomes import OutcomeId
from kb_schema.proposals import (
    MOST_URL,
    PageReference,
    ReportedSupport,
    ScreenChange,
    SignatureChange,
    TransitionChange,
)
from kb_schema.url_patterns import matches_pattern
from loaders.screen_learner.signature_learner import LearnedSignature
from periplus.learned_screens.learned_knowledge import MisidentifiedPage, build_screen
from periplus.learned_screens.sorted_pages import SortedPage

_RUN_ID = TypeAdapter(OutcomeId)
_NO_LONGER = {"rejected": "a person rejected it", "accepted": "it was accepted before"}
"""Why a proposal that is no longer open is not reopened, by its status."""

Learnable = ScreenChange | SignatureChange | TransitionChange


@dataclass(frozen=True, slots=True)
class LearnedChange:
    """A change with its evidence."""

    change: Learnable
    evidence: ReportedSupport


@dataclass(frozen=True, slots=True)
class SubmittedProposal:
    """The knowledge server's answer to a proposal."""

    about: str
    proposal_id: str = ""
    reason: str = ""
    """Why it was rejected or not counted."""

    @property
    def counted(self) -> bool:
        """Whether it is open for review and this run was added to its evidence."""
        return bool(self.proposal_id) and not self.reason


def build_run_id(name: str) -> str:
    """Return a valid run id for a session name; different names give different ids.

    >>> build_run_id("run-1"), build_run_id("my traces/1")
    ('run-1', 'my-traces-1-5a3e00ab')
    """
    try:
        return _RUN_ID.validate_python(name)
    except ValidationError:
        plain = re.sub(r"[^A-Za-z0-9_.:]+", "-", name).strip("-_.:")[:100] or "session"
        return f"{plain}-{hashlib.sha256(name.encode('utf-8', 'replace')).hexdigest()[:8]}"


def build_seen_page(url: str, when: Literal["", "before", "after"] = "") -> PageReference:
    """Return a reference to a page; an address that is too long loses its query."""
    return PageReference(url=url if len(url) <= MOST_URL else url.partition("?")[0][:MOST_URL], when=when)


def derive_changes(
    knowledge: KnowledgeBase,
    learned: Mapping[str, LearnedSignature],
    pages: Sequence[SortedPage],
    wrong_now: Sequence[MisidentifiedPage],
    run_id: str,
) -> list[LearnedChange]:
    """Return new screens, and corrected signatures of known screens whose pages are not identified."""
    confused = {each.screen for each in wrong_now} | {each.taken_for for each in wrong_now}
    found: list[LearnedChange] = []
    for screen_id, each in learned.items():
        support = ReportedSupport(run_id=run_id, score=each.confidence, note=each.evidence[:1_000])
        known = knowledge.screens.get(screen_id)
        if known is None:
            screen = build_screen(screen_id, each, knowledge.website.website_id)
            found.append(LearnedChange(ScreenChange(type="screen", screen=screen), support))
        elif screen_id in confused:
            found.append(LearnedChange(_correct_signature(knowledge, screen_id, each, pages), support))
    return found


def _correct_signature(
    knowledge: KnowledgeBase, screen_id: str, learned: LearnedSignature, pages: Sequence[SortedPage]
) -> SignatureChange | ScreenChange:
    """Return a signature change, with new URL patterns if the existing ones do not match the pages."""
    screen = knowledge.screens[screen_id]
    authored = knowledge.website.base_url
    fit = all(
        any(
            matches_pattern(pattern, page.stored.facts.url, authored_base=authored, base=page.base)
            for pattern in screen.url_patterns
        )
        for page in pages
        if page.screen == screen_id
    )
    if fit or not screen.url_patterns:
        return SignatureChange(type="signature", screen_id=screen_id, signature=learned.signature)
    update = {"url_patterns": learned.url_patterns, "state_signature": learned.signature}
    return ScreenChange(type="screen", screen=screen.model_copy(update=update))


async def submit_proposals(
    client: Client, website_id: str, wanted: Sequence[LearnedChange]
) -> list[SubmittedProposal]:
    """Submit all changes to the knowledge server, screens before transitions; return its answers."""
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
            found.append(SubmittedProposal(each.change.about, reason=str(exc)))
            continue
        said = result.structured_content or {}
        if result.is_error:
            text = " ".join(getattr(block, "text", "") for block in result.content).strip()
            found.append(SubmittedProposal(each.change.about, reason=text))
        else:
            reason = "" if said.get("counted") else str(said.get("reason", ""))
            reason = reason or _NO_LONGER.get(str(said.get("status")), "")
            found.append(SubmittedProposal(each.change.about, str(said.get("proposal_id", "")), reason))
    return found
