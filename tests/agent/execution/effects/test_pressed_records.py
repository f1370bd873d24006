"""What the browser's question of an allowed press may name: the record that the page shows beside the pressed control."""

from __future__ import annotations

import pytest

from agent.execution.effects.pressed_questions import PressedQuestion, PressedRecord
from agent.page import in_page_library
from tests.support.pages import show

BUTTON = "<button>Delete boat</button>"
ROW = f"<table><tr id=it><td>Skua<td>No 12<td>bird of prey<td><input value=Sea><td>{BUTTON}<tr><td>Heron<td>13<td>{BUTTON}</table>"
ALONE = f"<h2>Skua</h2><p>Ada is its owner, of 12 boats<p id=it>{BUTTON}"


@pytest.mark.parametrize(
    ("page", "text", "why"),
    [
        (ROW, "Delete the boat Skua?", None),
        (ROW, "Delete boat #12?", None),
        (ROW, "Delete the boat No 12?", None),
        (ROW, "Delete the boat bird of prey?", None),
        (ROW, "Delete the boat 'Sea'?", None),
        (ROW, "Delete the Skua boat?", None),
        (ROW, "Delete the boat Heron?", "heron"),
        (ROW, "Delete boat 13?", "13"),
        (ROW, "Delete 12 boat?", "12"),
        (ROW, "Delete the Heron boat?", "heron"),
        (ROW, "Delete the boat Skua Heron?", "heron"),
        (ROW, "Delete the boat Skua and Heron?", "heron"),
        (ALONE, "Delete the boat Skua?", None),
        (ALONE, "Delete the boat Heron?", "heron"),
        (ALONE, "Delete the boat owner Ada?", "ada, owner"),
    ],
)
async def test_a_question_names_the_record_that_the_page_shows_there(blank_page, page, text, why):
    await show(blank_page, f"<title>Boats</title><h1>Boats</h1>{page}")
    button = await blank_page.query_selector("#it button")
    said = await in_page_library.call_on(blank_page, "recordOfControl", button)
    question = PressedQuestion(
        {"deletes"}, {"deletes"}, "Delete boat", record=PressedRecord.model_validate(said)
    )
    told = question.object_to(text)
    assert told == (why and f"speaks of something else than the control ({why})")
