"""Suites in TypeScript and JavaScript are read as those in Python are, and nothing in them does harm."""

from __future__ import annotations

import ast
import inspect
import json
import sys
from contextlib import suppress

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from kb_schema import KnowledgeError
from loaders.bridges.knowledge_drafts import UnreadableSource
from loaders.bridges.playwright_suites.suite_import import read_playwright
from loaders.bridges.playwright_suites.suite_steps import read_source
from loaders.bridges.playwright_suites.typescript_parser import UnreadableTypeScript, parse
from tests.loaders.bridges.hostile_website import NASTY

PAGES = """
import { type Locator, type Page } from '@playwright/test';
import { BasePage } from './base.page';

/** Where one signs in. */
export class LoginPage extends BasePage implements Opened<Page> {
  static readonly URL = '/login';
  readonly email: Locator;
  readonly secret: Locator = this.page.getByLabel('Password', { exact: true });
  private readonly submit = this.page.locator('form.login').getByRole('button', { name: /sign in/i });
  readonly either = this.page.getByRole('button', { name: /yes|no/ });
  header: Header;

  constructor(private readonly theirs: Page, options: { slow?: boolean } = {}) {
    super(theirs);
    this.email = theirs.getByTestId("email");
    this.header = new Header(theirs)
  }

  get forgot(): Locator { return this.page.getByRole('link', { name: 'Forgot it?' }); }

  async goto(): Promise<void> {
    await this.page.goto(LoginPage.URL);
  }

  async login(email: string, word: string): Promise<HomePage> {
    await this.email.fill(email);
    await this.secret.fill(word);
    if (this.header) {
      await this.forgot.hover();
    }
    await this.submit.click();
    return new HomePage(this.page);
  }
}

export class HomePage extends BasePage {
  path = `${BASE}/home`;
  readonly last = this.page.locator('li').last();
  readonly title = this.page.getByRole('heading', { name: 'Home' });
}
"""

BASE = """
export const BASE = 'https://shop.example'
export abstract class BasePage {
  protected readonly page: Page
  constructor(page: Page) {
    this.page = page
  }
  get banner() { return this.page.getByText('Accept') }
}
class Header { constructor(page) { this.cart = page.getByTestId('cart'); } }
"""

SPEC = """
import { test, expect } from './fixtures';

test.describe('signing in', { tag: '@smoke' }, () => {
  let loginPage: LoginPage;

  test.beforeEach(async ({ page }) => {
    loginPage = new LoginPage(page);
    await loginPage.goto();
  });

  test('signs in with "good" words', async ({ page }, testInfo) => {
    const home = await loginPage.login('me@shop.example', process.env.WORD!);
    await expect(home.title).toBeVisible();
    await test.step('look around', async () => {
      await loginPage.header?.cart.click();
    });
    const [file] = await Promise.all([
      page.waitForEvent('download'),
      page.getByText("Export").click(),
    ]);
    for (const each of [1, 2]) { await page.click(`#n${each}`) }
    await page.locator('#country').selectOption({ label: 'Germany' });
    const half = 4 / 2 / 1;
    await expect(page).toHaveURL(/.*home\\/(?:x|y)/);
  });

  test.skip('not now', async ({ loginPage }) => { await loginPage.email.fill('x') });
});

test('recorded', async ({ page }) => {
  await page.goto('https://shop.example/');
  await page.getByRole('textbox', { name: 'Password' }).fill('hunter2')
  await page.getByRole('link', { name: 'It\\'s here' }).click()
});
"""


@pytest.fixture
def suite(tmp_path):
    for name, source in (("login.page.ts", PAGES), ("base.page.ts", BASE), ("login.spec.ts", SPEC)):
        (tmp_path / name).write_text(source)
    (tmp_path / "node_modules").mkdir()
    (tmp_path / "node_modules/x.js").write_text("((((")
    return tmp_path


@pytest.mark.always
def test_page_objects_in_typescript_become_screens_and_ways(suite):
    knowledge = read_playwright(suite, "shop").knowledge
    assert {name: each.url for name, each in knowledge.screens.items()} == {
        "login": "https://shop.example/login", "home": "https://shop.example/home",
    }  # fmt: skip
    found = {
        key: each.selector.to_json()["strategies"][0] for key, each in knowledge.elements("login").items()
    }
    assert set(found) == {"banner", "email", "secret", "submit", "forgot", "header_cart"}
    assert found["secret"] == {"type": "label", "name": "Password", "exact": True}
    assert found["submit"]["value"].startswith(
        "//form[contains(concat(' ', normalize-space(@class), ' '), ' login ')]//*"
    )
    assert set(knowledge.elements("home")) == {"banner", "title"}
    (way,) = knowledge.by_kind["transition"].values()
    assert (way.from_screen, way.to_screen, way.triggered_by.target) == ("login", "home", "submit")


