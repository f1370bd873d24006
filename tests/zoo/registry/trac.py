"""Trac, a tracker of tickets with a wiki: server-rendered with jQuery; signing in is by the AccountManager plug-in.

Licence: BSD. Version 1.6. Parts of its forms are folded, a field is added to the batch form by choosing its name, and
after a removal or a refusal it shows the same page with a notice, or an error page.
"""

from __future__ import annotations

from playwright.async_api import Locator, Page

from tests.support.people import Noise
from tests.zoo.registry.serving import LONG, PASSWORD, choose, instances
from tests.zoo.registry.trac_project import USER, start_trac
from tests.zoo.zoo_jobs import Application, Given, Job, add_invalid


async def _open(page: Page, control: Locator) -> None:
    """Follow a link or press a button, and wait until the next page is loaded: it takes the focus then."""
    async with page.expect_navigation():
        await control.click()


async def _sign_in(page: Page, noise: Noise) -> None:
    await _open(page, page.get_by_role("link", name="Login"))
    await noise.type("#username", USER)
    await noise.type("#password", PASSWORD)
    await _open(page, page.get_by_role("button", name="Login"))
    await page.get_by_role("button", name="Logout").wait_for()


async def _list_tickets(page: Page) -> None:
    """List the tickets that are not closed."""
    await _open(page, page.get_by_role("link", name="View Tickets"))
    await _open(page, page.get_by_role("link", name="Custom Query").first)
    await page.locator("input[name=selected_ticket]").first.wait_for()


async def _manage_components(page: Page) -> None:
    await _open(page, page.get_by_role("link", name="Admin", exact=True))
    await _open(page, page.get_by_role("link", name="Components", exact=True))
    await page.locator("#addcomponent").wait_for()


async def create_ticket(page: Page, given: Given, noise: Noise) -> None:
    await _sign_in(page, noise)
    await _open(page, page.get_by_role("link", name="New Ticket"))
    if given["summary"]:
        await noise.type("#field-summary", given["summary"])
    if given["description"]:
        await noise.type("#field-description", given["description"])
    await choose(page, "#field-priority", given["priority"])
    await choose(page, "#field-component", given["component"])
    await _open(page, page.get_by_role("button", name="Create ticket"))


async def plan_ticket(page: Page, given: Given, noise: Noise) -> None:
    """Give a ticket another milestone and another priority."""
    await _sign_in(page, noise)
    await _list_tickets(page)
    await noise.wander()
    await _open(page, page.get_by_role("link", name=given["summary"], exact=True))
    await page.get_by_role("link", name="Modify Ticket").click()  # unfolds the form
    await choose(page, "#field-milestone", given["milestone"])
    await choose(page, "#field-priority", given["priority"])
    if given["note"]:
        await noise.type("#comment", given["note"])
    await _open(page, page.get_by_role("button", name="Submit changes"))


async def close_ticket(page: Page, given: Given, noise: Noise) -> None:
    """Search for a ticket, and close it."""
    await _sign_in(page, noise)
    await noise.type("#proj-search", given["summary"])
    await _open(page, page.get_by_role("button", name="Search"))
    found = page.locator("#results dt").get_by_role("link").filter(has_text=f": {given['summary']} (")
    await _open(page, found)
    await page.get_by_role("link", name="Modify Ticket").click()
    await page.get_by_label("resolve", exact=True).check()
    await choose(page, "#action_resolve_resolve_resolution", given["resolution"])
    if given["note"]:
        await noise.type("#comment", given["note"])
    await _open(page, page.get_by_role("button", name="Submit changes"))


