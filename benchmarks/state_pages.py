"""Pages of applications that are not ours, sorted by screen and state: what learning from few pages is measured on.

python benchmarks/state_pages.py DIR [APPLICATION ...]

Into DIR/APPLICATION go snapshots and `labels.json`. A label is the application's own route and, after a point, the
state that the script brought about (`issue_item.errors`); what must be on such a page is checked when it is stored.
Several states are at one address. `bench_states.py` measures on what is stored here.
"""

from __future__ import annotations

import asyncio
import sys
import tempfile
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from functools import partial
from pathlib import Path

from playwright.async_api import async_playwright

ROOT = Path(__file__).parents[1]
sys.path[:0] = [str(ROOT), str(ROOT / "benchmarks")]

from agent.browser.launch import launch  # noqa: E402
from benchmarks.learning_pages import Taker  # noqa: E402
from tests.support.foreign_sites import ADMIN_PASSWORD, ADMIN_USER, django_site  # noqa: E402
from tests.zoo.registry.django_oscar import USER as SHOPKEEPER  # noqa: E402
from tests.zoo.registry.django_oscar import start_django_oscar  # noqa: E402
from tests.zoo.registry.pretalx_event import USER as ORGANISER  # noqa: E402
from tests.zoo.registry.pretalx_event import start_pretalx  # noqa: E402
from tests.zoo.registry.roundup import start_roundup  # noqa: E402
from tests.zoo.registry.serving import PASSWORD  # noqa: E402
from tests.zoo.registry.trac_project import USER as WARDEN  # noqa: E402
from tests.zoo.registry.trac_project import start_trac  # noqa: E402
from tests.zoo.registry.wagtail import USER as EDITOR  # noqa: E402
from tests.zoo.registry.wagtail import start_wagtail  # noqa: E402

WORDS = ("Copper", "Larch", "Granite", "Moss", "Harbour", "Lantern", "Quarry", "Thistle")
"""For what is made or searched for: several pages of each state, with other data on each."""


class StateTaker(Taker):
    """Stores pages, and checks that they are in the state that their label says."""

    async def state(self, screen: str, shows: str) -> None:
        """Store the page as it is. Raises `AssertionError` if nothing visible matches the CSS."""
        found = self.page.locator(shows).locator("visible=true")
        assert await found.count(), f"{screen}: {self.page.url} does not show {shows}"
        await self.take(screen)

    async def states(self, screen: str, shows: str, *paths: str) -> None:
        """Store the pages at these addresses."""
        for path in paths:
            await self.page.goto(self.base + path)
            await self.state(screen, shows)

    async def send(self, path: str, button: str, /, **fields: str) -> None:
        """Open an address, fill in fields by their names, and press a button, whatever the browser thinks of them."""
        await self.page.goto(self.base + path)
        await self.unchecked()
        for name, value in fields.items():
            await self.page.locator(f":is(input, textarea)[name='{name}']").first.fill(value)
        await self.press(button)

    async def sign_in(
        self, path: str, user_field: str, password_field: str, user: str, password: str
    ) -> None:
        """Sign in as somebody, in place of whoever was signed in."""
        await self.page.context.clear_cookies()
        await self.page.goto(self.base + path)
        await self.page.fill(user_field, user)
        await self.page.fill(password_field, password)
        await self.enter(password_field)


