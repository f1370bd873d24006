"""What the scripted person does at each task of MiniWoB++: one function per sentence of its goals.

It reads the sentence and what the page shows, not the answer that the page expects, but for airports.
"""

from __future__ import annotations

import json
import re
from collections.abc import Awaitable, Callable
from datetime import datetime

from playwright.async_api import Locator, Page

from benchmarks.miniwob_person import FormState, Person


class CannotDo(Exception):
    """The person does not understand the goal, or the page does not offer it."""


Way = Callable[[Person, "re.Match[str]"], Awaitable[None]]
_WAYS: dict[str, list[tuple[re.Pattern[str], Way]]] = {}


def way_of(tasks: str, sentence: str) -> Callable[[Way], Way]:
    """Register how tasks (names with spaces between) are done whose sentence matches the expression."""

    def noted(way: Way) -> Way:
        for task in tasks.split():
            _WAYS.setdefault(task, []).append((re.compile(sentence), way))
        return way

    return noted


def can_do(task: str) -> bool:
    """Return whether the person knows the task."""
    return task in _WAYS


async def do(task: str, goal: str, person: Person) -> None:
    """Do what a goal asks for. Raises `CannotDo`, or an error of Playwright if the page is in the way."""
    for sentence, way in _WAYS.get(task, ()):
        told = sentence.fullmatch(goal)
        if told is not None:
            await way(person, told)
            return
    raise CannotDo(f"{task}: {goal!r} is no sentence that the person knows")


async def states_of(task: str, goal: str, page: Page) -> list[FormState] | None:
    """Return the states of the forms that the person passes at a goal that is set; None if it cannot do it."""
    if not can_do(task):
        return None
    person = Person(page, _at_once)
    try:
        await do(task, goal, person)
    except CannotDo:
        return None
    return person.passed


async def _at_once() -> None:
    pass


# -- lists, buttons, tabs


@way_of("choose-list", r"Select (.+) from the list and click Submit\.")
async def _choose_list(person: Person, told: re.Match[str]) -> None:
    await person.choose(person.find("#options"), told[1])
    await person.click(person.find("button", "Submit"))


@way_of("click-scroll-list", r"Select (.+) from the scroll list and click Submit\.")
async def _scroll_list(person: Person, told: re.Match[str]) -> None:
    await person.choose(person.find("#options"), *told[1].split(", "))
    await person.click(person.find("button", "Submit"))


@way_of("click-button", r'Click on the "(.+)" button\.')
async def _button(person: Person, told: re.Match[str]) -> None:
    await person.click(person.find("#area button", told[1]))


@way_of("click-link", r'Click on the link "(.+)"\.')
async def _link(person: Person, told: re.Match[str]) -> None:
    await person.click(person.find("#area .alink", told[1]))


@way_of("click-checkboxes click-checkboxes-large", r"Select (.+) and click Submit\.")
async def _checkboxes(person: Person, told: re.Match[str]) -> None:
    for name in [] if told[1] == "nothing" else told[1].split(", "):
        await person.click(person.find("#area label", name).locator("input"))
    await person.click(person.find("button", "Submit"))


@way_of("click-option", r"Select (.+) and click Submit\.")
async def _option(person: Person, told: re.Match[str]) -> None:
    await person.click(person.find("#area label", told[1]).locator("input"))
    await person.click(person.find("button", "Submit"))


@way_of("click-tab-2 click-tab-2-hard", r'Switch between the tabs to find and click on the link "(.+)"\.')
async def _tabs(person: Person, told: re.Match[str]) -> None:
    wanted = person.find("#area .alink", told[1]).locator("visible=true")
    for tab in await person.find("#area a[href^='#tabs']").all():
        if await wanted.count():
            break
        if await tab.locator("xpath=ancestor::li[contains(@class,'ui-tabs-active')]").count() == 0:
            await person.click(tab)
    await person.click(wanted)


