"""What others have written becomes a draft that loads; what is hostile or unreadable is refused with its place."""

from __future__ import annotations

import gzip
import json
import sys
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kb_schema.proposals import ScreenChange
from kb_schema.screens import Affordance
from kb_schema.url_patterns import compile_pattern
from kb_store.proposals.accepted_changes import apply_change
from loaders import read_knowledge_folder
from loaders.bridges.knowledge_drafts import UnreadableSource
from loaders.bridges.openapi import apply_hints, draft_from_hints, read_openapi
from loaders.bridges.page_objects import build_page_objects
from loaders.bridges.playwright_suites.suite_import import read_playwright
from loaders.bridges.playwright_suites.suite_steps import read_source
from loaders.bridges.sitemaps import pattern_of, read_addresses, read_sitemap
from tests.loaders.bridges.hostile_website import NASTY

SEED = Path(__file__).parents[3] / "seeds/spadeworks/kb"
FOREIGN = Path(__file__).parents[2] / "foreign_suites/django_admin"
SITE = "https://shop.example"


def sitemap(*paths, index=False):
    item, root = ("sitemap", "sitemapindex") if index else ("url", "urlset")
    inner = "".join(f"<{item}><loc>{path if '://' in path else SITE + path}</loc></{item}>" for path in paths)
    return (
        f'<?xml version="1.0"?><{root} xmlns="http://www.sitemaps.org/schemas/sitemap/0.9">{inner}</{root}>'
    )


# -- sitemaps ------------------------------------------------------------------------------------------


def test_addresses_that_differ_in_ids_are_one_screen(tmp_path):
    file = tmp_path / "sitemap.xml"
    items = [
        f"/blog/{word}"
        for word in ["red", "blue", "green", "black", "white", "grey", "pink", "brown", "gold"]
    ]
    file.write_text(sitemap("/", "/about", "/products/17", "/products/18", *items, "https://other.example/x"))
    made = read_sitemap(file, "shop")
    screens = made.knowledge.screens
    assert set(screens) == {"home", "about", "products_item", "blog_item"}
    assert screens["about"].url == f"{SITE}/about"
    assert screens["products_item"].url is None
    (pattern,) = screens["products_item"].url_patterns
    assert compile_pattern(pattern).search("/products/99?x=1")
    assert not compile_pattern(pattern).search("/products/99/edit")
    assert made.notes == (f"1 addresses of other origins than {SITE} are left out",)


def test_an_index_is_followed_to_packed_and_plain_files_beside_it_and_nowhere_else(tmp_path):
    (tmp_path / "secret.xml").write_text(sitemap("/secret"))
    home = tmp_path / "maps"
    home.mkdir()
    (home / "a.xml.gz").write_bytes(gzip.compress(sitemap("/a").encode()))
    (home / "b.txt").write_text(f"{SITE}/b\n\n{SITE}/c\n")
    (home / "link.xml").symlink_to(tmp_path / "secret.xml")
    names = ["/maps/a.xml.gz", "/b.txt", "/../secret.xml", "/link.xml", "/index.xml", "/gone.xml"]
    (home / "index.xml").write_text(sitemap(*names, index=True))
    assert read_addresses(home / "index.xml", []) == [f"{SITE}/{each}" for each in "abc"]


BOMB = '<!DOCTYPE x [<!ENTITY a "aaaa"><!ENTITY b "&a;&a;">]><urlset><url><loc>&b;</loc></url></urlset>'


@pytest.mark.parametrize(
    ("content", "reason"),
    [
        (BOMB.encode(), "entities"),
        (BOMB.encode("utf-16"), "entities"),
        (b"<urlset><url></urlset>", "is not XML"),
        (b"<html><body/></html>", "is not a sitemap"),
        (sitemap("mailto://x").encode(), "no address of a website"),
        (gzip.compress(b"x" * 1000, mtime=0)[:-9], "is incomplete"),
        (gzip.compress(b" " * (33 * 1024 * 1024), mtime=0), "unpacks to more"),
    ],
)
def test_what_is_no_sitemap_or_would_blow_up_is_refused(tmp_path, content, reason):
    file = tmp_path / "sitemap.xml"
    file.write_bytes(content)
    with pytest.raises(UnreadableSource, match=reason):
        read_sitemap(file, "shop")


