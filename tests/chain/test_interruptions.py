"""A reminder that came at one step of a demonstration is answered at any other step of a run."""

from __future__ import annotations

import random
from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING

import pytest

from kb_schema.run_records import RunStatus
from tests.support.small_sites import Answered, Asked, induced, ran, running_site, visiting

if TYPE_CHECKING:
    from playwright.async_api import Page

GIVEN = (
    {"berth": "North pier", "skipper": "Ann Lee"},
    {"berth": "Slip four", "skipper": "Bo Iversen"},
    {"berth": "Dry dock", "skipper": "Cy Abara"},
)
NEW = {"berth": "Long quay", "skipper": "Di Marsh"}
DISABLES = "for (const each of document.querySelectorAll('form *')) each.disabled = true;"
COVERS = "box.style = 'position: fixed; inset: 0; background: white';"


@dataclass
class Harbour:
    """A form; a reminder comes when the named field gets the focus."""

    at: str = ""
    blocks: str = DISABLES
    answered: int = 0

    def answer(self, asked: Asked) -> Answered:
        if asked.method == "POST":
            self.answered += asked.form.get("later") == "1"
            return Answered(f"<body><p role=status>{asked.form['berth']} is booked</p></body>")
        fields = "".join(
            f"<p><label>{each} <input name={each.lower()}></label></p>" for each in ("Berth", "Skipper")
        )
        script = f"""let came = false; const later = document.querySelector('[name=later]');
        document.addEventListener('focusin', (event) => {{ if (came || event.target.name !== '{self.at or "-"}') return; came = true;
          document.body.insertAdjacentHTML('beforeend', '<div id=box><p>The tide turns soon</p><button type=button id=later>Later</button></div>');
          {self.blocks}
          document.getElementById('later').onclick = () => {{ box.remove(); later.value = '1';
            for (const each of document.querySelectorAll('form *')) each.disabled = false; }}; }});"""
        return Answered(
            f"<body><h1>Book a berth</h1><form method=post action=/><input type=hidden name=later>{fields}"
            f"<button>Book</button></form><script>{script}</script></body>"
        )


async def books_a_berth(page: Page, given: Mapping[str, str], _dice: random.Random) -> None:
    for label in ("Berth", "Skipper"):
        await page.get_by_label(label).focus()
        if await page.locator("#later").count():
            await page.locator("#later").click()
        await page.get_by_label(label).fill(given[label.lower()])
    await page.get_by_role("button", name="Book").click()
    await page.get_by_text("is booked").wait_for()


@pytest.mark.sampled(0.5)
@pytest.mark.parametrize(("blocks", "at"), [(DISABLES, "berth"), (COVERS, "berth"), (DISABLES, "")])
async def test_a_reminder_is_answered_wherever_it_comes(browser, tmp_path, blocks, at):
    harbour = Harbour(blocks=blocks)

    def prepare(number: int) -> None:
        harbour.at = "skipper" if number == 1 else ""

    with running_site(harbour.answer) as site:
        result = await induced(browser, site, tmp_path / "traces", books_a_berth, GIVEN, prepare=prepare)
        assert harbour.answered == 1
        harbour.at = at
        async with visiting(browser, site, tmp_path / "stores") as session:
            done = await ran(session, result, NEW)
    assert done.status is RunStatus.SUCCESS, done.error
    assert {name: site.writes[-1].form[name] for name in NEW} == NEW
    assert harbour.answered == 1 + bool(at)
