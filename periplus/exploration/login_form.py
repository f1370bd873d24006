"""Signs in with the login form of a website and the given inputs."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from urllib.parse import urlsplit

from playwright.async_api import Browser, Page, StorageState
from playwright.async_api import Error as PlaywrightError

from agent.browser.storage_state import save_session
from agent.dangers.danger_words import HARM, find_danger_in_words
from agent.exploration.pages.page_observation import PageObservation, list_offers, observe_page
from agent.exploration.requests.request_guard import RequestGuard
from agent.exploration.tab.exploration_context import open_context
from agent.exploration.tab.exploration_tab import AttemptResult, ExplorationTab
from agent.page.page_refusals import read_refusal_signs
from kb_schema.excerpts import excerpt
from kb_schema.explorations import Offer, SentSignInForm
from kb_schema.secret_fields import is_secret_name
from kb_schema.selectors import ValueStrategy
from kb_schema.text_similarity import words
from kb_schema.url_patterns import origin_of
from periplus.errors import UserError
from periplus.exploration.sign_in_form_check import (
    SIGN_IN,
    SIGN_IN_PATH,
    find_other_purpose,
    fold_form_text,
    is_new_password,
)
from periplus.exploration.sign_in_requests import SignInRequests, hold_sign_in_requests
from periplus.session_setup import open_fresh_context

MOST_STEPS = 4
"""Maximum number of consecutive forms: for example user name, password and code."""
MOST_OFFERS = 80
PAGE_S = 20.0
LATE_FORM_MS = 10_000
"""Milliseconds that are waited for the first field of a page that has none yet."""
MOST_WAYS = 3
"""Links and buttons that are tried to find the login form."""
LONGEST_REASON = 200
"""The most characters of what a page says is wrong."""
_BUTTONS = frozenset({"submit", "image"})
_USER_KINDS = frozenset({"email", "text", ""})


@dataclass(frozen=True, slots=True)
class FormSignIn:
    """What signing in with a form led to."""

    state: StorageState
    forms: tuple[SentSignInForm, ...] = ()
    home: str = ""
    """Where the website led, if the page that was named asks to sign in also those who have."""


async def sign_in_by_form(browser: Browser, url: str, inputs: Mapping[str, str]) -> FormSignIn:
    """Sign in and return the session. Raises `UserError` if signing in fails.

    `url` may be a page that leads to the form. Inputs for which no form has a field are left alone: they are for what comes
    after signing in.
    """
    async with open_fresh_context(browser) as context, hold_sign_in_requests(context, inputs) as requests:
        tab = ExplorationTab(context, RequestGuard([origin_of(url)]), PAGE_S)
        arrival = await tab.open(url)
        look = _require_page_index(arrival, url)
        if not look.asks_to_sign_in or await _is_for_something_else(tab, look, inputs):
            arrival = await _go_to_form(browser, tab, look, inputs)
        left, sent = dict(inputs), list[SentSignInForm]()
        for at in range(MOST_STEPS):
            look = _require_page_index(arrival, url)
            if at > 0 and not look.asks_to_sign_in and not await _asks_for_more(tab, look, left):
                break
            if sent and not left:
                raise await _report_refused_values(tab)
            arrival, form = await _submit_one_form(tab, look, left, requests)
            if requests.refused:
                raise _no_sign_in_form(look, requests.refused[0])
            sent.append(form)
            arrival = await _require_other_page(tab, arrival, form, url)
        came = _require_page_index(arrival, url)
        if came.asks_to_sign_in:
            raise await _report_refused_values(tab)
        state = await save_session(context)
        named = (await tab.open(url)).look
        if named is None or not named.asks_to_sign_in:
            return FormSignIn(state, tuple(sent))
        again = named if came.url == url else (await tab.open(came.url)).look
        if again is not None and again.asks_to_sign_in:
            raise UserError(
                f"{came.url} asks to sign in again whenever it is loaded: the website keeps its sign-in in the open page alone",
                fix="such a website can only be explored without sign-in; let the people who make it keep the session in the browser",
            )
        return FormSignIn(state, tuple(sent), came.url)


async def _go_to_form(
    browser: Browser, tab: ExplorationTab, look: PageObservation, inputs: Mapping[str, str]
) -> AttemptResult:
    """Go to the login form to which a link or button of a page leads; stay if none does."""
    way = await _find_way(browser, look.url, inputs)
    if isinstance(way, Offer):
        return await tab.use(way, look)
    return await tab.open(look.url if way is None else way)


async def _find_way(browser: Browser, url: str, inputs: Mapping[str, str]) -> Offer | str | None:
    """Return the address of the form to which a page leads, or the control that shows it on the page; None if nothing does.

    It is looked for in a context of its own, from which nothing is sent that may change data. A page that asks for the user name
    alone is known by its address: a field elsewhere may be that of a newsletter.
    """
    guard = RequestGuard([origin_of(url)])
    async with open_context(browser, None, guard) as context:
        tab = ExplorationTab(context, guard, PAGE_S)
        look = (await tab.open(url)).look
        if look is None:
            return None
        offers, filled = await _find_fields(await tab.page(), look, inputs)
        if filled and SIGN_IN_PATH.search(urlsplit(look.url).path):
            return None
        for offer in find_sign_in_controls(offers)[:MOST_WAYS]:
            came = (await tab.use(offer, look)).look
            if came is not None and came.asks_to_sign_in and not guard.list_writes():
                return offer if came.url == look.url else came.url
            look = (await tab.open(url)).look or look
    return None


async def _is_for_something_else(
    tab: ExplorationTab, look: PageObservation, inputs: Mapping[str, str]
) -> bool:
    """Whether the form of a page with a password is no sign-in form: a link beside it may lead to that."""
    page = await tab.page()
    offers, filled = await _find_fields(page, look, inputs)
    button = find_submit_button(filled[-1][1], offers) if filled else None
    return button is not None and bool(
        await find_other_purpose(page, button, offers, [field for _, field in filled])
    )


async def _asks_for_more(tab: ExplorationTab, look: PageObservation, left: Mapping[str, str]) -> bool:
    """Whether the page after a form has fields for secrets that are left, as for a password or a code."""
    secrets = [name for name in left if is_secret_name(name)]
    return bool(secrets) and bool((await _find_fields(await tab.page(), look, secrets))[1])


def find_sign_in_controls(offers: Sequence[Offer]) -> list[Offer]:
    """Return the links and buttons that say by their words, or else by their address, that they lead to a login form."""
    ways = [
        each
        for each in offers
        if each.action_type == "click"
        and each.kind not in _BUTTONS
        and each.danger is None
        and not _names_harm(each)
    ]
    said = [each for each in ways if SIGN_IN.search(fold_form_text(each.label or each.name))]
    led = [each for each in ways if each.href is not None and SIGN_IN_PATH.search(urlsplit(each.href).path)]
    return [*said, *(each for each in led if each not in said)]


async def _submit_one_form(
    tab: ExplorationTab, look: PageObservation, left: dict[str, str], requests: SignInRequests
) -> tuple[AttemptResult, SentSignInForm]:
    """Fill in the fields of one form and submit it; removes the used inputs from `left`. Returns what came, and the form.

    Nothing is typed into a form that is for something else than signing in.
    """
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
    button = find_submit_button(filled[-1][1], offers)
    if button is None:
        raise UserError("the login form has no button", fix="sign in with a task: --sign-in TASK")
    if other := await find_other_purpose(page, button, offers, [field for _, field in filled]):
        raise _no_sign_in_form(look, other)
    requests.typed = True
    for name, field in filled:
        if not await tab.put(field, left.pop(name), secret=field.kind == "password"):
            raise UserError(
                f"the field for {name!r} does not accept its value", fix="watch the page with --headed"
            )
    return await tab.use(button, look), SentSignInForm(url=look.url, fields=tuple(filled), button=button)


async def _report_refused_values(tab: ExplorationTab) -> UserError:
    """Return the error for a website that asks for the password again, with what its page says is wrong."""
    signs = await read_refusal_signs(await tab.page())
    said = excerpt("; ".join(each.text for each in signs.messages if each.wrong or each.live), LONGEST_REASON)
    return UserError(
        f"signing in failed: {f'the website says: {said}' if said else 'the website still asks for the password'}",
        fix="check the values of --input",
    )


async def _require_other_page(
    tab: ExplorationTab, arrival: AttemptResult, sent: SentSignInForm, url: str
) -> AttemptResult:
    """Return what came after a form was sent. Raises `UserError` if that form comes again, with its password.

    An application that changes its page by script may show the form until its answer is there.
    """
    if not await _shows_again(tab, _require_page_index(arrival, url), sent):
        return arrival
    page = await tab.page()
    with suppress(PlaywrightError):
        await page.locator("input[type=password]:visible").first.wait_for(
            state="hidden", timeout=LATE_FORM_MS
        )
    look = await observe_page(page)
    if await _shows_again(tab, look, sent):
        raise await _report_refused_values(tab)
    return replace(arrival, look=look)


async def _shows_again(tab: ExplorationTab, look: PageObservation, sent: SentSignInForm) -> bool:
    """Whether a page has the form that was sent: a password field of the same names beside a button of the same name."""
    passwords = [_list_field_names(field) for _, field in sent.fields if field.kind == "password"]
    if not passwords:
        return False
    offers = await list_offers(
        await tab.page(), look, most=MOST_OFFERS, origins=[origin_of(look.url)], allowed=()
    )
    said = sent.button.label or sent.button.name
    again = (each for each in offers if each.kind == "password" and _list_field_names(each) in passwords)
    return any(
        (button.label or button.name) == said
        for button in (find_submit_button(each, offers) for each in again)
        if button is not None
    )


def _no_sign_in_form(look: PageObservation, why: str) -> UserError:
    return UserError(
        f"the form on {urlsplit(look.url).path} is no sign-in form: {why}",
        fix="check the e-mail: websites lead one that they do not know to a form for a new account; or give the address of the "
        "form with --sign-in-url, or sign in with --sign-in TASK or --storage-state FILE",
    )


def _names_harm(offer: Offer) -> bool:
    """Whether a control says what is done after signing in, and that does harm: `Log in to cancel subscription`.

    A link opens a page: of one only the words count that tell a deed of a link.
    """
    said = words(offer.label or offer.name)
    rests = (" ".join(said[at:]) for at in range(1, len(said)))
    dangers = (find_danger_in_words(each, pressed=offer.href is None) for each in rests)
    return any(each is not None and each[0] in HARM for each in dangers)


async def _find_fields(
    page: Page, look: PageObservation, names: Iterable[str]
) -> tuple[Sequence[Offer], list[tuple[str, Offer]]]:
    """Return the controls of the page, and the field for each name that has one."""
    offers = await list_offers(page, look, most=MOST_OFFERS, origins=[origin_of(look.url)], allowed=())
    found = find_fields(names, _without_new_accounts(offers))
    return offers, sorted(found.items(), key=lambda each: offers.index(each[1]))


def _without_new_accounts(offers: Sequence[Offer]) -> Sequence[Offer]:
    """Return the controls without those of forms that ask for a new password, if another form asks for a password."""
    passwords = [each for each in offers if each.kind == "password"]
    new = {(each.form, each.form_number) for each in passwords if is_new_password(each)}
    rest = [each for each in offers if (each.form, each.form_number) not in new]
    return rest if any(each in rest for each in passwords) else offers


def find_fields(names: Iterable[str], offers: Sequence[Offer]) -> dict[str, Offer]:
    """Return the field for each input's name that has one; no field has two.

    By falling certainty: an equal label or technical name, a password field, a label that contains the name, the field for the
    user name.
    """
    fields = [offer for offer in offers if offer.action_type == "fill" and offer.selector is not None]
    secret = [field for field in fields if field.kind == "password"]
    form = secret[0].form if secret else None
    users = [field for field in fields if field.kind in _USER_KINDS and secret and field.form == form]

    def find_exact(wanted: str) -> list[Offer]:
        return [field for field in fields if wanted in _list_field_names(field)]

    def find_password(wanted: str) -> list[Offer]:
        return secret if "pass" in wanted else []

    def find_named(wanted: str) -> list[Offer]:
        return [field for field in fields if any(wanted in said for said in _list_field_names(field))]

    def find_user(_: str) -> list[Offer]:
        return users if len(users) == 1 else []

    found: dict[str, Offer] = {}
    for rule in (find_exact, find_password, find_named, find_user):
        for name in names:
            if name in found:
                continue
            free = [field for field in rule(fold_form_text(name)) if field not in found.values()]
            if free:
                found[name] = free[0]
    return found


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
    return [fold_form_text(each) for each in said if each]


def _require_page_index(arrival: AttemptResult, url: str) -> PageObservation:
    if arrival.look is None:
        raise UserError(
            f"{url} cannot be opened: {arrival.message or arrival.outcome}", fix="check the address"
        )
    return arrival.look