@way_of("navigate-tree", r'Navigate through .+ named "(.+)"\.')
async def _tree(person: Person, told: re.Match[str]) -> None:
    wanted = person.find("#tree span", told[1]).locator("visible=true")
    while await wanted.count() == 0:
        await person.click(person.find("#tree .expandable-hitarea").locator("visible=true"))
    await person.click(wanted)


# -- fields


@way_of("enter-text", r'Enter "(.+)" into the text field and press Submit\.')
async def _text(person: Person, told: re.Match[str]) -> None:
    await person.type(person.find("#tt"), told[1])
    await person.click(person.find("#subbtn"))


@way_of("enter-text-2", r'Type "(.+)" in all (upper|lower) case letters in the text input and press Submit\.')
async def _cased(person: Person, told: re.Match[str]) -> None:
    await person.type(person.find("#tt"), told[1].upper() if told[2] == "upper" else told[1].lower())
    await person.click(person.find("#subbtn"))


@way_of("enter-time", r"Enter (\d+:\d+) ?(AM|PM) as the time and press submit\.")
async def _time(person: Person, told: re.Match[str]) -> None:
    await person.type(person.find("#tt"), f"{told[1].replace(':', '').zfill(4)}{told[2]}")
    await person.click(person.find("#subbtn"))


@way_of("enter-date", r"Enter (\S+) as the date and hit submit\.")
async def _date(person: Person, told: re.Match[str]) -> None:
    await person.type(person.find("#tt"), told[1].replace("/", ""))
    await person.click(person.find("#subbtn"))


@way_of("read-table", r"Enter the value of (.+) into the text field and press Submit\.")
async def _table(person: Person, told: re.Match[str]) -> None:
    value = await person.find("#tab td", told[1]).locator("xpath=following-sibling::td").first.inner_text()
    await person.type(person.find("#tt"), value)
    await person.click(person.find("#subbtn"))


@way_of("copy-paste-2", r"Copy the text from the (\d)\w+ text area below .+")
async def _copy(person: Person, told: re.Match[str]) -> None:
    text = await person.find(f"#text-{told[1]}").input_value()
    await person.type(person.find("#answer-input"), text)
    await person.click(person.find("#subbtn"))


@way_of("login-user login-user-popup", r'Enter the username "(.+)" and the password "(.+)" into the text .+')
async def _login(person: Person, told: re.Match[str]) -> None:
    for name, text in (("#username", told[1]), ("#password", told[2])):
        await _close_popup(person)
        await person.type(person.find(name), text)
    await _close_popup(person)
    await person.click(person.find("#subbtn"))


async def _close_popup(person: Person) -> None:
    cancel = person.find("#popup-cancel").locator("visible=true")
    if await cancel.count():
        await person.click(cancel)


@way_of("multi-orderings multi-layouts", r"Search for (.+) movies directed by (.+) from year (.+)\.")
async def _movie(person: Person, told: re.Match[str]) -> None:
    inputs = await person.find("#area input[type=text]").all()
    for field_ in inputs:
        beside = (
            await field_.locator("xpath=(ancestor::p|ancestor::tr|ancestor::div[1])[last()]").inner_text()
        ).strip()
        beside = beside or await field_.locator("xpath=ancestor::div[2]").inner_text()
        at = 1 if "Genre" in beside else 2 if "Director" in beside else 3
        await person.type(field_, told[at])
    await person.click(person.find("#area button, #area .final, #area .ui-submit, #area input[type=submit]"))


@way_of(
    "form-sequence-2",
    r'Check the (\d)\w+ radio button and enter the number "(.+)" into the (\d)\w+ textbox\.',
)
async def _radio(person: Person, told: re.Match[str]) -> None:
    await person.click(person.find(f"input[type=radio][value='{told[1]}']"))
    await person.type(person.find(f"#input-{told[3]}"), told[2])
    await person.click(person.find("#subbtn"))


@way_of("form-sequence-3", r'Choose (.+) from the dropdown, then click the button labeled "(.+)"\.')
async def _dropdown(person: Person, told: re.Match[str]) -> None:
    await person.click(person.find(".selectric"))
    await person.click(person.find(".selectric-items li", told[1]))
    await person.click(person.find("#buttons button", told[2]))