async def roundup(taker: StateTaker) -> None:
    """Store issues, people and keywords of a tracker: one address has a form, its refusal and what only reads."""
    error, saved, row = ".error-message", ".ok-message", "table.list tr td a"
    issue, user = "input[name=title]", "input[name=realname]"
    submit = "#submit_button, input[name=submit_button]"
    signing_in = partial(taker.sign_in, "/", "[name=__login_name]", "[name=__login_password]")
    plain = "#content, .content, body"
    await taker.states("user_item.signed_out", plain, *(f"/user{number}" for number in range(3, 9)))
    await taker.states(
        "user_new.signed_out", plain, *(f"/user?@template=item&x={number}" for number in range(5))
    )
    await taker.states("issue_item.signed_out", plain, *(f"/issue{number}" for number in range(1, 8)))
    for word in WORDS[:6]:
        await signing_in(word, "wrong")
        await taker.state("start.refused", error)
    await signing_in("nadia", PASSWORD)
    await taker.states("user_item.read_only", plain, *(f"/user{number}" for number in range(4, 10)))
    await signing_in("admin", PASSWORD)
    await taker.states(
        "item_not_found", plain, *(f"/issue{n}" for n in (901, 902, 903)), "/user99", "/query77", "/keyword88"
    )
    await taker.states("not_found", plain, *(f"/{word.lower()}" for word in WORDS[:6]))
    await taker.states("issue_list", row, "/issue?@sort=title", "/issue?@filter=status&status=1")
    await taker.states(
        "issue_list",
        row,
        *(f"/issue?@filter=assignedto&assignedto={n}&@columns=title,id" for n in range(3, 8)),
    )
    await taker.states(
        "issue_list.empty",
        "table.list",
        *(f"/issue?@search_text={word}&@columns=title,id" for word in WORDS[:7]),
    )
    await taker.states(
        "user_list",
        "table a",
        "/user",
        *(f"/user?@sort={each}" for each in ("username", "realname", "-username", "address", "phone")),
    )
    await taker.states(
        "user_list.empty",
        "[name=username]",
        *(f"/user?@columns=username&@filter=username&username={word}" for word in WORDS[:6]),
    )
    await taker.states("issue_search", "[name=status]", *(f"/issue?@template=search&x={n}" for n in range(5)))
    await taker.states("issue_item", issue, *(f"/issue{n}" for n in range(1, 9)))
    await taker.states("issue_new", issue, *(f"/issue?@template=item&x={n}" for n in range(6)))
    await taker.states("user_item", user, *(f"/user{n}" for n in range(3, 10)))
    await taker.states("user_new", user, *(f"/user?@template=item&x={n}" for n in range(6)))
    await taker.states("keyword_item", "input[name=name]", *(f"/keyword{n}" for n in range(1, 4)))
    for number, word in enumerate(WORDS[:7], 1):
        await taker.send(f"/issue{number}", submit, title="")
        await taker.state("issue_item.errors", error)
        await taker.send(f"/issue?@template=item&x={number}", submit, **{"@note": word})
        await taker.state("issue_new.errors", error)
        await taker.send("/user?@template=item", submit, username="nadia", address=f"{word}@b.example")
        await taker.state("user_new.errors", error)
        await taker.send(f"/user{number + 3}", submit, phone=f"555-0{number}")
        await taker.state("user_item.saved", saved)
        await taker.send(f"/issue{number}", submit, title=f"{word} is missing")
        await taker.state("issue_item.saved", saved)


