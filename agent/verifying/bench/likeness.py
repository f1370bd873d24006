"""Which element of a page is one that is known, beyond what `agent/healing` says of any page.

What is known of a test helps: what else it has acted on here.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal

from agent.healing.judging import judge as judge_likeness
from agent.healing.judging import of_one_kind
from agent.healing.likeness import outside_its_dialog, same_address
from agent.healing.matching import Outcome, find_again
from agent.locating.fingerprints import Fingerprints
from agent.locating.index import PageIndex
from agent.locating.looking import look_around
from kb_schema.fingerprints import Fingerprint
from kb_schema.selectors import Selector

if TYPE_CHECKING:
    from agent.verifying.bench.bench import Bench


@dataclass(frozen=True, slots=True)
class Nearest:
    """The most similar element that is there, and what the judge of likeness says of it."""

    told: str
    score: float
    verdict: Literal["same", "ambiguous", "other"]


async def nearest(bench: Bench, known: Fingerprint | None, selector: Selector | None) -> Nearest | None:
    """Of the page as it is; None where nothing is known of the element, or the page has nothing like it."""
    if known is None:
        return None
    index = await look_around(bench.page)
    prints = Fingerprints(index)
    linked = same_address(prints, known)
    if linked is not None:
        return _told(known, prints.of(linked), "same")
    everything = list(prints.all())
    if known.place is None:  # it is read, not operated
        everything = [(each.at, prints.of(each.at)) for each in index.elements if each.tag == known.tag]
    match = find_again(known, everything, others=others(bench, index, known, selector))
    if match.best is not None:
        found: Literal["same", "ambiguous", "other"] = "other"
        if match.outcome is Outcome.FOUND:
            found = "same"
        elif match.outcome is Outcome.AMBIGUOUS:
            found = "ambiguous"
        return _told(known, match.best.seen, found)
    alike = [seen for _, seen in everything if of_one_kind(known, seen)]
    ranked = sorted(alike, key=lambda seen: -judge_likeness(known, seen).similarity.score)
    return _told(known, ranked[0], "other") if ranked else None


def others(
    bench: Bench, index: PageIndex, known: Fingerprint, selector: Selector | None
) -> tuple[Fingerprint, ...]:
    """What it surely is not: what else the test has acted on here; of what stood in a dialog that is open
    now, everything outside of dialogs.
    """
    here, again = bench.path, bench.healed_before(selector)
    found = [
        seen for path, where, seen in bench.known
        if path == here and seen != known and where not in (selector, again)
    ]  # fmt: skip
    return (*found, *outside_its_dialog(Fingerprints(index), known))


def _told(known: Fingerprint, seen: Fingerprint, verdict: Literal["same", "ambiguous", "other"]) -> Nearest:
    said = (seen.name or seen.label or seen.text or "")[:80]
    score = judge_likeness(known, seen).similarity.score
    return Nearest(f"{seen.role or seen.tag} {said!r}", score, verdict)
