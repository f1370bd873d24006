"""Looks at a page for an exploration: its digest, what it offers, with stable selectors and form facts.

Two depths: `look_at` tells whether the page is known; `offers_of` writes down what a new one offers. What may be
tried of that is said by `dangers`; what is worth trying by `frontier`.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Collection, Sequence
from dataclasses import dataclass, field
from functools import cache
from pathlib import Path
from typing import Any

from playwright.async_api import Error as DriverError
from playwright.async_api import Page
from pydantic import Field, ValidationError

from agent.locating.fingerprints import Fingerprints
from agent.locating.index import IndexedElement, PageIndex, RegionKind
from agent.locating.looking import look_around
from agent.locating.selecting import selectors_at
from agent.mapping.dangers import FormFacts, danger_of
from agent.mapping.digesting import Digests, digests, without_numbers
from agent.mapping.places import address_of, is_of_many, place_of, same_document
from agent.page import library
from kb_schema.base import Model
from kb_schema.fingerprints import Fingerprint
from kb_schema.mapping import Offer
from kb_schema.pages.limits import PageRefused
from kb_schema.screens import FieldValidation, Option
from kb_schema.selectors import Selector
from kb_schema.urls import origin_of

MOST_READ = 800
"""Elements of a page of which facts are asked."""
LONGEST_LINE, LONGEST_ADDRESS = 1_000, 8_000
_ROWS = (RegionKind.ROW, RegionKind.ITEM)
_LANDMARKS = (RegionKind.LANDMARK, RegionKind.DIALOG)
_MENUS = frozenset({"navigation", "menu", "menubar", "tablist", "banner", "contentinfo"})
_TEXT_ROLES = frozenset({"textbox", "searchbox", "spinbutton", "slider"})
_TICK_ROLES = frozenset({"checkbox", "radio", "switch"})
_BUTTON_KINDS = frozenset({"submit", "button", "reset", "image"})
_HOLDERS = frozenset({
    "form", "dialog", "navigation", "main", "region", "banner", "contentinfo", "complementary", "search", "table", "list",
    "document", "application",
})  # fmt: skip
_MOST_LOGIN_FIELDS = 6


class FormSaid(Model):
    """What `facts.js` says of a form."""

    method: str = "get"
    override: str = ""
    """The method that a hidden `_method` names."""
    action: str = ""
    password: bool = False
    file: bool = False
    fields: int = 0
    names: tuple[str, ...] = ()
    number: int = -1

    @property
    def facts(self) -> FormFacts:
        """As dangers are judged by them."""
        return FormFacts((self.override or self.method).upper(), self.action)


class Said(Model):
    """What `facts.js` says of an element."""

    href: str | None = None
    unseen: bool = False
    """A link that no person can see, though it is there."""
    download: bool = False
    target: str = ""
    marks: dict[str, str] = Field(default_factory=dict)
    submits: bool = False
    form: FormSaid | None = None
    options: tuple[tuple[str, str], ...] = ()
    multiple: bool = False
    readonly: bool = False
    editable: bool = False
    in_label: bool = False
    expanded: str | None = None
    selected: str | None = None
    current: str | None = None
    min_length: int | None = None
    max_length: int | None = None
    pattern: str | None = None
    min: float | None = None
    max: float | None = None

    @property
    def sent_by(self) -> str | None:
        """`METHOD action` of its form, as an `Offer` says it."""
        return clean(f"{self.form.facts.method} {self.form.action}") if self.form else None

    @property
    def mark(self) -> str:
        """Which of several states the control itself is in."""
        return ",".join(each or "-" for each in (self.expanded, self.selected, self.current))


NOTHING_SAID = Said()


@dataclass(frozen=True)
class Look:
    """A page at one moment."""

    url: str
    title: str
    index: PageIndex = field(repr=False)
    said: dict[int, Said] = field(repr=False)
    digests: Digests

    @property
    def address(self) -> str:
        """What the page is told from others by, besides its state."""
        return address_of(self.url)

    @property
    def state(self) -> str:
        """Its structure's digest."""
        return self.digests.state

    @property
    def dialog(self) -> bool:
        """Whether a dialog stands open in it."""
        return any(e.visible and e.role in ("dialog", "alertdialog") for e in self.index.elements)

    @property
    def asks_to_sign_in(self) -> bool:
        """Whether it looks like a page to sign in at: one password, few other fields, none to choose anew."""
        passwords = [e for e in self.index.interactive if e.attributes.get("type") == "password"]
        if len(passwords) != 1 or passwords[0].attributes.get("autocomplete") == "new-password":
            return False
        form = self.said.get(passwords[0].at, NOTHING_SAID).form
        return form is None or form.fields <= _MOST_LOGIN_FIELDS


