"""A secret that was typed stays in its field: keys, the clipboard and messages do not take it elsewhere."""

from __future__ import annotations

import pytest

from agent.page import in_page_library
from agent.page.action_requests import ActionRequest
from agent.page.errors import FieldNotForSecrets, SecretKept
from agent.page.page_actions import act_on_element, act_on_page
from agent.page.secret_holders import is_value_hidden
from kb_schema.selectors import Selector
from kb_schema.url_patterns import origin_of
from tests.support.small_sites import Answered, running_site

SECRET = "Zq7x!Secret#W9kk"
HOME = """<label>Password <input id=password type=password maxlength=40></label>
<label>Note <input id=note></label><label>Short <input id=short type=password maxlength=6></label>
<button onclick="password.type = 'text'">Show</button><button onclick="password.outerHTML = password.outerHTML">New</button>"""


def of(css: str) -> Selector:
    return Selector.model_validate({"strategies": [{"type": "css", "value": css}]})


def served():
    return running_site(lambda _: Answered(f"<!doctype html>{HOME}"))


@pytest.fixture
async def page(context):
    """In a context of its own: what was typed in it is remembered."""
    await in_page_library.install(context)
    return await context.new_page()


@pytest.fixture
async def site(page):
    with served() as one:
        await page.goto(one.base)
        yield one.base


async def type_secret(page, css, **more):
    request = ActionRequest(
        "fill", of(css), SECRET, allowed_origins=frozenset({origin_of(page.url)}), secret=True, **more
    )
    await act_on_element(page, request)


async def press(page, keys, css=None):
    await (act_on_page if css is None else act_on_element)(
        page, ActionRequest("press", None if css is None else of(css), keys)
    )


@pytest.mark.parametrize("css", ["#password", None])
@pytest.mark.parametrize(
    "keys", ["Home", "Delete", "Backspace", "Control+A", "Control+C", "Meta+X", "Shift+End"]
)
async def test_keys_that_edit_or_copy_are_not_pressed_in_a_field_with_a_secret(page, site, keys, css):
    await type_secret(page, "#password")
    await page.click("text=Show")
    await page.focus("#password")
    with pytest.raises(SecretKept, match="may edit or copy"):
        await press(page, keys, css)
    assert await page.input_value("#password") == SECRET


async def test_a_new_field_in_the_place_of_the_one_with_the_secret_counts(page, site):
    await type_secret(page, "#password")
    await page.click("text=New")
    with pytest.raises(SecretKept):
        await press(page, "Delete", "#password")


async def test_keys_that_submit_and_keys_elsewhere_are_pressed(page, site):
    await press(page, "Control+A", "#password")  # nothing was typed yet
    await type_secret(page, "#password")
    await press(page, "Tab", "#password")
    await press(page, "Enter", "#password")
    await page.fill("#note", "abc")
    await press(page, "Control+A", "#note")
    await press(page, "Delete", "#note")
    assert await page.input_value("#note") == ""


@pytest.mark.parametrize("keys", ["Control+V", "Control+KeyV", "Shift+Insert", "ControlOrMeta+Shift+v"])
async def test_what_was_copied_is_not_pasted_on_another_origin_after_a_secret(page, site, keys):
    await type_secret(page, "#password")
    with served() as other:
        await page.goto(other.base)
        with pytest.raises(SecretKept, match="another origin"):
            await press(page, keys, "#note")
        await press(page, "Control+A", "#note")
        await page.goto(site)
        await press(page, keys, "#note")


async def test_what_a_field_makes_of_a_secret_is_told(page, site):
    told = []
    await type_secret(page, "#short", keep_secret=told.append)
    assert told == [SECRET[:6]]
    await type_secret(page, "#password", keep_secret=told.append)
    assert told == [SECRET[:6]]


async def test_a_clients_secret_goes_into_fields_for_secrets_only(page, site):
    with pytest.raises(FieldNotForSecrets):
        await type_secret(page, "#note", secret_fields_only=True)
    assert await page.input_value("#note") == ""


async def test_the_value_of_a_field_that_received_a_secret_is_hidden_whatever_it_holds_now(page, site):
    assert not await is_value_hidden(page, of("#note"))
    assert await is_value_hidden(page, of("#password"))
    assert not await is_value_hidden(page, of("button"))
    await type_secret(page, "#note")
    await page.fill("#note", "another")
    assert await is_value_hidden(page, of("#note"))
