"""Sentences that describe what is meant: by several words of an item, with amounts, for him and for her."""

from __future__ import annotations

import random
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from agent.synthesis.trace_consensus import find_gap
from agent.synthesis.utterances.utterance_templates import expand_value_forms
from tests.support.small_sites import Answered, Asked, induced, ran, running_site, visiting

if TYPE_CHECKING:
    from playwright.async_api import Page

ACCOUNTS = (
    ("Chase", "checking", "6742"),
    ("Bank of Ann", "savings", "3891"),
    ("Harbour Bank", "checking", "1104"),
    ("Chase", "savings", "2203"),
    ("Bank of Ann", "checking", "5518"),
)


@dataclass
class Transfers:
    """A form with a home-made menu of accounts, of which the chosen one has a class of its own."""

    sent: list[tuple[str, str]] = field(default_factory=list)

    def answer(self, asked: Asked) -> Answered:
        if asked.method == "POST":
            self.sent.append((asked.form["amount"], asked.form["account"]))
            return Answered(location="/?sent=1")
        said = f"<p role=status>${self.sent[-1][0]} is on its way</p>" if "sent" in asked.query else ""
        options = "".join(
            f"<div class='option{' selected' if not at else ''}' data-ending={ending}><b>{bank}</b> ****{ending} ({kind})</div>"
            for at, (bank, kind, ending) in enumerate(ACCOUNTS)
        )
        return Answered(
            f"<body>{said}<form method=post><label>Amount <input name=amount></label>"
            "<input type=hidden name=account value=6742><div id=chosen class=trigger>Choose an account</div>"
            f"<div id=menu hidden>{options}</div><button>Send</button></form><script>"
            "chosen.onclick = () => { menu.hidden = !menu.hidden };"
            "menu.addEventListener('click', (event) => { const option = event.target.closest('.option');"
            " document.querySelector('[name=account]').value = option.dataset.ending;"
            " chosen.textContent = option.textContent; menu.hidden = true });</script></body>"
        )


async def sends_money(page: Page, given: Mapping[str, str], _dice: random.Random) -> None:
    await page.get_by_label("Amount").fill(given["amount"])
    await page.locator("#chosen").click()
    await page.locator(".option", has_text=given["ending"]).click()
    await page.get_by_role("button", name="Send").click()
    await page.wait_for_url("**/?sent=1")


def _says(amount: str, account: int, whose: str) -> str:
    bank, kind, ending = ACCOUNTS[account]
    return f"Send ${amount} from {whose} purse to the {bank} {kind} account ending in {ending}."


SHOWN = (("200.00", 1, "her"), ("1,050.00", 0, "his"), ("64.25", 2, "her"))


async def test_an_item_is_found_by_all_the_words_that_the_sentence_has_for_it(browser, tmp_path):
    transfers = Transfers()
    given = [
        {"amount": amount.replace(",", ""), "ending": ACCOUNTS[account][2]} for amount, account, _ in SHOWN
    ]
    with running_site(transfers.answer) as site:
        result = await induced(
            browser, site, tmp_path / "traces", sends_money, given, sentences=[_says(*each) for each in SHOWN]
        )
        assert find_gap(result) is None
        assert result.understanding is not None
        template = result.understanding.template
        assert template is not None
        transfers.sent.clear()
        async with visiting(browser, site, tmp_path / "stores") as session:
            ends = []
            for sentence in (
                _says("3,500.00", 3, "his"),
                _says("20.00", 4, "her"),
                "Send $9.00 from her purse to the Chase checking account ending in 5518.",
            ):
                await session.page.goto(f"{site.base}/")
                done = await ran(session, result, expand_value_forms(template.parse(sentence)))
                ends.append(done.complete)
    assert ends == [True, True, False]
    assert transfers.sent == [("3500.00", "2203"), ("20.00", "5518")], "the third one is no account"


MAILS = ("Rope prices", "Regatta in June", "Keys of the shed", "Lost anchor", "New sails", "Rope walk")


@dataclass
class Mails:
    """A search that leaves one row. Its box has an id of its own, and nothing else names it."""

    archived: list[str] = field(default_factory=list)

    def answer(self, asked: Asked) -> Answered:
        if asked.method == "POST":
            self.archived.append(MAILS[int(asked.form["picked"])])
            return Answered(location="/?archived=1")
        wanted = asked.query.get("q", "")
        rows = "".join(
            f"<div class='mail{' unread' if number % 2 else ''}'><input type=checkbox class=pick name=picked"
            f" value={number} data-testid=pick-{number}><span class=subject>{mail}</span></div>"
            for number, mail in enumerate(MAILS)
            if wanted.casefold() in mail.casefold() and mail not in self.archived
        )
        said = "<p role=status>One mail was archived</p>" if "archived" in asked.query else ""
        return Answered(
            f"<body>{said}<form><input type=search name=q aria-label='Search mail'></form>"
            f"<form method=post><section>{rows}</section><button>Archive</button></form></body>"
        )


async def archives_a_mail(page: Page, given: Mapping[str, str], _dice: random.Random) -> None:
    await page.get_by_label("Search mail").fill(given["subject"])
    await page.keyboard.press("Enter")
    await page.wait_for_url("**/?q=*")
    await page.locator(".mail", has_text=given["subject"]).locator("input").check()
    await page.get_by_role("button", name="Archive").click()
    await page.wait_for_url("**/?archived=1")


async def test_what_a_search_left_is_told_by_what_was_searched_for(browser, tmp_path):
    mails = Mails()
    given = [{"subject": each} for each in MAILS[:3]]
    with running_site(mails.answer) as site:
        result = await induced(
            browser,
            site,
            tmp_path / "traces",
            archives_a_mail,
            given,
            prepare=lambda _: mails.archived.clear(),
        )
        assert find_gap(result) is None
        assert result.lowered is not None
        (asked,) = result.lowered.workflow.io_spec.inputs
        ends = []
        async with visiting(browser, site, tmp_path / "stores") as session:
            for subject in ("New sails", "Rope"):
                mails.archived.clear()
                await session.page.goto(f"{site.base}/")
                done = await ran(session, result, {asked.name: subject})
                ends.append((done.complete, mails.archived.copy()))
    assert ends == [(True, ["New sails"]), (False, [])], "two rows have the word, and none is called so"
