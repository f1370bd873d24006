"""Problems of signatures that the evaluation shows. Each kind of problem is one registered function."""

from __future__ import annotations

from collections.abc import Callable, Iterator

from mcp_server.screen_index.compiled_signatures import Indicator
from mcp_server.signature_checks import indicator_proposals
from mcp_server.signature_checks.check_report import SignatureFinding
from mcp_server.signature_checks.idle_indicators import AGAINST, NECESSARY
from mcp_server.signature_checks.snapshot_evaluation import (
    EvaluatedPage,
    IndicatorPages,
    SnapshotEvaluation,
)
from web_pages.page_masks import page_numbers

_Finder = Callable[[SnapshotEvaluation], Iterator[SignatureFinding]]
_FINDERS: list[_Finder] = []


def _finder(function: _Finder) -> _Finder:
    _FINDERS.append(function)
    return function


def collect_findings(survey: SnapshotEvaluation) -> tuple[SignatureFinding, ...]:
    """Everything found, what breaks identification first."""
    found = [finding for finder in _FINDERS for finding in finder(survey)]
    return tuple(sorted(found, key=lambda finding: not finding.breaks))


@_finder
def _confused_pairs(survey: SnapshotEvaluation) -> Iterator[SignatureFinding]:
    """Pairs of screens that no indicator separates: the signature of one also holds on the other's
    pages (KS 10, Negative-Signature).
    """
    pairs: dict[tuple[str | None, str], int] = {}
    for number, page in enumerate(survey.pages):
        for pair in _confused(survey, page):
            pairs[pair] = pairs.get(pair, 0) | 1 << number
    for (screen_id, other), pages in sorted(pairs.items(), key=lambda item: (item[0][0] or "", item[0][1])):
        yield _pair(survey, screen_id, other, pages)


def _confused(survey: SnapshotEvaluation, page: EvaluatedPage) -> list[tuple[str | None, str]]:
    if survey.labels is not None and page.name in survey.labels:
        label = survey.labels[page.name]
        return [(label, other) for other in page.accepted if other != label]
    return [(page.accepted[0], other) for other in page.accepted[1:]]


def _pair(survey: SnapshotEvaluation, screen_id: str | None, other: str, pages: int) -> SignatureFinding:
    wrong = [number for number in page_numbers(pages) if not _is_own_page(survey.pages[number], screen_id)]
    names = survey.names(pages)
    labelled = survey.labels is not None and bool(survey.own.get(screen_id, 0) & pages)
    count = _format_share(pages, survey.own.get(screen_id, 0)) if labelled else _snapshots(len(names))
    whose = "of" if labelled else "taken for"
    proposed = (
        indicator_proposals.propose_rejection(survey, other, screen_id) if survey.labels is not None else None
    )
    if screen_id is None:
        kind, message = "known_unexpectedly", f"{other} holds on {count} that are no known screen"
    else:
        kind = "taken_for_another" if wrong else "both_match"
        message = f"nothing separates {other} from {screen_id}: it also holds on {count} {whose} {screen_id}"
    return SignatureFinding.model_validate(
        {
            "kind": kind,
            "breaks": bool(wrong),
            "message": message,
            "screen_id": screen_id,
            "other": other,
            "snapshots": names,
            "fix": None if proposed else _without_proposal(survey, screen_id, other),
            "proposal": proposed,
        }
    )


def _is_own_page(page: EvaluatedPage, screen_id: str | None) -> bool:
    return page.answer is not None and page.answer.screen_id == screen_id and not page.answer.ambiguous


def _without_proposal(survey: SnapshotEvaluation, screen_id: str | None, other: str) -> str:
    if survey.labels is None:
        return "with --labels a condition that separates them is proposed"
    if not survey.own.get(other, 0):
        return f"add a snapshot of {other}: without one no condition can be shown not to harm it"
    return f"these snapshots show nothing that separates {other} from {screen_id or 'them'}: are they one screen?"


@_finder
def _unrecognised(survey: SnapshotEvaluation) -> Iterator[SignatureFinding]:
    """Labelled pages that are identified as no known screen, by screen, with what rejects them."""
    for screen_id, own in sorted(survey.own.items(), key=lambda item: item[0] or ""):
        if screen_id is None or survey.labels is None:
            continue
        if screen_id not in survey.view.signatures:
            yield SignatureFinding(
                kind="no_signature",
                breaks=True,
                screen_id=screen_id,
                message=f"nothing speaks for {screen_id}: it has neither indicators nor url_patterns",
                snapshots=survey.names(own),
                fix="add required_indicators",
                proposal=indicator_proposals.propose_requirement(survey, screen_id),
            )
            continue
        lost = [n for n in page_numbers(own) if not survey.pages[n].accepted and not survey.pages[n].foreign]
        if lost:
            yield SignatureFinding(
                kind="not_known",
                breaks=True,
                screen_id=screen_id,
                message=f"{screen_id} is not known on {len(lost)} of {_snapshots(own.bit_count())}: "
                f"{_rejection(survey, screen_id, lost[0])}",
                snapshots=tuple(survey.pages[n].name for n in lost),
            )


