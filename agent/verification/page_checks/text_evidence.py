"""Decides whether a text that a page shows is evidence of a step: a person can see it, as whole words, not denied by what is said
beside it, and it did not stand there before the press.

Where texts are is found by `agent.page.sought_texts`.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from typing import Literal

from agent.negations import is_denied, is_denied_beside, says_deed
from agent.page.sought_texts import (
    SoughtText,
    TextPlace,
    find_in_foreign_frames,
    find_texts,
    remember_standing,
)
from agent.verification.page_checks.verification_page import VerificationPage
from kb_schema.conditions import MESSAGE_REGIONS
from kb_schema.excerpts import excerpt
from kb_schema.probes import Verdict, held
from kb_schema.verification import ExpectedOutcome

HEADINGS = 'h1, h2, h3, h4, h5, h6, [role="heading"]'
DIALOGS = '[role="dialog"], [role="alertdialog"], dialog[open], [aria-modal="true"]'
NO_EVIDENCE = "it is on the page, but"
"""How the reason begins why a text that is there does not count."""
SEEN = ("the page shows", "the browser's dialog said")
"""How it begins where a text is."""
WITHIN: dict[str, str | None] = {
    "shows": None,
    "message": MESSAGE_REGIONS,
    "dialog_opens": DIALOGS,
    "heading": HEADINGS,
}
"""Where the text of an outcome is looked for (None: anywhere), by kind."""
_STATES_OF_A_PAGE = frozenset(
    {
        *WITHIN,
        "not_shows",
        "stays_on_page",
        "navigates_to",
        "url",
        "title",
        "no_console_errors",
        "judged",
        "field_populated",
        "field_value",
        "field_empty",
    }
) - {"message"}
"""Kinds of outcomes that may hold without the press having done anything; `message` must be new by itself."""
_LETTER = "[^\\W\\d_\u0e00-\u0eff\u1000-\u109f\u1780-\u17ff\u1100-\u11ff\u3040-\u30ff\u3130-\u318f\u3400-\u9fff\uac00-\ud7af\uf900-\ufaff]"
"""A letter of a script that separates its words by spaces. (Korean does, but adds endings to them.)"""
_WORD_BEFORE = re.compile(rf"{_LETTER}$")
_WORD_AFTER = re.compile(rf"^{_LETTER}")
_NUMBER_BEFORE = re.compile(r"\d[.,]?$")
_NUMBER_AFTER = re.compile(r"^[.,]?\d")
_SHORT = 12
"""Words of a block in which a denial is looked for: a longer one tells several things."""
Standing = Literal["never", "alone", "always"]
"""When a text that stood there before the press is no evidence: never, if it is the only evidence of the step, always."""


def list_sought(outcomes: Iterable[ExpectedOutcome]) -> list[SoughtText]:
    """Return the texts that outcomes expect to see."""
    return [build_sought(each) for each in outcomes if each.kind in WITHIN]


def build_sought(outcome: ExpectedOutcome) -> SoughtText:
    """Return the text that an outcome of a kind of `WITHIN` expects to see."""
    return SoughtText(outcome.value or "", WITHIN[outcome.kind], fixed=outcome.kind == "shows")


async def remember_texts(
    site_page: VerificationPage, outcomes: Sequence[ExpectedOutcome], *, pressing: bool
) -> None:
    """Remember before an action where the texts that its outcomes expect stand already. Raises `PageGone`."""
    site_page.expected = tuple(outcomes)
    if pressing and (sought := list_sought(outcomes)):
        await remember_standing(site_page.page, sought)


async def judge_shown(
    site_page: VerificationPage, sought: SoughtText, standing: Standing, *, whole_words: bool = True
) -> Verdict:
    """Return whether one of the places of a text is evidence. Raises `PageGone`."""
    others = (
        [each for each in list_sought(site_page.expected) if each != sought] if standing == "alone" else []
    )
    [places, *further] = await find_texts(site_page.page, [sought, *others])
    reasons = [_find_flaw(each, whole_words=whole_words) for each in places]
    sound = [place for place, reason in zip(places, reasons, strict=True) if reason is None]
    if not places:
        return held(False, f"no text that is drawn has {excerpt(sought.value)!r}")
    if not sound:
        why = next(each for each in reasons if each)
        return held(False, f"{NO_EVIDENCE} {why}")
    if (
        standing == "never"
        or not site_page.pressed
        or not all(each.stood for each in sound)
        or _is_moved(site_page)
    ):
        return held(True, f"the page shows {excerpt(sound[0].said)!r}")
    if standing == "alone" and (_expects_a_deed(site_page.expected) or any(map(_is_news, further))):
        return held(True, f"the page shows {excerpt(sound[0].said)!r}")
    return held(False, f"{NO_EVIDENCE} it stood there before the press")


async def judge_not_shown(site_page: VerificationPage, value: str) -> Verdict:
    """Return whether a person sees a text nowhere: not on the page, in a field that they cannot change, in a frame of another
    origin, or in a dialog of the browser. Raises `PageGone`.
    """
    for dialog in site_page.side_effects.answered_dialogs:
        if " ".join(value.split()) in " ".join(dialog.message.split()):
            return held(False, f"the browser's dialog said {excerpt(dialog.message)!r}")
    sought = SoughtText(value, fixed=True)
    places = [
        *(await find_texts(site_page.page, [sought]))[0],
        *await find_in_foreign_frames(site_page.page, sought),
    ]
    fading = any(each.fading for each in places)
    seen = next((each for each in places if each.unseen is None), None)
    if seen is None and fading:
        return held(False, "the page shows it, fading in or out")
    return held(
        seen is None,
        "no text of the page has it" if seen is None else f"the page shows {excerpt(seen.said)!r}",
    )


def _find_flaw(place: TextPlace, *, whole_words: bool) -> str | None:
    """Return why a place is no evidence whatever stood there before; None if it is some."""
    if place.unseen is not None:
        return f"nobody can see it: {place.unseen}"
    if not whole_words or not place.text:
        return None
    if _is_part_of_word(place):
        line = f"{place.left}{place.said}{place.right}" if _goes_on_in_boxes(place) else place.said
        return f"only as a part of {excerpt(line)!r}"
    denied = _find_denial(place)
    return None if denied is None else f"it is denied there: {excerpt(denied)!r}"


def _find_denial(place: TextPlace) -> str | None:
    """Return what is denied where a text stands, or struck out; None if nothing is."""
    if place.struck == "deleted" or (place.struck == "line" and says_deed(place.text)):
        return f"{place.said} (struck out)"  # a line alone also marks what is done, and old prices
    if len(place.said.split()) <= _SHORT and is_denied(place.before, place.text, place.after):
        return place.said
    line = f"{place.left} {place.said} {place.right}".strip()
    beside = (place.left, place.before, place.text, place.after, place.right)
    return line if len(line.split()) <= _SHORT and is_denied_beside(*beside) else None


def _is_part_of_word(place: TextPlace) -> bool:
    first, last = place.text[:1], place.text[-1:]
    begins = (_WORD_AFTER.match(first) and _WORD_BEFORE.search(place.before)) or (
        first.isdigit() and _NUMBER_BEFORE.search(place.before)
    )
    ends = (_WORD_AFTER.match(last) and _WORD_AFTER.match(place.after)) or (
        last.isdigit() and _NUMBER_AFTER.match(place.after)
    )
    return bool(begins or ends or _goes_on_in_boxes(place))


def _goes_on_in_boxes(place: TextPlace) -> bool:
    """Return whether a text is a part of a word that is drawn in boxes without a gap: `Un` beside `saved`."""
    first, last = place.text[:1], place.text[-1:]
    begins = not place.before and first.islower() and _WORD_BEFORE.search(place.left)
    ends = (
        not place.after
        and place.right[:1].islower()
        and _WORD_AFTER.match(last)
        and _WORD_AFTER.match(place.right)
    )
    return bool(begins or ends)


def _is_news(places: Sequence[TextPlace]) -> bool:
    return any(each.unseen is None and not each.stood for each in places)


def _expects_a_deed(outcomes: Iterable[ExpectedOutcome]) -> bool:
    """Return whether an outcome of the step is evidence of its press by itself."""
    return any(each.kind not in _STATES_OF_A_PAGE for each in outcomes)


def _is_moved(site_page: VerificationPage) -> bool:
    """Return whether the page is at another address than before the press, or another document."""
    before = site_page.before[0]
    return (
        site_page.replaced
        or site_page.page.url.partition("#")[0] != before.partition("#")[0]
        or (site_page.path != site_page.path_of(before))
    )
