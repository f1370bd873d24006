"""Generated: buttons of imported recordings, on the page as it was and on one where the same place says the opposite.

Each recording knows the button by one kind of target: a class, an id, a place, a text, a role and name; in Selenium IDE, the recorder
of Chrome and code. On the unchanged page the recorded button is found and pressed. Where the words became another act it is not.
"""

from __future__ import annotations

import json
from contextlib import suppress
from typing import TYPE_CHECKING

import pytest

from agent.healing.identity_check import ElementIdentity
from agent.healing.recorded_words import RecordedElement
from agent.page.errors import PageError
from agent.page.page_actions import perform_action
from kb_schema.fingerprints import Fingerprint
from kb_schema.selectors import Selector
from loaders.bridges.playwright_suites.suite_import import read_playwright
from loaders.recordings.formats import read_recording
from tests.support.pages import show

if TYPE_CHECKING:
    from pathlib import Path

pytestmark = pytest.mark.sampled(0.3)

# (id, words when it was recorded, what the same place says later, what it says after a harmless change)
ACTS = [
    ("save", "Save", "Delete account", "Save changes"),
    ("save", "Save", "Unsubscribe", "Save"),
    ("save-btn", "Save", "Discard", "Save now"),
    ("btnSave", "Save profile", "Delete profile", "Save profile"),
    ("subscribe", "Subscribe", "Unsubscribe", "Subscribe now"),
    ("follow_button", "Follow", "Unfollow", "Follow"),
    ("enable-alerts", "Enable alerts", "Disable alerts", "Enable alerts"),
    ("publish", "Publish", "Unpublish", "Publish post"),
    ("archive", "Archive", "Delete forever", "Archive"),
    ("add-to-cart", "Add to cart", "Remove from cart", "Add to cart"),
    ("approve", "Approve", "Reject", "Approve"),
    ("lock", "Lock", "Unlock", "Lock"),
    ("activate", "Activate", "Deactivate", "Activate"),
    ("connect", "Connect", "Disconnect", "Connect"),
    ("keep", "Keep", "Delete", "Keep"),
    ("edit", "Edit", "Delete", "Edit"),
    ("open", "Open", "Close", "Open"),
    ("download", "Download", "Remove", "Download"),
    ("search", "Search", "Pay now", "Search"),
    ("next", "Weiter", "Kostenpflichtig bestellen", "Weiter"),
    ("speichern", "Speichern", "Konto löschen", "Speichern"),
    ("abonnieren", "Abonnieren", "Abbestellen", "Abonnieren"),
    ("enregistrer", "Enregistrer", "Supprimer le compte", "Enregistrer"),
    ("guardar", "Guardar", "Eliminar cuenta", "Guardar"),
    ("salva", "Salva", "Elimina", "Salva"),
    ("salvar", "Salvar", "Excluir conta", "Salvar"),
    ("opslaan", "Opslaan", "Verwijderen", "Opslaan"),
    ("zapisz", "Zapisz", "Usuń konto", "Zapisz"),
]  # fmt: skip
NOT_IN_IDS = frozenset({"zapisz"})
"""A language whose acts are known from words on a page, not from an id alone."""
PAGE = (
    "<main><h1>Profile</h1><form><label>Title <input id=title name=title></label>"
    "<button type=button>Help</button> <button type=button id='{id}' name='{id}' data-testid='{id}' class='btn primary'>{words}</button></form>"
    "<footer><button id=stale class=btn>Delete everything</button></footer></main>"
)


def _selenium(target: str, *others: str):
    def recorded(folder: Path, _act) -> tuple[Selector, Fingerprint | None]:
        commands = [{"command": "click", "target": target.format(*_act), "value": "",
                     "targets": [[each.format(*_act), "x"] for each in (target, *others)]}]  # fmt: skip
        project = {"name": "p", "url": "https://a.test", "tests": [{"name": "t", "commands": commands}]}
        return _first_step(folder / "a.side", project)

    return recorded


