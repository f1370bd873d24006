"""What sessions show that the knowledge does not have: screens, ways between them, pages that it missed.

Pages that the desk knows are labelled by what it says, the others by what they are grouped with. What is learned of
them is tried beside all that is known, and taken only where every page is then told right.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace

from agent.knowledge import Knowledge
from kb_schema import KnowledgeBase, KnowledgeError
from kb_schema.pages.limits import PageRefused
from kb_schema.pages.sketch import Sketch, sketch
from kb_schema.pages.stored import StoredPage, answer_probes
from kb_schema.proposals import ReportedSupport, ScreenChange, Seen, SignatureChange
from kb_schema.snapshots import PageSnapshot
from kb_schema.traces import ExecutionTrace
from kb_schema.urls import origin_of, relative_path
from kb_store import Stores, read_knowledge
from kb_store.changing import NothingToChange, changed
from loaders.signatures.atlas import Learned, learn_all, screens_of
from loaders.signatures.naming import free_id, name_of
from loaders.signatures.seen import ObservedPage
from mcp_server.compiled import compile_view
from mcp_server.identify import identify
from periplus.desk import desk_client
from periplus.learning.drawing import screen_of
from periplus.learning.proposing import Wanted, run_id_of, seen_at
from periplus.learning.ways import ways_taken

MOST_PAGES = 3_000
"""Of all sessions; further ones are left out."""


@dataclass(frozen=True, slots=True)
class FoundInSessions:
    """What there is to propose, and what was not made anything of."""

    pages: int
    known: int
    """Pages that the knowledge tells already."""
    wanted: tuple[Wanted, ...]
    refused: tuple[tuple[str, str], ...]
    """Names of screens, and why there is no signature."""


@dataclass(frozen=True, slots=True, eq=False)
class _Look:
    """A page before a step of a session."""

    trace: int
    step: int
    page: PageSnapshot
    drawn: Sketch


async def found_in_sessions(
    stores: Stores, website_id: str, base_url: str | None, traces: Sequence[ExecutionTrace]
) -> FoundInSessions:
    """What these sessions show of a website that its knowledge does not have."""
    knowledge, _ = await read_knowledge(stores.documents, stores.graph, website_id)
    looks = list(_looks(traces))
    base = _base(base_url or knowledge.website.base_url, looks)
    own = {origin_of(base), *(origin_of(each) for each in knowledge.website.allowed_origins)}
    looks = [look for look in looks if origin_of(look.page.url) in own]
    if not looks:
        return FoundInSessions(0, 0, (), ())
    answers: dict[tuple[str, str], str | None] = {}
    async with desk_client(stores) as client:
        desk = Knowledge(client, website_id, base)
        for look in looks:
            key = (look.page.url, look.page.html)
            if key not in answers:
                answers[key] = (await desk.identify(look.page)).screen_id
    labelled = [
        ObservedPage(
            look.drawn,
            relative_path(look.page.url, base),
            run_id_of(traces[look.trace].trace_id),
            answers[look.page.url, look.page.html],
        )
        for look in looks
    ]
    known = sum(page.screen is not None for page in labelled)
    learning = _Learning(knowledge, base, looks, labelled)
    screens = learning.screens()
    ways = ways_taken(knowledge, learning.told(), traces)
    return FoundInSessions(len(looks), known, (*screens, *ways), tuple(learning.refused))


def _looks(traces: Sequence[ExecutionTrace]) -> Iterator[_Look]:
    drawn: dict[tuple[str, str], Sketch | None] = {}
    found = 0
    for number, trace in enumerate(traces):
        for at, step in enumerate(trace.steps):
            if not step.html_before or not step.source_url or found >= MOST_PAGES:
                continue
            page = PageSnapshot(url=step.source_url, html=step.html_before, annotated=True)
            key = (page.url, page.html)
            if key not in drawn:
                try:
                    drawn[key] = sketch(StoredPage(page))
                except PageRefused:
                    drawn[key] = None
            seen = drawn[key]
            if seen is not None:
                found += 1
                yield _Look(number, at, page, seen)


def _base(wanted: str, looks: Sequence[_Look]) -> str:
    """The base URL of the sessions: the one wanted, unless they were made elsewhere."""
    origins = [origin_of(look.page.url) for look in looks]
    if not origins or origin_of(wanted) in origins:
        return wanted
    return max(sorted(set(origins)), key=origins.count)


class _Learning:
    """Labels the pages that nobody knows, and learns what they are known by."""

    def __init__(
        self, knowledge: KnowledgeBase, base: str, looks: Sequence[_Look], labelled: list[ObservedPage]
    ) -> None:
        self.knowledge, self.base, self.looks, self.labelled = knowledge, base, looks, labelled
        self.refused: list[tuple[str, str]] = []
        self._names: dict[str, str] = {}
        """New screens, and what they are called."""
        self._missed: set[str] = set()
        """Known ones some of whose pages were not told."""

    def screens(self) -> list[Wanted]:
        """New screens, and other signatures for those that were missed."""
        self._label()
        found = learn_all(self.labelled)
        wanted: dict[str, Learned] = {}
        for name in (*self._names, *sorted(self._missed)):
            if name in found.learned:
                wanted[name] = found.learned[name]
            else:
                self._refuse(name, found.refused[name].reason)
        return list(self._tried(wanted))

    def told(self) -> dict[tuple[int, int], str]:
        """Session and step -> the screen it is on."""
        return {
            (look.trace, look.step): page.screen
            for look, page in zip(self.looks, self.labelled, strict=True)
            if page.screen is not None
        }

    def _label(self) -> None:
        for group in screens_of([replace(page, screen=None) for page in self.labelled]):
            unknown = [at for at in group if self.labelled[at].screen is None]
            known = sorted({page.screen for at in group if (page := self.labelled[at]).screen is not None})
            if not unknown:
                continue
            if len(known) > 1:
                self.refused.append((self.labelled[unknown[0]].path, f"it looks like {' and '.join(known)}"))
                continue
            if known:
                screen_id = known[0]
                self._missed.add(screen_id)
            else:
                inside = set(group)
                others = [page for at, page in enumerate(self.labelled) if at not in inside]
                name = name_of([self.labelled[at] for at in group], others)[:200]
                screen_id = free_id(name, {*self.knowledge.screens, *self._names})
                self._names[screen_id] = name
            for at in unknown:
                self.labelled[at] = replace(self.labelled[at], screen=screen_id)

    def _tried(self, learned: dict[str, Learned]) -> Iterator[Wanted]:
        """Those with which every page is told right, tried together with all that is known."""
        left = dict(learned)
        while left:
            together, wrong = self._together(left)
            wrong = wrong or self._mistaken(together, left.keys())
            if not wrong:
                break
            for name, reason in wrong.items():
                self._refuse(name, reason)
                left.pop(name)
        for name, each in left.items():
            for run, seen in self._runs(name).items():
                yield Wanted(
                    self._change(name, each),
                    ReportedSupport(
                        run_id=run, score=each.confidence, note=each.evidence[:1_000], seen=(seen,)
                    ),
                )

    def _together(self, learned: dict[str, Learned]) -> tuple[KnowledgeBase, dict[str, str]]:
        """The knowledge with all of these, and those that break a rule of it."""
        together, wrong = self.knowledge, {}
        for name, each in learned.items():
            try:
                together, _ = changed(together, self._change(name, each))
            except (KnowledgeError, NothingToChange) as exc:
                wrong[name] = " ".join(str(exc).split())
        return together, wrong

    def _change(self, screen_id: str, learned: Learned) -> ScreenChange | SignatureChange:
        if screen_id in self.knowledge.screens:
            return SignatureChange(type="signature", screen_id=screen_id, signature=learned.signature)
        screen = screen_of(screen_id, learned, self.knowledge.website.website_id)
        return ScreenChange(type="screen", screen=screen.model_copy(update={"name": self._names[screen_id]}))

    def _mistaken(self, knowledge: KnowledgeBase, tried: Iterable[str]) -> dict[str, str]:
        view = compile_view(knowledge, "learned")
        wrong: dict[str, str] = {}
        asked: set[tuple[str, str]] = set()
        for look, page in zip(self.looks, self.labelled, strict=True):
            if (look.page.url, look.page.html) in asked:
                continue
            asked.add((look.page.url, look.page.html))
            answer = identify(view, StoredPage(look.page), answer_probes, base_url=self.base)
            if answer.screen_id != page.screen or answer.ambiguous:
                for screen_id in {page.screen, answer.screen_id} & set(tried):
                    wrong[str(screen_id)] = f"{page.path} would be told as {answer.screen_id or 'no screen'}"
        return wrong

    def _refuse(self, screen_id: str, reason: str) -> None:
        self.refused.append((self._names.get(screen_id, screen_id), reason))
        for at, page in enumerate(self.labelled):
            if page.screen == screen_id and screen_id in self._names:
                self.labelled[at] = replace(page, screen=None)

    def _runs(self, screen_id: str) -> dict[str, Seen]:
        found: dict[str, Seen] = {}
        for look, page in zip(self.looks, self.labelled, strict=True):
            if page.screen == screen_id:
                found.setdefault(page.run, seen_at(look.page.url))
        return found
