from __future__ import annotations

import pytest

from agent.locators.page_fingerprints import PageFingerprints
from agent.locators.page_scan import scan_page
from agent.optimization.locator_candidates import find_locator_candidates
from agent.optimization.locator_description import LocatorDescription, describe_locator
from agent.optimization.locator_targets import find_locator_target
from agent.optimization.trace_selectors import links_of
from kb_schema.locator_expressions import LocatorLink
from kb_schema.suite_optimization import FailedTest, UsedLocator


@pytest.mark.parametrize(
    ("selector", "meaning"),
    [
        ("#pw", LocatorDescription(identifiers=("pw",))),
        ('input[name="q"].wide', LocatorDescription(identifiers=("q",), classes=("wide",), tag="input")),
        ("text=Hello", LocatorDescription(words=("Hello",), said_as="text")),
        ('button:has-text("Go")', LocatorDescription(words=("Go",), said_as="text", tag="button")),
        ("//div//button[@type='submit']", LocatorDescription(tag="button", type="submit")),
        ('role=button[name="Save"]', LocatorDescription(words=("Save",), said_as="name", role="button")),
        ('internal:label="Email"i', LocatorDescription(words=("Email",), said_as="label")),
    ],
)
def test_what_a_locator_means_is_read_off_its_calls(selector, meaning):
    assert describe_locator(links_of(selector)) == meaning


def test_the_calls_before_the_last_say_where_to_look():
    links = links_of('form#login >> internal:role=button[name="Go"i] >> nth=0')
    meaning = describe_locator(links)
    assert meaning
    assert meaning.container == (LocatorLink(method="locator", arguments=("form#login",)),)
    assert meaning.chosen
    assert describe_locator((*links, LocatorLink(method="or_", arguments=({"locator": "a"},)))) is None


FORM = """<form id=login><label for=m>E-mail address</label><input id=m name=email>
<button type=submit>Save changes</button><button type=button>Cancel</button></form>"""


@pytest.mark.parametrize(
    ("html", "selector", "action", "found"),
    [
        pytest.param(FORM, 'internal:role=button[name="Save"i]', "click", "Save changes", id="role and words"),
        pytest.param(FORM, "#email", "fill", "E-mail address", id="field name and label"),
        pytest.param(FORM, "#login >> [type=submit].primary", "click", "Save changes", id="alone in its container"),
        pytest.param(FORM, 'internal:role=button[name="Preview"i]', "click", None, id="another name, one witness"),
        pytest.param(FORM, 'internal:role=button[name="Delete"i]', "click", None, id="gone"),
        pytest.param(
            "<button>Save draft</button><button>Save changes</button>",
            'internal:role=button[name="Save"i]', "click", None, id="two are close",
        ),
        pytest.param(
            "<button>Delete account</button>", 'internal:role=button[name="Delete user"i]', "click", None,
            id="what destroys needs three",
        ),
        pytest.param(
            "<table><tr><td>Ann<td><button>Edit</button></table>",
            'internal:role=row >> internal:has-text="Bob"i >> internal:role=button[name="Edit"i]', "click", None,
            id="the row itself is gone",
        ),
        pytest.param("<p role=status>Deleted</p>", "#toast", "expect.to_be_visible", None, id="a missing toast"),
        pytest.param("<h1>Assistants</h1>", 'internal:role=heading[name="Agents"i]', "expect.to_be_visible", None,
                     id="words that are expected"),
        pytest.param(
            "<table id=copies><tr><td><button>Add a copy</button></table>",
            '#copies >> internal:role=link[name="Add a copy"i]', "expect.to_be_visible", "Add a copy",
            id="a link that became a button",
        ),
        pytest.param("<nav><a href=/saved>Saved</a></nav>", 'internal:role=alert >> internal:has-text="Saved"i',
                     "expect.to_be_visible", None, id="words that stand elsewhere as well"),
        pytest.param("<p role=status hidden>Saved</p>", "internal:role=status", "expect.to_have_text", None,
                     id="what cannot be seen"),
        pytest.param("<p role=status>Saved</p>", "#status", "expect.to_have_text", "Saved", id="what a value is read of"),
    ],
)  # fmt: skip
async def test_two_witnesses_must_agree_on_one_element_or_nobody_knows(page, html, selector, action, found):
    await page.set_content(f"<title>x</title>{html}")
    failed = FailedTest(
        test_id="t",
        file="t.py",
        action=action,
        locator=UsedLocator(links=links_of(selector), selector=selector),
    )
    said = await find_locator_candidates(page, failed)
    told = said.candidates[0].fingerprint if said.candidates else None
    assert (told and (told.name or told.text)) == found, said.reason


async def test_what_is_not_sure_says_what_came_nearest(page):
    await page.set_content("<button>Save draft</button><button>Save changes</button>")
    meaning = describe_locator(links_of('internal:role=button[name="Save"i]'))
    assert meaning
    heard = find_locator_target(await scan_page(page), meaning, action="click")
    assert (heard.best, heard.ambiguous) == (None, True)
    assert heard.nearest


FIELD = "<label for=n>Agent name</label><input id=n name=agentName {}>"
REDESIGNED = "<label for=m>Name of the agent</label><input id=m name=agentName {}>"
INVALID = LocatorLink(method="and_", arguments=({"locator": "[aria-invalid=true]"},))
BY_LABEL = LocatorLink(method="get_by_label", arguments=("Agent name",))


@pytest.mark.parametrize(
    ("before", "after", "links", "found"),
    [
        pytest.param(FIELD.format(""), REDESIGNED.format(""), (BY_LABEL,), 'get_by_label("Name of the agent")', id="drift"),
        pytest.param(
            FIELD.format("aria-invalid=true"), REDESIGNED.format("aria-invalid=true"), (BY_LABEL, INVALID),
            'get_by_label("Name of the agent").and_(page.locator("[aria-invalid=true]"))', id="the condition is kept",
        ),
        pytest.param(FIELD.format("aria-invalid=true"), REDESIGNED.format(""), (BY_LABEL, INVALID), None,
                     id="drift, and a defect"),
        pytest.param(FIELD.format("aria-invalid=true"), FIELD.format(""), links_of("#n[aria-invalid=true]"), None,
                     id="its state is expected"),
        pytest.param(FIELD.format("class=bad"), FIELD.format(""), links_of("input.bad"), None, id="so is its class"),
        pytest.param(FIELD.format("checked"), FIELD.format(""), links_of("#n:checked"), None, id="so is a pseudo-class"),
        pytest.param(FIELD.format(""), FIELD.format("disabled"), (BY_LABEL,), None, id="it is as it was"),
    ],
)  # fmt: skip
async def test_what_a_test_expects_of_an_element_is_never_given_up_with_its_locator(
    page, before, after, links, found
):
    await page.set_content(before)
    index = await scan_page(page)
    field = next(each for each in index.elements if each.tag == "input")
    known = PageFingerprints(index).of(field.at)
    await page.set_content(after)
    used = UsedLocator(links=links, selector="not asked here")
    failed = FailedTest(
        test_id="t", file="t.py", action="expect.to_be_visible", kind="assertion", locator=used
    )
    said = await find_locator_candidates(page, failed, known=known)
    assert (said.candidates[0].expression if said.candidates else None) == found, said.reason
