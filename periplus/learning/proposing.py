"""What was learned as proposals for a website whose knowledge is loaded: people decide about them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from mcp import Client, MCPError

from kb_schema import KnowledgeBase
from kb_schema.proposals import ReportedSupport, ScreenChange, SignatureChange, TransitionChange
from kb_schema.urls import matches
from loaders.signatures.atlas import Learned
from periplus.learning.drawing import Mistaken, screen_of
from periplus.learning.sorted_pages import SortedPage

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
            found.append(Answered(each.change.about, str(said.get("proposal_id", "")), reason))
    return found
