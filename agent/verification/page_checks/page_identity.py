"""Identifies a page for people: its path, title and headings, and what proves that it has a certain name."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass

from agent.locators.page_scan import scan_page
from agent.locators.word_comparison import WordFit, compare_words, normalize_words
from agent.page.snapshot_capture import read_page_revision
from agent.verification.page_checks.verification_page import VerificationPage
from kb_schema.url_patterns import is_id_segment

_WORD = re.compile(r"\w+")


@dataclass(frozen=True, slots=True)
class PageIdentity:
    """A page at one moment."""

    path: str
    title: str
    headings: tuple[str, ...]
    revision: str | None

    @property
    def heading(self) -> str:
        """Its first heading."""
        return self.headings[0] if self.headings else ""


@dataclass(frozen=True, slots=True)
class PageNameProof:
    """Evidence that a page has a certain name; exactly one field is set."""

    url: str | None = None
    title: str | None = None
    heading: str | None = None


async def read_page_identity(site_page: VerificationPage) -> PageIdentity:
    """Return the identity of the current page, in two round trips."""
    revision = await read_page_revision(site_page.page)
    index = await scan_page(site_page.page)
    headings = [each for each in index.elements if each.role == "heading" and each.visible]
    said = tuple(site_page.redact(each.name or each.text) for each in headings if each.name or each.text)
    return PageIdentity(site_page.path_of(index.url), site_page.redact(index.title), said, revision)


def list_page_name_proofs(name: str, now: PageIdentity) -> Iterator[PageNameProof]:
    """Yield everything that shows that a page has this name, the strongest evidence first."""
    if name.startswith(("/", "http://", "https://")):
        return  # an address is compared as an address
    if _path_says(name, now.path):
        yield PageNameProof(url=now.path)
    for heading in now.headings:
        if compare_words(name, heading) in (WordFit.EXACT, WordFit.PLURAL):
            yield PageNameProof(heading=heading)
    if (said := _part(name, now.title)) is not None:
        yield PageNameProof(title=said)
    for heading in now.headings:
        if _part(name, heading) is not None and compare_words(name, heading) is not WordFit.EXACT:
            yield PageNameProof(heading=heading)


def _path_says(name: str, path: str) -> bool:
    """Whether the last segments of a path are the words of the name, in any order.

    A path with an id proves nothing: it differs in the next run.
    """
    segments = [each for each in re.split(r"[/#!]+", path) if each]
    if not segments or any(is_id_segment(each) or "{" in each for each in segments):
        return False
    tails = [" ".join(segments[-count:]) for count in range(1, min(3, len(segments)) + 1)]
    asked = sorted(normalize_words(name).split())
    return any(
        compare_words(name, tail) in (WordFit.EXACT, WordFit.PLURAL)
        or sorted(normalize_words(tail).split()) == asked
        for tail in (re.sub(r"\.\w{1,5}$", "", each) for each in tails)
    )


def _part(name: str, text: str) -> str | None:
    """Return the part of a text that is the name, as it is written there."""
    wanted = normalize_words(name).split()
    found = list(_WORD.finditer(text))
    for at in range(len(found) - len(wanted) + 1):
        stretch = found[at : at + len(wanted)]
        said = text[stretch[0].start() : stretch[-1].end()] if stretch else ""
        if said and compare_words(name, said) in (WordFit.EXACT, WordFit.PLURAL):
            return said
    return None
