"""A drafted task that deletes: the browser's own question is agreed to where the person allowed that, and told."""

from __future__ import annotations

import pytest

from agent.execution.effects.pressed_questions import PressedQuestion, list_harms_of_question
from agent.execution.task_runner import TaskRunner
from kb_schema import parse_document
from kb_schema.run_records import RunStatus
from tests.support.small_sites import WEBSITE, Answered, Asked, running_site, visiting

ASKS = "Are you sure you want to delete this record?"


def _site(question: str, label: str):
    def answer(asked: Asked) -> Answered:
        row = f"""<form method=post action=/delete onsubmit='return confirm("{question}")'><button id=remove>{label}</button></form>"""
        return Answered(
            f"<title>Boats</title><h1>Boats</h1><p>Skua</p>{'<p>Gone</p>' if asked.method == 'POST' else row}"
        )

    return answer


def _documents(label: str, *, destructive: bool = True) -> list[object]:
    element = {
        "element_id": "remove",
        "type": "button",
        "selector": {"strategies": [{"type": "css", "value": "#remove"}]},
        "affordances": [{"action_type": "click", "destructive": destructive}],
        "metadata": {"label": label},
    }
    raw = [
        {"type": "screen", "screen_id": "boats", "name": "Boats", "url": "/", "url_patterns": ["^/"],
         "ui_elements": [element],
         "state_signature": {"required_indicators": [{"type": "dom_contains", "value": "Boats"}]}},
        {"type": "task", "task_id": "remove_boats", "name": "Remove: Boats",
         "steps": [
             {"step_id": "open", "order": 1, "action": {"action_type": "navigate", "target_screen": "boats"}},
             {"step_id": "send", "order": 2, "type": "submit", "action": {"action_type": "click", "target": "remove"}},
         ],
         "success_criteria": [{"type": "dom_contains", "value": "Gone"}]},
    ]  # fmt: skip
    return [parse_document({"website_id": WEBSITE, **each}) for each in raw]


@pytest.mark.parametrize(
    ("question", "label", "allowed", "done", "says"),
    [
        (ASKS, "x", {"deletes"}, True, ASKS),
        (ASKS, "x", set(), False, "it deletes; allow it with --allow deletes"),
        (ASKS, "x", {"pays"}, False, "it deletes; allow it with --allow deletes"),
        ("Delete it and pay 20 EUR?", "x", {"deletes"}, False, "it pays; allow it with --allow pays"),
        ("Delete it and send a letter to all?", "x", {"deletes"}, False, "it sends"),
        ("Are you sure?", "x", {"deletes"}, False, "it does not say what it does"),
        ("Are you sure?", "Delete", {"deletes"}, True, "Are you sure?"),
        ("Delete the boat Skua?", "Delete boat", {"deletes"}, True, "Delete the boat Skua?"),
        (
            "Delete the boat Heron?",
            "Delete boat",
            {"deletes"},
            False,
            "speaks of something else than the control (heron)",
        ),
    ],
)
async def test_the_question_of_a_press_is_agreed_to_if_it_does_nothing_else_than_was_allowed(
    browser, tmp_path, question, label, allowed, done, says
):
    with running_site(_site(question, label)) as site:
        async with visiting(browser, site, tmp_path, *_documents(label)) as session:
            session.context.allowed = frozenset(allowed)
            result = await TaskRunner(session).run_task("remove_boats")
        assert [each.path for each in site.writes] == (["/delete"] if done else [])
    assert (result.status is RunStatus.SUCCESS) is done
    told = [*result.steps[-1].evidence, result.error or ""]
    assert any(says in each for each in told), told


async def test_a_control_that_does_no_harm_may_ask_nothing(browser, tmp_path):
    with running_site(_site(ASKS, "x")) as site:
        async with visiting(browser, site, tmp_path, *_documents("x", destructive=False)) as session:
            session.context.allowed = frozenset({"deletes"})
            result = await TaskRunner(session).run_task("remove_boats")
        assert site.writes == []
    assert result.status is RunStatus.NEEDS_PERSON


def test_only_the_first_question_of_a_press_is_agreed_to():
    question = PressedQuestion({"deletes"}, {"deletes"})
    assert question.object_to(ASKS) is None
    assert question.object_to(ASKS) == "is a second question of one press"


