"""Moves learned numbers of elements to other ids, after a person renamed or merged screens or elements."""

from __future__ import annotations

from collections.abc import Mapping

from kb_store.learned.learned_numbers import LearnedStore, LearnedSubject, Tally, element_subject, element_use
from kb_store.learned.origin_shares import split_by_origin

ElementKey = tuple[str, str]
"""(screen id, element id)."""


async def move_element_numbers(
    learned: LearnedStore, website_id: str, moved: Mapping[ElementKey, ElementKey]
) -> int:
    """Add the numbers of each old element to its new one and delete them there; return how many moved.

    Safe to repeat after an interruption: what was added once is not added again.
    """
    old: list[LearnedSubject] = []
    shares: dict[LearnedSubject, dict[str, Tally]] = {}
    async for kept in learned.tallies(website_id):
        if kept.subject.kind != "element":
            continue
        use = element_use(kept.subject.name)
        place = moved.get((use.screen_id, use.element_id))
        if place is None or place == (use.screen_id, use.element_id):
            continue
        old.append(kept.subject)
        new = use.model_copy(update={"screen_id": place[0], "element_id": place[1]})
        shares.setdefault(element_subject(new), {}).update(split_by_origin(kept))
    if old:
        await learned.carry(website_id, shares)
        await learned.forget(website_id, old)
    return len(old)
