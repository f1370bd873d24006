"""Signs in by the form that a site shows to those it does not know: fills what was given, and sends it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from playwright.async_api import Browser, StorageState

from agent.mapping.guarding import Guard
from agent.mapping.looking import Look, offers_of
from agent.mapping.trying import Arrival, Tab
from kb_schema.mapping import Offer
from kb_schema.selectors import ValueStrategy
from kb_schema.urls import origin_of
from periplus.errors import UserError
from periplus.voyage import fresh_context

MOST_STEPS = 4
"""Forms that are filled one after another: name first, then the password, then a code."""
MOST_OFFERS = 80
PAGE_S = 20.0
_BUTTONS = frozenset({"submit", "image"})


async def sign_in_by_form(browser: Browser, url: str, inputs: Mapping[str, str]) -> StorageState:
    """What the browser knows once it is signed in. Raises `UserError` where it is not."""
    async with fresh_context(browser) as context:
        tab = Tab(context, Guard([origin_of(url)]), PAGE_S)
        arrival = await tab.open(url)
        left = dict(inputs)
        for _ in range(MOST_STEPS):
            look = _seen(arrival, url)
            if not look.asks_to_sign_in and not left:
                break
            arrival = await _one_form(tab, look, left)
        if _seen(arrival, url).asks_to_sign_in:
            raise UserError(
                "signing in did not succeed: the site asks for the password still",
                fix="see the values of --input",
            )
        return await context.storage_state()


async def _one_form(tab: Tab, look: Look, left: dict[str, str]) -> Arrival:
    """Fills what fits and sends it; what was filled is taken from `left`."""
    page = await tab.page()
    offers = await offers_of(page, look, most=MOST_OFFERS, origins=[origin_of(look.url)], allowed=())
    filled = [(name, field) for name in left if (field := field_for(name, offers)) is not None]
    if not filled:
        told = ", ".join(sorted(left)) or "a name and a password"
        raise UserError(
            f"no form to sign in was found for {told}",
            fix="give --input for each field as the page calls it, and the address of the form with --sign-in-url",
        )
    for name, field in filled:
        if not await tab.put(field, left.pop(name)):
            raise UserError(
                f"the field for {name!r} does not take its value", fix="see the page with --headed"
            )
    button = button_of(filled[-1][1], offers)
    if button is None:
        raise UserError("the form to sign in has no button", fix="sign in by a task: --sign-in TASK")
    return await tab.use(button, look)


def field_for(name: str, offers: Sequence[Offer]) -> Offer | None:
    """The field that is meant by an input's name: the one called so, one for passwords, one that has it in its name,
    or the one for who it is.
    """
    fields = [offer for offer in offers if offer.action_type == "fill" and offer.selector is not None]
    wanted = _plain(name)
    exact = [field for field in fields if wanted in _said(field)]
    if exact:
        return exact[0]
    secret = [field for field in fields if field.kind == "password"]
    if "pass" in wanted and secret:
        return secret[0]
    named = [field for field in fields if any(wanted in said for said in _said(field))]
    if named:
        return named[0]
    beside = [
        field
        for field in fields
        if field.kind in ("email", "text", "") and secret and field.form == secret[0].form
    ]
    return beside[0] if len(beside) == 1 else None


def button_of(field: Offer, offers: Sequence[Offer]) -> Offer | None:
    """What sends the form of a field: the first button of it."""
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


def _said(field: Offer) -> list[str]:
    """What a field is called, for people and for programs."""
    attributes = {} if field.fingerprint is None else field.fingerprint.attributes
    strategies = () if field.selector is None else field.selector.strategies
    ids = [each.value for each in strategies if isinstance(each, ValueStrategy) and each.type == "id"]
    said = (field.label, field.name, attributes.get("name", ""), *ids)
    return [_plain(each) for each in said if each]


def _plain(text: str) -> str:
    return " ".join(text.casefold().replace("_", " ").replace("-", " ").split()).rstrip(":* ")


def _seen(arrival: Arrival, url: str) -> Look:
    if arrival.look is None:
        raise UserError(
            f"{url} cannot be opened: {arrival.message or arrival.outcome}", fix="see the address"
        )
    return arrival.look
