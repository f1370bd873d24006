"""Patching: from a failing call and a candidate to the smallest change of the source that a reviewer would make."""

from __future__ import annotations

import pytest

from agent.optimization.sources import PatchRefusal, SuiteSources, fingerprint_patch, propose_patch
from tests.agent.optimization.failing_calls import TODAY, candidate, failing, find, patched, put, span, suite

SAVE = 'page.get_by_role("button", name="Save")'
BUTTON = 'get_by_role("button", name="Save agent")'


def test_a_name_is_replaced_where_it_stands_and_told_in_one_comment(tmp_path):
    files = suite(
        tmp_path,
        test_it='def test_it(page):\n    page.goto("/")\n    page.get_by_role("button", name="Save").click()  # go\n',
    )
    after = patched(files, failing(files, "test_it", SAVE), BUTTON)
    assert after["test_it"] == (
        'def test_it(page):\n    page.goto("/")\n'
        '    # periplus: was page.get_by_role("button", name="Save"), named Save agent now, 2026-03-01\n'
        '    page.get_by_role("button", name="Save agent").click()  # go\n'
    )


def test_the_quotes_and_layout_of_the_author_are_kept(tmp_path):
    files = suite(
        tmp_path,
        test_it=(
            "def test_it(page):\n    (\n        page.locator('form')\n        .get_by_role('button',\n"
            "            name='Save',  # the green one\n        )\n        .click()\n    )\n"
        ),
    )
    chain = "page.locator('form').get_by_role('button', name='Save')"
    after = patched(
        files, failing(files, "test_it", chain), 'locator("form").get_by_role("button", name="Save agent")'
    )
    assert (
        after["test_it"]
        == (
            "def test_it(page):\n    # periplus: was page.locator('form').get_by_role('button', name='Save',  # the green"
            " one ), named..., 2026-03-01\n    (\n        page.locator('form')\n        .get_by_role('button',\n"
            "            name='Save agent',  # the green one\n        )\n        .click()\n    )\n"
        )
        or "name='Save agent',  # the green one" in after["test_it"]
    )


def body(after: dict[str, str] | str, name: str = "test_it") -> list[str]:
    """The lines without our comments."""
    assert isinstance(after, dict), after
    return [line.strip() for line in after[name].splitlines() if "# periplus:" not in line]


@pytest.mark.parametrize(
    ("line", "chain", "expression", "becomes"),
    [
        ('page.locator("#save").click()', 'page.locator("#save")', BUTTON, f"page.{BUTTON}.click()"),
        ("page.locator('#save').click()", "page.locator('#save')", 'get_by_label("Save")', "page.get_by_label('Save').click()"),
        ('page.locator("#f").locator("#save").click()', 'page.locator("#f").locator("#save")',
         f'locator("#f").{BUTTON}', f'page.locator("#f").{BUTTON}.click()'),
        ('page.locator("#f").locator("#save").click()', 'page.locator("#f").locator("#save")',
         BUTTON, f"page.{BUTTON}.click()"),
        ('page.locator("#f").locator(".go").first.click()', 'page.locator("#f").locator(".go").first',
         'locator("#g").locator(".go").first', 'page.locator("#g").locator(".go").first.click()'),
        ('page.get_by_role("button", name="Save", exact=True).click()',
         'page.get_by_role("button", name="Save", exact=True)', BUTTON, f"page.{BUTTON}.click()"),
        ('page.get_by_role("button").click()', 'page.get_by_role("button")', BUTTON, f"page.{BUTTON}.click()"),
        ('page.locator("tr").nth(2).click()', 'page.locator("tr").nth(2)', 'locator("tr").nth(3)',
         'page.locator("tr").nth(3).click()'),
        ('page.locator("li", has_text="One").click()', 'page.locator("li", has_text="One")',
         'locator("li", has_text="The one")', 'page.locator("li", has_text="The one").click()'),
        ('page.locator("li").filter(has_text="One").click()', 'page.locator("li").filter(has_text="One")',
         'locator("li").filter(has_text="First")', 'page.locator("li").filter(has_text="First").click()'),
        ('page.locator("#a").locator("#b").click()', 'page.locator("#a").locator("#b")',
         'locator("#a").locator("#x").locator("#b")', 'page.locator("#a").locator("#x").locator("#b").click()'),
        ('page.locator("#o\'x").click()', 'page.locator("#o\'x")', "get_by_text(\"O'Brien\")", 'page.get_by_text("O\'Brien").click()'),
    ],
)  # fmt: skip
def test_the_change_is_the_smallest(tmp_path, line, chain, expression, becomes):
    files = suite(tmp_path, test_it=f"def test_it(page):\n    {line}\n")
    assert body(patched(files, failing(files, "test_it", chain), expression))[-1] == becomes


