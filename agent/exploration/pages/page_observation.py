"""Observes a page for an exploration: its digest, and its controls with stable selectors and form facts.

`observe_page` is enough to decide whether the page is known; `list_offers` lists the controls of a new page. `dangers`
decides which of them may be tried, and `frontier` which are worth trying.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Collection, Sequence
from dataclasses import dataclass, field
from functools import cache, cached_property
from pathlib import Path
from typing import Any

from playwright.async_api import Error as DriverError
from playwright.async_api import Page
from pydantic import Field, ValidationError

from agent.dangers.danger_rules import FormFacts, judge_offer
from agent.exploration.pages.page_addresses import (
    build_place,
    is_same_document,
    names_one_of_many,
    normalize_address,
)
from agent.exploration.pages.page_digests import PageDigests, compute_page_digests, mask_numbers
from agent.locators.page_fingerprints import PageFingerprints
from agent.locators.page_index import IndexedElement, PageIndex, RegionKind
from agent.locators.page_scan import scan_page
from agent.locators.stable_selectors import choose_selectors
from agent.page import in_page_library
from kb_schema.base import Model
from kb_schema.excerpts import excerpt
from kb_schema.explorations import Offer
from kb_schema.fingerprints import Fingerprint
from kb_schema.screens import FieldValidation, Option
from kb_schema.selectors import Selector
from kb_schema.url_patterns import origin_of
from web_pages.html_tags import FIELD_TAGS
from web_pages.page_limits import PageRefused

MOST_READ, LAST_READ = 800, 200
"""Maximum number of elements of a page whose facts are read, and how many of these at its end."""
DIALOG_ROLES = frozenset({"dialog", "alertdialog"})
LONGEST_LINE, LONGEST_ADDRESS = 1_000, 8_000
_ROWS = (RegionKind.ROW, RegionKind.ITEM)
_LANDMARKS = (RegionKind.LANDMARK, RegionKind.DIALOG)
_MENUS = frozenset({"navigation", "menu", "menubar", "tablist", "banner", "contentinfo"})
TEXT_ROLES = frozenset({"textbox", "searchbox", "spinbutton", "slider"})
_TICK_ROLES = frozenset({"checkbox", "radio", "switch"})
_BUTTON_KINDS = frozenset({"submit", "button", "reset", "image"})
_HOLDERS = frozenset(
    {
        "form",
        "dialog",
        "navigation",
        "main",
        "region",
        "banner",
        "contentinfo",
        "complementary",
        "search",
        "table",
        "list",
        "document",
        "application",
    }
)
_MOST_LOGIN_FIELDS = 6


class ReportedForm(Model):
    """A form as `facts.js` reports it."""

    method: str = "get"
    override: str = ""
    """Value of a hidden `_method` field."""
    action: str = ""
    password: bool = False
    file: bool = False
    fields: int = 0
    names: tuple[str, ...] = ()
    number: int = -1

    @property
    def facts(self) -> FormFacts:
        """Return the facts that `dangers` judges."""
        return FormFacts((self.override or self.method).upper(), self.action)


class ReportedElement(Model):
    """An element as `facts.js` reports it."""

    href: str | None = None
    unseen: bool = False
    """A link that is invisible to people."""
    download: bool = False
    target: str = ""
    marks: dict[str, str] = Field(default_factory=dict)
    submits: bool = False
    form: ReportedForm | None = None
    options: tuple[tuple[str, str], ...] = ()
    multiple: bool = False
    readonly: bool = False
    editable: bool = False
    in_label: bool = False
    expanded: str | None = None
    selected: str | None = None
    current: str | None = None
    item: tuple[int, int, bool] | None = None
    """List, number and whether it is the item itself, if it is in an item that is none by its markup."""
    over: bool | None = None
    """Whether it lies in the layer that covers the page; None if nothing does."""
    floats: bool = False
    """Whether it is positioned over the page."""
    min_length: int | None = None
    max_length: int | None = None
    pattern: str | None = None
    min: float | None = None
    max: float | None = None

    @property
    def sent_by(self) -> str | None:
        """`METHOD action` of its form, as in an `Offer`."""
        return clean_text(f"{self.form.facts.method} {self.form.action}") if self.form else None

    @property
    def mark(self) -> str:
        """The state of the control (such as selected or expanded)."""
        return ",".join(each or "-" for each in (self.expanded, self.selected, self.current))


NO_REPORTED_ELEMENT = ReportedElement()


@dataclass(frozen=True)
class PageObservation:
    """A page at one point in time."""

    url: str
    title: str
    index: PageIndex = field(repr=False)
    said: dict[int, ReportedElement] = field(repr=False)
    digests: PageDigests

    @property
    def address(self) -> str:
        """The address that identifies the page together with its state."""
        return normalize_address(self.url)

    @property
    def state(self) -> str:
        """The digest of its structure."""
        return self.digests.state

    @property
    def dialog(self) -> bool:
        """Whether a dialog is open, with or without a role."""
        return bool(self.covering) or any(e.visible and e.role in DIALOG_ROLES for e in self.index.elements)

    @cached_property
    def construction(self) -> tuple[tuple[str, ...], ...]:
        """What it is made of apart from texts: its controls with their states and developers' names, and its headings."""
        controls = (
            (each.tag, each.role or "", self.said[each.at].mark, *each.identities)
            for each in self.index.interactive
            if each.at in self.said
        )
        headings = (
            ("heading", each.name) for each in self.index.elements if each.visible and each.role == "heading"
        )
        return (*controls, *headings)

    @cached_property
    def covering(self) -> frozenset[int]:
        """The controls in the layer that covers the page; empty if nothing does."""
        return frozenset(at for at, each in self.said.items() if each.over)

    @cached_property
    def items(self) -> frozenset[int]:
        """The controls in items that are none by their markup."""
        return frozenset(at for at, each in self.said.items() if each.item is not None)

    @property
    def asks_to_sign_in(self) -> bool:
        """Whether it looks like a login page: one password field, few other fields, and no new password."""
        passwords = [e for e in self.index.interactive if e.attributes.get("type") == "password"]
        if len(passwords) != 1 or passwords[0].attributes.get("autocomplete") == "new-password":
            return False
        form = self.said.get(passwords[0].at, NO_REPORTED_ELEMENT).form
        return form is None or form.fields <= _MOST_LOGIN_FIELDS