@pytest.mark.parametrize(
    ("text", "label", "why"),
    [
        (
            "Delete your account and all boats?",
            "Delete Skua",
            "speaks of more than the control (account, all)",
        ),
        ("Alle Boote löschen?", "Skua löschen", "speaks of more than the control (alle)"),
        ("アカウントを削除しますか?", "Delete Skua", "speaks of more than the control (アカウント)"),
        (
            "Keep it and extend your subscription by 12 months (99 EUR)?",
            "Delete Skua",
            "pays; allow it with --allow pays",
        ),
        ("Delete it? A fee of $5 is due.", "Delete Skua", "pays; allow it with --allow pays"),
        ("Give Mallory access to your harbor?", "Delete Skua", "does not say what it does"),
        (
            "Delete the boat Skua? A fee of fifty euros applies.",
            "Delete boat",
            "pays; allow it with --allow pays",
        ),
        ("Delete the boat Skua for 500 credits?", "Delete boat", "pays; allow it with --allow pays"),
        ("Delete the boat Skua? Price: 50,-", "Delete boat", "pays; allow it with --allow pays"),
        (
            "Delete the boat Skua and keep paying 5 a month?",
            "Delete boat",
            "pays; allow it with --allow pays",
        ),
        ("Delete the boat Skua. Bill me 5?", "Delete boat", "pays; allow it with --allow pays"),
        ("Delete the boat Skua for \u20bf 0.1?", "Delete boat", "pays; allow it with --allow pays"),
        (
            "Delete the boat Skua and make Mallory an admin?",
            "Delete boat",
            "speaks of something else than the control (admin, make, mallory)",
        ),
        ("Delete your profile?", "Delete boat", "speaks of more than the control (profile)"),
        ("Are you sure you want to delete yourself?", "Delete", "speaks of more than the control (yourself)"),
        ("Delete the user Ada?", "Delete boat", "speaks of something else than the control (ada, user)"),
        (
            "Remove the protection of the harbor?",
            "Delete boat",
            "speaks of something else than the control (harbor, protection)",
        ),
        ("Delete 300 boats?", "Delete boats", "speaks of something else than the control (300)"),
        ("Delete the boats?", "Delete boat", "speaks of something else than the control (boats)"),
        ("Delete the boat Skua?", "Delete boat", None),
        ("Boot Skua wirklich löschen?", "Boot löschen", None),
        ("Delete boat? This action cannot be undone and the data will be lost.", "Delete boat", None),
        ("Delete the payment method?", "Delete payment method", None),
        ("Delete the boat Skua?", "Delete", None),
        ("Really continue?", "Delete Skua", None),
        ("Delete all boats?", "Delete all", None),
        (
            "Delete the boat owner Ada?",
            "Delete boat",
            "speaks of something else than the control (ada, owner)",
        ),
        ("Delete the boat club?", "Delete boat", "speaks of something else than the control (club)"),
        (
            "Delete the boat Skua? It takes the harbor with it.",
            "Delete boat",
            "speaks of something else than the control (harbor, takes)",
        ),
        (
            "Delete the boat Skua, its crew, its harbor?",
            "Delete boat",
            "speaks of something else than the control (crew, harbor)",
        ),
        (
            "Delete the boat Skua together with the harbor?",
            "Delete boat",
            "speaks of something else than the control (harbor, together)",
        ),
        (
            "Delete the boat Skua? Then Mallory gets the harbor.",
            "Delete boat",
            "speaks of something else than the control (gets, harbor, mallory)",
        ),
        (
            "Delete boat data of both years?",
            "Delete boat",
            "speaks of something else than the control (both, years)",
        ),
        ("Delete the boat Skua? Once deleted, it cannot be restored.", "Delete boat", None),
        (
            "Warning! You will not be able to recover this boat. Delete it?",
            "Delete boat",
            None,
        ),
        ("Deleting the boat is irreversible. Click OK to delete it.", "Delete boat", None),
        (
            "M\u00f6chten Sie das Boot Skua wirklich l\u00f6schen? Dies kann nicht r\u00fcckg\u00e4ngig gemacht werden.",
            "Boot l\u00f6schen",
            None,
        ),
        (
            "Voulez-vous vraiment supprimer le bateau Skua ? Cette action est irr\u00e9versible.",
            "Supprimer le bateau",
            None,
        ),
        (
            "\u00bfSeguro que quiere eliminar el barco Skua? Esta acci\u00f3n no se puede deshacer.",
            "Eliminar barco",
            None,
        ),
        (
            "Czy na pewno chcesz usun\u0105\u0107 \u0142\u00f3d\u017a Skua?",
            "Usu\u0144 \u0142\u00f3d\u017a",
            None,
        ),
        ("Delete the account?", "Delete account", None),
        (
            "Delete the account owner Ada?",
            "Delete account",
            "speaks of something else than the control (ada, owner)",
        ),
    ],
)
def test_a_question_that_reaches_further_than_the_control_is_answered_no(text, label, why):
    assert PressedQuestion({"deletes"}, {"deletes"}, label).object_to(text) == why


@pytest.mark.parametrize(
    ("text", "harms"),
    [
        (ASKS, {"deletes"}),
        ("The record will be deleted and you will be charged 9 EUR.", {"deletes", "pays"}),
        ("It is removed and the invoice is sent", {"deletes", "sends"}),
        ("Datensatz wirklich löschen?", {"deletes"}),
        ("Show more rows?", set()),
    ],
)
def test_every_harm_that_a_question_tells_is_known(text, harms):
    assert list_harms_of_question(text) == harms