def test_what_the_chain_hangs_on_stays(tmp_path):
    files = suite(
        tmp_path,
        test_it='class Form:\n    def save(self):\n        self.page.locator("#save").click()\n',
    )
    after = patched(files, failing(files, "test_it", 'self.page.locator("#save")'), BUTTON)
    assert body(after)[-1] == f"self.page.{BUTTON}.click()"


def test_a_container_in_a_variable_stays_where_the_candidate_has_it_too(tmp_path):
    files = suite(
        tmp_path,
        test_it=(
            'def test_it(page):\n    dialog = page.get_by_role("dialog", name="New")\n'
            '    dialog.get_by_role("button", name="Save").click()\n'
        ),
    )
    chains = 'page.get_by_role("dialog", name="New")', 'dialog.get_by_role("button", name="Save")'
    after = patched(files, failing(files, "test_it", *chains), f'get_by_role("dialog", name="New").{BUTTON}')
    assert body(after)[-2:] == ['dialog = page.get_by_role("dialog", name="New")', f"dialog.{BUTTON}.click()"]


def test_a_container_that_drifted_is_changed_where_it_is_made(tmp_path):
    files = suite(
        tmp_path,
        test_it=(
            'def test_it(page):\n    dialog = page.get_by_role("dialog", name="New")\n'
            '    dialog.get_by_role("button", name="Save").click()\n'
        ),
    )
    chains = 'page.get_by_role("dialog", name="New")', 'dialog.get_by_role("button", name="Save")'
    wanted = 'get_by_role("dialog", name="New agent").get_by_role("button", name="Save")'
    after = patched(files, failing(files, "test_it", *chains), wanted)
    assert body(after)[-2:] == [
        'dialog = page.get_by_role("dialog", name="New agent")', 'dialog.get_by_role("button", name="Save").click()',
    ]  # fmt: skip


def test_where_only_the_page_knows_the_element_the_container_is_kept_first_and_left_out_next(tmp_path):
    files = suite(
        tmp_path,
        test_it=(
            'def test_it(page):\n    row = page.locator("tr").nth(1)\n    row.locator("#save").click()\n'
        ),
    )
    failed = failing(files, "test_it", 'page.locator("tr").nth(1)', 'row.locator("#save")')
    first = propose_patch(failed, candidate(BUTTON), files)
    assert first.after == f"row.{BUTTON}"
    second = propose_patch(failed, candidate(BUTTON), files, never={fingerprint_patch(first)})
    assert second.after == f"page.{BUTTON}"
    third = propose_patch(
        failed, candidate(BUTTON), files, never={fingerprint_patch(first), fingerprint_patch(second)}
    )
    assert isinstance(third, PatchRefusal)


