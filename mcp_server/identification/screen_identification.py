"""Identification: which screen a page is, with the evidence.

Each candidate is judged in this order. A negative indicator that is present rejects it. So does an exclusion. So does
a required indicator that is missing. Otherwise its confidence is the weight of the positive indicators that hold,
divided by the weight of all of them. An indicator that cannot be evaluated neither rejects nor counts.

Not here: probing a page (`web_pages`), compiling a signature (`compiled_signatures`), and choosing the candidates
(`screen_index`).
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Literal

from kb_schema.condition_evaluation import collect_probes
from kb_schema.conditions import Authenticated
from kb_schema.excerpts import excerpt
from kb_schema.page_snapshots import PageSnapshot
from kb_schema.probes import Probe, ProbeAnswer, ProbeFacts, Verdict, VerdictStatus
from kb_schema.tool_answers import Evidence, Identification, RecoveryOption, RejectedScreen
from mcp_server.cancellation import iterate_until_cancelled
from mcp_server.identification import base_urls
from mcp_server.identification.unknown_page_hints import foreign_page_hint, unknown_screen_hint
from mcp_server.knowledge.compiled_view import KnowledgeView
from mcp_server.paths import recovery_options
from mcp_server.screen_index.compiled_signatures import CompiledSignature, Indicator
from mcp_server.screen_index.key_selection import NEAR_SHARE
from mcp_server.screen_index.page_keys import PageKeys
from mcp_server.screen_index.screen_index import PossibleScreens
from mcp_server.transition_graph.condition_scopes import ScreenScope
from web_pages.stored_pages import StoredPage

Prober = Callable[[PageSnapshot | StoredPage, Sequence[Probe]], Mapping[str, ProbeAnswer]]
"""Answers probes on a stored page, by `probe_key`; `kb_schema.probes` says what the answers mean."""
CandidateFilter = Callable[[KnowledgeView, PossibleScreens, StoredPage, str], Iterable[str]]
"""Chooses which of the screens that fit the URL are judged."""

AMBIGUOUS_WITHIN = 0.05
"""Two accepted screens whose confidences differ by less than this are ambiguous."""
MAX_CANDIDATES = 5
"""How many of the other candidates an answer names."""
LONGEST_REASON = 500
"""Most characters of the text about one indicator or one screen."""
AT_ONCE = 32
"""Probes answered, and signatures judged, between two checks for cancellation."""
_ROUNDING = 1e-9

Rejection = Literal["negative", "exclusion", "required", "threshold", "rival"]
_RANK: tuple[Rejection, ...] = ("rival", "threshold", "required", "exclusion", "negative")


@dataclass(frozen=True, slots=True)
class SignatureVerdict:
    """The result of one signature on a page."""

    signature: CompiledSignature
    confidence: float
    evidence: tuple[Evidence, ...]
    rejected_by: Rejection | None = None
    because: str = ""
    untold: tuple[str, ...] = ()
    """Weight of the positive indicators that could not be evaluated on this page."""
    near: bool = True
    """Whether nothing required is missing and most of the threshold is reached. Of many candidates only these are
    named."""

    @property
    def order(self) -> tuple[float, float, str]:
        """Best first: confidence, then the weight it rests on, then the id."""
        return (-self.confidence, -self.confidence * self.signature.total, self.signature.screen_id)


def candidates_by_index(
    view: KnowledgeView, possible: PossibleScreens, page: StoredPage, base: str
) -> Iterable[str]:
    """Candidates according to the index. All others would be rejected."""
    return view.screens.considered(possible, PageKeys(page), base)


def all_candidates(
    _view: KnowledgeView, possible: PossibleScreens, _page: StoredPage, _base: str
) -> Iterable[str]:
    """Every screen: the same answer, only slower. For tests and benchmarks."""
    return possible


def identify(
    view: KnowledgeView,
    page: PageSnapshot | StoredPage,
    prober: Prober,
    *,
    base_url: str | None = None,
    last_known: str | None = None,
    narrowing: CandidateFilter = candidates_by_index,
) -> Identification:
    """Identify the screen of a page. For an unknown page with `last_known`, add the recovery options.

    `base_url` is the one in force if the site does not run at its authored base URL. Raises `PageRefused` for a page
    over the limits.
    """
    page = page if isinstance(page, StoredPage) else StoredPage(page)
    snapshot = page.snapshot
    base = base_urls.resolve_base_url(view.website, snapshot.url, base_url)
    foreign = base_urls.is_foreign(view.website, snapshot.url, base)
    facts = ProbeFacts(
        url=snapshot.url,
        title=snapshot.title,
        ready_state=snapshot.ready_state,
        path_base=base,
        authored_base=view.website.base_url,
    )
    judged = [] if foreign else _judge_possible(view, page, facts, prober, narrowing)
    accepted = sorted((each for each in judged if each.rejected_by is None), key=lambda each: each.order)
    if accepted:
        return _to_identification(view, accepted, judged)
    recovery = _recovery_options(view, last_known, facts, page, prober, foreign=foreign)
    hint = (
        foreign_page_hint(view, snapshot.url, base, recovery)
        if foreign
        else unknown_screen_hint(page, judged, last_known)
    )
    return Identification(
        website_id=view.website_id, candidates=_candidates(judged), recovery=recovery, hint=hint
    )


def _recovery_options(
    view: KnowledgeView,
    last_known: str | None,
    facts: ProbeFacts,
    page: StoredPage,
    prober: Prober,
    *,
    foreign: bool,
) -> tuple[RecoveryOption, ...]:
    """The recovery options of the last known screen; from a foreign page only those that need no element."""
    if last_known is None:
        return ()
    known = {} if foreign else _signed_in(view, facts, page, prober)
    options = recovery_options.find_recovery_options(view, screen_id=last_known, facts=known)
    return recovery_options.filter_page_independent(options) if foreign else options


def _judge_possible(
    view: KnowledgeView, page: StoredPage, facts: ProbeFacts, prober: Prober, narrowing: CandidateFilter
) -> list[SignatureVerdict]:
    """The screens that fit the URL; if there are many, only the nearest."""
    possible = view.screens.possible(facts.url, facts.path_base)
    considered = narrowing(view, possible, page, facts.path_base)
    judged = judge_all((view.signatures[screen_id] for screen_id in sorted(considered)), facts, page, prober)
    if possible.few_matching and possible.few_anywhere:
        return judged
    return [
        each
        for each in judged
        if each.near
        or (possible.few_anywhere if each.signature.screen_id in possible.anywhere else possible.few_matching)
    ]


def judge_all(
    signatures: Iterable[CompiledSignature], facts: ProbeFacts, page: StoredPage, prober: Prober
) -> list[SignatureVerdict]:
    """Judges every signature on one page. Each distinct probe is answered once."""
    every = [*signatures]
    probes = {key: probe for signature in every for key, probe in signature.probes.items()}
    answered = replace(facts, answers=_probe_page(page, tuple(probes.values()), prober))
    return [judge(signature, answered) for signature in iterate_until_cancelled(every, AT_ONCE)]


def _probe_page(page: StoredPage, probes: Sequence[Probe], prober: Prober) -> dict[str, ProbeAnswer]:
    """Answer probes in batches. The page is parsed and indexed once all the same."""
    found: dict[str, ProbeAnswer] = {}
    for begin in iterate_until_cancelled(range(0, len(probes), AT_ONCE)):
        found.update(prober(page, probes[begin : begin + AT_ONCE]))
    return found


def judge(signature: CompiledSignature, facts: ProbeFacts) -> SignatureVerdict:
    """Judge one signature on answered probes, in the order that the module docstring states."""
    told: dict[int, Verdict] = {}

    def verdict_of(indicator: Indicator) -> Verdict:
        verdict = told.get(id(indicator))
        if verdict is None:
            verdict = told[id(indicator)] = indicator.condition.judge(facts, signature.scope)
        return verdict

    def first(indicators: Iterable[Indicator], telling: VerdictStatus) -> tuple[Indicator, Verdict] | None:
        """Return the first indicator whose result rejects the screen."""
        return next(((i, verdict_of(i)) for i in indicators if verdict_of(i).status is telling), None)

    present = first(signature.against, VerdictStatus.HELD)
    missing = first(signature.necessary, VerdictStatus.NOT_HELD)
    if missing is not None:
        return _rejected(signature, present or missing, near=False)
    verdicts = [(indicator, verdict_of(indicator)) for indicator in signature.positive]
    share = sum(indicator.weight for indicator, verdict in verdicts if verdict.held) / signature.total
    near = share + _ROUNDING >= NEAR_SHARE * signature.threshold
    if present is not None:
        return _rejected(signature, present, near=near)
    against = [(indicator, verdict_of(indicator)) for indicator in signature.against]
    evidence = tuple(build_evidence(indicator, verdict) for indicator, verdict in (*verdicts, *against))
    if share + _ROUNDING >= signature.threshold:
        return SignatureVerdict(signature, share, evidence)
    lacking = tuple(i.words for i, verdict in verdicts if verdict.status is VerdictStatus.NOT_HELD)
    untold = tuple(i.words for i, verdict in verdicts if verdict.status is VerdictStatus.UNKNOWN)
    because = f"{share:.2f} is below {signature.threshold:.2f}"
    because += f"; missing: {'; '.join(lacking)}" if lacking else ""
    because += f"; could not be evaluated: {'; '.join(untold)}" if untold else ""
    return SignatureVerdict(signature, share, evidence, "threshold", because, untold, near=near)


def _rejected(signature: CompiledSignature, by: tuple[Indicator, Verdict], *, near: bool) -> SignatureVerdict:
    indicator, verdict = by
    because = verdict.evidence or indicator.words
    return SignatureVerdict(
        signature, 0.0, (build_evidence(*by),), _rejected_by(indicator), because, near=near
    )


def _rejected_by(indicator: Indicator) -> Rejection:
    return indicator.kind if indicator.kind in ("negative", "exclusion") else "required"


def build_evidence(indicator: Indicator, verdict: Verdict) -> Evidence:
    """Return how an indicator came out on a page."""
    detail = verdict.evidence
    if verdict.status is VerdictStatus.UNKNOWN:
        effect = "counts as not held" if indicator.weight else "does not reject"
        detail = f"could not be evaluated, {effect}: {detail}"
    return Evidence(
        kind=indicator.kind,
        indicator=indicator.words,
        status=verdict.status.value,
        detail=excerpt(detail, LONGEST_REASON),
        weight=indicator.weight or None,
    )


def _to_identification(
    view: KnowledgeView, accepted: Sequence[SignatureVerdict], judged: Sequence[SignatureVerdict]
) -> Identification:
    best = accepted[0]
    rivals = [e for e in accepted[1:] if best.confidence - e.confidence <= AMBIGUOUS_WITHIN + _ROUNDING]
    distinguishing = tuple(words for rival in rivals for words in _distinguishing_evidence(best, rival))
    screen_id = best.signature.screen_id
    one_of = best.signature.ambiguous_of
    if one_of:
        distinguishing = (f"nothing that was seen tells {' and '.join(one_of)} apart", *distinguishing)
    return Identification(
        website_id=view.website_id,
        screen_id=screen_id,
        name=best.signature.name,
        confidence=round(best.confidence, 4),
        threshold=best.signature.threshold,
        ambiguous=bool(rivals or one_of),
        ambiguous_of=one_of,
        distinguishing=distinguishing,
        evidence=best.evidence,
        candidates=_candidates([each for each in judged if each is not best]),
        hint="look for what distinguishes them before acting"
        if rivals
        else f"it is one of {', '.join(one_of)}: look which before acting"
        if one_of
        else f"get_available_actions for {screen_id!r} says what one can do here",
    )


def _distinguishing_evidence(best: SignatureVerdict, rival: SignatureVerdict) -> list[str]:
    """Return the indicators that only one of the two screens has, those first that do not hold here."""
    told = {each.signature.screen_id: {e.indicator: e for e in each.evidence} for each in (best, rival)}
    own, other = told.values()
    found = [
        (evidence.status == "held", f"{screen_id}: {evidence.kind} {evidence.indicator} ({evidence.status})")
        for screen_id, mine, theirs in (
            (best.signature.screen_id, own, other),
            (rival.signature.screen_id, other, own),
        )
        for indicator, evidence in mine.items()
        if indicator not in theirs
    ]
    if not found:
        pair = f"{best.signature.screen_id} and {rival.signature.screen_id}"
        return [f"nothing tells {pair} apart: one needs a negative indicator"]
    return [words for _, words in sorted(found, key=lambda item: item[0])]


def _candidates(judged: Iterable[SignatureVerdict]) -> tuple[RejectedScreen, ...]:
    listed = [
        RejectedScreen(
            screen_id=each.signature.screen_id,
            confidence=round(each.confidence, 4),
            rejected_by=each.rejected_by or "rival",
            because=excerpt(each.because, LONGEST_REASON)
            or "accepted too, with less confidence or less evidence",
        )
        for each in judged
    ]
    listed.sort(key=lambda each: (_RANK.index(each.rejected_by), -each.confidence, each.screen_id))
    return tuple(listed[:MAX_CANDIDATES])


def _signed_in(view: KnowledgeView, facts: ProbeFacts, page: StoredPage, prober: Prober) -> dict[str, bool]:
    """Return whether the user is signed in, if the page shows it: recovery edges depend on it."""
    condition = Authenticated(type="authenticated")
    scope = ScreenScope({}, view.website.authenticated_when)
    probes = collect_probes([condition], scope)
    answers = prober(page, probes) if probes else {}
    verdict = condition.judge(replace(facts, answers=answers), scope)
    return {} if verdict.status is VerdictStatus.UNKNOWN else {"authenticated": verdict.held}