@given(
    st.text(alphabet=st.characters(exclude_characters="*/?#", exclude_categories=["Cs", "Cc"]), max_size=20)
)
def test_a_pattern_of_any_path_holds_for_that_path(part):
    assert compile_pattern(pattern_of(f"/x/{part}")).search(f"/x/{part}?q")


def test_what_an_index_names_and_is_not_there_is_told(tmp_path, monkeypatch):
    index = tmp_path / "index.xml"
    index.write_text(
        "<sitemapindex>" + "".join(f"<sitemap><loc>https://x.example/{each}.xml</loc></sitemap>"
                                   for each in ("a", "gone")) + "</sitemapindex>"
    )  # fmt: skip
    with pytest.raises(UnreadableSource, match=r"names no address.*not in its folder: a\.xml, gone\.xml"):
        read_sitemap(index, "x")
    (tmp_path / "a.xml").write_text(
        "<urlset>"
        + "".join(f"<url><loc>https://x.example/{each}</loc></url>" for each in "pqrs")
        + "</urlset>"
    )
    monkeypatch.setattr("loaders.bridges.sitemaps.MOST_ADDRESSES", 3)
    made = read_sitemap(index, "x")
    assert set(made.knowledge.screens) == {"p", "q", "r"}
    assert made.notes[0] == "what comes after 3 addresses is left out"


def test_screens_of_a_sitemap_are_named_in_letters_and_only_the_first_page_is_home(tmp_path):
    (tmp_path / "map.txt").write_text(
        "https://x.example/caf%C3%A9\nhttps://x.example/日本\nhttps://x.example/\n"
    )
    assert set(read_sitemap(tmp_path / "map.txt", "x").knowledge.screens) == {"cafe", "page", "home"}


# -- OpenAPI -------------------------------------------------------------------------------------------

API = {
    "openapi": "3.1.0",
    "info": {"title": "Agents"},
    "servers": [{"url": "https://app.example.com/api"}],
    "paths": {
        "/agents": {"post": {"summary": "Create an agent", "requestBody": {"content": {"application/json": {
            "schema": {"$ref": "#/components/schemas/Agent"}}}}}},
        "/agents/{id}": {"delete": {"summary": "Delete agent"}},
    },
    "components": {"schemas": {
        "Agent": {"allOf": [{"$ref": "#/components/schemas/Named"}, {"properties": {
            "language": {"type": "string", "enum": ["en-US", "hi-IN"]},
            "greeting": {"type": "string", "maxLength": 400, "minLength": 2, "pattern": "(?=x)"},
            "id": {"type": "string", "readOnly": True},
            "self": {"$ref": "#/components/schemas/Agent"},
        }}]},
        "Named": {"required": ["agent_name"], "properties": {"agent_name": {"type": "string", "maxLength": 40}}},
    }},
}  # fmt: skip


@pytest.fixture
def api(tmp_path):
    file = tmp_path / "api.json"
    file.write_text(json.dumps(API))
    return file


def test_a_form_of_an_api_is_a_screen_with_what_its_fields_accept(api):
    made = draft_from_hints(read_openapi(api), "shop")
    (screen,) = made.knowledge.screens.values()
    fields = {each.label: each for each in screen.ui_elements}
    assert list(fields) == ["Agent name", "Language", "Greeting"]
    name, greeting = (fields[each].affordances[0] for each in ("Agent name", "Greeting"))
    assert (name.required, name.validation.max_length) == (True, 40)
    assert (greeting.validation.min_length, greeting.validation.pattern) == (2, None)
    assert [each.value for each in fields["Language"].affordances[0].options] == ["en-US", "hi-IN"]
    assert made.knowledge.website.base_url == "https://app.example.com"


OPTIONAL = """
openapi: 3.1.0
info: {title: Shop}
paths:
  /goods:
    post:
      requestBody:
        content:
          application/json; charset=utf-8:
            schema: {allOf: [{$ref: "#/components/schemas/Goods"}], description: As generators write it}
      responses:
        200: {description: ok}
components:
  schemas:
    Colour: {type: string, enum: [red, blue]}
    Goods:
      type: object
      required: [colour]
      properties:
        colour: {allOf: [{$ref: "#/components/schemas/Colour"}], title: Colour}
        other: {anyOf: [{$ref: "#/components/schemas/Colour"}, {type: "null"}]}
        size: {anyOf: [{type: string, maxLength: 5}, {type: "null"}], title: How large}
        sold: {type: [boolean, "null"]}
        either: {oneOf: [{type: string}, {type: integer}]}
"""