def _chrome(*selectors: str):
    def recorded(folder: Path, act) -> tuple[Selector, Fingerprint | None]:
        steps = [
            {
                "type": "click",
                "selectors": [[each.format(*act)] for each in selectors],
                "offsetX": 1,
                "offsetY": 1,
            }
        ]
        return _first_step(folder / "a.json", {"title": "t", "steps": steps})

    return recorded


def _first_step(file: Path, recording) -> tuple[Selector, Fingerprint | None]:
    file.write_text(json.dumps(recording))
    (step,) = read_recording(file)[0].trace.steps
    known = step.metadata.get("fingerprint")
    return Selector.model_validate(step.target), None if known is None else Fingerprint.model_validate(known)


def _code(click: str):
    def recorded(folder: Path, act) -> tuple[Selector, Fingerprint | None]:
        (folder / "test_a.py").write_text(f"def test_a(page):\n    {click.format(*act)}\n")
        (task,) = read_playwright(folder / "test_a.py", "a").knowledge.tasks.values()
        return task.steps[0].action.target, task.steps[0].action.fingerprint

    return recorded


RECORDED = {
    "selenium id": _selenium("id={0}"),
    "selenium id, a stale one after it": _selenium(
        "id={0}", "css=#stale", "xpath=//button[contains(.,'{1}')]"
    ),
    "selenium name": _selenium("name={0}"),
    "selenium class": _selenium("css=.primary", "id=stale", "xpath=//button[contains(.,'{1}')]"),
    "selenium place": _selenium("xpath=//form/button[2]", "id=stale", "xpath=//button[contains(.,'{1}')]"),
    "selenium text": _selenium("xpath=//button[contains(.,'{1}')]", "id=stale"),
    "chrome css": _chrome("#{0}"),
    "chrome class": _chrome("button.primary", "#stale", "text/{1}"),
    "chrome aria": _chrome("aria/{1}", "#stale"),
    "chrome role": _chrome('aria/{1}[role="button"]', "#stale"),
    "chrome text": _chrome("text/{1}", "#stale"),
    "code css": _code('page.locator("#{0}").click()'),
    "code test id": _code('page.get_by_test_id("{0}").click()'),
    "code role": _code('page.get_by_role("button", name="{1}").click()'),
    "code text": _code('page.get_by_text("{1}", exact=True).click()'),
    "code in a form": _code('page.locator("form").get_by_role("button", name="{1}").click()'),
}


async def _pressed(page, act, words: str, selector: Selector, known: Fingerprint | None) -> str | None:
    """Return the words of the element that a run presses, or None if it presses none."""
    await show(page, PAGE.format(id=act[0], words=words))
    await page.evaluate(
        "pressed = null; addEventListener('click', (event) => { pressed = event.target.textContent; })"
    )
    recorded = None if known is None else RecordedElement(known)
    with suppress(PageError):
        identity = ElementIdentity(recorded=recorded)
        await perform_action(page, "click", selector=selector, timeout_s=0.3, identity=identity)
    return await page.evaluate("pressed")


@pytest.mark.parametrize("kind", RECORDED)
async def test_what_was_recorded_is_pressed_and_never_its_opposite(blank_page, tmp_path, kind):
    wrong = []
    only_id = kind in ("selenium id", "selenium name", "chrome css", "code css", "code test id")
    acts = (
        [each for each in ACTS if each[0] not in NOT_IN_IDS]
        if only_id
        else ACTS[[*RECORDED].index(kind) % 4 :: 4]
    )
    for at, act in enumerate(acts):
        selector, known = RECORDED[kind](tmp_path, act)
        shown = ((act[2], False), (act[1], True), (act[3], None))
        for words, may in shown[: 1 if only_id and at % 5 else 3]:
            pressed = await _pressed(blank_page, act, words, selector, known)
            if (
                (may is True and pressed != words)
                or (may is False and pressed is not None)
                or pressed not in (None, words)
            ):
                wrong.append((act[0], act[1], words, pressed))
    assert not wrong, "\n".join(map(str, wrong))
