"""A step that the sentences ask for is never left out of a workflow without a word, though only one demonstration shows it."""

from __future__ import annotations

import pytest

from agent.sentences.sentence_binding import bind_sentence
from periplus.synthesis.shown_sentences import build_documents
from periplus.synthesis.workflow_synthesis import SynthesisSite, list_shown_values, publish_workflow
from tests.support.small_sites import (
    WEBSITE,
    Answered,
    induced,
    opened_stores,
    ran_published,
    running_site,
)

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


def _commenting(box: str):
    """Return what a person does who comments, and ticks a box the first time only."""
    ticked = []

    async def writes(page, given, _dice):
        await page.fill("[name=note]", given["note"])
        if not ticked:
            ticked.append(given["note"])
            await page.get_by_label(box).check()
        async with page.expect_navigation():
            await page.get_by_role("button", name="Comment").click()

    return writes


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
    writes = _commenting(box)
    sentences = [f"{asked} saying '{each['note']}'" for each in NOTES]
    with running_site(Log().answer) as site:
        found = await induced(browser, site, tmp_path, writes, NOTES, sentences=sentences)
    told = " ".join(found.synthesis_report.refusals)
    assert ("all sentences say 'anonymously', and only some of the traces did it" in told) is refused, told


async def test_a_box_that_one_of_two_demonstrations_ticks_is_refused_as_nothing_shows_when(browser, tmp_path):
    writes = _commenting("Keep a copy")
    with running_site(Log().answer) as site:
        found = await induced(browser, site, tmp_path, writes, NOTES[:2])
    told = " ".join(found.synthesis_report.refusals)
    assert found.lowered is None or len(found.lowered.workflow.io_spec.inputs) < 2  # it is no input
    assert "only 1 of 2 traces did it, all had its element, and nothing shows when" in told, told


async def test_a_box_in_which_alone_two_demonstrations_differ_is_a_yes_or_no_input_and_ticked_only_if_asked(
    browser, tmp_path
):
    log = Log()
    writes = _commenting("Post anonymously")
    notes = [NOTES[0], NOTES[0], NOTES[1]]
    kinds = ["an anonymous comment", "a comment", "a comment"]
    sentences = [f"Add {kind} saying '{each['note']}'" for kind, each in zip(kinds, notes, strict=True)]
    with running_site(log.answer) as site:
        found = await induced(browser, site, tmp_path / "traces", writes, notes, sentences=sentences)
        found = build_documents(found, {})
        assert not found.synthesis_report.refusals
        assert found.lowered is not None
        workflow = found.lowered.workflow
        inputs = {spec.name: spec for spec in workflow.io_spec.inputs}
        box = inputs["post_anonymously"]
        assert (box.type, box.required, box.description) == (
            "boolean", False, "Post anonymously: ticked only if asked",
        )  # fmt: skip
        shown = {each["post_anonymously"] for each in list_shown_values(found)}
        assert shown == {True, False}
        bound = [bind_sentence(each, [workflow]).task for each in sentences]
        assert [each and each.values["post_anonymously"] for each in bound] == ["true", "false", "false"]
        assert bind_sentence("Add an anonymous comment saying 'Sail torn'", [workflow]).task is None
        async with opened_stores(site, tmp_path / "stores") as stores:
            made = SynthesisSite(stores, WEBSITE, site.base, allow_unverified=True)
            workflow_id = await publish_workflow(made, found.lowered, (), replace=False)
            for given, name in (({}, "Ada"), ({"post_anonymously": "true"}, "hidden"), ({"post_anonymously": False}, "Ada")):  # fmt: skip
                done = await ran_published(browser, stores, site, workflow_id, {"note": "Sail torn", **given})
                assert done.complete, done.error
                assert log.notes[-1] == f"Sail torn ({name})"


async def test_a_box_that_all_sentences_ask_for_is_no_input_that_may_be_left_out(browser, tmp_path):
    writes = _commenting("Post anonymously")
    notes = [NOTES[0], NOTES[0]]
    sentences = [f"Add an anonymous comment saying '{each['note']}'" for each in notes]
    with running_site(Log().answer) as site:
        found = await induced(browser, site, tmp_path, writes, notes, sentences=sentences)
    told = " ".join(found.synthesis_report.refusals)
    assert "all sentences say 'anonymously', and only some of the traces did it" in told