def test_fields_that_may_be_null_are_what_they_else_are(tmp_path):
    (tmp_path / "api.yaml").write_text(OPTIONAL)
    (form,) = read_openapi(tmp_path / "api.yaml").forms
    fields = {each.title: each for each in form.fields}
    assert {title: each.kind for title, each in fields.items()} == {
        "Colour": "dropdown", "Other": "dropdown", "How large": "input", "Sold": "checkbox", "Either": "input",
    }  # fmt: skip
    assert fields["Colour"].required
    assert [each.value for each in fields["Other"].options] == ["red", "blue"]
    assert fields["How large"].validation.max_length == 5


@pytest.mark.timeout(20)
def test_parts_of_an_api_that_name_each_other_without_end_are_read_once(tmp_path):
    names = [f"S{number}" for number in range(8)]
    schemas = {
        name: {"allOf": [{"$ref": f"#/components/schemas/{each}"} for each in names] * 6,
               "properties": {name: {"type": "string"}}}
        for name in names
    }  # fmt: skip
    body = {"content": {"application/json": {"schema": {"$ref": "#/components/schemas/S0"}}}}
    data = {
        "openapi": "3.0.0",
        "paths": {"/a": {"post": {"requestBody": body}}},
        "components": {"schemas": schemas},
    }
    (tmp_path / "api.json").write_text(json.dumps(data))
    (form,) = read_openapi(tmp_path / "api.json").forms
    assert {"S0", "S1"} <= {each.name for each in form.fields} <= set(names)


def bare(element):
    """The element without anything said of what it takes."""
    return element.model_copy(
        update={
            "affordances": tuple(Affordance(action_type=each.action_type) for each in element.affordances)
        }
    )


def test_an_api_adds_only_what_known_screens_do_not_say(api):
    knowledge, _ = read_knowledge_folder(SEED)
    assert apply_hints(knowledge, read_openapi(api)) == []  # the seed says all of it itself
    screen = knowledge.screens["agent_edit"]
    bared = {"agent_name_input", "language_dropdown", "delete_button", "confirm_delete_button"}
    elements = tuple(bare(each) if each.element_id in bared else each for each in screen.ui_elements)
    change = ScreenChange(type="screen", screen=screen.model_copy(update={"ui_elements": elements}))
    (hint,) = apply_hints(apply_change(knowledge, change)[0], read_openapi(api))
    found = {each.element_id: each.affordances[0] for each in hint.screen.ui_elements}
    assert (found["agent_name_input"].required, found["agent_name_input"].validation.max_length) == (True, 40)
    assert [each.value for each in found["language_dropdown"].options] == ["en-US", "hi-IN"]
    assert found["greeting_input"].validation.max_length == 500
    assert (found["delete_button"].destructive, found["confirm_delete_button"].destructive) == (False, True)


@pytest.mark.parametrize(
    ("text", "reason"),
    [("{}", "not an API description"), ("{", "not JSON"), ('{"openapi": 3, "paths": []}', None)],
)
def test_what_is_no_description_of_an_api_is_refused(tmp_path, text, reason):
    file = tmp_path / "api.json"
    file.write_text(text)
    if reason is None:
        assert read_openapi(file).forms == ()
        return
    with pytest.raises(UnreadableSource, match=reason):
        read_openapi(file)


# -- Playwright ----------------------------------------------------------------------------------------