@pytest.mark.parametrize(
    ("line", "expression", "becomes"),
    [
        ('page.click("#save")', 'locator("#store")', 'page.click("#store")'),
        ('page.click("#save", timeout=900)', BUTTON, f"page.{BUTTON}.click(timeout=900)"),
        ('page.fill("#save", "Ada")', 'get_by_label("Name")', 'page.get_by_label("Name").fill("Ada")'),
        ('page.click("#save", strict=True)', BUTTON, f"page.{BUTTON}.click()"),
        ('assert page.inner_text("#save") == "Ada"', 'get_by_label("Name")',
         'assert page.get_by_label("Name").inner_text() == "Ada"'),
        ('page.wait_for_selector("#save", timeout=900)', BUTTON,
         'page.wait_for_selector("role=button[name*=\\"Save agent\\" i]", timeout=900)'),
    ],
)  # fmt: skip
def test_shortcuts_by_selector_become_locators_or_get_another_selector(tmp_path, line, expression, becomes):
    files = suite(tmp_path, test_it=f"def test_it(page):\n    {line}\n")
    call = line.removeprefix("assert ").removesuffix(' == "Ada"')
    after = patched(files, failing(files, "test_it", call=call), expression)
    assert body(after)[-1] in (
        becomes,
        becomes.replace('"role', "'role").replace(']"', "]'").replace('\\"', '"'),
    )


# -- constants


def test_a_selector_in_a_constant_is_changed_there_for_all_who_use_it(tmp_path):
    files = suite(
        tmp_path,
        locators='SAVE = "#save"\nNAME = "#name"\n',
        test_it="from locators import NAME, SAVE\n\ndef test_it(page):\n    page.fill(NAME, 'x')\n    page.click(SAVE)\n    page.locator(SAVE).click()\n",
    )
    failed = failing(files, "test_it", "page.locator(SAVE)", values={"SAVE": "#save"})
    after = patched(files, failed, 'locator("#store")')
    assert body(after, "locators") == ['SAVE = "#store"', 'NAME = "#name"']
    failed = failing(files, "test_it", call="page.click(SAVE)", values={"SAVE": "#save"})
    assert body(patched(files, failed, 'locator("#store")'), "locators") == [
        'SAVE = "#store"',
        'NAME = "#name"',
    ]


def test_a_constant_of_a_class_and_an_entry_of_a_dictionary_are_changed_there(tmp_path):
    files = suite(
        tmp_path,
        pages=(
            'L = {"save": "#save", "name": "#name"}\n\nclass Form:\n    SAVE = "#save"\n\n    def __init__(self, page):\n'
            "        self.page = page\n\n    def save(self):\n        self.page.locator(self.SAVE).click()\n"
            '        self.page.locator(L["save"]).click()\n'
        ),
    )
    of_class = failing(
        files, "pages", "self.page.locator(self.SAVE)", values={"self": type("F", (), {"SAVE": "#save"})}
    )
    assert 'SAVE = "role=button[name' in "\n".join(body(patched(files, of_class, BUTTON), "pages")).replace(
        "'", '"'
    )
    entry = failing(files, "pages", 'self.page.locator(L["save"])', values={"L": {"save": "#save"}})
    assert (
        body(patched(files, entry, 'locator("#store")'), "pages")[0]
        == 'L = {"save": "#store", "name": "#name"}'
    )


def test_a_constant_that_is_also_expected_somewhere_stays_as_it_is(tmp_path):
    files = suite(
        tmp_path,
        test_it=(
            'TITLE = "Agents"\n\ndef test_it(page):\n    page.get_by_role("link", name=TITLE).click()\n'
            "    expect(page).to_have_title(TITLE)\n"
        ),
    )
    failed = failing(files, "test_it", 'page.get_by_role("link", name=TITLE)', values={"TITLE": "Agents"})
    after = body(patched(files, failed, 'get_by_role("link", name="Our agents")'))
    assert after[0] == 'TITLE = "Agents"'
    assert 'page.get_by_role("link", name="Our agents").click()' in after


# -- helpers, parameters, computed names

HELPER = 'def press(page, label):\n    page.get_by_role("button", name=label).click()\n\n'