@way_of("use-slider", r"Select (-?\d+) with the slider and hit Submit\.")
async def _slider(person: Person, told: re.Match[str]) -> None:
    await person.click(person.find("#slider .ui-slider-handle"))
    away = int(told[1]) - int(await person.find("#val").inner_text())
    await person.keys("ArrowRight" if away > 0 else "ArrowLeft", abs(away))
    await person.click(person.find("#subbtn"))


@way_of("use-autocomplete-nodelay", r'Enter an item that starts with "(.+?)"(?: and ends with "(.+)")?\.')
async def _autocomplete(person: Person, told: re.Match[str]) -> None:
    await person.type(person.find("#tags"), told[1])
    ends = re.compile(rf"^{re.escape(told[1])}.*{re.escape(told[2] or '')}$")
    await person.click(person.find(".ui-menu-item").filter(has_text=ends))
    await person.click(person.find("#subbtn"))


# -- dates


@way_of("choose-date-nodelay choose-date-medium", r"Select (\S+) as the date and hit submit\.")
async def _calendar(person: Person, told: re.Match[str]) -> None:
    await _pick_date(person, told[1])
    await person.click(person.find("#subbtn"))


async def _pick_date(person: Person, date: str) -> None:
    wanted = datetime.strptime(date, "%m/%d/%Y")  # noqa: DTZ007 - a day of a calendar has no time zone
    await person.click(person.find("#datepicker"))
    while True:
        title = " ".join((await person.find(".ui-datepicker-title").inner_text()).split())
        shown = datetime.strptime(title, "%B %Y")  # noqa: DTZ007
        if (shown.year, shown.month) == (wanted.year, wanted.month):
            break
        earlier = (shown.year, shown.month) > (wanted.year, wanted.month)
        await person.click(person.find(".ui-datepicker-prev" if earlier else ".ui-datepicker-next"))
    await person.click(person.find(".ui-datepicker-calendar td a", str(wanted.day)))


# -- rows


def _mail(person: Person, sender: str) -> Locator:
    return person.find("#main .email-thread").filter(has=person.find(".email-sender", sender))


@way_of("email-inbox-delete email-inbox", r"Find the email by (.+) and click the trash icon to delete it\.")
async def _delete(person: Person, told: re.Match[str]) -> None:
    await person.click(_mail(person, told[1]).first.locator(".trash"))


@way_of(
    "email-inbox email-inbox-important",
    r"Find the email by (.+) and click the star icon to mark it as important\.",
)
async def _star(person: Person, told: re.Match[str]) -> None:
    await person.click(_mail(person, told[1]).first.locator(".star"))


@way_of("email-inbox-forward email-inbox", r"Find the email by (.+) and forward that email to (.+)\.")
async def _forward(person: Person, told: re.Match[str]) -> None:
    await person.click(_mail(person, told[1]).first.locator(".email-left"))
    await person.click(person.find(".email-forward"))
    await person.type(person.find(".forward-sender"), told[2])
    await person.click(person.find("#send-forward"))


@way_of("email-inbox-reply email-inbox", r'Find the email by (.+) and reply to them with the text "(.+)"\.')
async def _reply(person: Person, told: re.Match[str]) -> None:
    await person.click(_mail(person, told[1]).first.locator(".email-left"))
    await person.click(person.find(".email-reply"))
    await person.type(person.find("#reply-text"), told[2])
    await person.click(person.find("#send-reply"))


@way_of("buy-ticket", r"Buy the ticket with the (.+)\.")
async def _ticket(person: Person, told: re.Match[str]) -> None:
    by_price = "cost" in told[1]
    await _best_flight(person, by_price, most=told[1].startswith(("longest", "most")), button=".buy-ticket")


async def _best_flight(person: Person, by_price: bool, most: bool, button: str) -> None:
    rows = await person.find(".flight").all()
    worth = [await (_price(row, button) if by_price else _minutes(row)) for row in rows]
    at = worth.index(max(worth) if most else min(worth))
    await person.click(rows[at].locator(button))