SUITE = '''
import os, sys
sys.modules["proof that this was run"] = os
from playwright.sync_api import Page, expect

class Base:
    def __init__(self, page: Page):
        self.page = page
        self.menu = page.get_by_role("button", name="Menu")

class LoginPage(Base):
    """Sign in."""
    URL = "https://shop.example/login"

    def __init__(self, page):
        super().__init__(page)
        self.email = page.get_by_label("Email")
        self.password = self.page.locator("form").locator("#password")

    @property
    def go(self):
        return self.page.get_by_test_id("go")

    def open(self):
        self.page.goto(self.URL)

    def sign_in(self, email, password="x"):
        self.email.fill(email)
        self.password.fill(password)
        if email:
            self.go.hover()
        self.go.click()
        return ShopPage(self.page)

class ShopPage(Base):
    def open(self) -> "ShopPage":
        self.page.goto(f"{BASE}/shop")
        return self

    @property
    def rows(self):
        return self.page.get_by_role("row").nth(2)

    @property
    def buy(self):
        return self.page.get_by_role("button", name="Buy", exact=True)

def test_somebody_buys(page: Page):
    """Buy one thing."""
    login = LoginPage(page)
    shop = login.sign_in("me@shop.example", "top secret")
    shop.buy.click()
    shop.rows.click()
    page.goto("https://elsewhere.example/")
    page.fill("#note", "{hi}")
    expect(page.locator("h1")).to_have_text("Thanks")
'''


@pytest.fixture
def suite(tmp_path):
    (tmp_path / "test_shop.py").write_text(SUITE)
    return tmp_path


def test_page_objects_become_screens_and_their_methods_ways(suite):
    made = read_playwright(suite, "shop")
    assert "proof that this was run" not in sys.modules
    knowledge = made.knowledge
    assert set(knowledge.screens) == {"login", "shop"}
    assert (knowledge.screens["login"].name, knowledge.screens["login"].url) == (
        "Sign in", "https://shop.example/login",
    )  # fmt: skip
    assert knowledge.screens["shop"].url == "https://shop.example/shop"
    selectors = {key: each.selector.to_json() for key, each in knowledge.elements("login").items()}
    assert selectors == {
        "menu": {"strategies": [{"type": "role_name", "name": "Menu", "role": "button"}]},
        "email": {"strategies": [{"type": "label", "name": "Email"}]},
        "password": {"strategies": [{"type": "css", "value": "form #password"}]},
        "go": {"strategies": [{"type": "data-testid", "value": "go"}]},
    }
    (way,) = knowledge.by_kind["transition"].values()
    assert (way.from_screen, way.to_screen, way.triggered_by.target) == ("login", "shop", "go")


def test_a_test_becomes_a_task_without_secrets_and_says_what_it_left_out(suite):
    made = read_playwright(suite, "shop")
    (task,) = made.knowledge.tasks.values()
    assert (task.task_id, task.name) == ("somebody_buys", "Buy one thing")
    done = [(each.action.canonical_type, each.action.value) for each in task.steps]
    assert done == [
        ("fill", "me@shop.example"), ("fill", "{password}"), ("click", None), ("click", None), ("fill", "hi"),
    ]  # fmt: skip
    assert [(each.name, each.secret) for each in task.io_spec.inputs] == [("password", True)]
    assert "top secret" not in json.dumps([each.to_json() for each in made.knowledge.documents()])
    notes = "\n".join(made.notes)
    for told in ("a branch or loop", "`nth` depends on what else", "an address of another website"):
        assert told in notes


