"""Recordings of other tools, imported into an empty store, published and run by the commands on a real page."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

import pytest

from tests.support import warm
from tests.support.small_sites import Answered, Asked, RunningSite, running_site

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

pytestmark = pytest.mark.sampled(0.3)


class _Notes:
    """A page whose buttons say what a test wants. `Delete everything` has an id that an old recording gives to Save."""

    def __init__(self) -> None:
        self.said, self.danger = "Save", "Delete everything"

    def answer(self, asked: Asked) -> Answered:
        if asked.method == "POST":
            return Answered(location="/done")
        if asked.path == "/done":
            return Answered("<title>Done</title><h1>Done</h1><p class=note>Saved</p>")
        return Answered(
            "<title>Notes</title><h1>Notes</h1>"
            "<form method=post action=/save><label>Title <input id=title name=title></label>"
            f"<button id=save class='btn primary'>{self.said}</button></form>"
            f"<form method=post action=/delete><button id=save-btn class=btn>{self.danger}</button></form>"
        )


@pytest.fixture
def notes() -> _Notes:
    return _Notes()


@pytest.fixture
def site(notes) -> Iterator[RunningSite]:
    with running_site(notes.answer) as running:
        yield running


def _selenium(base: str, target: str, *targets: tuple[str, str]) -> dict[str, Any]:
    commands = [
        {"command": "open", "target": "/", "targets": [], "value": ""},
        {"command": "type", "target": "id=title", "targets": [["id=title", "id"]], "value": "Tern"},
        {
            "command": "click",
            "target": target,
            "targets": [[target, "css:finder"], *map(list, targets)],
            "value": "",
        },
        {"command": "assertText", "target": "css=h1", "targets": [], "value": "Done"},
    ]
    return {"name": "notes", "url": base, "tests": [{"name": "Save a note", "commands": commands}]}


def _chrome(base: str, *selectors: str) -> dict[str, Any]:
    steps = [
        {"type": "navigate", "url": f"{base}/"},
        {"type": "change", "value": "Tern", "selectors": [["#title"]]},
        {"type": "click", "selectors": [[each] for each in selectors], "offsetX": 1, "offsetY": 1},
    ]
    return {"title": "Save a note", "steps": steps}


STALE = ("id=save-btn", "id")
RECORDINGS = {
    "selenium, a stale id": lambda base: _selenium(
        base, "css=.primary", STALE, ("xpath=//button[contains(.,'Save')]", "xpath:innerText")
    ),
    "selenium, first of several": lambda base: _selenium(
        base, "xpath=//form/button", STALE, ("xpath=//button[contains(.,'Save')]", "xpath:innerText")
    ),
    "selenium, no words": lambda base: _selenium(
        base, "id=save", STALE, ("xpath=//button", "xpath:position")
    ),
    "chrome, a name without a role": lambda base: _chrome(base, "aria/Save", "#save-btn", "text/Save"),
    "chrome, a name with a role": lambda base: _chrome(base, 'aria/Save[role="button"]', "#save-btn"),
    "chrome, css first": lambda base: _chrome(base, "button.primary", "#save-btn", "aria/Save"),
}


def _imported(site: RunningSite, folder: Path, recording: str) -> None:
    (folder / "notes.json").write_text(json.dumps(RECORDINGS[recording](site.base)))
    done = warm.run("periplus", "import", "notes.json", cwd=folder)
    assert done.returncode == 0, done.stdout + done.stderr


def _published(site: RunningSite, folder: Path, recording: str, *more: str) -> str:
    _imported(site, folder, recording)
    made = warm.run(
        "periplus", "synthesize", "out/traces", "--name", "Save it", "--publish", *more, cwd=folder
    )
    assert made.returncode == 0, made.stdout + made.stderr
    return made.stdout


@pytest.mark.parametrize("recording", RECORDINGS)
def test_the_first_target_is_pressed_and_not_once_its_words_became_the_opposite(
    site, notes, tmp_path, recording
):
    _published(site, tmp_path, recording, "--unverified")
    run = ("periplus", "run", "Save_it", "--headless", "--allow-unverified")
    done = warm.run(*run, cwd=tmp_path)
    assert [each.path for each in site.writes] == ["/save"], done.stdout + done.stderr
    assert done.returncode == 0, done.stdout + done.stderr

    notes.said = "Delete account"
    done = warm.run(*run, cwd=tmp_path)
    assert [each.path for each in site.writes] == ["/save"], done.stdout + done.stderr
    assert done.returncode == 1, done.stdout + done.stderr


def test_an_import_into_an_empty_store_is_verified_by_its_own_checks(site, tmp_path):
    said = _published(site, tmp_path, "selenium, a stale id")
    assert "added the website" in said
    done = warm.run("periplus", "run", "Save_it", "--headless", cwd=tmp_path)
    assert (done.returncode, "success, verified" in done.stdout) == (0, True), done.stdout + done.stderr


SUITE = """
class BasePage:
    def __init__(self, page):
        self.page = page

    def click(self, selector, name=""):
        self.page.locator(selector).click()