def test_the_callers_literal_is_changed_where_a_helper_takes_the_name(tmp_path):
    files = suite(
        tmp_path,
        test_it=f'{HELPER}def test_a(page):\n    press(page, "Save")\n\ndef test_b(page):\n    press(page, "Cancel")\n',
    )
    path = tmp_path / "test_it.py"
    stack = (
        span(path, find(path, 'press(page, "Save")'), "test_a"),
        span(path, find(path, 'page.get_by_role("button", name=label).click()'), "press"),
    )
    failed = failing(
        files, "test_it", 'page.get_by_role("button", name=label)', values={"label": "Save"}, stack=stack
    )
    after = body(patched(files, failed, BUTTON))
    assert 'press(page, "Save agent")' in after
    assert 'page.get_by_role("button", name=label).click()' in after


def test_a_helper_that_would_change_for_others_is_refused_and_says_what_would_be_right(tmp_path):
    files = suite(
        tmp_path,
        test_it=f'{HELPER}def test_a(page):\n    press(page, "Save")\n\ndef test_b(page):\n    press(page, "Cancel")\n',
    )
    failed = failing(files, "test_it", 'page.get_by_role("button", name=label)', values={"label": "Save"})
    refusal = propose_patch(failed, candidate('get_by_role("link", name="Save")'), files)
    assert isinstance(refusal, PatchRefusal)
    assert "`press` is called in 2 places" in refusal.reason
    assert refusal.wanted.after == 'page.get_by_role("link", name=label)'


def test_what_pytest_gives_a_test_is_data_and_not_a_locator(tmp_path):
    files = suite(
        tmp_path,
        test_it=(
            'import pytest\n\n@pytest.mark.parametrize("name", ["Save", "Cancel"])\ndef test_it(page, name):\n'
            '    page.get_by_role("button", name=name).click()\n'
        ),
    )
    failed = failing(files, "test_it", 'page.get_by_role("button", name=name)', values={"name": "Save"})
    assert "test data" in patched(files, failed, BUTTON)
    after = body(patched(files, failed, 'get_by_role("link", name="Save")'))
    assert after[-1] == 'page.get_by_role("link", name=name).click()'


def test_a_word_that_is_also_typed_is_not_edited(tmp_path):
    files = suite(
        tmp_path,
        test_it=(
            'def test_it(page):\n    title = "Indica"\n    page.get_by_label("Title").fill(title)\n'
            '    page.get_by_role("link", name=title).click()\n'
        ),
    )
    failed = failing(files, "test_it", 'page.get_by_role("link", name=title)', values={"title": "Indica"})
    assert "used for more than finding the element" in patched(
        files, failed, 'get_by_role("link", name="Indika")'
    )
    after = body(patched(files, failed, 'get_by_role("row", name="Edit Indica")'))
    assert after[-1] == 'page.get_by_role("row", name=f"Edit {title}").click()'


def test_an_f_string_keeps_its_values(tmp_path):
    files = suite(
        tmp_path,
        test_it='def test_it(page, make):\n    number = make()\n    page.locator(f"#row-{number} .delete").click()\n',
    )
    failed = failing(files, "test_it", 'page.locator(f"#row-{number} .delete")', values={"number": "17"})
    after = body(patched(files, failed, 'locator("#line-17 .remove")'))
    assert after[-1] == 'page.locator(f"#line-{number} .remove").click()'
    assert "depends on" in patched(files, failed, BUTTON)


# -- what is never changed


