"""A step that the sentences ask for is never left out of a workflow without a word, though only one demonstration shows it."""

from __future__ import annotations

import pytest

from tests.support.small_sites import Answered, induced, running_site

pytestmark = [pytest.mark.sampled(0.4), pytest.mark.timeout(300)]

NOTES = [{"note": "Mast is loose"}, {"note": "Pump hums"}, {"note": "Sail torn"}]


class Log:
    """Notes with a box that hides the name, and one that nobody asks for."""

    def __init__(self) -> None:
        self.notes: list[str] = []

    def answer(self, asked):
        if asked.method == "POST":
            self.notes.append(f"{asked.form['note']} ({'hidden' if 'anonymous' in asked.form else 'Ada'})")
            return Answered(location="/")
        listed = "".join(f"<li>{each}</li>" for each in self.notes)
        boxes = "".join(
            f"<label><input type=checkbox name={name}> {text}</label>"
            for name, text in (("anonymous", "Post anonymously"), ("copy", "Keep a copy"))
        )
        form = (
            f"<form method=post><label>Note <input name=note></label>{boxes}<button>Comment</button></form>"
        )
        return Answered(f"<body><h1>Log</h1>{form}<ul>{listed}</ul></body>")


@pytest.mark.parametrize(
    ("box", "asked", "refused"),
    [
        ("Post anonymously", "Add an anonymous comment", True),
        (
            "Post anonymously",
            "Give Ada's log an anonymous comment",
            True,
        ),  # an apostrophe begins no text in quotes
        ("Keep a copy", "Add an anonymous comment", False),
    ],
)
async def test_a_box_that_the_sentences_ask_for_and_one_demonstration_ticks_is_refused(
    browser, tmp_path, box, asked, refused
):
    ticked = []

    async def writes(page, given, _dice):
        await page.fill("[name=note]", given["note"])
        if not ticked:
            ticked.append(given["note"])
            await page.get_by_text(box).click()
        async with page.expect_navigation():
            await page.get_by_role("button", name="Comment").click()

    sentences = [f"{asked} saying '{each['note']}'" for each in NOTES]
    with running_site(Log().answer) as site:
        found = await induced(browser, site, tmp_path, writes, NOTES, sentences=sentences)
    told = " ".join(found.synthesis_report.refusals)
    assert ("all sentences say 'anonymously', and only some of the traces did it" in told) is refused, told


async def test_a_box_that_one_of_two_demonstrations_ticks_is_refused_as_nothing_shows_when(browser, tmp_path):
    ticked = []

    async def writes(page, given, _dice):
        await page.fill("[name=note]", given["note"])
        if not ticked:
            ticked.append(given["note"])
            await page.get_by_label("Keep a copy").check()
        async with page.expect_navigation():
            await page.get_by_role("button", name="Comment").click()

    with running_site(Log().answer) as site:
        found = await induced(browser, site, tmp_path, writes, NOTES[:2])
    told = " ".join(found.synthesis_report.refusals)
    assert "only 1 of 2 traces did it, all had its element, and nothing shows when" in told, told