async def look_at(page: Page) -> Look:
    """The page as it is now. Raises `PageGone` and `ScriptFailed`."""
    index = await look_around(page)
    said = await _facts(page, index, [element.at for element in index.interactive[:MOST_READ]])
    marks = {at: each.mark for at, each in said.items()}
    return Look(
        url=clean(index.url, LONGEST_ADDRESS),
        title=clean(index.title),
        index=index,
        said=said,
        digests=digests(index, marks, of_many=is_of_many(index.url)),
    )


async def offers_of(
    page: Page, look: Look, *, most: int, origins: Collection[str], allowed: Collection[str]
) -> tuple[Offer, ...]:
    """What the page offers, in its order: of repeated rows the first two and one other, `most` at most.

    Raises `PageGone` and `ScriptFailed`.
    """
    rows = _Rows(look)
    wanted = [
        e
        for e in look.index.interactive[:MOST_READ]
        if e.at in look.said and not _is_of_others(e, look.said[e.at]) and rows.keeps(e)
    ]
    if len(wanted) > most:  # what stands in rows has others like it
        first = sorted(wanted, key=lambda e: (rows.has_fellows(e), e.at))[:most]
        wanted = sorted(first, key=lambda e: e.at)
    selectors = await _selectors(page, look.index, [element.at for element in wanted])
    fingerprints = Fingerprints(look.index)
    offers = [
        _offer(
            look, element, number, selector, _fingerprint(fingerprints, element), rows.has_fellows(element)
        )
        for number, (element, selector) in enumerate(zip(wanted, selectors, strict=True), start=1)
    ]
    return tuple(
        _judged(offer, look.said[element.at], offers, origins, allowed)
        for element, offer in zip(wanted, offers, strict=True)
    )


def clean(text: str | None, longest: int = LONGEST_LINE) -> str:
    """A page's text as it may be written: no half characters, not too long."""
    return (text or "")[:longest].encode("utf-8", "replace").decode("utf-8").replace("\0", "")