@pytest.mark.parametrize(
    ("line", "chain", "action", "expression"),
    [
        ('expect(page.get_by_text("Saved")).to_be_visible()', 'page.get_by_text("Saved")', "expect.to_be_visible",
         'get_by_text("Created")'),
        ('expect(page.get_by_role("heading", name="Agents")).to_be_visible()',
         'page.get_by_role("heading", name="Agents")', "expect.to_be_visible", 'get_by_role("heading", name="Error")'),
        ('expect(page.locator("#gone")).not_to_be_visible()', 'page.locator("#gone")', "expect.not_to_be_visible",
         'locator("#other")'),
        ('expect(page.locator("#gone")).to_be_hidden()', 'page.locator("#gone")', "expect.to_be_hidden",
         'locator("#other")'),
        ('expect(page.locator("li").filter(has_text="Ada")).to_have_count(1)',
         'page.locator("li").filter(has_text="Ada")', "expect.to_have_count", 'locator("li").nth(0)'),
    ],
)  # fmt: skip
def test_what_an_assertion_expects_is_no_locator(tmp_path, line, chain, action, expression):
    files = suite(tmp_path, test_it=f"def test_it(page):\n    {line}\n")
    failed = failing(files, "test_it", chain, action=action, kind="assertion")
    assert "expects" in patched(files, failed, expression)
    innocent = propose_patch(failing(files, "test_it", chain), candidate(expression), files)
    assert "it would change more than a locator or a wait" in put(files, innocent)


def test_the_locator_of_an_assertion_about_something_else_may_drift(tmp_path):
    line = 'expect(page.locator("#total")).to_have_text("5")'
    files = suite(tmp_path, test_it=f"def test_it(page):\n    {line}\n")
    failed = failing(
        files, "test_it", 'page.locator("#total")', action="expect.to_have_text", kind="assertion"
    )
    after = body(patched(files, failed, 'get_by_test_id("total")'))
    assert after[-1] == 'expect(page.get_by_test_id("total")).to_have_text("5")'


def test_a_change_that_a_person_took_back_is_not_made_again(tmp_path):
    files = suite(tmp_path, test_it=f"def test_it(page):\n    {SAVE}.click()\n")
    after = patched(files, failing(files, "test_it", SAVE), BUTTON)
    files = suite(
        tmp_path, test_it=after["test_it"].replace(f"    page.{BUTTON}.click()", f"    {SAVE}.click()")
    )
    assert "a person reverted it" in patched(files, failing(files, "test_it", SAVE), BUTTON)


def test_a_fallback_keeps_the_old_locator_behind_the_new_one(tmp_path):
    files = suite(
        tmp_path, test_it='def test_it(page):\n    page.locator("#save").click()\n    page.click("#go")\n'
    )
    after = body(patched(files, failing(files, "test_it", 'page.locator("#save")'), BUTTON, fallback=True))
    assert after[1] == f'page.{BUTTON}.or_(page.locator("#save")).click()'
    after = body(patched(files, failing(files, "test_it", call='page.click("#go")'), BUTTON, fallback=True))
    assert after[2] == f'page.{BUTTON}.or_(page.locator("#go")).click()'


@pytest.mark.parametrize("newline", ["\n", "\r\n"])
@pytest.mark.parametrize("encoding", ["utf-8", "utf-8-sig", "latin-1"])
def test_line_ends_and_encoding_stay(tmp_path, newline, encoding):
    declared = "# -*- coding: latin-1 -*-\n" if encoding == "latin-1" else "# é\n"
    text = f'{declared}def test_é(page):\n    page.get_by_role("button", name="Säve").click()\n\n'
    data = text.replace("\n", newline).encode(encoding)
    (tmp_path / "test_it.py").write_bytes(data)
    files = SuiteSources(tmp_path)
    failed = (
        failing(files, "test_it", 'page.get_by_role("button", name="Säve")')
        if encoding != "latin-1"
        else None
    )
    if failed is None:
        return
    from agent.optimization.sources import apply_patches  # noqa: PLC0415

    patch = propose_patch(failed, candidate('get_by_role("button", name="Sävé")'), files)
    (changed,) = apply_patches([patch], files, today=TODAY).after.values()
    assert changed.startswith(b"\xef\xbb\xbf") == (encoding == "utf-8-sig")
    assert changed.count(b"\r\n") == (5 if newline == "\r\n" else 0)
    assert 'name="Sävé"'.encode() in changed
