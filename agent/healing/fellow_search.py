"""Finds a recorded element by its words or its picture, where a new release changed all else: among the same fellows.

Neither identifies it alone, because another page may have a button with this name. It does if no other element of the
page has it and the elements that stood beside it are on the page, too.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from agent.dangers.danger_words import find_danger_in_words
from agent.healing.fingerprint_comparison import compare_fingerprints, is_same_kind, kind_of
from agent.healing.fingerprint_search import FingerprintCandidate, FingerprintMatch, SearchOutcome
from agent.healing.recorded_words import read_same_words, read_words
from agent.locators.page_fingerprints import PageFingerprints
from agent.locators.page_index import PageIndex, RegionKind
from kb_schema.excerpts import excerpt
from kb_schema.fingerprints import Fingerprint
from kb_schema.text_similarity import is_destructive, words

LEAST_FELLOWS = 2
"""Elements beside it that must be on the page."""


def find_among_fellows(index: PageIndex, recorded: Fingerprint) -> FingerprintMatch:
    """Return the only element with the recorded words, if enough of its neighbours are on the page."""
    ours = read_words(recorded)
    if ours is None or recorded.twins:
        return _not_found("its words do not identify it")
    prints = PageFingerprints(index)
    seen = [(at, each) for at, each in prints.all() if index.elements[at].visible]
    found = [
        FingerprintCandidate(at, each, compare_fingerprints(recorded, each))
        for at, each in seen
        if is_same_kind(recorded, each) and words(read_same_words(recorded, each) or "") == words(ours)
    ]
    if len(found) != 1:
        return _not_found(f"{len(found)} elements are called {excerpt(ours, 60)!r}", found)
    (best,) = found
    if best.judgement.contradictions:
        return _not_found("; ".join(best.judgement.contradictions), found)
    there = {words(name) for at, each in seen if at != best.at for name in each.words}
    fellows = {words(name) for name in recorded.neighbours if words(name)} - {words(ours)}
    if not _are_enough(fellows & there, fellows, destroys=any(map(is_destructive, recorded.words))):
        return _not_found("its neighbours are not on the page", found)
    reason = (
        f"the only one called {excerpt(ours, 60)!r}, and {len(fellows & there)} of its neighbours are there"
    )
    return FingerprintMatch(SearchOutcome.FOUND, best, (), reason, 1.0)


def find_by_icon(
    recorded: Fingerprint, seen: Sequence[tuple[int, Fingerprint]], *, in_row: bool = False
) -> FingerprintMatch:
    """Return the only element with the recorded picture, if one of the two has no words; never what sends or destroys.

    `seen`: what is visible and operated on the page, or in its row. On a page, more than half of its neighbours must
    stand beside it.
    """
    if not recorded.icon or kind_of(recorded) not in (None, "press"):
        return _not_found("no picture is known of it")
    found = [
        FingerprintCandidate(at, each, compare_fingerprints(recorded, each))
        for at, each in seen
        if each.icon == recorded.icon and is_same_kind(recorded, each)
    ]
    if len(found) != 1:
        return _not_found(f"{len(found)} elements have the picture {recorded.icon!r}", found)
    (best,) = found
    if recorded.words and best.seen.words:
        return _not_found("it has the same picture and other words", found)
    if any(map(_is_harmful, (recorded, best.seen))):
        return _not_found("a picture is not enough for what sends or destroys something", found)
    fellows, there = (
        {words(name) for name in each.neighbours if words(name)} for each in (recorded, best.seen)
    )
    if not in_row and len(fellows & there) * 2 <= len(fellows):
        return _not_found("it stands elsewhere than the recorded one", found)
    return FingerprintMatch(
        SearchOutcome.FOUND, best, (), f"the only one with the picture {recorded.icon!r}", 1.0
    )


def _is_harmful(known: Fingerprint) -> bool:
    """Whether pressing it may do what cannot be undone, as its words, its picture, or its form say."""
    said = (*known.words, *filter(None, (known.icon,)))
    in_form = any(said.split(" ", 1)[0] == RegionKind.FORM for said in known.region)
    kind = known.attributes.get("type", "submit" if known.tag == "button" and in_form else "")
    return kind in ("submit", "image") or any(
        is_destructive(each) or find_danger_in_words(each, pressed=True) is not None for each in said
    )


def _are_enough(there: Iterable[object], fellows: Iterable[object], *, destroys: bool) -> bool:
    count, of = len(list(there)), len(list(fellows))
    return count >= LEAST_FELLOWS and (count == of if destroys else count * 2 > of)


def _not_found(reason: str, found: Iterable[FingerprintCandidate] = ()) -> FingerprintMatch:
    return FingerprintMatch(SearchOutcome.NOT_FOUND, next(iter(found), None), (), reason)
