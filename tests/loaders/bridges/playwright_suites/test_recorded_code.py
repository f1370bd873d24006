"""Recordings in code, as `playwright codegen` writes them and people go on with them: imported, or named with the line.

Which features they have was counted in strangers' files (docs/importing.md).
"""

from __future__ import annotations

import inspect
from typing import TYPE_CHECKING

import pytest
from playwright.sync_api import APIRequestContext, BrowserContext, Frame, Keyboard, Locator, Mouse, Page

from loaders.bridges.knowledge_drafts import UnreadableSource
from loaders.bridges.playwright_suites.suite_import import read_playwright
from tests.support import warm

if TYPE_CHECKING:
    from pathlib import Path

PYTHON = """from playwright.sync_api import Playwright, sync_playwright, expect

def sign_in(page, user):
    page.get_by_label("User").fill(user)
    page.get_by_label("Password", exact=True).fill("s3cret-w0rd")

def run(playwright: Playwright) -> None:
    browser = playwright.chromium.launch(headless=False)
    context = browser.new_context()
    page = context.new_page()
    page.goto("https://shop.test/")
{steps}

    # ---------------------
    context.close()
    browser.close()

with sync_playwright() as playwright:
    run(playwright)
"""
TYPESCRIPT = """import { test, expect } from '@playwright/test';
import { email } from '../config';

test('test', async ({ page }) => {
  await page.goto('https://shop.test/');
{steps}
});
"""
SCRIPT = """const { chromium } = require('playwright');
(async () => {
  const browser = await chromium.launch({ headless: false });
  const context = await browser.newContext();
  const page = await context.newPage();
  await page.goto('https://shop.test/');
{steps}
  // ---------------------
  await context.close();
  await browser.close();
})();
"""
FORMS = {"py": PYTHON, "spec.ts": TYPESCRIPT, "js": SCRIPT}


def _read(folder: Path, form: str, *lines: str):
    """Return what the steps become, one text a step, and the notes without their files."""
    file = folder / f"recorded.{form}"
    indent = "    " if form == "py" else "  "
    file.write_text(FORMS[form].replace("{steps}", "\n".join(f"{indent}{each}" for each in lines)))
    draft = read_playwright(file, "shop")
    (task,) = draft.knowledge.tasks.values()
    told = []
    for step in task.steps[1:]:
        call = step.action
        first = None if call.target is None else call.target.strategies[0]
        name = (
            getattr(first, "name", None)
            or getattr(first, "value", None)
            or getattr(first, "text_contains", None)
        )
        beside = {
            "value": call.value, "url": call.url, "new_tab": call.new_tab, "modifiers": list(call.modifiers),
            "on_dialog": call.on_dialog and (call.on_dialog.text or call.on_dialog.accept), "download": call.download,
            "frame": call.target and call.target.frame,
        }  # fmt: skip
        beside = {key: each for key, each in beside.items() if each not in (None, [])}
        told.append((call.canonical_type, name, *([beside] if beside else [])))
    return told, [note.partition(", ")[2] for note in draft.notes], task