async def trac(taker: StateTaker) -> None:
    """Store tickets, pages of a wiki and their administration: refusals, previews and results have no address of their own."""
    warning, notice, problem = "#warning", "#notice", "#content.error"
    signing_in = partial(taker.sign_in, "/login", "#username", "#password")
    main = "#main"
    pages = (
        "HouseRules",
        "OnCall",
        "KeyCabinet",
        "WasteSorting",
        "Opening hours",
        "Winter service",
        "Guest network",
    )
    await taker.states("sign_in", "#username", "/login", *(f"/login?referer=/{word}" for word in WORDS[:5]))
    await taker.states(
        "access_denied",
        problem,
        "/newticket",
        "/milestone?action=new",
        *(f"/wiki/{page}?action=edit" for page in pages[:5]),
    )
    for word in WORDS[:6]:
        await signing_in(word, "wrong")
        await taker.state("sign_in.errors", ".system-message")
    await signing_in(WARDEN, PASSWORD)
    await taker.states(
        "not_found", problem, "/ticket/901", "/ticket/902", "/report/903", "/moss", "/larch/2", "/copper"
    )
    await taker.states("wiki_page", "#wikipage", *(f"/wiki/{page}" for page in pages))
    await taker.states("wiki_page.missing", "#wikipage, #content", *(f"/wiki/{word}" for word in WORDS[:6]))
    await taker.states("wiki_edit", "#text", *(f"/wiki/{page}?action=edit" for page in pages))
    await taker.states("wiki_history", main, *(f"/wiki/{page}?action=history" for page in pages))
    await taker.states("ticket", "#ticket", *(f"/ticket/{n}" for n in range(1, 9)))
    await taker.states("ticket_new", "#field-summary", *(f"/newticket?x={n}" for n in range(5)))
    await taker.states(
        "query",
        "table.tickets tbody td.id",
        "/query?status=new",
        *(f"/query?owner={name}" for name in ("nadia", "oscar", "yusuf", "tomas", "liang")),
    )
    await taker.states("query.empty", "table.tickets", *(f"/query?owner={word}" for word in WORDS[:6]))
    await taker.states("report", main, *(f"/report/{n}" for n in range(1, 8)))
    await taker.states("search", "#fullsearch", *(f"/search?x={n}" for n in range(5)))
    await taker.states(
        "search.results",
        "#results",
        *(f"/search?q={word}" for word in ("boiler", "lift", "pond", "gate", "round", "wing")),
    )
    await taker.states("search.empty", "#notfound", *(f"/search?q={word}x" for word in WORDS[:6]))
    plans = ("Spring cleaning", "Open day", "Summer closure", "Fire inspection", "Annexe", "Žatva 2027")
    await taker.states("milestone", ".milestone, #content", *(f"/milestone/{plan}" for plan in plans))
    await taker.states("milestone_edit", "[name=name]", *(f"/milestone/{plan}?action=edit" for plan in plans))
    await taker.states("milestone.missing", notice, *(f"/milestone/{word}" for word in WORDS[:6]))
    await taker.states("components", "#complist", *(f"/admin/ticket/components?x={n}" for n in range(5)))
    parts = ("Boilers", "Lifts", "Stairs", "Telephones", "Greenhouse", "Ponds")
    await taker.states("component", "[name=name]", *(f"/admin/ticket/components/{part}" for part in parts))
    await taker.states("priorities", "#enumlist", *(f"/admin/ticket/priority?x={n}" for n in range(4)))
    await taker.states("preferences", "#userprefs, form", *(f"/prefs?x={n}" for n in range(5)))
    submit, add = "#content input[name=submit]:visible", "#addcomponent input[name=add]"
    for number, word in enumerate(WORDS[:6], 1):
        await taker.send("/newticket", submit, field_description=word)
        await taker.state("ticket_new.errors", warning)
        await taker.send("/newticket", "input[name=preview]:visible", field_summary=f"{word} is loose")
        await taker.state("ticket_new.preview", "#ticket")
        await taker.page.goto(f"{taker.base}/ticket/{number}")
        await taker.page.evaluate(
            "document.querySelectorAll('.collapsed').forEach(e => e.classList.remove('collapsed'))"
        )
        await taker.page.fill("#field-summary", "")
        await taker.press(submit)
        await taker.state("ticket.errors", warning)
        await taker.send("/admin/ticket/components", add, name=parts[number - 1])
        await taker.state("components.errors", problem)
        await taker.send("/admin/ticket/components", add, name=word)
        await taker.state("components.saved", notice)
        await taker.send(f"/wiki/{pages[number]}?action=edit", "input[name=preview]:visible", comment=word)
        await taker.state("wiki_edit.preview", "#preview, #info, #text")
        await taker.send("/prefs", "#content input[type=submit]:visible", name=word)
        await taker.state("preferences.saved", notice)


