"""Sentences that describe what is meant: by several words of an item, with amounts, for him and for her."""

from __future__ import annotations

import json
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
        assert result.lowered is not None
        assert len(result.lowered.workflow.sentences) == 1
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


PATIENTS = (
    "Rodriguez, James",
    "Chen, Olivia",
    "O'Brien, Patricia",
    "Liu, Jason",
    "Thompson, Emily",
    "Liu, Ann",
)


@dataclass
class Patients:
    """A list that a script draws anew, without those that do not have all words of the search field."""

    invited: list[str] = field(default_factory=list)

    def answer(self, asked: Asked) -> Answered:
        if asked.method == "POST":
            self.invited += [PATIENTS[int(name)] for name in asked.form if name.isdecimal()]
            return Answered(location="/done")
        if asked.path == "/done":
            return Answered("<body><p role=status>Invitation sent</p></body>")
        return Answered(
            "<body><h1>Patients</h1><form method=post><input id=find placeholder='Search patients...'>"
            "<table><tbody></tbody></table><button>Invite</button></form><script>"
            f"const all = {json.dumps(PATIENTS)}; const find = document.querySelector('#find');"
            "const draw = () => { document.querySelector('tbody').innerHTML = all.map((name, at) => [name, at])"
            ".filter(([name]) => find.value.toLowerCase().split(' ').every(word => name.toLowerCase().includes(word)))"
            ".map(([name, at]) => `<tr><td><input type=checkbox class=pick data-patient=${at} name=${at}></td>"
            "<td><a href='#'>${name}</a></td></tr>`).join('') };"
            "find.addEventListener('input', () => setTimeout(draw, 150)); draw()</script></body>"
        )


async def invites_a_patient(page: Page, given: Mapping[str, str], _dice: random.Random) -> None:
    last, first = given["name"].split(", ")
    await page.locator("#find").click()
    await page.keyboard.type(f"{first} {last}", delay=20)
    await page.wait_for_function("document.querySelectorAll('.pick').length === 1")
    await page.locator(".pick").check()
    await page.get_by_role("button", name="Invite").click()
    await page.wait_for_url("**/done")


async def test_who_was_chosen_in_a_demonstration_is_no_alternative_for_who_is_asked_for(browser, tmp_path):
    patients = Patients()
    sentences = [
        f"Invite the patient {first} {last}" for last, first in (each.split(", ") for each in PATIENTS)
    ]
    with running_site(patients.answer) as site:
        result = await induced(
            browser,
            site,
            tmp_path / "traces",
            invites_a_patient,
            [{"name": each} for each in PATIENTS[:3]],
            sentences=sentences[:3],
            prepare=lambda _: patients.invited.clear(),
        )
        assert find_gap(result) is None
        assert result.lowered is not None
        targets = [str(step.action.target) for task in result.lowered.tasks for step in task.steps]
        assert not any("Rodriguez" in each or "data-patient" in each for each in targets)
        template = result.understanding.template if result.understanding else None
        assert template is not None
        ends = []
        async with visiting(browser, site, tmp_path / "stores") as session:
            for sentence in (sentences[3], sentences[4], "Invite the patient Ida Moor"):
                patients.invited.clear()
                await session.page.goto(f"{site.base}/")
                done = await ran(session, result, expand_value_forms(template.parse(sentence)))
                ends.append((done.complete, patients.invited.copy()))
    assert ends == [(True, ["Liu, Jason"]), (True, ["Thompson, Emily"]), (False, [])]


TAGS = {
    "Ada": ["Chronic"],
    "Ben": ["New patient"],
    "Cid": ["Mental"],
    "Dan": ["VIP", "Chronic"],
    "Eve": ["VIP"],
}


@dataclass
class Tagged:
    """People with tags. The button that removes one says so in an attribute only."""

    removed: list[tuple[str, str]] = field(default_factory=list)

    def answer(self, asked: Asked) -> Answered:
        if asked.method == "POST":
            self.removed.append((asked.form["who"], asked.form["tag"]))
            return Answered(location="/done")
        if asked.path == "/done":
            return Answered("<body><p role=status>Tag removed</p></body>")
        who = asked.query.get("who", "")
        if who:
            tags = "".join(
                f"<span class=tag>{each} <span class=x data-tag='{each}' style='cursor: pointer'>x</span></span>"
                for each in TAGS[who]
            )
            return Answered(
                f"<body><h1>{who}</h1><div>{tags}</div><form method=post><input type=hidden name=who value={who}>"
                "<input type=hidden name=tag></form><script>for (const x of document.querySelectorAll('.x'))"
                " x.onclick = () => { const form = document.forms[0]; form.tag.value = x.dataset.tag; form.submit() }"
                "</script></body>"
            )
        rows = "".join(
            f"<tr><td><a href='/?who={name}'>{name}</a></td><td>{', '.join(tags)}</td></tr>"
            for name, tags in TAGS.items()
        )
        return Answered(f"<body><h1>People</h1><table><tbody>{rows}</tbody></table></body>")


async def removes_a_tag(page: Page, given: Mapping[str, str], _dice: random.Random) -> None:
    await page.get_by_role("link", name=given["who"], exact=True).click()
    await page.locator(f".x[data-tag='{given['tag']}']").click()
    await page.wait_for_url("**/done")


async def test_a_value_in_an_attribute_is_no_branch_of_its_own(browser, tmp_path):
    tagged = Tagged()
    shown = [{"who": who, "tag": TAGS[who][0]} for who in ("Ada", "Ben", "Cid")]
    with running_site(tagged.answer) as site:
        result = await induced(
            browser,
            site,
            tmp_path / "traces",
            removes_a_tag,
            shown,
            sentences=[f"Remove the '{each['tag']}' tag of {each['who']}" for each in shown],
        )
        assert find_gap(result) is None
        template = result.understanding.template if result.understanding else None
        assert template is not None
        ends = []
        async with visiting(browser, site, tmp_path / "stores") as session:
            for tag, who in (("VIP", "Dan"), ("Chronic", "Dan"), ("Late", "Eve")):
                tagged.removed.clear()
                await session.page.goto(f"{site.base}/")
                told = template.parse(f"Remove the '{tag}' tag of {who}")
                done = await ran(session, result, expand_value_forms(told))
                ends.append((done.complete, tagged.removed.copy()))
    assert ends == [(True, [("Dan", "VIP")]), (True, [("Dan", "Chronic")]), (False, [])]