@pytest.mark.parametrize(
    ("form", "lines", "steps"),
    [
        ("py", ['page.locator("#a").click(button="right")', 'page.locator("#a").click(modifiers=["Control"])',
                'page.locator("#a").click(click_count=2)', 'page.locator("#a").set_checked(False)'],
         [("right_click", "#a"), ("click", "#a", {"modifiers": ["Control"]}), ("double_click", "#a"), ("uncheck", "#a")]),
        ("spec.ts", ["await page.locator('#a').click({ button: 'right' });",
                     "await page.locator('#a').click({ modifiers: ['ControlOrMeta'] });",
                     "await page.locator('#a').press('ControlOrMeta+a');"],
         [("right_click", "#a"), ("click", "#a", {"modifiers": ["Control"]}), ("press", "#a", {"value": "Control+a"})]),
        ("py", ['page.once("dialog", lambda dialog: dialog.dismiss())', 'page.locator("#a").click()',
                'page.locator("#b").click()'],
         [("click", "#a", {"on_dialog": False}), ("click", "#b")]),
        ("spec.ts", ["page.once('dialog', dialog => {", "  console.log(`Dialog message: ${dialog.message()}`);",
                     "  dialog.dismiss().catch(() => {});", "});", "await page.locator('#a').click();"],
         [("click", "#a", {"on_dialog": False})]),
        ("js", ["page.on('dialog', dialog => dialog.accept('{Ann}'));", "await page.click('#a');", "await page.click('#b');"],
         [("click", "#a", {"on_dialog": "Ann"}), ("click", "#b", {"on_dialog": "Ann"})]),
        ("py", ["with page.expect_popup() as page1_info:", '    page.locator("#help").click()', "page1 = page1_info.value",
                'page1.locator("#more").click()', "page1.close()", 'page.locator("#a").click()'],
         [("click", "#help", {"new_tab": "follow"}), ("click", "#more"), ("close_tab", None), ("click", "#a")]),
        ("spec.ts", ["const page1Promise = page.waitForEvent('popup');", "await page.locator('#help').click();",
                     "const page1 = await page1Promise;", "await page1.locator('#more').click();"],
         [("click", "#help", {"new_tab": "follow"}), ("click", "#more")]),
        ("js", ["const [page1] = await Promise.all([", "  page.waitForEvent('popup'),", "  page.click('#help')", "]);",
                "await page1.close();", "await page.click('#a');"],
         [("click", "#help", {"new_tab": "close"}), ("click", "#a")]),
        ("js", ["await Promise.all([", "  page.waitForNavigation(),", "  page.click('#go')", "]);",
                "await page.selectOption('#list', 'b');", "await page.press('#q', 'Enter');"],
         [("click", "#go"), ("select_option", "#list", {"value": "b"}), ("press", "#q", {"value": "Enter"})]),
        ("py", ["with page.expect_download() as download_info:", '    page.locator("#csv").click()',
                "download = download_info.value"],
         [("click", "#csv", {"download": "download_info"})]),
        ("py", ["with page.expect_navigation():", '    page.click("text=Send")'], [("click", "Send")]),
        ("py", ['sign_in(page, "ann")', 'page.get_by_label("Kind").select_option(["a", "b"])'],
         [("fill", "User", {"value": "ann"}), ("fill", "Password", {"value": "{password}"}),
          ("select_option", "Kind", {"value": ["a", "b"]})]),
        ("spec.ts", ["const field = page.getByLabel('Email');", "await field.fill(email);", "await page.close();"],
         [("fill", "Email", {"value": "{field}"})]),
        ("spec.ts", ["await page.locator('iframe[name=\"pay\"]').contentFrame().getByRole('button', { name: 'Pay' }).click();"],
         [("click", "Pay", {"frame": 'iframe[name="pay"]'})]),
        ("js", ["const page1 = await context.newPage();", "await page1.goto('https://shop.test/b');", "await page1.click('#a');"],
         [("navigate", None, {"url": "https://shop.test/b"}), ("click", "#a")]),
        ("py", ['page.wait_for_url("**/done")', "page.wait_for_timeout(500)", "page.set_viewport_size({})",
                'print(page.locator("#a").inner_text())', 'page.screenshot(path="a.png")', "page.pause()",
                'page.evaluate("window.scrollTo(0, 0)")', "page_title = page.title()", "said = page_title.strip()", 'page.on("request", lambda request: print(request.url))',
                'page.locator("#a").click(timeout=3000, force=True)'],
         [("click", "#a")]),
    ],
)  # fmt: skip
def test_what_recordings_in_code_contain_is_imported(tmp_path, form, lines, steps):
    told, notes, _ = _read(tmp_path, form, *lines)
    assert (told, notes) == (steps, [])


