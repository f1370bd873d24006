"""Pages of sites that run here, each with the screen that it is of: what the learner is measured on.

python benchmarks/learning_pages.py DIR

Into DIR/SITE go snapshots and `labels.json`, of Spadeworks before and after its redesign and of the admin of
three versions of Django. What the screens are was written down by hand, below.
"""

from __future__ import annotations

import asyncio
import json
import re
import sys
from collections import Counter
from collections.abc import Awaitable, Callable
from contextlib import suppress
from pathlib import Path

from playwright.async_api import Browser, Page, async_playwright
from playwright.async_api import TimeoutError as PlaywrightTimeout

ROOT = Path(__file__).parents[1]
sys.path.insert(0, str(ROOT))

from agent.browser.launch import launch  # noqa: E402
from agent.page.snapshot_capture import take_snapshot  # noqa: E402
from kb_schema.snapshot_folder import write_snapshot  # noqa: E402
from tests.support.foreign_sites import (  # noqa: E402
    django_site,
    sign_in_to_admin,
    spadeworks_site,
)
from tests.support.live_spadeworks import ACCOUNT  # noqa: E402

LABELS = "labels.json"
LONGEST_MS = 3_000


class Taker:
    """Stores what a page shows, under the screen's name and a number."""

    def __init__(self, page: Page, base: str, folder: Path) -> None:
        self.page, self.base, self.folder = page, base, folder
        self.labels: dict[str, str | None] = {}
        self._counts: Counter[str] = Counter()

    async def take(self, screen: str | None) -> None:
        """The page as it is."""
        called = screen or "none"
        self._counts[called] += 1
        name = f"{called}-{self._counts[called]:02}"
        write_snapshot(await take_snapshot(self.page), self.folder / name)
        self.labels[name] = screen

    async def at(self, screen: str | None, *paths: str) -> None:
        """The pages at these addresses."""
        for path in paths:
            await self.page.goto(self.base + path)
            await self.take(screen)

    async def press(self, selector: str) -> None:
        """Click, and wait for the page that comes of it; some pages only say what is wrong."""
        with suppress(PlaywrightTimeout):
            async with self.page.expect_navigation(timeout=LONGEST_MS):
                await self.page.locator(selector).first.click()

    async def enter(self, selector: str) -> None:
        """Send the form of a field, and wait for the page that comes of it."""
        with suppress(PlaywrightTimeout):
            async with self.page.expect_navigation(timeout=LONGEST_MS):
                await self.page.locator(selector).first.press("Enter")

    async def unchecked(self) -> None:
        """Let forms be sent that the browser would not send: their pages show what is wrong."""
        await self.page.evaluate("document.querySelectorAll('form').forEach(f => f.noValidate = true)")

    def finish(self) -> None:
        """Write the labels."""
        (self.folder / LABELS).write_text(json.dumps(self.labels, indent=1), encoding="utf-8")


async def admin(taker: Taker) -> None:
    """Every kind of page of Django's admin, for five models."""
    page = taker.page
    await taker.at("login", "/admin/login/", "/admin/login/?next=/admin/library/book/")
    await page.fill("#id_username", "nobody")
    await page.fill("#id_password", "wrong")
    await taker.press("input[type=submit]")
    await taker.take("login")
    await sign_in_to_admin(page.context, taker.base)
    await taker.at("index", "/admin/", "/admin/?from=mail")
    for app in ("auth", "library"):
        await taker.at(f"app_{app}", f"/admin/{app}/", f"/admin/{app}/?x=1")
    for app, model in (
        ("auth", "group"),
        ("auth", "user"),
        ("library", "author"),
        ("library", "book"),
        ("library", "tag"),
    ):
        await _model(taker, app, model)
    await taker.at(
        "user_password",
        "/admin/auth/user/1/password/",
        "/admin/auth/user/2/password/",
        "/admin/auth/user/3/password/",
    )
    await taker.at("password_change", "/admin/password_change/")
    await taker.unchecked()
    await taker.press("input[type=submit]")
    await taker.take("password_change")
    await taker.at(
        "not_found", "/admin/nothing/", "/admin/auth/nothing/3/", "/away", "/admin/library/boat/4/change/"
    )