async def pretalx(taker: StateTaker) -> None:
    """Store the sessions, rooms, tags and mails of a conference: a refused form has the address of the form."""
    page, event = taker.page, "/orga/event/compass"
    failed, danger, main, save = (
        ".alert-danger",
        ".alert-danger, .invalid-feedback, .is-invalid",
        "main",
        "main form button.btn-success:visible",
    )
    signing_in = partial(taker.sign_in, "/orga/login/", "[name=login_email]", "[name=login_password]")
    await taker.states(
        "sign_in",
        "[name=login_email]",
        *(
            f"{event}/{part}/"
            for part in ("mails/outbox", "submissions", "speakers", "settings", "reviews", "schedule/rooms")
        ),
    )
    for word in WORDS[:6]:
        await signing_in(f"{word}@b.example", "wrong")
        await taker.state("sign_in.errors", failed)
    await signing_in(ORGANISER, PASSWORD)
    await taker.states(
        "not_found",
        "body",
        "/moss/",
        "/larch/talk/",
        f"{event}/moss/",
        f"{event}/submissions/ZZZZZZ/",
        f"{event}/schedule/rooms/901/",
        f"{event}/submissions/tags/902/",
        "/orga/copper/",
    )
    table = "main table tbody tr a"
    await taker.states(
        "session_list",
        table,
        *(
            f"{event}/submissions/?{each}"
            for each in ("", "sort=title", "state=submitted", "tags=1", "tags=6", "q=a", "sort=track")
        ),
    )
    await taker.states(
        "speaker_list",
        table,
        *(f"{event}/speakers/?{each}" for each in ("", "q=a", "q=b", "q=e", "sort=name", "q=g")),
    )
    await taker.states(
        "outbox",
        table,
        *(
            f"{event}/mails/outbox/?{each}"
            for each in ("", "q=a", "q=room", "q=dinner", "sort=subject", "q=travel")
        ),
    )
    for name, path in (
        ("session_list", "submissions"),
        ("speaker_list", "speakers"),
        ("outbox", "mails/outbox"),
    ):
        await taker.states(
            f"{name}.empty", "main table", *(f"{event}/{path}/?q={word}x" for word in WORDS[:6])
        )

    async def links(path: str, begins: str, most: int = 7) -> list[str]:
        await page.goto(f"{taker.base}{event}/{path}")
        found = await page.locator(f"main a[href^='{event}/{begins}']").evaluate_all(
            "e => e.map(a => a.getAttribute('href'))"
        )
        return sorted(
            {
                each
                for each in found
                if each.count("/") == f"{event}/{begins}".count("/") + 1
                and each.endswith("/")
                and not each.endswith("/new/")
            }
        )[:most]

    sessions = await links("submissions/", "submissions/", 20)
    sessions = [
        each
        for each in sessions
        if each.split("/")[-2].isupper() or any(c.isdigit() for c in each.split("/")[-2])
    ][:7]
    speakers, rooms, tags = (
        await links("speakers/", "speakers/"),
        await links("schedule/rooms/", "schedule/rooms/"),
        await links("submissions/tags/", "submissions/tags/"),
    )
    mails = await links("mails/outbox/", "mails/")
    for name, found in (
        ("session", sessions),
        ("speaker", speakers),
        ("room", rooms),
        ("tag", tags),
        ("mail", mails),
    ):
        await taker.states(name, main, *found)
    await taker.states("tag_delete", main, *(f"{each}delete/" for each in tags))
    await taker.states("room_delete", main, *(f"{each}delete/" for each in rooms))
    await taker.states("room_list", table, *(f"{event}/schedule/rooms/?x={n}" for n in range(4)))
    await taker.states(
        "tag_list",
        table,
        *(f"{event}/submissions/tags/?sort={each}" for each in ("tag", "-tag", "color", "-proposals")),
    )
    await taker.states("session_new", "#id_title", *(f"{event}/submissions/new?x={n}" for n in range(4)))
    await taker.states("tag_new", "#id_tag", *(f"{event}/submissions/tags/new/?x={n}" for n in range(4)))
    for number, word in enumerate(WORDS[:6]):
        await taker.send(sessions[number], save, title="")
        await taker.state("session.errors", danger)
        await taker.send(rooms[number], save, name_0="")
        await taker.state("room.errors", danger)
        await taker.send(tags[number], save, tag="")
        await taker.state("tag.errors", danger)
        await taker.send(mails[number], save, subject="")
        await taker.state("mail.errors", danger)
        await taker.send(f"{event}/submissions/new", save, abstract=word)
        await taker.state("session_new.errors", danger)
        await taker.send(f"{event}/submissions/tags/new/", save, description_0=word)
        await taker.state("tag_new.errors", danger)
        await taker.send(rooms[number], save, name_0=f"{word} room")
        await taker.state("room_list.saved", ".alert-success")
        await taker.send(f"{event}/submissions/tags/new/", save, tag=f"about {word}", color="#336699")
        await taker.state("tag_list.saved", ".alert-success")