@pytest.mark.parametrize(
    ("form", "line", "reason"),
    [
        ("py", 'page.get_by_role("link", name="Log in").nth(1).click()', "`nth` depends on what else is on the page"),
        ("py", 'page.locator("text=Foo >> button").click()', "is Playwright's own syntax"),
        ("py", 'page.evaluate("document.forms[0].submit()")', "`page.evaluate`"),
        ("spec.ts", "await page.evaluate(() => document.querySelector('#a').click());", "`page.evaluate`"),
        ("spec.ts", "await page.dragAndDrop('#a', '#b');", "`page.dragAndDrop`"),
        ("py", 'page.locator("#a").drag_to(page.locator("#b"))', "`drag_to`"),
        ("py", 'page.locator("#a").dispatch_event("click")', "`dispatch_event`"),
        ("py", 'page.locator("#a").click(position={"x": 3, "y": 9})', "a place in the element"),
        ("py", 'page.locator("#a").click(button="middle")', "`button='middle'`"),
        ("py", 'page.get_by_label("Month").select_option(index=2)', "`index=2`"),
        ("py", "page.mouse.click(3, 4)", "`page.mouse.click`"),
        ("py", 'page.route("**/*.png", lambda route: route.abort())', "`page.route`"),
        ("py", 'browser.new_context(storage_state="auth.json")', "the sign-in that the browser keeps in a file"),
        ("py", 'fill_form(page, "x")', "`fill_form`, which is not in what was read"),
        ("py", "login_page.sign_in('ann')", "`login_page.sign_in`"),
        ("spec.ts", "await login(page);", "`login`, which is not in what was read"),
        ("py", 'page.once("dialog", decide)', "the answer to a dialog"),
        ("py", 'page.once("dialog", lambda dialog: dialog.accept("Tr4pez-w0rd!x"))', "the answer to a dialog"),
        ("py", 'if page.locator("#ok").is_visible(): sign_in(page, "x")', "a branch or loop"),
        ("spec.ts", "for (const each of all) { await page.locator(each).click(); }", "a branch or loop"),
        ("py", "page.goto(start)", "a computed address"),
        ("spec.ts", "await page.locator(rows[0]).click();", "is not a literal"),
        ("py", 'step(lambda: page.locator("#a").click())', "`click` in `step`"),
    ],
)  # fmt: skip
def test_what_cannot_be_imported_is_named_with_its_line_and_the_rest_is_kept(tmp_path, form, line, reason):
    after = 'page.locator("#last").click()' if form == "py" else "await page.locator('#last').click();"
    told, notes, _ = _read(tmp_path, form, line, after)
    assert told == [("click", "#last")]
    (note,) = notes
    assert reason in note
    assert note.startswith(f"line {12 if form == 'py' else 6}, in ")
    assert "left out" in note


NEED_NO_STEP = frozenset(
    {
        "all",
        "all_inner_texts",
        "all_text_contents",
        "and_",
        "aria_snapshot",
        "blur",
        "bounding_box",
        "bring_to_front",
        "close",
        "content",
        "cookies",
        "count",
        "dispose",
        "element_handle",
        "element_handles",
        "emulate_media",
        "filter",
        "frame",
        "frame_locator",
        "get_attribute",
        "get_by_alt_text",
        "get_by_label",
        "get_by_placeholder",
        "get_by_role",
        "get_by_test_id",
        "get_by_text",
        "get_by_title",
        "highlight",
        "inner_html",
        "inner_text",
        "input_value",
        "is_checked",
        "is_closed",
        "is_disabled",
        "is_editable",
        "is_enabled",
        "is_hidden",
        "is_visible",
        "locator",
        "new_page",
        "nth",
        "on",
        "once",
        "or_",
        "pause",
        "pdf",
        "query_selector",
        "query_selector_all",
        "remove_listener",
        "screenshot",
        "scroll_into_view_if_needed",
        "set_default_navigation_timeout",
        "set_default_timeout",
        "set_viewport_size",
        "storage_state",
        "text_content",
        "title",
    }
)
"""What only reads, waits, finds an element or concerns the browser."""


@pytest.mark.parametrize(
    ("kind", "receiver"),
    [(Page, "page"), (Locator, 'page.locator("#a")'), (Keyboard, "page.keyboard"), (Mouse, "page.mouse"), (BrowserContext, "context"),
     (BrowserContext, "page.context"), (APIRequestContext, "page.request"), (Frame, 'page.frame("x")')],
)  # fmt: skip
def test_no_method_of_playwright_is_dropped_without_a_word(tmp_path, kind, receiver):
    methods = [
        name
        for name in dir(kind)
        if not name.startswith("_") and callable(inspect.getattr_static(kind, name))
        and name not in NEED_NO_STEP and not name.startswith(("wait_for_", "expect_"))
    ]  # fmt: skip
    assert methods
    source = "".join(
        f"def test_{name}(page, context):\n    page.goto('https://a.test/')\n    {receiver}.{name}('x')\n"
        for name in methods
    )
    (tmp_path / "test_all.py").write_text(source)
    draft = read_playwright(tmp_path / "test_all.py", "a")
    noted = {note.split(" in test_")[1].split(":")[0] for note in draft.notes}
    imported = {
        task.metadata["test"].removeprefix("test_")
        for task in draft.knowledge.tasks.values()
        if len(task.steps) > 1
    }
    assert set(methods) - noted - imported - {"wait_for"} == set()
    assert not noted & imported