USUAL = {
    "constants.py": 'BASE = "https://shop.example"\nPATHS = "/account"\n',
    "pages.py": """
import re
from dataclasses import dataclass
from playwright.async_api import Locator, Page
from constants import BASE, PATHS

class LoginPage(BasePage):
    URL = f"{BASE}{PATHS}/login"
    EMAIL = "#email"

    def __init__(self, page: Page) -> None:
        super().__init__(page)
        self.header = Header(page)
        self.submit: Locator = self.form.get_by_role("button", name=re.compile("sign in", re.I))
        self.remember = page.get_by_label(re.compile(r"^Remember me\\?$"))
        self.either = page.get_by_role("button", name=re.compile("yes|no"))
        self._go = page.get_by_test_id("nav").get_by_test_id("go")
        self.go = page.get_by_test_id("go")
        self.größe = page.get_by_test_id("size")

    @property
    def email(self) -> Locator:
        return self.page.locator(self.EMAIL)

    async def open(self):
        await self.page.goto(self.URL)

    async def login(self, email: str) -> "HomePage":
        await self.email.fill(email)
        await self.submit.click()
        return HomePage(self.page)

class BasePage:
    def __init__(self, page):
        self.page = page
        self.form = page.locator("form")

class Header:
    def __init__(self, page):
        self.cart = page.get_by_test_id("cart")

class HomePage(BasePage):
    PATH = BASE + "/home"
    def __init__(self, page):
        super().__init__(page)
        self.header = Header(page)
        self.title = page.get_by_role("heading", name="Home")
""",
    "test_usual.py": """
import pytest
from pages import LoginPage

@pytest.fixture
async def opened(page) -> LoginPage:
    login = LoginPage(page)
    await login.open()
    return login

class TestUsual:
    def login(self, page):
        page.goto("/nowhere")

    async def test_sign_in(self, opened):
        home = await opened.login("me@shop.example")
        await home.header.cart.click()
""",
    "recorded.py": """
from playwright.sync_api import Playwright, sync_playwright

def run(playwright: Playwright) -> None:
    browser = playwright.chromium.launch(headless=False)
    context = browser.new_context()
    page = context.new_page()
    page.goto("https://shop.example/")
    page.get_by_role("textbox", name="Password").fill("s3cret")
    context.close()

with sync_playwright() as playwright:
    run(playwright)
""",
}


def test_a_suite_as_people_write_it_is_read_with_its_fixtures_constants_parts_and_patterns(tmp_path):
    for name, source in USUAL.items():
        (tmp_path / name).write_text(source)
    made = read_playwright(tmp_path, "shop")
    screens = made.knowledge.screens
    assert {name: each.url for name, each in screens.items()} == {
        "login": "https://shop.example/account/login", "home": "https://shop.example/home",
    }  # fmt: skip
    found = {
        key: each.selector.to_json()["strategies"][0]
        for key, each in made.knowledge.elements("login").items()
    }
    assert found["submit"]["type"] == "xpath"
    assert found["submit"]["value"].startswith("//form//*[@role='button' or ")
    assert found["remember"] == {"type": "label", "name": "Remember me?", "exact": True}
    assert found["go"]["value"] == '[data-testid="nav"] [data-testid="go"]'
    assert {"header_cart", "go_2", "grosse", "email"} <= set(found)
    assert "either" not in found
    assert any("its name is a pattern" in each for each in made.notes)
    (way,) = made.knowledge.by_kind["transition"].values()
    assert (way.from_screen, way.to_screen, way.triggered_by.target) == ("login", "home", "submit")
    done = {
        name: [(each.action.canonical_type, each.action.url or each.action.value) for each in task.steps]
        for name, task in made.knowledge.tasks.items()
    }
    assert done == {
        "sign_in": [("navigate", "https://shop.example/account/login"), ("fill", "me@shop.example"),
                    ("click", None), ("click", None)],
        "recorded": [("navigate", "https://shop.example/"), ("fill", "{password}")],
    }  # fmt: skip


def test_two_ways_whose_names_run_into_each_other_are_two(tmp_path):
    classes = "".join(
        f"class {name}:\n  URL = '/{name}'\n  def __init__(self, page):\n    self.go = page.get_by_text('go')\n"
        f"  def {method}(self):\n    self.go.click()\n    return End()\n"
        for name, method in (("A", "b_c"), ("AB", "c"), ("A_b", "c"))
    )
    (tmp_path / "p.py").write_text(f"{classes}class End:\n  URL = '/end'\n")
    assert len(read_playwright(tmp_path, "x").knowledge.by_kind["transition"]) == 3


def test_addresses_that_are_none_of_the_website_and_names_that_are_no_ids_are_no_crash(tmp_path):
    (tmp_path / "p.ts").write_text("class P { url = '/a'; $go = this.page.getByText('go'); }")
    opened = ("javascript:alert(1)", "about:blank", "//evil.example/x", "/a\\n", "/right")
    (tmp_path / "test_a.py").write_text(
        f"class Q:\n  URL = '/q'\n  def __init__(self, page):\n    self.{'x' * 500} = page.get_by_text('go')\n"
        "def test_a(page):\n" + "".join(f"  page.goto('{each}')\n" for each in opened)
    )
    knowledge = read_playwright(tmp_path, "x").knowledge
    assert [each.action.url for each in knowledge.tasks["a"].steps] == ["https://example.com/right"]
    assert (list(knowledge.elements("p")), list(knowledge.elements("q"))) == (["go"], ["x" * 80])


