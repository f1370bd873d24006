"""The knowledge as page objects: typed, formatted, harmless, and good enough to work on the live site."""

from __future__ import annotations

import ast
import subprocess
import sys
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from agent.verification.generation.ruff_format import format_source
from kb_schema import SourcedDocument, assemble, parse_document
from kb_schema.locator_expressions import LocatorLink
from kb_schema.selectors import Selector
from loaders import read_knowledge_folder
from loaders.bridges.locator_conversion import UntranslatableLocator, to_locator_expressions, to_selector
from loaders.bridges.page_objects import build_page_objects
from tests.agent.verification.generation.plain_pytest import run
from tests.loaders.bridges.hostile_website import NASTY, website_called
from tests.support.foreign_sites import plain_python, spadeworks_site

KB = Path(__file__).parents[3] / "seeds/spadeworks/kb"
TEST = """
import os

import pytest
from pages import AgentListPage, LoginPage


@pytest.fixture(scope="session")
def browser_type_launch_args(browser_type_launch_args):
    return {**browser_type_launch_args, "executable_path": os.environ["PLAYWRIGHT_CHROMIUM_EXECUTABLE_PATH"]}


def test_an_agent_is_made_by_way_of_the_page_objects(page, base_url):
    login = LoginPage(page, base_url).open().expect_here()
    login.email_input.fill("demo@spadeworks.example")
    login.password_input.fill(os.environ["SPADEWORKS_PASSWORD"])
    agents = login.to_dashboard().to_agent_list()
    form = agents.to_agent_create()
    form.agent_name_input.fill("O'Neil's")
    form.language_dropdown.select_option("hi-IN")
    form.voice_option_dynamic("Bright").check()
    assert form.to_agent_list().agent_search_input.is_visible()
    with pytest.raises(Exception, match="Timeout"):
        page.set_default_timeout(500)
        LoginPage(page, base_url).expect_here()
"""


@pytest.fixture(scope="module")
def spadeworks():
    return read_knowledge_folder(KB)[0]


def written(made, folder):
    for name, source in made.files.items():
        file = folder / name
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(format_source(source, file.name))


@pytest.mark.timeout(120)
@pytest.mark.always
def test_they_work_on_the_live_site_without_periplus(spadeworks, tmp_path, chromium_path):
    written(build_page_objects(spadeworks), tmp_path)
    (tmp_path / "test_agents.py").write_text(TEST)
    with spadeworks_site() as site:
        secrets = {"SPADEWORKS_PASSWORD": "spadeworks-demo"}
        done = run(plain_python(), tmp_path, site, chromium_path, secrets=secrets)
    assert "1 passed" in done.stdout, done.stdout[-4000:] + done.stderr[-2000:]