async def wagtail(taker: StateTaker) -> None:
    """Store the pages of a content management system: lists, forms, refused forms, messages and an open menu."""
    main, rows, error, said = (
        "main",
        "table.listing .title-wrapper a",
        ".messages .error",
        ".messages .success",
    )
    save = "form footer button[type=submit]:visible, main form button[type=submit]:visible"
    signing_in = partial(taker.sign_in, "/admin/login/", "#id_username", "#id_password")
    await taker.states(
        "sign_in",
        "#id_username",
        *(f"/admin/{part}" for part in ("", "pages/2/", "pages/3/edit/", "images/", "users/", "redirects/")),
    )
    for word in WORDS[:6]:
        await signing_in(word, "wrong")
        await taker.state("sign_in.errors", error)
    await signing_in(EDITOR, PASSWORD)
    await taker.states(
        "not_found",
        "main, body",
        *(
            f"/admin/{part}/"
            for part in ("pages/901", "pages/902/edit", "moss", "users/903", "images/904", "larch/copper")
        ),
    )
    await taker.states(
        "pages",
        rows,
        *(
            f"/admin/pages/{each}"
            for each in ("", "2/", "2/?ordering=title", "2/?ordering=-title", "2/?q=walk", "2/?q=concert")
        ),
    )
    await taker.states(
        "pages.empty",
        main,
        *(f"/admin/pages/2/?q={word}x" for word in WORDS[:3]),
        *(f"/admin/pages/{n}/" for n in (3, 4, 5, 6)),
    )
    numbers = range(3, 10)
    for part in ("edit", "history", "delete", "unpublish", "move", "copy"):
        await taker.states(f"page_{part}", main, *(f"/admin/pages/{n}/{part}/" for n in numbers))
    await taker.states(
        "search.results",
        main,
        *(
            f"/admin/pages/search/?q={word}"
            for word in ("walk", "concert", "choir", "market", "reading", "lantern")
        ),
    )
    await taker.states("search.empty", main, *(f"/admin/pages/search/?q={word}x" for word in WORDS[:6]))
    await taker.states("redirects.empty", main, *(f"/admin/redirects/?q={word}" for word in WORDS[:6]))
    new = "/admin/pages/add/programme/event/2/"
    await taker.states("page_new", "#id_title", *(f"{new}?x={n}" for n in range(4)))
    await taker.states("user_new", "#id_username", *(f"/admin/users/new/?x={n}" for n in range(4)))
    await taker.states("redirect_new", "#id_old_path", *(f"/admin/redirects/add/?x={n}" for n in range(4)))
    for number, word in zip(numbers, WORDS, strict=False):
        await taker.page.goto(f"{taker.base}/admin/pages/{number}/edit/")
        await taker.page.locator("footer [data-w-dropdown-target=toggle]").click()
        await taker.state("page_edit.menu_open", "footer button:has-text('Publish')")
        await taker.send(f"/admin/pages/{number}/edit/", save, place=word)
        await taker.state("page_edit.errors", error)
        await taker.send(f"/admin/pages/{number}/edit/", save, note=word)
        await taker.state("page_edit.saved", said)
        await taker.send(new, save, title=word, place=word)
        await taker.state("page_new.errors", error)
        await taker.send("/admin/users/new/", save, email=f"{word}@b.example")
        await taker.state("user_new.errors", error)
        await taker.send("/admin/redirects/add/", save, redirect_link=f"https://{word}.example")
        await taker.state("redirect_new.errors", error)
        await taker.send(
            "/admin/redirects/add/", save, old_path=f"/{word}", redirect_link=f"https://{word}.example"
        )
        await taker.state("redirects.saved", said)
    await taker.states(
        "redirects",
        "table tbody tr a",
        *(
            f"/admin/redirects/?ordering={each}"
            for each in ("old_path", "-old_path", "site", "redirect_page", "")
        ),
    )


