"""Which page it is, as people say it: its path, its title, its first heading; and what proves a name."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass

from agent.locating.looking import look_around
from agent.locating.words import Grade, grade, plain
from agent.page.snapshot import revision_of
from agent.verifying.bench.bench import Bench
from kb_schema.urls import is_an_id

_WORD = re.compile(r"\w+")


@dataclass(frozen=True, slots=True)
class Place:
    """A page as it was seen."""

    path: str
    title: str
    headings: tuple[str, ...]
    revision: str | None

    @property
    def heading(self) -> str:
        """Its first heading."""
        return self.headings[0] if self.headings else ""


@dataclass(frozen=True, slots=True)
class Proof:
    """What shows that a page is the one somebody named; one of the three."""

    url: str | None = None
    title: str | None = None
    heading: str | None = None


async def place_of(bench: Bench) -> Place:
    """The page now, in two round trips."""
    revision = await revision_of(bench.page)
    index = await look_around(bench.page)
    headings = [each for each in index.elements if each.role == "heading" and each.visible]
    said = tuple(bench.redact(each.name or each.text) for each in headings if each.name or each.text)
    return Place(bench.path_of(index.url), bench.redact(index.title), said, revision)


def proofs(name: str, now: Place) -> Iterator[Proof]:
    """Everything that shows that a page is called so, the most telling first."""
    if name.startswith(("/", "http://", "https://")):
        return  # an address is judged as one
    if _path_says(name, now.path):
        yield Proof(url=now.path)
    for heading in now.headings:
        if grade(name, heading) in (Grade.EXACT, Grade.PLURAL):
            yield Proof(heading=heading)
    if (said := _part(name, now.title)) is not None:
        yield Proof(title=said)
    for heading in now.headings:
        if _part(name, heading) is not None and grade(name, heading) is not Grade.EXACT:
            yield Proof(heading=heading)


def _path_says(name: str, path: str) -> bool:
    """Whether the last parts of a path are the words, in any order; a path that names one of many things
    is another one in another run.
    """
    segments = [each for each in re.split(r"[/#!]+", path) if each]
    if not segments or any(is_an_id(each) or "{" in each for each in segments):
        return False
    tails = [" ".join(segments[-count:]) for count in range(1, min(3, len(segments)) + 1)]
    asked = sorted(plain(name).split())
    return any(
        grade(name, tail) in (Grade.EXACT, Grade.PLURAL) or sorted(plain(tail).split()) == asked
        for tail in (re.sub(r"\.\w{1,5}$", "", each) for each in tails)
    )


def _part(name: str, text: str) -> str | None:
    """The words of a text that are the name, as they are written there."""
    wanted = plain(name).split()
    found = list(_WORD.finditer(text))
    for at in range(len(found) - len(wanted) + 1):
        stretch = found[at : at + len(wanted)]
        said = text[stretch[0].start() : stretch[-1].end()] if stretch else ""
        if said and grade(name, said) in (Grade.EXACT, Grade.PLURAL):
            return said
    return None