async def move_tickets(page: Page, given: Given, noise: Noise) -> None:
    """Tick all tickets of a person in a list, and give them another milestone at once."""
    await _sign_in(page, noise)
    await _list_tickets(page)
    rows = page.locator("table.tickets tbody tr").filter(
        has=page.locator("td.owner").get_by_text(given["owner"], exact=True)
    )
    await rows.first.wait_for()
    for row in await rows.all():
        await row.get_by_role("checkbox").check()
    await page.get_by_role("link", name="Batch Modify").click()
    await page.focus("#add_batchmod_field")
    await page.keyboard.press("m")  # the list of milestones is there at once, and has the focus
    await choose(page, "select[name=batchmod_value_milestone]", given["milestone"])
    if given["note"]:
        await noise.type("#batchmod_value_comment", given["note"])
    await _open(page, page.get_by_role("button", name="Change tickets"))


async def add_component(page: Page, given: Given, noise: Noise) -> None:
    await _sign_in(page, noise)
    await _manage_components(page)
    if given["name"]:
        await noise.type("#addcomponent input[name=name]", given["name"])
    if given["owner"]:
        await noise.type("#addcomponent input[name=owner]", given["owner"])
    await _open(page, page.get_by_role("button", name="Add", exact=True))


async def remove_components(page: Page, given: Given, noise: Noise) -> None:
    """Tick all components of a person, and remove them."""
    await _sign_in(page, noise)
    await _manage_components(page)
    await noise.wander()
    rows = page.locator("#complist tbody tr").filter(
        has=page.locator("td.owner").get_by_text(given["owner"], exact=True)
    )
    await rows.first.wait_for()
    for row in await rows.all():
        await row.get_by_role("checkbox").check()
    await _open(page, page.get_by_role("button", name="Remove selected items"))


async def edit_page(page: Page, given: Given, noise: Noise) -> None:
    """Find a page of the wiki in its index, and write another text."""
    await _sign_in(page, noise)
    await _open(page, page.get_by_role("link", name="Wiki", exact=True))
    await _open(page, page.get_by_role("link", name="Index", exact=True))
    await _open(page, page.locator("#wikipage").get_by_role("link", name=given["page"], exact=True))
    await _open(page, page.get_by_role("button", name="Edit this page"))
    await noise.retype("#text", given["text"])
    if given["comment"]:
        await noise.type("#comment", given["comment"])
    await _open(page, page.get_by_role("button", name="Submit changes"))


def _ticket(summary: str, priority: str, component: str, description: str) -> dict[str, str]:
    return {"summary": summary, "priority": priority, "component": component, "description": description}


def _planned(summary: str, milestone: str, priority: str, note: str) -> dict[str, str]:
    return {"summary": summary, "milestone": milestone, "priority": priority, "note": note}


def _closed(summary: str, resolution: str, note: str) -> dict[str, str]:
    return {"summary": summary, "resolution": resolution, "note": note}


def _moved(owner: str, milestone: str, note: str) -> dict[str, str]:
    return {"owner": owner, "milestone": milestone, "note": note}


def _component(name: str, owner: str) -> dict[str, str]:
    return {"name": name, "owner": owner}


def _page(page: str, text: str, comment: str) -> dict[str, str]:
    return {"page": page, "text": text, "comment": comment}


