"""Which screens the pages are, how each is known, what it is called, and whether it can be opened."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Sequence
from dataclasses import dataclass, replace
from urllib.parse import urlsplit

from kb_schema.screens import Signature
from kb_schema.urls import matches, path_of
from loaders.cartography.looks import Look
from loaders.cartography.titles import titles_of
from loaders.signatures.addresses import pattern_of, place
from loaders.signatures.atlas import learn_all, screens_of
from loaders.signatures.naming import free_id
from loaders.signatures.seen import ObservedPage

OK = 200
"""HTTP."""


@dataclass(frozen=True, slots=True, eq=False)
class Charted:
    """One screen, and the pages it was seen in."""

    screen_id: str
    name: str
    looks: tuple[Look, ...]
    signature: Signature | None = None
    """None where only its address tells it."""
    patterns: tuple[str, ...] = ()
    evidence: str = ""

    @property
    def page_ids(self) -> tuple[str, ...]:
        """Its pages."""
        return tuple(look.page_id for look in self.looks)

    @property
    def signed_in(self) -> bool:
        """Whether it was only ever seen signed in."""
        return all(look.page.signed_in for look in self.looks)

    @property
    def failed(self) -> bool:
        """Whether it is what the site shows where something went wrong."""
        return all((look.page.status or 200) >= 400 for look in self.looks)

    @property
    def url(self) -> str | None:
        """Where it can be opened: one address that is not of one of many things, and that leads to it."""
        if self.failed or len({_bare(look) for look in self.looks}) != 1:
            return None
        by_url: dict[str, list[Look]] = defaultdict(list)
        for look in self.looks:
            by_url[look.page.url.partition("#")[0] if "#/" not in look.page.url else look.page.url].append(
                look
            )
        opening = [url for url, looks in by_url.items() if _opens(looks)]
        if not opening or any("*" in place(look.observed.path) for look in self.looks):
            return None
        return min(opening, key=lambda url: (len(url), url))


def charted(looks: Sequence[Look]) -> tuple[list[Charted], list[str]]:
    """The screens in the order in which they were seen, and what to know of those that are not told well."""
    seen = [look.observed for look in looks]
    groups = screens_of(seen)
    titles = titles_of(groups, seen, _row_names(looks))
    labelled = list(seen)
    names: dict[str, str] = {}
    for group, title in zip(groups, titles, strict=True):
        screen_id = free_id(title, names)
        names[screen_id] = title
        for at in group:
            labelled[at] = replace(labelled[at], screen=screen_id)
    learned = learn_all(labelled, least_pages=1)
    found, told = [], []
    for screen_id, group in zip(names, groups, strict=True):
        screen = Charted(screen_id, names[screen_id], tuple(looks[at] for at in group))
        known = learned.learned.get(screen_id)
        if known is not None:
            found.append(
                replace(
                    screen, signature=known.signature, patterns=known.url_patterns, evidence=known.evidence
                )
            )
            continue
        reason = learned.refused[screen_id].reason
        pattern = _own_address(group, labelled)
        if pattern is None:
            told.append(f"{screen.name} is left out, it cannot be told from other screens: {reason}")
        else:
            told.append(f"{screen.name} is known by its address only: {reason}")
            found.append(replace(screen, patterns=(pattern,), evidence="its address"))
    return found, told


def _row_names(looks: Sequence[Look]) -> set[str]:
    """What links to one of many things are called."""
    return {
        " ".join(offer.name.split())
        for look in looks
        for offer in look.page.offers
        if offer.in_row and offer.href is not None and "*" in place(path_of(offer.href))
    }


def _own_address(group: Sequence[int], labelled: Sequence[ObservedPage]) -> str | None:
    """A pattern that no page of another screen matches."""
    pattern = pattern_of(labelled[at].path for at in group)
    inside = set(group)
    if pattern is None or any(
        matches(pattern, page.path) for at, page in enumerate(labelled) if at not in inside
    ):
        return None
    return pattern


def _opens(looks: Sequence[Look]) -> bool:
    """Whether an address leads to one of these pages: that was tried, or the site answered it with one and
    nothing speaks against it.
    """
    tried = [look.page.openable for look in looks]
    if any(tried) or any(look.page.start for look in looks):
        return True
    return None in tried and any(look.page.status == OK for look in looks)


def _bare(look: Look) -> str:
    return urlsplit(look.observed.path).path
