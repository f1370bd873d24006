"""Which screen a page is, with the evidence (DESIGN 5).

For each candidate, in this order: a negative indicator that is there rejects it at once; so does an
exclusion; so does a required one that is not there; else its confidence is the weight of what
speaks for it and holds, as a share of the weight of all that could. What cannot be evaluated
neither rejects nor counts.

Not here: how a page is probed (`pages/`), how a signature is compiled (`signatures`).
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Literal

from kb_schema.answers import Candidate, Evidence, Identification
from kb_schema.conditions import Authenticated
from kb_schema.evaluation import questions
from kb_schema.probes import Facts, Probe, ProbeAnswer, Status, Verdict
from kb_schema.snapshots import PageSnapshot
from mcp_server import addresses, recover
from mcp_server.compiled import View
from mcp_server.scopes import ScreenScope
from mcp_server.signatures import CompiledSignature, Indicator

Prober = Callable[[PageSnapshot, Sequence[Probe]], Mapping[str, ProbeAnswer]]
"""Answers probes on a stored page, by `probe_key`; `kb_schema.probes` says what the answers mean."""

AMBIGUOUS_WITHIN = 0.05
"""Two accepted screens closer than this cannot be told apart (DESIGN 5)."""
MAX_CANDIDATES = 5
"""How many of those not chosen an answer names."""
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

    @property
    def order(self) -> tuple[float, float, str]:
        """Best first: confidence, then the weight it rests on, then the id."""
        return (-self.confidence, -self.confidence * self.signature.total, self.signature.screen_id)


def identify(
    view: View,
    snapshot: PageSnapshot,
    prober: Prober,
    *,
    base_url: str | None = None,
    last_known: str | None = None,
) -> Identification:
    """The screen a page is; where it is none and `last_known` is given, the ways out.

    `base_url` is the one in force where the site does not run at its authored base.
    """
    base = addresses.base_in_force(view.website, snapshot.url, base_url)
    foreign = addresses.is_foreign(view.website, snapshot.url, base)
    facts = Facts(
        url=snapshot.url,
        title=snapshot.title,
        ready_state=snapshot.ready_state,
        path_base=base,
        authored_base=view.website.base_url,
    )
    judged = [] if foreign else judge_all(candidates(view, snapshot.url, base), facts, snapshot, prober)
    accepted = sorted((each for each in judged if each.rejected_by is None), key=lambda each: each.order)
    if accepted:
        return _found(view, accepted, judged)
    hint = _foreign_hint(view, snapshot.url, base) if foreign else _lost_hint(judged, last_known)
    known = _signed_in(view, facts, snapshot, prober) if last_known is not None and not foreign else {}
    return Identification(
        website_id=view.website_id,
        candidates=_candidates(judged),
        recovery=() if last_known is None else recover.options(view, screen_id=last_known, facts=known),
        hint=hint,
    )


def candidates(view: View, url: str, base: str) -> list[CompiledSignature]:
    """The signatures that the URL leaves possible, by screen id."""
    possible = view.urls.candidates(url, base).union(view.anywhere)
    return [view.signatures[screen_id] for screen_id in sorted(possible)]


def judge_all(
    signatures: Iterable[CompiledSignature], facts: Facts, snapshot: PageSnapshot, prober: Prober
) -> list[Judged]:
    """Every signature judged.

    What needs no page is judged first, so that the page is probed only for those still possible, and
    each distinct question is asked once.
    """
    settled: list[Judged] = []
    open_: list[CompiledSignature] = []
    for signature in signatures:
        rejected = _rejection(signature, facts, asks_page=False)
        settled += [] if rejected is None else [rejected]
        open_ += [signature] if rejected is None else []
    probes = {key: probe for signature in open_ for key, probe in signature.probes.items()}
    answered = replace(facts, answers=prober(snapshot, tuple(probes.values())) if probes else {})
    return settled + [judge(signature, answered) for signature in open_]


def judge(signature: CompiledSignature, facts: Facts) -> Judged:
    """One signature on answered probes."""
    rejected = _rejection(signature, facts)
    if rejected is not None:
        return rejected
    verdicts = [(indicator, _verdict(indicator, signature, facts)) for indicator in signature.positive]
    share = sum(indicator.weight for indicator, verdict in verdicts if verdict.held) / signature.total
    against = [(indicator, _verdict(indicator, signature, facts)) for indicator in signature.against]
    evidence = tuple(_evidence(indicator, verdict) for indicator, verdict in (*verdicts, *against))
    if share + _ROUNDING >= signature.threshold:
        return Judged(signature, share, evidence)
    missing = "; ".join(indicator.words for indicator, verdict in verdicts if not verdict.held)
    because = f"{share:.2f} is below {signature.threshold:.2f}; missing: {missing}"
    return Judged(signature, share, evidence, "threshold", because)


def _rejection(signature: CompiledSignature, facts: Facts, *, asks_page: bool = True) -> Judged | None:
    """The first reason to reject, in the order of DESIGN 5.

    Without `asks_page` only of those reasons that can be told without the page.
    """
    for indicators, telling in ((signature.against, Status.HELD), (signature.necessary, Status.NOT_HELD)):
        for indicator in indicators:
            if indicator.asks_page and not asks_page:
                continue
            verdict = _verdict(indicator, signature, facts)
            if verdict.status is telling:
                return Judged(
                    signature,
                    0.0,
                    (_evidence(indicator, verdict),),
                    _rejected_by(indicator),
                    verdict.evidence or indicator.words,
                )
    return None


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
        detail=detail,
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
            because=each.because or "accepted too, with less confidence or less evidence",
        )
        for each in judged
    ]
    listed.sort(key=lambda each: (_RANK.index(each.rejected_by), -each.confidence, each.screen_id))
    return tuple(listed[:MAX_CANDIDATES])


def _signed_in(view: View, facts: Facts, snapshot: PageSnapshot, prober: Prober) -> dict[str, bool]:
    """Whether one is signed in, as far as the page tells: recovery edges ask for it."""
    condition = Authenticated(type="authenticated")
    scope = ScreenScope({}, view.website.authenticated_when)
    probes = questions([condition], scope)
    answers = prober(snapshot, probes) if probes else {}
    verdict = condition.judge(replace(facts, answers=answers), scope)
    return {} if verdict.status is Status.UNKNOWN else {"authenticated": verdict.held}


def _foreign_hint(view: View, url: str, base: str) -> str:
    return (
        f"{url} is not of website {view.website_id!r} at {base}; "
        "if the site runs there, pass base_url; list_websites names the others"
    )


def _lost_hint(judged: Sequence[Judged], last_known: str | None) -> str:
    why = "no known screen matches" if judged else "the URL matches no known screen"
    if last_known is None:
        return f"{why}; pass last_known_screen_id, or call find_global_recovery_paths"
    return f"{why}; carry out the first recovery option, then identify again"