async def django(taker: StateTaker) -> None:
    """Store Django's admin over a library: lists, forms, refused forms and the messages after saving."""
    admin, save, error, said = "/admin", "input[name=_save]", ".errornote", ".messagelist .success"
    signing_in = partial(taker.sign_in, "/admin/login/", "#id_username", "#id_password")
    await taker.states(
        "sign_in",
        "#id_username",
        *(f"/admin/{part}" for part in ("", "auth/", "library/book/", "library/tag/", "auth/user/")),
    )
    for word in WORDS[:6]:
        await signing_in(word, "wrong")
        await taker.state("sign_in.errors", error)
    await signing_in(ADMIN_USER, ADMIN_PASSWORD)
    await taker.page.goto(f"{taker.base}/admin/auth/user/2/change/")
    await taker.page.check("[name=is_staff]")
    await taker.press(save)
    await signing_in("bob", ADMIN_PASSWORD)
    await taker.states("index.empty", "#content", *(f"/admin/?x={n}" for n in range(4)))
    await taker.states(
        "access_denied",
        "body",
        *(
            f"/admin/{part}/"
            for part in (
                "library/book",
                "library/tag/add",
                "library/author",
                "auth/user/1/change",
                "auth/group",
                "library/tag/1/delete",
            )
        ),
    )
    await signing_in(ADMIN_USER, ADMIN_PASSWORD)
    await taker.states("index", "#content", *(f"/admin/?x={n}" for n in range(4)))
    await taker.states(
        "not_found",
        "body",
        *(
            f"{admin}/{part}/"
            for part in (
                "moss",
                "auth/larch/3",
                "library/boat/4/change",
                "copper/1",
                "library/granite",
                "quarry",
            )
        ),
    )
    for model, name, more in (("tag", "label", {}), ("author", "name", {"email": "larch@b.example"})):
        at = f"{admin}/library/{model}/"
        for word in WORDS:
            await taker.send(f"{at}add/", save, **{name: f"{word} {model}"}, **more)
            await taker.state(f"{model}_list.saved", said)
        await taker.states(
            f"{model}_list", "#result_list", *(f"{at}?{each}" for each in ("", "o=1", "o=-1", "all=", "o="))
        )
        if model == "author":
            await taker.states(
                f"{model}_list.empty", "#changelist", *(f"{at}?q={word}x" for word in WORDS[:6])
            )
        await taker.states(f"{model}_add", f"#id_{name}", *(f"{at}add/?x={n}" for n in range(4)))
        numbers = range(1, 8)
        await taker.states(f"{model}_change", f"#id_{name}", *(f"{at}{n}/change/" for n in numbers))
        await taker.states(f"{model}_history", "#content", *(f"{at}{n}/history/" for n in numbers))
        await taker.states(f"{model}_delete", "#content", *(f"{at}{n}/delete/" for n in numbers))
        for number in numbers:
            await taker.send(f"{at}add/?x={number}", save, **more)
            await taker.state(f"{model}_add.errors", error)
            await taker.send(f"{at}{number}/change/", save, **{name: ""})
            await taker.state(f"{model}_change.errors", error)
            await taker.send(f"{at}{number}/change/", "input[name=_continue]")
            await taker.state(f"{model}_change.saved", said)
    book = f"{admin}/library/book/"
    await taker.states(
        "book_list",
        "#result_list",
        *(f"{book}?{each}" for each in ("", "o=1", "q=a", "o=-1", "book_format__exact=p")),
    )
    await taker.states("book_list.empty", "#changelist", *(f"{book}?q={word}x" for word in WORDS[:6]))
    await taker.states("book_change", "#id_title", *(f"{book}{n}/change/" for n in range(1, 5)))
    for number in range(1, 5):
        await taker.send(f"{book}{number}/change/", save, title="")
        await taker.state("book_change.errors", error)