async def observe_page(page: Page) -> PageObservation:
    """Observe the current page. Raises `PageGone` and `ScriptFailed`."""
    index = await scan_page(page)
    said = await _facts(page, index, [element.at for element in _read(index)])
    marks = {at: each.mark for at, each in said.items()}
    items = frozenset(at for at, each in said.items() if each.item is not None)
    floating = frozenset(at for at, each in said.items() if each.floats)
    covered = any(each.over for each in said.values())
    return PageObservation(
        url=clean_text(index.url, LONGEST_ADDRESS),
        title=clean_text(index.title),
        index=index,
        said=said,
        digests=compute_page_digests(
            index,
            marks,
            of_many=names_one_of_many(index.url),
            items=items,
            floating=floating,
            covered=covered,
        ),
    )


def _read(index: PageIndex) -> list[IndexedElement]:
    """Return the controls whose facts are read: of very long pages the first and the last, where dialogs are."""
    found = index.interactive
    return list(found if len(found) <= MOST_READ else (*found[: MOST_READ - LAST_READ], *found[-LAST_READ:]))


async def list_offers(
    page: Page,
    look: PageObservation,
    *,
    most: int,
    origins: Collection[str],
    allowed: Collection[str],
    on_top: Collection[int] = (),
) -> tuple[Offer, ...]:
    """Return the controls of a page in page order; of repeated rows only the first two and one other.

    `on_top` are the controls of the layer that lies on the page: then all of these are returned, and no others. Else
    at most `most` are to be tried, of each kind some; of the others, `NOTED_PER_TRIED` times as many are noted at most.
    Raises `PageGone` and `ScriptFailed`.
    """
    rows = _RowOffers(look)
    controls = _list_controls(look, rows, on_top)
    tried = {each.at for each in _choose_of_each_kind(controls, rows, len(on_top) or most)}
    wanted = controls if on_top else _choose_of_each_kind(controls, rows, NOTED_PER_TRIED * most)
    selectors = await _selectors(page, look.index, [element.at for element in wanted])
    fingerprints = PageFingerprints(look.index)
    offers = [
        _offer(
            look,
            element,
            number,
            selector,
            _fingerprint(fingerprints, element),
            in_row=rows.has_fellows(element),
            tried=element.at in tried,
        )
        for number, (element, selector) in enumerate(zip(wanted, selectors, strict=True), start=1)
    ]
    return tuple(
        _judge_control(offer, look.said[element.at], offers, origins, allowed)
        for element, offer in zip(wanted, offers, strict=True)
    )


