"""Signs in with the login form of a website and the given inputs."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from contextlib import suppress

from playwright.async_api import Browser, Page, StorageState
from playwright.async_api import Error as PlaywrightError

from agent.exploration.pages.page_observation import PageObservation, list_offers, observe_page
from agent.exploration.requests.request_guard import RequestGuard
from agent.exploration.tab.exploration_tab import AttemptResult, ExplorationTab
from kb_schema.explorations import Offer
from kb_schema.selectors import ValueStrategy
from kb_schema.url_patterns import origin_of
from periplus.errors import UserError
from periplus.session_setup import open_fresh_context

MOST_STEPS = 4
"""Maximum number of consecutive forms: for example user name, password and code."""
MOST_OFFERS = 80
PAGE_S = 20.0
LATE_FORM_MS = 10_000
"""Milliseconds that are waited for the first field of a page that has none yet."""
_BUTTONS = frozenset({"submit", "image"})


async def sign_in_by_form(browser: Browser, url: str, inputs: Mapping[str, str]) -> StorageState:
    """Sign in and return the storage state. Raises `UserError` if signing in fails."""
    async with open_fresh_context(browser) as context:
        tab = ExplorationTab(context, RequestGuard([origin_of(url)]), PAGE_S)
        arrival = await tab.open(url)
        left = dict(inputs)
        for _ in range(MOST_STEPS):
            look = _require_page_index(arrival, url)
            if not look.asks_to_sign_in and not left:
                break
            arrival = await _submit_one_form(tab, look, left)
        if _require_page_index(arrival, url).asks_to_sign_in:
            raise UserError(
                "signing in failed: the website still asks for the password",
                fix="check the values of --input",
            )
        return await context.storage_state()


async def _submit_one_form(tab: ExplorationTab, look: PageObservation, left: dict[str, str]) -> AttemptResult:
    """Fill in the fields of one form and submit it; removes the used inputs from `left`."""
    page = await tab.page()
    offers, filled = await _find_fields(page, look, left)
    if not filled:  # an application may draw its form long after its page has loaded
        with suppress(PlaywrightError):
            await page.locator("input:visible").first.wait_for(timeout=LATE_FORM_MS)
        look = await observe_page(page)
        offers, filled = await _find_fields(page, look, left)
    if not filled:
        told = ", ".join(sorted(left)) or "a name and a password"
        raise UserError(
            f"no login form was found for {told}",
            fix="give --input with the label of each field, and the address of the form with --sign-in-url",
        )
    for name, field in filled:
        if not await tab.put(field, left.pop(name), secret=field.kind == "password"):
            raise UserError(
                f"the field for {name!r} does not accept its value", fix="watch the page with --headed"
            )
    button = find_submit_button(filled[-1][1], offers)
    if button is None:
        raise UserError("the login form has no button", fix="sign in with a task: --sign-in TASK")
    return await tab.use(button, look)


async def _find_fields(
    page: Page, look: PageObservation, names: Iterable[str]
) -> tuple[Sequence[Offer], list[tuple[str, Offer]]]:
    """Return the controls of the page, and the field for each name that has one."""
    offers = await list_offers(page, look, most=MOST_OFFERS, origins=[origin_of(look.url)], allowed=())
    return offers, [(name, field) for name in names if (field := find_field(name, offers)) is not None]


def find_field(name: str, offers: Sequence[Offer]) -> Offer | None:
    """Return the field for an input's name: an equal label, a password field, a label that contains it, or the field for
    the user name.
    """
    fields = [offer for offer in offers if offer.action_type == "fill" and offer.selector is not None]
    wanted = _normalize_text(name)
    exact = [field for field in fields if wanted in _list_field_names(field)]
    if exact:
        return exact[0]
    secret = [field for field in fields if field.kind == "password"]
    if "pass" in wanted and secret:
        return secret[0]
    named = [field for field in fields if any(wanted in said for said in _list_field_names(field))]
    if named:
        return named[0]
    beside = [
        field
        for field in fields
        if field.kind in ("email", "text", "") and secret and field.form == secret[0].form
    ]
    return beside[0] if len(beside) == 1 else None


def find_submit_button(field: Offer, offers: Sequence[Offer]) -> Offer | None:
    """Return the submit control of a field's form: its first button."""
    own = [
        each
        for each in offers
        if each.form == field.form
        and each.action_type == "click"
        and each.href is None
        and each.selector is not None
    ]
    sending = [each for each in own if each.kind in _BUTTONS or each.danger == "submits"]
    return next(iter((*sending, *own)), None)


def _list_field_names(field: Offer) -> list[str]:
    """Return the labels and technical names of a field."""
    attributes = {} if field.fingerprint is None else field.fingerprint.attributes
    strategies = () if field.selector is None else field.selector.strategies
    ids = [each.value for each in strategies if isinstance(each, ValueStrategy) and each.type == "id"]
    said = (field.label, field.name, attributes.get("name", ""), *ids)
    return [_normalize_text(each) for each in said if each]


def _normalize_text(text: str) -> str:
    return " ".join(text.casefold().replace("_", " ").replace("-", " ").split()).rstrip(":* ")


def _require_page_index(arrival: AttemptResult, url: str) -> PageObservation:
    if arrival.look is None:
        raise UserError(
            f"{url} cannot be opened: {arrival.message or arrival.outcome}", fix="check the address"
        )
    return arrival.look