async def oscar(taker: StateTaker) -> None:
    """Store a shop and its dashboard: search results, a basket, refused forms and messages after saving."""
    alert, done, field = ".alert-danger", ".alert-success", ".error-block"
    save = (
        "#content form button.btn-primary[type=submit]:visible, form button.btn-primary[type=submit]:visible"
    )
    table, shop, board = "table td", "/catalogue", "/dashboard"
    signing_in = partial(taker.sign_in, f"{board}/login/", "#id_username", "#id_password")
    await taker.states(
        "search.results",
        "article",
        *(f"/search/?q={each}" for each in ("a", "e", "seed", "hand", "pot", "o")),
    )
    await taker.states("search.empty", "#content_inner, body", *(f"/search/?q={word}x" for word in WORDS[:6]))
    names = (
        "beans-blue-lake_6",
        "clay-pot_13",
        "dibber_12",
        "garden-hose_2",
        "hand-fork_11",
        "rain-barrel_3",
    )
    await taker.states("product", "h1", *(f"{shop}/{name}/" for name in names))
    await taker.states("basket.empty", "#content_inner, body", *(f"/basket/?x={n}" for n in range(5)))
    await taker.states("account", "#id_login-username", *(f"/accounts/login/?x={n}" for n in range(5)))
    for word in WORDS[:6]:
        mail = f"{word}@b.example"
        await taker.send(
            "/accounts/login/", "[name=login_submit]", **{"login-username": mail, "login-password": "wrong"}
        )
        await taker.state("account.refused", ".alert-danger, .error-block")
    await taker.states(
        "not_found", "body", *(f"/{word.lower()}/" for word in WORDS[:4]), f"{shop}/moss_901/", "/larch/2/"
    )
    await taker.states(
        "sign_in",
        "#id_username",
        *(f"{board}/{part}/" for part in ("catalogue", "orders", "users", "pages", "ranges", "offers")),
    )
    for word in WORDS[:6]:
        await signing_in(word, "wrong")
        await taker.state("sign_in.errors", alert)
    await signing_in(SHOPKEEPER, PASSWORD)
    await taker.states(
        "products",
        table,
        *(
            f"{board}/catalogue/?{each}"
            for each in ("", "title=a&upc=", "title=seed&upc=", "title=pot&upc=", "sort=title")
        ),
    )
    await taker.states(
        "orders",
        table,
        *(f"{board}/orders/?{each}" for each in ("", "sort=number", "sort=total_incl_tax", "sort=-number")),
    )
    await taker.states(
        "customers",
        table,
        *(f"{board}/users/?{each}" for each in ("", "email=customer1", "email=customer2", "sort=email")),
    )
    await taker.states(
        "products.empty", "form", *(f"{board}/catalogue/?title={word}x&upc=" for word in WORDS[:6])
    )
    numbers = range(2, 9)
    await taker.states("product_edit", "[name=title]", *(f"{board}/catalogue/products/{n}/" for n in numbers))
    await taker.states(
        "product_delete", "form", *(f"{board}/catalogue/products/{n}/delete/" for n in numbers)
    )
    await taker.states(
        "category_edit", "[name=name]", *(f"{board}/catalogue/categories/{n}/update/" for n in range(1, 5))
    )
    await taker.states("customer", "table, h1", *(f"{board}/users/{n}/" for n in numbers))
    await taker.states("order", "table, h1", *(f"{board}/orders/{n}/" for n in range(100110, 100117)))
    for part in ("pages", "ranges"):
        await taker.states(f"{part}_new", "form", *(f"{board}/{part}/create/?x={n}" for n in range(4)))
    for number, word in zip(numbers, WORDS, strict=False):
        for part, name in (("pages", "title"), ("ranges", "name")):
            await taker.send(f"{board}/{part}/create/", save, **{name: ""})
            await taker.state(f"{part}_new.errors", field)
            await taker.send(f"{board}/{part}/create/", save, **{name: word})
            await taker.state(f"{part}.saved", done)
            await taker.states(part, table, f"{board}/{part}/?x={number}")
        await taker.send(f"{board}/catalogue/products/{number}/", save, title="")
        await taker.state("product_edit.errors", alert)
        await taker.send(f"{board}/catalogue/categories/create/", save, name="")
        await taker.state("category_new.errors", field)


@asynccontextmanager
async def start_django(_: Path) -> AsyncIterator[str]:
    """Serve the admin of Django 5.2."""
    with django_site("5.2") as base:
        yield base


APPLICATIONS: dict[str, tuple[Callable[[Path], object], Callable[[StateTaker], Awaitable[None]]]] = {
    "roundup": (start_roundup, roundup),
    "trac": (start_trac, trac),
    "pretalx": (start_pretalx, pretalx),
    "wagtail": (start_wagtail, wagtail),
    "django-oscar": (start_django_oscar, oscar),
    "django-admin": (start_django, django),
}


async def collect(folder: Path, names: list[str]) -> None:
    """Start each application, and store its pages."""
    async with async_playwright() as playwright:
        browser = await launch(playwright)
        for name in names or APPLICATIONS:
            start, visit = APPLICATIONS[name]
            with tempfile.TemporaryDirectory(prefix="periplus-states-", ignore_cleanup_errors=True) as made:
                async with start(Path(made)) as running:
                    context = await browser.new_context(viewport={"width": 1280, "height": 900})
                    base = running if isinstance(running, str) else running.base_url
                    taker = StateTaker(await context.new_page(), base, folder / name)
                    await visit(taker)
                    taker.finish()
                    await context.close()
            print(
                f"{name}: {len(taker.labels)} pages of {len(set(taker.labels.values()))} screens and states",
                flush=True,
            )
        await browser.close()


if __name__ == "__main__":
    asyncio.run(collect(Path(sys.argv[1]), sys.argv[2:]))
