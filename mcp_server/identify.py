"""Which screen a page is, with the evidence (DESIGN 5).

For each candidate, in this order: a negative indicator that is there rejects it at once; so does an
exclusion; so does a required one that is not there; else its confidence is the weight of what
speaks for it and holds, as a share of the weight of all that could. What cannot be evaluated
neither rejects nor counts.

Not here: how a page is probed (`kb_schema.pages`), how a signature is compiled (`signatures`), which
screens need not be judged (`screen_index`).
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Literal

from kb_schema.answers import Candidate, Evidence, Identification, RecoveryOption
from kb_schema.conditions import Authenticated
from kb_schema.evaluation import questions
from kb_schema.excerpts import excerpt
from kb_schema.pages.stored import StoredPage
from kb_schema.probes import Facts, Probe, ProbeAnswer, Status, Verdict
from kb_schema.snapshots import PageSnapshot
from mcp_server import addresses, recover
from mcp_server.compiled import View
from mcp_server.guards import NEAR_SHARE
from mcp_server.hints import foreign_hint, lost_hint
from mcp_server.patience import while_wanted
from mcp_server.scopes import ScreenScope
from mcp_server.screen_index import Possible
from mcp_server.sightings import Sightings
from mcp_server.signatures import CompiledSignature, Indicator

Prober = Callable[[PageSnapshot | StoredPage, Sequence[Probe]], Mapping[str, ProbeAnswer]]
"""Answers probes on a stored page, by `probe_key`; `kb_schema.probes` says what the answers mean."""
Narrowing = Callable[[View, Possible, StoredPage, str], Iterable[str]]
"""Which of the screens that the URL leaves possible are judged."""

AMBIGUOUS_WITHIN = 0.05
"""Two accepted screens closer than this cannot be told apart (DESIGN 5)."""
MAX_CANDIDATES = 5
"""How many of those not chosen an answer names."""
LONGEST_REASON = 500
"""Characters of what is said of one indicator or one screen, however much the page has to quote."""
AT_ONCE = 32
"""Probes answered, and signatures judged, until it is asked again whether anybody waits for it."""
_ROUNDING = 1e-9

Rejection = Literal["negative", "exclusion", "required", "threshold", "rival"]
_RANK: tuple[Rejection, ...] = ("rival", "threshold", "required", "exclusion", "negative")


@dataclass(frozen=True, slots=True)
class Judged:
    """How one signature came out on a page."""

    signature: CompiledSignature
    confidence: float
    evidence: tuple[Evidence, ...]
    rejected_by: Rejection | None = None
    because: str = ""
    untold: tuple[str, ...] = ()
    """Of what could make up the confidence: what could not be evaluated on this page."""
    near: bool = True
    """Whether nothing required is missing and most of what the threshold asks for is there: the screens
    named among many."""

    @property
    def order(self) -> tuple[float, float, str]:
        """Best first: confidence, then the weight it rests on, then the id."""
        return (-self.confidence, -self.confidence * self.signature.total, self.signature.screen_id)


def by_index(view: View, possible: Possible, page: StoredPage, base: str) -> Iterable[str]:
    """Those that the page may be as far as the index tells: the others would be rejected."""
    return view.screens.considered(possible, Sightings(page), base)


def by_scan(_view: View, possible: Possible, _page: StoredPage, _base: str) -> Iterable[str]:
    """All of them: the answer is the same, only slower. For tests and benchmarks."""
    return possible


def identify(
    view: View,
    page: PageSnapshot | StoredPage,
    prober: Prober,
    *,
    base_url: str | None = None,
    last_known: str | None = None,
    narrowing: Narrowing = by_index,
) -> Identification:
    """The screen a page is; where it is none and `last_known` is given, the ways out.

    `base_url` is the one in force where the site does not run at its authored base. Raises
    `PageRefused` for a page over the limits.
    """
    page = page if isinstance(page, StoredPage) else StoredPage(page)
    snapshot = page.snapshot
    base = addresses.base_in_force(view.website, snapshot.url, base_url)
    foreign = addresses.is_foreign(view.website, snapshot.url, base)
    facts = Facts(
        url=snapshot.url,
        title=snapshot.title,
        ready_state=snapshot.ready_state,
        path_base=base,
        authored_base=view.website.base_url,
    )
    judged = [] if foreign else _judge_possible(view, page, facts, prober, narrowing)
    accepted = sorted((each for each in judged if each.rejected_by is None), key=lambda each: each.order)
    if accepted:
        return _found(view, accepted, judged)
    recovery = _ways_out(view, last_known, facts, page, prober, foreign=foreign)
    hint = (
        foreign_hint(view, snapshot.url, base, recovery) if foreign else lost_hint(page, judged, last_known)
    )
    return Identification(
        website_id=view.website_id, candidates=_candidates(judged), recovery=recovery, hint=hint
    )


def _ways_out(
    view: View, last_known: str | None, facts: Facts, page: StoredPage, prober: Prober, *, foreign: bool
) -> tuple[RecoveryOption, ...]:
    """The recovery options of the last known screen; from a foreign page only those that need no element."""
    if last_known is None:
        return ()
    known = {} if foreign else _signed_in(view, facts, page, prober)
    options = recover.options(view, screen_id=last_known, facts=known)
    return recover.from_anywhere(options) if foreign else options


def _judge_possible(
    view: View, page: StoredPage, facts: Facts, prober: Prober, narrowing: Narrowing
) -> list[Judged]:
    """The screens that the URL leaves possible; where these are many, those that come near."""
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
    signatures: Iterable[CompiledSignature], facts: Facts, page: StoredPage, prober: Prober
) -> list[Judged]:
    """Every signature judged on one page; each distinct question is asked once."""
    every = [*signatures]
    probes = {key: probe for signature in every for key, probe in signature.probes.items()}
    answered = replace(facts, answers=_answers(page, tuple(probes.values()), prober))
    return [judge(signature, answered) for signature in while_wanted(every, AT_ONCE)]


def _answers(page: StoredPage, probes: Sequence[Probe], prober: Prober) -> dict[str, ProbeAnswer]:
    """What a prober says, asked for some at a time: the page is parsed and looked up once all the same."""
    found: dict[str, ProbeAnswer] = {}
    for begin in while_wanted(range(0, len(probes), AT_ONCE)):
        found.update(prober(page, probes[begin : begin + AT_ONCE]))
    return found


def judge(signature: CompiledSignature, facts: Facts) -> Judged:
    """One signature on answered probes, in the order of DESIGN 5."""
    present = _first(signature.against, Status.HELD, signature, facts)
    missing = _first(signature.necessary, Status.NOT_HELD, signature, facts)
    if missing is not None:
        return _rejected(signature, present or missing, near=False)
    verdicts = [(indicator, _verdict(indicator, signature, facts)) for indicator in signature.positive]
    share = sum(indicator.weight for indicator, verdict in verdicts if verdict.held) / signature.total
    near = share + _ROUNDING >= NEAR_SHARE * signature.threshold
    if present is not None:
        return _rejected(signature, present, near=near)
    against = [(indicator, _verdict(indicator, signature, facts)) for indicator in signature.against]
    evidence = tuple(_evidence(indicator, verdict) for indicator, verdict in (*verdicts, *against))
    if share + _ROUNDING >= signature.threshold:
        return Judged(signature, share, evidence)
    lacking = tuple(i.words for i, verdict in verdicts if verdict.status is Status.NOT_HELD)
    untold = tuple(i.words for i, verdict in verdicts if verdict.status is Status.UNKNOWN)
    because = f"{share:.2f} is below {signature.threshold:.2f}"
    because += f"; missing: {'; '.join(lacking)}" if lacking else ""
    because += f"; could not be told: {'; '.join(untold)}" if untold else ""
    return Judged(signature, share, evidence, "threshold", because, untold, near=near)


def _first(
    indicators: Iterable[Indicator], telling: Status, signature: CompiledSignature, facts: Facts
) -> tuple[Indicator, Verdict] | None:
    """The first indicator that comes out in the way that rejects."""
    judged = ((indicator, _verdict(indicator, signature, facts)) for indicator in indicators)
    return next((each for each in judged if each[1].status is telling), None)


def _rejected(signature: CompiledSignature, by: tuple[Indicator, Verdict], *, near: bool) -> Judged:
    indicator, verdict = by
    because = verdict.evidence or indicator.words
    return Judged(signature, 0.0, (_evidence(*by),), _rejected_by(indicator), because, near=near)


def _rejected_by(indicator: Indicator) -> Rejection:
    return indicator.kind if indicator.kind in ("negative", "exclusion") else "required"


def _verdict(indicator: Indicator, signature: CompiledSignature, facts: Facts) -> Verdict:
    return indicator.condition.judge(facts, signature.scope)


def _evidence(indicator: Indicator, verdict: Verdict) -> Evidence:
    detail = verdict.evidence
    if verdict.status is Status.UNKNOWN:
        effect = "counts as not held" if indicator.weight else "does not reject"
        detail = f"could not be told, {effect}: {detail}"
    return Evidence(
        kind=indicator.kind,
        indicator=indicator.words,
        status=verdict.status.value,
        detail=excerpt(detail, LONGEST_REASON),
        weight=indicator.weight or None,
    )


def _found(view: View, accepted: Sequence[Judged], judged: Sequence[Judged]) -> Identification:
    best = accepted[0]
    rivals = [e for e in accepted[1:] if best.confidence - e.confidence <= AMBIGUOUS_WITHIN + _ROUNDING]
    distinguishing = tuple(words for rival in rivals for words in _telling_apart(best, rival))
    screen_id = best.signature.screen_id
    return Identification(
        website_id=view.website_id,
        screen_id=screen_id,
        name=best.signature.name,
        confidence=round(best.confidence, 4),
        threshold=best.signature.threshold,
        ambiguous=bool(rivals),
        distinguishing=distinguishing,
        evidence=best.evidence,
        candidates=_candidates([each for each in judged if each is not best]),
        hint="look for what distinguishes them before acting"
        if rivals
        else f"get_available_actions for {screen_id!r} says what one can do here",
    )


def _telling_apart(best: Judged, rival: Judged) -> list[str]:
    """What one of the two asks for and the other does not, those first that do not hold here."""
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


def _candidates(judged: Iterable[Judged]) -> tuple[Candidate, ...]:
    listed = [
        Candidate(
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


def _signed_in(view: View, facts: Facts, page: StoredPage, prober: Prober) -> dict[str, bool]:
    """Whether one is signed in, as far as the page tells: recovery edges ask for it."""
    condition = Authenticated(type="authenticated")
    scope = ScreenScope({}, view.website.authenticated_when)
    probes = questions([condition], scope)
    answers = prober(page, probes) if probes else {}
    verdict = condition.judge(replace(facts, answers=answers), scope)
    return {} if verdict.status is Status.UNKNOWN else {"authenticated": verdict.held}