@pytest.mark.parametrize(
    ("locator", "name"),
    [
        ('page.locator("#f").get_by_role("textbox", name="Password")', "password"),
        ('page.locator("#f").get_by_label("Passwort")', "passwort"),
        ('page.locator("form", has_text="Login").locator("input[type=password]")', "value"),
        ('page.locator("li").filter(has_text="Secret").get_by_role("textbox")', "secret"),
        ('page.frame_locator("#x").get_by_label("CVV")', "cvv"),
    ],
)
def test_a_secret_in_a_container_or_a_frame_is_left_out(tmp_path, locator, name):
    told, _, task = _read(tmp_path, "py", f'{locator}.fill("hunter")')
    assert told[0][2]["value"] == f"{{{name}}}"
    assert [(each.name, each.secret) for each in task.io_spec.inputs] == [(name, True)]
    assert "hunter" not in task.model_dump_json()


def test_steps_that_go_back_and_forth_between_tabs_are_named(tmp_path):
    lines = ["const page1 = await context.newPage();", "await page1.goto('https://shop.test/b');", "await page.click('#a');",
             "await page1.click('#b');"]  # fmt: skip
    told, notes, _ = _read(tmp_path, "js", *lines)
    assert told == [("click", "#a")]
    assert [note.split(", in ")[0] for note in notes] == ["line 8", "line 10"]


def test_a_tab_whose_opening_is_left_out_is_left_out_with_it(tmp_path):
    lines = ["with page.expect_popup() as info:", '    page.locator("a").nth(2).click()', "page1 = info.value",
             'page1.locator("#delete").click()', 'page.locator("#a").click()']  # fmt: skip
    told, notes, _ = _read(tmp_path, "py", *lines)
    assert told == [("click", "#a")]
    assert [note.split(", in ")[0] for note in notes] == ["line 13", "line 15"]


def test_checks_after_the_last_action_are_what_a_run_must_show(tmp_path):
    lines = ["await expect(page.getByText('Cart')).toBeVisible();", "await page.locator('#buy').click();",
             "await expect(page.getByRole('button', { name: 'Again' })).toBeVisible();",
             "await expect(page.getByText('Error')).not.toBeVisible();", "await expect(page.locator('h1')).toContainText('{Thanks}');",
             "await expect(page).toHaveURL('https://shop.test/done');", "await expect(page.locator('#x')).toHaveClass('y');"]  # fmt: skip
    _, notes, task = _read(tmp_path, "spec.ts", *lines)
    made = [each.to_json() for each in task.success_criteria]
    assert [each["type"] for each in made] == [
        "element_visible",
        "element_absent",
        "dom_contains",
        "url_contains",
    ]
    assert made[2] == {"type": "dom_contains", "value": "Thanks", "selector": "h1"}
    assert [each.split(", in ")[0] for each in notes] == ["line 6", "line 12"]
    assert not any("left out" in each for each in notes)


@pytest.mark.parametrize(
    ("name", "text", "reason"),
    [
        (
            "a.py",
            "from selenium import webdriver\ndriver = webdriver.Chrome()\n",
            r"code of Selenium.*\.side",
        ),
        ("a.js", "const puppeteer = require('puppeteer');\n", "code of Puppeteer.*JSON"),
        ("a.mjs", "import puppeteer from 'puppeteer-core';\n", "code of Puppeteer.*JSON"),
    ],
)
def test_code_of_other_tools_is_refused_with_what_to_do(tmp_path, name, text, reason):
    (tmp_path / name).write_text(text)
    with pytest.raises(UnreadableSource, match=reason):
        read_playwright(tmp_path / name, "shop")


def test_all_that_is_left_out_is_printed_with_exit_code_2(tmp_path):
    steps = "\n".join(f"    page.locator('a').nth({at}).click()" for at in range(40))
    (tmp_path / "recorded.py").write_text(PYTHON.replace("{steps}", steps))
    done = warm.run(
        "periplus", "kb", "import", "recorded.py", "--website", "shop", "--out", "kb", cwd=tmp_path
    )
    assert done.returncode == 2, done.stdout + done.stderr
    assert all(f"line {12 + at}," in done.stdout for at in range(40))
    (tmp_path / "old.py").write_text("from selenium import webdriver\n")
    done = warm.run("periplus", "kb", "import", "old.py", "--website", "shop", "--out", "kb2", cwd=tmp_path)
    assert done.returncode == 2
    assert "code of Selenium" in " ".join((done.stdout + done.stderr).split())