def count_left_out(look: PageObservation, most: int) -> int:
    """Return how many controls `list_offers` leaves out, without those that rows repeat. `most`: of those that are tried."""
    return max(0, len(_list_controls(look, _RowOffers(look), ())) - NOTED_PER_TRIED * most)


def _list_controls(look: PageObservation, rows: _RowOffers, on_top: Collection[int]) -> list[IndexedElement]:
    return [
        e
        for e in _read(look.index)
        if e.at in look.said
        and not _belongs_to_other_element(e, look.said[e.at])
        and rows.keeps(e)
        and (not on_top or e.at in on_top)
    ]


def _choose_of_each_kind(
    wanted: Sequence[IndexedElement], rows: _RowOffers, most: int
) -> list[IndexedElement]:
    """Return at most `most` controls: those in rows, which other rows have too, last, then those of a kind of which
    there are many.
    """
    if len(wanted) <= most:
        return list(wanted)
    times: Counter[tuple[object, ...]] = Counter()
    order = {}
    for element in wanted:
        kind = (element.tag, element.role, *element.classes)
        times[kind] += 1
        order[element.at] = (rows.has_fellows(element), times[kind], element.at)
    return sorted(sorted(wanted, key=lambda e: order[e.at])[:most], key=lambda e: e.at)


def clean_text(text: str | None, longest: int = LONGEST_LINE) -> str:
    """Return a page's text without surrogates and cut to `longest` characters."""
    return (text or "")[:longest].encode("utf-8", "replace").decode("utf-8").replace("\0", "")


NAMED_BY_DATA = "named by data"
NOTED_PER_TRIED = 4
"""Of a page so many times the controls are noted that are tried at most."""
FEW_ROWS = 8
"""So many rows whose controls have names of their own are all kept."""