async def _model(taker: Taker, app: str, model: str) -> None:
    page, at = taker.page, f"/admin/{app}/{model}/"
    await taker.at(f"{model}_list", at, f"{at}?o=1", f"{at}?q=zzzz", f"{at}?q=a", f"{at}?all=")
    await taker.at(f"{model}_add", f"{at}add/", f"{at}add/?_popup=0")
    await taker.unchecked()
    await taker.press("input[name=_save]")
    await taker.take(f"{model}_add")
    numbers = ("1", "2") if model == "group" else ("1", "2", "3")
    for number in numbers:
        await taker.at(f"{model}_change", f"{at}{number}/change/")
    await taker.unchecked()
    await page.locator("form input[type=text]:visible").first.fill("")
    await taker.press("input[name=_save]")
    await taker.take(f"{model}_change")
    await taker.at(f"{model}_history", *(f"{at}{number}/history/" for number in numbers))
    await taker.at(f"{model}_delete", *(f"{at}{number}/delete/" for number in numbers))
    for count in (1, 2):
        await page.goto(taker.base + at)
        for number in range(count):
            await page.locator("input.action-select").nth(number).check()
        await page.select_option("select[name=action]", "delete_selected")
        await taker.press("button[name=index]")
        await taker.take(f"{model}_delete_selected")
    await page.goto(f"{taker.base}{at}1/change/")
    await taker.press("input[name=_save]")
    await taker.take(f"{model}_list")  # with a message above it
    await page.goto(f"{taker.base}{at}2/change/")
    await taker.press("input[name=_continue]")
    await taker.take(f"{model}_change")
    await taker.at(f"{model}_history", f"{at}1/history/")


async def spadeworks(taker: Taker) -> None:
    """The screens of the hand-written knowledge, with other rows, errors and what lies over them."""
    page = taker.page

    async def switch(what: str, **body: object) -> None:
        answer = await page.request.post(f"{taker.base}/__control/{what}", data=body)
        assert answer.ok, await answer.text()

    await taker.at("login", "/login", "/login?next=/agent")
    await page.fill('[name="email"]', "nobody@x.example")
    await page.fill('[name="password"]', "wrong words")
    await taker.enter('[name="password"]')
    await taker.take("login")
    await taker.at("forgot_password", "/forgot-password")
    await page.fill("main input[type=email], input[type=email]", "x@y.example")
    await taker.enter("input[type=email]")
    await taker.take("forgot_password")
    await taker.at("forgot_password", "/forgot-password?x=1")
    await taker.at("authenticator", "/authenticator", "/authenticator?x=1")
    await taker.at(
        "session_expired", "/session-expired", "/session-expired?next=/agent", "/session-expired?next=/inbox"
    )
    await taker.at("error_not_found", "/nothing/here", "/agents", "/campaign/zz/zz")

    async def sign_in(*, code: bool = False) -> None:
        await page.goto(f"{taker.base}/login")
        await switch("otp", required=code)
        await page.fill('[name="email"]', ACCOUNT["email"])
        await page.fill('[name="password"]', ACCOUNT["password"])
        await page.press('[name="password"]', "Enter")
        await page.wait_for_url(re.compile(r"/login/code" if code else r"/dashboard"))
        await switch("otp", required=False)

    for _ in range(2):
        await sign_in(code=True)
        await taker.take("login_code")
        await page.fill('[name="code"]', "000000")
        await taker.enter('[name="code"]')
        await taker.take("login_code")
        await page.context.clear_cookies()
    await sign_in()
    await taker.at("error_not_found", "/agents/7", "/contact", "/campaign/zz/zz")
    for path in ("/dashboard", "/agent", "/contacts"):
        await switch("faults", kind="error_500", path=path)
        await taker.at("error_server", path)
    await _inside(taker, switch)
    await page.context.add_cookies([{"name": "sw_consent", "value": "accepted", "url": taker.base}])
    await _inside(taker, switch)