def _rejection(survey: SnapshotEvaluation, screen_id: str, number: int) -> str:
    """What rejects a screen on a page, in the order in which identification looks."""
    bit = 1 << number
    for indicator, truth in survey.truths[screen_id]:
        if indicator.kind in AGAINST and truth.held & bit:
            return f"its {indicator.kind} indicator holds: {indicator.words}"
        if indicator.kind in NECESSARY and _not_held(truth) & bit:
            return f"missing: {indicator.words}"
    held = sum(i.weight for i, truth in survey.truths[screen_id] if truth.held & bit)
    signature = survey.view.signatures[screen_id]
    missing = [
        i.words for i, truth in survey.truths[screen_id] if i.kind not in AGAINST and not truth.held & bit
    ]
    return (
        f"{held / signature.total:.2f} is below its threshold {signature.threshold:.2f}; "
        f"missing: {', '.join(missing)}"
    )


@_finder
def _rejecting_their_own(survey: SnapshotEvaluation) -> Iterator[SignatureFinding]:
    """Negative and exclusion indicators that hold on pages of their own screen."""
    for screen_id, indicator, truth, own in _labelled_indicators(survey):
        if indicator.kind in AGAINST and truth.held & own:
            yield SignatureFinding(
                kind="rejects_its_own",
                breaks=True,
                screen_id=screen_id,
                message=f"{screen_id}: its {indicator.kind} indicator {indicator.words} holds on "
                f"{_format_share(truth.held & own, own)} of its own",
                snapshots=survey.names(truth.held & own),
                fix=f"remove it from {indicator.kind}_indicators, or let it say less",
            )


@_finder
def _required_missing(survey: SnapshotEvaluation) -> Iterator[SignatureFinding]:
    """Required indicators and URL patterns that do not hold on pages of their own screen."""
    for screen_id, indicator, truth, own in _labelled_indicators(survey):
        missing = _not_held(truth) & own & survey.all_pages
        if indicator.kind not in NECESSARY or not missing:
            continue
        required = indicator.kind == "required"
        yield SignatureFinding(
            kind="required_missing",
            breaks=True,
            screen_id=screen_id,
            message=f"{screen_id}: required {indicator.words} does not hold on {_format_share(missing, own)} of its own",
            snapshots=survey.names(missing),
            fix="correct it, or move it to optional_indicators" if required else "correct the url_patterns",
            proposal=indicator_proposals.propose_requirement(survey, screen_id) if required else None,
        )


@_finder
def _foreign_and_refused(survey: SnapshotEvaluation) -> Iterator[SignatureFinding]:
    """Pages that are not evaluated: of another website, or over the limits."""
    website = survey.view.website
    expected = [
        page.name
        for page in survey.pages
        if page.foreign and (survey.labels is None or survey.labels.get(page.name) is not None)
    ]
    if expected:
        yield SignatureFinding(
            kind="foreign",
            breaks=survey.labels is not None,
            message=f"{_snapshots(len(expected))} not of {website.website_id} at {website.base_url}",
            snapshots=tuple(expected),
            fix="--base-url says where the site was when they were taken",
        )
    for page in survey.pages:
        if page.refused:
            yield SignatureFinding(
                kind="refused",
                breaks=True,
                message=f"{page.name} is refused: {page.refused}",
                snapshots=(page.name,),
                fix="no client can have it identified; take it again, or remove it",
            )


@_finder
def _unmatched(survey: SnapshotEvaluation) -> Iterator[SignatureFinding]:
    """Pages without a label that are no known screen."""
    lost = [
        page.name
        for page in survey.pages
        if page.answer is not None
        and not page.accepted
        and not page.foreign
        and (survey.labels is None or page.name not in survey.labels)
    ]
    if lost:
        yield SignatureFinding(
            kind="unmatched",
            breaks=False,
            message=f"{_snapshots(len(lost))} without a label match{'es' if len(lost) == 1 else ''} no screen",
            snapshots=tuple(lost),
            fix='label them: {"NAME": "screen_id"}, or null for a page that is no known screen',
        )


def _labelled_indicators(survey: SnapshotEvaluation) -> Iterator[tuple[str, Indicator, IndicatorPages, int]]:
    """Every indicator of the screens that have labelled pages."""
    if survey.labels is None:
        return
    for screen_id in sorted(survey.truths):
        own = survey.own.get(screen_id, 0)
        for indicator, truth in survey.truths[screen_id] if own else ():
            yield screen_id, indicator, truth, own


def _not_held(truth: IndicatorPages) -> int:
    return ~(truth.held | truth.unknown)


def _snapshots(count: int) -> str:
    return f"{count} snapshot{'' if count == 1 else 's'}"


def _format_share(part: int, whole: int) -> str:
    return f"{part.bit_count()} of {_snapshots(whole.bit_count())}"