class _RowOffers:
    """Selects which elements of repeated rows are kept."""

    def __init__(self, look: PageObservation) -> None:
        self._look, self._row_of = look, {}
        self._siblings = Counter((each.parent, each.kind) for each in look.index.regions)
        slots: defaultdict[tuple[object, ...], list[int]] = defaultdict(list)
        self._slot: dict[int, tuple[object, ...]] = {}
        found = [(element, place) for element in _read(look.index) if (place := self._slot_of(element))]
        times = Counter(slot for _, (_, slot) in found)
        for element, (row, slot) in found:
            named = self._named_by_data(element, row) if times[slot] == 1 else None
            self._row_of[element.at], self._slot[element.at] = row, named or slot
            if row not in slots[named or slot]:
                slots[named or slot].append(row)
        self._rows = slots

    _row_of: dict[int, int]

    def _slot_of(self, element: IndexedElement) -> tuple[int, tuple[object, ...]] | None:
        """Return the number of its row, and what the elements that correspond to it in other rows have in common."""
        item = self._look.said.get(element.at, NO_REPORTED_ELEMENT).item
        if item is not None and not self._in_menu(element):
            listed, number, whole = item
            return number, ("item", listed, element.role, "" if whole else mask_numbers(element.name))
        row = self._row(element)
        if row is None:
            return None
        return row, (self._look.index.regions[row].parent, element.role, self._called(element, row))

    def _named_by_data(self, element: IndexedElement, row: int) -> tuple[object, ...] | None:
        """Return what the controls have in common that each row has with a name of its own, and no address: what opens it."""
        told = self._look.said.get(element.at, NO_REPORTED_ELEMENT)
        kind = element.attributes.get("class", "").split()[:1]
        if told.item is not None or told.href or element.tag in FIELD_TAGS or not kind:
            return None
        return (NAMED_BY_DATA, self._look.index.regions[row].parent, element.role, element.tag, *kind)

    def _in_menu(self, element: IndexedElement) -> bool:
        regions = self._look.index.regions_of(element)
        return any(self._look.index.elements[each.element].role in _MENUS for each in regions)

    def has_fellows(self, element: IndexedElement) -> bool:
        """Whether another row has a corresponding element."""
        slot = self._slot.get(element.at)
        return slot is not None and len(self._rows[slot]) > 1

    def keeps(self, element: IndexedElement) -> bool:
        """Whether the element is kept as a representative."""
        slot = self._slot.get(element.at)
        if slot is None:
            return True
        rows = self._rows[slot]
        if (
            slot[0] == NAMED_BY_DATA and len(rows) <= FEW_ROWS
        ):  # they may be different things: a list of settings
            return True
        sample = {*rows[:2], rows[len(rows) * 2 // 3]}
        return self._row_of[element.at] in sample

    def _row(self, element: IndexedElement) -> int | None:
        """Return the nearest data row or item with siblings that contains it; menu items do not count."""
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
        """Return its destination, the name under which a field is sent, or its name without the texts of its row."""
        href = self._look.said.get(element.at, NO_REPORTED_ELEMENT).href
        if href and not href.startswith("#"):
            return build_place(href)
        sent = element.attributes.get("name", "")
        if sent and element.tag in FIELD_TAGS:
            return mask_numbers(sent)
        name = element.name or element.text
        region = self._look.index.regions[row]
        for words in sorted((*region.texts, element.near.row), key=len, reverse=True):
            if words and words != name:
                name = name.replace(words, "")
        return mask_numbers(name)


@cache
def _facts_source() -> str:
    return (Path(__file__).parent / "facts.js").read_text(encoding="utf-8")


async def _facts(page: Page, index: PageIndex, places: Sequence[int]) -> dict[int, ReportedElement]:
    try:
        told: list[dict[str, Any] | None] = await page.evaluate(_facts_source(), [index.token, list(places)])
    except DriverError as error:
        if in_page_library.document_replaced(error):
            return {}
        raise in_page_library.translate_error(page, error) from error
    try:
        return {
            at: ReportedElement.model_validate(each)
            for at, each in zip(places, told, strict=True)
            if each is not None
        }
    except (ValidationError, TypeError, ValueError):  # a page that replaced built-in objects
        return {}


async def _selectors(page: Page, index: PageIndex, places: Sequence[int]) -> list[Selector | None]:
    try:
        return [choice.selector for choice in await choose_selectors(page, index, places)]
    except PageRefused:  # too large to record: its links can still be opened
        return [None] * len(places)


def _fingerprint(fingerprints: PageFingerprints, element: IndexedElement) -> Fingerprint | None:
    try:
        return fingerprints.of(element.at)
    except ValidationError:  # extremely long texts
        return None


def _offer(
    look: PageObservation,
    element: IndexedElement,
    number: int,
    selector: Selector | None,
    fingerprint: Fingerprint | None,
    *,
    in_row: bool,
    tried: bool,
) -> Offer:
    said = look.said[element.at]
    kind = element.attributes.get("type", "") if element.tag in ("input", "button") else ""
    why = ""
    if not element.enabled or said.readonly:
        why = "it is disabled" if not element.enabled else "it is read-only"
    elif selector is None:
        why = "it has no stable selector"
    elif said.expanded == "true" or said.selected == "true":
        why = "its content is shown already"
    elif not tried:
        why = "others of its kind are tried"
    return Offer(
        offer_id=f"o{number:03d}",
        action_type=_action(element, said, kind.lower()),
        role=clean_text(element.role),
        name=clean_text(element.name or element.text),
        tag=clean_text(element.tag),
        kind=clean_text(kind.lower()),
        label=clean_text(element.label),
        selector=selector,
        fingerprint=fingerprint,
        region=_region(look.index, element),
        in_row=in_row,
        href=clean_text(said.href, LONGEST_ADDRESS)
        if said.href and len(said.href) < LONGEST_ADDRESS
        else None,
        form=said.sent_by,
        form_number=said.form.number if said.form is not None and said.form.number >= 0 else None,
        required=element.required,
        options=tuple(
            Option(value=clean_text(v, 500), label=clean_text(label, 500)) for v, label in said.options
        ),
        validation=_validation(said),
        why=why,
    )


def _judge_control(
    offer: Offer,
    said: ReportedElement,
    beside: Sequence[Offer],
    origins: Collection[str],
    allowed: Collection[str],
) -> Offer:
    form = said.form.facts if said.form else None
    verdict = judge_offer(offer, form, allowed, marks=said.marks, beside=beside)
    if verdict.danger is not None:
        return offer.model_copy(
            update={
                "danger": verdict.danger,
                "why": clean_text(verdict.why),
                "allowed_by": clean_text(verdict.allowed_by),
            }
        )
    if offer.href and origin_of(offer.href) not in ("", *origins):
        return offer.model_copy(
            update={"danger": "leaves", "why": f"leads to {excerpt(origin_of(offer.href), 300)}"}
        )
    return offer


def _belongs_to_other_element(element: IndexedElement, said: ReportedElement) -> bool:
    """Whether it is no control of its own: a label of one, a part of a control, a container with a pointer cursor, or a
    hidden link for robots. Hidden links to a position of the page are kept: they may appear on keyboard focus.
    """
    if (element.tag == "label" and said.in_label) or (said.unseen and not (said.href or "#").startswith("#")):
        return True
    return not element.interactive and (said.in_label or element.role in _HOLDERS)


def _action(element: IndexedElement, said: ReportedElement, kind: str) -> str:
    """Return the canonical action for a control."""
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
    return "fill" if element.role in TEXT_ROLES else "click"


def _region(index: PageIndex, element: IndexedElement) -> str:
    for region in index.regions_of(element):
        if region.kind in _LANDMARKS:
            role = index.elements[region.element].role or region.kind.value
            return clean_text(f"{role}:{region.name}" if region.name else role)
    return ""


def _validation(said: ReportedElement) -> FieldValidation | None:
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
    except ValidationError:  # a pattern that RE2 does not support
        given.pop("pattern", None)
        return FieldValidation.model_validate(given) if given else None


def leads_to_other_address(offer: Offer, page_url: str) -> bool:
    """Whether it is a link to another address than that of its page."""
    if (
        offer.href is None
        or offer.tag not in ("a", "area")
        or not offer.href.startswith(("http://", "https://"))
    ):
        return False
    return not is_same_document(offer.href, page_url)


def is_anchor(offer: Offer, page_url: str) -> bool:
    """Whether it is a link to another spot of the same document: the same on all pages that have it."""
    href = offer.href or ""
    return bool(href.partition("#")[2]) and (href.startswith("#") or is_same_document(href, page_url))