class NotesPage(BasePage):
    TITLE = "#title"
    SAVE_BUTTON = ".primary"

    def add(self, title):
        self.page.goto("BASE/")
        self.page.fill(self.TITLE, title)
        self.click(self.SAVE_BUTTON, "Save button")


def test_save_it(page):
    NotesPage(page).add("Tern")
"""


def test_a_button_that_code_calls_save_is_not_pressed_once_it_deletes(site, notes, tmp_path):
    (tmp_path / "test_notes.py").write_text(SUITE.replace("BASE", site.base))
    for command in (
        ("kb", "import", "test_notes.py", "--website", "notes", "--out", "kb"),
        ("kb", "load", "kb"),
        ("run", "save_it", "--headless", "--allow-unverified"),
    ):
        done = warm.run("periplus", *command, cwd=tmp_path)
        assert done.returncode == 0, done.stdout + done.stderr
    assert [each.path for each in site.writes] == ["/save"]
    notes.said = "Delete account"
    done = warm.run("periplus", "run", "save_it", "--headless", "--allow-unverified", cwd=tmp_path)
    assert ([each.path for each in site.writes], done.returncode) == (["/save"], 1), done.stdout + done.stderr


class _Stock:
    """Rows with a button each that asks first; help opens in a tab of its own."""

    def __init__(self) -> None:
        self.names = ["Desk", "Lamp"]

    def answer(self, asked: Asked) -> Answered:
        if asked.method == "POST":
            self.names.remove(asked.path.removeprefix("/delete/"))
            return Answered(location="/stock?deleted=1")
        if asked.path == "/help":
            return Answered("<title>Help</title><h1>Help</h1><button>Read on</button>")
        rows = "".join(
            f"<tr><td>{name}<td><form method=post action=/delete/{name} onsubmit=\"return confirm('Delete it?')\">"
            "<button>Delete</button></form>"
            for name in self.names
        )
        done = "<p role=status>It is deleted</p>" if "deleted" in asked.query else ""
        return Answered(
            f"<title>Stock</title><h1>Stock</h1><a href=/help target=_blank>Help</a><table>{rows}</table>{done}"
        )


CODEGEN = """
from playwright.sync_api import Playwright, sync_playwright, expect

def run(playwright: Playwright) -> None:
    browser = playwright.chromium.launch(headless=False)
    context = browser.new_context()
    page = context.new_page()
    page.goto("BASE/stock")
    with page.expect_popup() as page1_info:
        page.get_by_role("link", name="Help").click()
    page1 = page1_info.value
    page1.get_by_role("button", name="Read on").click()
    page1.close()
    page.once("dialog", lambda dialog: dialog.accept())
    page.get_by_role("row", name="Desk").get_by_role("button", name="Delete").click()
    expect(page.get_by_text("It is deleted")).to_be_visible()

    # ---------------------
    context.close()
    browser.close()

with sync_playwright() as playwright:
    run(playwright)
"""


def test_a_recorded_script_keeps_its_tab_its_answer_and_its_row(tmp_path):
    stock = _Stock()
    with running_site(stock.answer) as site:
        (tmp_path / "tidy.py").write_text(CODEGEN.replace("BASE", site.base))
        for command in (
            ("kb", "import", "tidy.py", "--website", "stock", "--out", "kb"),
            ("kb", "load", "kb"),
            ("run", "tidy", "--headless", "--allow-unverified"),
        ):
            done = warm.run("periplus", *command, cwd=tmp_path)
            assert done.returncode == 0, done.stdout + done.stderr
        assert (stock.names, "success, verified" in done.stdout) == (["Lamp"], True), done.stdout
        done = warm.run("periplus", "run", "tidy", "--headless", "--allow-unverified", cwd=tmp_path)
        assert (stock.names, done.returncode) == (["Lamp"], 1), done.stdout + done.stderr