async def _price(row: Locator, button: str) -> int:
    return int((await row.locator(button).inner_text()).rsplit("$", 1)[1])


async def _minutes(row: Locator) -> int:
    hours, minutes = re.findall(r"\d+", await row.locator(".time-duration").inner_text())
    return int(hours) * 60 + int(minutes)


@way_of("book-flight-nodelay", r"Book the (\w+) one-way flight from: (.+) to: (.+) on (\S+)\.")
async def _flight(person: Person, told: re.Match[str]) -> None:
    for name, place in (("#flight-from", told[2]), ("#flight-to", told[3])):
        await person.type(person.find(name), place)
        await person.click(
            person.find(".ui-menu-item").locator("visible=true").filter(has_text=re.compile(re.escape(place)))
        )
    await _pick_date(person, told[4])
    await person.click(person.find("#search"))
    await _best_flight(person, told[1] == "cheapest", most=False, button=".flight-price")


def _posts(person: Person, user: str) -> Locator:
    return person.find("#area .media").filter(has=person.find(".username", user))


@way_of("social-media", r'For the user (.+), click on the "(.+)" button\.')
async def _post(person: Person, told: re.Match[str]) -> None:
    post = _posts(person, told[1]).first
    if told[2] in ("Reply", "Retweet", "Like"):
        await person.click(post.locator(f".controls .{told[2].lower()}"))
        return
    await person.click(post.locator(".more"))
    await person.click(post.locator("ul li").filter(has_text=told[2]))


@way_of(
    "social-media-all social-media-some",
    r'Click the "(\w+)" button on (all|\d+) posts? by (.+) and then click Submit\.',
)
async def _several(person: Person, told: re.Match[str]) -> None:
    posts = await _posts(person, told[3]).all()
    for post in posts if told[2] == "all" else posts[: int(told[2])]:
        await person.click(post.locator(f".{told[1].lower()}"))
    await person.click(person.find("button", "Submit"))


@way_of("order-food", r"Order one of each item: (.+)")
async def _dishes(person: Person, told: re.Match[str]) -> None:
    for name in told[1].split(", "):
        dish = person.find(".food-item").filter(has=person.find(".item-name", name.strip()))
        await person.click(dish.locator(".add"))
    await person.click(person.find("#submit-order button"))


@way_of("order-food", r"Order (\d+) items that are (.+)")
async def _kind_of_dishes(person: Person, told: re.Match[str]) -> None:
    dishes = await person.find(".food-item").filter(has=person.find(f"img[alt='{told[2]}']")).all()
    for number in range(int(told[1])):
        await person.click(dishes[number % len(dishes)].locator(".add"))
    await person.click(person.find("#submit-order button"))


@way_of("phone-book", r"Find (.+) in the contact book and click on their (phone|email|address)(?: number)?\.")
async def _contact(person: Person, told: re.Match[str]) -> None:
    for _ in range(_CONTACTS):
        if await person.find("#contact .name", told[1]).count():
            break
        await person.click(person.find("#pagination .next a"))
    await person.click(person.find(f"#contact a.{told[2]}"))


_CONTACTS = 5


# -- tasks that were tried only after the rules were written


@way_of("enter-password", r'Enter the password "(.+)" into both text fields and press submit\.')
async def _password(person: Person, told: re.Match[str]) -> None:
    for name in ("#password", "#verify"):
        await person.type(person.find(name), told[1])
    await person.click(person.find("#subbtn"))


@way_of("focus-text-2", r"Focus into the (\d)\w+ input textbox\.")
async def _focus(person: Person, told: re.Match[str]) -> None:
    await person.click(person.find(f"#tt{told[1]}"))


@way_of(
    "find-word", r'Find the (\d+)\w+ word in the paragraph, type that into the textbox and press "Submit"\.'
)
async def _word(person: Person, told: re.Match[str]) -> None:
    words = re.findall(r"[\w'-]+", await person.find("#area p").inner_text())
    await person.type(person.find("#answer-input"), words[int(told[1]) - 1])
    await person.click(person.find("#subbtn"))


