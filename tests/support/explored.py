"""Explorations drawn by hand: pages as HTML, their offers read off them, what was tried as given."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from kb_schema.exploration_folder import ExplorationFolder
from kb_schema.explorations import AttemptedTransition, Exploration, ExplorationPage, Offer
from kb_schema.fingerprints import Fingerprint
from kb_schema.page_snapshots import PageSnapshot
from kb_schema.screens import Option
from web_pages.accessible_names import is_interactive, label_text, name_of, role_of
from web_pages.element_tree import Element
from web_pages.selectors.element_terms import is_row
from web_pages.selectors.selector_generator import PageSelectors
from web_pages.stored_pages import StoredPage

BASE = "https://quay.example"
WHEN = datetime(2026, 1, 2, 3, 4, 5, tzinfo=UTC)
_LANDMARKS = ("navigation", "banner", "main", "contentinfo", "region")


@dataclass
class Drawing:
    """An exploration that grows page by page."""

    folder: ExplorationFolder
    pages: dict[str, ExplorationPage] = field(default_factory=dict)

    def page(self, page_id: str, path: str, html: str, title: str = "", **told: Any) -> ExplorationPage:
        """A page that was seen."""
        url = BASE + path
        snapshot = PageSnapshot(url=url, title=title, html=f"<html><body>{html}</body></html>")
        given = {"depth": 0, "signed_in": True, "openable": True, "status": 200, **told}
        page = ExplorationPage(
            page_id=page_id, url=url, title=title, state=page_id, seen_at=WHEN,
            offers=tuple(_offers(StoredPage(snapshot))), **given,
        )  # fmt: skip
        self.folder.add_page(page, snapshot)
        self.pages[page_id] = page
        return page

    def went(
        self, from_page: str, name: str, to_page: str | None, outcome: str = "arrived", ms: float = 100
    ) -> None:
        """A control of that name was used."""
        offer = next(each for each in self.pages[from_page].offers if each.name == name)
        self.tried(from_page, to_page, outcome, ms, offer_id=offer.offer_id)

    def tried(
        self, from_page: str, to_page: str | None, outcome: str = "arrived", ms: float = 100, **more: Any
    ) -> None:
        """Anything was."""
        self.folder.add_passage(
            AttemptedTransition.model_validate(
                {
                    "from_page": from_page,
                    "to_page": to_page,
                    "outcome": outcome,
                    "duration_ms": ms,
                    "at": WHEN,
                    **more,
                }
            )
        )


def drawing(path: Path, starts: Sequence[str] = ("/",)) -> Drawing:
    """An exploration without any page."""
    folder = ExplorationFolder(path)
    folder.begin(
        Exploration(
            website_id="quay", base_url=BASE, starts=tuple(BASE + each for each in starts), origins=(BASE,),
            started_at=WHEN,
        )
    )  # fmt: skip
    return Drawing(folder)


def _offers(page: StoredPage) -> list[Offer]:
    selectors = PageSelectors(page)
    elements = [each for root in page.roots for each in root.elements if is_interactive(each)]
    return [_offer(number, each, selectors) for number, each in enumerate(elements)]


def _list_attributes(element: Element) -> Iterator[tuple[str, str]]:
    for name in ("id", "name", "type", *(each for each in element.attributes if each.startswith("data-"))):
        value = element.get(name)
        if value:
            yield name, value


def _offer(number: int, element: Element, selectors: PageSelectors) -> Offer:
    href = element.get("href")
    form = next((each for each in element.ancestors() if each.tag == "form"), None)
    roles = [role for each in element.ancestors() if (role := role_of(each)) in _LANDMARKS]
    options = [each for each in element.root.elements if each.tag == "option" and element in each.ancestors()]
    kind = element.get("type") or "" if element.tag in ("input", "button") else ""
    fields = {
        "select": "select_option",
        "textarea": "fill",
        "input": "check" if kind in ("checkbox", "radio") else "fill",
    }
    forms = [each for each in element.root.elements if each.tag == "form"]
    button = element.tag == "button"
    return Offer(
        offer_id=f"o{number}",
        action_type=fields.get(element.tag, "click"),
        role=role_of(element) or "",
        name=name_of(element).strip(),
        tag=element.tag,
        kind=kind,
        label=label_text(element),
        selector=selectors.of(element).selector,
        region=roles[0] if roles else "",
        in_row=any(is_row(each) for each in element.ancestors()),
        href=None if href is None else (href if "://" in href or href == "#" else BASE + href),
        form=None if form is None else f"{(form.get('method') or 'get').upper()} {form.get('action') or ''}",
        form_number=None if form is None else forms.index(form),
        danger="submits" if button and form is not None and form.get("method") == "post" else None,
        fingerprint=Fingerprint(
            role=role_of(element), tag=element.tag, attributes=dict(_list_attributes(element))
        ),
        required=element.get("required") is not None,
        options=tuple(Option(value=each.get("value") or "") for each in options),
    )