JOBS = [
    Job("create_ticket", create_ticket, instances(
        ("plain", _ticket("Blinds do not close", "minor", "Library", "Third window on the left.")),
        ("plain", _ticket("Water under the stairs", "critical", "Stairs", "Since the rain of Tuesday")),
        ("plain", _ticket("Paint the shed", "trivial", "Bicycle shed", "Green, as it was.")),
        ("plain", _ticket("Lamp above the pond is dark", "minor", "Ponds", "Only the eastern one")),
        ("plain", _ticket("Burner of boiler one is loud", "critical", "Boilers", "It howls at night.")),
        ("plain", _ticket("Two telephones share a number", "blocker", "Telephones", "Rooms 4 and 5")),
        ("plain", _ticket("Seedlings need a second table", "trivial", "Greenhouse", "Two metres are enough.")),
        ("quotes", _ticket("The sign \"Don't feed\" fell off", "minor", 'The "old" wing', "It's \"somewhere\" in the pond")),
        ("unicode", _ticket("Žofie 東京 hat keinen Schlüssel", "critical", "Größe und Gewicht", "Größe geändert, прошу ✓")),
        ("long", _ticket("Report of the night round", "minor", "Paths", LONG)),
        ("long", _ticket(LONG, "trivial", "Signs", "See the title")),
        ("empty", _ticket("Shelf without a label", "critical", "Kitchen", "")),
        ("refused", _ticket("", "minor", "Library", "There is no summary.")),
        ("refused", _ticket("", "blocker", "Ponds", "Nobody said what it is")),
    ), "/", "create"),
    Job("plan_ticket", plan_ticket, instances(
        ("plain", _planned("Boiler two loses pressure", "Fire inspection", "critical", "The inspector asked for it.")),
        ("plain", _planned("Bench beside the pond", "Open day", "trivial", "Wood is ordered")),
        ("plain", _planned("Arrow points the wrong way", "Spring cleaning", "major", "Guests got lost again")),
        ("plain", _planned("Lift stops between floors", "Fire inspection", "blocker", "Twice last week")),
        ("plain", _planned("Rack for twelve bicycles", "Summer closure", "minor", "Delivered in June")),
        ("plain", _planned("Shelves bend under atlases", "Annexe", "trivial", "New shelves come with the annexe.")),
        ("plain", _planned("Clean the pond filter", "Open day", "critical", "It smells")),
        ("quotes", _planned('The label "hot" is missing', "Open day", "blocker", "Print \"hot\", that's all")),
        ("quotes", _planned("The cook's timer is slow", "Annexe", "trivial", "It's the battery")),
        ("unicode", _planned("Věšáky v šatně für Gäste", "Žatva 2027", "major", "Žofie říká: 完了")),
        ("long", _planned("Gate squeaks at night", "Open day", "minor", LONG)),
        ("empty", _planned("Replace the old telephones", "Summer closure", "major", "")),
        ("missing", _planned("Music in the lift is loud", "Open day", "minor", "Turned down")),
        ("missing", _planned("Lift stops", "Open day", "minor", "No such summary")),
        ("missing", _planned("Gravel for the long path", "Autumn closure", "minor", "No such milestone")),
    ), "/", "edit"),
    Job("close_ticket", close_ticket, instances(
        ("plain", _closed("Handrail is loose", "fixed", "Two screws.")),
        ("plain", _closed("Gravel for the long path", "wontfix", "The path is given up.")),
        ("plain", _closed("No signal in the reading room", "worksforme", "Full signal at noon")),
        ("plain", _closed("Clean the pond filter", "invalid", "The filter is new.")),
        ("plain", _closed("Catalogue prints blank cards", "duplicate", "Known since March")),
        ("plain", _closed("Repaint the old wing", "fixed", "Dry on Monday")),
        ("plain", _closed("Rack for twelve bicycles", "wontfix", "No place for it")),
        ("quotes", _closed('The label "hot" is missing', "duplicate", "See \"labels\" in the cook's list")),
        ("quotes", _closed("The cook's timer is slow", "fixed", "It's new")),
        ("unicode", _closed("Mirror for 更衣室", "wontfix", "Není místo, leider")),
        ("long", _closed("Shelves bend under atlases", "invalid", LONG)),
        ("empty", _closed("Gate squeaks at night", "worksforme", "")),
        ("missing", _closed("Swans block the gate", "fixed", "They left")),
        ("missing", _closed("Door bell rings by itself", "invalid", "It is closed already")),
    ), "/", "edit"),
    Job("move_tickets", move_tickets, instances(
        ("plain", _moved("nadia", "Summer closure", "Nadia is away until June.")),
        ("plain", _moved("yusuf", "Annexe", "With the new garden")),
        ("plain", _moved("oscar", "Fire inspection", "Cables are inspected, too")),
        ("plain", _moved("liang", "Spring cleaning", "While the library is closed")),
        ("plain", _moved("tomas", "Annexe", "The gate is moved anyway")),
        ("plain", _moved("ingrid", "Fire inspection", "Signs first")),
        ("plain", _moved("yusuf", "Open day", "All of the garden")),
        ("quotes", _moved("greta.o'neill", "Summer closure", "The cook's \"holiday\"")),
        ("unicode", _moved("žofie", "Žatva 2027", "Až na podzim, 秋")),
        ("long", _moved("nadia", "Annexe", LONG)),
        ("empty", _moved("oscar", "Summer closure", "")),
        ("missing", _moved("pavel", "Annexe", "He has only closed ones")),
        ("missing", _moved("nad", "Annexe", "Nobody is called so")),
        ("missing", _moved("tomas", "Winter closure", "No such milestone")),
    ), "/", "list"),
    Job("add_component", add_component, instances(
        ("plain", _component("Cellar", "nadia")),
        ("plain", _component("Attic windows", "oscar")),
        ("plain", _component("Beehives", "yusuf")),
        ("plain", _component("Fountain", "ingrid")),
        ("plain", _component("Loading bay", "tomas")),
        ("plain", _component("Museum shop", "liang")),
        ("quotes", _component("The cook's \"secret\" garden", "greta.o'neill")),
        ("unicode", _component("Květiny und Bäume 花", "žofie")),
        ("long", _component(LONG[:150].strip(), "pavel")),
        ("empty", _component("Roof", "")),
        ("refused", _component("", "nadia")),
        ("existing", _component("Gate", "oscar")),
        ("existing", _component("Reading room", "liang")),
    ), "/", "create"),
    Job("remove_components", remove_components, instances(
        *(("plain", {"owner": each}) for each in ("nadia", "oscar", "yusuf", "liang", "tomas", "ingrid")),
        ("quotes", {"owner": "greta.o'neill"}),
        ("unicode", {"owner": "žofie"}),
        ("missing", {"owner": "pavel"}),
        ("missing", {"owner": "nad"}),
    ), "/", "delete"),
    Job("edit_page", edit_page, instances(
        ("plain", _page("HouseRules", "No bicycles and no dogs in the halls.", "dogs")),
        ("plain", _page("Opening hours", "Ten to six every day.", "new hours")),
        ("plain", _page("WasteSorting", "Paper is blue, glass is white.", "white bins came")),
        ("plain", _page("KeyCabinet", "The keys hang beside the gate.", "it was moved")),
        ("plain", _page("Winter service", "Salt is in the cellar now.", "salt")),
        ("plain", _page("OnCall", "Ingrid answers all day.", "Nadia is away")),
        ("quotes", _page("Warden's diary", "It wasn't a \"quiet\" month at all.", "the warden's view")),
        ("unicode", _page("Průvodce für Gäste", "Vítejte, grüß Gott, ようこそ.", "překlad")),
        ("long", _page("Guest network", LONG, "the whole story")),
        ("empty", _page("Emergency numbers", "The board hangs at the gate.", "")),
        ("refused", _page("OnCall", "Nadia answers until noon, Oscar after.", "nothing new")),
        ("missing", _page("Summer service", "Salt is sold.", "season")),
        ("missing", _page("Opening", "Never.", "no such page")),
    ), "/", "edit"),
]  # fmt: skip

INVALID: dict[str, Given] = {
    "create_ticket": _ticket("", "critical", "Stairs", "Since the rain of Tuesday"),
    "add_component": _component("Lifts", "oscar"),
    "edit_page": _page("WasteSorting", "Paper is blue, glass is green.", "the same bins"),
}
"""Values that it refuses, for a recording that must not count."""


TRAC = Application("trac", "server-rendered, jQuery", add_invalid(JOBS, INVALID), start_trac)