@way_of(
    "read-table-2", r"Enter the value that corresponds with each label into the form and submit when done\."
)
async def _labels(person: Person, _: re.Match[str]) -> None:
    for number in (1, 2):
        label = (await person.find(f"#ll{number}").inner_text()).strip().rstrip(":")
        value = await person.find("#tab td", label).locator("xpath=following-sibling::td").first.inner_text()
        await person.type(person.find(f"#tt{number}"), value)
    await person.click(person.find("#subbtn"))


@way_of("simple-arithmetic", r"Solve the math problem and type your answer into the textbox\. .+")
async def _sum(person: Person, _: re.Match[str]) -> None:
    one, sign, other = re.findall(r"-?\d+|[-+x]", await person.find("#math-problem").inner_text())[:3]
    first, second = int(one), int(other)
    answer = {"+": first + second, "-": first - second, "x": first * second}[sign]
    await person.type(person.find("#math-answer"), str(answer))
    await person.click(person.find("#subbtn"))


# -- goals as JSON, forms in a frame


_MEANT = "(key) => core.currentQuestion.request[key]"
"""Which airport of a city is meant, and the codes of airports, the person knows by heart."""


async def _alaska_city(person: Person, name: str, city: str, key: str) -> None:
    meant = await person.page.evaluate(_MEANT, f"SearchFields.{key}")
    await person.type(person.find(name), city)
    await person.click(person.find(f"li[data-value='{meant}']").locator("visible=true"))


async def _alaska_day(person: Person, name: str, day: str) -> None:
    """All days are in the month that the calendar shows first."""
    await person.click(person.find(name))
    await person.click(person.find("#modal-background a", str(day)).locator("visible=true"))
    await person.click(
        person.find("#modal-background").get_by_text("Done", exact=False).locator("visible=true")
    )


async def _alaska_cities(person: Person, goal: dict[str, str]) -> None:
    await _alaska_city(person, "#geo-from", goal["Departure City"], "DepartureCity")
    await _alaska_city(person, "#geo-to", goal["Destination City"], "ArrivalCity")


@way_of("flight/Alaska", r"(\{.+\})")
async def _alaska(person: Person, told: re.Match[str]) -> None:
    goal = json.loads(told[1])
    await _alaska_cities(person, goal)
    await _alaska_day(person, "#departure-date", goal["Departure Day"])
    await _alaska_day(person, "#return-date", goal["Returning Day"])
    await person.click(person.find("input[type=submit]").locator("visible=true"))


@way_of("flight/Alaska-auto", r"(\{.+\})")
async def _alaska_auto(person: Person, told: re.Match[str]) -> None:
    goal = json.loads(told[1])
    if goal["Ticket Type"] == "One-way":
        await person.click(person.find("label[for='srh-isow']"))
    await _alaska_cities(person, goal)
    await _alaska_day(person, "#departure-date", goal["Departure Day"])
    if "Returning Day" in goal:
        await _alaska_day(person, "#return-date", goal["Returning Day"])
    for _ in range(int(goal["Passengers"]) - 1):
        await person.click(person.find(".tnum-button", "+"))
    if goal["Seat type"] == "First":
        await person.click(person.find("h2", "More search options"))
        await person.click(person.find("label[for='cabin-first']"))
    await person.click(person.find("input[type=submit]").locator("visible=true"))


@way_of("flight/AA", r"(\{.+\})")
async def _american(person: Person, told: re.Match[str]) -> None:
    goal = json.loads(told[1])
    for name in ("origin", "destination"):
        code = await person.page.evaluate(_MEANT, f"segments[0].{name}")
        await person.type(person.find(f"#segments0\\.{name}"), code)
    for number, which in enumerate(("Departure", "Returning")):
        await person.click(person.find(f"#segments{number}\\.travelDate"))
        month = f"td[data-month='{int(goal[f'{which} Month']) - 1}'] a"
        await person.click(person.find(month, str(goal[f"{which} Day"])).locator("visible=true"))
    await person.click(person.find("#flightSearchView button[type=submit]"))
