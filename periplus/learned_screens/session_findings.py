"""Finds what sessions show and the knowledge base lacks: screens, transitions and unidentified pages.

Pages are labelled by the knowledge server's identification, unknown pages by clustering. A learned signature is
accepted only if, together with the knowledge base, every page is identified correctly.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace

from agent.knowledge_client import KnowledgeClient
from kb_schema import KnowledgeBase, KnowledgeError
from kb_schema.execution_traces import ExecutionTrace
from kb_schema.page_snapshots import PageSnapshot
from kb_schema.proposals import PageReference, ReportedSupport, ScreenChange, SignatureChange
from kb_schema.url_patterns import origin_of, relative_path
from kb_store import Stores, read_knowledge
from kb_store.proposals.accepted_changes import ChangeTargetMissing, apply_change
from loaders.screen_learner.observed_pages import ObservedPage
from loaders.screen_learner.page_clusters import cluster_pages
from loaders.screen_learner.screen_names import choose_free_id, choose_name
from loaders.screen_learner.signature_learner import LearnedSignature, learn_signatures
from mcp_server.identification.screen_identification import identify
from mcp_server.knowledge.compiled_view import compile_view
from periplus.knowledge_server import connect_knowledge_client
from periplus.learned_screens.learned_knowledge import build_screen
from periplus.learned_screens.learning_proposals import LearnedChange, build_run_id, build_seen_page
from periplus.learned_screens.session_transitions import find_new_transitions
from web_pages.page_limits import PageRefused
from web_pages.page_profiles import PageProfile, build_page_profile
from web_pages.stored_pages import StoredPage, answer_probes

MOST_PAGES = 3_000
"""Maximum number of pages of all sessions; the rest is ignored."""


@dataclass(frozen=True, slots=True)
class SessionFindings:
    """The changes to propose, and the pages that were refused."""

    pages: int
    known: int
    """Number of pages that the knowledge base identifies already."""
    wanted: tuple[LearnedChange, ...]
    refused: tuple[tuple[str, str], ...]
    """Names of screens, and the reason why they have no signature."""


@dataclass(frozen=True, slots=True, eq=False)
class _SessionPage:
    """The page before a step of a session."""

    trace: int
    step: int
    page: PageSnapshot
    drawn: PageProfile


async def find_in_sessions(
    stores: Stores, website_id: str, base_url: str | None, traces: Sequence[ExecutionTrace]
) -> SessionFindings:
    """Return what these sessions show of a website that its knowledge base lacks."""
    knowledge, _ = await read_knowledge(stores.documents, stores.graph, website_id)
    looks = list(_list_session_pages(traces))
    base = _base_url_of(base_url or knowledge.website.base_url, looks)
    own = {origin_of(base), *(origin_of(each) for each in knowledge.website.allowed_origins)}
    looks = [look for look in looks if origin_of(look.page.url) in own]
    if not looks:
        return SessionFindings(0, 0, (), ())
    answers: dict[tuple[str, str], str | None] = {}
    async with connect_knowledge_client(stores) as client:
        desk = KnowledgeClient(client, website_id, base)
        for look in looks:
            key = (look.page.url, look.page.html)
            if key not in answers:
                answers[key] = (await desk.identify(look.page)).screen_id
    labelled = [
        ObservedPage(
            look.drawn,
            relative_path(look.page.url, base),
            build_run_id(traces[look.trace].trace_id),
            answers[look.page.url, look.page.html],
        )
        for look in looks
    ]
    known = sum(page.screen is not None for page in labelled)
    learning = _SessionLearning(knowledge, base, looks, labelled)
    screens = learning.screens()
    ways = find_new_transitions(knowledge, learning.told(), traces)
    return SessionFindings(len(looks), known, (*screens, *ways), tuple(learning.refused))


def _list_session_pages(traces: Sequence[ExecutionTrace]) -> Iterator[_SessionPage]:
    drawn: dict[tuple[str, str], PageProfile | None] = {}
    found = 0
    for number, trace in enumerate(traces):
        for at, step in enumerate(trace.steps):
            if not step.html_before or not step.source_url or found >= MOST_PAGES:
                continue
            page = PageSnapshot(url=step.source_url, html=step.html_before, annotated=True)
            key = (page.url, page.html)
            if key not in drawn:
                try:
                    drawn[key] = build_page_profile(StoredPage(page))
                except PageRefused:
                    drawn[key] = None
            seen = drawn[key]
            if seen is not None:
                found += 1
                yield _SessionPage(number, at, page, seen)


def _base_url_of(wanted: str, looks: Sequence[_SessionPage]) -> str:
    """Return the base URL of the sessions: `wanted`, unless they were made on another host."""
    origins = [origin_of(look.page.url) for look in looks]
    if not origins or origin_of(wanted) in origins:
        return wanted
    return max(sorted(set(origins)), key=origins.count)


class _SessionLearning:
    """Labels unknown pages and learns their signatures."""

    def __init__(
        self, knowledge: KnowledgeBase, base: str, looks: Sequence[_SessionPage], labelled: list[ObservedPage]
    ) -> None:
        self.knowledge, self.base, self.looks, self.labelled = knowledge, base, looks, labelled
        self.refused: list[tuple[str, str]] = []
        self._names: dict[str, str] = {}
        """Maps the ids of new screens to their names."""
        self._missed: set[str] = set()
        """Known screens some of whose pages were not identified."""

    def screens(self) -> list[LearnedChange]:
        """Return new screens, and corrected signatures of known screens."""
        self._label()
        found = learn_signatures(self.labelled)
        wanted: dict[str, LearnedSignature] = {}
        for name in (*self._names, *sorted(self._missed)):
            if name in found.learned:
                wanted[name] = found.learned[name]
            else:
                self._refuse(name, found.refused[name].reason)
        return list(self._tried(wanted))

    def told(self) -> dict[tuple[int, int], str]:
        """Maps session and step indices to the screen."""
        return {
            (look.trace, look.step): page.screen
            for look, page in zip(self.looks, self.labelled, strict=True)
            if page.screen is not None
        }

    def _label(self) -> None:
        for group in cluster_pages([replace(page, screen=None) for page in self.labelled]):
            unknown = [at for at in group if self.labelled[at].screen is None]
            known = sorted({page.screen for at in group if (page := self.labelled[at]).screen is not None})
            if not unknown:
                continue
            if len(known) > 1:
                self.refused.append(
                    (self.labelled[unknown[0]].path, f"the page resembles {' and '.join(known)}")
                )
                continue
            if known:
                screen_id = known[0]
                self._missed.add(screen_id)
            else:
                inside = set(group)
                others = [page for at, page in enumerate(self.labelled) if at not in inside]
                name = choose_name([self.labelled[at] for at in group], others)[:200]
                screen_id = choose_free_id(name, {*self.knowledge.screens, *self._names})
                self._names[screen_id] = name
            for at in unknown:
                self.labelled[at] = replace(self.labelled[at], screen=screen_id)

    def _tried(self, learned: dict[str, LearnedSignature]) -> Iterator[LearnedChange]:
        """Yield the changes with which the whole knowledge base identifies every page correctly."""
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
                yield LearnedChange(
                    self._change(name, each),
                    ReportedSupport(
                        run_id=run, score=each.confidence, note=each.evidence[:1_000], seen=(seen,)
                    ),
                )

    def _together(self, learned: dict[str, LearnedSignature]) -> tuple[KnowledgeBase, dict[str, str]]:
        """Return the knowledge base with all signatures, and those that break a rule."""
        together, wrong = self.knowledge, {}
        for name, each in learned.items():
            try:
                together, _ = apply_change(together, self._change(name, each))
            except (KnowledgeError, ChangeTargetMissing) as exc:
                wrong[name] = " ".join(str(exc).split())
        return together, wrong

    def _change(self, screen_id: str, learned: LearnedSignature) -> ScreenChange | SignatureChange:
        if screen_id in self.knowledge.screens:
            return SignatureChange(type="signature", screen_id=screen_id, signature=learned.signature)
        screen = build_screen(screen_id, learned, self.knowledge.website.website_id)
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
                    wrong[str(screen_id)] = (
                        f"{page.path} would be identified as {answer.screen_id or 'no screen'}"
                    )
        return wrong

    def _refuse(self, screen_id: str, reason: str) -> None:
        self.refused.append((self._names.get(screen_id, screen_id), reason))
        for at, page in enumerate(self.labelled):
            if page.screen == screen_id and screen_id in self._names:
                self.labelled[at] = replace(page, screen=None)

    def _runs(self, screen_id: str) -> dict[str, PageReference]:
        found: dict[str, PageReference] = {}
        for look, page in zip(self.looks, self.labelled, strict=True):
            if page.screen == screen_id:
                found.setdefault(page.run, build_seen_page(look.page.url))
        return found
