"""Tries a changed signature on stored pages: which pages are identified otherwise, and which indicators hold where.

Each page is parsed once. Not here: the full check of all signatures (`signature_check`), which also looks for indicators
that would separate screens.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence

from kb_schema.base import Model
from kb_schema.condition_evaluation import collect_probes
from kb_schema.page_snapshots import PageSnapshot
from kb_schema.probes import Probe, ProbeAnswer, ProbeFacts, probe_key
from kb_schema.tool_answers import Evidence
from mcp_server.identification import base_urls
from mcp_server.identification.screen_identification import build_evidence, identify
from mcp_server.identification.snapshot_limits import read_title
from mcp_server.knowledge.compiled_view import KnowledgeView
from web_pages.page_limits import PageRefused
from web_pages.stored_pages import StoredPage


class TriedPage(Model):
    """One stored page."""

    name: str
    url: str
    before: str | None = None
    """The screen it is with the signature of now; None: no known screen."""
    after: str | None = None
    """With the changed one."""
    indicators: tuple[Evidence, ...] = ()
    """Each indicator of the changed signature on this page."""
    refused: str = ""
    """Why the page could not be looked at."""

    @property
    def changed(self) -> bool:
        """Whether the change makes a difference for this page."""
        return self.before != self.after


class SignatureTrial(Model):
    """What a changed signature does on the stored pages of a website."""

    screen_id: str
    pages: tuple[TriedPage, ...]

    @property
    def gained(self) -> tuple[TriedPage, ...]:
        """Pages that become this screen."""
        return tuple(each for each in self.pages if each.changed and each.after == self.screen_id)

    @property
    def lost(self) -> tuple[TriedPage, ...]:
        """Pages that were this screen and are not any more."""
        return tuple(each for each in self.pages if each.changed and each.before == self.screen_id)

    @property
    def own(self) -> tuple[TriedPage, ...]:
        """Pages that are this screen with the changed signature."""
        return tuple(each for each in self.pages if each.after == self.screen_id)


def try_signature(
    before: KnowledgeView,
    after: KnowledgeView,
    screen_id: str,
    snapshots: Iterable[tuple[str, PageSnapshot]],
    *,
    base_url: str | None = None,
) -> SignatureTrial:
    """Identify every page with both views. `base_url`: where the site was when the pages were stored.

    A page over the limits is listed with the reason.
    """
    pages = tuple(_try_page(before, after, screen_id, name, page, base_url) for name, page in snapshots)
    return SignatureTrial(screen_id=screen_id, pages=pages)


def _try_page(
    before: KnowledgeView,
    after: KnowledgeView,
    screen_id: str,
    name: str,
    snapshot: PageSnapshot,
    base_url: str | None,
) -> TriedPage:
    if not snapshot.title:
        snapshot = snapshot.model_copy(update={"title": read_title(snapshot)})
    try:
        page = StoredPage(snapshot)
        answers = _Answers(page)
        was, becomes = (
            identify(view, page, answers.answer, base_url=base_url).screen_id for view in (before, after)
        )
    except PageRefused as exc:
        return TriedPage(name=name, url=snapshot.url, refused=exc.reason)
    return TriedPage(
        name=name,
        url=snapshot.url,
        before=was,
        after=becomes,
        indicators=tuple(_judge(after, screen_id, page, answers, base_url)),
    )


class _Answers:
    """The probes of one page, each answered once."""

    def __init__(self, page: StoredPage) -> None:
        self._page = page
        self.known: dict[str, ProbeAnswer] = {}

    def answer(self, _page: object, probes: Sequence[Probe]) -> Mapping[str, ProbeAnswer]:
        for probe in probes:
            key = probe_key(probe)
            if key not in self.known:
                self.known[key] = self._page.answer(probe)
        return self.known


def _judge(
    view: KnowledgeView, screen_id: str, page: StoredPage, answers: _Answers, base_url: str | None
) -> Iterable[Evidence]:
    signature = view.signatures.get(screen_id)
    if signature is None:
        return
    indicators = (*signature.positive, *signature.against)
    answers.answer(page, collect_probes([each.condition for each in indicators], signature.scope))
    snapshot = page.snapshot
    facts = ProbeFacts(
        url=snapshot.url,
        title=snapshot.title,
        ready_state=snapshot.ready_state,
        answers=answers.known,
        path_base=base_urls.resolve_base_url(view.website, snapshot.url, base_url),
        authored_base=view.website.base_url,
    )
    for each in indicators:
        yield build_evidence(each, each.condition.judge(facts, signature.scope))
