"""Lists whose rows only their class tells: what stands for a row is any text of it, also one with a time."""

from __future__ import annotations

from pathlib import Path

from kb_schema.fingerprints import Fingerprint
from loaders.exploration_import.knowledge_builder import build_knowledge
from tests.support.explored import drawing
from web_pages.stored_pages import StoredPage

REMINDERS = (
    "Ada Lind: check-up tomorrow at 10:00 AM",
    "Bo Roy: visit on Mar 4 at 2:00 PM",
    "Cid Ek: call in 3 days",
)
LETTERS = (
    ("Ada Lind", "General Question", "unread"),
    ("Bo Roy", "General Question", ""),
    ("Cid Ek", "Results", "unread"),
)


def test_the_button_of_rows_whose_only_texts_have_times_is_one_element_with_a_row(tmp_path: Path):
    rows = "".join(
        f"<div class=reminder><p class=badge>Visit</p><p>{text}</p><button data-reminder=r{n}>Acknowledge</button></div>"
        for n, text in enumerate(REMINDERS)
    )
    html = f"<main><h1>Reminders</h1><div>{rows}</div></main>"
    seen = drawing(tmp_path)
    seen.page("list", "/reminders", html, "Reminders", start=True)
    made = build_knowledge(seen.folder)
    (element,) = (
        each for each in made.knowledge.elements("reminders").values() if "acknowledge" in each.element_id
    )
    page = StoredPage(seen.folder.snapshot("list"))
    template = element.selector.strategies[0].template
    for n, text in enumerate(REMINDERS):
        (found,) = page.resolve_template(template, {"row": text})
        assert found.get("data-reminder") == f"r{n}"


def test_a_row_that_is_itself_the_control_is_told_by_a_text_in_it_whatever_its_state(tmp_path: Path):
    rows = "".join(
        f"<li class='letter {state}'><button class='letter-opener {state}' id=letter-{n}><div>{who}</div><div>{about}</div></button></li>"
        for n, (who, about, state) in enumerate(LETTERS)
    )
    html = f"<main><h1>Letters</h1><ul>{rows}</ul></main>"
    seen = drawing(tmp_path)
    drawn = seen.page("list", "/letters", html, "Letters", start=True)
    offers = [
        each.model_copy(
            update={
                "role": "",
                "fingerprint": Fingerprint(
                    tag="button", attributes={"class": f"letter-opener {LETTERS[n][2]}".strip()}
                ),
            }
        )
        for n, each in enumerate(drawn.offers)
    ]
    seen.folder.add_page(drawn.model_copy(update={"offers": tuple(offers)}))
    made = build_knowledge(seen.folder)
    (element,) = made.knowledge.elements("letters").values()
    page = StoredPage(seen.folder.snapshot("list"))
    template = element.selector.strategies[0].template
    for n, (who, _, _) in enumerate(LETTERS):
        (found,) = page.resolve_template(template, {"row": who})
        assert found.get("id") == f"letter-{n}"