class _Rows:
    """Which elements stand in rows that have others like them, and which of those are kept."""

    def __init__(self, look: Look) -> None:
        self._look, self._row_of = look, {}
        self._siblings = Counter((each.parent, each.kind) for each in look.index.regions)
        slots: defaultdict[tuple[object, ...], list[int]] = defaultdict(list)
        self._slot: dict[int, tuple[object, ...]] = {}
        for element in look.index.interactive[:MOST_READ]:
            row = self._row(element)
            if row is None:
                continue
            slot = (look.index.regions[row].parent, element.role, self._called(element, row))
            self._row_of[element.at], self._slot[element.at] = row, slot
            if row not in slots[slot]:
                slots[slot].append(row)
        self._rows = slots

    _row_of: dict[int, int]

    def has_fellows(self, element: IndexedElement) -> bool:
        """Whether another row has the like of it."""
        slot = self._slot.get(element.at)
        return slot is not None and len(self._rows[slot]) > 1

    def keeps(self, element: IndexedElement) -> bool:
        """Whether it is one of those that stand for its like."""
        slot = self._slot.get(element.at)
        if slot is None:
            return True
        rows = self._rows[slot]
        sample = {*rows[:2], rows[len(rows) * 2 // 3]}
        return self._row_of[element.at] in sample

    def _row(self, element: IndexedElement) -> int | None:
        """Its row or item, where that is one of data and not of a menu; the nearest with others beside it, rather than
        one that stands alone in it.
        """
        at, found, first = element.region, None, None
        while at is not None:
            region = self._look.index.regions[at]
            if region.kind in _ROWS:
                first = at if first is None else first
                if found is None and self._siblings[region.parent, region.kind] > 1:
                    found = at
            if self._look.index.elements[region.element].role in _MENUS:
                return None
            at = region.parent
        return first if found is None else found

    def _called(self, element: IndexedElement, row: int) -> str:
        """What it leads to, or is called without its row's own words."""
        href = self._look.said.get(element.at, NOTHING_SAID).href
        if href and not href.startswith("#"):
            return place_of(href)
        name = element.name or element.text
        region = self._look.index.regions[row]
        for words in sorted((*region.texts, element.near.row), key=len, reverse=True):
            if words and words != name:
                name = name.replace(words, "")
        return without_numbers(name)


@cache
def _facts_source() -> str:
    return (Path(__file__).parent / "facts.js").read_text(encoding="utf-8")


async def _facts(page: Page, index: PageIndex, places: Sequence[int]) -> dict[int, Said]:
    try:
        told: list[dict[str, Any] | None] = await page.evaluate(_facts_source(), [index.token, list(places)])
    except DriverError as error:
        if library.document_replaced(error):
            return {}
        raise library.mapped(page, error) from error
    try:
        return {
            at: Said.model_validate(each) for at, each in zip(places, told, strict=True) if each is not None
        }
    except (ValidationError, TypeError, ValueError):  # a page that changed what scripts are made of
        return {}


async def _selectors(page: Page, index: PageIndex, places: Sequence[int]) -> list[Selector | None]:
    try:
        return [choice.selector for choice in await selectors_at(page, index, places)]
    except PageRefused:  # too large to be written down: its links can still be opened
        return [None] * len(places)


def _fingerprint(fingerprints: Fingerprints, element: IndexedElement) -> Fingerprint | None:
    try:
        return fingerprints.of(element.at)
    except ValidationError:  # longer texts than any page of a person has
        return None


def _offer(
    look: Look,
    element: IndexedElement,
    number: int,
    selector: Selector | None,
    fingerprint: Fingerprint | None,
    in_row: bool,
) -> Offer:
    said = look.said[element.at]
    kind = element.attributes.get("type", "") if element.tag in ("input", "button") else ""
    why = ""
    if not element.enabled or said.readonly:
        why = "it is disabled" if not element.enabled else "it can only be read"
    elif selector is None:
        why = "nothing stable leads to it"
    elif said.expanded == "true" or said.selected == "true":
        why = "what it shows is shown already"
    return Offer(
        offer_id=f"o{number:03d}",
        action_type=_action(element, said, kind.lower()),
        role=clean(element.role),
        name=clean(element.name or element.text),
        tag=clean(element.tag),
        kind=clean(kind.lower()),
        label=clean(element.label),
        selector=selector,
        fingerprint=fingerprint,
        region=_region(look.index, element),
        in_row=in_row,
        href=clean(said.href, LONGEST_ADDRESS) if said.href and len(said.href) < LONGEST_ADDRESS else None,
        form=said.sent_by,
        required=element.required,
        options=tuple(Option(value=clean(v, 500), label=clean(label, 500)) for v, label in said.options),
        validation=_validation(said),
        why=why,
    )


def _judged(
    offer: Offer, said: Said, beside: Sequence[Offer], origins: Collection[str], allowed: Collection[str]
) -> Offer:
    form = said.form.facts if said.form else None
    verdict = danger_of(offer, form, allowed, marks=said.marks, beside=beside)
    if verdict.danger is not None:
        return offer.model_copy(
            update={
                "danger": verdict.danger,
                "why": clean(verdict.why),
                "allowed_by": clean(verdict.allowed_by),
            }
        )
    if offer.href and origin_of(offer.href) not in ("", *origins):
        return offer.model_copy(update={"danger": "leaves", "why": f"leads to {origin_of(offer.href)[:300]}"})
    return offer


def _is_of_others(element: IndexedElement, said: Said) -> bool:
    """Nothing of its own: a label, a part of one that can be clicked, what holds controls and shows a hand, or a link
    that is laid for robots. A link to a spot of the page may wait for a keyboard to be seen.
    """
    if element.tag == "label" or (said.unseen and not (said.href or "#").startswith("#")):
        return True
    return not element.interactive and (said.in_label or element.role in _HOLDERS)


def _action(element: IndexedElement, said: Said, kind: str) -> str:
    """The canonical action that a person would do with it."""
    if element.tag == "input" and kind == "file":
        return "upload_file"
    if element.tag == "select":
        return "select_option"
    if element.role in _TICK_ROLES and element.checked is not None:
        return "check"
    if element.tag == "textarea" or said.editable:
        return "fill"
    if element.tag == "input" and kind not in _BUTTON_KINDS:
        return "fill"
    return "fill" if element.role in _TEXT_ROLES else "click"


def _region(index: PageIndex, element: IndexedElement) -> str:
    for region in index.regions_of(element):
        if region.kind in _LANDMARKS:
            role = index.elements[region.element].role or region.kind.value
            return clean(f"{role}:{region.name}" if region.name else role)
    return ""


def _validation(said: Said) -> FieldValidation | None:
    told = {
        "min_length": said.min_length,
        "max_length": said.max_length,
        "pattern": said.pattern,
        "min": said.min,
        "max": said.max,
    }
    given = {name: value for name, value in told.items() if value is not None}
    try:
        return FieldValidation.model_validate(given) if given else None
    except ValidationError:  # a pattern that RE2 cannot take
        given.pop("pattern", None)
        return FieldValidation.model_validate(given) if given else None


def leads_elsewhere(offer: Offer, page_url: str) -> bool:
    """Whether it is a link to another address than its page's: one that can be told without following it."""
    if (
        offer.href is None
        or offer.tag not in ("a", "area")
        or not offer.href.startswith(("http://", "https://"))
    ):
        return False
    return not same_document(offer.href, page_url)


def is_anchor(offer: Offer, page_url: str) -> bool:
    """Whether it is a link to another spot of the same document: the same on all pages that have it."""
    href = offer.href or ""
    return bool(href.partition("#")[2]) and (href.startswith("#") or same_document(href, page_url))
