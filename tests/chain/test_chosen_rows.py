"""Rows are chosen by a word in their names or by a column; each demonstration chose two of them."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING

import pytest

from agent.synthesis.trace_consensus import find_gap
from tests.support.small_sites import Answered, Asked, induced, ran, running_site, visiting

if TYPE_CHECKING:
    import random
    from collections.abc import Mapping

    from playwright.async_api import Page

EVENTS = (
    (100101, "Choir rehearsal", "Ada"), (100102, "Market on the quay", "Ben"), (100103, "CHOIR in the park", "Cid"),
    (100104, "Night market", "Ada"), (100105, "Lantern walk", "Ben"), (100106, "Lantern workshop", "Cid"),
    (100107, "Reading", "Dan"), (100108, "Ruth's talk", "Eve"), (100109, "Ruth's walk", "Eve"),
)  # fmt: skip
SCRIPT = """<script>
for (const box of document.querySelectorAll("input")) box.addEventListener("change", () => {
  document.querySelector("#bar").innerHTML =
    "<h2>Chosen events</h2><label>Reason <input name=reason></label><button>Unpublish</button><button type=button>Clear</button>";
});
</script>"""


@dataclass
class Events:
    """A table of events; a bar appears with the first chosen one. Without names, only numbers tell them apart."""

    named: bool
    done: list[int] = field(default_factory=list)

    def clear(self, _number: int = 0) -> None:
        """Begin anew."""
        self.done = []

    def answer(self, asked: Asked) -> Answered:
        if asked.method == "POST":
            self.done = sorted(int(name) for name in asked.form if name.isdecimal())
            return Answered(location="/done")
        if asked.path == "/done":
            count = len(self.done)
            said = f"{count} {'event has' if count == 1 else 'events have'} been unpublished."
            return Answered(f"<body><p role=status class=message>{said}</p><h1>Events</h1></body>")
        rows = "".join(
            f"<tr><td><input type=checkbox name={number} class=pick aria-label=Select></td><td>{number}</td>"
            + (f"<td>{name}</td>" if self.named else "")
            + f"<td>{owner}</td></tr>"
            for number, name, owner in EVENTS
        )
        head = f"<tr><th></th><th>Number</th>{'<th>Name</th>' if self.named else ''}<th>Owner</th></tr>"
        table = f"<table><thead>{head}</thead><tbody>{rows}</tbody></table>"
        return Answered(
            f"<body><h1>Events</h1><form method=post>{table}<div id=bar></div></form>{SCRIPT}</body>"
        )


async def unpublishes(page: Page, given: Mapping[str, str], _dice: random.Random) -> None:
    rows = page.locator("tbody tr")
    for row in await rows.all():
        if given["word"].casefold() in (await row.inner_text()).casefold():
            await row.get_by_role("checkbox").check()
    await page.get_by_role("button", name="Unpublish").click()
    await page.wait_for_url("**/done")


@pytest.mark.parametrize(
    ("named", "shown", "unseen"),
    [
        (True, ("choir", "market", "Lantern"), {"reading": [100107], "Ruth's": [100108, 100109], "Opera": []}),
        (False, ("Ada", "Ben", "Cid"), {"Eve": [100108, 100109], "Dan": [100107], "Ed": []}),
    ],
)  # fmt: skip
async def test_rows_with_a_word_are_chosen_whatever_their_number_and_letters(
    browser, tmp_path, named, shown, unseen
):
    events = Events(named)
    with running_site(events.answer) as site:
        result = await induced(
            browser,
            site,
            tmp_path / "traces",
            unpublishes,
            [{"word": each} for each in shown],
            prepare=events.clear,
        )
        assert find_gap(result) is None
        assert result.lowered is not None
        (asked,) = result.lowered.workflow.io_spec.inputs
        ends = {}
        async with visiting(browser, site, tmp_path / "stores") as session:
            for word in unseen:
                events.clear()
                await session.page.goto(f"{site.base}/")
                done = await ran(session, result, {asked.name: word})
                ends[word] = (done.complete, events.done)
    assert ends == {word: (bool(numbers), numbers) for word, numbers in unseen.items()}