def tool(folder, *command):
    done = subprocess.run(
        [sys.executable, "-m", *command, "pages"], cwd=folder, capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stdout


def test_they_are_the_same_every_time_and_as_ruff_leaves_them(spadeworks, tmp_path):
    made = build_page_objects(spadeworks)
    assert made.files == build_page_objects(spadeworks).files
    written(made, tmp_path)
    tool(tmp_path, "ruff", "check", "--isolated")
    tool(tmp_path, "ruff", "format", "--isolated", "--check")


@pytest.mark.nightly
def test_they_are_typed(spadeworks, tmp_path):
    written(build_page_objects(spadeworks), tmp_path)
    tool(tmp_path, "mypy", "--strict", "--cache-dir", str(tmp_path / ".cache"))


def test_every_screen_is_a_class_and_what_cannot_be_said_is_told(spadeworks):
    made = build_page_objects(spadeworks)
    init = made.files["pages/__init__.py"]
    assert len(spadeworks.screens) == init.count("\nfrom .")
    assert made.left_out == (
        "AgentListPage: the transition to agent_detail by click is not a plain click",
        "CampaignListPage: the transition to campaign_detail by click is not a plain click",
    )


def awkward():
    """Screens and elements called like words of Python and like what page objects have themselves."""
    names = (
        "class",
        "None",
        "async",
        "match",
        "list",
        "base",
        "values",
        "layouts",
        "page",
        "re",
        "a.b",
        "a-b",
        "A_b",
    )
    own = (
        "expect_address",
        "expect_here",
        "open",
        "page",
        "property",
        "url_pattern",
        "class",
        "to_class",
        "str",
    )
    elements = [{"element_id": each, "type": "button", "selector": "#x"} for each in own]
    template = {
        "type": "parameterized_css",
        "template": "#{{css_text}} .{{Css_Text}} .{{class}} .{{self}}",
        "parameters": ["css_text", "Css_Text", "class", "self"],
    }
    elements.append({"element_id": "row", "type": "row", "selector": {"strategies": [template]}})
    documents = [
        {"type": "website", "website_id": "shop", "name": "Shop", "base_url": "https://shop.example"},
        *({"type": "screen", "screen_id": each, "name": each, "url_patterns": [f"^/{each}$"],
           "ui_elements": elements} for each in names),
        *({"type": "transition", "_from": "class", "_to": each,
           "triggered_by": {"action_type": "click", "element_id": "class"}} for each in names[1:]),
    ]  # fmt: skip
    return assemble([SourcedDocument(parse_document(each)) for each in documents])[0]


def test_what_is_called_like_a_word_of_python_can_be_imported(tmp_path):
    made = build_page_objects(awkward())
    written(made, tmp_path)
    asked = "import pages; print(len(pages.__all__), pages.ClassPage.expect_address)"
    done = subprocess.run(
        [sys.executable, "-c", asked], cwd=tmp_path, capture_output=True, text=True, check=False
    )
    assert done.stdout.startswith("13 <function BasePage.expect_address"), done.stderr
    assert (
        "def row(self, css_text_2: str, css_text_3: str, class_: str, self_: str)"
        in made.files["pages/class_.py"]
    )


def test_what_a_learned_screen_is_known_by_is_waited_for():
    label = {"strategies": [{"type": "label", "name": "Price", "exact": True}]}
    signs = [
        {"type": "dom_contains", "selector": "h1", "value": "Goods"},
        {"type": "element_visible", "element": label},
        {"type": "dom_element", "selector": "main a", "text_contains": "Try"},
    ]
    either = {"type": "any_of", "conditions": signs}
    beside = {"type": "any_of", "conditions": [*signs, {"type": "url_contains", "value": "/x"}]}
    documents = [
        {"type": "website", "website_id": "shop", "name": "Shop", "base_url": "https://shop.example"},
        {"type": "screen", "screen_id": "goods", "name": "Goods",
         "state_signature": {"required_indicators": [either, beside]}},
    ]  # fmt: skip
    made = build_page_objects(assemble([SourcedDocument(parse_document(each)) for each in documents])[0])
    source = " ".join(format_source(made.files["pages/goods.py"], "goods.py").split())
    assert source.count("expect(") == 1, "what may hold by the address alone cannot be waited for"
    for told in (
        'self.page.locator("h1") .filter(has_text="Goods")',
        '.or_(self.page.get_by_label("Price", exact=True))',
        '.or_(self.page.locator("main a").filter(has_text="Try"))',
    ):
        assert told.replace(" ", "") in source.replace(" ", "")


@pytest.mark.nightly
def test_what_is_called_like_a_word_of_python_is_typed(tmp_path):
    written(build_page_objects(awkward()), tmp_path)
    tool(tmp_path, "mypy", "--strict", "--cache-dir", str(tmp_path / ".cache"))


def names_called(source):
    """What is called anywhere in a source, by its plain name."""
    calls = [node.func for node in ast.walk(ast.parse(source)) if isinstance(node, ast.Call)]
    return {call.attr if isinstance(call, ast.Attribute) else getattr(call, "id", "?") for call in calls}


@settings(max_examples=60, deadline=None)
@given(
    st.sampled_from(NASTY) | st.text(max_size=40) | st.text(alphabet="\"'\\\n\r\t{}()#ab\u2028", max_size=30)
)
def test_whatever_things_are_called_is_a_literal_and_nothing_more(name):
    made = build_page_objects(website_called(name))
    called = set().union(*(names_called(made.files[f"pages/{each}.py"]) for each in ("one", "two")))
    assert called <= {
        "get_by_role", "locator", "filter", "expect", "not_to_have_count", "goto", "click", "expect_here",
        "expect_address", "compile", "TwoPage",
    }  # fmt: skip


@pytest.mark.parametrize(
    ("link", "strategy"),
    [
        (LocatorLink(method="get_by_role", arguments=("button",), keywords={"name": "Save", "exact": True}),
         {"type": "role_name", "role": "button", "name": "Save", "exact": True}),
        (LocatorLink(method="get_by_label", arguments=("Name",)), {"type": "label", "name": "Name"}),
        (LocatorLink(method="get_by_test_id", arguments=("save",)), {"type": "data-testid", "value": "save"}),
        (LocatorLink(method="locator", arguments=("xpath=//a",)), {"type": "xpath", "value": "//a"}),
        (LocatorLink(method="locator", arguments=("css=#a b",)), {"type": "css", "value": "#a b"}),
        (LocatorLink(method="get_by_text", arguments=("Hi",)), {"type": "semantic", "text_contains": "Hi"}),
    ],
)  # fmt: skip
def test_a_locator_is_a_selector_and_the_selector_is_that_locator_again(link, strategy):
    selector = to_selector((link,))
    assert selector == Selector.model_validate({"strategies": [strategy]})
    assert to_locator_expressions(selector) == ((link,),)


def test_what_depends_on_the_rest_of_the_page_is_no_selector():
    rows = LocatorLink(method="get_by_role", arguments=("row",))
    for link in (
        LocatorLink(method="nth", arguments=(2,)),
        LocatorLink(method="filter", keywords={"has_text": {"regex": "x|y"}}),
        LocatorLink(method="get_by_role", arguments=("row",), keywords={"name": {"regex": "x|y"}}),
    ):
        with pytest.raises(UntranslatableLocator):
            to_selector((rows, link))
    css = [LocatorLink(method="locator", arguments=(each,)) for each in ("form", "css=input")]
    assert to_selector(tuple(css)) == Selector.model_validate("form input")