@pytest.mark.timeout(20)
def test_methods_that_call_each_other_very_often_are_read_up_to_a_bound(tmp_path):
    methods = "".join(
        f"  def m{n}(self):\n" + f"    self.m{n + 1}()\n" * 300 + "    self.go.click()\n" for n in range(4)
    )
    (tmp_path / "test_a.py").write_text(
        "class P:\n  def __init__(self, page):\n    self.go = page.get_by_test_id('go')\n"
        f"{methods}def test_a(page):\n  P(page).m0()\n"
    )
    made = read_playwright(tmp_path, "shop")
    assert len(made.knowledge.tasks["a"].steps) <= 500
    assert any("what comes after 500 statements" in each for each in made.notes)


def test_a_chain_without_end_is_refused(tmp_path):
    (tmp_path / "test_a.py").write_text(f"def test_a(page):\n  page{'.locator(1)' * 1_200}.click()\n")
    with pytest.raises(UnreadableSource, match=r"too deeply|no Python that can be read"):
        read_playwright(tmp_path, "shop")


def test_what_was_exported_as_page_objects_comes_back(tmp_path):
    knowledge, _ = read_knowledge_folder(SEED)
    for name, source in build_page_objects(knowledge).files.items():
        (tmp_path / name).parent.mkdir(exist_ok=True)
        (tmp_path / name).write_text(source)
    back = read_playwright(tmp_path, "spadeworks", knowledge.website.base_url).knowledge
    assert set(back.screens) == set(knowledge.screens)
    ways = {(each.from_screen, each.to_screen) for each in knowledge.by_kind["transition"].values()}
    found = {(each.from_screen, each.to_screen) for each in back.by_kind["transition"].values()}
    assert ways - found == {("agent_list", "agent_detail"), ("campaign_list", "campaign_detail")}
    assert found <= ways


def test_a_suite_of_strangers_is_read_as_far_as_reading_tells():
    made = read_playwright(FOREIGN, "admin")
    assert {"a_wrong_password_is_refused", "an_author_is_renamed"} <= set(made.knowledge.tasks)
    assert made.notes


@pytest.mark.parametrize(
    ("text", "reason"),
    [("def f(:", "is not Python"), ("x = 1\0", "no Python|is not Python"), ("x = 1", "no readable page objects"),
     ("(" * 5_000, "Python")],
)  # fmt: skip
def test_what_is_no_suite_is_refused_with_its_place(tmp_path, text, reason):
    (tmp_path / "a.py").write_text(text)
    with pytest.raises(UnreadableSource, match=reason):
        read_playwright(tmp_path, "shop")


def test_one_file_that_cannot_be_read_does_not_refuse_the_folder(tmp_path):
    (tmp_path / "broken.py").write_text("def f(:")
    (tmp_path / "broken.spec.ts").write_text("test('x', (")
    (tmp_path / "test_shop.py").write_text(
        "def test_buy(page):\n    page.goto('https://shop.example/')\n    page.get_by_label('Name').fill('a')\n"
    )
    made = read_playwright(tmp_path, "shop")
    assert "buy" in made.knowledge.tasks
    left_out = [note for note in made.notes if note.startswith("left out: ")]
    assert ["broken.py" in left_out[0], "broken.spec.ts" in left_out[1]] == [True, True]
    (tmp_path / "test_shop.py").write_text("(")
    with pytest.raises(UnreadableSource, match="has no file that can be read"):
        read_playwright(tmp_path, "shop")


@given(st.sampled_from(NASTY) | st.text(max_size=30))
def test_any_locator_written_as_a_literal_is_read_as_it_is(tmp_path_factory, name):
    file = tmp_path_factory.mktemp("suite") / "p.py"
    source = f"class P:\n  def __init__(self, page):\n    self.x = page.get_by_label({name!r})\n"
    file.write_text(source, encoding="utf-8", errors="replace")
    (link,) = read_source([file]).classes["P"].elements["x"]
    assert link.arguments == (name.encode("utf-8", "replace").decode(),)