def test_tests_in_typescript_become_tasks_with_what_is_done_before_each(suite):
    made = read_playwright(suite, "shop")
    done = {
        task.name: [(each.action.canonical_type, each.action.url or each.action.value) for each in task.steps]
        for task in made.knowledge.tasks.values()
    }
    opened = ("navigate", "https://shop.example/login")
    assert done == {
        'signs in with "good" words': [opened, ("fill", "me@shop.example"), ("fill", "{secret}"), ("click", None),
                                       ("click", None), ("click", None), ("select_option", "Germany")],
        "not now": [opened, ("fill", "x")],
        "recorded": [("navigate", "https://shop.example/"), ("fill", "{password}"), ("click", None)],
    }  # fmt: skip
    assert "hunter2" not in json.dumps([each.to_json() for each in made.knowledge.documents()])
    assert any("login.spec.ts, line 22" in note and "a branch or loop" in note for note in made.notes)


@given(st.sampled_from(NASTY) | st.text(max_size=30))
def test_any_text_is_read_as_it_is_written(tmp_path_factory, text):
    file = tmp_path_factory.mktemp("suite") / "p.ts"
    said = text.encode("utf-8", "replace").decode()
    file.write_text(f"class P {{ x = this.page.getByLabel({json.dumps(said)}); }}", encoding="utf-8")
    (link,) = read_source([file]).classes["P"].elements["x"]
    assert link.arguments == (said,)


PIECES = ("class A", "{", "}", "(", ")", "test('a', async ({ page }) =>", "`a${", "}`", "await ", "x.y", " = ", ";",
          "\n", "=>", "<", ">", "?", ":", "/a/i", "'b'", "return ", "if ", "else ", "get ", "const ", "[", "]", ",",
          "...", "new ", "page.goto('/a')", "1", "function ", "try ", "as ", "!")  # fmt: skip


@settings(max_examples=300, deadline=None)
@given(st.lists(st.sampled_from(PIECES), max_size=40).map(" ".join))
def test_whatever_is_no_typescript_is_a_tree_or_one_clear_error(source):
    try:
        tree = parse(source)
    except UnreadableTypeScript:
        return
    assert isinstance(ast.unparse(tree), str)


@pytest.mark.parametrize(
    ("source", "reason"),
    [("class A { x = 'no end", "line 1: is not readable TypeScript"), ("a\n`${", "line 2: is not readable TypeScript"),
     ("(" * 30_000, "TypeScript"), ("test('a', async () => {\n  x.", "line 2: is not readable TypeScript"),
     ("let x = 1", "no readable page objects")],
)  # fmt: skip
def test_what_cannot_be_read_is_refused_with_its_place(tmp_path, source, reason):
    (tmp_path / "a.ts").write_text(source)
    with pytest.raises((UnreadableSource, KnowledgeError), match=reason):
        read_playwright(tmp_path, "shop")


def test_patterns_are_known_from_divisions_and_comments_from_texts():
    tree = parse("x = a / b / 2; y = [/c[/]d/i, // e\n'f//', /* g */ `h//${i}`]")
    divided, listed = (ast.unparse(each) for each in tree.body)
    assert divided == "x = something"
    assert listed == "y = [re.compile('c[/]d', re.I), 'f//', f'h//{i}']"


def test_a_broken_statement_is_left_out_and_what_stands_around_it_is_read():
    tree = parse(
        "}\nclass P { a = this.page.getByText('a'); b = page.x(; async go() { await one( two; await this.a.click() } }"
        "\ntest('t', async ({ page }) => { foo(a b); await page.goto('/a') })"
    )
    page, test = tree.body
    assert [each.name for each in page.body] == ["__init__", "go"]
    assert ast.unparse(page.body[0].body) == "self.a = self.page.get_by_text('a')"
    assert ast.unparse(test.body) == "'t'\nawait page.goto('/a')"


DEEP = {
    "(": ")", "[": "]", "{": "}", "a(": ")", "async(": ")", "a<b>(": ")", "({a:": "})", "x={a:": "}", "`${": "}`",
    "if(a)": "", "a=>": "", "- ": "", "!": "", "a?b:": "", "a.b().": "", "'a'+": "", "class A{static{": "}}",
    "test.describe('a', () => {": "})",
}  # fmt: skip


@pytest.mark.timeout(60)
@pytest.mark.parametrize("opened", DEEP)
def test_what_is_nested_without_end_is_refused_and_no_crash(opened):
    number = 100_000 // len(opened)
    with pytest.raises(UnreadableTypeScript):
        parse(f"{opened * number}b{DEEP[opened] * number}")
    for broken in (opened * number, opened * (number // 5) + DEEP[opened] * number):
        with suppress(UnreadableTypeScript):
            parse(broken)


@pytest.mark.parametrize("opened", DEEP)
def test_what_is_nested_as_deeply_as_may_be_is_read(opened):
    for number in range(10, 300, 10):
        try:
            parse(f"{opened * number}b{DEEP[opened] * number}")
        except UnreadableTypeScript:
            assert number > 30
            return


def test_what_would_take_the_parser_very_long_is_refused(monkeypatch):
    monkeypatch.setattr("loaders.bridges.playwright_suites.typescript_parser.MOST_EFFORT", 500)
    with pytest.raises(UnreadableTypeScript):
        parse("'" * 100_000)


def test_where_pythons_stack_ends_there_is_an_error_and_no_crash():
    before, here = sys.getrecursionlimit(), len(inspect.stack(0))
    for room in range(50, 400, 7):
        sys.setrecursionlimit(here + room)
        try:
            with suppress(RecursionError):
                parse("a(" * 90 + "b" + ")" * 90)
        finally:
            sys.setrecursionlimit(before)
