"""Page objects as strangers write them: helpers of base classes, constants with selectors, properties, `super`."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from loaders.bridges.playwright_suites.suite_import import read_playwright
from tests.support import warm

if TYPE_CHECKING:
    from pathlib import Path

PYTHON = {
    "base_page.py": """from playwright.sync_api import Page, expect

class BasePage:
    def __init__(self, page: Page):
        self.page = page

    def navigate(self, path):
        self.page.goto(f"https://shop.test{path}")

    def click(self, selector, name=""):
        self.page.locator(selector).click()

    def fill(self, selector, text, name=""):
        self.page.locator(selector).clear()
        self.page.locator(selector).fill(text)

    def enter_text(self, element, text):
        element.fill(text)

    def press_element(self, element, label=""):
        expect(element).to_be_enabled()
        try:
            element.click()
        except Exception:
            raise
""",
    "login_page.py": """from base_page import BasePage

class LoginPage(BasePage):
    URL = "/login"
    USER = "#user-name"
    PASSWORD = "#pass"
    SAVE_BUTTON = "#go"

    def __init__(self, page):
        super().__init__(page)
        self.code = page.locator("[name=otp]")
        self.terms = page.get_by_role("checkbox", name="Terms")

    @property
    def help_link(self):
        return self.page.get_by_role("link", name="Help")

    def open(self):
        self.navigate(self.URL)
        return self

    def sign_in(self, user, password):
        self.fill(self.USER, user)
        self.page.fill(self.PASSWORD, password)
        self.enter_text(self.code, "123456")
        self.click(self.SAVE_BUTTON, "Sign in button")
        return self

    def agree(self):
        self.press_element(self.terms, "Terms box")
        if True:
            self.help_link.click()
""",
    "test_login.py": """from login_page import LoginPage

def test_sign_in(page):
    login = LoginPage(page)
    login.open()
    login.sign_in("ann", "tr4pez")
    login.agree()
    page.keyboard.press("Enter")
    page.reload()
""",
}
TYPESCRIPT = {
    "BasePage.ts": """import { Page, Locator, expect } from '@playwright/test';
export class BasePage {
  constructor(protected page: Page) {}
  async goto(path: string) { await this.page.goto('https://shop.test' + path); }
  async fill(el: Locator, text: string, name: string) { await expect(el).toBeVisible(); await el.fill(text); }
  async click(el: Locator, name: string) { await el.click(); }
}
""",
    "LoginPage.ts": """import { Page, Locator } from '@playwright/test';
import { BasePage } from './BasePage';
export class LoginPage extends BasePage {
  readonly user = this.page.locator('#user');
  private readonly password: Locator;
  constructor(page: Page) {
    super(page);
    this.password = page.getByRole('textbox', { name: 'Password' });
  }
  get save() { return this.page.getByTestId('save'); }
  async goto() { await super.goto('/login'); }
  async login(user: string, password: string) {
    await this.fill(this.user, user, 'the user');
    await this.fill(this.password, password, 'the password');
    await test.step('press', async () => { await this.click(this.save, 'Save button'); });
  }
}
""",
    "login.spec.ts": """import { test } from '@playwright/test';
import { LoginPage } from './LoginPage';
test('sign in', async ({ page }) => {
  const login = new LoginPage(page);
  await login.goto();
  await login.login('ann', 'tr4pez');
});
""",
}


def _written(folder: Path, files: dict[str, str]) -> Path:
    for name, text in files.items():
        (folder / name).write_text(text)
    return folder


@pytest.mark.parametrize(
    ("files", "steps", "left_out"),
    [
        (
            PYTHON,
            [
                ("navigate", "https://shop.test/login", None),
                ("clear", "#user-name", None),
                ("fill", "#user-name", "ann"),
                ("fill", "#pass", "{password}"),
                ("fill", "[name=otp]", "{code}"),
                ("click", "#go", None),
                ("click", "Terms", None),
            ],
            [
                "a branch or loop",
                "`page.keyboard.press`",
                "`page.reload`",
                "checks before the last action are not imported (lines 21)",
            ],
        ),
        (
            TYPESCRIPT,
            [
                ("navigate", "https://shop.test/login", None),
                ("fill", "#user", "ann"),
                ("fill", "Password", "{password}"),
                ("click", "save", None),
            ],
            ["checks before the last action are not imported (lines 5)"],
        ),
    ],
    ids=["python", "typescript"],
)
def test_helpers_of_base_classes_and_constants_are_followed(tmp_path, files, steps, left_out):
    draft = read_playwright(_written(tmp_path, files), "shop")
    (task,) = draft.knowledge.tasks.values()
    told = []
    for step in task.steps:
        first = None if step.action.target is None else step.action.target.strategies[0]
        target = step.action.url or getattr(first, "value", None) or getattr(first, "name", None)
        told.append((step.action.canonical_type, target, step.action.value))
    assert told == steps
    assert all(spec.secret for spec in task.io_spec.inputs)
    assert "tr4pez" not in repr(draft.knowledge)
    assert [note.split(": ")[1].removesuffix(" is left out") for note in draft.notes] == left_out


def test_constants_with_selectors_are_elements_and_steps_keep_what_the_source_calls_them(tmp_path):
    draft = read_playwright(_written(tmp_path, PYTHON), "shop")
    (screen,) = draft.knowledge.screens.values()
    assert {"USER", "PASSWORD", "SAVE_BUTTON", "code", "help_link"} <= {
        each.element_id for each in screen.ui_elements
    }
    (task,) = draft.knowledge.tasks.values()
    known = [step.action.fingerprint for step in task.steps if step.action.canonical_type == "click"]
    assert [each.attributes.get("name") or each.name for each in known] == ["save button", "Terms"]


def test_what_is_left_out_of_code_is_exit_code_2(tmp_path):
    (tmp_path / "suite").mkdir()
    _written(tmp_path / "suite", PYTHON)
    done = warm.run("periplus", "kb", "import", "suite", "--website", "shop", "--out", "kb", cwd=tmp_path)
    assert done.returncode == 2, done.stdout + done.stderr
    assert "test_login.py, line 9, in test_sign_in: `page.reload` is left out" in " ".join(
        done.stdout.split()
    )
    assert (tmp_path / "kb" / "website.yaml").exists()