async def _inside(taker: Taker, switch: Callable[..., Awaitable[None]]) -> None:
    page = taker.page
    for screen, path in (
        ("dashboard", "/dashboard"),
        ("settings", "/settings"),
        ("agent_create", "/agent/create"),
        ("email_inbox", "/inbox"),
        ("contacts_list", "/contacts"),
    ):
        await taker.at(screen, path)
        await switch("faults", kind="modal", path=path)
        await taker.at(screen, path)
    await taker.at("agent_list", "/agent", "/agent?q=zzzz", "/agent?page=2", "/agent?status=active")
    await taker.at("contacts_list", "/contacts?page=2", "/contacts?q=zzzz", "/contacts?q=a")
    await taker.at("contacts_import", "/contacts/import")
    await taker.unchecked()
    await taker.press("main form button[type=submit]:visible")
    await taker.take("contacts_import")
    await taker.at("campaign_list", "/campaign", "/campaign?x=1")
    await taker.at("agent_detail", "/agent/agt-1001", "/agent/agt-1002", "/agent/agt-1003")
    await taker.at("agent_edit", "/agent/agt-1001/edit", "/agent/agt-1002/edit", "/agent/agt-1003/edit")
    await taker.unchecked()
    await page.locator("main button[data-opens]").first.dispatch_event("click")
    await taker.take("agent_edit")
    await page.goto(f"{taker.base}/agent/agt-1002/edit")
    await taker.unchecked()
    await page.fill('[name="agent_name"], [name="name"]', "")
    await taker.press("main form button[type=submit]:visible")
    await taker.take("agent_edit")
    await taker.at("agent_create", "/agent/create")
    await taker.unchecked()
    await taker.press("main form button[type=submit]:visible")
    await taker.take("agent_create")
    await page.goto(f"{taker.base}/campaign")
    links = [await each.get_attribute("href") for each in await page.locator("main tbody a").all()]
    await taker.at("campaign_detail", *sorted({link for link in links if link and "/cmp-" in link})[:3])
    for daily in ("50", "20"):
        await page.goto(f"{taker.base}/campaign/create")
        await taker.take("campaign_create_details")
        await taker.unchecked()
        await taker.press("main form button[type=submit]:visible")
        await taker.take("campaign_create_details")
        await page.fill('[name="campaign_name"]', f"Autumn {daily}")
        await page.select_option('[name="agent_id"]', index=1)
        await page.fill('[name="start_date"]', "12/31/2030")
        await taker.enter('[name="start_date"]')
        await taker.take("campaign_create_audience")
        await taker.unchecked()
        await taker.press("main form button[type=submit]:visible")
        await taker.take("campaign_create_audience")
        await page.check('[name="contact_list"][value="Renewals"]')
        await page.fill('[name="daily_limit"]', daily)
        await taker.enter('[name="daily_limit"]')
        await taker.take("campaign_create_review")
        await page.locator("main button[data-opens]").first.dispatch_event("click")
        await taker.take("campaign_create_review")


async def collect(folder: Path, *, versions: tuple[str, ...] = ("3.2", "4.2", "5.2")) -> None:
    """All of them."""
    async with async_playwright() as playwright:
        browser = await launch(playwright)
        for version in versions:
            with django_site(version) as base:
                await _site(browser, base, folder / f"django-{version}", admin)
        for ui in ("1", "2"):
            with spadeworks_site("--ui-version", ui) as base:
                await _site(browser, base, folder / f"spadeworks-{ui}", spadeworks)
        await browser.close()


async def _site(browser: Browser, base: str, folder: Path, visit: Callable[[Taker], Awaitable[None]]) -> None:
    context = await browser.new_context(viewport={"width": 1280, "height": 900})
    taker = Taker(await context.new_page(), base, folder)
    await visit(taker)
    taker.finish()
    await context.close()
    print(f"{folder.name}: {len(taker.labels)} pages of {len(set(taker.labels.values()))} screens")


if __name__ == "__main__":
    asyncio.run(collect(Path(sys.argv[1])))
